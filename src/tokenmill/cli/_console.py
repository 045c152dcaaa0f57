"""Messages, progress and summaries on stderr. Results go to stdout."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import escaped
from ..jobs.progress import Progress, bars

if TYPE_CHECKING:
    from rich.console import Console

    from ..sources.find import Skip
    from ..tokenizer import Tokenizer

SHOWN_SKIPS = 20
LONG_DOCUMENT = 10_000_000  # bytes; a note says that --unit cuts longer ones
UNITS = {"mb": "MB", "mib": "MiB"}


@dataclass
class Verbosity:
    """The options --quiet and --verbose. live: the console of the progress bars on the screen."""

    quiet: bool = False
    verbose: bool = False
    live: Console | None = None


verbosity = Verbosity()


def console() -> Console:
    """Return the rich console on stderr, which prints messages above the progress bars, if there are any."""
    from rich.console import Console

    return verbosity.live or Console(stderr=True, highlight=False)


def say(message: str) -> None:
    """Print one line for the user, unless --quiet."""
    message = escaped(message)
    if verbosity.live is not None and not verbosity.quiet:
        verbosity.live.print(message, markup=False, soft_wrap=True)
    elif not verbosity.quiet:
        print(message, file=sys.stderr)


def fail(message: str) -> None:
    console().print("[bold red]error:[/] ", end="")
    console().print(escaped(message), markup=False, soft_wrap=True)


def say_skips(skips: Sequence[Skip], total: int | None = None, where: str = "") -> None:
    """Print the first skips, the number of the others, and `where` these are listed."""
    shown = len(skips) if verbosity.verbose else SHOWN_SKIPS
    for skip in skips[:shown]:
        say(f"{'left out' if skip.left_out else 'note'}: {skip}")
    if (more := (len(skips) if total is None else total) - shown) > 0:
        say(f"left out or changed: {more:,} more{where or '; --verbose lists all'}")


@contextlib.contextmanager
def listed() -> Iterator[list[Skip]]:
    """Return a list of skips, and print them at the end, even if the job fails."""
    skips: list[Skip] = []
    try:
        yield skips
    finally:
        say_skips(skips)


def say_long_documents(sources: Sequence[Any], unit: str, becomes: str = "is one document") -> None:
    """Print a note about text files of more than 10 MB that will be one document each."""
    from ..sources.documents import SUFFIXES
    from ..sources.find import find_sources, ignore_skip, is_url, size_of, suffix_of

    if unit != "file":
        return
    files = find_sources([source for source in sources if not is_url(source)] or ["-"], ignore_skip)
    sizes = {file: size_of(file) for file in files if suffix_of(file) not in SUFFIXES}
    long = [file for file, size in sizes.items() if size > LONG_DOCUMENT]
    if long:
        largest = max(long, key=sizes.__getitem__)
        more = f" (and {len(long) - 1:,} more files over 10 MB)" if len(long) > 1 else ""
        say(
            f"note: {largest} of {sizes[largest] / 1e6:,.0f} MB{more} {becomes}. If it contains many, say how they are "
            "divided: --unit line, blank or separator."
        )


@contextlib.contextmanager
def resumable(output: Path | None, working: Path | None = None) -> Iterator[None]:
    """Print on Ctrl-C that the same command resumes, if the job has saved its progress."""
    from ..jobs.working_folder import WorkingFolder, path_beside

    try:
        yield
    except KeyboardInterrupt:
        if output is not None and WorkingFolder(working or path_beside(output)).has_states():
            say("Progress is saved. Run the same command to resume.")
        raise


@contextlib.contextmanager
def progress_bar(below: Any = None) -> Iterator[Progress | None]:
    """Return a `progress(stage, done, total)` callback that draws a bar for each stage; None if stderr is not a terminal.

    below: an object that rich draws below the bars.
    """
    if verbosity.quiet or not sys.stderr.isatty():
        yield None
        return
    with bars(console(), below) as (progress, drawn):
        verbosity.live = drawn
        try:
            yield progress
        finally:
            verbosity.live = None


def print_json(value: Any, indent: int | None = None) -> None:
    """Print JSON on stdout, with control characters escaped."""
    import json

    text = json.dumps(value, ensure_ascii=False, indent=indent)
    print(text.translate({code: f"\\u{code:04x}" for code in range(127, 160)}))


def report(rows: dict[str, Any], as_json: bool, always: Collection[str] = ()) -> None:
    """Print a summary: JSON on stdout, or a table on stderr without the rows that are empty or 0 and not in `always`.

    rows: by names in snake_case with their units, such as "peak_memory_mib".
    """
    if as_json:
        print_json(rows)
        return
    shown = {}
    for key, value in rows.items():
        if isinstance(value, dict):
            value = ", ".join(f"{name} {figure}" for name, figure in value.items())
        elif isinstance(value, int):
            value = f"{value:,}"
        if value not in (None, "0") or key in always:
            if re.fullmatch("[a-z0-9_]+", key):
                key = re.sub("_(mb|mib)$", lambda unit: f" ({UNITS[unit[1]]})", key)
                key = key.replace("mb_per", "MB per").replace("_", " ")
            shown[key] = value
    width = max(map(len, shown), default=0)
    for key, value in shown.items():
        say(f"{key:<{width}}  {value}")


def speed(seconds: float, nbytes: int | None) -> dict[str, Any]:
    rate = None if not nbytes else round(nbytes / 1e6 / max(seconds, 1e-9), 1)
    return {"seconds": round(seconds, 3), "mb_per_second": rate}


def shares_row(shares: Sequence[dict[str, Any]], as_json: bool) -> dict[str, Any]:
    """Return the row of a summary with the share of each weighted source in the text; no row without weights."""
    if not shares or as_json:
        return {"shares": list(shares)} if shares else {}
    return {"shares": {f"{each['source']} x {each['weight']}": f"{100 * each['share']:.2f}%" for each in shares}}


def say_events(tok: Tokenizer) -> None:
    """Print a note if other programs cannot encode as this tokenizer does."""
    if tok.vocabulary.order == "events":
        say(
            "note: only tokenmill encodes by events. `tokenmill convert TOKENIZER OUT --to longest-match --lossy --sample SRC` "
            "measures how often other programs return other ids, and how many more tokens they need."
        )
