"""tokenmill count: text to word counts."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from ._console import progress_bar, report
from .main import app


@app.command()
def count(
    sources: Annotated[list[str], typer.Argument(help="Text files, folders or globs, plain or compressed.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write the word counts to.")],
    split: Annotated[
        list[str] | None,
        typer.Option(
            help="Split pattern: gpt2, cl100k (default), o200k, llama3, qwen2, nanochat, whitespace, or a regular "
            "expression. Given several times, each cuts the pieces of the one before."
        ),
    ] = None,
    field: Annotated[str, typer.Option(help="The field of a JSON line that holds the text.")] = "text",
    binary: Annotated[
        str, typer.Option(help="What to do with a file that looks binary: error, skip, or count its bytes.")
    ] = "error",
    num_threads: Annotated[int | None, typer.Option(help="Threads; all cores unless told.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON on stdout.")] = False,
) -> None:
    """Count the distinct pieces of text and save them, to train on once or often.

    tokenmill count corpus/*.txt --split cl100k -o my-counts
    """
    from ..counting import count as count_sources
    from ..errors import require

    require("pyarrow", "corpus", "writing word counts")  # before hours of counting
    start = time.perf_counter()
    with progress_bar() as progress:
        counts = count_sources(
            sources, split or ["cl100k"], num_threads=num_threads, field=field, binary=binary, progress=progress
        )
        counted = time.perf_counter()
        counts.save(output)
    saved = time.perf_counter()
    report(
        {
            "word counts": str(output),
            "documents": counts.documents,
            "bytes": counts.total_bytes,
            "pieces": int(counts.counts.sum()),
            "distinct pieces": len(counts),
            "seconds": {"count": round(counted - start, 3), "save": round(saved - counted, 3)},
            "MB per second": round(counts.total_bytes / 1e6 / max(counted - start, 1e-9), 1),
        },
        json,
    )
