# cython: language_level=3
"""The merge kernel: the bytes of one piece to ids, by ranks of pairs.

Both orders of merging are one table, (left id, right id) -> rank, and an array, rank -> new id. For the order "merges"
the table is the list of merges. For "ranks", where any neighbours whose joined bytes are a token merge, it holds
every cut of every token into two tokens, since neighbours always are tokens; the rank is the id.

Three loops give the same ids. Short pieces: an array, its minimum sought anew for each merge. Longer ones: a heap of
(rank, place). The longest: a list of places for each rank and a heap of the ranks, which takes a megabyte of one
letter in linear time; it needs that no merge makes a pair of lower rank than its own, which is so in any vocabulary
that training made, and is checked when the table is built.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memset
from cython.cimports.tokenmill.counting._pages import tm_pages_free, tm_pages_new, tm_prefetch
from cython.cimports.tokenmill.tokenizer._heap import pop, push

# From so many parts on, lists by rank are worth clearing.
BUCKETS_FROM = cython.declare(cython.Py_ssize_t, 4096)
LONGEST = cython.declare(cython.size_t, 1 << 30)
NOWHERE = cython.declare(uint32_t, 0xFFFFFFFF)
MIX = cython.declare(uint64_t, 0x9E3779B97F4A7C15)
FREE = cython.declare(uint64_t, 0xFFFFFFFFFFFFFFFF)  # an empty slot of the pair table

Entry = cython.struct(place=uint32_t, next=uint32_t)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _slot(merger: Merger, left: uint32_t, right: uint32_t) -> uint64_t:
    """Where the table of pairs has (left, right), or the search for it begins."""
    return (cython.cast(uint64_t, left) << ID_BITS | right) * MIX >> merger.pair_shift


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _rank(merger: Merger, left: uint32_t, right: uint32_t) -> uint32_t:
    """The rank of a pair, or NO_ID."""
    key: uint64_t = cython.cast(uint64_t, left) << ID_BITS | right
    slot: uint64_t = _slot(merger, left, right)
    found: uint64_t = merger.pairs[slot]
    while found >> ID_BITS != key:
        if found == FREE:
            return NO_ID
        slot = slot + 1 & merger.pair_slots - 1
        found = merger.pairs[slot]
    return cython.cast(uint32_t, found & NO_ID)


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
    """Merges pieces by ranks of pairs. Immutable once `finish_pairs` has been called; threads share it."""

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
        return _rank(self, left, right)

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
                if old[i] != FREE:
                    _put(self, old[i])
            tm_pages_free(old, n * 8)
        _put(self, (cython.cast(uint64_t, left) << ID_BITS | right) << ID_BITS | rank)
        self.n_pairs += 1
        return True

    def finish_pairs(self):
        """After the last pair: the table of byte pairs, and whether ranks only rise. False without memory."""
        i: cython.size_t
        pair: uint64_t
        rank: uint32_t
        id: uint32_t
        self.byte_pairs = cython.cast(cython.pointer(uint32_t), malloc(65536 * 4))
        last: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), calloc(NO_ID + 1, 4))
        if self.byte_pairs == cython.NULL or last == cython.NULL:
            free(last)
            return False
        for i in range(65536):
            self.byte_pairs[i] = _rank(self, self.byte_ids[i >> 8], self.byte_ids[i & 255])
        for i in range(self.pair_slots):  # last[id]: the highest rank that makes it, plus one
            if self.pairs[i] != FREE:
                rank = cython.cast(uint32_t, self.pairs[i] & NO_ID)
                id = rank if self.made == cython.NULL else self.made[rank]
                if last[id] <= rank:
                    last[id] = rank + 1
        self.monotone = True
        for i in range(self.pair_slots):
            pair = self.pairs[i]
            if pair != FREE:
                rank = cython.cast(uint32_t, pair & NO_ID)
                if last[pair >> 42] > rank or last[pair >> ID_BITS & NO_ID] > rank:
                    self.monotone = False
        free(last)
        return True

    # ------------------------------------------------------------------ one piece

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

    def parts(self, piece, n, ids):
        """What a piece is before any merge: the ids of its bytes or characters. Returns their number."""
        i: cython.size_t = 0
        count: cython.Py_ssize_t = 0
        length: cython.int = 1
        point: uint32_t
        if self.characters == cython.NULL:
            for i in range(n):
                ids[i] = self.byte_ids[piece[i]]
            return n
        while i < n:
            point = _character(piece + i, n - i, cython.address(length))
            if point == NO_ID:  # a byte that is no character stands for itself, as Python's surrogateescape has it
                point = 0xDC00 | piece[i]
            ids[count] = self.characters[point] if point < self.n_characters else NO_ID
            count += 1
            i += length
        return count

    def merge(self, piece, n, out, work):
        if n >= LONGEST:
            return TOO_LONG
        count: cython.Py_ssize_t = self.parts(piece, n, out)
        if 1 < count <= SHORT:
            count = self.merge_short(out, count, cython.NULL if self.characters != cython.NULL else piece)
        elif count > 1:
            count = self.merge_parts(out, count, work)
        if not self.complete and count > 0:
            i: cython.Py_ssize_t
            for i in range(count):
                if out[i] >= self.n_ids:
                    if self.unknown == NO_ID:
                        return NO_TOKEN
                    out[i] = self.unknown
        return count

    def merge_short(self, ids, n, piece):
        """Merge up to SHORT parts in place; ranks[i] is the rank of the pair at i. Both arrays close up after each merge."""
        ranks: uint32_t[SHORT]
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t
        best: uint32_t
        id: uint32_t
        for i in range(n - 1):
            ranks[i] = self.byte_pairs[piece[i] << 8 | piece[i + 1]] if piece != cython.NULL else _rank(self, ids[i], ids[i + 1])
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
                tm_prefetch(self.pairs + _slot(self, ids[at - 1], id))
            ids[at] = id
            n -= 1
            for i in range(at + 1, n):
                ids[i] = ids[i + 1]
            for i in range(at + 1, n - 1):
                ranks[i] = ranks[i + 1]
            if at + 1 < n:
                ranks[at] = _rank(self, id, ids[at + 1])
            if at > 0:
                ranks[at - 1] = _rank(self, ids[at - 1], id)
        return n

    def merge_parts(self, ids, n, work):
        """Merge any number of parts in place."""
        i: cython.Py_ssize_t
        buckets: cython.bint = self.monotone and n >= BUCKETS_FROM
        size: cython.size_t = n * cython.sizeof(Node) + 3 * n * 8
        if buckets:
            size += (4 * cython.cast(cython.size_t, self.n_ranks) + 2 * n) * 4
        if not reserve(work, size):
            return NO_MEMORY
        nodes: cython.pointer(Node) = cython.cast(cython.pointer(Node), work.memory)
        for i in range(n):
            nodes[i].id = ids[i]
            nodes[i].prev = i - 1 if i > 0 else NOWHERE
            nodes[i].next = i + 1 if i + 1 < n else NOWHERE
            nodes[i].rank = _rank(self, ids[i], ids[i + 1]) if i + 1 < n else NO_ID
        done: cython.Py_ssize_t = _by_lists(self, nodes, n) if buckets else _by_heap(self, nodes, n)
        if done < 0:
            return done
        count: cython.Py_ssize_t = 0
        place: uint32_t = 0
        while place != NOWHERE:
            ids[count] = nodes[place].id
            count += 1
            place = nodes[place].next
        return count


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
def _append(entries: cython.pointer(Entry), made: uint32_t, first: cython.pointer(uint32_t),
            last: cython.pointer(uint32_t), rank: uint32_t, place: uint32_t) -> uint32_t:
    """Put `place` at the end of the list of `rank`, as entry number `made`; returns the next number."""
    entries[made].place = place
    entries[made].next = NOWHERE
    if first[rank] == NOWHERE:
        first[rank] = made
    else:
        entries[last[rank]].next = made
    last[rank] = made
    return made + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sort(a: cython.pointer(uint32_t), spare: cython.pointer(uint32_t), n: cython.Py_ssize_t) -> cython.void:
    """Sort by merging the runs that already ascend, pair by pair: the lists are a few such runs."""
    start: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    end: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    merged: cython.bint = True
    while merged:
        merged = False
        start = 0
        while start < n:
            middle = start + 1
            while middle < n and a[middle - 1] < a[middle]:
                middle += 1
            if middle == n:
                break
            end = middle + 1
            while end < n and a[end - 1] < a[end]:
                end += 1
            for i in range(start, middle):
                spare[i] = a[i]
            i = start
            j = middle
            k = start
            while i < middle:
                if j < end and a[j] < spare[i]:
                    a[k] = a[j]
                    j += 1
                else:
                    a[k] = spare[i]
                    i += 1
                k += 1
            merged = True
            start = end


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _put(merger: Merger, pair: uint64_t) -> cython.void:
    slot: uint64_t = (pair >> ID_BITS) * MIX >> merger.pair_shift
    while merger.pairs[slot] != FREE:
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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _by_heap(merger: Merger, nodes: cython.pointer(Node), n: cython.Py_ssize_t) -> cython.Py_ssize_t:
    heap: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), nodes + n)
    used: cython.size_t = 0
    place: uint32_t
    other: uint32_t
    rank: uint32_t
    steps: cython.size_t = 0
    i: cython.Py_ssize_t
    for i in range(n):
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
        other = _join(merger, nodes, place)
        nodes[place].rank = NO_ID if other == NOWHERE else _rank(merger, nodes[place].id, nodes[other].id)
        if nodes[place].rank != NO_ID:
            used = push(heap, used, cython.cast(uint64_t, nodes[place].rank) << 32 | place)
        other = nodes[place].prev
        if other != NOWHERE:
            nodes[other].rank = _rank(merger, nodes[other].id, nodes[place].id)
            if nodes[other].rank != NO_ID:
                used = push(heap, used, cython.cast(uint64_t, nodes[other].rank) << 32 | other)
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _by_lists(merger: Merger, nodes: cython.pointer(Node), n: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """For each rank a list of the places of its pairs, in order of birth; the ranks that have one in a heap. All
    places of the lowest rank merge from left to right before the next rank comes: no merge makes a lower one."""
    heap: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), nodes + n)
    entries: cython.pointer(Entry) = cython.cast(cython.pointer(Entry), heap + merger.n_ranks)
    first: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), entries + 3 * n)
    last: cython.pointer(uint32_t) = first + merger.n_ranks
    places: cython.pointer(uint32_t) = last + merger.n_ranks
    used: cython.size_t = 0
    made: uint32_t = 0
    steps: cython.size_t = 0
    rank: uint32_t
    entry: uint32_t
    other: uint32_t
    next_rank: uint32_t
    count: cython.Py_ssize_t
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    ascending: cython.bint
    memset(first, 0xFF, merger.n_ranks * 4)
    for i in range(n):
        rank = nodes[i].rank
        if rank != NO_ID:
            if first[rank] == NOWHERE:
                used = push(heap, used, rank)
            made = _append(entries, made, first, last, rank, i)
    while used > 0:
        rank = cython.cast(uint32_t, heap[0])
        used = pop(heap, used)
        count = 0
        ascending = True
        entry = first[rank]
        first[rank] = NOWHERE
        while entry != NOWHERE:
            if nodes[entries[entry].place].rank == rank:
                places[count] = entries[entry].place
                ascending = ascending and (count == 0 or places[count - 1] < places[count])
                count += 1
            entry = entries[entry].next
        if not ascending:
            _sort(places, places + n, count)
        for i in range(count):
            steps += 1
            if steps & 0x3FFFF == 0 and signalled():
                return SIGNALLED
            k = places[i]
            if nodes[k].rank != rank:
                continue  # merged away by its neighbour: the second pair of "aaa"
            other = _join(merger, nodes, k)
            next_rank = NO_ID
            if other != NOWHERE and nodes[other].rank != rank:  # else that one merges next, and makes this pair
                next_rank = _rank(merger, nodes[k].id, nodes[other].id)
            nodes[k].rank = next_rank
            if next_rank != NO_ID:
                if first[next_rank] == NOWHERE:
                    used = push(heap, used, next_rank)
                made = _append(entries, made, first, last, next_rank, k)
            other = nodes[k].prev
            if other != NOWHERE:
                next_rank = _rank(merger, nodes[other].id, nodes[k].id)
                nodes[other].rank = next_rank
                if next_rank != NO_ID:
                    if first[next_rank] == NOWHERE:
                        used = push(heap, used, next_rank)
                    made = _append(entries, made, first, last, next_rank, other)
    return 0
