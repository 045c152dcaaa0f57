# cython: language_level=3
"""The counting kernel: a table's rows out of it, in canonical order.

First `sort_clusters`, then `measure` and `read` in turn, each in steps as large as the caller likes.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.string import memcmp, memcpy
from cython.cimports.tokenmill.counting._table_cy import EMPTY, CountTable, Entry, hash_of
from cython.cimports.tokenmill.kernels._pretoken_key import TM_CANONICAL, tm_hash, tm_key, tm_key_of


def sort_clusters(table: CountTable, slot: cython.size_t, limit: cython.size_t):
    """Bring the clusters from `slot` on (0 to begin with) into canonical order.

    Looks at about `limit` slots; returns the slot to go on from, or None when done: then `read` may follow. The
    table stays a table, since in a cluster any order is good in which no entry stands before its home.
    """
    begin: cython.size_t
    stop: cython.size_t
    entries: cython.pointer(Entry) = table.entries
    slots: cython.size_t = table.slots
    with cython.nogil:
        if slot == 0 and entries[slots - 1].hi != 0:
            while entries[slot].hi != 0:  # this cluster began at the last slots: its turn comes there
                slot += 1
        stop = slot + limit
        while slot < slots and slot < stop:
            if entries[slot].hi == 0:
                slot += 1
                continue
            begin = slot
            while entries[slot if slot < slots else slot - slots].hi != 0:
                slot += 1
            if slot - begin > 1:
                _sort_cluster(table, begin, slot)
        if slot >= slots:
            table.wrapped = 0
            while entries[table.wrapped].hi != 0 and (
                    table.home(hash_of(entries + table.wrapped), slots) > table.wrapped):
                table.wrapped += 1
    return None if slot >= slots else slot


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort_cluster(table: CountTable, begin: cython.size_t, end: cython.size_t) -> cython.void:
    """Insertion sort of slots begin:end, where an `end` beyond the last slot goes on at the front.

    Linear probing leaves an entry at most a cluster away from its place, so few are moved. Where a cluster goes
    on at the front, its hashes are measured from its beginning, so that the small ones stand after the large.
    """
    entries: cython.pointer(Entry) = table.entries
    slots: cython.size_t = table.slots
    turn: uint64_t = 0
    moving: Entry
    hash: uint64_t
    other: uint64_t
    i: cython.size_t
    j: cython.size_t
    a: cython.size_t
    b: cython.size_t
    if end > slots:  # the first entry is at home, so the others' hashes are less than one slot's span before its own
        turn = ~cython.cast(uint64_t, 0) // slots - (hash_of(entries + begin) << table.part_bits)
    for i in range(begin + 1, end):
        a = i if i < slots else i - slots
        b = i - 1 if i - 1 < slots else i - 1 - slots
        hash = (hash_of(entries + a) << table.part_bits) + turn
        other = (hash_of(entries + b) << table.part_bits) + turn
        if other < hash or (other == hash and _compare(table, entries + b, entries + a) < 0):
            continue
        moving = entries[a]
        j = i
        while j > begin:
            b = j - 1 if j - 1 < slots else j - 1 - slots
            other = (hash_of(entries + b) << table.part_bits) + turn
            if other < hash or (other == hash and _compare(table, entries + b, cython.address(moving)) < 0):
                break
            entries[j if j < slots else j - slots] = entries[b]
            j -= 1
        entries[j if j < slots else j - slots] = moving


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compare(table: CountTable, a: cython.pointer(Entry), b: cython.pointer(Entry)) -> cython.int:
    """Pretokens of equal hash, which hardly ever are, stand in the order of their bytes."""
    m: cython.size_t = table.length(a)
    n: cython.size_t = table.length(b)
    order: cython.int = memcmp(table.bytes_of(a), table.bytes_of(b), min(m, n))
    if order:
        return order
    return -1 if m < n else 1


def measure(table: CountTable, slot: cython.size_t, rows: cython.size_t, nbytes: cython.size_t):
    """The range of slots, from `slot` on, that `read` can give at once within `rows` rows and `nbytes` of pretokens.

    Returns (end of the range, rows, bytes); at least one row, and none once all are read. Slots count on beyond
    the last one to the entries that wrapped.
    """
    n: cython.size_t = 0
    size: cython.size_t = 0
    length: cython.size_t
    entry: cython.pointer(Entry)
    end: cython.size_t = table.slots + table.wrapped
    if slot < table.wrapped:
        slot = table.wrapped
    with cython.nogil:
        while slot < end:
            entry = table.entries + (slot if slot < table.slots else slot - table.slots)
            if entry.hi != 0:
                length = table.length(entry)
                if n == rows or (n > 0 and size + length > nbytes):
                    break
                n += 1
                size += length
            slot += 1
    return slot, n, size


def read(table: CountTable, slot: cython.size_t, end: cython.size_t, arena: uint8_t[::1], offsets: uint64_t[::1],
         counts: uint64_t[::1]):
    """Write the pretokens of the slots from `slot` to `end`, a range that `measure` gave, in canonical order.

    Pretoken i becomes arena[offsets[i]:offsets[i + 1]]; offsets[0] is where to begin in the arena.
    """
    position: cython.size_t = offsets[0]
    length: cython.size_t
    entry: cython.pointer(Entry)
    i: cython.Py_ssize_t = 0
    if slot < table.wrapped:
        slot = table.wrapped
    with cython.nogil:
        while slot < end:
            entry = table.entries + (slot if slot < table.slots else slot - table.slots)
            slot += 1
            if entry.hi == 0:
                continue
            length = table.length(entry)
            if length:
                memcpy(cython.address(arena[position]), table.bytes_of(entry), length)
            position += length
            counts[i] = entry.count
            i += 1
            offsets[i] = position


def hashes(arena: cython.const[uint8_t][::1], offsets: cython.const[uint64_t][::1], out: uint64_t[::1]):
    """The hash of each pretoken arena[offsets[i]:offsets[i + 1]], by which word counts are ordered."""
    n: cython.Py_ssize_t = out.shape[0]
    nothing: uint8_t = 0
    base: cython.pointer(cython.const[uint8_t]) = cython.address(nothing)
    if arena.shape[0]:
        base = cython.address(arena[0])
    i: cython.Py_ssize_t
    key: tm_key
    with cython.nogil:
        for i in range(n):
            if offsets[i] == offsets[i + 1]:
                key.lo = 0
                key.hi = cython.cast(uint64_t, EMPTY) << 56
            else:
                key = tm_key_of(base + offsets[i], offsets[i + 1] - offsets[i], base + arena.shape[0], TM_CANONICAL)
            out[i] = tm_hash(key, TM_CANONICAL)
