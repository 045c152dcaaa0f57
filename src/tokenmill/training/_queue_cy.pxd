from libc.stdint cimport uint32_t, uint64_t

from tokenmill.training._pairs_cy cimport Pairs

cdef extern from *:
    """
    #include "tokenmill/kernels/_heap.h"
    typedef struct {
        uint64_t count, key;
        uint32_t pair;
    } tm_queued;
    #define TM_QUEUED_BEFORE(a, b) ((a)->count > (b)->count || ((a)->count == (b)->count && (a)->key < (b)->key))
    TM_HEAP(tm_queue, tm_queued, TM_QUEUED_BEFORE)
    """
    ctypedef struct Item "tm_queued":
        uint64_t count
        uint64_t key  # left << 32 | right
        uint32_t pair
    size_t heap_push "tm_queue_push" (Item* heap, size_t used, Item item) nogil
    size_t heap_pop "tm_queue_pop" (Item* heap, size_t used) nogil

cdef struct Bucket:
    uint32_t* pairs
    size_t size
    size_t room


cdef class Queue:
    cdef Pairs pairs
    cdef int open
    cdef Bucket[64] buckets
    cdef Item* heap
    cdef size_t heap_size
    cdef size_t heap_room

    cdef int enqueue(self, uint32_t pair) except? -1 nogil
    cdef size_t pop(self) except? 0 nogil
    cdef int _open_next(self) except? -1 nogil
