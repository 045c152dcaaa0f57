from libc.stdint cimport uint32_t


cdef class Ids:
    cdef uint32_t* data
    cdef size_t room  # in ids
    cdef Py_ssize_t used

    # Make room for `more` ids; if the array has to grow, for `expected` ids in all. False if memory runs out.
    cdef bint reserve(self, size_t more, size_t expected) noexcept nogil
