from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenmill.tokenizer.encoding._cache_cy cimport PretokenCache


cdef class PartEncoder:
    cdef const uint64_t[::1] inside
    cdef uint32_t[::1] sizes
    cdef PretokenCache cache

    cpdef PartEncoder copy(self)
    # The ids of the pretokens text[start:ends[0]], text[ends[0]:ends[1]], ... (n of them) of a text that ends at
    # text[length]. `out` has room for as many ids as they have bytes and 4 more. Those of pretoken i end at id_ends[i].
    # Returns their number, or a negative number of _merger_cy.
    cdef Py_ssize_t encode(self, const uint8_t* text, size_t start, size_t length, const size_t* ends, Py_ssize_t n,
                           uint32_t* out, size_t* id_ends) noexcept nogil
