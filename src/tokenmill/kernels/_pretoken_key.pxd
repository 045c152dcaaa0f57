from libc.stdint cimport uint8_t, uint64_t


cdef extern from "tokenmill/kernels/_pretoken_key.h" nogil:
    ctypedef struct tm_key:
        uint64_t lo
        uint64_t hi

    ctypedef struct tm_seed:
        uint64_t a
        uint64_t b

    const tm_seed TM_CANONICAL
    tm_key tm_long_key(const uint8_t* p, size_t n, tm_seed seed)
    tm_key tm_key_of(const uint8_t* p, size_t n, const uint8_t* end, tm_seed seed)
    uint64_t tm_hash(tm_key key, tm_seed seed)
    uint64_t tm_random_hash(tm_key key, tm_seed seed)
    void tm_random_hashes(const tm_key* keys, Py_ssize_t n, tm_seed seed, const void* slots, size_t size, uint64_t mask, uint64_t* hashes)
