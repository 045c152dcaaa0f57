"""What every command prints: messages, progress and summaries, on stderr. stdout is for results."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..jobs.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console

    from ..counting import WordCounts
    from ..sources.find import Skip
    from ..tokenizer import Tokenizer

SHOWN_SKIPS = 20
SAMPLE_PRETOKENS = 1 << 18  # of the training text, to measure the cost of an export; takes about 100 ms


def console() -> Console:
    """The rich console on stderr, which gets all messages."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(message: str) -> None:
    """Print one line for the user."""
    console().print(message, markup=False, soft_wrap=True)


def fail(message: str) -> None:
    """Print an error."""
    console().print("[bold red]error:[/] ", end="")
    say(message)


def say_skips(skips: Sequence[Skip], total: int | None = None, where: str = "") -> None:
    """Say what was left out or changed: the first of it, how much more, and `where` the rest is listed."""
    for skip in skips[:SHOWN_SKIPS]:
        say(f"{'left out' if skip.left_out else 'changed'}: {skip}")
    if (more := (len(skips) if total is None else total) - SHOWN_SKIPS) > 0:
        say(f"left out or changed: {more:,} more{where}")


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


def check_sample(sample: list[str] | None) -> None:
    """Raise InputError for a missing --sample before the long work begins."""
    from ..sources.find import find_sources

    for source in sample or []:
        find_sources(source)


def cost_of_export(
    tok: Tokenizer, sample: list[str] | None, as_json: bool, trained_on: WordCounts | None = None
) -> dict[str, Any]:
    """Measure and report what it costs to use the remaining tokens of a Picky tokenizer without its events.

    trained_on: word counts, a share of which is measured if there is no sample.
    Returns the rows for the command's JSON, empty for a tokenizer without events.
    """
    import dataclasses

    from ..tokenizer.export_loss import export_loss, sample_counts

    if tok.vocabulary.order != "events":
        if sample:
            say("--sample is not used: this is not a Picky tokenizer, so every program gives the same ids")
        return {}
    text = sample or (None if trained_on is None else sample_counts(trained_on, SAMPLE_PRETOKENS))
    if text is None:
        say("give --sample SRC to measure how often the ids differ from event order, and what that costs in tokens")
        return {}
    with progress_bar() as progress:
        cost = export_loss(tok, text, progress)
    if as_json:
        return {"without events": dataclasses.asdict(cost)} if cost else {}
    say(str(cost) if sample else f"{cost}, on a share of the text trained on (--sample SRC: on other text)")
    return {}
