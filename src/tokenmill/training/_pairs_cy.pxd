from libc.stdint cimport uint32_t, uint64_t

from tokenmill.kernels._pair_map cimport tm_pair_map
from tokenmill.training._corpus_cy cimport FREE


cdef struct Pair:
    uint64_t count      # over all positions, exact
    uint32_t successor  # what replaces it in the step `step`: a pair id, or FREE | token for none
    uint32_t step
    uint32_t left
    uint32_t right
    size_t size         # entries in its segment

cdef struct Block:
    Block* next


cdef class Pairs:
    cdef Pair* pair
    cdef char** places
    cdef size_t n_pairs
    cdef size_t room
    cdef size_t width
    cdef readonly uint64_t threshold
    cdef tm_pair_map ids  # (left, right) -> id, while it is needed
    # segment memory: the rest of the block that segments are cut from, and all blocks
    cdef char* free_at
    cdef size_t free_size
    cdef Block* blocks

    cdef int reserve(self, size_t more) except? -1 nogil
    cdef size_t find(self, uint32_t left, uint32_t right) except? 0 nogil
    cdef int add_ids(self, size_t first) except? -1 nogil
    cdef char* _next_block(self, size_t size) noexcept nogil
    cdef void free_places(self, char* places, size_t entries) noexcept nogil
    cdef void _free_blocks(self) noexcept nogil


cdef inline uint32_t token_at(const uint32_t* node, const Pair* pair, size_t place) noexcept nogil:
    # The token at a position. For a node inside a token: not a token, or one that is not there.
    cdef uint32_t held = node[place]
    if held < FREE:
        return pair[held].left
    return held ^ FREE  # the flag of a last node stays, and no token is as high as that


cdef inline void set_pair(Pairs self, size_t pair, uint32_t left, uint32_t right) noexcept nogil:
    # A new pair, which has no positions yet.
    self.pair[pair].count = 0
    self.pair[pair].step = 0
    self.pair[pair].left = left
    self.pair[pair].right = right
    self.pair[pair].size = 0
    self.places[pair] = NULL


cdef inline char* new_places(Pairs self, size_t entries) noexcept nogil:
    # Room for a segment of at least one entry. NULL: no memory.
    cdef size_t size = entries * self.width
    cdef char* at = self.free_at
    if size > self.free_size:
        at = self._next_block(size)
        if at == NULL:
            return NULL
    self.free_at = at + size
    self.free_size -= size
    return at
