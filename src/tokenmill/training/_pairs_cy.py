"""What is known of each pair: its record, its segment and its place in the queue.

Definitions
    segment    the positions of a pair in ascending order, 32 bits each (64 in a corpus of more nodes). An entry whose
               node no longer holds the pair is dead; entries are never removed one by one.
    threshold  a count below which no pair will be wanted. A pair that falls below it is out of the race for good. It may
               rise on the way, as it becomes clearer how rare the last pairs will be.

Segment memory: segments are cut from one region after the other, and the region of a large segment that is no longer
needed becomes the next one. Touching fresh memory is what costs: on a corpus of 22 million nodes the kernel spent more
time on clearing pages than the loop on merging. So memory that was touched is used again, the largest hole first.

The queue: pairs wait in buckets by log2(count), sixteen to the octave; only those at or above the level `top` are in a
heap, so the heap stays small and most pairs are never compared with any other. Counts fall while pairs wait, so a count
in the heap may be out of date. That shows when it is popped: the pair goes back with its true count. (To drop it there
is the classic mistake: its true count may still be the best one left.) A count that rises is queued once more; the
older entry is found out of date when its turn comes.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, realloc
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.tokenmill.training._corpus_cy import FREE, get_place
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
        self.top = TM_LEVELS - 1
        self.n_pairs = 1
        self.reserve(expected)

    def __dealloc__(self):
        i: cython.Py_ssize_t
        for i in range(cython.cast(cython.Py_ssize_t, self.n_blocks)):
            free(self.blocks[i].at)
        for i in range(TM_LEVELS):
            free(self.buckets[i].pairs)
        free(self.blocks)
        free(self.slots)
        free(self.pair)
        free(self.places)
        free(self.heap)

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
        for i in range(TM_LEVELS):
            self.buckets[i].size = 0
        self.heap_size = 0
        self.top = TM_LEVELS - 1
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
        places: cython.p_void
        if room <= self.room:
            return 0
        room += room >> 1
        if room >= FREE:
            with cython.gil:
                raise MemoryError("more than 2**30 distinct pairs; a higher min_pair_count leaves out the rare ones")
        pair = cython.cast(cython.pointer(Pair), tm_alloc(room * cython.sizeof(Pair)))
        places = realloc(self.places, room * cython.sizeof(cython.p_char))
        if places != cython.NULL:
            self.places = cython.cast(cython.pp_char, places)
        if pair == cython.NULL or places == cython.NULL:
            free(pair)
            with cython.gil:
                raise MemoryError(f"no memory for {room} pairs")
        if self.pair != cython.NULL:
            memcpy(pair, self.pair, self.n_pairs * cython.sizeof(Pair))
            free(self.pair)
        self.pair = pair
        self.room = room
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def set(self, pair: cython.size_t, left: uint32_t, right: uint32_t) -> cython.void:
        """A new pair that stands nowhere yet."""
        self.pair[pair].count = 0
        self.pair[pair].step = 0
        self.pair[pair].left = left
        self.pair[pair].right = right
        self.pair[pair].size = 0
        self.places[pair] = cython.NULL

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
        self.set(pair, left, right)
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
    def new_places(self, entries: cython.size_t) -> cython.p_char:
        """Room for a segment of at least one entry, which stays where it is until it is given back. NULL: no memory."""
        size: cython.size_t = entries * self.width
        room: cython.size_t
        at: cython.p_char
        block: cython.p_void
        hole: cython.pointer(Hole)
        level: cython.int
        if size > self.free_size:
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
        at = self.free_at
        self.free_at += size
        self.free_size -= size
        return at

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

    # ---- the queue

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def enqueue(self, pair: uint32_t) -> cython.int:
        """Queue a pair with its present count."""
        count: uint64_t = self.pair[pair].count
        level: cython.int = tm_level(count)
        bucket: cython.pointer(Bucket)
        block: cython.p_void
        room: cython.size_t
        if level < self.top:
            bucket = cython.address(self.buckets[level])
            if bucket.size == bucket.room:
                room = 2 * bucket.room + 64
                block = realloc(bucket.pairs, 4 * room)
                if block == cython.NULL:
                    with cython.gil:
                        raise MemoryError("no memory for the queue of pairs")
                bucket.pairs = cython.cast(cython.pointer(uint32_t), block)
                bucket.room = room
            bucket.pairs[bucket.size] = pair
            bucket.size += 1
            return 0
        if self.heap_size == self.heap_room:
            room = 2 * self.heap_room + 64
            block = realloc(self.heap, room * cython.sizeof(Item))
            if block == cython.NULL:
                with cython.gil:
                    raise MemoryError("no memory for the queue of pairs")
            self.heap = cython.cast(cython.pointer(Item), block)
            self.heap_room = room
        self.heap_size += 1
        self._sift_up(
            self.heap_size - 1, count, (cython.cast(uint64_t, self.pair[pair].left) << 32) | self.pair[pair].right, pair
        )
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0, check=True)
    def pop(self) -> cython.size_t:
        """The pair of the highest count, of equals the smaller (left, right); 0 if none reaches the threshold."""
        item: Item
        last: Item
        count: uint64_t
        pair: uint32_t
        i: cython.size_t
        bucket: cython.pointer(Bucket)
        while True:
            if self.heap_size == 0:
                while self.top > 0 and self.buckets[self.top].size == 0:
                    self.top -= 1
                bucket = cython.address(self.buckets[self.top])
                if bucket.size == 0:
                    return 0
                for i in range(bucket.size):
                    if i + 8 < bucket.size:
                        tm_prefetch(cython.address(self.pair[bucket.pairs[i + 8]]))
                    pair = bucket.pairs[i]
                    if self.pair[pair].count >= self.threshold:
                        self.enqueue(pair)
                    else:
                        self.free_places(self.places[pair], self.pair[pair].size)
                        self.places[pair] = cython.NULL
                        self.pair[pair].size = 0
                bucket.size = 0
                continue
            item = self.heap[0]
            count = self.pair[item.pair].count
            if item.count != count and count >= self.threshold and tm_level(count) >= self.top:
                item.count = count
                self._sift_down(item)
                continue
            self.heap_size -= 1
            last = self.heap[self.heap_size]
            if self.heap_size:
                self._sift_down(last)
            if count < self.threshold:
                continue
            if item.count == count:
                return item.pair
            self.enqueue(item.pair)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _sift_up(self, i: cython.size_t, count: uint64_t, key: uint64_t, pair: uint32_t) -> cython.void:
        """Put an item at the free place i or above it."""
        heap: cython.pointer(Item) = self.heap
        up: cython.size_t
        while i > 0:
            up = (i - 1) >> 1
            if heap[up].count > count or (heap[up].count == count and heap[up].key < key):
                break
            heap[i] = heap[up]
            i = up
        heap[i].count = count
        heap[i].key = key
        heap[i].pair = pair

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _sift_down(self, item: Item) -> cython.void:
        """Put an item at the root, which is free, or below it."""
        heap: cython.pointer(Item) = self.heap
        size: cython.size_t = self.heap_size
        i: cython.size_t = 0
        down: cython.size_t = 1
        while down < size:
            if down + 1 < size and (
                heap[down + 1].count > heap[down].count
                or (heap[down + 1].count == heap[down].count and heap[down + 1].key < heap[down].key)
            ):
                down += 1
            if item.count > heap[down].count or (item.count == heap[down].count and item.key < heap[down].key):
                break
            heap[i] = heap[down]
            i = down
            down = 2 * i + 1
        heap[i] = item

    # ---- the next merges, fetched from memory while this one goes on: most merges are short, and wait for little else

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def fetch_top(self) -> cython.void:
        """Fetch the records of the pairs near the root of the heap, and the segments of the nearest."""
        i: cython.size_t
        for i in range(15 if self.heap_size > 15 else self.heap_size):
            if i < 3:
                tm_prefetch(self.places[self.heap[i].pair])
            else:
                tm_prefetch(cython.address(self.pair[self.heap[i].pair]))
                tm_prefetch(cython.address(self.places[self.heap[i].pair]))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def fetch_best(self, node: cython.pointer(uint32_t)) -> cython.void:
        """Fetch the first nodes of the pair that is at the root now."""
        i: cython.size_t
        best: uint32_t
        if self.heap_size:
            best = self.heap[0].pair
            for i in range(8 if self.pair[best].size > 8 else self.pair[best].size):
                tm_prefetch(node + get_place(self.places[best], i, self.width == 8))
