from libc.stdint cimport uint8_t, uint32_t


cdef struct String:
    const uint8_t* start
    size_t length
    uint32_t id
    Py_ssize_t group_end  # where the strings of this length end


cdef class Finder:
    cdef list contents  # the strings, the longest first, those of one length in order
    cdef String* strings
    cdef Py_ssize_t n
    cdef uint8_t first[256]  # whether a string begins with this byte
    cdef uint8_t heads[16][2]  # the distinct first two bytes; few_heads if there are no more
    cdef Py_ssize_t n_heads
    cdef bint few_heads

    # Find the leftmost of the strings in text[at:length], the longest where several begin there. Returns where it begins, or
    # `length`; stores which it is.
    cdef size_t search(self, const uint8_t* text, size_t at, size_t length, Py_ssize_t* which) noexcept nogil
    cdef Py_ssize_t match(self, const uint8_t* text, size_t left) noexcept nogil
    cdef bint is_in(self, const uint8_t* text, size_t length) noexcept  # whether the text contains any; releases the GIL
