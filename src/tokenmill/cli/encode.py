"""tokenmill encode and decode: text to ids and back, as text or as token files."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

from ..errors import InputError, UnknownTokenError, plural
from ..jobs.outputs import atomic_file, refuse_existing
from ..jobs.work import Overwrite
from ..jobs.working_folder import alone
from ..options import Argument, Option, refuse_given
from ..sources.find import standard_input
from ..token_files.job import Encode
from ..token_files.settings import IdType, output_path
from ..tokenizer import Tokenizer
from ..tokenizer.opening import Opening, TokenizerOption
from . import _commands as opt
from ._console import listed, progress_bar, report, resumable, say_long_documents, speed


def encode(job: Encode, *, json: opt.Json = False) -> None:
    job.check()
    if job.chosen_format == "text":
        refuse_given(None, "encoding to lines of ids", json=json)
        if not job.sources and sys.stdin.isatty():
            return _converse(job.opening.load(job.tokenizer), job.options.special)
        with listed() as skips:
            job.run(on_skip=skips.append)
        return
    assert job.output is not None
    say_long_documents(job.sources, job.options.read.unit)
    path = output_path(job.output, job.chosen_format, job.options.part_number)
    with listed() as skips, resumable(path), progress_bar() as progress:
        summary = job.run(progress=progress, on_skip=skips.append)
    assert summary is not None
    density = summary.bytes_per_token
    rows: dict[str, Any] = {
        "token_file": str(summary.path),
        "documents": summary.documents,
        "tokens": summary.tokens,
        "bytes_of_text": summary.text_bytes,
        "bytes_encoded_before": summary.resumed_bytes,
        "bytes_per_token": density and round(density, 4),
        "files": summary.files,
        "dtype": summary.dtype,
        "left_out": summary.skipped,
        "characters_dropped": summary.dropped,
    }
    report(rows | speed(summary.seconds, summary.text_bytes - summary.resumed_bytes), json, ("documents", "tokens"))


def decode(
    opening: Opening,
    *,
    tokenizer: TokenizerOption,
    source: Annotated[
        Path | None, Argument("A token file, or a file of ids; standard input if left out, or as -.")
    ] = None,
    output: Annotated[Path | None, Option("Write the text here, not to stdout.", "-o", "--output")] = None,
    jsonl: Annotated[bool, Option('Write {"text": ...} in a line for each document.')] = False,
    any_tokenizer: Annotated[bool, Option("Do not check that the token file was made with this tokenizer.")] = False,
    dtype: IdType = None,
    overwrite: Overwrite = False,
) -> None:
    """Decode a token file or lines of ids to the text that was encoded, byte for byte.

    The text of each document follows that of the one before.

    tokenmill decode train.bin --tokenizer my-tokenizer --jsonl
    """
    import json

    from ..formats.finding import files_read
    from ..token_files.reading import is_token_file, load_tokens

    if source == Path("-"):
        source = None
    if output is not None:
        refuse_existing(output, overwrite=overwrite, sources=[source, *files_read(tokenizer)])
    tok = opening.load(tokenizer)
    name = str(source) if source else "standard input"
    with contextlib.ExitStack() as open_files:
        open_files.enter_context(alone(output))
        documents: Iterable[Any]
        if source is not None and is_token_file(source):
            documents = load_tokens(source, tok=tok, any_tokenizer=any_tokenizer, dtype=dtype)
        else:
            lines = open_files.enter_context(_open_lines(source))
            refuse_given(None, "decoding lines of ids", dtype=dtype, any_tokenizer=any_tokenizer)
            documents = (_ids(line, f"{name}, line {n}", tok.n_vocab) for n, line in enumerate(lines, 1))
        out = open_files.enter_context(atomic_file(output, overwrite=overwrite)) if output else sys.stdout.buffer
        for number, ids in enumerate(documents):
            try:
                data = tok.decode_bytes(ids)
            except UnknownTokenError as error:
                raise InputError(f"{name}, document {number}: {error}") from error
            if jsonl:
                data = json.dumps({"text": data.decode("utf-8", "replace")}, ensure_ascii=False).encode() + b"\n"
            out.write(data)
        out.flush()


def _converse(tok: Tokenizer, special: bool) -> None:
    """Read lines until the end of input, and print the tokens of each in colour with their ids."""
    from rich.console import Console

    out = Console(highlight=False)
    out.print(f"{tok!r}. Type text; Ctrl-D ends.", markup=False, soft_wrap=True)
    while True:
        try:
            text = input("> ")
        except EOFError:
            out.print()
            return
        view = tok.show(text, allowed_special="all" if special else (), disallowed_special=())
        for line in view.lines(width=min(out.width, 110)):
            out.print(line, soft_wrap=True)
        sizes = {"character": len(text), "byte": len(text.encode(errors="replace")), "token": len(view.ids)}
        out.print(", ".join(plural(size, unit) for unit, size in sizes.items()), style="dim")


def _ids(line: str, where: str, n_vocab: int) -> list[int]:
    ids = []
    for word in line.split():
        if not word.isascii() or not word.isdigit():
            raise InputError(f"{where}: {word[:40]!r} is not a token id. Give whole numbers separated by white space.")
        if len(word) > 19 or int(word) >= n_vocab:
            ids_of_tok = f"the ids of this tokenizer are 0 to {n_vocab - 1}"
            raise InputError(f"{where}: token {word:.40} does not exist; {ids_of_tok}.")
        ids.append(int(word))
    return ids


def _open_lines(path: Path | None) -> io.TextIOWrapper:
    """Open a file or standard input as lines of text. Bytes that are not UTF-8 become U+FFFD."""
    try:
        return io.TextIOWrapper(open(path, "rb") if path else standard_input().buffer, "utf-8-sig", "replace")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
