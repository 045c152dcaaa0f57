"""The text of a training that reads it several times: files, or texts in memory."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Protocol

from ..counting import CountOptions
from ..counting.from_texts import count_blocks
from ..counting.threads import Threads
from ..counting.workers import FileCount, Paths, stored_size
from ..errors import UsageError
from ..jobs.progress import Progress
from ..sources.blocks import Cut
from ..sources.find import find_sources


class Text(Protocol):
    """A text that can be read again and again."""

    def read(self, threads: Threads, cut: Cut, stage: str, progress: Progress) -> None:
        """Let the threads count all of it. cut: where a long document may be cut."""


class FileText:
    """Files, as `count` takes them. UsageError for a pipe, which can be read only once.

    options: how they are read.
    """

    def __init__(self, sources: Paths, options: CountOptions | None = None) -> None:
        self.sources, self.options = find_sources(sources), options or CountOptions()
        self._size = stored_size(self.sources)
        if self._size is None:
            raise UsageError("superwords need the text several times, and a pipe can be read only once; give a file")

    def read(self, threads: Threads, cut: Cut, stage: str, progress: Progress) -> None:
        files = FileCount(self.sources, cut, self.options, None)
        files.run(threads, lambda done: progress(stage, done, self._size))


class MemoryText:
    """Texts, each one document. UsageError for an iterator, which can be read only once."""

    def __init__(self, texts: Iterable[str | bytes]) -> None:
        if iter(texts) is texts:
            raise UsageError(
                "superwords need the text several times, and an iterator can be read only once; give a list of texts, or "
                "an object whose __iter__ begins again"
            )
        self._texts = texts

    def read(self, threads: Threads, cut: Cut, stage: str, progress: Progress) -> None:
        count_blocks(self._texts, threads, partial(_under, progress, stage))


def _under(progress: Progress, stage: str, _: str, done: int, total: int | None) -> None:
    progress(stage, done, total)
