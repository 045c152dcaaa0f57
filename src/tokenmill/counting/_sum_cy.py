# cython: language_level=3
"""The counting kernel: several tables added up, a part of the hash range at a time, into rows in canonical order.

The slots of a table stand in the order of the hash but for small disorder, so tables are merged like sorted lists: nothing
is looked up, no table need have room for the others, they are only looked at, and any parts can be done at once. First
`add_up`, which tells how much there is, then `write`.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc, realloc
from cython.cimports.libc.string import memcmp, memcpy
from cython.cimports.tokenmill.counting._pages import tm_pages_fill, tm_prefetch
from cython.cimports.tokenmill.counting._table_cy import EMPTY, LONG, CountTable, Entry, hash_of

ONE = cython.declare(uint64_t, 1)
STEP = cython.declare(cython.size_t, 512)  # slots looked at between two looks at how much room there is

Row = cython.struct(
    hash=uint64_t, count=uint64_t, entry=cython.pointer(cython.const[Entry]), arena=cython.pointer(cython.const[uint8_t]))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _bytes_of(row: cython.pointer(cython.const[Row]),
              length: cython.pointer(cython.size_t)) -> cython.pointer(cython.const[uint8_t]):
    """Where the pretoken's bytes are; how many, in `length`."""
    place: cython.pointer(cython.const[uint8_t]) = cython.cast(cython.pointer(cython.const[uint8_t]), row.entry)
    length[0] = row.entry.hi >> 56
    if length[0] == LONG:
        place = row.arena + row.entry.place
        memcpy(length, place, 8)
        place += 8
    elif length[0] == EMPTY:
        length[0] = 0
    return place


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compare(a: cython.pointer(cython.const[Row]), b: cython.pointer(cython.const[Row])) -> cython.int:
    """Rows of equal hash: 0 if they are of the same pretoken, else which of the two stands first."""
    m: cython.size_t = 0
    n: cython.size_t = 0
    x: cython.pointer(cython.const[uint8_t]) = _bytes_of(a, cython.address(m))
    y: cython.pointer(cython.const[uint8_t]) = _bytes_of(b, cython.address(n))
    order: cython.int = memcmp(x, y, min(m, n))
    if order:
        return order
    return (m > n) - (m < n)


@cython.final
@cython.cclass
class TableSum:
    """The rows of one part of the hash range; to be used again for the next part, so that its memory is there already."""

    rows: cython.pointer(Row)
    spare: cython.pointer(Row)
    room: cython.size_t
    used: cython.size_t
    nbytes: cython.size_t
    overflow: cython.bint

    def __dealloc__(self):
        free(self.rows)
        free(self.spare)

    def add_up(self, tables: list, part: cython.size_t, bits: cython.int):
        """Gather the rows whose hash begins with the `bits` bits `part` out of tables of all hashes.

        Returns how many rows that are, and how many bytes of pretokens.
        """
        tables_left: cython.Py_ssize_t = len(tables)
        bounds: cython.pointer(cython.size_t) = cython.cast(
            cython.pointer(cython.size_t), malloc((tables_left + 1) * cython.sizeof(cython.size_t)))
        table: CountTable
        runs: cython.Py_ssize_t = 0
        done: cython.bint = bounds != cython.NULL
        self.used = 0
        self.overflow = False
        try:
            if done:
                bounds[0] = 0
                for table in tables:
                    if table.part_bits:
                        raise ValueError("a table of a part of the hash range cannot be divided")
                    with cython.nogil:
                        done = done and self.gather(table, part, bits)
                    runs += 1
                    bounds[runs] = self.used
                with cython.nogil:
                    self.merge_runs(bounds, runs)
        finally:
            free(bounds)
        if not done:
            raise MemoryError
        if self.overflow:
            raise OverflowError("a count does not fit into 64 bits")
        return self.used, self.nbytes

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def gather(self, table: CountTable, part: uint64_t, bits: cython.int) -> cython.bint:
        """The rows of one table, in canonical order; False where there is no memory."""
        entries: cython.pointer(Entry) = table.entries
        slots: cython.size_t = table.slots
        shift: cython.int = 64 - bits
        low: uint64_t = (part << (shift - 1)) << 1 if bits else 0
        high: uint64_t = low + ((ONE << (shift - 1)) * 2 - 1)  # the last hash of the part
        at: cython.size_t = table.home(low, slots)
        last: cython.size_t = table.home(high, slots)
        begin: cython.size_t = self.used
        n: cython.size_t = self.used
        front: cython.size_t = 0  # before this slot there may be what wrapped: what is at home at the last slots
        place: cython.size_t
        stop: cython.size_t
        hash: uint64_t
        long: uint64_t
        entry: cython.pointer(Entry)
        row: cython.pointer(Row)
        more: cython.bint = True
        while entries[front].hi != 0:
            front += 1
        while more:
            if self.room - n < STEP and not self.make_room(n):
                return False
            stop = at + STEP
            # Every second slot or so is empty, and nobody knows which: nothing branches on it, up to the last home.
            # Behind that, what was moved on is to be found up to the next empty slot, and round the end of the table.
            while at < stop:
                place = at if at < slots else at - slots
                entry = entries + place
                if at > last and entry.hi == 0:
                    more = False
                    break
                hash = hash_of(entry)
                row = self.rows + n
                row.hash = hash
                row.count = entry.count
                row.entry = entry
                row.arena = table.arena
                long = (entry.hi >> 56) == LONG
                tm_prefetch(table.arena + (entry.place & (0 - long)))  # its bytes, if it is a long one
                n += (entry.hi != 0) & (hash >= low) & (hash <= high)
                if place < front and row < self.rows + n:
                    n -= (table.home(hash, slots) > place) != (at >= slots)
                at += 1
        self.used = n
        self.sort(begin)
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def sort(self, begin: cython.size_t) -> cython.void:
        """Insertion sort of the rows from `begin` on: linear probing leaves few out of place, and none far away."""
        i: cython.size_t
        j: cython.size_t
        moving: Row
        for i in range(begin + 1, self.used):
            j = i
            moving = self.rows[i]
            while j > begin and (self.rows[j - 1].hash > moving.hash or (
                    self.rows[j - 1].hash == moving.hash and _compare(self.rows + j - 1, cython.address(moving)) > 0)):
                self.rows[j] = self.rows[j - 1]
                j -= 1
            if j < i:
                self.rows[j] = moving

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def make_room(self, n: cython.size_t) -> cython.bint:
        """Room for STEP rows more than n, in both places."""
        room: cython.size_t = max(2 * self.room, n + STEP)
        rows: cython.pointer(cython.void) = realloc(self.rows, room * cython.sizeof(Row))
        if rows == cython.NULL:
            return False
        self.rows = cython.cast(cython.pointer(Row), rows)
        rows = realloc(self.spare, room * cython.sizeof(Row))
        if rows == cython.NULL:
            return False
        self.spare = cython.cast(cython.pointer(Row), rows)
        self.room = room
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def merge_runs(self, bounds: cython.pointer(cython.size_t), runs: cython.Py_ssize_t) -> cython.void:
        """Merge neighbouring runs (run i: rows bounds[i]:bounds[i + 1]) until one is left, and measure it."""
        n: cython.size_t
        length: cython.size_t
        i: cython.Py_ssize_t
        kept: cython.Py_ssize_t
        rows: cython.pointer(Row)
        while runs > 1:
            n = 0
            kept = 0
            for i in range(0, runs, 2):
                n = self.merge(bounds[i], bounds[i + 1], bounds[i + 2] if i + 1 < runs else bounds[i + 1], n)
                kept += 1
                bounds[kept] = n
            runs = kept
            self.used = n
            rows = self.rows
            self.rows = self.spare
            self.spare = rows
        self.nbytes = 0
        for n in range(self.used):
            length = self.rows[n].entry.hi >> 56
            if length >= EMPTY:
                _bytes_of(self.rows + n, cython.address(length))
            self.nbytes += length

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def merge(self, i: cython.size_t, middle: cython.size_t, end: cython.size_t, n: cython.size_t) -> cython.size_t:
        """Merge rows[i:middle] and rows[middle:end] to spare[n:]; where that ends."""
        j: cython.size_t = middle
        a: cython.pointer(Row)
        b: cython.pointer(Row)
        next: cython.pointer(Row)
        out: cython.pointer(Row)
        order: cython.int
        first: cython.bint
        second: cython.bint
        while i < middle and j < end:  # which of the two comes next is anybody's guess: no branch
            a = self.rows + i
            b = self.rows + j
            first = a.hash <= b.hash
            second = b.hash <= a.hash
            if a.hash == b.hash and (a.entry.lo != b.entry.lo or a.entry.hi != b.entry.hi or (a.entry.hi >> 56) == LONG):
                order = _compare(a, b)
                first = order <= 0
                second = order >= 0
            out = self.spare + n
            n += 1
            next = self.rows + (j ^ ((i ^ j) & (0 - cython.cast(cython.size_t, first))))
            out.hash = next.hash
            out.entry = next.entry
            out.arena = next.arena
            out.count = (a.count & (0 - cython.cast(uint64_t, first))) + (b.count & (0 - cython.cast(uint64_t, second)))
            self.overflow |= first & second & (out.count < a.count)
            i += first
            j += second
        if i < middle:
            memcpy(self.spare + n, self.rows + i, (middle - i) * cython.sizeof(Row))
            n += middle - i
        if j < end:
            memcpy(self.spare + n, self.rows + j, (end - j) * cython.sizeof(Row))
            n += end - j
        return n

    def write(self, arena: uint8_t[::1], offsets: uint64_t[::1], counts: uint64_t[::1], position: cython.size_t):
        """Write what `add_up` gathered: pretoken i ends at arena[offsets[i]], and the first begins at arena[position]."""
        length: cython.size_t = 0
        i: cython.size_t
        row: cython.pointer(Row)
        pretoken: cython.pointer(cython.const[uint8_t])
        if arena.shape[0] < position + self.nbytes or offsets.shape[0] < self.used or counts.shape[0] < self.used:
            raise ValueError("the arrays are too short for the rows")
        end: cython.size_t = position + self.nbytes  # what follows belongs to another part
        if self.used == 0:
            return
        with cython.nogil:
            if self.nbytes:
                tm_pages_fill(cython.address(arena[position]), self.nbytes)
            tm_pages_fill(cython.address(offsets[0]), self.used * 8)
            tm_pages_fill(cython.address(counts[0]), self.used * 8)
            for i in range(self.used):
                row = self.rows + i
                pretoken = _bytes_of(row, cython.address(length))
                if length <= 16 and position + 16 <= end:
                    memcpy(cython.address(arena[position]), pretoken, 16)  # the next pretoken is written over the rest
                elif length:
                    memcpy(cython.address(arena[position]), pretoken, length)
                position += length
                offsets[i] = position
                counts[i] = row.count
