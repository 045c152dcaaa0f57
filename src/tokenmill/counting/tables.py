"""Work with the kernel's tables in bounded steps: grow, read out in canonical order, merge.

Every kernel call below takes a few hundredths of a second at most, so that Ctrl-C and a failure elsewhere are noticed
between two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from ._count_cy import CountTable

if TYPE_CHECKING:
    import numpy as np

    Rows = tuple[np.ndarray, np.ndarray, np.ndarray]  # arena uint8, offsets uint64 (n + 1), counts uint64 (n)

__all__ = ["add_rows", "concatenate", "grow", "merge_rows", "merge_tables", "read_batches", "slots_for", "sort"]

SLOTS = 1 << 20  # looked at in one kernel call: 32 MB
ENTRY = 32  # bytes of one slot
Pause = Callable[[], None]  # called between two kernel calls; raises to give up


def no_pause() -> None:
    pass


def slots_for(rows: int) -> int:
    """How many slots a table needs that is to take `rows` distinct pieces without growing."""
    return 2 * rows + 1024


def grow(table: CountTable, slots: int, pause: Pause = no_pause) -> None:
    table.grow(slots)
    while table.grow_step(SLOTS):
        pause()


def add_rows(table: CountTable, rows: Rows, pause: Pause = no_pause) -> None:
    """Add rows to a table that has room for them."""
    arena, offsets, counts = rows
    start = 0
    while start < len(counts):
        stop = min(start + SLOTS // 4, len(counts))
        done = table.add(arena, offsets[start : stop + 1], counts[start:stop], 0)
        if done < stop - start:
            raise RuntimeError("the table has no room for what is added to it")
        start = stop
        pause()


def sort(table: CountTable, pause: Pause = no_pause) -> None:
    """Bring a table into canonical order, so that it can be read out."""
    slot: int | None = 0
    while slot is not None:
        slot = table.sort(slot, SLOTS)
        pause()


def read_batches(table: CountTable, max_rows: int, max_bytes: int) -> Iterator[Rows]:
    """The rows of a sorted table in canonical order, in batches."""
    import numpy as np

    slot = 0
    while True:
        end, n, size = table.measure(slot, max_rows, max_bytes)
        if n == 0:
            return
        arena, offsets, counts = np.empty(size, np.uint8), np.zeros(n + 1, np.uint64), np.empty(n, np.uint64)
        table.read(slot, end, arena, offsets, counts)
        slot = end
        yield arena, offsets, counts


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


def merge_tables(tables: Sequence[CountTable], pool: Executor | None = None, pause: Pause = no_pause) -> Rows:
    """The sum of several tables as rows in canonical order. The tables may be sorted in passing.

    Parts of the hash range are merged one by one (or in `pool`, at once) in small tables that fit the processor's
    cache, so the memory for a table of everything is never needed.
    """
    total = sum(len(table) for table in tables)
    if len(tables) == 1:
        sort(tables[0], pause)
        return concatenate(list(read_batches(tables[0], SLOTS // 4, 1 << 26)))
    bits = min(16, max(0, (total // 65_536).bit_length()))

    def merge_part(part: int) -> Rows:
        expected = total >> bits  # hashes spread evenly: this is off by some per cent
        table = CountTable(slots_for(expected + expected // 4 + 1024), part, bits)
        for source in tables:
            slot: int | None = 0
            while slot is not None:
                pause()
                if table.full:
                    grow(table, 2 * table.slots, pause)
                slot = table.add_table(source, slot, SLOTS)
        sort(table, pause)
        return concatenate(list(read_batches(table, SLOTS, 1 << 30)))

    parts = range(1 << bits)
    return concatenate(list(pool.map(merge_part, parts) if pool else map(merge_part, parts)))


def merge_rows(groups: Sequence[Rows], pause: Pause = no_pause) -> Rows:
    """The sum of several groups of rows, in canonical order; a piece may stand in any of them, in any order."""
    table = CountTable(slots_for(sum(len(counts) for _, _, counts in groups)))
    for rows in groups:
        add_rows(table, rows, pause)
    sort(table, pause)
    return concatenate(list(read_batches(table, SLOTS // 4, 1 << 26)))
