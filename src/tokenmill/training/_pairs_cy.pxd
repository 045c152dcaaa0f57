from libc.stdint cimport uint32_t, uint64_t

from tokenmill.training._corpus_cy cimport FREE


cdef struct Pair:
    uint64_t count  # over all positions, exact
    uint32_t heir   # what takes its place in the step `step`: a pair id, or FREE | token for none
    uint32_t step
    uint32_t left
    uint32_t right
    size_t size     # entries in its segment

cdef struct Block:
    void* at
    size_t size

cdef struct Hole:
    Hole* next
    size_t size


cdef class Pairs:
    cdef Pair* pair
    cdef char** places
    cdef size_t n_pairs
    cdef size_t room
    cdef size_t width
    cdef uint64_t threshold
    # segment memory
    cdef char* free_at
    cdef size_t free_size
    cdef Hole* holes[64]
    cdef uint64_t hole_levels
    cdef Block* blocks
    cdef size_t n_blocks
    # the table of ids by (left, right), while one is needed: in a slot, the upper half of the hash, and the id
    cdef uint64_t* slots
    cdef size_t mask
    cdef size_t n_found
    cdef size_t least_slots  # of the next table

    cdef int reserve(self, size_t more) except? -1 nogil
    cdef size_t find(self, uint32_t left, uint32_t right) except? 0 nogil
    cdef int enter(self, size_t first) except? -1 nogil
    cdef void forget_table(self) noexcept nogil
    cdef int _grow_table(self) except? -1 nogil
    cdef void _enter(self, size_t pair) noexcept nogil
    cdef char* _new_region(self, size_t size) noexcept nogil
    cdef void free_places(self, char* places, size_t entries) noexcept nogil
    cdef void _add_hole(self) noexcept nogil


cdef inline uint32_t token_at(const uint32_t* node, const Pair* pair, size_t place) noexcept nogil:
    # The token at a position. For a node inside of a token: no token, or one that does not stand there.
    cdef uint32_t held = node[place]
    if held < FREE:
        return pair[held].left
    return held ^ FREE  # of a last node the flag stays, and no token is as high as that


cdef inline void set_pair(Pairs self, size_t pair, uint32_t left, uint32_t right) noexcept nogil:
    # A new pair that stands nowhere yet.
    self.pair[pair].count = 0
    self.pair[pair].step = 0
    self.pair[pair].left = left
    self.pair[pair].right = right
    self.pair[pair].size = 0
    self.places[pair] = NULL


cdef inline char* new_places(Pairs self, size_t entries) noexcept nogil:
    # Room for a segment of at least one entry, which stays where it is until it is given back. NULL: no memory.
    cdef size_t size = entries * self.width
    cdef char* at = self.free_at
    if size > self.free_size:
        at = self._new_region(size)
        if at == NULL:
            return NULL
    self.free_at = at + size
    self.free_size -= size
    return at
