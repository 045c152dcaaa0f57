from libc.stdint cimport uint32_t, uint64_t


cdef extern from "tokenmill/kernels/_pair_map.h" nogil:
    const uint32_t TM_NO_VALUE

    ctypedef struct tm_pair_slot:
        uint32_t left
        uint32_t right
        uint32_t value
        uint32_t used

    ctypedef struct tm_pair_map:
        tm_pair_slot* slots
        size_t n_slots
        size_t used
        uint64_t seed
        int shift

    uint64_t tm_pair_hash(uint64_t seed, uint32_t left, uint32_t right)
    bint tm_pair_map_reserve(tm_pair_map* map, size_t more)
    void tm_pair_map_free(tm_pair_map* map)
    uint32_t tm_pair_map_get(const tm_pair_map* map, uint32_t left, uint32_t right)
    uint32_t tm_pair_map_get_or_put(tm_pair_map* map, uint32_t left, uint32_t right, uint32_t value)
    void tm_pair_map_prefetch(const tm_pair_map* map, uint32_t left, uint32_t right)
