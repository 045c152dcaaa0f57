from libc.stdint cimport uint32_t, uint64_t

from tokenmill.kernels._pair_map cimport tm_pair_map
from tokenmill.training._corpus_cy cimport FREE

cdef extern from *:
    """
    #include "tokenmill/kernels/_heap.h"
    #include "tokenmill/kernels/_platform.h"
    typedef struct {
        uint64_t count, key;
        uint32_t pair;
    } tm_queued;
    /* log2(x) in steps of a sixteenth; below 32, x itself. It never falls as x grows. x is not 0. */
    static inline int tm_queue_level(uint64_t x) {
        int shift = x < 32 ? 0 : tm_log2(x) - 4;
        return 16 * shift + (int)(x >> shift);
    }
    #define TM_QUEUED_BEFORE(a, b) ((a)->count > (b)->count || ((a)->count == (b)->count && (a)->key < (b)->key))
    TM_HEAP(tm_queue, tm_queued, TM_QUEUED_BEFORE)
    """
    ctypedef struct Item "tm_queued":
        uint64_t count
        uint64_t key  # left << 32 | right
        uint32_t pair
    size_t heap_push "tm_queue_push" (Item* heap, size_t used, Item item) nogil
    int queue_level "tm_queue_level" (uint64_t count) nogil
    size_t heap_pop "tm_queue_pop" (Item* heap, size_t used) nogil

cdef struct Pair:
    uint64_t count      # over all positions, exact
    uint32_t successor  # its successor in the step `step`: a pair id, or FREE | token for none
    uint32_t step
    uint32_t left
    uint32_t right
    size_t size         # the number of its postings

cdef struct Bucket:
    uint32_t* pairs
    size_t size
    size_t room

cdef struct Region:  # the header of memory for postings, in use or free again
    Region* next
    size_t size


cdef class Pairs:
    cdef Pair* pair
    cdef char** postings
    cdef size_t n_pairs
    cdef size_t room
    cdef size_t postings_room
    cdef size_t width
    cdef readonly uint64_t threshold
    cdef tm_pair_map ids  # (left, right) -> id, while pairs are looked up
    # the queue: pairs wait in buckets, those of the bucket `open` and above in the heap
    cdef int open
    cdef Bucket[976] buckets
    cdef Item* heap
    cdef size_t heap_size
    cdef size_t heap_room
    # postings memory: the region that new postings are cut from, other free memory by log2 of its size, and all regions
    cdef char* free_at
    cdef size_t free_size
    cdef Region* holes[64]
    cdef Region* regions
    cdef size_t region_bytes  # of all regions

    cdef void empty(self) noexcept nogil
    cdef int reserve(self, size_t more) except -1 nogil
    cdef uint32_t find(self, uint32_t left, uint32_t right) except 0 nogil
    cdef int add_ids(self, size_t first) except -1 nogil
    cdef int enqueue(self, uint32_t pair) except -1 nogil
    cdef uint32_t pop(self) except? 0 nogil
    cdef int _open_next(self) except -1 nogil
    cdef char* _next_region(self, size_t size) except NULL nogil
    cdef void _add_hole(self, char* at, size_t size) noexcept nogil
    cdef void free_postings(self, char* postings, size_t n) noexcept nogil
    cdef void _free_regions(self) noexcept nogil


cdef inline uint32_t token_at(const uint32_t* node, const Pair* pair, size_t position) noexcept nogil:
    # The token at a position. For a node inside a token: no token, or one that is not in the corpus at that node.
    cdef uint32_t value = node[position]
    if value < FREE:
        return pair[value].left
    return value ^ FREE  # LAST stays set, and no token id is as high as that


cdef inline uint32_t new_pair(Pairs self, uint32_t left, uint32_t right) noexcept nogil:
    # The id of a new pair, without postings. The caller has made room: see `reserve`.
    cdef size_t id = self.n_pairs
    self.n_pairs += 1
    set_pair(self, id, left, right)
    return <uint32_t> id


cdef inline void set_pair(Pairs self, size_t pair, uint32_t left, uint32_t right) noexcept nogil:
    self.pair[pair].count = 0
    self.pair[pair].step = 0
    self.pair[pair].left = left
    self.pair[pair].right = right
    self.pair[pair].size = 0
    self.postings[pair] = NULL


cdef inline char* new_postings(Pairs self, size_t n) except NULL nogil:
    # Room for n postings, at least one.
    cdef size_t size = n * self.width
    cdef char* at = self.free_at
    if size > self.free_size:
        at = self._next_region(size)
    self.free_at = at + size
    self.free_size -= size
    return at
