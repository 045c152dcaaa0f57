"""What is known of each pair: its record and its segment.

Definitions
    segment    the positions of a pair in ascending order, 32 bits each (64 in a corpus of more nodes). An entry whose
               node no longer holds the pair is dead; entries are never removed one by one.
    threshold  a count below which no pair will be wanted. A pair that falls below it is out of the race for good. It may
               rise on the way, as it becomes clearer how rare the last pairs will be.

Segment memory: segments are cut from one region after the other, and the region of a large segment that is no longer
needed becomes the next one. Touching fresh memory is what costs: on a corpus of 22 million nodes the kernel spent more
time on clearing pages than the loop on merging. So memory that was touched is used again, the largest hole first.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, realloc
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.tokenmill.training._corpus_cy import FREE
from cython.cimports.tokenmill.training._machine import (
    TM_LEVELS,
    tm_alloc,
    tm_level,
    tm_level_start,
    tm_log2,
    tm_prefetch,
)

REGION = cython.declare(cython.size_t, 8 << 20)  # bytes of a fresh region for segments, at least
SMALLEST_HOLE = cython.declare(cython.size_t, 1 << 12)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _mix(left: uint32_t, right: uint32_t) -> uint64_t:
    x: uint64_t = ((cython.cast(uint64_t, left) << 32) | right) * cython.cast(uint64_t, 0x9E3779B97F4A7C15)
    return x ^ (x >> 32)


@cython.final
@cython.cclass
class Pairs:
    """The pairs of one phase. Id 0 is none.

    expected: how many to make room for at once; it costs to move them, and room that nobody touches costs nothing.
    """

    def __cinit__(self, threshold: uint64_t, wide: bool, expected: cython.size_t = 1 << 14):
        self.threshold = threshold
        self.width = 8 if wide else 4
        self.n_pairs = 1
        self.reserve(expected)
        set_pair(self, 0, 0, 0)

    def __dealloc__(self):
        i: cython.Py_ssize_t
        for i in range(cython.cast(cython.Py_ssize_t, self.n_blocks)):
            free(self.blocks[i].at)
        free(self.blocks)
        free(self.slots)
        free(self.pair)
        free(self.places)

    def clear(self, threshold: uint64_t):
        """Forget all pairs, for a new phase. The memory of their segments is kept."""
        i: cython.Py_ssize_t
        for i in range(64):
            self.holes[i] = cython.NULL
        self.hole_levels = 0
        for i in range(cython.cast(cython.Py_ssize_t, self.n_blocks)):
            self.free_at = cython.cast(cython.p_char, self.blocks[i].at)
            self.free_size = self.blocks[i].size
            self._add_hole()
        self.threshold = threshold
        self.n_pairs = 1

    def raise_threshold(self, wanted: cython.size_t) -> int:
        """Raise the threshold to half the count of the `wanted`-th best pair there is, if that is higher; return it.

        That is a good guess of a count that the last of so many more merges will reach. New pairs come up and old ones
        lose counts, and the two nearly cancel out: from 512 to 150,000 tokens, on English, 20 languages and code, at
        any time after the first 64th of the merges, the last pair had 0.60 times that count or more.
        """
        at_level: uint32_t[976]
        # A sample is enough, and pairs lie in no order of their counts.
        stride: cython.size_t = 1 + self.n_pairs // (1 << 14)
        pair: cython.size_t = 1
        level: cython.int = TM_LEVELS - 1
        with cython.nogil:
            memset(at_level, 0, cython.sizeof(at_level))
            while pair < self.n_pairs:
                if self.pair[pair].count >= self.threshold:
                    at_level[tm_level(self.pair[pair].count)] += 1
                pair += stride
            wanted //= stride
            while level > 0 and at_level[level] < wanted:
                wanted -= at_level[level]
                level -= 1
        if tm_level_start(level) //2 > self.threshold:
            self.threshold = tm_level_start(level) //2
        return self.threshold

    # ---- records

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def reserve(self, more: cython.size_t) -> cython.int:
        """Make room for `more` new pairs. Records may move."""
        room: cython.size_t = self.n_pairs + more
        pair: cython.pointer(Pair)
        places: cython.pp_char
        if room <= self.room:
            return 0
        room += room >> 1
        if room >= FREE:
            with cython.gil:
                raise MemoryError("more than 2**30 distinct pairs; a higher min_pair_count leaves out the rare ones")
        pair = cython.cast(cython.pointer(Pair), tm_alloc(room * cython.sizeof(Pair)))
        places = cython.cast(cython.pp_char, tm_alloc(room * cython.sizeof(cython.p_char)))
        if pair == cython.NULL or places == cython.NULL:
            free(pair)
            free(places)
            with cython.gil:
                raise MemoryError(f"no memory for {room} pairs")
        if self.pair != cython.NULL:
            memcpy(pair, self.pair, self.n_pairs * cython.sizeof(Pair))
            memcpy(places, self.places, self.n_pairs * cython.sizeof(cython.p_char))
            free(self.pair)
            free(self.places)
        self.pair = pair
        self.places = places
        self.room = room
        return 0

    # ---- finding a pair by its tokens: when an index is built, and by those who must find old pairs again

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0, check=True)
    def find(self, left: uint32_t, right: uint32_t) -> cython.size_t:
        """The id of (left, right), by open addressing; a new one, with a fresh record, where it is not there yet."""
        hash: uint64_t = _mix(left, right)
        slot: cython.size_t
        pair: cython.size_t
        held: uint64_t
        if 2 * self.n_found >= self.mask:
            self._grow_table()
        slot = hash & self.mask
        while True:
            held = self.slots[slot]
            if held == 0:
                break
            # The upper half is of the hash: a record is seldom looked at in vain.
            if (held ^ hash) >> 32 == 0:
                pair = cython.cast(uint32_t, held)
                if self.pair[pair].left == left and self.pair[pair].right == right:
                    return pair
            slot = (slot + 1) & self.mask
        pair = self.n_pairs
        self.reserve(1)
        set_pair(self, pair, left, right)
        self.n_pairs += 1
        self.slots[slot] = (hash >> 32 << 32) | pair
        self.n_found += 1
        return pair

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def enter(self, first: cython.size_t) -> cython.int:
        """Put the pairs from `first` on, none of which `find` knows, into its table."""
        pair: cython.size_t
        if 2 * (self.n_found + self.n_pairs - first) >= self.mask:
            return self._grow_table()
        for pair in range(first, self.n_pairs):
            if pair + 8 < self.n_pairs:
                tm_prefetch(
                    cython.address(self.slots[_mix(self.pair[pair + 8].left, self.pair[pair + 8].right) & self.mask])
                )
            self._enter(pair)
        self.n_found += self.n_pairs - first
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _grow_table(self) -> cython.int:
        """Put all pairs into a table with room for as many again, or more."""
        size: cython.size_t = 1 << 12
        pair: cython.size_t
        while size < 4 * self.n_pairs or size < self.least_slots:
            size <<= 1
        free(self.slots)
        self.slots = cython.cast(cython.pointer(uint64_t), tm_alloc(8 * size))
        if self.slots == cython.NULL:
            self.mask = 0
            with cython.gil:
                raise MemoryError(f"no memory for a table of {size} pairs")
        memset(self.slots, 0, 8 * size)
        self.mask = size - 1
        for pair in range(1, self.n_pairs):
            self._enter(pair)
        self.n_found = self.n_pairs
        return 0

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _enter(self, pair: cython.size_t) -> cython.void:
        """Put a pair that is not in the table into the first free slot."""
        hash: uint64_t = _mix(self.pair[pair].left, self.pair[pair].right)
        slot: cython.size_t = hash & self.mask
        while self.slots[slot]:
            slot = (slot + 1) & self.mask
        self.slots[slot] = (hash >> 32 << 32) | pair

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def forget_table(self) -> cython.void:
        """Give the table back; the next `find` makes one of the pairs that are there then."""
        free(self.slots)
        self.slots = cython.NULL
        self.mask = 0
        self.n_found = 0

    # ---- segment memory

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _new_region(self, size: cython.size_t) -> cython.p_char:
        """Make another region the present one, of `size` bytes or more; where it begins, or NULL: no memory."""
        room: cython.size_t
        block: cython.p_void
        hole: cython.pointer(Hole)
        level: cython.int
        self._add_hole()
        if self.hole_levels:
            level = tm_log2(self.hole_levels)
            hole = self.holes[level]
            self.holes[level] = hole.next
            if hole.next == cython.NULL:
                self.hole_levels ^= cython.cast(uint64_t, 1) << level
            self.free_at = cython.cast(cython.p_char, hole)
            self.free_size = hole.size
        if size > self.free_size:
            self._add_hole()
            room = size if size > REGION else REGION
            block = realloc(self.blocks, (self.n_blocks + 1) * cython.sizeof(Block))
            if block != cython.NULL:
                self.blocks = cython.cast(cython.pointer(Block), block)
                block = tm_alloc(room)
            if block == cython.NULL:
                return cython.NULL
            self.blocks[self.n_blocks].at = block
            self.blocks[self.n_blocks].size = room
            self.n_blocks += 1
            self.free_at = cython.cast(cython.p_char, block)
            self.free_size = room
        return self.free_at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _add_hole(self) -> cython.void:
        """Put the rest of the present region among the holes."""
        hole: cython.pointer(Hole)
        level: cython.int
        skip: cython.size_t = (8 - (cython.cast(cython.size_t, self.free_at) & 7)) & 7
        if self.free_size >= SMALLEST_HOLE + skip:
            hole = cython.cast(cython.pointer(Hole), self.free_at + skip)
            hole.size = self.free_size - skip
            level = tm_log2(hole.size)
            hole.next = self.holes[level]
            self.holes[level] = hole
            self.hole_levels |= cython.cast(uint64_t, 1) << level
        self.free_size = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def free_places(self, places: cython.p_char, entries: cython.size_t) -> cython.void:
        """Give a segment back."""
        at: cython.p_char = self.free_at
        size: cython.size_t = self.free_size
        if entries * self.width < SMALLEST_HOLE:
            return
        self.free_at = places
        self.free_size = entries * self.width
        self._add_hole()
        self.free_at = at
        self.free_size = size
