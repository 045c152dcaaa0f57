"""The counting kernel: a table of the distinct pretokens of a text with 64-bit counts.

The table has open addressing, linear probing, entries of 32 bytes, two to a cache line:

    lo, hi   the key (kernels/_pretoken_key.h); hi is 0 if the slot is empty
    count    the number of occurrences
    offset   of a pretoken of more than 15 bytes in the arena: its length in 8 bytes, then its bytes

The home slot grows with the canonical hash: slot = hash * slots / 2**64. So the entries are in the canonical order of word
counts, ascending (hash, bytes), but for small disorder between two empty slots, and tables merge like sorted lists
(_row_merge_cy.py).

Anyone can compute pretokens that collide under the canonical hash. So the table counts its probes past the home slot. If
they exceed 16 for each addition, it moves its entries to the slots of a hash with a random seed. Until it is cleared, it is
`seeded` then, and in no order.

Additions come some hundred at a time: first all home slots and prefetches, then all probes, so that their cache misses
overlap. The table never grows by itself: without `room` the caller must `grow` it, or write it out and clear it.

Few distinct pretokens are most of the text. A direct-mapped cache in front of the table counts the latest ones: a pretoken in
the cache is counted there; another one takes its slot, and the old one goes to the table with its count. In samples of 4 MB,
82 % of the pretokens of many languages and 92 to 94 % of English and code never reach the table, whose entries are scattered
over more memory than the processor's caches hold. The cache is empty between two calls of `count_text`, so a table is complete
for its callers.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.string import memcmp, memcpy, memset
from cython.cimports.tokenmill.kernels._memory import tm_pages_free, tm_pages_grow, tm_pages_new, tm_pages_small
from cython.cimports.tokenmill.kernels._platform import tm_mulhi, tm_prefetch_write
from cython.cimports.tokenmill.kernels._pretoken_key import TM_CANONICAL, tm_hash, tm_key, tm_key_of
from cython.cimports.tokenmill.split._scan_cy import Scanner

from tokenmill.kernels.random_seed import random_seed

BATCH = cython.declare(cython.Py_ssize_t, 512)  # pretokens from the scanner at a time
LEAST_ROOM = cython.declare(cython.Py_ssize_t, 128)  # with less room than this the scanner's SIMD code stops at once
STEP = cython.declare(cython.size_t, 1 << 20)  # slots moved between two pauses: 32 MB
HUGE = cython.declare(cython.size_t, 1 << 20)  # slots; 32 MB
WINDOW = cython.declare(cython.size_t, 1 << 16)  # additions
WINDOW_STEPS = cython.declare(cython.size_t, 1 << 20)  # probes past the home slot that a window may have


@cython.cclass
class CountTable:
    """Distinct pretokens with their counts.

    slots: the number of entries that it has memory for. At most half of them are used, or five eighths in a table of HUGE
        slots, where fresh memory for twice as many costs more than longer probes. `use_more` allows three quarters.
    """

    def __cinit__(self, slots: cython.size_t = 1 << 16):
        self.slots = slots if slots > 1024 else 1024
        self.weight = 1
        self.most = self.slots // 2 if self.slots < HUGE else self.slots // 8 * 5
        self.seed.a, self.seed.b = random_seed()
        self.entries = cython.cast(cython.pointer(Entry), tm_pages_new(self.slots * cython.sizeof(Entry)))
        if self.entries == cython.NULL:
            raise MemoryError

    def __dealloc__(self):
        tm_pages_free(self.entries, self.slots * cython.sizeof(Entry))
        tm_pages_free(self.arena, self.arena_size)
        tm_pages_free(self.cache, CACHED * cython.sizeof(Addition))

    def __len__(self):
        return self.used

    @property
    def room(self):
        """The number of pretokens to add before the table must grow, or be written to disk and cleared."""
        return self.most - self.used - 2 * MOST + 1 if self.has_room(2 * MOST) else 0

    @property
    def nbytes(self):
        """Bytes of memory in use."""
        return self.slots * cython.sizeof(Entry) + self.arena_used

    @property
    def arena_bytes(self):
        """Bytes of memory in use for pretokens of more than 15 bytes."""
        return self.arena_used

    def check(self):
        """Raise the error of a method that ran without the GIL."""
        if self.no_memory:
            self.no_memory = False
            raise MemoryError("no memory for the bytes of long pretokens")
        if self.overflow:
            raise OverflowError("a count does not fit into 64 bits")

    def count_cached(self, slots: cython.size_t, text: cython.pointer(cython.const[uint8_t]), start: cython.size_t,
                     ends: cython.pointer(cython.const[cython.size_t]), n: cython.Py_ssize_t, readable: cython.size_t,
                     out: cython.pointer(Addition)) -> cython.Py_ssize_t:
        """Count the n pretokens text[start:ends[0]], text[ends[0]:ends[1]]... in `slots` slots of the cache.

        The pretokens that they displace are written to `out`, and so are those of more than 15 bytes, and all pretokens near
        the end of the text's memory, text[readable]. `slots` is a power of two of at most CACHED. Return the number of
        additions in `out`, at most n.
        """
        cache: cython.pointer(Addition) = self.cache
        mask: uint64_t = slots - 1
        longest: cython.size_t = 15 if ends[n - 1] + 16 <= readable else 0
        m: cython.Py_ssize_t = 0
        old: Addition
        for i in range(n):
            length = ends[i] - start
            if length > longest:
                set_addition(text + start, length, text + readable, out + m)
                m += 1
                start += length
                continue
            key = tm_key_of(text + start, length, text + start + 16, TM_CANONICAL)
            start += length
            # A cheaper hash than tm_hash. Its collisions only send more pretokens to the table.
            mixed = (key.lo * cython.cast(uint64_t, 0x9E3779B97F4A7C15) + key.hi) * cython.cast(uint64_t, 0xD1B54A32D192ED03)
            slot = cache + ((mixed >> 52) & mask)
            old.lo = slot.lo
            old.hi = slot.hi
            old.count = slot.count
            # Whether the slot has this pretoken is unpredictable, so nothing branches on it: the old entry is always written.
            same: uint64_t = ((old.lo ^ key.lo) | (old.hi ^ key.hi)) == 0
            out[m].lo = old.lo
            out[m].hi = old.hi
            out[m].count = old.count
            m += (same ^ 1) & (old.count != 0)
            slot.lo = key.lo
            slot.hi = key.hi
            slot.count = (old.count & (0 - same)) + 1
        return m

    def add_all(self, additions: cython.pointer(cython.const[Addition]), n: cython.Py_ssize_t) -> cython.bint:
        """Add up to MOST pretokens, for which the table must have room. Return False if memory for long ones ran out."""
        homes: cython.size_t[MOST]
        entries: cython.pointer(Entry) = self.entries
        slots: cython.size_t = self.slots
        steps: cython.size_t = 0
        room: cython.size_t = 0
        weight: uint64_t = self.weight
        key: tm_key
        for i in range(n):
            add = additions + i
            key.lo = add.lo
            key.hi = add.hi
            if (key.hi >> 56) == LONG:
                room += add.length + 8
            if self.seeded:
                slot: cython.size_t = tm_mulhi(self.seeded_hash(key, add.pretoken, add.length), slots)
            else:
                slot = tm_mulhi(tm_hash(key, TM_CANONICAL), slots)
            homes[i] = slot
            tm_prefetch_write(entries + slot)
        if room and not self.reserve_arena(room):
            return False
        for i in range(n):
            add = additions + i
            slot = homes[i]
            count = weight * add.count
            while True:
                entry = entries + slot
                if entry.lo == add.lo and entry.hi == add.hi:
                    if (add.hi >> 56) != LONG or (
                            self.length(entry) == add.length
                            and memcmp(self.bytes_of(entry), add.pretoken, add.length) == 0):
                        entry.count += count
                        if entry.count < count:
                            self.overflow = True
                        break
                elif entry.hi == 0:
                    entry.lo = add.lo
                    entry.hi = add.hi
                    entry.count = count
                    if (add.hi >> 56) == LONG:
                        entry.offset = self.keep(add.pretoken, add.length)
                    self.used += 1
                    break
                slot += 1
                steps += 1
                if slot == slots:
                    slot = 0
        self.steps += steps
        self.window_steps += steps
        self.window_additions += n
        if self.window_steps > WINDOW_STEPS:
            self.reseed()
        if self.window_additions >= WINDOW:
            self.window_steps = self.window_additions = 0
        return True

    def reseed(self) -> cython.void:
        """Move the entries to the slots of the seeded hash. Without memory for that, do nothing."""
        self.window_steps = 0
        if self.seeded:
            return
        fresh = cython.cast(cython.pointer(Entry), tm_pages_new(self.slots * cython.sizeof(Entry)))
        if fresh == cython.NULL:
            return
        self.seeded = True
        for i in range(self.slots):
            self.move(self.entries + i, fresh, self.slots)
        tm_pages_free(self.entries, self.slots * cython.sizeof(Entry))
        self.entries = fresh

    def move(self, entry: cython.pointer(cython.const[Entry]), to: cython.pointer(Entry),
             slots: cython.size_t) -> cython.void:
        """Copy an entry, unless it is empty, to the first empty slot of another table."""
        if entry.hi == 0:
            return
        slot = self.home(entry, slots)
        while to[slot].hi != 0:
            slot += 1
            if slot == slots:
                slot = 0
        to[slot] = entry[0]

    # ------------------------------------------------------------------ long pretokens

    def reserve_arena(self, room: cython.size_t) -> cython.bint:
        size: cython.size_t = max(2 * self.arena_size, self.arena_used + room + 65536)
        if self.arena_size - self.arena_used >= room:
            return True
        arena = tm_pages_grow(self.arena, self.arena_size, size)
        if arena == cython.NULL:
            self.no_memory = True
            return False
        self.arena = cython.cast(cython.pointer(uint8_t), arena)
        self.arena_size = size
        return True

    def keep(self, pretoken: cython.pointer(cython.const[uint8_t]), length: cython.size_t) -> cython.size_t:
        """Append a long pretoken to the arena. Return its offset."""
        offset: cython.size_t = self.arena_used
        memcpy(self.arena + offset, cython.address(length), 8)
        memcpy(self.arena + offset + 8, pretoken, length)
        self.arena_used = offset + 8 + length
        return offset

    # ------------------------------------------------------------------ growing

    def grow(self, slots: cython.size_t, pause):
        """Move the entries to a larger table. pause: called often; it may raise to give up."""
        entries = cython.cast(cython.pointer(Entry), tm_pages_new(slots * cython.sizeof(Entry)))
        first: cython.size_t = 0
        if entries == cython.NULL:
            raise MemoryError
        try:
            while first < self.slots:
                pause()
                with cython.nogil:
                    for i in range(first, min(first + STEP, self.slots)):
                        self.move(self.entries + i, entries, slots)
                first += STEP
            self.entries, entries = entries, self.entries
            self.slots, slots = slots, self.slots
        finally:
            tm_pages_free(entries, slots * cython.sizeof(Entry))
        self.most = self.slots // 2 if self.slots < HUGE else self.slots // 8 * 5

    def use_more(self):
        """Allow three quarters of the slots to be used: slower, but cheaper than a spill where there is no memory to grow."""
        self.most = self.slots // 4 * 3

    def clear(self):
        """Remove all pretokens. The slots stay."""
        with cython.nogil:
            memset(self.entries, 0, self.slots * cython.sizeof(Entry))
        tm_pages_free(self.arena, self.arena_size)
        self.arena = cython.NULL
        self.arena_used = self.arena_size = self.used = 0
        self.seeded = False
        self.window_steps = self.window_additions = 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _next_ends(scanner: Scanner | None, base: cython.pointer(cython.const[uint8_t]),
               document_ends: cython.const[uint64_t][::1], position: cython.size_t,
               document: cython.pointer(cython.Py_ssize_t), ends: cython.pointer(cython.size_t),
               batch: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Write the ends of the next pretokens from `position` on to `ends`, also those of the next documents. Return their number.

    scanner: None if each document is a pretoken.
    """
    first: cython.size_t = document_ends[document[0] - 1] if document[0] > 0 else 0
    n: cython.Py_ssize_t = 0
    while n <= batch - LEAST_ROOM and document[0] < document_ends.shape[0]:
        if position >= document_ends[document[0]]:
            first = document_ends[document[0]]
            document[0] += 1
            continue
        if scanner is None:
            position = ends[n] = document_ends[document[0]]
            n += 1
            continue
        m = scanner.scan(base + first, position - first, document_ends[document[0]] - first, ends + n, batch - n)
        if m == 0:
            break
        for i in range(n, n + m):
            ends[i] += first
        n += m
        position = ends[n - 1]
    return n


def count_text(table: CountTable, scanner: Scanner | None, text: cython.const[uint8_t][::1],
               document_ends: cython.const[uint64_t][::1], position: cython.size_t, document: cython.Py_ssize_t,
               limit: cython.size_t):
    """Count the pretokens of text[position:], whose document i ends at document_ends[i]. Without a scanner, documents are pretokens.

    Stop at the end of the last document, when the table is full, or after about `limit` bytes. Return the new
    (position, document).
    """
    documents: cython.Py_ssize_t = document_ends.shape[0]
    if text.shape[0] == 0 or documents == 0:
        return position, documents
    base: cython.pointer(cython.const[uint8_t]) = cython.address(text[0])
    start: cython.size_t = position
    ends: cython.size_t[512]
    additions: Addition[768]  # BATCH + MOST
    waiting: cython.Py_ssize_t = 0
    emptied: cython.size_t = 0
    stuck: cython.bint = False
    # Waiting additions, those of the next batch and those in the cache may all be new to the table. Little room makes them fewer.
    batch: cython.Py_ssize_t = BATCH
    slots: cython.size_t = CACHED
    while slots > 1 and not table.has_room(MOST + batch + slots):
        slots >>= 1
    if slots == 1:
        batch = MOST - 1
    if table.cache == cython.NULL:
        table.cache = cython.cast(cython.pointer(Addition), tm_pages_small(CACHED * cython.sizeof(Addition)))
        if table.cache == cython.NULL:
            raise MemoryError
    with cython.nogil:
        while document < documents and table.has_room(MOST + batch + slots) and position - start < limit:
            n = _next_ends(scanner, base, document_ends, position, cython.address(document), ends, batch)
            if n == 0:
                stuck = document < documents
                break
            waiting += table.count_cached(slots, base, position, ends, n, text.shape[0], additions + waiting)
            position = ends[n - 1]
            while waiting >= MOST and table.add_all(additions + waiting - MOST, MOST):
                waiting -= MOST
        if not table.no_memory:
            table.add_all(additions, waiting)
            while emptied < slots:  # an empty slot adds 0 to nothing
                table.add_all(table.cache + emptied, min(MOST, slots - emptied))
                emptied += MOST
            memset(table.cache, 0, slots * cython.sizeof(Addition))
    table.check()
    if stuck:
        raise RuntimeError("the scanner found no pretoken")
    return position, document
