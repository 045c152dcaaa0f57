# A binary heap of 64-bit numbers, the least first, in an array that the caller keeps.
from libc.stdint cimport uint64_t


cdef inline size_t push(uint64_t* heap, size_t used, uint64_t item) noexcept nogil:
    """Put `item` in; returns how many there are now."""
    cdef size_t i = used
    while i > 0 and heap[(i - 1) >> 1] > item:
        heap[i] = heap[(i - 1) >> 1]
        i = (i - 1) >> 1
    heap[i] = item
    return used + 1


cdef inline size_t pop(uint64_t* heap, size_t used) noexcept nogil:
    """Take heap[0] out; returns how many are left."""
    cdef uint64_t item = heap[used - 1]
    cdef size_t i = 0, child = 1
    used -= 1
    while child < used:
        if child + 1 < used and heap[child + 1] < heap[child]:
            child += 1
        if item <= heap[child]:
            break
        heap[i] = heap[child]
        i = child
        child = 2 * i + 1
    heap[i] = item
    return used
