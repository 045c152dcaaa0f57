"""Progress callbacks and bars."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

# Called as progress(stage, done, total), often bytes of the sources as they are stored. total is None if it is unknown.
Progress = Callable[[str, int, int | None], None]

STAGES = {
    "clean": "Cleaning", "count": "Counting", "encode": "Encoding", "verify": "Verifying", "join": "Joining",
    "segment": "Encoding pretokens", "replay": "Replaying merges", "reachable tokens": "Reaching tokens",
    "sample": "Public sample", "load": "Loading", "merge": "Merging", "index": "Indexing",
}  # fmt: skip
BYTES = ("clean", "count", "encode", "verify", "join")  # the stages that are measured in bytes


@contextlib.contextmanager
def bars(console: Console | None = None, below: Any = None) -> Iterator[tuple[Progress, Console]]:
    """Yield a callback that draws a bar for each stage, above `below`; and the console to print above the bars."""
    from rich import progress as rich
    from rich.console import Console

    class Bars(rich.Progress):
        def get_renderables(self) -> Iterator[Any]:
            yield from super().get_renderables()
            if below is not None:
                yield below

    columns = (
        rich.TextColumn("{task.description:<18}"),
        rich.BarColumn(bar_width=24),
        rich.TaskProgressColumn(),
        rich.TextColumn("{task.fields[speed]:>10}"),
        rich.TimeRemainingColumn(elapsed_when_finished=True),
    )
    console = console or Console(stderr=True)
    with Bars(*columns, console=console, disable=console.is_jupyter) as drawn:
        show = _notebook(drawn) if console.is_jupyter else None
        tasks: dict = {}

        def progress(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = drawn.add_task(STAGES.get(stage, stage.capitalize()), total=total, speed="")
            task = drawn.tasks[tasks[stage]]
            if done < task.completed:  # the stage begins again, with other data
                drawn.reset(task.id, total=total)
            shown = f"{done:,}"
            if stage in BYTES:
                seconds = task.elapsed or 0.0  # the speed of the first second is not shown
                shown = f"{done / 1e6 / seconds:,.1f} MB/s" if seconds > 1 else f"{done / 1e6:,.1f} MB"
            drawn.update(task.id, completed=done, total=total, speed=shown)
            if show is not None:
                show()

        yield progress, drawn.console
        for task in drawn.tasks:  # all stages are done, though their totals were estimates
            drawn.update(task.id, total=task.completed if task.total is None else task.total)
            drawn.update(task.id, completed=task.total)
        if show is not None:
            show(True)


def _notebook(drawn: Any) -> Callable[..., None]:
    """Return a function that draws the bars in one output of a notebook cell. rich itself would need ipywidgets."""
    from IPython.display import display
    from rich.console import Console

    output = display({"text/plain": ""}, raw=True, display_id=True)
    latest = 0.0

    def show(now: bool = False) -> None:
        nonlocal latest
        if now or time.monotonic() - latest > 0.2:
            latest = time.monotonic()
            console = Console(file=io.StringIO(), width=80, force_jupyter=False)
            console.print(drawn.get_renderable())
            output.update({"text/plain": console.file.getvalue()}, raw=True)  # type: ignore[attr-defined]

    return show


@contextlib.contextmanager
def drawn(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """Yield the callback for the argument `progress` of a public function: True draws a bar for each stage."""
    if progress is True:
        with bars() as (show, _):
            yield show
    else:
        yield progress or None


def part_of(progress: Progress | None, number: int, parts: int) -> Progress | None:
    """Return a callback for one of several parts, numbered from 0, that reports the progress of all of them.

    >>> part_of(print, 1, 2)("encode", 30, 100)
    encode 130 200
    """
    if progress is None or parts == 1:
        return progress

    def show(stage: str, done: int, total: int | None) -> None:
        progress(stage, done + number * (total or 0), total and parts * total)

    return show


class Meter:
    """The sum of what is done of several sizes, reported as show(done, total).

    sizes: one for each source or task; None if it is unknown, and then the total is None.

    >>> meter = Meter(print, [10, 20, 30])
    >>> meter.at(1, 5)
    15 60
    >>> meter.set(2, 30)
    45 60
    """

    def __init__(self, show: Callable[[int, int | None], None] | None, sizes: Sequence[int | None]) -> None:
        self._show = show
        self._sizes = sizes
        self._total = None if None in sizes else sum(size or 0 for size in sizes)
        self._done = [0] * len(sizes)
        self._sum = 0
        self._first = 0  # everything before this one is done

    def set(self, number: int, done: int) -> None:
        """Record how much of one size is done. It never goes back, and never beyond the size."""
        self._put(number, done)
        if self._show is not None:
            self._show(self._sum, self._total)

    def part(self, number: int) -> Progress:
        """Return a progress callback that records what is done of one size."""
        return lambda stage, done, total: self.set(number, done)

    def at(self, number: int, done: int = 0) -> None:
        """Record how much of one size is done, and that all sizes before it are done."""
        while self._first < number:
            self._put(self._first, self._sizes[self._first] or 0)
            self._first += 1
        if number < len(self._sizes):
            self.set(number, done)
        elif self._show is not None:
            self._show(self._sum, self._total)

    def _put(self, number: int, done: int) -> None:
        size = self._sizes[number]
        done = max(self._done[number], done if size is None else min(done, size))
        self._sum += done - self._done[number]
        self._done[number] = done
