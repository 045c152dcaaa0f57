"""Work with the kernel's tables in bounded steps, and the one merge of everything that is counted.

Every kernel call below takes a few hundredths of a second at most, so that Ctrl-C and a failure elsewhere are noticed
between two of them.

What is merged (tables in memory, runs on disk, saved word counts, what other machines counted) is a `RowSource`: it
adds its rows of one part of the hash range to a small table, and that table is read out in canonical order. So the
memory for a table of everything is never needed, the small table stays in the processor's cache, and every way of
dividing the work gives the same rows.
"""

from __future__ import annotations

import mmap
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, wait
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ._rows_cy import hashes, measure, read, sort_clusters
from ._sum_cy import TableSum
from ._table_cy import CountTable

if TYPE_CHECKING:
    import numpy as np

    Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # arena uint8, offsets uint64 (n + 1), counts uint64 (n)

__all__ = [
    "ArrayRows",
    "RowSource",
    "SortedRows",
    "TableRows",
    "add_rows",
    "bits_for",
    "concatenate",
    "filter_rows",
    "grow",
    "hashes_of",
    "merge_rows",
    "merge_tables",
    "merged",
    "ordered_map",
    "part_of_rows",
    "read_all",
    "read_batches",
    "slots_for",
    "sort",
]

SLOTS = 1 << 20  # looked at in one kernel call: 32 MB
ROWS = 1 << 16  # read in one kernel call, at most
SHORT = 15  # bytes of the longest pretoken that stands in its slot
ENTRY = 32  # bytes of one slot
PART_ROWS = 1 << 14  # rows of one part of a merge, about: the table for it has 1 MB
PART_BYTES = 1 << 21  # bytes of their pretokens, about
MAX_BITS = 20
DONE: Any = object()
T = TypeVar("T")
R = TypeVar("R")
Pause = Callable[[], None]  # called between two kernel calls; raises to give up


class RowSource(Protocol):
    """Rows that can be merged with others, part by part of the hash range, in ascending order of the parts."""

    rows: int
    nbytes: int  # of the pretokens' bytes

    def add_to(self, table: CountTable, part: int, bits: int, pause: Pause) -> None:
        """Add the rows whose hash begins with the `bits` bits `part` to `table`, which is for these alone."""


def no_pause() -> None:
    pass


def slots_for(rows: int) -> int:
    """How many slots a table needs that is to take `rows` distinct pretokens without growing."""
    return 2 * rows + 1024


def bits_for(rows: int, nbytes: int) -> int:
    """Into how many parts, as a power of two, a merge of so many rows is divided.

    >>> bits_for(1000, 10_000), bits_for(2**26, 2**29)
    (0, 12)
    """
    parts = max(rows // PART_ROWS, nbytes // PART_BYTES)
    return min(MAX_BITS, max(0, (parts - 1).bit_length()))


def grow(table: CountTable, slots: int, pause: Pause = no_pause) -> None:
    table.grow(slots)
    while table.grow_step(SLOTS):
        pause()


def add_rows(table: CountTable, rows: Rows, pause: Pause = no_pause) -> None:
    """Add rows to a table. Rows in canonical order want one that has room for them from the outset."""
    arena, offsets, counts = rows
    start = 0
    while start < len(counts):
        stop = min(start + SLOTS // 4, len(counts))
        start += table.add(arena, offsets[start : stop + 1], counts[start:stop], 0)
        if start < stop:
            grow(table, 2 * table.slots, pause)
        pause()


def sort(table: CountTable, pause: Pause = no_pause) -> None:
    """Bring a table into canonical order, so that it can be read out."""
    slot: int | None = 0
    while slot is not None:
        slot = sort_clusters(table, slot, SLOTS)
        pause()


def read_batches(table: CountTable, max_rows: int, max_bytes: int) -> Iterator[Rows]:
    """The rows of a sorted table in canonical order, in batches."""
    import numpy as np

    slot = 0
    while True:
        end, n, size = measure(table, slot, max_rows, max_bytes)
        if n == 0:
            return
        arena, offsets, counts = np.empty(size, np.uint8), np.zeros(n + 1, np.uint64), np.empty(n, np.uint64)
        read(table, slot, end, arena, offsets, counts)
        slot = end
        yield arena, offsets, counts


def read_all(table: CountTable) -> Rows:
    """All rows of a sorted table."""
    return concatenate(list(read_batches(table, len(table), SHORT * len(table) + table.arena_bytes)))


def concatenate(batches: Sequence[Rows]) -> Rows:
    """Many batches of rows as one."""
    import numpy as np

    if len(batches) == 1:
        return batches[0]
    offsets = np.zeros(sum(len(counts) for _, _, counts in batches) + 1, np.uint64)
    row, position = 1, 0
    for arena, ends, counts in batches:
        np.add(ends[1:], np.uint64(position), out=offsets[row : row + len(counts)])
        row += len(counts)
        position += len(arena)
    arenas = [arena for arena, _, _ in batches] or [np.empty(0, np.uint8)]
    sums = [counts for _, _, counts in batches] or [np.empty(0, np.uint64)]
    return np.concatenate(arenas), offsets, np.concatenate(sums)


def filter_rows(rows: Rows, min_count: int) -> Rows:
    """Without the pretokens that were seen fewer than `min_count` times."""
    import numpy as np

    arena, offsets, counts = rows
    keep = counts >= max(0, min_count)
    kept = int(np.count_nonzero(keep))
    if kept == len(counts):
        return rows
    lengths = np.diff(offsets)
    ends = np.zeros(kept + 1, np.uint64)
    np.cumsum(lengths[keep], out=ends[1:])
    inside = arena[int(offsets[0]) : int(offsets[-1])]
    return inside[np.repeat(keep, lengths.astype(np.int64))], ends, counts[keep]


def hashes_of(rows: Rows) -> np.ndarray:
    """The hash of each pretoken, by which rows are ordered."""
    import numpy as np

    arena, offsets, counts = rows
    out = np.empty(len(counts), np.uint64)
    hashes(arena, offsets, out)
    return out


def part_of_rows(rows: Rows, hashes: np.ndarray, part: int, bits: int) -> Rows:
    """Those of sorted rows whose hash begins with the `bits` bits `part`."""
    import numpy as np

    arena, offsets, counts = rows
    first = int(np.searchsorted(hashes, np.uint64(part << (64 - bits)))) if part else 0
    end = (part + 1) << (64 - bits)
    last = len(hashes) if end == 1 << 64 else int(np.searchsorted(hashes, np.uint64(end)))
    low, high = int(offsets[first]), int(offsets[last])
    return arena[low:high], offsets[first : last + 1] - offsets[first], counts[first:last]


class TableRows:
    """A table in memory, to be merged. It is only looked at, so several threads may merge parts of it."""

    def __init__(self, table: CountTable):
        self._table = table
        self.rows = len(table)
        self.nbytes = table.arena_bytes + 8 * self.rows

    def add_to(self, table: CountTable, part: int, bits: int, pause: Pause) -> None:
        slot: int | None = 0
        while slot is not None:
            pause()
            if table.full:
                grow(table, 2 * table.slots, pause)
            slot = table.add_table(self._table, slot, SLOTS)


class ArrayRows:
    """Rows in memory in ascending order of their hashes, to be merged."""

    def __init__(self, rows: Rows, hashes: np.ndarray):
        self._rows = rows
        self._hashes = hashes
        self.rows = len(rows[2])
        self.nbytes = len(rows[0])

    def add_to(self, table: CountTable, part: int, bits: int, pause: Pause) -> None:
        add_rows(table, part_of_rows(self._rows, self._hashes, part, bits), pause)


class SortedRows:
    """Batches of rows in canonical order, to be merged as they come in."""

    def __init__(self, batches: Iterable[Rows], rows: int, nbytes: int):
        self._batches = iter(batches)
        self.rows = rows
        self.nbytes = nbytes
        self._batch: Rows | None = None
        self._hashes: np.ndarray
        self._at = 0

    def add_to(self, table: CountTable, part: int, bits: int, pause: Pause) -> None:
        import numpy as np

        first, end = part << (64 - bits), (part + 1) << (64 - bits)
        while True:
            if self._batch is None:
                self._batch = next(self._batches, None)
                if self._batch is None:
                    return
                self._hashes = hashes_of(self._batch)
                self._at = int(np.searchsorted(self._hashes, np.uint64(first)))
            arena, offsets, counts = self._batch
            at = self._at
            stop = len(counts) if end == 1 << 64 else int(np.searchsorted(self._hashes, np.uint64(end)))
            if stop > at:
                low, high = int(offsets[at]), int(offsets[stop])
                add_rows(table, (arena[low:high], offsets[at : stop + 1] - offsets[at], counts[at:stop]), pause)
            self._at = stop
            if stop < len(counts):
                return
            self._batch = None


def merged(sources: Sequence[RowSource], bits: int, parts: Iterable[int], pause: Pause = no_pause) -> Iterator[Rows]:
    """The sum of `sources` in canonical order, in one batch for each of `parts` of the hash range."""
    expected = sum(source.rows for source in sources) >> bits
    table = CountTable(slots_for(expected + expected // 4 + 256))  # hashes spread evenly, but for some per cent
    for part in parts:
        table.clear(part, bits)
        for source in sources:
            source.add_to(table, part, bits, pause)
        sort(table, pause)
        yield read_all(table)


def merge_tables(tables: Sequence[CountTable], pool: Executor | None = None, pause: Pause = no_pause) -> Rows:
    """The sum of several tables as rows in canonical order, in memory; as many threads of the pool do it as there are tables.

    Each takes the next part of the hash range, adds it up, and writes it where the part before ends.
    """
    tables = list(tables)
    rows, nbytes = sum(map(len, tables)), sum(table.arena_bytes for table in tables)
    # As long as they can be: memory that nobody touches is not taken.
    arena, offsets, counts = _memory(SHORT * rows + nbytes, "B"), _memory(rows + 1, "Q"), _memory(rows, "Q")
    bits = bits_for(2 * rows, nbytes)  # half as large as elsewhere: every thread has one in hand
    turns = _Turns(1 << bits, pause)

    def work() -> None:
        one = TableSum()
        try:
            while (part := turns.next_part()) is not None:
                n, size = one.add_up(tables, part, bits)
                first, position = turns.take(part, n, size)
                one.write(arena, offsets[first + 1 : first + n + 1], counts[first : first + n], position)
        except BaseException as error:
            turns.give_up(error)
            raise

    if pool is None or len(tables) < 2:
        work()
    else:
        working = [pool.submit(work) for _ in tables]
        wait(working)
        for future in working:
            future.result()
    return arena[: turns.position], offsets[: turns.row + 1], counts[: turns.row]


class _Turns:
    """Gives out parts to threads, and to each part its place behind the one before it."""

    def __init__(self, parts: int, pause: Pause):
        self.row = self.position = 0  # where the next part begins
        self._parts = iter(range(parts))
        self._pause = pause
        self._turn = 0
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    def next_part(self) -> int | None:
        self._pause()
        with self._changed:
            return next(self._parts, None)

    def take(self, part: int, rows: int, nbytes: int) -> tuple[int, int]:
        """The first row and byte of a part, once the parts before it are known."""
        with self._changed:
            while self._turn != part:
                if self._error is not None:
                    raise self._error
                self._changed.wait()
            place = self.row, self.position
            self._turn, self.row, self.position = part + 1, self.row + rows, self.position + nbytes
            self._changed.notify_all()
        return place

    def give_up(self, error: BaseException) -> None:
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()


def _memory(n: int, code: str) -> np.ndarray:
    """An array of zeros that is to be written once, from front to back.

    In small pages, where NumPy would ask for huge ones: a virtual machine that gives its free memory back has to wait for
    those.
    """
    import numpy as np

    size = np.dtype(code).itemsize
    pages = mmap.mmap(-1, max(1, n) * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(pages, code, n)


def merge_rows(groups: Sequence[Rows], pause: Pause = no_pause) -> Rows:
    """The sum of several groups of rows, in canonical order; a pretoken may stand in any of them, in any order."""
    table = CountTable(slots_for(sum(len(counts) for _, _, counts in groups)))
    for rows in groups:
        add_rows(table, rows, pause)
    sort(table, pause)
    return read_all(table)


def ordered_map(
    pool: Executor | None,
    function: Callable[[T], R],
    items: Iterable[T],
    at_once: int = 4,
    watch: Callable[[], None] = no_pause,
) -> Iterator[R]:
    """Like pool.map, but with only `at_once` calls that run or whose result waits; `watch` is called ten times a second."""
    if pool is None:
        for item in items:
            yield function(item)
            watch()
        return
    waiting: deque[Future[R]] = deque()
    items = iter(items)
    try:
        while True:
            while len(waiting) < at_once and (item := next(items, DONE)) is not DONE:
                waiting.append(pool.submit(function, item))
            if not waiting:
                return
            while not waiting[0].done():
                wait([waiting[0]], 0.1)
                watch()
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
