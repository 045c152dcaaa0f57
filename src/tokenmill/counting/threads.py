"""The threads that count, each in a table of its own, and their spills to disk.

A thread asks for a pause when its table cannot grow any more. When all threads have stopped at the end of their block, the
caller's thread merges all tables into a run on disk (spill.py), and starts them again with empty tables. At that moment every
block that was drawn is counted and on disk. So the positions in the sources are saved then: the runs and that state are a
complete count of the text so far.
"""

from __future__ import annotations

import itertools
import threading
import time
from array import array
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..kernels.machine import threads_for
from ..sources.blocks import BLOCK, Block, BlockSource
from ._table_cy import CountTable, count_text
from .rows import ENTRY, Pause, collect, concatenate, filter_rows, merge_all
from .spill import Spill

if TYPE_CHECKING:
    from ..split import Splitter
    from ..split._scan_cy import Scanner
    from .rows import Rows

SLICE = 8 << 20  # bytes counted in one kernel call
POLL = 0.1  # seconds between two checks of the threads
BUFFERS = 4 * BLOCK  # bytes that a thread needs in addition to its table
PER_THREAD = 16 * BLOCK  # bytes below which another thread is not worth its memory
WORK = BLOCK // 4  # bytes on disk below which another thread is not worth starting
LIBRARIES = 100 << 20  # bytes that Python, NumPy and Arrow take, and a merge on its way to the disk
RUN_BUFFERS = 1 << 20  # bytes that a run takes while it is merged


class Stopped(Exception):
    """Raised in a thread that must end, because another one failed or the user pressed Ctrl-C."""


class Counter:
    """One thread's table of counts, of at most `budget` bytes. A subclass may count other things than pretokens."""

    def __init__(self, splitter: Splitter, budget: int, spill: Spill, pause: Pause):
        self.table = CountTable(min(1 << 16, budget // ENTRY))
        self.weight = 1  # of each occurrence
        self.pause = pause
        self.source: BlockSource | None = None  # of the blocks
        self.block = Block()
        self.splitter = splitter
        self._budget = budget
        self._spill = spill
        self._cannot_grow = False
        self._pattern_checked = False

    def count_block(self, block: Block) -> None:
        """Add the pretokens of a block to the table."""
        splitter = self.splitter
        if not self._pattern_checked and (longest := max(block.texts(), key=len, default=b"")):
            self._pattern_checked = True
            splitter.warn_of_long_pretokens(longest)
        data, ends = splitter.prepared(block.data, block.ends)
        if splitter.scanner is not None:
            self.add(data, ends, splitter.scanner)
            return
        for first, last in itertools.pairwise([0, *ends]):  # the `regex` module splits the text
            text = bytes(memoryview(data)[first:last])
            self.add(text, array("Q", splitter.ends(text)))

    def add(self, data: Any, ends: Any, scanner: Scanner | None = None) -> None:
        """Add the pretokens of the documents that end at `ends` to the table. Without a scanner, `ends` are those of pretokens."""
        self.pause()
        position = document = 0
        while document < len(ends):
            self.make_room()
            position, document = count_text(self.table, scanner, data, ends, position, document, SLICE)

    def wants_pause(self) -> bool:
        """Return whether the tables should be spilled before the next block."""
        table = self.table
        if table.nbytes > self._budget:
            return len(table) > 0
        return self._cannot_grow and table.room < min(1 << 15, table.slots // 8)

    def make_room(self) -> None:
        self.pause()
        if not self.table.room:
            self._grow()
        self.table.weight = self.weight  # the table may be new

    def _grow(self) -> None:
        table = self.table
        # While a table grows, both the old and the new slots take memory.
        largest = (self._budget - table.arena_bytes) // ENTRY - table.slots
        if largest >= 1.3 * table.slots:
            table.grow(min(largest, 2 * table.slots), self.pause)
            self._cannot_grow = False
        elif not self._cannot_grow:
            self._cannot_grow = True
            table.use_more()
        else:  # the block has more new pretokens than `wants_pause` expects
            self._spill.write([table], pause=self.pause)


class Threads:
    """The threads of one count. Leaving the `with` block stops them all.

    num_threads: the largest number of threads. Fewer start if the text or the memory is small.
    memory_limit: of the whole process, in bytes.
    checkpoint: called when all counts are on disk. every: the largest number of seconds between two checkpoints.
    size: bytes of the sources on disk; None if unknown.
    """

    def __init__(
        self,
        new_counter: Callable[[int, Spill, Pause], Counter],
        num_threads: int | None,
        memory_limit: int,
        spill: Spill,
        checkpoint: Callable[[], None] = lambda: None,
        every: float | None = None,
        size: int | None = None,
    ):
        self._memory = max(memory_limit - LIBRARIES, memory_limit // 4)
        self.n = useful_threads(num_threads, size, self._memory)
        budget = max(1024 * ENTRY, self._memory // self.n - BUFFERS)
        self.counters = [new_counter(budget, spill, self.pause) for _ in range(self.n)]
        self.spill = spill
        self._checkpoint = checkpoint
        self._every = every
        self._last = time.monotonic()
        self._stop = threading.Event()
        self._pausing = False  # whether the threads stop for a spill
        self.pool = ThreadPoolExecutor(self.n, thread_name_prefix="tokenmill-count")
        self._step: Callable[[Counter], bool] = lambda counter: False
        self._futures: list = []

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self.pool.shutdown(wait=True, cancel_futures=True)
        self.counters.clear()  # frees the tables now: counters refer to this object, so only the garbage collector would

    def pause(self) -> None:
        """Raise Stopped if the threads must end. Called between two kernel calls."""
        if self._stop.is_set():
            raise Stopped

    def start(self, step: Callable[[Counter], bool], numpy: bool = True) -> None:
        """Let each thread call `step`, which counts a block, until it returns False. Import NumPy meanwhile, for the rows."""
        self._step = step
        self._submit()
        if numpy:
            import_module("numpy")

    def _submit(self) -> None:
        self._pausing = False
        self._futures = [self.pool.submit(self._count, counter) for counter in self.counters]

    def _count(self, counter: Counter) -> None:
        while not self._pausing and self._step(counter):
            self.pause()
            if counter.wants_pause() or (self._every is not None and time.monotonic() - self._last >= self._every):
                self._pausing = True

    def halt(self) -> None:
        """End all threads, and wait for that."""
        self._stop.set()
        wait(self._futures)

    def check(self) -> bool:
        """Return whether a thread is running, or raise the exception of one that failed. If all have paused, spill and go on."""
        done = [future for future in self._futures if future.done()]
        for future in done:
            future.result()
        if len(done) < self.n or not self._pausing:
            return len(done) < self.n
        self.spill_all()
        self._submit()
        return True

    def join(self, watch: Callable[[], None] = lambda: None) -> None:
        """Wait for all threads, or raise the exception of the first that fails. watch: called often."""
        while self.check():
            wait(self._futures, POLL, FIRST_EXCEPTION)
            watch()

    def spill_all(self) -> None:
        """Write all tables to disk. No thread may count meanwhile."""
        if tables := self.tables():
            self.spill.write(tables, self.pool, self.pause)
        self._checkpoint()
        self._last = time.monotonic()

    def prepare_merge(self) -> int:
        """Free memory for the merge at the end. Return the number of files to write in parallel."""
        if not self.spill.runs:
            return self.n
        # The last counts are spilled too, which frees the memory of the tables.
        self.spill_all()
        for counter in self.counters:
            counter.table = CountTable(1024)
        self.spill.compact(self.pool, self.pause)
        return max(1, min(self.n, self._memory // (RUN_BUFFERS * len(self.spill.runs))))

    def tables(self) -> list[CountTable]:
        """The tables that are not empty."""
        return [counter.table for counter in self.counters if len(counter.table)]

    def rows(self, min_count: int = 1) -> Rows:
        """All counts in memory, in canonical order."""
        sources = self.spill.sources(self.tables())
        pool = self.pool if self.n > 1 and not self.spill.runs else None
        batches = (filter_rows(rows, min_count) for rows in merge_all(sources, pool, self.pause, self.n))
        if self.spill.runs:  # many share pretokens, so the sums below would be far too high
            return concatenate(list(batches))
        return collect(batches, sum(source.rows for source in sources), sum(source.nbytes for source in sources))


def useful_threads(num_threads: int | None, size: int | None, memory: int) -> int:
    """The number of threads for a text of `size` bytes on disk (None if unknown) and `memory` bytes for their tables."""
    n = threads_for(num_threads)
    if size is not None:
        n = min(n, 1 + size // WORK)
    return max(1, min(n, memory // PER_THREAD))
