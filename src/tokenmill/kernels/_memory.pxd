cdef extern from "tokenmill/kernels/_platform.h" nogil:
    void* tm_pages_new(size_t size)
    void* tm_pages_small(size_t size)
    void tm_pages_free(void* p, size_t size)
    void* tm_pages_grow(void* p, size_t old, size_t size)
    void tm_pages_populate(void* p, size_t size)
    void* tm_alloc(size_t size)
    void tm_free(void* p)
    void* tm_exchange(void** shared, void* value)
    void tm_return_freed()
    void* tm_reserve(void* items, size_t* room, size_t wanted, size_t size)


cdef inline bint tm_make_room(void** items, size_t* room, size_t wanted, size_t size) noexcept nogil:
    # tm_reserve in place. False if memory runs out; then the array does not change.
    cdef void* grown = tm_reserve(items[0], room, wanted, size)
    if grown == NULL:
        return False
    items[0] = grown
    return True
