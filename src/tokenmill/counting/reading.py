"""The sources of a count, which its threads share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from operator import mul
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..sources.blocks import Block, BlockSource, Cut, ReadOptions, Span
from ..sources.documents import open_source, refuse_text
from ..sources.find import OnSkip, Skip, Source, can_read_again, find_sources, is_url, report_skips, size_of
from ..sources.packed import COMPRESSIONS
from ..sources.streams import Pause
from ..split import Splitter
from .ddfreq import is_counts_file
from .options import CountOptions, Paths
from .store import CountsMetadata
from .threads import Counter, Threads
from .weights import Weighing

WAIT = 0.05  # seconds between two checks for a source that another thread is opening


def text_sources(sources: Paths, read: ReadOptions, on_skip: OnSkip | None) -> tuple[list[Source], int]:
    """The files of text that `sources` name, and the number of folders that could not be read. UsageError for word counts."""
    skips: list[Skip] = []
    paths = find_sources(sources, None if on_skip is None else skips.append)
    report_skips(skips, on_skip)
    for path in paths:
        if not is_url(path) and is_counts_file(Path(path)):
            raise UsageError(
                f"{path} contains word counts, not text. Train on it alone (tokenmill train {path}, or WordCounts.load), or "
                "add it to other counts with tokenmill count --merge"
            )
    refuse_text(paths, read)
    return paths, len(skips)


def stored_size(sources: Sequence[Source]) -> int | None:
    """The bytes of all sources as they are stored; None if one is a pipe, which can be read only once."""
    return sum(map(size_of, sources)) if all(map(can_read_again, sources)) else None


class FileCount:
    """The sources of one count, from which its threads draw blocks, and the totals so far.

    Each thread opens a source of its own while there are any, then draws from another thread's source.

    documents, bytes_of: the counted documents, and bytes by group of sources, also those before an interruption.
    weighing: by default of these sources alone. spans: the span of each source to count.
    """

    def __init__(
        self,
        paths: Sequence[Source],
        cut: Cut | None,
        options: CountOptions,
        on_skip: OnSkip | None,
        weighing: Weighing | None = None,
        spans: Sequence[Span | None] = (),
    ) -> None:
        self.weighing = weighing or Weighing(paths, options.weights)
        self.documents = self.skipped = 0
        self.bytes_of = [0] * len(self.weighing.factors)
        self._paths, self._spans = paths, spans or [None] * len(paths)
        on_skip = self._on_skip = options.read.skipper(on_skip)
        whole, binary = on_skip is not None, options.binary
        self._open_source = partial(open_source, options=options.read, cut=cut, whole=whole, binary=binary)
        self._next = 0  # the index of the next source to open
        self._open: list[BlockSource] = []
        self._opening = 0  # the number of sources that threads are opening now
        self._read = 0  # stored bytes of the finished sources
        self._lock = threading.Condition()

    def run(self, threads: Threads, show: Callable[[int], None]) -> None:
        """Count the rest of the sources. show: called with the stored bytes read so far."""

        def step(counter: Counter) -> bool:
            block, source = counter.block, counter.source or self._next_source(counter.pause)
            if source is None:
                counter.block = Block()  # frees the buffer of the last one, which may be large
                return False
            counter.source = source if source.draw(block, counter.pause) else None
            if counter.source is not None:
                block.finish()
                group = self.weighing.group(source.source)
                counter.weight = self.weighing.factors[group]
                counter.count_block(block)
                self._record(block, group)
            return True

        try:
            # A decompressor may take 128 MiB until the end. NumPy is imported after it.
            threads.start(step, numpy=not any(str(path).endswith(COMPRESSIONS) for path in self._paths))
            threads.join(lambda: show(self._stored_position()))
        except BaseException:
            threads.halt()
            raise
        finally:
            for source in self._open:
                with source.lock:
                    source.close()

    def metadata(self, splitter: Splitter) -> CountsMetadata:
        """The metadata of the counts."""
        return CountsMetadata(
            splitter.patterns, self.documents, sum(self.bytes_of), self.weighing.mixture(self.bytes_of)
        )

    def state(self) -> dict[str, Any]:
        """The state for `resume`. To be called while all threads are between two blocks."""
        unfinished = [[source.number, *source.resume_at] for source in self._open if not source.done]
        return {
            "documents": self.documents,
            "bytes_of": self.bytes_of,
            "skipped": self.skipped,
            "places": {"next": self._next, "unfinished": unfinished},
        }

    def resume(self, state: dict[str, Any]) -> None:
        """Continue from the saved state of an interrupted job."""
        self.documents, self.bytes_of, self.skipped = state["documents"], state["bytes_of"], state["skipped"]
        self._next = state["places"]["next"]
        unfinished = {number: place for number, *place in state["places"]["unfinished"]}
        for number, place in unfinished.items():
            source = self._opened(number)
            source.resume_at = place
            self._open.append(source)
        done = (source for number, source in enumerate(self._paths[: self._next]) if number not in unfinished)
        self._read = sum(map(size_of, done))

    def _next_source(self, pause: Pause) -> BlockSource | None:
        """The next source for a thread to draw from; None at the end."""
        with self._lock:
            while self._next == len(self._paths):
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
        source = self._open_source(self._paths[number], span=self._spans[number], pause=pause)  # may wait for a pipe
        source.number = number
        return source

    def _forget_done(self) -> None:
        self._read += sum(source.stored for source in self._open if source.done)
        self._open = [source for source in self._open if not source.done]

    def _stored_position(self) -> int:
        with self._lock:
            return self._read + sum(source.stored for source in self._open)

    def _record(self, block: Block, group: int) -> None:
        """Add a counted block to the totals. group: of its source."""
        with self._lock:
            self.documents += block.documents
            self.bytes_of[group] += block.nbytes
            report_skips(block.skips, self._on_skip)
            self.skipped += sum(skip.left_out for skip in block.skips)
            if sum(map(mul, self.weighing.factors, self.bytes_of)) >= 2**63:
                raise UsageError("the weighted counts may pass 2**63; write the weights as ratios of smaller numbers")


def cut_of(splitter: Splitter) -> Cut | None:
    """The function that finds certain cuts between pretokens; None if the pattern is not an automaton."""
    return None if splitter.scanner is None else splitter.certain_cut
