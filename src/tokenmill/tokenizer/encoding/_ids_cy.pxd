from libc.stdint cimport uint32_t

cdef extern from *:
    """
    #include <sys/mman.h>
    /* Memory whose contents are not needed any more, but which may soon be: the system takes it when it is short. */
    static inline void tm_pages_rest(void *p, size_t size) {
    #ifdef MADV_FREE
        madvise(p, size, MADV_FREE);
    #endif
    }
    """
    void tm_pages_rest(void* p, size_t size) noexcept nogil


cdef class Spare:
    cdef void* data
    cdef size_t size

    cdef void keep(self, void* data, size_t size) noexcept
    # At least `size` bytes, and how many they are; NULL where there is no memory.
    cdef void* take(self, size_t size, size_t* got) noexcept nogil


cdef enum:
    LARGE = 4 << 20  # arrays of so many bytes give their memory back to the next

# An array of ids that no thread holds.
cdef struct Block:
    uint32_t* data
    size_t room, mapped, filled
    Py_ssize_t used


cdef class Ids:
    cdef uint32_t* data
    cdef size_t room  # in ids
    cdef size_t mapped  # in bytes
    cdef size_t filled  # ids up to here have their pages
    cdef Py_ssize_t used
    cdef Py_ssize_t shape[1]
    cdef char format[2]
    cdef Spare spare

    # Room for `more` ids, and at once for `hint` of them where it has to grow: what is not touched costs nothing.
    cdef bint reserve(self, size_t more, size_t hint) noexcept nogil
    cdef void fill(self, size_t need) noexcept nogil  # get the pages for `need` ids, and a step more
    cdef void swap(self, Block* block) noexcept nogil  # the memory and what is in it
