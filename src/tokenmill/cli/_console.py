"""What every command shares: the console on stderr, the progress bar, and one way to end on an error."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

__all__ = ["console", "fail", "progress_bar", "say"]

Progress = Callable[[str, int, "int | None"], None]


def console():
    """The rich console on stderr, where all messages go; stdout is for answers."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(message: str) -> None:
    """One line for the person at the terminal."""
    console().print(message, markup=False, soft_wrap=True)


def fail(message: str) -> None:
    console().print(f"[bold red]error:[/] ", end="")
    say(message)


@contextlib.contextmanager
def progress_bar() -> Iterator[Progress | None]:
    """A `progress(stage, done, total)` callback that draws one bar for each stage; None where stderr is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress as Bars, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description:<16}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Bars(*columns, console=console()) as bars:
        tasks: dict = {}

        def progress(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)

        yield progress
