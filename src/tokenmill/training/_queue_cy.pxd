from libc.stdint cimport uint32_t, uint64_t

from tokenmill.training._pairs_cy cimport Pairs


cdef struct Item:
    uint64_t count
    uint64_t key    # left << 32 | right
    uint32_t pair

cdef struct Bucket:
    uint32_t* pairs
    size_t size
    size_t room


cdef class Queue:
    cdef Pairs pairs
    cdef int top
    cdef Bucket[976] buckets  # TM_LEVELS of them
    # the near pairs, from near_at to near_end
    cdef Item[128] near  # NEAR_ROOM of them
    cdef size_t near_at
    cdef size_t near_end
    # the row, from row_at to row_size
    cdef Item* row
    cdef size_t row_at
    cdef size_t row_size
    cdef size_t row_room
    cdef Item* other  # as long as the row, to sort it
    cdef Item* heap
    cdef size_t heap_size
    cdef size_t heap_room

    cdef int enqueue(self, uint32_t pair) except? -1 nogil
    cdef size_t pop(self) except? 0 nogil
    cdef void fetch_nodes(self, uint32_t* node) noexcept nogil
    cdef int _draw_near(self) except? -1 nogil
    cdef int _come_near(self, Item item) except? -1 nogil
    cdef int _open(self, Pairs pairs) except? -1 nogil
    cdef int _join(self, Item item) except? -1 nogil
    cdef int _push(self, Item item) except? -1 nogil
    cdef int _reserve_row(self, size_t room) except? -1 nogil
    cdef void _sort_row(self) noexcept nogil
    cdef void _sort_by(self, bint by_count, int shift) noexcept nogil
    cdef void _sift_down(self, Item item) noexcept nogil


cdef inline uint32_t near_pair(Queue self, size_t turns) noexcept nogil:
    # The pair that is merged in so many turns, 1 for the next one, unless something comes between; 0 if it is not known.
    cdef size_t i = self.near_at + turns - 1
    return self.near[i].pair if i < self.near_end else 0
