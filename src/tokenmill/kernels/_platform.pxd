from libc.stdint cimport uint64_t


cdef extern from "tokenmill/kernels/_platform.h" nogil:
    void tm_prefetch(const void* address)
    void tm_prefetch_write(const void* address)
    int tm_log2(uint64_t x)
    int tm_ctz(uint64_t x)
    uint64_t tm_multiply(uint64_t a, uint64_t b, uint64_t* high)
    uint64_t tm_mulhi(uint64_t a, uint64_t n)
