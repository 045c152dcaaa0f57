from libc.stdint cimport uint8_t, uint64_t


cdef extern from "tokenmill/counting/_direct_mapped.h" nogil:
    ctypedef struct tm_addition:
        uint64_t lo
        uint64_t hi
        uint64_t count
        const uint8_t* pretoken  # and its length, of a LONG one
        size_t length

    ctypedef struct tm_cached:
        uint64_t lo
        uint64_t hi
        uint64_t count

    Py_ssize_t tm_count_cached(tm_cached* cache, size_t slots, const uint8_t* text, size_t start, const size_t* ends,
                               Py_ssize_t n, size_t readable, tm_addition* out)
