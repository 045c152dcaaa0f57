"""Rows of word counts: arrays of pretokens with their counts, and their merge.

Every kernel call below takes a few hundredths of a second at most, so Ctrl-C and a failure in another thread are noticed
between two of them.

Tables in memory, runs on disk and saved word counts are merged in one way: each is a `RowSource`, which adds its rows of one
partition of the hash range to a `RowMerge`. That sorts the rows, adds up equal pretokens and writes them in canonical order. A
partition fits into the processor's cache. The rows are the same for any division of the work.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Protocol

from ..errors import UsageError
from ..jobs.in_order import map_in_order
from ._row_merge_cy import RowMerge, hashes
from ._table_cy import CountTable

if TYPE_CHECKING:
    import numpy as np

    Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # arena uint8, offsets uint64 (n + 1), counts uint64 (n)

ROWS = 1 << 20  # rows, or slots of a table, sorted in one kernel call: 32 MB
SHORT = 15  # bytes of the longest pretoken that fits into its slot
ENTRY = 32  # bytes of a slot
PARTITION_ROWS = 1 << 14  # rows of a partition, about
PARTITION_BYTES = 1 << 21  # bytes of their pretokens, about
MAX_BITS = 20
TASK_PARTITIONS = 4  # partitions that one task of the pool merges
Pause = Callable[[], None]  # called between two kernel calls; raises to give up


class RowSource(Protocol):
    """Batches of rows in canonical order. nbytes: the bytes of the pretokens, at most."""

    @property
    def rows(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def batches(self, partition: int, bits: int) -> Iterator[TableRows | ArrayRows]:
        """Yield the batches from a partition on, one of 2**bits."""


def bits_for(sources: Sequence[RowSource]) -> int:
    """The number of bits, n, for the 2**n partitions in a merge of the sources."""
    rows, nbytes = sum(source.rows for source in sources), sum(source.nbytes for source in sources)
    partitions = max(rows // PARTITION_ROWS, nbytes // PARTITION_BYTES)
    return min(MAX_BITS, max(0, (partitions - 1).bit_length()))


def concatenate(batches: Sequence[Rows]) -> Rows:
    """Join batches of rows into one."""
    if len(batches) == 1:
        return batches[0]
    return collect(batches, sum(len(counts) for _, _, counts in batches), sum(len(arena) for arena, _, _ in batches))


def collect(batches: Iterable[Rows], rows: int, nbytes: int) -> Rows:
    """Join batches that come one by one. rows, nbytes: of all of them together, at most."""
    import numpy as np

    # Untouched pages take no memory.
    arena, offsets, counts = np.empty(nbytes, np.uint8), np.zeros(rows + 1, np.uint64), np.empty(rows, np.uint64)
    row = position = 0
    for batch_arena, batch_offsets, batch_counts in batches:
        first, row = row, row + len(batch_counts)
        np.add(batch_offsets[1:], np.uint64(position), out=offsets[first + 1 : row + 1])
        counts[first:row] = batch_counts
        arena[position : position + len(batch_arena)] = batch_arena
        position += len(batch_arena)
    return arena[:position], offsets[: row + 1], counts[:row]


def filter_rows(rows: Rows, min_count: int) -> Rows:
    """The rows with a count of at least `min_count`."""
    import numpy as np

    keep = rows[2] >= max(0, min_count)
    return rows if np.all(keep) else select_rows(rows, keep)


def select_rows(rows: Rows, keep: np.ndarray) -> Rows:
    """The rows for which `keep` is true."""
    import numpy as np

    arena, offsets, counts = rows
    kept, lengths = int(np.count_nonzero(keep)), np.diff(offsets)
    ends = np.zeros(kept + 1, np.uint64)
    np.cumsum(lengths[keep], out=ends[1:])
    inside = arena[int(offsets[0]) : int(offsets[-1])]
    return inside[np.repeat(keep, lengths.astype(np.int64))], ends, counts[keep]


def times(rows: Rows, factor: int) -> Rows:
    """The rows with their counts times `factor`. UsageError if one is too large."""
    arena, offsets, counts = rows
    if factor == 1:
        return rows
    if len(counts) and int(counts.max()) * factor >= 2**64:
        raise UsageError("a weighted count passes 2**64 - 1; write the weights as ratios of smaller numbers")
    return arena, offsets, counts * counts.dtype.type(factor)


def text_bytes(rows: Rows) -> int:
    """Return the number of bytes of text that the rows count, exact below 2**64."""
    lengths = rows[1][1:] - rows[1][:-1]
    return int((lengths * rows[2]).sum(dtype=lengths.dtype))


def is_canonical(rows: Rows) -> bool:
    """Return whether rows are in canonical order, without equal pretokens."""
    import numpy as np

    order = hashes(*rows[:2])
    if (order[1:] < order[:-1]).any():
        return False
    return all(_pretoken(rows, i) < _pretoken(rows, i + 1) for i in np.flatnonzero(order[1:] == order[:-1]).tolist())


def slice_rows(rows: Rows, first: int, last: int) -> Rows:
    """The rows first:last. The arena stays whole."""
    arena, offsets, counts = rows
    return arena, offsets[first : last + 1], counts[first:last]


def sort_key(rows: Rows, i: int) -> tuple[int, bytes]:
    """The key of row i in canonical order: its hash and its pretoken."""
    return int(hashes(*slice_rows(rows, i, i + 1)[:2])[0]), _pretoken(rows, i)


def _pretoken(rows: Rows, i: int) -> bytes:
    arena, offsets, _ = rows
    return arena[offsets[i] : offsets[i + 1]].tobytes()


def duplicate_in(rows: Rows) -> bytes | None:
    """A pretoken that occurs in the rows more than once, or None."""
    import numpy as np

    arena, offsets, counts = rows
    if is_canonical(rows) or len(merge_rows([(arena, offsets, np.zeros_like(counts))])[2]) == len(counts):
        return None
    return Counter(_pretoken(rows, i) for i in range(len(counts))).most_common(1)[0][0]


def table_sources(tables: Sequence[CountTable], pause: Pause = lambda: None) -> list[RowSource]:
    """Tables as sources of a merge."""
    sources: list[RowSource] = [TableRows(table) for table in tables if not table.seeded]
    for table in tables:
        for first in range(0, table.slots if table.seeded else 0, ROWS):  # its slots are in no order
            pause()
            merge = RowMerge()
            merge.add_table(table, first, min(first + ROWS, table.slots), 0, 2**64 - 1)
            sources.append(ArrayRows(merge.finish()))
    return sources


class TableRows:
    """A table in the order of the hash. It is only read, so several threads may merge partitions of it."""

    def __init__(self, table: CountTable):
        self._table = table
        self.rows = len(table)
        self.nbytes = table.arena_bytes + SHORT * self.rows

    def batches(self, partition: int, bits: int) -> Iterator[TableRows]:
        return iter([self])

    def add_to(self, merge: RowMerge, partition: int, bits: int) -> None:
        """Add the rows whose hash begins with the `bits` bits of `partition`."""
        low, high = partition << (64 - bits), ((partition + 1) << (64 - bits)) - 1
        slots = self._table.slots
        merge.add_table(self._table, low * slots >> 64, (high * slots >> 64) + 1, low, high)

    def reaches(self, end: int) -> bool:
        """Return whether a row may have the hash `end` or a higher one."""
        return True


class ArrayRows:
    """Rows in memory in canonical order."""

    def __init__(self, rows: Rows):
        self._rows = rows
        self._hashes = hashes(*rows[:2])
        self.rows = len(rows[2])
        self.nbytes = int(rows[1][-1]) - int(rows[1][0])

    def batches(self, partition: int, bits: int) -> Iterator[ArrayRows]:
        return iter([self])

    def add_to(self, merge: RowMerge, partition: int, bits: int) -> None:
        import numpy as np

        low, high = partition << (64 - bits), ((partition + 1) << (64 - bits)) - 1
        first = int(np.searchsorted(self._hashes, np.uint64(low)))
        last = int(np.searchsorted(self._hashes, np.uint64(high), side="right"))
        merge.add_rows(*slice_rows(self._rows, first, last), self._hashes[first:last])

    def reaches(self, end: int) -> bool:
        return self.rows > 0 and int(self._hashes[-1]) >= end


def merge_partitions(
    sources: Sequence[RowSource], bits: int, partitions: range, pause: Pause = lambda: None
) -> Iterator[Rows]:
    """Yield the sum of `sources` in canonical order, one batch for each of `partitions`, which are some of 2**bits."""
    merge, iterators = RowMerge(), [source.batches(partitions.start, bits) for source in sources]
    batches = [next(iterator, None) for iterator in iterators]
    for partition in partitions:
        pause()
        merge.begin()
        for i, iterator in enumerate(iterators):
            while batch := batches[i]:
                batch.add_to(merge, partition, bits)
                if batch.reaches((partition + 1) << (64 - bits)):
                    break
                batches[i] = next(iterator, None)
        yield merge.finish()


def merge_partition(
    sources: Sequence[RowSource], partition: int, bits: int, pause: Pause = lambda: None
) -> Iterator[Rows]:
    """Yield the sum of `sources` in one of 2**bits partitions, in the smaller partitions of a merge."""
    more = max(0, bits_for(sources) - bits)
    return merge_partitions(sources, bits + more, range(partition << more, (partition + 1) << more), pause)


def merge_all(
    sources: Sequence[RowSource], pool: Executor | None = None, pause: Pause = lambda: None, at_once: int = 4
) -> Iterator[Rows]:
    """Yield the sum of `sources` in canonical order, merged by `at_once` threads of the pool."""
    if pool is None:
        return merge_partition(sources, 0, 0, pause)
    bits = bits_for(sources)

    def merge(first: int) -> list[Rows]:
        partitions = range(first, min(first + TASK_PARTITIONS, 1 << bits))
        return list(merge_partitions(sources, bits, partitions, pause))

    return itertools.chain.from_iterable(map_in_order(pool, merge, range(0, 1 << bits, TASK_PARTITIONS), at_once))


def merge_rows(groups: Iterable[Rows]) -> Rows:
    """The sum of groups of rows in any order, in canonical order."""
    return concatenate(list(merge_all([source for rows in groups for source in sort_rows(rows)])))


def sort_rows(rows: Rows) -> list[ArrayRows]:
    """Rows in any order as sources of a merge."""
    if is_canonical(rows):
        return [ArrayRows(rows)]
    sources = []
    for first in range(0, len(rows[2]), ROWS):
        unsorted, merge = slice_rows(rows, first, min(first + ROWS, len(rows[2]))), RowMerge()
        merge.add_rows(*unsorted, hashes(*unsorted[:2]))
        sources.append(ArrayRows(merge.finish()))
    return sources
