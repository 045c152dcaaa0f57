from libc.stdint cimport uint64_t


cdef extern from "tokenmill/counting/_pages.h" nogil:
    void* tm_pages_new(size_t size)
    void* tm_pages_grow(void* p, size_t old, size_t size)
    void* tm_pages_enlarge(void* p, size_t old, size_t size, size_t* reserved)
    void* tm_pages_plain(size_t size)
    void tm_pages_fill(void* p, size_t size)
    void tm_pages_free(void* p, size_t size)
    uint64_t tm_mulhi(uint64_t a, uint64_t n)
    void tm_prefetch "tm_prefetch_write" (const void* p)
