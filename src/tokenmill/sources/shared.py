"""The sources of one job, shared among threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from .blocks import BlockSource, Span
from .find import Source, size_of
from .streams import Pause

WAIT = 0.05  # seconds


class SharedSources:
    """Gives threads the sources to draw from: each opens one of its own while there are any, then helps with another's.

    spans: of the sources, if only a span of each is wanted.
    open: opens a source, called as open(source, span=span, pause=pause).
    """

    def __init__(self, sources: Sequence[Source], spans: Sequence[Span | None], open: Callable[..., BlockSource]):
        self._sources = sources
        self._spans = spans or [None] * len(sources)
        self._new = open
        self._next = 0  # the first that no thread has taken yet
        self._open: list[BlockSource] = []
        self._read = 0  # stored bytes of the sources that are done
        self._opening = 0  # that threads are opening at this moment
        self._lock = threading.Condition()

    def next(self, pause: Pause = lambda: None) -> BlockSource | None:
        """A source for a thread to draw from; None when nothing is left."""
        with self._lock:
            while self._next == len(self._sources):
                self._forget_done()
                if self._open:
                    self._open.append(self._open.pop(0))
                    return self._open[-1]
                if not self._opening:
                    return None
                self._lock.wait(WAIT)
                pause()
            number = self._next
            self._next += 1
            self._opening += 1
        try:
            opened = self._opened(number, pause)
            with self._lock:
                self._forget_done()
                self._open.append(opened)
        finally:
            with self._lock:
                self._opening -= 1
                self._lock.notify_all()
        return opened

    def _opened(self, number: int, pause: Pause = lambda: None) -> BlockSource:
        opened = self._new(self._sources[number], span=self._spans[number], pause=pause)  # may wait for a pipe
        opened.number = number
        return opened

    def _forget_done(self) -> None:
        self._read += sum(source.stored_position() for source in self._open if source.done)
        self._open = [source for source in self._open if not source.done]

    def stored_position(self) -> int:
        """Return the number of stored bytes of the sources read so far."""
        with self._lock:
            return self._read + sum(source.stored_position() for source in self._open)

    def places(self) -> dict[str, Any]:
        """Return the position in all sources, for `resume`; no thread may be drawing."""
        unfinished = [[source.number, *source.place()] for source in self._open if not source.done]
        return {"next": self._next, "unfinished": unfinished}

    def resume(self, places: dict[str, Any]) -> None:
        """Go on where an interrupted job was."""
        self._next = places["next"]
        unfinished = {number: place for number, *place in places["unfinished"]}
        for number, place in unfinished.items():
            source = self._opened(number)
            source.resume(place)
            self._open.append(source)
        done = (source for number, source in enumerate(self._sources[: self._next]) if number not in unfinished)
        self._read = sum(map(size_of, done))

    def close(self) -> None:
        """Close what is open. No thread may be drawing any more."""
        for source in self._open:
            with source.lock:
                source.close()
