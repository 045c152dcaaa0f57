# Arrays from malloc, to be freed with free(). All of these raise MemoryError, also without the GIL.
from libc.stdlib cimport calloc

from tokenmill.kernels._memory cimport tm_alloc, tm_make_room


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


cdef inline int grow(void* array, size_t* room, size_t wanted, size_t size) except -1 nogil:
    # Make room for `wanted` items or more in an array, at this address. It does not change if this raises.
    if not tm_make_room(<void**> array, room, wanted, size):
        no_memory(wanted, size)
    return 0
