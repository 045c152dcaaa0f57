"""The counting kernel: the only merge of counts, into rows in canonical order.

A merge gathers the rows of a partition of the hash range from tables and arrays, in any order, sorts them, and adds up the
counts of equal pretokens. Hashes are evenly distributed, so sorting takes linear time: each row goes to a bucket by its hash,
and a bucket has one or two rows. Nothing is looked up, and sources are only read, so partitions can be merged in parallel.

    begin(), then add_table() and add_rows(), then finish()
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.stdlib import free, qsort
from cython.cimports.libc.string import memcmp, memcpy, memset
from cython.cimports.tokenmill.counting._table_cy import LONG, CountTable, Entry, canonical_hash
from cython.cimports.tokenmill.kernels._arrays import grow
from cython.cimports.tokenmill.kernels._platform import tm_prefetch
from cython.cimports.tokenmill.kernels._pretoken_key import TM_CANONICAL, tm_hash, tm_key, tm_key_of

from ..errors import UsageError

EMPTY = cython.declare(uint64_t, 0xFE)  # the tag of the empty pretoken, which only mappings have
STEP = cython.declare(cython.size_t, 512)  # slots between two checks of the room for rows
CROWD = cython.declare(cython.size_t, 256)  # rows of a bucket for insertion sort; only crafted hashes have more

Row = cython.struct(
    hash=uint64_t, count=uint64_t, pretoken=cython.pointer(cython.const[uint8_t]), length=cython.size_t)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _order(first: cython.pointer(cython.const[cython.void]), second: cython.pointer(cython.const[cython.void])) -> cython.int:
    """Compare two rows by canonical order, for qsort; 0 if they have the same pretoken."""
    a = cython.cast(cython.pointer(cython.const[Row]), first)
    b = cython.cast(cython.pointer(cython.const[Row]), second)
    if a.hash != b.hash:
        return 1 if a.hash > b.hash else -1
    order = memcmp(a.pretoken, b.pretoken, min(a.length, b.length))
    if order:
        return order
    return (a.length > b.length) - (a.length < b.length)


@cython.final
@cython.cclass
class RowMerge:
    """A merge of the rows of one partition of the hash range. `begin` makes it ready for the next, with the same memory."""

    rows: cython.pointer(Row)
    sorted: cython.pointer(Row)
    bounds: cython.pointer(cython.size_t)  # bucket i of the sorted rows ends at bounds[i]
    rows_room: cython.size_t
    sorted_room: cython.size_t
    bounds_room: cython.size_t
    used: cython.size_t
    owners: list  # of the memory that rows point into

    def __cinit__(self):
        self.owners = []

    def __dealloc__(self):
        free(self.rows)
        free(self.sorted)
        free(self.bounds)

    def begin(self):
        """Remove all rows."""
        self.used = 0
        self.owners.clear()

    def add_table(self, table: CountTable, first: cython.size_t, last: cython.size_t, low: uint64_t, high: uint64_t):
        """Add the rows with a hash from `low` to `high` in the slots first:last of a table.

        Unless the table is seeded, displaced rows follow up to the next empty slot, also from the table's end to its start.
        """
        entries: cython.pointer(Entry) = table.entries
        slots: cython.size_t = table.slots
        slot: cython.size_t = first
        more: cython.bint = True
        i: cython.size_t = self.used
        self.owners.append(table)
        with cython.nogil:
            while more:
                self.make_room(STEP)
                stop = slot + STEP
                while slot < stop:
                    entry = entries + (slot if slot < slots else slot - slots)
                    if slot >= last and (table.seeded or entry.hi == 0 or slot - first == slots):
                        more = False
                        break
                    # Every second slot or so is empty, unpredictably, so nothing branches on it.
                    hash = canonical_hash(entry)
                    row = self.rows + self.used
                    row.hash = hash
                    row.count = entry.count
                    row.length = entry.hi >> 56
                    row.pretoken = table.arena + entry.offset
                    if row.length != LONG:
                        row.pretoken = cython.cast(cython.pointer(cython.const[uint8_t]), entry)
                    tm_prefetch(row.pretoken)
                    self.used += (entry.hi != 0) & (hash >= low) & (hash <= high)
                    slot += 1
            for i in range(i, self.used):  # in the arena, a long pretoken follows its length
                if self.rows[i].length == LONG:
                    memcpy(cython.address(self.rows[i].length), self.rows[i].pretoken, 8)
                    self.rows[i].pretoken += 8

    def add_rows(self, arena: cython.const[uint8_t][::1], offsets: cython.const[uint64_t][::1],
                 counts: cython.const[uint64_t][::1], hashes: cython.const[uint64_t][::1]):
        """Add the pretokens arena[offsets[i]:offsets[i + 1]] with their counts and hashes, in any order."""
        n: cython.size_t = counts.shape[0]
        size: cython.size_t = arena.shape[0]
        valid: cython.bint = True
        self.owners.append(arena)
        if cython.cast(cython.size_t, offsets.shape[0]) != n + 1 or hashes.shape[0] != counts.shape[0]:
            raise ValueError("there is one offset more than counts and hashes")
        with cython.nogil:
            self.make_room(n)
            for i in range(n):
                if offsets[i + 1] < offsets[i] or offsets[i + 1] > size:
                    valid = False
                    break
                row = self.rows + self.used
                row.length = offsets[i + 1] - offsets[i]
                row.pretoken = cython.address(arena[0]) + offsets[i]
                row.count = counts[i]
                row.hash = hashes[i]
                self.used += 1
        if not valid:
            raise ValueError("the offsets do not ascend within the arena")

    def finish(self) -> tuple:
        """Merge the added rows. Return their arena, offsets and counts. UsageError if a sum needs more than 64 bits."""
        import numpy as np

        n: cython.Py_ssize_t = 0
        nbytes: cython.size_t = 0
        last: cython.pointer(Row) = cython.NULL
        overflow: cython.bint = False
        with cython.nogil:
            self.sort()
            for i in range(self.used):  # one row for each pretoken
                row = self.sorted + i
                if last != cython.NULL and last.hash == row.hash and _order(last, row) == 0:
                    last.count += row.count
                    overflow |= last.count < row.count
                    continue
                last = self.sorted + n
                last[0] = row[0]
                nbytes += row.length
                n += 1
        if overflow:
            raise UsageError("the sum of two counts of the same pretoken passes 2**64 - 1")
        arena: uint8_t[::1] = np.empty(nbytes, np.uint8)
        offsets: uint64_t[::1] = np.zeros(n + 1, np.uint64)
        counts: uint64_t[::1] = np.empty(n, np.uint64)
        with cython.nogil:
            for i in range(n):
                row = self.sorted + i
                if row.length:
                    memcpy(cython.address(arena[offsets[i]]), row.pretoken, row.length)
                offsets[i + 1] = offsets[i] + row.length
                counts[i] = row.count
        return np.asarray(arena), np.asarray(offsets), np.asarray(counts)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def make_room(self, more: cython.size_t) -> cython.int:
        """Make room for `more` rows."""
        grow(cython.address(self.rows), cython.address(self.rows_room), self.used + more, cython.sizeof(Row))
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def sort(self) -> cython.int:
        """Write the rows to `sorted` in canonical order."""
        n: cython.size_t = self.used
        buckets: cython.size_t = 1
        low = cython.cast(uint64_t, -1)
        high: uint64_t = 0
        shift: cython.int = 0
        end: cython.size_t = 0
        for i in range(n):
            low = min(low, self.rows[i].hash)
            high = max(high, self.rows[i].hash)
        while buckets < n:
            buckets *= 2
        while n > 0 and (high - low) >> shift >= buckets:
            shift += 1
        grow(cython.address(self.sorted), cython.address(self.sorted_room), n, cython.sizeof(Row))
        grow(cython.address(self.bounds), cython.address(self.bounds_room), buckets, cython.sizeof(cython.size_t))
        memset(self.bounds, 0, buckets * cython.sizeof(cython.size_t))
        for i in range(n):
            self.bounds[(self.rows[i].hash - low) >> shift] += 1
        for i in range(buckets):
            size = self.bounds[i]
            self.bounds[i] = end  # the index of the bucket's next row
            end += size
        for i in range(n):
            j: cython.size_t = (self.rows[i].hash - low) >> shift
            self.sorted[self.bounds[j]] = self.rows[i]
            self.bounds[j] += 1
        for i in range(buckets):
            end = self.bounds[i - 1] if i > 0 else 0
            if self.bounds[i] - end > CROWD:
                qsort(self.sorted + end, self.bounds[i] - end, cython.sizeof(Row), _order)
        for i in range(1, n):
            j = i
            moving: Row = self.sorted[i]
            while j > 0 and (self.sorted[j - 1].hash > moving.hash or (
                    self.sorted[j - 1].hash == moving.hash and _order(self.sorted + j - 1, cython.address(moving)) > 0)):
                self.sorted[j] = self.sorted[j - 1]
                j -= 1
            self.sorted[j] = moving
        return 0


def hashes(arena: cython.const[uint8_t][::1], offsets: cython.const[uint64_t][::1]):
    """The canonical hash of each pretoken arena[offsets[i]:offsets[i + 1]], by which word counts are ordered; uint64."""
    import numpy as np

    out: uint64_t[::1] = np.empty(offsets.shape[0] - 1, np.uint64)
    empty: tm_key
    empty.lo = 0
    empty.hi = EMPTY << 56
    with cython.nogil:
        for i in range(out.shape[0]):
            key: tm_key = empty
            if offsets[i] < offsets[i + 1]:
                key = tm_key_of(cython.address(arena[0]) + offsets[i], offsets[i + 1] - offsets[i],
                                cython.address(arena[0]) + arena.shape[0], TM_CANONICAL)
            out[i] = tm_hash(key, TM_CANONICAL)
    return np.asarray(out)
