# cython: language_level=3
"""The counting kernel: the one merge of counts, into rows in canonical order.

A merge takes the rows of a part of the hash range from tables and arrays as ascending runs, and merges neighbouring runs until one
is left; counts of the same pretoken add up. The slots of a table are in the order of the hash but for small disorder, so
it gives one run. Arrays give as many runs as they have: one if they are in canonical order, otherwise more, so that
merging sorts them. Nothing is looked up, and sources are only read, so any parts can be merged at once.

    begin(), then add_table(), add_slots() and add_rows(), then finish(), which tells how much there is, then write()
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcmp, memcpy
from cython.cimports.tokenmill.counting._table_cy import LONG, CountTable, Entry, canonical_hash
from cython.cimports.tokenmill.kernels._arrays import grown_array
from cython.cimports.tokenmill.kernels._platform import tm_mulhi, tm_prefetch
from cython.cimports.tokenmill.kernels._pretoken_key import TM_CANONICAL, tm_hash, tm_key, tm_key_of, tm_same_short

ONE = cython.declare(uint64_t, 1)
EMPTY = cython.declare(uint64_t, 0xFE)  # the tag of the pretoken without bytes, which only mappings made by hand have
STEP = cython.declare(cython.size_t, 512)  # slots looked at between two looks at how much room there is

# 16 bytes can be read at `pretoken`, however short it is.
Row = cython.struct(
    hash=uint64_t, count=uint64_t, pretoken=cython.pointer(cython.const[uint8_t]), length=cython.size_t)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _compare(a: cython.pointer(cython.const[Row]), b: cython.pointer(cython.const[Row])) -> cython.int:
    """Rows of equal hash: 0 if they have the same pretoken, else which of the two comes first."""
    order: cython.int
    if a.length == b.length and a.length <= 15:
        if tm_same_short(a.pretoken, b.pretoken, a.length):
            return 0
    order = memcmp(a.pretoken, b.pretoken, min(a.length, b.length))
    if order:
        return order
    return (a.length > b.length) - (a.length < b.length)


@cython.final
@cython.cclass
class RowMerge:
    """Merges rows of one part of the hash range. Use one again for the next part: its memory is there already."""

    rows: cython.pointer(Row)
    merged: cython.pointer(Row)
    bounds: cython.pointer(cython.size_t)  # run i is rows[bounds[i]:bounds[i + 1]]
    rows_room: cython.size_t
    merged_room: cython.size_t
    bounds_room: cython.size_t
    used: cython.size_t
    runs: cython.size_t
    nbytes: cython.size_t
    overflow: cython.bint
    kept: list  # arrays that rows point into

    def __cinit__(self):
        self.kept = []

    def __dealloc__(self):
        free(self.rows)
        free(self.merged)
        free(self.bounds)

    def begin(self):
        """Forget all rows."""
        self.used = self.runs = self.nbytes = 0
        self.overflow = False
        self.kept.clear()

    def add_table(self, table: CountTable, part: cython.size_t, bits: cython.int):
        """Add the rows of a table whose hash begins with the `bits` bits `part`."""
        if table.seeded:
            raise ValueError("a seeded table is in no order: use add_slots")
        self.kept.append(table)
        with cython.nogil:
            self.gather(table, part, bits)

    def add_slots(self, table: CountTable, first: cython.size_t, last: cython.size_t):
        """Add the rows in the slots first:last of a table, whatever their order."""
        at: cython.size_t
        entry: cython.pointer(Entry)
        self.kept.append(table)
        with cython.nogil:
            self.make_room(last - first)
            for at in range(first, last):
                entry = table.entries + at
                if entry.hi != 0:
                    self.rows[self.used].hash = canonical_hash(entry)
                    self.rows[self.used].count = entry.count
                    self.rows[self.used].pretoken = table.bytes_of(entry)
                    self.rows[self.used].length = table.length(entry)
                    self.append()

    def add_rows(self, arena: cython.const[uint8_t][::1], offsets: cython.const[uint64_t][::1],
                 counts: cython.const[uint64_t][::1], hashes: cython.const[uint64_t][::1]):
        """Add the pretokens arena[offsets[i]:offsets[i + 1]] with their counts and hashes, in any order."""
        n: cython.size_t = counts.shape[0]
        size: cython.size_t = arena.shape[0]
        i: cython.size_t
        tail: cython.size_t = size - 16 if size > 16 else 0
        valid: cython.bint = True
        row: cython.pointer(Row)
        padded: cython.const[uint8_t][::1] = bytes(arena[tail:]) + bytes(16)
        self.kept.append((arena, padded))
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
                if offsets[i] >= tail and row.length <= 16:
                    row.pretoken = cython.address(padded[0]) + (offsets[i] - tail)
                else:
                    row.pretoken = cython.address(arena[0]) + offsets[i]
                row.count = counts[i]
                row.hash = hashes[i]
                self.append()
        if not valid:
            raise ValueError("the offsets do not ascend within the arena")

    def finish(self):
        """Merge all that was added. Returns how many rows there are, and how many bytes of pretokens."""
        i: cython.size_t
        with cython.nogil:
            self.add_bound(self.used)
            self.merged = cython.cast(cython.pointer(Row), grown_array(
                self.merged, cython.address(self.merged_room), self.used, cython.sizeof(Row)))
            self.merge_runs()
            for i in range(self.used):
                self.nbytes += self.rows[i].length
        if self.overflow:
            raise OverflowError("a count does not fit into 64 bits")
        return self.used, self.nbytes

    def write(self, arena: uint8_t[::1], offsets: uint64_t[::1], counts: uint64_t[::1]):
        """Write the rows that `finish` told of: pretoken i ends at arena[offsets[i]]."""
        i: cython.size_t
        row: cython.pointer(Row)
        position: cython.size_t = 0
        end: cython.size_t = self.nbytes
        if (cython.cast(cython.size_t, arena.shape[0]) < end
                or cython.cast(cython.size_t, offsets.shape[0]) < self.used
                or cython.cast(cython.size_t, counts.shape[0]) < self.used):
            raise ValueError("the arrays are too short for the rows")
        with cython.nogil:
            for i in range(self.used):
                row = self.rows + i
                if row.length <= 16 and position + 16 <= end:
                    memcpy(cython.address(arena[position]), row.pretoken, 16)  # the next pretoken overwrites the rest
                elif row.length:
                    memcpy(cython.address(arena[position]), row.pretoken, row.length)
                position += row.length
                offsets[i] = position
                counts[i] = row.count

    # ------------------------------------------------------------------ gathering

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def gather(self, table: CountTable, part: uint64_t, bits: cython.int) -> cython.int:
        """The rows of one table as one run."""
        entries: cython.pointer(Entry) = table.entries
        slots: cython.size_t = table.slots
        shift: cython.int = 64 - bits
        low: uint64_t = (part << (shift - 1)) << 1 if bits else 0
        high: uint64_t = low + ((ONE << (shift - 1)) * 2 - 1)  # the last hash of the part
        at: cython.size_t = tm_mulhi(low, slots)
        last: cython.size_t = tm_mulhi(high, slots)
        begin: cython.size_t = self.used
        n: cython.size_t = self.used
        front: cython.size_t = 0  # entries before this slot may have wrapped: their home is near the last slot
        place: cython.size_t
        stop: cython.size_t
        hash: uint64_t
        is_long: cython.bint
        entry: cython.pointer(Entry)
        row: cython.pointer(Row)
        more: cython.bint = True
        self.add_bound(begin)
        while entries[front].hi != 0:
            front += 1
        while more:
            self.used = n
            self.make_room(STEP)
            stop = at + STEP
            # Every second slot or so is empty, unpredictably, so nothing branches on it up to the last home slot. After
            # that, entries that were moved on follow up to the next empty slot, and round the end of the table.
            while at < stop:
                place = at if at < slots else at - slots
                entry = entries + place
                if at > last and entry.hi == 0:
                    more = False
                    break
                hash = canonical_hash(entry)
                is_long = (entry.hi >> 56) == LONG
                row = self.rows + n
                row.hash = hash
                row.count = entry.count
                row.length = entry.hi >> 56
                row.pretoken = table.arena + entry.place
                if not is_long:
                    row.pretoken = cython.cast(cython.pointer(cython.const[uint8_t]), entry)
                tm_prefetch(row.pretoken)
                n += (entry.hi != 0) & (hash >= low) & (hash <= high)
                if place < front and row < self.rows + n:
                    n -= (tm_mulhi(hash, slots) > place) != (at >= slots)
                at += 1
        self.used = n
        self.sort(begin)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sort(self, begin: cython.size_t) -> cython.void:
        """Insertion sort of a table's rows from `begin` on: linear probing leaves few out of place, and none far away.

        Before that, each long pretoken is found after its length."""
        i: cython.size_t
        j: cython.size_t
        moving: Row
        for i in range(begin, self.used):
            if self.rows[i].length == LONG:
                memcpy(cython.address(self.rows[i].length), self.rows[i].pretoken, 8)
                self.rows[i].pretoken += 8
        for i in range(begin + 1, self.used):
            if self.rows[i - 1].hash < self.rows[i].hash:
                continue
            j = i
            moving = self.rows[i]
            while j > begin and (self.rows[j - 1].hash > moving.hash or (
                    self.rows[j - 1].hash == moving.hash and _compare(self.rows + j - 1, cython.address(moving)) > 0)):
                self.rows[j] = self.rows[j - 1]
                j -= 1
            self.rows[j] = moving

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(-1)
    def append(self) -> cython.int:
        """Take in the row that was written after the last one: a new run begins if it is not larger."""
        row: cython.pointer(Row) = self.rows + self.used
        self.used += 1
        if self.runs > 0 and self.bounds[self.runs - 1] < self.used - 1:
            before: cython.pointer(Row) = row - 1
            if before.hash < row.hash or (before.hash == row.hash and _compare(before, row) < 0):
                return 0
        return self.add_bound(self.used - 1)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def add_bound(self, row: cython.size_t) -> cython.int:
        """A run begins at this row."""
        self.bounds = cython.cast(cython.pointer(cython.size_t), grown_array(
            self.bounds, cython.address(self.bounds_room), self.runs + 1, cython.sizeof(cython.size_t)))
        self.bounds[self.runs] = row
        self.runs += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def make_room(self, more: cython.size_t) -> cython.int:
        """Room for so many more rows."""
        self.rows = cython.cast(cython.pointer(Row), grown_array(
            self.rows, cython.address(self.rows_room), self.used + more, cython.sizeof(Row)))
        return 0

    # ------------------------------------------------------------------ merging

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def merge_runs(self) -> cython.void:
        """Merge neighbouring runs until one is left. The last bound is the end of the last run."""
        n: cython.size_t
        i: cython.size_t
        kept: cython.size_t
        runs: cython.size_t = self.runs - 1
        bounds: cython.pointer(cython.size_t) = self.bounds
        while runs > 1:
            n = 0
            kept = 0
            for i in range(0, runs, 2):
                n = self.merge(bounds[i], bounds[i + 1], bounds[i + 2] if i + 1 < runs else bounds[i + 1], n)
                kept += 1
                bounds[kept] = n
            runs = kept
            self.used = n
            self.rows, self.merged = self.merged, self.rows
            self.rows_room, self.merged_room = self.merged_room, self.rows_room

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def merge(self, i: cython.size_t, middle: cython.size_t, end: cython.size_t, n: cython.size_t) -> cython.size_t:
        """Merge rows[i:middle] and rows[middle:end] to merged[n:]; where that ends."""
        j: cython.size_t = middle
        a: cython.pointer(Row)
        b: cython.pointer(Row)
        next: cython.pointer(Row)
        out: cython.pointer(Row)
        order: cython.int
        first: cython.bint
        second: cython.bint
        while i < middle and j < end:  # which of the two comes next is unpredictable: no branch
            a = self.rows + i
            b = self.rows + j
            first = a.hash <= b.hash
            second = b.hash <= a.hash
            if a.hash == b.hash:
                order = _compare(a, b)
                first = order <= 0
                second = order >= 0
            out = self.merged + n
            n += 1
            next = self.rows + (j ^ ((i ^ j) & (0 - cython.cast(cython.size_t, first))))
            out.hash = next.hash
            out.pretoken = next.pretoken
            out.length = next.length
            out.count = (a.count & (0 - cython.cast(uint64_t, first))) + (b.count & (0 - cython.cast(uint64_t, second)))
            self.overflow |= first & second & (out.count < a.count)
            i += first
            j += second
        if i < middle:
            memcpy(self.merged + n, self.rows + i, (middle - i) * cython.sizeof(Row))
            n += middle - i
        if j < end:
            memcpy(self.merged + n, self.rows + j, (end - j) * cython.sizeof(Row))
            n += end - j
        return n


def hashes(arena: cython.const[uint8_t][::1], offsets: cython.const[uint64_t][::1], out: uint64_t[::1]):
    """The canonical hash of each pretoken arena[offsets[i]:offsets[i + 1]], by which word counts are ordered."""
    i: cython.Py_ssize_t
    empty: tm_key
    key: tm_key
    empty.lo = 0
    empty.hi = EMPTY << 56
    with cython.nogil:
        for i in range(out.shape[0]):
            key = empty
            if offsets[i] < offsets[i + 1]:
                key = tm_key_of(cython.address(arena[0]) + offsets[i], offsets[i + 1] - offsets[i],
                                cython.address(arena[0]) + arena.shape[0], TM_CANONICAL)
            out[i] = tm_hash(key, TM_CANONICAL)
