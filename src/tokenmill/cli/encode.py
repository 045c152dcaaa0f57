"""tokenmill encode: text to ids."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from .main import app

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

TOKENIZER = typer.Option(help="The tokenizer: a file, a folder, or the name of a published encoding.")


@app.command()
def encode(
    tokenizer: Annotated[str, TOKENIZER],
    sources: Annotated[
        list[str] | None, typer.Argument(help="Text files, folders, globs; standard input if left out.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the ids here, not to stdout.")] = None,
    split: Annotated[
        str | None, typer.Option(help="The split pattern, for a tokenizer file that does not hold it.")
    ] = None,
    special: Annotated[
        bool, typer.Option("--special", help="Text that spells a special token becomes that token.")
    ] = False,
) -> None:
    """Encode text: a line of ids, with spaces between, for each document (each file, or all of standard input).

    Without sources on a terminal: type text, see its tokens and their ids.
    """
    import tokenmill

    tok = tokenmill.load(tokenizer, split=split)
    if not sources and sys.stdin.isatty():
        _converse(tok)
        return
    allowed = "all" if special else frozenset()
    with _lines_to(output) as write:
        for text in _texts(sources or []):
            ids = tok.encode(text, allowed_special=allowed, disallowed_special=())
            write(" ".join(map(str, ids)) + "\n")


@app.command()
def decode(
    tokenizer: Annotated[str, TOKENIZER],
    source: Annotated[
        Path | None, typer.Argument(help="A file of ids with white space between; standard input if left out.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the text here, not to stdout.")] = None,
    split: Annotated[
        str | None, typer.Option(help="The split pattern, for a tokenizer file that does not hold it.")
    ] = None,
) -> None:
    """Decode ids: the text of each line, one after the other, byte for byte what was encoded."""
    import tokenmill
    from tokenmill.writing import atomic_file

    tok = tokenmill.load(tokenizer, split=split)
    name = str(source) if source else "standard input"
    with contextlib.ExitStack() as open_files:
        lines = open_files.enter_context(_opened(source)) if source else sys.stdin
        out = open_files.enter_context(atomic_file(output)) if output else sys.stdout.buffer
        for number, line in enumerate(lines, 1):
            out.write(tok.decode_bytes(_ids(line, f"{name}, line {number}", tok.n_vocab)))
        out.flush()


def _converse(tok: Tokenizer) -> None:
    """Read a line, show its tokens in colour and their ids, until the end of input."""
    from rich.console import Console

    from ._token_view import token_view

    out = Console(highlight=False)
    out.print(f"{tok!r}. Type text; Ctrl-D ends.", markup=False)
    while True:
        try:
            text = input("> ")
        except EOFError:
            out.print()
            return
        ids = tok.encode(text, allowed_special="all")
        for line in token_view(tok, ids, min(out.width, 110)):
            out.print(line, soft_wrap=True)
        out.print(f"{len(text)} characters, {len(text.encode(errors='replace'))} bytes, {len(ids)} tokens", style="dim")


def _texts(sources: list[str]) -> Iterator[str]:
    from ..corpus.sources import find_sources, open_source

    if not sources:
        yield _text(sys.stdin.buffer.read(), "standard input")
    for path in find_sources(sources) if sources else []:
        with open_source(path) as file:
            yield _text(file.read(), str(path))


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}: byte {error.start} is no UTF-8 ({data[error.start]:#04x}). Convert the file to UTF-8 first."
        ) from error


def _ids(line: str, place: str, n_vocab: int) -> list[int]:
    ids = []
    for word in line.split():
        if not word.isascii() or not word.isdigit():
            raise InputError(f"{place}: {word[:40]!r} is no token id. Give whole numbers with white space between.")
        if int(word) >= n_vocab:
            raise InputError(f"{place}: there is no token {word}; the ids of this tokenizer are 0 to {n_vocab - 1}.")
        ids.append(int(word))
    return ids


def _opened(path: Path):
    try:
        return open(path, encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


@contextlib.contextmanager
def _lines_to(output: Path | None):
    if output is None:
        yield sys.stdout.write
        return
    from ..writing import atomic_file

    with atomic_file(output, "w") as file:
        yield file.write
