"""Work with the kernels' tables in bounded steps, and the one merge of everything that is counted.

Every kernel call below takes a few hundredths of a second at most, so Ctrl-C and a failure elsewhere are noticed between
two of them.

Whatever is merged (tables in memory, runs on disk, saved word counts, what other machines counted) is a `RowSource`: it adds
its rows of one part of the hash range to a `RowMerge`, which sorts and adds them up and writes them out in canonical
order. A part fits into the processor's cache, and every way of dividing the work gives the same rows.
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
SHORT = 15  # bytes of the longest pretoken that is in its slot
ENTRY = 32  # bytes of one slot
PART_ROWS = 1 << 14  # rows of one part of a merge, about
PART_BYTES = 1 << 21  # bytes of their pretokens, about
MAX_BITS = 20
AHEAD = 4  # parts that one task merges
Pause = Callable[[], None]  # called between two kernel calls; raises to give up


class RowSource(Protocol):
    """Batches of rows, one after the other in canonical order. nbytes: of the pretokens, at most."""

    @property
    def rows(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def batches(self, part: int, bits: int) -> Iterator[TableRows | ArrayRows]:
        """From the part `part` of 2**bits of the hash range on."""


def bits_for(sources: Sequence[RowSource]) -> int:
    """Into how many parts, as a power of two, a merge of sources is divided."""
    parts = max(sum(each.rows for each in sources) // PART_ROWS, sum(each.nbytes for each in sources) // PART_BYTES)
    return min(MAX_BITS, max(0, (parts - 1).bit_length()))


def concatenate(batches: Sequence[Rows]) -> Rows:
    """Many batches of rows as one."""
    if len(batches) == 1:
        return batches[0]
    return collect(batches, sum(len(counts) for _, _, counts in batches), sum(len(arena) for arena, _, _ in batches))


def collect(batches: Iterable[Rows], rows: int, nbytes: int) -> Rows:
    """Batches as they come in as one, of `rows` rows and `nbytes` bytes of pretokens at most."""
    import numpy as np

    # Memory that is not touched is not taken.
    arena, offsets, counts = np.empty(nbytes, np.uint8), np.zeros(rows + 1, np.uint64), np.empty(rows, np.uint64)
    row = position = 0
    for some, ends, numbers in batches:
        first, row = row, row + len(numbers)
        np.add(ends[1:], np.uint64(position), out=offsets[first + 1 : row + 1])
        counts[first:row] = numbers
        arena[position : position + len(some)] = some
        position += len(some)
    return arena[:position], offsets[: row + 1], counts[:row]


def filter_rows(rows: Rows, min_count: int) -> Rows:
    """Rows without the pretokens that were seen fewer than `min_count` times."""
    import numpy as np

    keep = rows[2] >= max(0, min_count)
    return rows if np.all(keep) else chosen_rows(rows, keep)


def chosen_rows(rows: Rows, keep: np.ndarray) -> Rows:
    """The rows for which `keep` is true."""
    import numpy as np

    arena, offsets, counts = rows
    kept, lengths = int(np.count_nonzero(keep)), np.diff(offsets)
    ends = np.zeros(kept + 1, np.uint64)
    np.cumsum(lengths[keep], out=ends[1:])
    inside = arena[int(offsets[0]) : int(offsets[-1])]
    return inside[np.repeat(keep, lengths.astype(np.int64))], ends, counts[keep]


def times(rows: Rows, factor: int) -> Rows:
    """The rows with their counts multiplied."""
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


def hashes_of(rows: Rows) -> np.ndarray:
    """The hash of each pretoken, by which rows are ordered."""
    import numpy as np

    arena, offsets, counts = rows
    out = np.empty(len(counts), np.uint64)
    hashes(arena, offsets, out)
    return out


def is_canonical(rows: Rows) -> bool:
    """Whether rows are in canonical order, so that no pretoken is in them twice."""
    import numpy as np

    hashes = hashes_of(rows)
    if (hashes[1:] < hashes[:-1]).any():
        return False
    return all(_pretoken(rows, i) < _pretoken(rows, i + 1) for i in np.flatnonzero(hashes[1:] == hashes[:-1]).tolist())


def cut_rows(rows: Rows, first: int, last: int) -> Rows:
    """The rows from `first` to `last`. The arena stays whole."""
    arena, offsets, counts = rows
    return arena, offsets[first : last + 1], counts[first:last]


def order_of(rows: Rows, i: int) -> tuple[int, bytes]:
    """The place of row i in canonical order."""
    return int(hashes_of(cut_rows(rows, i, i + 1))[0]), _pretoken(rows, i)


def _pretoken(rows: Rows, i: int) -> bytes:
    arena, offsets, _ = rows
    return arena[offsets[i] : offsets[i + 1]].tobytes()


def duplicate_in(rows: Rows) -> bytes | None:
    """A pretoken that is in the rows more than once, or None."""
    import numpy as np

    arena, offsets, counts = rows
    if is_canonical(rows) or len(merge_rows([(arena, offsets, np.zeros_like(counts))])[2]) == len(counts):
        return None
    return Counter(_pretoken(rows, i) for i in range(len(counts))).most_common(1)[0][0]


def table_sources(tables: Sequence[CountTable], pause: Pause = lambda: None) -> list[RowSource]:
    """Tables in memory, to be merged."""
    sources: list[RowSource] = [TableRows(table) for table in tables if not table.seeded]
    for table in tables:
        for first in range(0, table.slots if table.seeded else 0, ROWS):  # the slots are in no order
            pause()
            merge = RowMerge()
            merge.add_table(table, first, min(first + ROWS, table.slots), 0, 2**64 - 1)
            sources.append(ArrayRows(_rows_of(merge)))
    return sources


class TableRows:
    """A table in the order of the hash. It is only read, so several threads may merge parts of it."""

    def __init__(self, table: CountTable):
        self._table = table
        self.rows = len(table)
        self.nbytes = table.arena_bytes + SHORT * self.rows

    def batches(self, part: int, bits: int) -> Iterator[TableRows]:
        return iter([self])

    def add_to(self, merge: RowMerge, part: int, bits: int) -> None:
        """Add the rows whose hash begins with the `bits` bits `part`."""
        low, high = part << (64 - bits), ((part + 1) << (64 - bits)) - 1
        slots = self._table.slots
        merge.add_table(self._table, low * slots >> 64, (high * slots >> 64) + 1, low, high)

    def reaches(self, end: int) -> bool:
        """Whether a row may have the hash `end` or a higher one."""
        return True


class ArrayRows:
    """Rows in memory in canonical order."""

    def __init__(self, rows: Rows):
        self._rows = rows
        self._hashes = hashes_of(rows)
        self.rows = len(rows[2])
        self.nbytes = int(rows[1][-1]) - int(rows[1][0])

    def batches(self, part: int, bits: int) -> Iterator[ArrayRows]:
        return iter([self])

    def add_to(self, merge: RowMerge, part: int, bits: int) -> None:
        import numpy as np

        first = int(np.searchsorted(self._hashes, np.uint64(part << (64 - bits)))) if part else 0
        end = (part + 1) << (64 - bits)
        last = int(np.searchsorted(self._hashes, np.uint64(end))) if self.reaches(end) else self.rows
        merge.add_rows(*cut_rows(self._rows, first, last), self._hashes[first:last])

    def reaches(self, end: int) -> bool:
        return self.rows > 0 and int(self._hashes[-1]) >= end


def merged(sources: Sequence[RowSource], bits: int, parts: range, pause: Pause = lambda: None) -> Iterator[Rows]:
    """The sum of `sources` in canonical order, in one batch for each of `parts` of the hash range."""
    merge, opened = RowMerge(), [source.batches(parts.start, bits) for source in sources]
    batches = [next(each, None) for each in opened]
    for part in parts:
        pause()
        merge.begin()
        for i, following in enumerate(opened):
            while batch := batches[i]:
                batch.add_to(merge, part, bits)
                if batch.reaches((part + 1) << (64 - bits)):
                    break
                batches[i] = next(following, None)
        yield _rows_of(merge)


def merged_part(sources: Sequence[RowSource], part: int, bits: int, pause: Pause = lambda: None) -> Iterator[Rows]:
    """The sum of `sources` in one part of the hash range."""
    more = max(0, bits_for(sources) - bits)
    return merged(sources, bits + more, range(part << more, (part + 1) << more), pause)


def merge_all(
    sources: Sequence[RowSource], pool: Executor | None = None, pause: Pause = lambda: None, at_once: int = 4
) -> Iterator[Rows]:
    """The sum of `sources` in canonical order, merged by `at_once` threads of the pool."""
    if pool is None:
        return merged_part(sources, 0, 0, pause)
    bits = bits_for(sources)

    def merge(first: int) -> list[Rows]:
        return list(merged(sources, bits, range(first, min(first + AHEAD, 1 << bits)), pause))

    return itertools.chain.from_iterable(map_in_order(pool, merge, range(0, 1 << bits, AHEAD), at_once))


def merge_rows(groups: Iterable[Rows]) -> Rows:
    """The sum of several groups of rows, in canonical order; a pretoken may be in any of them, in any order."""
    return concatenate(list(merge_all([source for rows in groups for source in sort_rows(rows)])))


def sort_rows(rows: Rows) -> list[ArrayRows]:
    """Rows in any order as sources."""
    if is_canonical(rows):
        return [ArrayRows(rows)]
    groups = []
    for first in range(0, len(rows[2]), ROWS):
        some, merge = cut_rows(rows, first, min(first + ROWS, len(rows[2]))), RowMerge()
        merge.add_rows(*some, hashes_of(some))
        groups.append(ArrayRows(_rows_of(merge)))
    return groups


def _rows_of(merge: RowMerge) -> Rows:
    """Finish a merge, and write it to arrays of its own."""
    import numpy as np

    try:
        n, size = merge.finish()
    except OverflowError:
        raise UsageError("the sum of two counts of the same pretoken passes 2**64 - 1") from None
    arena, offsets, counts = np.empty(size, np.uint8), np.zeros(n + 1, np.uint64), np.empty(n, np.uint64)
    merge.write(arena, offsets[1:], counts)
    return arena, offsets, counts
