from libc.stdint cimport uint32_t


cdef extern from "tokenmill/kernels/_pair_ranks.h" nogil:
    const uint32_t TM_NO_RANK
    const uint32_t TM_RANK_MASK

    ctypedef struct tm_pair_ranks:
        size_t used

    void tm_pair_ranks_free(tm_pair_ranks* table)
    bint tm_pair_ranks_add(tm_pair_ranks* table, uint32_t left, uint32_t right, uint32_t rank)
    bint tm_pair_ranks_reserve(tm_pair_ranks* table, size_t more, int bits)
    void tm_pair_ranks_renumber(tm_pair_ranks* table, const uint32_t* numbers)
    uint32_t tm_pair_rank(const tm_pair_ranks* table, uint32_t left, uint32_t right)
    void tm_pair_rank_prefetch(const tm_pair_ranks* table, uint32_t left, uint32_t right)
    void tm_pair_rank_prefetch_slot(const tm_pair_ranks* table, uint32_t left, uint32_t right)
