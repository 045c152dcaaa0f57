"""The queue of pairs: the highest count first, of equals the smaller (left, right).

Pairs wait in one of 64 buckets, by log2 of their count. Only the pairs of the highest bucket are ordered, in a binary heap. When
the heap is empty, the next bucket is moved into it. So most pairs are never compared with any other.

Counts change while pairs wait, so the count in the heap may be out of date. That is found when the pair is popped: it is
queued again with its present count. (To drop it there is a classic mistake: its present count may still be the highest.)
A pair whose count rises is queued again at once; its older item is found to be out of date later.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.tokenmill.kernels._memory import tm_reserve
from cython.cimports.tokenmill.kernels._platform import tm_log2
from cython.cimports.tokenmill.training._pairs_cy import Pair, Pairs


@cython.final
@cython.cclass
class Queue:
    """Pairs of `pairs`, each with the count that it had when it was queued."""

    def __cinit__(self, pairs: Pairs):
        self.pairs = pairs
        self.open = 63  # the bucket whose pairs are in the heap

    def __dealloc__(self):
        i: cython.Py_ssize_t
        for i in range(64):
            free(self.buckets[i].pairs)
        free(self.heap)

    def clear(self):
        """Remove all pairs, for a new phase."""
        i: cython.Py_ssize_t
        for i in range(64):
            self.buckets[i].size = 0
        self.heap_size = 0
        self.open = 63

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def enqueue(self, pair: uint32_t) -> cython.int:
        """Queue a pair with its present count, which is not 0."""
        record: cython.pointer(Pair) = cython.address(self.pairs.pair[pair])
        level: cython.int = tm_log2(record.count)
        bucket: cython.pointer(Bucket) = cython.address(self.buckets[level])
        block: cython.p_void
        item: Item
        if level >= self.open:
            block = tm_reserve(self.heap, cython.address(self.heap_room), self.heap_size + 1, cython.sizeof(Item))
            if block != cython.NULL:
                self.heap = cython.cast(cython.pointer(Item), block)
                item.count = record.count
                item.key = cython.cast(uint64_t, record.left) << 32 | record.right
                item.pair = pair
                self.heap_size = heap_push(self.heap, self.heap_size, item)
        else:
            block = tm_reserve(bucket.pairs, cython.address(bucket.room), bucket.size + 1, 4)
            if block != cython.NULL:
                bucket.pairs = cython.cast(cython.pointer(uint32_t), block)
                bucket.pairs[bucket.size] = pair
                bucket.size += 1
        if block == cython.NULL:
            with cython.gil:
                raise MemoryError("no memory for the queue of pairs")
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0, check=True)
    def pop(self) -> cython.size_t:
        """The pair with the highest count, of equals the smaller (left, right); 0 if none reaches the threshold."""
        item: Item
        count: uint64_t
        while self.heap_size or self._open_next():
            item = self.heap[0]
            self.heap_size = heap_pop(self.heap, self.heap_size)
            count = self.pairs.pair[item.pair].count
            if count >= self.pairs.threshold:
                if item.count == count:
                    return item.pair
                self.enqueue(item.pair)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _open_next(self) -> cython.int:
        """Move the pairs of the next bucket into the heap, which is empty; 0 if no pairs are left."""
        bucket: cython.pointer(Bucket)
        i: cython.size_t
        while self.heap_size == 0:
            while self.open > 0 and self.buckets[self.open].size == 0:
                self.open -= 1
            bucket = cython.address(self.buckets[self.open])
            if bucket.size == 0:
                return 0
            for i in range(bucket.size):
                # A pair whose count has fallen goes to a lower bucket.
                if self.pairs.pair[bucket.pairs[i]].count >= self.pairs.threshold:
                    self.enqueue(bucket.pairs[i])
            bucket.size = 0
        return 1
