"""tokenmill convert: a tokenizer from one format to another, with a certificate."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import UsageError
from . import _options as opt
from ._console import cost_of_export, progress_bar, report, say
from .check import agreement_rows, difference_json, show_difference

if TYPE_CHECKING:
    from ..formats.libraries import LibraryEncoder


def convert(
    tokenizer: opt.Tokenizer,
    output: Annotated[Path, opt.Argument(help="The file (for tiktoken, gguf, sentencepiece) or the folder to write.")],
    opening: opt.Opening,
    documents: opt.Documents,
    result: opt.Result,
    to: Annotated[
        str,
        opt.Option(
            help="huggingface, tiktoken, gguf, sentencepiece, merges (vocab.json, merges.txt) or ddtok; longest-match: a tokenizer.json that "
            "takes the longest token each time, for a Picky tokenizer with --lossy."
        ),
    ],
    special_token: Annotated[
        list[str] | None,
        opt.Option(metavar="TEXT=ID", help="A special token, for a file that does not hold them; may be repeated."),
    ] = None,
    sample: Annotated[
        list[str] | None, opt.Option(metavar="SRC...", help="Text to compare the two sides on, besides the built-in.")
    ] = None,
    lossy: Annotated[
        bool, opt.Option("--lossy", help="Allow other ids: a Picky tokenizer without its events; superwords in GGUF.")
    ] = False,
) -> None:
    """Convert a tokenizer to another format, and certify that both sides give the same ids.

    The output is read back by tokenmill and, if it is installed, by the library of the format. Notes list what the format
    does not hold. A conversion that would change ids is refused.

    tokenmill convert cl100k_base my-folder --to huggingface --sample corpus/*.txt
    """
    from .. import formats
    from ..quality.checking import check, document_texts
    from ..tokenizer import Tokenizer

    specials = _special_tokens(special_token or [])
    read, json = documents.read, result.json
    vocabulary = formats.read(tokenizer, opening.split, special_tokens=specials, download=opening.download)
    notes = [*vocabulary.notes, *formats.write(vocabulary, output, to, lossy=lossy, overwrite=result.force)]
    first = Tokenizer(vocabulary)
    for note in notes:
        say(f"note: {note}")

    certificate: dict[str, Any] = {"from": tokenizer, "to": str(output), "format": to, "notes": notes}
    difference = None
    if vocabulary.order != "events" or not lossy:
        certificate["readers"] = {}
        again = Tokenizer(formats.read(output))
        readers: list[tuple[str, LibraryEncoder | None]] = [("tokenmill", None)]
        encoder = formats.encode_with_library(output, again.vocabulary, missing_ok=True)
        if encoder is not None and vocabulary.order != "events":
            readers.append((encoder.library, encoder))
        for name, library in readers:
            with progress_bar() as progress:
                found = check(first, again, document_texts(sample or [], read), library=library, progress=progress)
            difference = difference or found.difference
            certificate["readers"][name] = agreement_rows(found)
            if not json and found.difference is not None:
                show_difference(found.difference, first, again, (tokenizer, f"{output}, read by {name}"))
            elif not json:
                proof = f"; proved: {found.proof}" if found.proof else ""
                say(
                    f"read by {name}: the same ids on {found.texts:,} texts, {found.bytes:,} bytes, {found.tokens:,} tokens{proof}"
                )
    if vocabulary.order == "events":
        certificate |= cost_of_export(first, sample, json, read=read)
    if json:
        report(certificate | {"difference": difference_json(difference)}, True)
    if difference is not None:
        sys.exit(1)


def _special_tokens(given: list[str]) -> dict[str, int]:
    specials = {}
    for item in given:
        text, sign, id = item.rpartition("=")
        if not sign or not text or not (id.isascii() and id.isdigit()):
            raise UsageError(f"--special-token {item!r}: expected TEXT=ID, such as '<|endoftext|>=50256'")
        specials[text] = int(id)
    return specials
