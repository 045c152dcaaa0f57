from libc.stdint cimport uint64_t


cdef extern from "tokenmill/kernels/_heap.h" nogil:
    size_t tm_heap_push(uint64_t* heap, size_t used, uint64_t item)
    size_t tm_heap_pop(uint64_t* heap, size_t used)
