"""The queue of pairs: by falling count, of equals the one with the smaller (left, right) first.

Pairs wait in four places, each of which feeds the one before it.

    near       the next sixteen pairs or so, in order: so what they need is fetched from memory before their turn comes
    row        the other pairs of the level that is open, in order. What comes up at that level later goes to the end of
               the row if it belongs there, as it often does: no token has a higher id than the newest.
    heap       those for which that does not hold, and levels too small to be worth a sort
    buckets    one for each level below the open one, in no order. Levels are log2(count), sixteen to the octave. When
               row and heap are empty, the next level is opened, its pairs sorted into a row by radix.

So most pairs are never compared with any other. Counts fall while pairs wait, so a count here may be out of date. That
shows when its turn comes: the pair goes back with its true count. (To drop it there is the classic mistake: its true
count may still be the best one left.) A count that rises is queued once more; the older entry is found out of date when
its turn comes.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, realloc
from cython.cimports.libc.string import memmove, memset
from cython.cimports.tokenmill.training._corpus_cy import get_place
from cython.cimports.tokenmill.training._machine import TM_LEVELS, tm_level, tm_prefetch
from cython.cimports.tokenmill.training._pairs_cy import Pair, Pairs

NEAR = cython.declare(cython.size_t, 16)  # pairs that are drawn near
NEAR_ROOM = cython.declare(cython.size_t, 128)  # for these, as they move along; then they are put back to its front
LEAST_SORT = cython.declare(cython.size_t, 128)  # pairs of a bucket that is sorted; a pass clears 2,048 numbers


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _before(a: cython.pointer(Item), b: cython.pointer(Item)) -> cython.bint:
    return a.count > b.count or (a.count == b.count and a.key < b.key)


@cython.final
@cython.cclass
class Queue:
    """Pairs of `pairs`, each with the count that it had when it was queued."""

    def __cinit__(self, pairs: Pairs):
        self.pairs = pairs
        self.top = TM_LEVELS - 1

    def __dealloc__(self):
        i: cython.Py_ssize_t
        for i in range(TM_LEVELS):
            free(self.buckets[i].pairs)
        free(self.row)
        free(self.other)
        free(self.heap)

    def clear(self):
        """Take all pairs out, for a new phase."""
        i: cython.Py_ssize_t
        for i in range(TM_LEVELS):
            self.buckets[i].size = 0
        self.near_at = 0
        self.near_end = 0
        self.row_at = 0
        self.row_size = 0
        self.heap_size = 0
        self.top = TM_LEVELS - 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def enqueue(self, pair: uint32_t) -> cython.int:
        """Queue a pair with its present count."""
        record: cython.pointer(Pair) = cython.address(self.pairs.pair[pair])
        level: cython.int = tm_level(record.count)
        bucket: cython.pointer(Bucket)
        block: cython.p_void
        room: cython.size_t
        item: Item
        if level >= self.top:
            item.count = record.count
            item.key = (cython.cast(uint64_t, record.left) << 32) | record.right
            item.pair = pair
            if self.near_at < self.near_end and _before(
                cython.address(item), cython.address(self.near[self.near_end - 1])
            ):
                return self._come_near(item)
            return self._join(item)
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0, check=True)
    def pop(self) -> cython.size_t:
        """The pair of the highest count, of equals the smaller (left, right); 0 if none reaches the threshold."""
        item: Item
        count: uint64_t
        while True:
            self._draw_near()
            if self.near_at == self.near_end:
                return 0
            item = self.near[self.near_at]
            self.near_at += 1
            count = self.pairs.pair[item.pair].count
            if count < self.pairs.threshold:
                continue
            if item.count == count:
                return item.pair
            self.enqueue(item.pair)

    # ---- the pairs that come next

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _draw_near(self) -> cython.int:
        """Fill up the near pairs from the row and the heap."""
        item: Item
        while self.near_end - self.near_at < NEAR:
            if self.row_at < self.row_size and (
                self.heap_size == 0 or _before(cython.address(self.row[self.row_at]), self.heap)
            ):
                item = self.row[self.row_at]
                self.row_at += 1
            elif self.heap_size:
                item = self.heap[0]
                self.heap_size -= 1
                if self.heap_size:
                    self._sift_down(self.heap[self.heap_size])
            elif self._open(self.pairs):
                continue
            else:
                break
            tm_prefetch(cython.address(self.pairs.pair[item.pair]))
            tm_prefetch(cython.address(self.pairs.places[item.pair]))
            if self.near_end == NEAR_ROOM:
                self.near_end -= self.near_at
                memmove(self.near, self.near + self.near_at, self.near_end * cython.sizeof(Item))
                self.near_at = 0
            self.near[self.near_end] = item
            self.near_end += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _come_near(self, item: Item) -> cython.int:
        """Put an item that precedes the last near one where it belongs; that one gives way."""
        i: cython.size_t = self.near_end - 1
        last: Item = self.near[i]
        while i > self.near_at and _before(cython.address(item), cython.address(self.near[i - 1])):
            self.near[i] = self.near[i - 1]
            i -= 1
        self.near[i] = item
        if self.row_at == 0:
            return self._push(last)
        self.row_at -= 1
        self.row[self.row_at] = last
        return 0

    # ---- the level that is open

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _open(self, pairs: Pairs) -> cython.int:
        """Open the next level; 0 if there is none."""
        bucket: cython.pointer(Bucket)
        i: cython.size_t
        pair: uint32_t
        record: cython.pointer(Pair)
        sort: cython.bint
        while self.top > 0 and self.buckets[self.top].size == 0:
            self.top -= 1
        bucket = cython.address(self.buckets[self.top])
        if bucket.size == 0:
            return 0
        self.row_at = 0
        self.row_size = 0
        sort = bucket.size >= LEAST_SORT
        self._reserve_row(bucket.size)
        for i in range(bucket.size):
            if i + 24 < bucket.size:
                tm_prefetch(cython.address(pairs.pair[bucket.pairs[i + 24]]))
            pair = bucket.pairs[i]
            record = cython.address(pairs.pair[pair])
            if record.count < pairs.threshold:
                pairs.free_places(pairs.places[pair], record.size)
                pairs.places[pair] = cython.NULL
                record.size = 0
            elif sort and tm_level(record.count) == self.top:
                self.row[self.row_size].count = record.count
                self.row[self.row_size].key = (cython.cast(uint64_t, record.left) << 32) | record.right
                self.row[self.row_size].pair = pair
                self.row_size += 1
            else:
                self.enqueue(pair)
        bucket.size = 0
        if sort:
            self._sort_row()
        return 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _join(self, item: Item) -> cython.int:
        """Put an item of this level, or of one above, near the end of the row, or into the heap."""
        i: cython.size_t
        stop: cython.size_t
        if self.row_at == self.row_size:
            self.row_at = 0
            self.row_size = 0
        i = self.row_size
        stop = i - 4 if i > self.row_at + 4 else self.row_at
        while i > stop and _before(cython.address(item), cython.address(self.row[i - 1])):
            i -= 1
        if i == stop and stop > self.row_at:
            return self._push(item)
        self._reserve_row(self.row_size + 1)
        stop = self.row_size
        while stop > i:
            self.row[stop] = self.row[stop - 1]
            stop -= 1
        self.row[i] = item
        self.row_size += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _reserve_row(self, room: cython.size_t) -> cython.int:
        """Make room for so many items in the row."""
        block: cython.p_void
        if room <= self.row_room:
            return 0
        room = 2 * room + 64
        block = realloc(self.row, room * cython.sizeof(Item))
        if block != cython.NULL:
            self.row = cython.cast(cython.pointer(Item), block)
            free(self.other)
            self.other = cython.cast(cython.pointer(Item), realloc(cython.NULL, room * cython.sizeof(Item)))
        if block == cython.NULL or self.other == cython.NULL:
            self.row_room = 0
            with cython.gil:
                raise MemoryError("no memory for the queue of pairs")
        self.row_room = room
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _sort_row(self) -> cython.void:
        """Sort the row: by digits of 11 bits, from the last to the first, leaving out what is the same everywhere."""
        counts: uint64_t = 0
        keys: uint64_t = 0
        shift: cython.int
        i: cython.size_t
        for i in range(1, self.row_size):
            counts |= self.row[i].count ^ self.row[0].count
            keys |= self.row[i].key ^ self.row[0].key
        for shift in range(0, 32, 11):
            if cython.cast(uint32_t, keys) >> shift:
                self._sort_by(False, shift)
        for shift in range(32, 64, 11):
            if keys >> shift:
                self._sort_by(False, shift)
        for shift in range(0, 64, 11):
            if counts >> shift:
                self._sort_by(True, shift)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _sort_by(self, by_count: cython.bint, shift: cython.int) -> cython.void:
        """One pass: by rising digits of the keys, or by falling ones of the counts; equals stay in order."""
        firsts: cython.size_t[2048]
        digit: cython.size_t
        i: cython.size_t
        first: cython.size_t = 0
        size: cython.size_t
        row: cython.pointer(Item) = self.row
        other: cython.pointer(Item) = self.other
        memset(firsts, 0, cython.sizeof(firsts))
        for i in range(self.row_size):
            firsts[(~row[i].count if by_count else row[i].key) >> shift & 2047] += 1
        for digit in range(2048):
            size = firsts[digit]
            firsts[digit] = first
            first += size
        for i in range(self.row_size):
            digit = (~row[i].count if by_count else row[i].key) >> shift & 2047
            other[firsts[digit]] = row[i]
            firsts[digit] += 1
        self.row = other
        self.other = row

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def fetch_nodes(self, node: cython.pointer(uint32_t)) -> cython.void:
        """Fetch the segment of a near pair and the first nodes of a nearer one."""
        coming: cython.size_t = near_pair(self, 4)
        i: cython.size_t
        size: cython.size_t = self.pairs.pair[coming].size
        tm_prefetch(self.pairs.places[near_pair(self, 8)])
        for i in range(8 if size > 8 else size):
            tm_prefetch(node + get_place(self.pairs.places[coming], i, self.pairs.width == 8))

    # ---- the heap

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _push(self, item: Item) -> cython.int:
        """Put an item into the heap."""
        i: cython.size_t = self.heap_size
        up: cython.size_t
        room: cython.size_t
        block: cython.p_void
        if i == self.heap_room:
            room = 2 * i + 64
            block = realloc(self.heap, room * cython.sizeof(Item))
            if block == cython.NULL:
                with cython.gil:
                    raise MemoryError("no memory for the queue of pairs")
            self.heap = cython.cast(cython.pointer(Item), block)
            self.heap_room = room
        self.heap_size += 1
        while i > 0:
            up = (i - 1) >> 1
            if _before(cython.address(self.heap[up]), cython.address(item)):
                break
            self.heap[i] = self.heap[up]
            i = up
        self.heap[i] = item
        return 0

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
            if down + 1 < size and _before(cython.address(heap[down + 1]), cython.address(heap[down])):
                down += 1
            if _before(cython.address(item), cython.address(heap[down])):
                break
            heap[i] = heap[down]
            i = down
            down = 2 * i + 1
        heap[i] = item
