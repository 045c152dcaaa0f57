"""Progress of a long run, as the caller sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

# Called as progress(stage, done, total), often bytes of the sources as they are stored. total is None if it is unknown.
Progress = Callable[[str, int, int | None], None]


class Meter:
    """Adds up how much of several sizes is done, and reports it as show(done, total).

    sizes: one for each source or part; None if it is unknown, and then the total is None.

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

    def at(self, number: int, done: int = 0) -> None:
        """Record that everything before one size is done, and how much of it."""
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
