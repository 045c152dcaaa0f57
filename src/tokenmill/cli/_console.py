"""What every command shares: the console on stderr, the progress bar, reports."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..jobs.progress import Progress

if TYPE_CHECKING:
    from ..sources.find import Skip

SHOWN_SKIPS = 20


def console():
    """The rich console on stderr, which gets all messages; stdout is for results."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(message: str) -> None:
    """Print one line for the user."""
    console().print(message, markup=False, soft_wrap=True)


def fail(message: str) -> None:
    """Print an error."""
    console().print("[bold red]error:[/] ", end="")
    say(message)


def say_skips(skips: Sequence[Skip]) -> None:
    """Say what was left out or changed: the first of it, and how much more."""
    for skip in skips[:SHOWN_SKIPS]:
        say(f"{'left out' if skip.left_out else 'changed'}: {skip}")
    if len(skips) > SHOWN_SKIPS:
        say(f"left out or changed: {len(skips) - SHOWN_SKIPS:,} more")


@contextlib.contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A `progress(stage, done, total)` callback that draws a bar for each stage; None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as rich

    columns = [
        column()
        for column in (rich.BarColumn, rich.TaskProgressColumn, rich.TimeElapsedColumn, rich.TimeRemainingColumn)
    ]
    with rich.Progress(rich.TextColumn("{task.description:<16}"), *columns, console=console()) as bars:
        tasks: dict = {}

        def progress(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield progress


def report(rows: dict, as_json: bool) -> None:
    """Print a summary: a table on stderr without empty rows, or JSON on stdout for a program to read."""
    if as_json:
        import json

        print(json.dumps({key.replace(" ", "_"): value for key, value in rows.items()}))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for key, value in rows.items():
        if isinstance(value, dict):
            value = ", ".join(f"{name} {figure}" for name, figure in value.items())
        elif isinstance(value, int):
            value = f"{value:,}"
        if value not in (None, "0"):
            table.add_row(Text(key), Text(str(value)))
    console().print(table)
