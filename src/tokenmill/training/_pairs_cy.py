"""What is known of each pair: its record and its segment.

Definitions
    segment    the positions of a pair in ascending order, 32 bits each (64 in a corpus of more nodes). An entry whose
               node no longer holds the pair is dead; entries are never removed one by one.
    threshold  pairs whose count is lower are not wanted. A pair that falls below it is dropped for good. The threshold may
               rise during training, as it becomes clearer how rare the last pairs will be.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.kernels._memory import tm_alloc
from cython.cimports.tokenmill.kernels._pair_map import (
    tm_pair_map_free,
    tm_pair_map_get_or_put,
    tm_pair_map_reserve,
)
from cython.cimports.tokenmill.training._corpus_cy import FREE

BLOCK = cython.declare(cython.size_t, 8 << 20)  # bytes of a block for segments, at least
HEAD = cython.declare(cython.size_t, 64)  # bytes at its beginning that hold the Block


@cython.final
@cython.cclass
class Pairs:
    """The pairs of one phase. Id 0 stands for no pair.

    wide: positions have 64 bits. expected: how many pairs to make room for at once. It costs time to move records, and
    room that is never touched costs nothing.
    """

    def __cinit__(self, threshold: uint64_t, wide: bool, expected: cython.size_t = 1 << 14):
        self.threshold = threshold
        self.width = 8 if wide else 4
        self.n_pairs = 1
        self.reserve(expected)
        set_pair(self, 0, 0, 0)

    def __dealloc__(self):
        self._free_blocks()
        tm_pair_map_free(cython.address(self.ids))
        free(self.pair)
        free(self.places)

    def clear(self, threshold: uint64_t):
        """Drop all pairs, for a new phase."""
        self._free_blocks()
        self.threshold = threshold
        self.n_pairs = 1

    def raise_threshold(self, threshold: uint64_t):
        """Drop the pairs below `threshold`, if it is higher than the present one."""
        self.threshold = max(self.threshold, threshold)

    def sample_counts(self, most: cython.size_t) -> tuple:
        """The counts of up to `most` pairs, as uint64, and of how many pairs each of them stands for one."""
        import numpy as np

        stride: cython.size_t = 1 + self.n_pairs // most
        i: cython.Py_ssize_t
        counts: uint64_t[::1] = np.empty((self.n_pairs + stride - 2) // stride, np.uint64)
        for i in range(counts.shape[0]):
            counts[i] = self.pair[1 + i * stride].count
        return np.asarray(counts), stride

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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0, check=True)
    def find(self, left: uint32_t, right: uint32_t) -> cython.size_t:
        """The id of (left, right). A pair that `ids` does not have gets a new id and a new record."""
        pair: cython.size_t
        if not tm_pair_map_reserve(cython.address(self.ids), 1):
            with cython.gil:
                raise MemoryError(f"no memory for {self.n_pairs} pairs")
        pair = tm_pair_map_get_or_put(cython.address(self.ids), left, right, cython.cast(uint32_t, self.n_pairs))
        if pair == self.n_pairs:
            self.reserve(1)
            set_pair(self, pair, left, right)
            self.n_pairs += 1
        return pair

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def add_ids(self, first: cython.size_t) -> cython.int:
        """Put the pairs from `first` on, which `ids` does not have, into it."""
        pair: cython.size_t
        if not tm_pair_map_reserve(cython.address(self.ids), self.n_pairs - first):
            with cython.gil:
                raise MemoryError(f"no memory for {self.n_pairs} pairs")
        for pair in range(first, self.n_pairs):
            tm_pair_map_get_or_put(
                cython.address(self.ids), self.pair[pair].left, self.pair[pair].right, cython.cast(uint32_t, pair)
            )
        return 0

    # ---- segment memory

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _next_block(self, size: cython.size_t) -> cython.p_char:
        """Start a block with `size` bytes or more for segments; where it begins, or NULL: no memory."""
        room: cython.size_t = size if size > BLOCK else BLOCK
        block: cython.pointer(Block) = cython.cast(cython.pointer(Block), tm_alloc(HEAD + room))
        if block == cython.NULL:
            return cython.NULL
        block.next = self.blocks
        self.blocks = block
        self.free_at = cython.cast(cython.p_char, block) + HEAD
        self.free_size = room
        return self.free_at

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def free_places(self, places: cython.p_char, entries: cython.size_t) -> cython.void:
        """A segment is no longer needed. The next ones are cut from it if it is larger than what is left of the block."""
        if entries * self.width > self.free_size:
            self.free_at = places
            self.free_size = entries * self.width

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _free_blocks(self) -> cython.void:
        block: cython.pointer(Block)
        while self.blocks != cython.NULL:
            block = self.blocks
            self.blocks = block.next
            free(block)
        self.free_size = 0
