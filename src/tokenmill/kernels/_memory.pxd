cdef extern from "tokenmill/kernels/_platform.h" nogil:
    void* tm_pages_new(size_t size)
    void* tm_pages_small(size_t size)
    void tm_pages_free(void* p, size_t size)
    void* tm_pages_grow(void* p, size_t old, size_t size)
    void tm_pages_populate(void* p, size_t size)
    void* tm_alloc(size_t size)
    void tm_free(void* p)
    void* tm_reserve(void* items, size_t* room, size_t wanted, size_t size)
