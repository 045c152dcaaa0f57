"""tokenmill encode and decode: text to ids and back, as text or as token files."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import InputError, UnknownTokenError, UsageError
from . import _options as opt
from ._console import progress_bar, report, resumable, say_long_documents, say_skips

if TYPE_CHECKING:
    from ..jobs.work import JobOptions
    from ..sources.find import Skip
    from ..token_files import EncodeOptions
    from ..tokenizer import Tokenizer

FORMAT_OF = {".bin": "bin", ".npy": "npy", ".parquet": "parquet"}


def encode(
    tokenizer: opt.TokenizerOption,
    opening: opt.Opening,
    documents: opt.Documents,
    running: opt.Running,
    result: opt.Result,
    sources: Annotated[
        list[str] | None, opt.Argument(help="Files, folders, globs, URLs; standard input if left out, or as -.")
    ] = None,
    output: Annotated[Path | None, opt.Option("--output", "-o", help="Write the ids here, not to stdout.")] = None,
    format: Annotated[
        str | None,
        opt.Option(help="text, bin, npy, megatron or parquet; by default what the suffix of -o says, else text."),
    ] = None,
    special: Annotated[bool, opt.Option("--special", help="Encode special tokens in the text as such.")] = False,
    end_of_text: Annotated[
        str | None,
        opt.output(help="Token files: the token after each document; by default <|endoftext|>, in Parquet none."),
    ] = None,
    no_end_of_text: Annotated[bool, opt.output("--no-end-of-text", help="No token after a document.")] = False,
    skip_damaged: opt.SkipDamaged = False,
) -> None:
    """Encode text: a line of ids for each document, or a token file, which trainers read.

    A text file is a document, unless --unit says otherwise; in .jsonl each line is one, in .parquet each row.

    Without sources on a terminal: type text, see its tokens and their ids.

    tokenmill encode corpus/*.jsonl.zst --tokenizer my-tokenizer -o train.bin
    """
    from ..jobs.outputs import atomic_file, refuse_existing
    from ..sources.documents import read_documents
    from ..token_files.settings import output_path

    tok = opening.load(tokenizer)
    format = format or FORMAT_OF.get(output.suffix if output else "", "text")
    if format != "text":
        if not sources or output is None:
            raise UsageError(f"a token file ({format}) needs sources, and -o with its name")
        from ..token_files import EncodeOptions

        if end_of_text is not None and no_end_of_text:
            raise UsageError("--end-of-text and --no-end-of-text exclude each other")
        ending = False if no_end_of_text else True if end_of_text is None else end_of_text
        _encode_to_token_file(
            tok,
            sources,
            output,
            format,
            EncodeOptions(ending, special, documents.read),
            running.job(overwrite=result.force),
            skip_damaged,
            result.json,
        )
        return
    if running.engine != "local":
        raise UsageError("--engine ray makes token files: name one with --format, or by the suffix of -o")
    if not sources and sys.stdin.isatty():
        _converse(tok, special)
        return
    if output is not None:
        refuse_existing(output_path(output, format), overwrite=result.force)
    allowed = "all" if special else frozenset()
    skips: list[Skip] = []
    with atomic_file(output, "w") if output else contextlib.nullcontext(sys.stdout) as out:
        on_skip = skips.append if skip_damaged else None
        for document in read_documents(sources or ["-"], **vars(documents), max_document_bytes=None, on_skip=on_skip):
            ids = tok.encode(document.text, allowed_special=allowed, disallowed_special=())
            out.write(" ".join(map(str, ids)) + "\n")
    say_skips(skips)


def decode(
    tokenizer: opt.TokenizerOption,
    opening: opt.Opening,
    source: Annotated[Path | None, opt.Argument(help="A token file, or a file of ids; by default stdin.")] = None,
    output: Annotated[Path | None, opt.Option("--output", "-o", help="Write the text here, not to stdout.")] = None,
    jsonl: Annotated[bool, opt.Option("--jsonl", help='Write {"text": ...} in a line for each document.')] = False,
    any_tokenizer: Annotated[
        bool, opt.Option("--any-tokenizer", help="Do not check that the token file was made with this tokenizer.")
    ] = False,
    dtype: Annotated[str | None, opt.Option(help="uint16 or uint32, for a .bin without its metadata.")] = None,
    force: opt.Force = False,
) -> None:
    """Decode a token file or lines of ids to the text that was encoded, byte for byte.

    The text of each document follows that of the one before.

    tokenmill decode train.bin --tokenizer my-tokenizer --jsonl
    """
    import json

    from ..jobs.outputs import atomic_file, refuse_existing
    from ..token_files import is_token_file, load_tokens

    if output is not None:
        refuse_existing(output, overwrite=force)
    tok = opening.load(tokenizer)
    name = str(source) if source else "standard input"
    with contextlib.ExitStack() as open_files:
        documents: Iterable[Any]
        if source is not None and is_token_file(source):
            documents = load_tokens(source, tok, any_tokenizer=any_tokenizer, dtype=dtype)
        else:
            lines = open_files.enter_context(_opened(source)) if source else sys.stdin
            documents = (_ids(line, f"{name}, line {n}", tok.n_vocab) for n, line in enumerate(lines, 1))
        out = open_files.enter_context(atomic_file(output)) if output else sys.stdout.buffer
        for number, ids in enumerate(documents):
            try:
                data = tok.decode_bytes(ids)
            except UnknownTokenError as error:
                raise InputError(f"{name}, document {number}: {error}") from error
            if jsonl:
                data = json.dumps({"text": data.decode("utf-8", "replace")}, ensure_ascii=False).encode() + b"\n"
            out.write(data)
        out.flush()


def _encode_to_token_file(
    tok: Tokenizer,
    sources: list[str],
    output: Path,
    format: str,
    options: EncodeOptions,
    job: JobOptions,
    skip_damaged: bool,
    as_json: bool,
) -> None:
    from ..token_files import encode_files
    from ..token_files.encoding import output_path

    skips: list[Skip] = []
    start = time.perf_counter()
    say_long_documents(sources, options.read.unit)
    on_skip = skips.append if skip_damaged else None
    with resumable(output_path(output, format)), progress_bar() as progress:
        made = encode_files(tok, sources, output, format, options, on_skip=on_skip, job=job, progress=progress)
    seconds = time.perf_counter() - start
    say_skips(skips)
    report(
        {
            "token_file": str(made.path),
            "documents": made.documents,
            "tokens": made.tokens,
            "bytes_of_text": made.text_bytes,
            "bytes_encoded_before": made.resumed_bytes,
            "bytes_per_token": round(made.text_bytes / made.tokens, 4) if made.tokens else None,
            "dtype": made.dtype,
            "left_out": made.skipped,
            "seconds": round(seconds, 3),
            "mb_per_second": round((made.text_bytes - made.resumed_bytes) / 1e6 / max(seconds, 1e-9), 1),
        },
        as_json,
    )


def _converse(tok: Tokenizer, special: bool) -> None:
    """Read a line, show its tokens in colour and their ids, until the end of input. special: encode special tokens."""
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
        for line in view.lines(min(out.width, 110)):
            out.print(line, soft_wrap=True)
        size = len(text.encode(errors="replace"))
        out.print(f"{len(text)} characters, {size} bytes, {len(view.ids)} tokens", style="dim")


def _ids(line: str, place: str, n_vocab: int) -> list[int]:
    ids = []
    for word in line.split():
        if not word.isascii() or not word.isdigit():
            raise InputError(f"{place}: {word[:40]!r} is not a token id. Give whole numbers separated by white space.")
        if int(word) >= n_vocab:
            raise InputError(f"{place}: token {word} does not exist; the ids of this tokenizer are 0 to {n_vocab - 1}.")
        ids.append(int(word))
    return ids


def _opened(path: Path):
    try:
        return open(path, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
