# cython: language_level=3
"""The counting kernel's table: distinct pretokens with 64-bit counts.

Open addressing, linear probing, entries of 32 bytes, two to a cache line:

    lo, hi   the key (kernels/_pretoken_key.h); hi is 0 where the slot is empty
    count    how often the pretoken was seen
    place    where a pretoken of more than 15 bytes stands in the arena: its length in 8 bytes, then its bytes

The home slot grows with the hash: slot = hash * slots / 2**64. So the entries lie in the canonical order of word
counts, ascending (hash, bytes), but for small disorder inside a cluster (a run of full slots); growing and merging go
through memory from front to back; and a partition of the pretokens by their hash is a range of slots.

Additions come some hundred at a time: first all home slots and prefetches, then all probes, so that their cache misses
overlap. The table never grows by itself: `full` says that the caller must `grow` it or write it out. Text comes in
through _count_cy, rows go out through _rows_cy.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.stdlib import free, realloc
from cython.cimports.libc.string import memcmp, memcpy, memset
from cython.cimports.tokenmill.counting._pages import (
    tm_mulhi,
    tm_pages_free,
    tm_pages_grow,
    tm_pages_new,
    tm_prefetch,
)
from cython.cimports.tokenmill.counting._recent import tm_addition, tm_recent
from cython.cimports.tokenmill.kernels._pretoken_key import TM_CANONICAL, tm_hash, tm_key, tm_key_of

ONE = cython.declare(uint64_t, 1)
FRONT = cython.declare(cython.size_t, 512)  # slots that are emptied last when a table doubles in place
HUGE = cython.declare(cython.size_t, 1 << 20)  # slots; 32 MB
LARGE = cython.declare(cython.size_t, 1 << 22)  # bytes from which on a table is given addresses to grow into,
ROOM = cython.declare(cython.size_t, 256)  # this many times what it needs now


@cython.cclass
class CountTable:
    """Distinct pretokens with their counts.

    slots: how many entries there is memory for. Half of them may be used, of a HUGE table five eighths: there, fresh memory
        for twice as many costs more than longer clusters do. Three quarters once `crowd` was called.
    part, part_bits: hold only the pretokens whose hash begins with the `part_bits` bits `part`; with 0 bits, all pretokens.
    """

    def __cinit__(self, slots: cython.size_t = 1 << 16, part: cython.int = 0, part_bits: cython.int = 0):
        self.slots = slots if slots > 1024 else 1024
        self.most = self.slots // 2 if self.slots < HUGE else self.slots // 8 * 5
        self.part = part
        self.part_bits = part_bits
        self.entries = cython.cast(cython.pointer(Entry), tm_pages_new(self.slots * cython.sizeof(Entry)))
        if self.entries == cython.NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.next != self.entries:
            tm_pages_free(self.next, self.next_slots * cython.sizeof(Entry))
        tm_pages_free(self.entries, self.slots * cython.sizeof(Entry))
        tm_pages_free(self.arena, self.arena_size)
        tm_pages_free(self.recent, RECENT * cython.sizeof(tm_recent))
        free(self.aside)

    def __len__(self):
        return self.used

    @property
    def full(self):
        """Whether the table must grow, or be written out and cleared, before it takes more."""
        return not self.has_room(2 * MOST)

    @property
    def room(self):
        """How many more pretokens the table takes before it is full."""
        return self.most - self.used - 2 * MOST + 1 if self.has_room(2 * MOST) else 0

    @property
    def nbytes(self):
        """Bytes of memory held, those of a growth in progress included."""
        slots: cython.size_t = self.next_slots if self.next == self.entries else self.slots + self.next_slots
        return slots * cython.sizeof(Entry) + self.arena_used

    @property
    def arena_bytes(self):
        """Bytes of memory held for pretokens of more than 15 bytes."""
        return self.arena_used

    def check(self):
        """Raise what went wrong while no error could be raised."""
        if self.no_memory:
            self.no_memory = False
            raise MemoryError("no memory for the bytes of long pretokens")
        if self.overflow:
            raise OverflowError("a count does not fit into 64 bits")

    # ------------------------------------------------------------------ adding

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_all(self, some: cython.pointer(cython.const[tm_addition]), n: cython.Py_ssize_t) -> cython.bint:
        """Add up to MOST pretokens, for which the table must have room; False where memory for long ones ran out."""
        homes: cython.size_t[MOST]
        add: cython.pointer(cython.const[tm_addition])
        entry: cython.pointer(Entry)
        entries: cython.pointer(Entry) = self.entries
        slots: cython.size_t = self.slots
        slot: cython.size_t
        room: cython.size_t = 0
        hi: uint64_t
        key: tm_key
        i: cython.Py_ssize_t
        for i in range(n):
            add = some + i
            key.lo = add.lo
            key.hi = add.hi
            if (key.hi >> 56) == LONG:
                room += add.length + 8
            slot = self.home(tm_hash(key, TM_CANONICAL), slots)
            homes[i] = slot
            tm_prefetch(entries + slot)
        if room and not self.reserve_arena(room):
            return False
        for i in range(n):
            add = some + i
            slot = homes[i]
            hi = add.hi
            while True:
                entry = entries + slot
                if entry.lo == add.lo and entry.hi == hi:
                    if (hi >> 56) != LONG or self.same(entry, add.pretoken, add.length):
                        entry.count += add.count
                        if entry.count < add.count:
                            self.overflow = True
                        break
                elif entry.hi == 0:
                    entry.lo = add.lo
                    entry.hi = hi
                    entry.count = add.count
                    if (hi >> 56) == LONG:
                        entry.place = self.keep(add.pretoken, add.length)
                    self.used += 1
                    break
                slot += 1
                if slot == slots:
                    slot = 0
        return True

    def add(self, arena: cython.const[uint8_t][::1], offsets: cython.const[uint64_t][::1],
            counts: cython.const[uint64_t][::1], start: cython.Py_ssize_t):
        """Add the counts of the pretokens arena[offsets[i]:offsets[i + 1]] for i from `start`, until full.

        Returns the next `start`. Rows in canonical order want a table that has room for all of them from the outset:
        one that grows while they come in would first be filled at its front, in one long cluster.
        """
        some: tm_addition[MOST]
        key: tm_key
        nothing: uint8_t = 0
        base: cython.pointer(cython.const[uint8_t]) = cython.address(nothing)
        if arena.shape[0]:
            base = cython.address(arena[0])
        end: cython.pointer(cython.const[uint8_t]) = base + arena.shape[0]
        rows: cython.Py_ssize_t = counts.shape[0]
        n: cython.Py_ssize_t
        i: cython.Py_ssize_t
        if offsets.shape[0] != rows + 1:
            return rows
        with cython.nogil:
            while start < rows and self.has_room(MOST):
                n = min(MOST, rows - start)
                for i in range(n):
                    some[i].pretoken = base + offsets[start + i]
                    some[i].length = offsets[start + i + 1] - offsets[start + i]
                    some[i].count = counts[start + i]
                    if some[i].length == 0:
                        some[i].lo = 0
                        some[i].hi = cython.cast(uint64_t, EMPTY) << 56
                    else:
                        key = tm_key_of(some[i].pretoken, some[i].length, end, TM_CANONICAL)
                        some[i].lo = key.lo
                        some[i].hi = key.hi
                if not self.add_all(some, n):
                    break
                start += n
        self.check()
        return start

    def add_table(self, other: CountTable, slot: cython.size_t, limit: cython.size_t):
        """Add the entries of `other` that belong to this table's part, from its slot `slot`, or 0 to begin with.

        Stops when this table is full, or after about `limit` slots. Returns the slot to go on from, or None when done.
        """
        some: tm_addition[MOST]
        n: cython.Py_ssize_t = 0
        shift: cython.int = 64 - self.part_bits
        first: cython.size_t = 0
        last: cython.size_t = other.slots
        if self.part_bits:
            first = other.home((ONE * self.part) << shift, other.slots)
            if self.part + 1 < (1 << self.part_bits):
                last = other.home((ONE * self.part + 1) << shift, other.slots)
        at: cython.size_t = max(first, slot)
        stop: cython.size_t = at + limit
        entries: cython.pointer(Entry) = other.entries
        slots: cython.size_t = other.slots
        bits: cython.int = other.part_bits
        part: uint64_t = self.part
        entry: cython.pointer(Entry)
        hash: uint64_t
        place: cython.size_t
        i: cython.Py_ssize_t
        done: cython.bint = False
        with cython.nogil:
            # Past `last` the cluster that began before it must still be looked through, round the end if need be.
            while at < stop and self.has_room(MOST):
                while at < stop and n < MOST:
                    place = at if at < slots else at - slots
                    entry = entries + place
                    if entry.hi == 0 and at >= last:
                        done = True
                        stop = at
                        break
                    at += 1
                    hash = hash_of(entry)
                    some[n].lo = entry.lo
                    some[n].hi = entry.hi
                    some[n].count = entry.count
                    if (entry.hi >> 56) == LONG:
                        some[n].pretoken = other.bytes_of(entry)
                        tm_prefetch(some[n].pretoken - 8)
                    # One slot in three is full, no one knows which, so nothing branches on it. An entry that wrapped
                    # comes at the end; and once the end is passed, what is at home there came at the front.
                    n += (
                        (entry.hi != 0)
                        & ((hash >> (shift - 1)) >> 1 == part)
                        & ((tm_mulhi(hash << bits, slots) > place) == (at > slots))
                    )
                for i in range(n):  # the long pretokens lie anywhere in the arena: now they have been fetched
                    if (some[i].hi >> 56) == LONG:
                        memcpy(cython.address(some[i].length), some[i].pretoken - 8, 8)
                if not self.add_all(some, n):
                    break
                n = 0
        self.check()
        return None if done else at

    # ------------------------------------------------------------------ long pretokens

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def reserve_arena(self, room: cython.size_t) -> cython.bint:
        size: cython.size_t = max(2 * self.arena_size, self.arena_used + room + 65536)
        arena: cython.pointer(cython.void)
        if self.arena_size - self.arena_used >= room:
            return True
        arena = tm_pages_grow(self.arena, self.arena_size, size)
        if arena == cython.NULL:
            self.no_memory = True
            return False
        self.arena = cython.cast(cython.pointer(uint8_t), arena)
        self.arena_size = size
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def keep(self, pretoken: cython.pointer(cython.const[uint8_t]), length: cython.size_t) -> cython.size_t:
        place: cython.size_t = self.arena_used
        memcpy(self.arena + place, cython.address(length), 8)
        memcpy(self.arena + place + 8, pretoken, length)
        self.arena_used = place + 8 + length
        return place

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def same(self, entry: cython.pointer(cython.const[Entry]), pretoken: cython.pointer(cython.const[uint8_t]),
             length: cython.size_t) -> cython.bint:
        return self.length(entry) == length and memcmp(self.bytes_of(entry), pretoken, length) == 0

    # ------------------------------------------------------------------ growing

    def grow(self, slots: cython.size_t):
        """Begin to move the entries to a table of `slots` slots, by as many `grow_step` calls as it takes.

        A large table doubles where it stands: the system clears fresh memory at a tenth of the speed at which it is
        copied, so a second table for every doubling cost a tenth of all counting.
        """
        size: cython.size_t = slots * cython.sizeof(Entry)
        if slots <= self.slots or self.next != cython.NULL:
            raise ValueError("a table grows to more slots, once at a time")
        if slots == 2 * self.slots and size >= LARGE:
            grown: cython.p_void = tm_pages_grow(self.entries, size // 2, size)
            if grown == cython.NULL:
                raise MemoryError
            self.entries = cython.cast(cython.pointer(Entry), grown)
            self.next = self.entries
            self.moved = self.slots
        else:
            self.next = cython.cast(cython.pointer(Entry), tm_pages_new(size))
            if self.next == cython.NULL:
                raise MemoryError
            self.moved = 0
        self.next_slots = slots

    def grow_step(self, limit: cython.size_t) -> bool:
        """Move the entries of `limit` slots; whether there are more."""
        stop: cython.size_t
        entry: cython.pointer(Entry)
        slot: cython.size_t
        if self.next == self.entries:
            stop = self.moved - limit if self.moved > FRONT + limit else FRONT
            with cython.nogil:
                self.widen(stop)
            if self.no_memory:
                raise MemoryError
            if self.moved > 0:
                return True
        else:
            stop = min(self.slots, self.moved + limit)
            with cython.nogil:
                while self.moved < stop:
                    entry = self.entries + self.moved
                    self.moved += 1
                    if entry.hi == 0:
                        continue
                    slot = self.home(hash_of(entry), self.next_slots)
                    while self.next[slot].hi != 0:
                        slot += 1
                        if slot == self.next_slots:
                            slot = 0
                    self.next[slot] = entry[0]
            if self.moved < self.slots:
                return True
            tm_pages_free(self.entries, self.slots * cython.sizeof(Entry))
            self.entries = self.next
        self.slots = self.next_slots
        self.next = cython.NULL
        self.next_slots = 0
        self.most = self.slots // 2 if self.slots < HUGE else self.slots // 8 * 5
        return False

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def widen(self, stop: cython.size_t) -> cython.bint:
        """Go on doubling in place, from the last entry down to the slot `stop`, and to the end if that is FRONT.

        The home of an entry doubles, so it moves up, over slots that have been emptied already. Where that is not so
        (at the very front, in a long cluster, round the end of the table) it is put aside until all others stand.
        """
        entries: cython.pointer(Entry) = self.entries
        entry: Entry
        slot: cython.size_t
        i: cython.size_t
        while self.moved > stop:
            self.moved -= 1
            if entries[self.moved].hi == 0:
                continue
            entry = entries[self.moved]
            slot = self.home(hash_of(cython.address(entry)), self.next_slots)
            if slot > self.moved:
                while slot < self.next_slots and entries[slot].hi != 0:
                    slot += 1
                if slot < self.next_slots:
                    entries[self.moved].hi = 0
                    entries[slot] = entry
                    continue
            if not self.put_aside(cython.address(entry)):
                return False
            entries[self.moved].hi = 0
        if stop > FRONT:
            return True
        while self.moved > 0:
            self.moved -= 1
            if entries[self.moved].hi != 0 and not self.put_aside(entries + self.moved):
                return False
            entries[self.moved].hi = 0
        for i in range(self.n_aside):
            slot = self.home(hash_of(self.aside + i), self.next_slots)
            while entries[slot].hi != 0:
                slot += 1
                if slot == self.next_slots:
                    slot = 0
            entries[slot] = self.aside[i]
        free(self.aside)
        self.aside = cython.NULL
        self.n_aside = self.aside_room = 0
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def put_aside(self, entry: cython.pointer(cython.const[Entry])) -> cython.bint:
        room: cython.size_t = max(2 * FRONT, 2 * self.aside_room)
        more: cython.pointer(cython.void)
        if self.n_aside == self.aside_room:
            more = realloc(self.aside, room * cython.sizeof(Entry))
            if more == cython.NULL:
                self.no_memory = True
                return False
            self.aside = cython.cast(cython.pointer(Entry), more)
            self.aside_room = room
        self.aside[self.n_aside] = entry[0]
        self.n_aside += 1
        return True

    def crowd(self):
        """Let three quarters of the slots be used: slower, but where there is no memory to grow it saves writing out."""
        self.most = self.slots // 4 * 3

    def clear(self, part: cython.int = 0, part_bits: cython.int = 0):
        """Forget all pretokens, and be the table of the part given; the slots stay."""
        with cython.nogil:
            memset(self.entries, 0, self.slots * cython.sizeof(Entry))
        self.part = part
        self.part_bits = part_bits
        tm_pages_free(self.arena, self.arena_size)
        self.arena = cython.NULL
        self.arena_used = self.arena_size = self.used = self.wrapped = 0
