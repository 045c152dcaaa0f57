"""The data of each pair: its record, its postings, and its item in the queue.

Definitions
    postings   the positions of a pair in ascending order, 32 bits each (64 in a corpus of more nodes). A posting is dead if
               its node no longer holds the pair. Postings are never removed one by one.
    threshold  the lowest count of a pair that is wanted. A pair that falls below it is dropped for good. The threshold may
               rise during training, as it becomes clearer how rare the last pairs will be.
    queue      yields the pair with the highest count, of equals the one with the smaller (left, right).

Queued pairs wait in buckets by log2 of their count, in steps of a sixteenth. Only the pairs of the highest bucket are ordered,
in a binary heap. When the heap is empty, the next bucket is moved into it. So most pairs are never compared with any other.

Counts change while pairs wait, so the count of an item in the heap may be stale. A popped pair whose item is stale is queued
again with its present count. (To drop it there is a classic mistake: its present count may still be the highest.) A pair whose
count rises is queued again at once; its older item becomes stale.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memset
from cython.cimports.tokenmill.kernels._arrays import grow, new_array, no_memory, zeroed_array
from cython.cimports.tokenmill.kernels._pair_map import (
    tm_pair_map_free,
    tm_pair_map_get_or_put,
    tm_pair_map_prefetch,
    tm_pair_map_reserve,
)
from cython.cimports.tokenmill.kernels._platform import tm_log2
from cython.cimports.tokenmill.kernels._signals import check_signals
from cython.cimports.tokenmill.training._corpus_cy import FREE, SENTINEL, TOKEN, Corpus, Cursor, count_at, put_position
from cython.cimports.tokenmill.training._tokens_cy import Tokens

SLICE = cython.declare(cython.size_t, 1 << 22)  # nodes between two looks for Ctrl-C
REGION = cython.declare(cython.size_t, 8 << 20)  # bytes of a region for postings, at least
LEVELS = cython.declare(cython.int, 976)
SMALLEST_HOLE = cython.declare(cython.size_t, 1 << 12)
HEAD = cython.declare(cython.size_t, 64)  # bytes of a region that its header takes


@cython.final
@cython.cclass
class Pairs:
    """The pairs of one phase. Id 0 stands for no pair.

    wide: positions have 64 bits. expected: the number of pairs to make room for at once. Moving records later takes time, and
        room that is never touched takes no memory.
    """

    def __cinit__(self, threshold: uint64_t, wide: bool, expected: cython.size_t = 1 << 14):
        self.threshold = threshold
        self.width = 8 if wide else 4
        self.open = LEVELS - 1
        self.reserve(expected + 1)
        new_pair(self, 0, 0)

    def __dealloc__(self):
        i: cython.Py_ssize_t
        for i in range(LEVELS):
            free(self.buckets[i].pairs)
        self._free_regions()
        tm_pair_map_free(cython.address(self.ids))
        free(self.heap)
        free(self.pair)
        free(self.postings)

    def clear(self, threshold: uint64_t):
        """Drop all pairs and their postings, for a new phase."""
        self.empty()
        self.threshold = threshold
        self.n_pairs = 1

    def empty(self):
        """Free all postings, and empty the queue."""
        i: cython.Py_ssize_t
        self._free_regions()
        for i in range(LEVELS):
            self.buckets[i].size = 0
        self.heap_size = 0
        self.open = LEVELS - 1

    def raise_threshold(self, threshold: uint64_t):
        """Drop the pairs below `threshold`, if it is higher than the present one, and free their postings. Not during a step."""
        self.threshold = max(self.threshold, threshold)
        for pair in range(1, self.n_pairs):
            if self.pair[pair].count < self.threshold and self.postings[pair] != cython.NULL:
                self.free_postings(self.postings[pair], self.pair[pair].size)
                self.postings[pair] = cython.NULL
                self.pair[pair].size = 0

    def sample_counts(self, most: cython.size_t) -> tuple:
        """The counts (uint64) of up to `most` pairs, every stride-th one, and the stride."""
        import numpy as np

        stride: cython.size_t = 1 + self.n_pairs // most
        counts: uint64_t[::1] = np.empty((self.n_pairs + stride - 2) // stride, np.uint64)
        for i in range(counts.shape[0]):
            counts[i] = self.pair[1 + i * stride].count
        return np.asarray(counts), stride

    # ---- records

    def reserve(self, more):
        """Make room for `more` new pairs. Records may move."""
        room: cython.size_t = self.n_pairs + more
        if room >= FREE:
            with cython.gil:
                raise MemoryError("more than 2**30 distinct pairs; a higher min_pair_count leaves out the rare ones")
        grow(cython.address(self.pair), cython.address(self.room), room, cython.sizeof(Pair))
        grow(cython.address(self.postings), cython.address(self.postings_room), room, cython.sizeof(cython.p_char))
        return 0

    def find(self, left, right):
        """The id of (left, right). A pair that is not in `ids` gets a new id and a new record."""
        if not tm_pair_map_reserve(cython.address(self.ids), 1):
            no_memory(self.n_pairs, 2 * cython.sizeof(Pair))
        pair = tm_pair_map_get_or_put(cython.address(self.ids), left, right, cython.cast(uint32_t, self.n_pairs))
        if pair == self.n_pairs:
            self.reserve(1)
            new_pair(self, left, right)
        return pair

    def add_ids(self, first):
        """Add the pairs from `first` on, which are not in `ids`, to it."""
        if not tm_pair_map_reserve(cython.address(self.ids), self.n_pairs - first):
            no_memory(self.n_pairs, 2 * cython.sizeof(Pair))
        for pair in range(first, self.n_pairs):
            ahead = self.pair + (pair + 8 if pair + 8 < self.n_pairs else pair)
            tm_pair_map_prefetch(cython.address(self.ids), ahead.left, ahead.right)
            tm_pair_map_get_or_put(
                cython.address(self.ids), self.pair[pair].left, self.pair[pair].right, cython.cast(uint32_t, pair)
            )
        return 0

    # ---- the index of a phase: the pairs in the corpus, their counts and postings

    def index(self, corpus: Corpus, tokens: Tokens):
        """Find the pairs of `corpus`, and queue them. Those that may not merge are left out.

        This takes two passes over the nodes. The first assigns an id to each distinct pair and counts it: pairs of bytes
        through a table of 65,536, others through a map. Then only the pairs that reach the threshold are kept, and the second
        pass writes their postings (a counting sort).
        """
        node: cython.pointer(uint32_t) = corpus.node
        spread: cython.bint = tokens.spread
        wide: cython.bint = corpus.wide
        direct: cython.pointer(uint32_t) = cython.NULL
        kept: cython.pointer(uint32_t) = cython.NULL  # by id in the first pass: the new id, or FREE | left token
        next: cython.size_t = 1
        n_nodes: cython.size_t = corpus.n_nodes
        n: cython.size_t = 1
        cursor: Cursor
        cursor.range = cursor.end = 0
        try:
            direct = cython.cast(cython.pointer(uint32_t), zeroed_array(1 << 16, 4))
            with cython.nogil:
                while next < n_nodes:
                    check_signals()
                    stop = min(next + SLICE, n_nodes)
                    while next < stop:
                        position = next
                        left = node[position]
                        next += 1
                        if left == SENTINEL:
                            continue
                        left &= TOKEN
                        if spread:
                            next = position + tokens.token[left].span
                        right = node[next]
                        if right == SENTINEL:
                            continue
                        right &= TOKEN
                        if (left | right) < 256:
                            pair: uint32_t = direct[(left << 8) | right]
                            if pair == 0:
                                pair = self.find(left, right)
                                direct[(left << 8) | right] = pair
                        else:
                            pair = self.find(left, right)
                        record = cython.address(self.pair[pair])
                        record.count += count_at(corpus, cython.address(cursor), position)
                        record.size += 1
                        node[position] = pair
                tm_pair_map_free(cython.address(self.ids))  # the merge loop looks up no pairs
                kept = cython.cast(cython.pointer(uint32_t), new_array(self.n_pairs, 4))
                for pair in range(1, self.n_pairs):
                    record = cython.address(self.pair[pair])
                    kept[pair] = FREE | record.left
                    if record.count >= self.threshold and tokens.fits(record.left, record.right):
                        kept[pair] = cython.cast(uint32_t, n)
                        self.pair[n] = record[0]
                        self.postings[n] = new_postings(self, record.size)
                        self.enqueue(cython.cast(uint32_t, n))
                        n += 1
                self.n_pairs = n
                postings, width = self.postings, self.width
                stop = 1
                while stop < n_nodes:
                    check_signals()
                    next = stop
                    stop = min(next + SLICE, n_nodes)
                    for position in range(next, stop):
                        value = node[position]
                        if value < FREE:
                            value = kept[value]
                            node[position] = value
                            if value < FREE:
                                put_position(postings[value], 0, wide, position)
                                postings[value] += width
                for pair in range(1, n):
                    postings[pair] -= self.pair[pair].size * width
        finally:
            free(direct)
            free(kept)

    # ---- the queue

    def enqueue(self, pair):
        """Queue a pair with its present count, which is not 0."""
        record: cython.pointer(Pair) = cython.address(self.pair[pair])
        level: cython.int = queue_level(record.count)
        bucket: cython.pointer(Bucket) = cython.address(self.buckets[level])
        item: Item
        if level >= self.open:
            grow(cython.address(self.heap), cython.address(self.heap_room), self.heap_size + 1, cython.sizeof(Item))
            item.count = record.count
            item.key = cython.cast(uint64_t, record.left) << 32 | record.right
            item.pair = pair
            self.heap_size = heap_push(self.heap, self.heap_size, item)
        else:
            grow(cython.address(bucket.pairs), cython.address(bucket.room), bucket.size + 1, 4)
            bucket.pairs[bucket.size] = pair
            bucket.size += 1
        return 0

    def pop(self):
        """The next pair of the queue; 0 if none reaches the threshold."""
        while self.heap_size or self._open_next():
            item: Item = self.heap[0]
            self.heap_size = heap_pop(self.heap, self.heap_size)
            count = self.pair[item.pair].count
            if count >= self.threshold:
                if item.count == count:
                    return item.pair
                self.enqueue(item.pair)
        return 0

    def _open_next(self):
        """Move the pairs of the next bucket into the heap, which is empty; 0 if none is left."""
        while self.heap_size == 0:
            while self.open > 0 and self.buckets[self.open].size == 0:
                self.open -= 1
            bucket = cython.address(self.buckets[self.open])
            if bucket.size == 0:
                return 0
            for i in range(bucket.size):
                # A pair whose count has fallen goes to a lower bucket.
                if self.pair[bucket.pairs[i]].count >= self.threshold:
                    self.enqueue(bucket.pairs[i])
            bucket.size = 0
        return 1

    # ---- postings memory

    def _next_region(self, size):
        """Cut the next postings from the largest hole, or from a new region. Return the start of its free memory."""
        room: cython.size_t = size if size > REGION else REGION
        level: cython.int = 63
        self._add_hole(self.free_at, self.free_size)
        while level > 0 and self.holes[level] == cython.NULL:
            level -= 1
        region = self.holes[level]
        if region != cython.NULL and region.size >= size:
            self.holes[level] = region.next
            self.free_at = cython.cast(cython.p_char, region)
            self.free_size = region.size
            return self.free_at
        region = cython.cast(cython.pointer(Region), new_array(HEAD + room, 1))
        region.next = self.regions
        self.regions = region
        self.region_bytes += room
        self.free_at = cython.cast(cython.p_char, region) + HEAD
        self.free_size = room
        return self.free_at

    def free_postings(self, postings, n):
        """Make the memory of n postings free: on 20 languages, using it again saves 60 MB (docs/experiments/training.md)."""
        self._add_hole(postings, n * self.width)

    def _add_hole(self, at, size):
        """Keep memory for later postings, unless it is small. The header begins at a multiple of 8."""
        skipped: cython.size_t = -cython.cast(cython.size_t, at) & 7
        hole = cython.cast(cython.pointer(Region), at + skipped)
        if size >= SMALLEST_HOLE:
            hole.size = size - skipped
            hole.next = self.holes[tm_log2(hole.size)]
            self.holes[tm_log2(hole.size)] = hole

    def _free_regions(self):
        while self.regions != cython.NULL:
            region = self.regions
            self.regions = region.next
            free(region)
        memset(self.holes, 0, cython.sizeof(self.holes))
        self.free_size = 0
        self.region_bytes = 0
