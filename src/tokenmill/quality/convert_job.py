"""The job of conversion: a tokenizer to another format, with a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..errors import UsageError
from ..jobs.work import Overwrite
from ..options import Argument, Option, Options
from ..sources.blocks import ReadOptions
from ..tokenizer import Tokenizer
from ..tokenizer.opening import Opening

if TYPE_CHECKING:
    from ..formats.libraries import LibraryEncoder
    from ..jobs.progress import Progress
    from .checking import Agreement


def _token_and_id(text: str) -> tuple[str, int]:
    token, sign, id = text.rpartition("=")
    if not sign or not token or not (id.isascii() and id.isdigit()):
        raise UsageError(f"{text!r}: expected TEXT=ID, such as '<|endoftext|>=50256'")
    return token, int(id)


@dataclass(frozen=True, kw_only=True)
class Convert(Options):
    """Convert a tokenizer to another format, and certify that the ids are the same.

    The output is read back by tokenmill and, if it is installed, by the library of the format. Notes list what the format
    does not hold. A conversion that would change ids is refused.

    tokenmill convert cl100k_base my-folder --to huggingface --sample corpus/*.txt
    """

    tokenizer: Annotated[str, Argument("A tokenizer: a file or folder of any format, or a name.")]
    output: Annotated[Path, Argument("The file (for tiktoken, gguf, sentencepiece) or the folder to write.")]
    # fmt: off
    to: Annotated[Literal["huggingface", "tiktoken", "gguf", "sentencepiece", "merges", "ddtok", "longest-match"], Option("huggingface, tiktoken, gguf, sentencepiece, merges (vocab.json, merges.txt) or ddtok; longest-match: a tokenizer.json that encodes by the longest token each time, for a Picky tokenizer with --lossy.")]
    special_tokens: Annotated[Any, Option("A special token, for a file that does not have them. Repeatable.", "--special-token", metavar="TEXT=ID", parse=_token_and_id, many=True)] = ()
    sample: Annotated[Sequence[str], Option("Text to compare the two sides on, in addition to the built-in.", metavar="SRC...")] = ()
    lossy: Annotated[bool, Option("Allow other ids: a Picky tokenizer without its events; superwords in GGUF.", "--lossy")] = False
    # fmt: on
    opening: Opening = field(default_factory=Opening)
    read: ReadOptions = field(default_factory=ReadOptions)
    overwrite: Overwrite = False

    def run(self, progress: Progress | None = None) -> Converted:
        """Convert, read back, and compare."""
        from .. import formats
        from .checking import check, document_texts

        opening, output, specials = self.opening, self.output, dict(self.special_tokens)
        vocabulary = formats.read(self.tokenizer, opening.split, special_tokens=specials, download=opening.download)
        options: dict[str, Any] = {"lossy": self.lossy, "overwrite": self.overwrite, "tokenizer": Tokenizer}
        notes = formats.write(vocabulary, output, self.to, **options)
        first = Tokenizer(vocabulary)
        converted = Converted(first, (*vocabulary.notes, *notes), {})
        if vocabulary.order == "events" and self.lossy:
            return converted
        again = Tokenizer(formats.read(output))
        readers: list[tuple[str, LibraryEncoder | None]] = [("tokenmill", None)]
        encoder = formats.encode_with_library(output, again.vocabulary, missing_ok=True)
        if encoder is not None and vocabulary.order != "events":
            readers.append((encoder.library, encoder))
        for name, library in readers:
            texts = document_texts(self.sample, self.read)
            converted.readers[name] = check(first, again, texts, library=library, progress=progress)
        return Converted(first, converted.notes, converted.readers, again)


@dataclass(frozen=True)
class Converted:
    """The result. notes: what the format does not hold. readers: the certificate, by the library that read the output."""

    tok: Tokenizer
    notes: Sequence[str]
    readers: dict[str, Agreement]
    again: Tokenizer | None = None
