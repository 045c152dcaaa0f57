"""Work with the kernel's tables in bounded steps, and the one merge of everything that is counted.

Every kernel call below takes a few hundredths of a second at most, so that Ctrl-C and a failure elsewhere are noticed
between two of them.

What is merged (tables in memory, runs on disk, saved word counts, what other machines counted) is a `RowSource`: it
adds its rows of one part of the hash range to a small table, and that table is read out in canonical order. So the
memory for a table of everything is never needed, the small table stays in the processor's cache, and every way of
dividing the work gives the same rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, wait
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ._rows_cy import hashes, measure, read, sort_clusters
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
SHORT = 15  # bytes of the longest piece that stands in its slot
ENTRY = 32  # bytes of one slot
PART_ROWS = 1 << 14  # rows of one part of a merge, about: the table for it has 1 MB
PART_BYTES = 1 << 21  # bytes of their pieces, about
MAX_BITS = 20
DONE: Any = object()
T = TypeVar("T")
R = TypeVar("R")
Pause = Callable[[], None]  # called between two kernel calls; raises to give up


class RowSource(Protocol):
    """Rows that can be merged with others, part by part of the hash range, in ascending order of the parts."""

    rows: int
    nbytes: int  # of the pieces' bytes

    def add_to(self, table: CountTable, part: int, bits: int, pause: Pause) -> None:
        """Add the rows whose hash begins with the `bits` bits `part` to `table`, which is for these alone."""


def no_pause() -> None:
    pass


def slots_for(rows: int) -> int:
    """How many slots a table needs that is to take `rows` distinct pieces without growing."""
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


def read_all(table: CountTable, pool: Executor | None = None, pause: Pause = no_pause) -> Rows:
    """All rows of a sorted table. What has been measured is read in the pool while the rest is measured."""
    import numpy as np

    rows = len(table)
    # As long as it can be: memory that nobody touches is not taken.
    arena = np.empty(SHORT * rows + table.arena_bytes, np.uint8)
    offsets, counts = np.zeros(rows + 1, np.uint64), np.empty(rows, np.uint64)
    slot = first = position = 0
    reading: list[Future[None]] = []
    try:
        while True:
            end, n, size = measure(table, slot, ROWS, 1 << 26)
            if n == 0:
                break
            ends = np.empty(n + 1, np.uint64)
            ends[0] = position
            last = first + n

            def read_batch(
                slot: int = slot, end: int = end, first: int = first, last: int = last, ends: Any = ends
            ) -> None:
                read(table, slot, end, arena, ends, counts[first:last])
                offsets[first + 1 : last + 1] = ends[1:]

            if pool is None:
                read_batch()
            else:
                reading.append(pool.submit(read_batch))
            slot, first, position = end, last, position + size
            pause()
        for future in reading:
            future.result()
    finally:
        wait(reading)
    return arena[:position], offsets, counts


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
    """Without the pieces that were seen fewer than `min_count` times."""
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
    """The hash of each piece, by which rows are ordered."""
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


def merge_tables(
    tables: Sequence[CountTable], pool: Executor | None = None, pause: Pause = no_pause, memory: float = inf
) -> Rows:
    """The sum of several tables as rows in canonical order, in memory. The tables are used up.

    If the largest has room for the others, they are added to it: entries come in the order of their hashes, and so go
    through it from front to back. Else all are added up part by part.

    memory: bytes that the tables may take.
    """
    largest = max(tables, key=len, default=CountTable())
    others = [table for table in tables if table is not largest]
    if others:
        largest.crowd()
    room = len(largest) + largest.room
    needed = sum(map(len, tables))
    # Two tables of one text have many pieces in common, a quarter or more of all. If these have not, the largest doubles.
    if 2 * largest.nbytes + sum(table.nbytes for table in others) <= memory:
        needed = int(0.85 * needed)
    if needed <= room:
        for table in others:
            TableRows(table).add_to(largest, 0, 0, pause)
        sort(largest, pause)
        return read_all(largest, pool, pause)
    sources = [TableRows(table) for table in tables]
    bits = bits_for(sum(source.rows for source in sources), sum(source.nbytes for source in sources))
    step = max(1, (1 << bits) // 16)  # a task has one table for all its parts

    def merge_parts(first: int) -> Rows:
        return concatenate(list(merged(sources, bits, range(first, first + step), pause)))

    groups = range(0, 1 << bits, step)
    return concatenate(list(pool.map(merge_parts, groups) if pool else map(merge_parts, groups)))


def merge_rows(groups: Sequence[Rows], pause: Pause = no_pause) -> Rows:
    """The sum of several groups of rows, in canonical order; a piece may stand in any of them, in any order."""
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
