"""tokenmill compare: several tokenizers on the same text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import UsageError, printable
from ._console import progress_bar, say
from ._options import ThreadsOption, multi_value_command
from ._tables import check_forms, short_name, show
from .main import app

__all__ = ["compare"]


@app.command(cls=multi_value_command("--on"))
def compare(
    tokenizers: Annotated[list[str], typer.Argument(help="Files, folders or names; the first is the baseline.")],
    on: Annotated[
        list[str] | None, typer.Option(metavar="SRC...", help="The text: files, folders, globs, saved word counts.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a report as one self-contained page.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the tables as JSON.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the tables as Markdown.")] = False,
    split: Annotated[str | None, typer.Option(help="The split pattern, for files that do not hold it.")] = None,
    num_threads: ThreadsOption = None,
) -> None:
    """Compare tokenizers on the same text: compression, fertility, junk, what the vocabularies are spent on.

    tokenmill compare my-tokenizer cl100k_base --on corpus/*.txt
    """
    from ..api import load
    from ..quality import compare as compare_tokenizers
    from ..quality.report import require_plots, write_report

    check_forms(json, markdown)
    if not on:
        raise UsageError("give --on SRC... to name the text to compare on")
    if html is not None:
        require_plots()
    named = {name: load(path, split=split) for name, path in zip(_names(tokenizers), tokenizers, strict=True)}
    with progress_bar() as progress:
        found = compare_tokenizers(named, on, num_threads=num_threads, progress=progress)
    if html is not None:
        write_report(found, html)
        say(f"wrote {html}")
    if html is None or json or markdown:
        show(found, 0, json, markdown)


def _names(paths: list[str]) -> list[str]:
    """Short names if they are distinct, else the paths."""
    short = [short_name(path) for path in paths]
    names = short if len(set(short)) == len(short) else list(map(printable, paths))
    if len(set(names)) < len(names):
        raise UsageError("the same tokenizer is given twice")
    return names
