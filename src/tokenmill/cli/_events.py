"""The merges and removals of a training as they are made: --log writes them to a file, --verbose prints them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ._console import verbosity

if TYPE_CHECKING:
    from ..jobs.progress import Progress
    from ..training.watching import TrainingEvent


class _Watching:
    """A progress callback that also gets the events of training."""

    def __init__(self, bar: Progress | None, event: Callable[[TrainingEvent], None]):
        self.bar, self.event = bar, event

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if self.bar is not None:
            self.bar(stage, done, total)


def watching(bar: Progress | None, event: Callable[[TrainingEvent], None] | None) -> Progress | None:
    """A progress callback that also passes on events, if there is a function for them."""
    return bar if event is None else _Watching(bar, event)


@contextlib.contextmanager
def event_log(log: Path | None) -> Iterator[Callable[[TrainingEvent], None] | None]:
    """What writes the events of training to the file `log`, and with --verbose to stderr; None for neither.

    Tokens are spelt as in merges.txt: a space is Ġ.
    """
    from ..formats.byte_alphabet import to_text
    from ..jobs.outputs import atomic_file

    verbose = verbosity.verbose
    if not verbose and log is None:
        yield None
        return
    with atomic_file(log, "w") if log else contextlib.nullcontext() as file:
        if file:
            file.write("rank\tleft\tright\ttoken\tcount\tios\n")

        def event(made: TrainingEvent) -> None:
            left, right = (to_text(part) if part else "" for part in (made.left, made.right))
            ios = "" if made.ios is None else f"{made.ios:.4f}"
            token, count = to_text(made.token), "" if made.count is None else made.count
            if file:
                file.write(f"{made.rank}\t{left}\t{right}\t{token}\t{count}\t{ios}\n")
            if verbose:
                line = f"removed {token}  IoS {ios}" if ios else f"{left} + {right} -> {token}  {count:,}"
                sys.stderr.write(f"{made.rank:>7} {line}\n")

        yield event
