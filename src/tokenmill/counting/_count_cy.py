# cython: language_level=3
"""The counting kernel: a table of distinct pieces with 64-bit counts, filled straight from text by a Scanner.

Open addressing, linear probing, entries of 32 bytes, two to a cache line:

    lo, hi   the key (split/_piece_key.h); hi is 0 where the slot is empty
    count    how often the piece was seen
    place    where a piece of more than 15 bytes stands in the arena: its length in 8 bytes, then its bytes

The home slot grows with the hash: slot = hash * slots / 2**64. So the entries lie in the canonical order of word
counts, ascending (hash, bytes), but for small disorder inside a cluster (a run of full slots); growing and merging go
through memory from front to back; and a partition of the pieces by their hash is a range of slots.

Pieces come in batches of up to 256: first all keys, home slots and prefetches, then all probes, so that the cache
misses of a batch overlap. The table never grows by itself: `full` says that the caller must `grow` it or write it out.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.string import memcmp, memcpy, memset
from cython.cimports.tokenmill.counting._pages import tm_mulhi, tm_pages_free, tm_pages_grow, tm_pages_new, tm_prefetch
from cython.cimports.tokenmill.split._piece_key import tm_hash, tm_key, tm_key_of
from cython.cimports.tokenmill.split._scan_cy import Scanner

Entry = cython.struct(lo=uint64_t, hi=uint64_t, count=uint64_t, place=uint64_t)

# The top byte of `hi`: 1 to 15 is a length, LONG says that the key is a hash (as in _piece_key.h), EMPTY that the piece
# has no bytes (only mappings made by hand have such a piece).
LONG = cython.declare(uint64_t, 0xFF)
EMPTY = cython.declare(uint64_t, 0xFE)
ONE = cython.declare(uint64_t, 1)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _key(piece: cython.pointer(cython.const[uint8_t]), length: cython.size_t,
         readable: cython.pointer(cython.const[uint8_t])) -> tm_key:
    key: tm_key
    if length == 0:
        key.lo = 0
        key.hi = EMPTY << 56
        return key
    return tm_key_of(piece, length, readable)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _hash(entry: cython.pointer(Entry)) -> uint64_t:
    key: tm_key
    key.lo = entry.lo
    key.hi = entry.hi
    return tm_hash(key)


@cython.cclass
class CountTable:
    """Distinct pieces with their counts.

    slots: how many entries there is memory for; half of them may be used, three quarters once `crowd` was called.
    part, part_bits: hold only the pieces whose hash begins with the `part_bits` bits `part`; with 0 bits, all pieces.
    """

    _entries: cython.pointer(Entry)
    _slots: cython.size_t
    _used: cython.size_t
    _room: cython.size_t  # how many slots may be used
    _arena: cython.pointer(uint8_t)
    _arena_used: cython.size_t
    _arena_size: cython.size_t
    _next: cython.pointer(Entry)  # the larger table while growing
    _next_slots: cython.size_t
    _moved: cython.size_t
    _wrapped: cython.size_t  # once sorted: how many entries at the front belong behind the last slot
    _part: cython.int
    _part_bits: cython.int
    _no_memory: cython.bint
    _overflow: cython.bint

    def __cinit__(self, slots: cython.size_t = 1 << 16, part: cython.int = 0, part_bits: cython.int = 0):
        self._slots = slots if slots > 1024 else 1024
        self._room = self._slots // 2
        self._part = part
        self._part_bits = part_bits
        self._entries = cython.cast(cython.pointer(Entry), tm_pages_new(self._slots * cython.sizeof(Entry)))
        if self._entries == cython.NULL:
            raise MemoryError

    def __dealloc__(self):
        tm_pages_free(self._entries, self._slots * cython.sizeof(Entry))
        tm_pages_free(self._next, self._next_slots * cython.sizeof(Entry))
        tm_pages_free(self._arena, self._arena_size)

    def __len__(self):
        return self._used

    @property
    def slots(self):
        return self._slots

    @property
    def full(self):
        """Whether the table must grow, or be written out and cleared, before it takes more."""
        return not self._has_room()

    @property
    def room(self):
        """How many more pieces the table takes before it is full."""
        return self._room - self._used - 255 if self._has_room() else 0

    @property
    def nbytes(self):
        """Bytes of memory held, those of a growth in progress included."""
        return (self._slots + self._next_slots) * cython.sizeof(Entry) + self._arena_used

    @property
    def arena_bytes(self):
        """Bytes of memory held for pieces of more than 15 bytes."""
        return self._arena_used

    # ------------------------------------------------------------------ adding

    def count(self, scanner: Scanner, text: cython.const[uint8_t][::1], document_ends: cython.const[uint64_t][::1],
              position: cython.size_t, document: cython.Py_ssize_t, limit: cython.size_t):
        """Count the pieces of text[position:], where document i ends at document_ends[i].

        Stops at the end of the last document, when the table is full, or after about `limit` bytes. Returns the new
        (position, document) to go on from.
        """
        base: cython.pointer(cython.const[uint8_t]) = cython.NULL
        documents: cython.Py_ssize_t = document_ends.shape[0]
        if text.shape[0] == 0 or documents == 0:
            return position, documents
        base = cython.address(text[0])
        readable: cython.pointer(cython.const[uint8_t]) = base + text.shape[0]
        first: cython.size_t = document_ends[document - 1] if 0 < document <= documents else 0
        start: cython.size_t = position
        last: cython.size_t
        ends: cython.size_t[256]
        n: cython.Py_ssize_t
        m: cython.Py_ssize_t
        i: cython.Py_ssize_t
        stuck: cython.bint = False
        with cython.nogil:
            while document < documents and self._has_room() and position - start < limit:
                n = 0
                last = position
                # A batch takes in the next documents too, but not with so little room left that the scan is idle.
                while n < 192 and document < documents:
                    if last >= document_ends[document]:
                        first = document_ends[document]
                        document += 1
                        continue
                    m = scanner.scan(base + first, last - first, document_ends[document] - first, ends + n, 256 - n)
                    for i in range(n, n + m):
                        ends[i] += first
                    n += m
                    if m == 0:
                        break
                    last = ends[n - 1]
                if n == 0:
                    stuck = document < documents
                    break
                if not self._add(base, position, ends, n, cython.NULL, readable):
                    break
                position = last
        self._check()
        if stuck:
            raise RuntimeError("the scanner found no piece")
        return position, document

    def count_ends(self, text: cython.const[uint8_t][::1], piece_ends: cython.const[uint64_t][::1],
                   start: cython.Py_ssize_t):
        """Count the pieces of `text` that end at piece_ends[start:], until full. Returns the next `start`."""
        return self._add_pieces(text, piece_ends, cython.NULL, 0, start, piece_ends.shape[0])

    def add(self, arena: cython.const[uint8_t][::1], offsets: cython.const[uint64_t][::1],
            counts: cython.const[uint64_t][::1], start: cython.Py_ssize_t):
        """Add the counts of the pieces arena[offsets[i]:offsets[i + 1]] for i from `start`, until full.

        Returns the next `start`. Rows in canonical order want a table that has room for all of them from the outset:
        one that grows while they come in would first be filled at its front, in one long cluster.
        """
        n: cython.Py_ssize_t = counts.shape[0]
        if offsets.shape[0] != n + 1 or n == 0:
            return n
        return self._add_pieces(arena, offsets[1:], cython.address(counts[0]), offsets[0], start, n)

    @cython.cfunc
    def _add_pieces(self, text: cython.const[uint8_t][::1], piece_ends: cython.const[uint64_t][::1],
                    counts: cython.pointer(cython.const[uint64_t]), first: cython.size_t, start: cython.Py_ssize_t,
                    stop: cython.Py_ssize_t):
        nothing: uint8_t = 0
        base: cython.pointer(cython.const[uint8_t]) = cython.address(nothing)
        if text.shape[0]:
            base = cython.address(text[0])
        readable: cython.pointer(cython.const[uint8_t]) = base + text.shape[0]
        position: cython.size_t = piece_ends[start - 1] if start > 0 else first
        ends: cython.size_t[256]
        n: cython.Py_ssize_t
        i: cython.Py_ssize_t
        weights: cython.pointer(cython.const[uint64_t]) = cython.NULL
        with cython.nogil:
            while start < stop and self._has_room():
                n = min(256, stop - start)
                for i in range(n):
                    ends[i] = piece_ends[start + i]
                if counts != cython.NULL:
                    weights = counts + start
                if not self._add(base, position, ends, n, weights, readable):
                    break
                position = ends[n - 1]
                start += n
        self._check()
        return start

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def _has_room(self) -> cython.bint:
        return self._used + 256 <= self._room and not self._no_memory

    def _check(self):
        if self._no_memory:
            self._no_memory = False
            raise MemoryError("no memory for the bytes of long pieces")
        if self._overflow:
            raise OverflowError("a count does not fit into 64 bits")

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def _home(self, hash: uint64_t, slots: cython.size_t) -> cython.size_t:
        return tm_mulhi(hash << self._part_bits, slots)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _add(self, text: cython.pointer(cython.const[uint8_t]), start: cython.size_t, ends: cython.pointer(cython.size_t),
             n: cython.Py_ssize_t, weights: cython.pointer(cython.const[uint64_t]),
             readable: cython.pointer(cython.const[uint8_t])) -> cython.bint:
        """Add one batch of neighbouring pieces; False where memory for long pieces ran out."""
        keys: tm_key[256]
        homes: cython.size_t[256]
        key: tm_key
        i: cython.Py_ssize_t
        end: cython.size_t
        slot: cython.size_t
        position: cython.size_t = start
        slots: cython.size_t = self._slots
        weight: uint64_t = 1
        entries: cython.pointer(Entry) = self._entries
        entry: cython.pointer(Entry)
        if not self._reserve_arena(ends[n - 1] - start + 8 * n):
            return False
        for i in range(n):
            end = ends[i]
            key = _key(text + position, end - position, readable)
            keys[i] = key
            slot = self._home(tm_hash(key), slots)
            homes[i] = slot
            tm_prefetch(entries + slot)
            position = end
        position = start
        for i in range(n):
            key = keys[i]
            slot = homes[i]
            if weights != cython.NULL:
                weight = weights[i]
            while True:
                entry = entries + slot
                if entry.lo == key.lo and entry.hi == key.hi:
                    if (key.hi >> 56) != LONG or self._same(entry, text + position, ends[i] - position):
                        entry.count += weight
                        if entry.count < weight:
                            self._overflow = True
                        break
                elif entry.hi == 0:
                    entry.lo = key.lo
                    entry.hi = key.hi
                    entry.count = weight
                    if (key.hi >> 56) == LONG:
                        entry.place = self._keep(text + position, ends[i] - position)
                    self._used += 1
                    break
                slot += 1
                if slot == slots:
                    slot = 0
            position = ends[i]
        return True

    def add_table(self, other: CountTable, slot: cython.size_t, limit: cython.size_t):
        """Add the entries of `other` that belong to this table's part, from its slot `slot`, or 0 to begin with.

        Looks at about `limit` slots and returns the slot to go on from, or None when done. The two must hold no
        common memory; this one must have room for all.
        """
        shift: cython.int = 64 - self._part_bits
        first: cython.size_t = 0
        last: cython.size_t = other._slots
        if self._part_bits:
            first = other._home((ONE * self._part) << shift, other._slots)
            if self._part + 1 < (1 << self._part_bits):
                last = other._home((ONE * self._part + 1) << shift, other._slots)
        at: cython.size_t = max(first, slot)
        stop: cython.size_t = at + limit
        key: tm_key
        entry: cython.pointer(Entry)
        hash: uint64_t
        home: cython.size_t
        place: cython.size_t
        done: cython.bint = False
        with cython.nogil:
            # Past `last` the cluster that began before it must still be looked through, round the end if need be.
            while at < stop:
                place = at if at < other._slots else at - other._slots
                entry = other._entries + place
                if entry.hi == 0:
                    if at >= last:
                        done = True
                        break
                    at += 1
                    continue
                key.lo = entry.lo
                key.hi = entry.hi
                hash = tm_hash(key)
                home = other._home(hash, other._slots)
                at += 1
                if self._part_bits and (hash >> shift) != cython.cast(uint64_t, self._part):
                    continue
                if (home > place) != (at > other._slots):
                    continue  # it wrapped, and comes at the end; or the end is passed, and it came at the front
                if not self._has_room() or not self._add_entry(other, entry, hash):
                    break
        self._check()
        if not self._has_room():
            raise RuntimeError("the table has no room for what is added to it")
        return None if done else at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _add_entry(self, other: CountTable, source: cython.pointer(Entry), hash: uint64_t) -> cython.bint:
        slot: cython.size_t = self._home(hash, self._slots)
        entry: cython.pointer(Entry)
        piece: cython.pointer(uint8_t) = cython.NULL
        length: cython.size_t = 0
        if (source.hi >> 56) == LONG:
            piece = other._arena + source.place + 8
            length = other._length(source)
            if not self._reserve_arena(length + 8):
                return False
        while True:
            entry = self._entries + slot
            if entry.lo == source.lo and entry.hi == source.hi:
                if piece == cython.NULL or self._same(entry, piece, length):
                    entry.count += source.count
                    if entry.count < source.count:
                        self._overflow = True
                    return True
            elif entry.hi == 0:
                entry[0] = source[0]
                if piece != cython.NULL:
                    entry.place = self._keep(piece, length)
                self._used += 1
                return True
            slot += 1
            if slot == self._slots:
                slot = 0

    # ------------------------------------------------------------------ long pieces

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def _reserve_arena(self, room: cython.size_t) -> cython.bint:
        if self._arena_size - self._arena_used >= room:
            return True
        return self._grow_arena(room)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _grow_arena(self, room: cython.size_t) -> cython.bint:
        size: cython.size_t = max(2 * self._arena_size, self._arena_used + room + 65536)
        arena: cython.pointer(cython.void) = tm_pages_grow(self._arena, self._arena_size, size)
        if arena == cython.NULL:
            self._no_memory = True
            return False
        self._arena = cython.cast(cython.pointer(uint8_t), arena)
        self._arena_size = size
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _keep(self, piece: cython.pointer(cython.const[uint8_t]), length: cython.size_t) -> cython.size_t:
        place: cython.size_t = self._arena_used
        memcpy(self._arena + place, cython.address(length), 8)
        memcpy(self._arena + place + 8, piece, length)
        self._arena_used = place + 8 + length
        return place

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _same(self, entry: cython.pointer(Entry), piece: cython.pointer(cython.const[uint8_t]),
              length: cython.size_t) -> cython.bint:
        return self._length(entry) == length and memcmp(self._arena + entry.place + 8, piece, length) == 0

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def _length(self, entry: cython.pointer(Entry)) -> cython.size_t:
        length: cython.size_t = entry.hi >> 56
        if length == LONG:
            memcpy(cython.address(length), self._arena + entry.place, 8)
        elif length == EMPTY:
            length = 0
        return length

    @cython.cfunc
    @cython.nogil
    @cython.inline
    @cython.exceptval(check=False)
    def _bytes(self, entry: cython.pointer(Entry)) -> cython.pointer(cython.const[uint8_t]):
        """The bytes of the piece: in the arena, or in the key itself."""
        if (entry.hi >> 56) == LONG:
            return self._arena + entry.place + 8
        return cython.cast(cython.pointer(uint8_t), entry)

    # ------------------------------------------------------------------ growing

    def grow(self, slots: cython.size_t):
        """Begin to move the entries to a table of `slots` slots, by as many `grow_step` calls as it takes."""
        if slots <= self._slots or self._next != cython.NULL:
            raise ValueError("a table grows to more slots, once at a time")
        self._next = cython.cast(cython.pointer(Entry), tm_pages_new(slots * cython.sizeof(Entry)))
        if self._next == cython.NULL:
            raise MemoryError
        self._next_slots = slots
        self._moved = 0

    def grow_step(self, limit: cython.size_t) -> bool:
        """Move the entries of `limit` slots; whether there are more."""
        stop: cython.size_t = min(self._slots, self._moved + limit)
        entry: cython.pointer(Entry)
        slot: cython.size_t
        with cython.nogil:
            while self._moved < stop:
                entry = self._entries + self._moved
                self._moved += 1
                if entry.hi == 0:
                    continue
                slot = self._home(_hash(entry), self._next_slots)
                while self._next[slot].hi != 0:
                    slot += 1
                    if slot == self._next_slots:
                        slot = 0
                self._next[slot] = entry[0]
        if self._moved < self._slots:
            return True
        tm_pages_free(self._entries, self._slots * cython.sizeof(Entry))
        self._entries = self._next
        self._slots = self._next_slots
        self._next = cython.NULL
        self._next_slots = 0
        self._room = self._slots // 2
        return False

    def crowd(self):
        """Let three quarters of the slots be used: slower, but where there is no memory to grow it saves writing out."""
        self._room = self._slots // 4 * 3

    def clear(self, part: cython.int = 0, part_bits: cython.int = 0):
        """Forget all pieces, and be the table of the part given; the slots stay."""
        with cython.nogil:
            memset(self._entries, 0, self._slots * cython.sizeof(Entry))
        self._part = part
        self._part_bits = part_bits
        tm_pages_free(self._arena, self._arena_size)
        self._arena = cython.NULL
        self._arena_used = self._arena_size = self._used = self._wrapped = 0

    # ------------------------------------------------------------------ reading out

    def sort(self, slot: cython.size_t, limit: cython.size_t):
        """Bring the clusters from `slot` on (0 to begin with) into canonical order.

        Looks at about `limit` slots; returns the slot to go on from, or None when done: then `read` may follow. The
        table stays a table, since in a cluster any order is good in which no entry stands before its home.
        """
        begin: cython.size_t
        stop: cython.size_t
        entries: cython.pointer(Entry) = self._entries
        slots: cython.size_t = self._slots
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
                    self._sort_cluster(begin, slot)
            if slot >= slots:
                self._wrapped = 0
                while entries[self._wrapped].hi != 0 and (
                        self._home(_hash(entries + self._wrapped), slots) > self._wrapped):
                    self._wrapped += 1
        return None if slot >= slots else slot

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _sort_cluster(self, begin: cython.size_t, end: cython.size_t) -> cython.void:
        """Insertion sort of slots begin:end, where an `end` beyond the last slot goes on at the front.

        Linear probing leaves an entry at most a cluster away from its place, so few are moved. Where a cluster goes
        on at the front, its hashes are measured from its beginning, so that the small ones stand after the large.
        """
        entries: cython.pointer(Entry) = self._entries
        slots: cython.size_t = self._slots
        turn: uint64_t = 0
        moving: Entry
        hash: uint64_t
        other: uint64_t
        i: cython.size_t
        j: cython.size_t
        a: cython.size_t
        b: cython.size_t
        if end > slots:  # the first entry is at home, so the others' hashes are less than one slot's span before its own
            turn = ~cython.cast(uint64_t, 0) // slots - (_hash(entries + begin) << self._part_bits)
        for i in range(begin + 1, end):
            a = i if i < slots else i - slots
            b = i - 1 if i - 1 < slots else i - 1 - slots
            hash = (_hash(entries + a) << self._part_bits) + turn
            other = (_hash(entries + b) << self._part_bits) + turn
            if other < hash or (other == hash and self._compare(entries + b, entries + a) < 0):
                continue
            moving = entries[a]
            j = i
            while j > begin:
                b = j - 1 if j - 1 < slots else j - 1 - slots
                other = (_hash(entries + b) << self._part_bits) + turn
                if other < hash or (other == hash and self._compare(entries + b, cython.address(moving)) < 0):
                    break
                entries[j if j < slots else j - slots] = entries[b]
                j -= 1
            entries[j if j < slots else j - slots] = moving

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _compare(self, a: cython.pointer(Entry), b: cython.pointer(Entry)) -> cython.int:
        """Pieces of equal hash, which hardly ever are, stand in the order of their bytes."""
        m: cython.size_t = self._length(a)
        n: cython.size_t = self._length(b)
        order: cython.int = memcmp(self._bytes(a), self._bytes(b), min(m, n))
        if order:
            return order
        return -1 if m < n else 1

    def measure(self, slot: cython.size_t, rows: cython.size_t, nbytes: cython.size_t):
        """The range of slots, from `slot` on, that `read` can give at once within `rows` rows and `nbytes` of pieces.

        Returns (end of the range, rows, bytes); at least one row, and none once all are read. Slots count on beyond
        the last one to the entries that wrapped.
        """
        n: cython.size_t = 0
        size: cython.size_t = 0
        length: cython.size_t
        entry: cython.pointer(Entry)
        end: cython.size_t = self._slots + self._wrapped
        if slot < self._wrapped:
            slot = self._wrapped
        with cython.nogil:
            while slot < end:
                entry = self._entries + (slot if slot < self._slots else slot - self._slots)
                if entry.hi != 0:
                    length = self._length(entry)
                    if n == rows or (n > 0 and size + length > nbytes):
                        break
                    n += 1
                    size += length
                slot += 1
        return slot, n, size

    def read(self, slot: cython.size_t, end: cython.size_t, arena: uint8_t[::1], offsets: uint64_t[::1],
             counts: uint64_t[::1]):
        """Write the pieces of the slots from `slot` to `end`, a range that `measure` gave, in canonical order.

        Piece i becomes arena[offsets[i]:offsets[i + 1]]; offsets[0] is where to begin in the arena.
        """
        position: cython.size_t = offsets[0]
        length: cython.size_t
        entry: cython.pointer(Entry)
        i: cython.Py_ssize_t = 0
        if slot < self._wrapped:
            slot = self._wrapped
        with cython.nogil:
            while slot < end:
                entry = self._entries + (slot if slot < self._slots else slot - self._slots)
                slot += 1
                if entry.hi == 0:
                    continue
                length = self._length(entry)
                if length:
                    memcpy(cython.address(arena[position]), self._bytes(entry), length)
                position += length
                counts[i] = entry.count
                i += 1
                offsets[i] = position


def cut(scanner: Scanner, text: cython.const[uint8_t][::1], start: cython.size_t, length: cython.size_t):
    """The last offset in (start, length) where a piece begins whatever stands around, or 0 (see Scanner.cut)."""
    place: cython.size_t = 0
    if length > 0:
        with cython.nogil:
            place = scanner.cut(cython.address(text[0]), start, length)
    return place


def hashes(arena: cython.const[uint8_t][::1], offsets: cython.const[uint64_t][::1], out: uint64_t[::1]):
    """The hash of each piece arena[offsets[i]:offsets[i + 1]], by which word counts are ordered."""
    n: cython.Py_ssize_t = out.shape[0]
    nothing: uint8_t = 0
    base: cython.pointer(cython.const[uint8_t]) = cython.address(nothing)
    if arena.shape[0]:
        base = cython.address(arena[0])
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(n):
            out[i] = tm_hash(_key(base + offsets[i], offsets[i + 1] - offsets[i], base + arena.shape[0]))
