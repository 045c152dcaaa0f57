# cython: language_level=3
"""The merge kernel: the bytes of one pretoken to ids, by ranks of pairs.

Both orders of merging are one table, (left id, right id) -> rank, and an array, rank -> new id. For the order "merges"
the table is the list of merges. For "ranks", where any neighbours whose joined bytes are a token merge, it holds
every cut of every token into two tokens, since neighbours always are tokens; the rank is the id.

Two loops give the same ids, for any vocabulary. Short pretokens: an array, its minimum sought anew for each merge. Longer
ones: a heap of (rank, place). Nearly all vocabularies are proper, and encoded faster: _proper_cy.py.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memset
from cython.cimports.tokenmill.counting._pages import tm_pages_free, tm_pages_new, tm_prefetch
from cython.cimports.tokenmill.tokenizer._heap import pop, push

NOWHERE = cython.declare(uint32_t, 0xFFFFFFFF)
EMPTY = cython.declare(uint64_t, 0xFFFFFFFFFFFFFFFF)  # a slot of the pair table


def reserve(work, size):
    """Make room for `size` bytes; what was there is lost. False where there is no memory."""
    if work.room < size:
        tm_pages_free(work.memory, work.room)
        work.room = 0
        work.memory = cython.cast(cython.pointer(uint8_t), tm_pages_new(size))
        if work.memory == cython.NULL:
            return False
        work.room = size
    return True


def release(work, keep):
    """Give the memory back if it is more than `keep` bytes."""
    if work.room > keep:
        tm_pages_free(work.memory, work.room)
        work.memory = cython.NULL
        work.room = 0


@cython.cclass
class Merger:
    """Merges pretokens by ranks of pairs. Immutable once `finish_pairs` has been called; threads share it."""

    def __cinit__(self, n_ids: cython.uint = 0, byte_ids=None, unknown=None, characters=None, ranks: cython.uint = 0,
                  pairs: cython.size_t = 0):
        """byte_ids: the id of each of the 256 bytes, None for a byte without a token. characters: the id of each code
        point instead, where the alphabet is characters. ranks: how many there are. pairs: how many to expect."""
        i: cython.size_t
        self.n_ids = n_ids
        self.unknown = NO_ID if unknown is None else unknown
        self.complete = characters is None and None not in byte_ids
        for i in range(256):
            self.byte_ids[i] = n_ids + i if byte_ids is None or byte_ids[i] is None else byte_ids[i]
        if characters is not None:
            self.n_characters = max(characters, default=-1) + 1
            self.characters = cython.cast(cython.pointer(uint32_t), malloc((self.n_characters + 1) * 4))
            if self.characters == cython.NULL:
                raise MemoryError
            memset(self.characters, 0xFF, (self.n_characters + 1) * 4)
            for point, id in characters.items():
                self.characters[cython.cast(cython.size_t, point)] = id
        self.n_ranks = ranks
        self.pair_slots = 1024
        self.pair_shift = 54
        while self.pair_slots < pairs:
            self.pair_slots *= 2
            self.pair_shift -= 1
        self.pairs = _empty_slots(self.pair_slots)
        if self.pairs == cython.NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.byte_pairs)
        free(self.made)
        free(self.characters)
        tm_pages_free(self.pairs, self.pair_slots * 8)

    # ------------------------------------------------------------------ the pair table

    def pair_rank(self, left, right):
        return pair_in(self, left, right)

    def add_pair(self, left, right, rank):
        """Add a pair that is not there yet. False where there is no memory."""
        if 2 * self.n_pairs >= self.pair_slots:
            old: cython.pointer(uint64_t) = self.pairs
            n: cython.size_t = self.pair_slots
            new: cython.pointer(uint64_t) = _empty_slots(2 * n)
            if new == cython.NULL:
                return False
            self.pairs = new
            self.pair_slots = 2 * n
            self.pair_shift -= 1
            i: cython.size_t
            for i in range(n):
                if old[i] != EMPTY:
                    _put(self, old[i])
            tm_pages_free(old, n * 8)
        _put(self, (cython.cast(uint64_t, left) << ID_BITS | right) << ID_BITS | rank)
        self.n_pairs += 1
        return True

    def finish_pairs(self):
        """After the last pair: the table of byte pairs. False without memory."""
        i: cython.size_t
        if self.byte_pairs == cython.NULL:
            self.byte_pairs = cython.cast(cython.pointer(uint32_t), malloc(65536 * 4))
        if self.byte_pairs == cython.NULL:
            return False
        for i in range(65536):
            self.byte_pairs[i] = pair_in(self, self.byte_ids[i >> 8], self.byte_ids[i & 255])
        return True

    # ------------------------------------------------------------------ one pretoken

    def first_missing(self, data: bytes) -> bytes:
        """The first byte or character of `data` that has no token; b"" if all have."""
        p: cython.pointer(cython.const[uint8_t]) = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(data))
        i: cython.size_t = 0
        n: cython.size_t = len(data)
        id: uint32_t
        length: cython.int = 1
        while i < n:
            if self.characters != cython.NULL:
                _character(p + i, n - i, cython.address(length))
            self.parts(p + i, length, cython.address(id))
            if id >= self.n_ids:
                return data[i:i + length]
            i += length
        return b""

    def parts(self, pretoken, n, ids):
        """What a pretoken is before any merge: the ids of its bytes or characters. Returns their number."""
        i: cython.size_t = 0
        count: cython.Py_ssize_t = 0
        length: cython.int = 1
        point: uint32_t
        if self.characters == cython.NULL:
            for i in range(n):
                ids[i] = self.byte_ids[pretoken[i]]
            return n
        while i < n:
            point = _character(pretoken + i, n - i, cython.address(length))
            if point == NO_ID:  # a byte that is no character stands for itself, as Python's surrogateescape has it
                point = 0xDC00 | pretoken[i]
            ids[count] = self.characters[point] if point < self.n_characters else NO_ID
            count += 1
            i += length
        return count

    def merge(self, pretoken, n, out, work):
        if n >= LONGEST:
            return TOO_LONG
        count: cython.Py_ssize_t = self.parts(pretoken, n, out)
        if count > 1:
            count = self.merge_parts(out, count, cython.NULL if self.characters != cython.NULL else pretoken, work)
        if not self.complete and count > 0:
            i: cython.Py_ssize_t
            for i in range(count):
                if out[i] >= self.n_ids:
                    if self.unknown == NO_ID:
                        return NO_TOKEN
                    out[i] = self.unknown
        return count

    def merge_parts(self, ids, n, pretoken, work):
        return _by_scan(self, ids, n, pretoken) if n <= SHORT else _by_heap(self, ids, n, work)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _by_scan(self: Merger, ids: cython.pointer(uint32_t), n: cython.Py_ssize_t,
             pretoken: cython.pointer(cython.const[uint8_t])) -> cython.Py_ssize_t:
    """Up to SHORT parts; ranks[i] is the rank of the pair at i. Both arrays close up after each merge.

    What takes the time is the way to the table of pairs, so what will be asked for next is fetched early (a tenth less).
    """
    ranks: uint32_t[SHORT]
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    best: uint32_t
    id: uint32_t
    for i in range(n - 1):
        ranks[i] = self.byte_pairs[pretoken[i] << 8 | pretoken[i + 1]] if pretoken != cython.NULL else pair_in(self, ids[i], ids[i + 1])
    if self.made == cython.NULL:  # a rank is the id; without a branch on NO_ID, whose slot is fetched in vain
        for i in range(n - 2):
            tm_prefetch(self.pairs + slot_of(self, ranks[i], ids[i + 2]))
            tm_prefetch(self.pairs + slot_of(self, ids[i], ranks[i + 1]))
    while n > 1:
        best = NO_ID
        at = 0
        for i in range(n - 1):
            if ranks[i] < best:
                best = ranks[i]
                at = i
        if best == NO_ID:
            break
        id = self.made[best] if self.made != cython.NULL else best
        if at > 0:  # both slots of the table are fetched at once
            tm_prefetch(self.pairs + slot_of(self, ids[at - 1], id))
        ids[at] = id
        n -= 1
        for i in range(at + 1, n):
            ids[i] = ids[i + 1]
        for i in range(at + 1, n - 1):
            ranks[i] = ranks[i + 1]
        if at + 1 < n:
            ranks[at] = pair_in(self, id, ids[at + 1])
            if ranks[at] != NO_ID:
                id = self.made[ranks[at]] if self.made != cython.NULL else ranks[at]
                if at > 0:
                    tm_prefetch(self.pairs + slot_of(self, ids[at - 1], id))
                if at + 2 < n:
                    tm_prefetch(self.pairs + slot_of(self, id, ids[at + 2]))
        if at > 0:
            ranks[at - 1] = pair_in(self, ids[at - 1], ids[at])
            if ranks[at - 1] != NO_ID:
                id = self.made[ranks[at - 1]] if self.made != cython.NULL else ranks[at - 1]
                if at > 1:
                    tm_prefetch(self.pairs + slot_of(self, ids[at - 2], id))
                if at + 1 < n:
                    tm_prefetch(self.pairs + slot_of(self, id, ids[at + 1]))
    return n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _by_heap(self: Merger, ids: cython.pointer(uint32_t), n: cython.Py_ssize_t,
             work: cython.pointer(Workspace)) -> cython.Py_ssize_t:
    """Any number of parts, with a heap of (rank, place)."""
    if not reserve(work, n * cython.sizeof(Node) + 3 * n * 8):
        return NO_MEMORY
    nodes: cython.pointer(Node) = cython.cast(cython.pointer(Node), work.memory)
    heap: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), nodes + n)
    used: cython.size_t = 0
    place: uint32_t
    other: uint32_t
    rank: uint32_t
    steps: cython.size_t = 0
    i: cython.Py_ssize_t
    for i in range(n):
        nodes[i].id = ids[i]
        nodes[i].prev = i - 1 if i > 0 else NOWHERE
        nodes[i].next = i + 1 if i + 1 < n else NOWHERE
        nodes[i].rank = pair_in(self, ids[i], ids[i + 1]) if i + 1 < n else NO_ID
        if nodes[i].rank != NO_ID:
            used = push(heap, used, cython.cast(uint64_t, nodes[i].rank) << 32 | i)
    while used > 0:
        place = cython.cast(uint32_t, heap[0])
        rank = cython.cast(uint32_t, heap[0] >> 32)
        used = pop(heap, used)
        steps += 1
        if steps & 0x3FFFF == 0 and signalled():
            return SIGNALLED
        if nodes[place].rank != rank:
            continue  # the pair that stood here is gone
        other = _join(self, nodes, place)
        nodes[place].rank = NO_ID if other == NOWHERE else pair_in(self, nodes[place].id, nodes[other].id)
        if nodes[place].rank != NO_ID:
            used = push(heap, used, cython.cast(uint64_t, nodes[place].rank) << 32 | place)
        other = nodes[place].prev
        if other != NOWHERE:
            nodes[other].rank = pair_in(self, nodes[other].id, nodes[place].id)
            if nodes[other].rank != NO_ID:
                used = push(heap, used, cython.cast(uint64_t, nodes[other].rank) << 32 | other)
    i = 0
    place = 0
    while place != NOWHERE:
        ids[i] = nodes[place].id
        i += 1
        place = nodes[place].next
    return i


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _empty_slots(n: cython.size_t) -> cython.pointer(uint64_t):
    slots: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), tm_pages_new(n * 8))
    if slots != cython.NULL:
        memset(slots, 0xFF, n * 8)
    return slots


def signalled():
    with cython.gil:
        return tm_check_signals() != 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _character(p: cython.pointer(cython.const[uint8_t]), n: cython.size_t, length: cython.p_int) -> uint32_t:
    """The code point of the well-formed UTF-8 character at p[0:n] and its length in bytes; else NO_ID and 1."""
    a: uint32_t = p[0]
    point: uint32_t
    length[0] = 1
    if a < 0x80:
        return a
    if a < 0xC2 or n < 2 or p[1] & 0xC0 != 0x80:
        return NO_ID
    if a < 0xE0:
        length[0] = 2
        return (a & 0x1F) << 6 | (p[1] & 0x3F)
    if n < 3 or p[2] & 0xC0 != 0x80:
        return NO_ID
    if a < 0xF0:
        point = (a & 0x0F) << 12 | (p[1] & 0x3F) << 6 | (p[2] & 0x3F)
        if point < 0x800 or 0xD800 <= point < 0xE000:
            return NO_ID
        length[0] = 3
        return point
    if a > 0xF4 or n < 4 or p[3] & 0xC0 != 0x80:
        return NO_ID
    point = (a & 0x07) << 18 | (p[1] & 0x3F) << 12 | (p[2] & 0x3F) << 6 | (p[3] & 0x3F)
    if point < 0x10000 or point > 0x10FFFF:
        return NO_ID
    length[0] = 4
    return point


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _put(merger: Merger, pair: uint64_t) -> cython.void:
    slot: uint64_t = slot_of(merger, cython.cast(uint32_t, pair >> 42), cython.cast(uint32_t, pair >> ID_BITS & NO_ID))
    while merger.pairs[slot] != EMPTY:
        slot = slot + 1 & merger.pair_slots - 1
    merger.pairs[slot] = pair


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _join(merger: Merger, nodes: cython.pointer(Node), place: uint32_t) -> uint32_t:
    """Merge the pair at `place`; returns the place after it. The ranks beside it are left to the caller."""
    gone: uint32_t = nodes[place].next
    after: uint32_t = nodes[gone].next
    nodes[place].id = merger.made[nodes[place].rank] if merger.made != cython.NULL else nodes[place].rank
    nodes[place].next = after
    nodes[gone].rank = NO_ID
    if after != NOWHERE:
        nodes[after].prev = place
    return after
