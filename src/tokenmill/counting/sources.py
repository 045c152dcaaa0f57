"""Which kind of source a file is, and how the sources of a count are shared among its threads."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..sources.find import OnSkip, size_of, suffix_of
from .reading import Binary, Source, Span, TextSource
from .records import JsonLinesSource, ParquetSource

if TYPE_CHECKING:
    from ..split import Splitter

__all__ = ["Sources", "open_source"]


def open_source(
    path: Path | str,
    splitter: Splitter,
    field: str,
    binary: Binary,
    span: Span | None = None,
    on_skip: OnSkip | None = None,
) -> Source:
    """The source for a file, by the ending of its name. It is opened when the first block is drawn."""
    suffix = suffix_of(path)
    if suffix in (".jsonl", ".ndjson"):
        return JsonLinesSource(path, field, span, on_skip)
    if suffix == ".parquet":
        return ParquetSource(path, field, span, on_skip)
    return TextSource(path, splitter, binary, span, on_skip)


class Sources:
    """Hands the threads their sources: each opens one of its own while there are any, then helps with the others'."""

    def __init__(self, sources: Iterable[Source]):
        self._sources = list(sources)
        for number, source in enumerate(self._sources):
            source.number = number
        self._next = 0  # the first that no thread has taken yet
        self._open: list[Source] = []
        self._read = 0  # bytes of the files that are done
        self._lock = threading.Lock()

    def next(self) -> Source | None:
        """A source for a thread to draw from; None when there is nothing left."""
        with self._lock:
            self._read += sum(source.bytes_read() for source in self._open if source.done)
            self._open = [source for source in self._open if not source.done]
            if self._next < len(self._sources):
                self._next += 1
                self._open.append(self._sources[self._next - 1])
                return self._open[-1]
            if not self._open:
                return None
            self._open.append(self._open.pop(0))
            return self._open[-1]

    def bytes_read(self) -> int:
        """How many bytes of the files on disk have been read."""
        with self._lock:
            return self._read + sum(source.bytes_read() for source in self._open)

    def places(self) -> dict[str, Any]:
        """How far all has been drawn, for `resume`; no thread may be drawing."""
        unfinished = [[source.number, *source.place()] for source in self._open if not source.done]
        return {"next": self._next, "unfinished": unfinished}

    def resume(self, places: dict[str, Any]) -> None:
        """Go on where an interrupted count was."""
        self._next = places["next"]
        unfinished = {n: place for n, *place in places["unfinished"]}
        for n, place in unfinished.items():
            self._sources[n].resume(place)
            self._open.append(self._sources[n])
        done = (source for n, source in enumerate(self._sources[: self._next]) if n not in unfinished)
        self._read = sum(size_of(source.path) for source in done)

    def close(self) -> None:
        """Close what is open. No thread may be drawing any more."""
        for source in self._open:
            with source.lock:
                source.close()
