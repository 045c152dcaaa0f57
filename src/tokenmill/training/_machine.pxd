from libc.stdint cimport uint64_t


cdef extern from "tokenmill/training/_machine.h" nogil:
    enum: TM_LEVELS
    void tm_prefetch(const void* address) noexcept
    bint tm_likely(bint x) noexcept
    bint tm_unlikely(bint x) noexcept
    int tm_log2(uint64_t x) noexcept
    int tm_level(uint64_t x) noexcept
    uint64_t tm_level_start(int level) noexcept
    void* tm_alloc(size_t bytes) noexcept
    bint tm_reaches(uint64_t a, uint64_t b, uint64_t p, uint64_t q) noexcept
    void tm_sort(void* places, size_t n, size_t width) noexcept
