# Arrays from malloc, to be freed with free(). All of these raise MemoryError, also without the GIL.
from libc.stdlib cimport calloc

from tokenmill.kernels._memory cimport tm_alloc, tm_reserve


cdef inline int no_memory(size_t n, size_t size) except -1 nogil:
    with gil:
        raise MemoryError(f"no memory for {n} items of {size} bytes")


cdef inline void* new_array(size_t n, size_t size) except NULL nogil:
    # Room for n items, uninitialized.
    cdef void* items = tm_alloc(n * size)
    if items == NULL:
        no_memory(n, size)
    return items


cdef inline void* zeroed_array(size_t n, size_t size) except NULL nogil:
    cdef void* items = calloc(n + 1, size)
    if items == NULL:
        no_memory(n, size)
    return items


cdef inline void* grown_array(void* items, size_t* room, size_t wanted, size_t size) except NULL nogil:
    # `items` with room for `wanted` items or more. If this raises, `items` stays as it is.
    cdef void* grown = tm_reserve(items, room, wanted, size)
    if grown == NULL:
        no_memory(wanted, size)
    return grown
