from libc.stdint cimport uint8_t, uint64_t


cdef extern from "tokenmill/kernels/_pretoken_key.h" nogil:
    ctypedef struct tm_key:
        uint64_t lo
        uint64_t hi

    tm_key tm_key_of(const uint8_t* p, size_t n, const uint8_t* end)
    uint64_t tm_hash(tm_key key)
