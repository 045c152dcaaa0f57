"""Count on this machine: `count` for files, `count_iterator` for Python's iterators.

Every thread draws blocks of text and counts them in a table of its own, without the GIL; at the end the tables are
merged. Only the distinct pieces are in memory, and a block for each thread.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Executor, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from ..corpus.sources import find_sources
from ..errors import UsageError
from ..split import Splitter
from ._count_cy import CountTable
from .reading import BLOCK, Binary, Block, Sources, encode, open_source
from .tables import grow, merge_tables
from .word_counts import WordCounts

if TYPE_CHECKING:
    Progress = Callable[[str, int, "int | None"], None]
    Paths = str | os.PathLike | Iterable[str | os.PathLike]

__all__ = ["count", "count_iterator", "cores", "make_splitter"]

SLICE = 8 << 20  # bytes counted in one kernel call
POLL = 0.1  # seconds between two looks at the threads


class Stopped(Exception):
    """Raised inside of a thread that is to end because another failed or the user pressed Ctrl-C."""


class Counter:
    """What one thread has counted: its table, and how much text went into it."""

    def __init__(self, splitter: Splitter, stop: threading.Event):
        self.table = CountTable()
        self.documents = 0
        self.total_bytes = 0
        self._splitter = splitter
        self._stop = stop

    def pause(self) -> None:
        if self._stop.is_set():
            raise Stopped

    def count(self, block: Block) -> None:
        table, ends = self.table, block.document_ends
        if self._splitter.scanner is None:
            self._count_slowly(block)
        else:
            position = document = 0
            while document < len(ends):
                self.pause()
                if table.full:
                    grow(table, 2 * table.slots, self.pause)
                position, document = table.count(self._splitter.scanner, block.data, ends, position, document, SLICE)
        self.documents += block.documents
        self.total_bytes += block.nbytes

    def _count_slowly(self, block: Block) -> None:
        """With a pattern that is no automaton: the `regex` module finds the pieces."""
        import numpy as np

        first = 0
        for last in block.document_ends.tolist():
            self.pause()
            text = bytes(memoryview(block.data)[first:last])
            ends = np.asarray(self._splitter.ends(text), np.uint64)
            start = 0
            while start < len(ends):
                self.pause()
                if self.table.full:
                    grow(self.table, 2 * self.table.slots, self.pause)
                start = self.table.count_ends(text, ends, start)
            first = last


def count(
    sources: Paths,
    split: str | Iterable[str] | Splitter = "cl100k",
    *,
    num_threads: int | None = None,
    field: str = "text",
    binary: Binary = "error",
    progress: Progress | None = None,
) -> WordCounts:
    """Count the pieces of files: paths, folders and globs of text, plain or compressed (.gz, .bz2, .xz, .zst).

    A file is one document, a line of a .jsonl or .ndjson file is one. Bytes that are no UTF-8 are counted like any
    others, never dropped.

    split: the name of a split pattern or a regular expression, several of either, or a Splitter.
    num_threads: all cores, if None.
    field: what field of a JSON line holds the text.
    binary: what to do with a file that has NUL bytes in its first 64 KiB, or more than a third of them not UTF-8:
        "error" raises InputError, "skip" passes over it, "count" counts its bytes.
    progress: called as progress("count", bytes read, bytes of all files, or None where a pipe is among them).
    Raises InputError for a source that is missing, may not be read, or is damaged.
    """
    if binary not in ("error", "skip", "count"):
        raise UsageError(f"binary is {binary!r}; it can be 'error', 'skip' or 'count'")
    splitter = make_splitter(split)
    paths = find_sources(sources)
    total = sum(os.path.getsize(path) for path in paths) if all(path.is_file() for path in paths) else None
    shared = Sources(open_source(path, splitter, field, binary) for path in paths)

    def work(counter: Counter) -> None:
        block = Block()
        while source := shared.next():
            while source.draw(block, counter.pause):
                counter.count(block)

    def watch() -> None:
        if progress is not None:
            progress("count", shared.bytes_read() if total is None else min(total, shared.bytes_read()), total)

    try:
        with Threads(splitter, num_threads) as threads:
            threads.start(work)
            threads.join(watch)
            if progress is not None and total is not None:
                progress("count", total, total)
            return threads.merged()
    finally:
        shared.close()


def count_iterator(
    texts: Iterable[str | bytes],
    split: str | Iterable[str] | Splitter = "cl100k",
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> WordCounts:
    """Count the pieces of the texts that an iterator yields, each one document.

    Strings are encoded as UTF-8, lone surrogates as U+FFFD. An exception of the iterator is passed on, and nothing is
    returned. The iterator runs in the caller's thread.

    progress: called as progress("count", bytes of text so far, None).

    >>> sorted(count_iterator(["low low", "lower"]).items())
    [(b' low', 1), (b'low', 1), (b'lower', 1)]
    """
    splitter = make_splitter(split)
    if isinstance(texts, (str, bytes)):
        raise UsageError("texts is one string; give an iterable of strings, such as [text]")
    waiting: queue.Queue[Block | None] = queue.Queue(2 * cores(num_threads))

    def work(counter: Counter) -> None:
        while True:
            try:
                block = waiting.get(timeout=POLL)
            except queue.Empty:
                counter.pause()
                continue
            if block is None:
                return
            counter.count(block)

    with Threads(splitter, num_threads) as threads:
        threads.start(work)
        seen = 0
        for block in _blocks(texts):
            _put(waiting, block, threads)
            seen += block.nbytes
            if progress is not None:
                progress("count", seen, None)
        for _ in range(threads.n):
            _put(waiting, None, threads)
        threads.join()
        return threads.merged()


class Threads:
    """The threads that count. Leaving the `with` block stops them, and none stays behind."""

    def __init__(self, splitter: Splitter, num_threads: int | None):
        self.n = cores(num_threads)
        self._splitter = splitter
        self._stop = threading.Event()
        self._counters = [Counter(splitter, self._stop) for _ in range(self.n)]
        self._pool: Executor = ThreadPoolExecutor(self.n, thread_name_prefix="tokenmill-count")
        self._futures: list = []

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def start(self, work: Callable[[Counter], None]) -> None:
        self._futures = [self._pool.submit(work, counter) for counter in self._counters]

    def check(self) -> None:
        """Raise what a thread raised."""
        for future in self._futures:
            if future.done():
                future.result()

    def join(self, watch: Callable[[], None] = lambda: None) -> None:
        """Wait for all threads, or raise the exception of the first that fails."""
        while True:
            _, running = wait(self._futures, POLL, FIRST_EXCEPTION)
            self.check()
            if not running:
                return
            watch()

    def merged(self) -> WordCounts:
        counters = self._counters
        used = [counter.table for counter in counters if len(counter.table)] or [counters[0].table]
        return WordCounts(
            *merge_tables(used, self._pool, counters[0].pause),
            self._splitter.patterns,
            sum(counter.documents for counter in counters),
            sum(counter.total_bytes for counter in counters),
        )


def make_splitter(split: str | Iterable[str] | Splitter) -> Splitter:
    if isinstance(split, Splitter):
        return split
    return Splitter(split) if isinstance(split, str) else Splitter(*split)


def cores(num_threads: int | None) -> int:
    """How many threads to use: as many as asked for, or one for each core this process may use."""
    if num_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if num_threads < 1:
        raise UsageError(f"num_threads is {num_threads}; it must be at least 1")
    return num_threads


def _blocks(texts: Iterable[str | bytes]) -> Iterator[Block]:
    """The texts, gathered into blocks of about a megabyte."""
    documents: list[bytes] = []
    size = 0
    for text in texts:
        if not isinstance(text, (str, bytes, bytearray, memoryview)):
            raise UsageError(f"the texts must be strings or bytes, but one is {type(text).__name__}: {text!r:.60}")
        documents.append(encode(text))
        size += len(documents[-1])
        if size >= BLOCK:
            yield _block(documents)
            documents, size = [], 0
    if documents:
        yield _block(documents)


def _block(documents: list[bytes]) -> Block:
    block = Block(buffered=False)
    block.set_documents(documents)
    return block


def _put(waiting: queue.Queue, block: Block | None, threads: Threads) -> None:
    while True:
        threads.check()
        try:
            waiting.put(block, timeout=POLL)
            return
        except queue.Full:
            continue
