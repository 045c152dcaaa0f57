from libc.stdint cimport uint32_t, uint64_t

cdef extern from *:
    """
    #define TM_FREE 0x40000000u
    #define TM_TOKEN 0x3FFFFFFFu
    #define TM_INNER 0x7FFFFFFEu
    #define TM_SENTINEL 0x7FFFFFFFu
    #define TM_LAST 0x80000000u
    #define TM_COMPARE(name, type) \\
        static inline int name(const void *a, const void *b) { \\
            return (*(const type *)a > *(const type *)b) - (*(const type *)a < *(const type *)b); \\
        }
    TM_COMPARE(tm_compare_narrow, uint32_t)
    TM_COMPARE(tm_compare_wide, uint64_t)
    """
    # Values of nodes: see _corpus_cy.py.
    const uint32_t FREE "TM_FREE"
    const uint32_t TOKEN "TM_TOKEN"
    const uint32_t INNER "TM_INNER"
    const uint32_t SENTINEL "TM_SENTINEL"
    const uint32_t LAST "TM_LAST"
    # Compare two positions of 32 or 64 bits, for qsort.
    int compare_narrow "tm_compare_narrow" (const void*, const void*) noexcept nogil
    int compare_wide "tm_compare_wide" (const void*, const void*) noexcept nogil

cdef struct CountRange:
    size_t start
    uint64_t count


cdef class Corpus:
    cdef uint32_t* node
    cdef readonly size_t n_nodes
    cdef CountRange* ranges
    cdef size_t n_ranges
    cdef readonly bint wide
    cdef readonly uint64_t n_tokens  # in the corpus now, each pretoken counted as often as it occurs; a step keeps it exact


cdef struct Cursor:
    # The count range of the last position asked for. All zeros at first.
    size_t range
    size_t end
    uint64_t count


cdef inline size_t range_at(const CountRange* ranges, size_t low, size_t n_ranges, size_t position) noexcept nogil:
    # The count range that contains `position`, at or after `low`. It is near, so gallop. ranges[n_ranges].start is the end.
    cdef size_t stride = 1, high, middle
    while low + stride < n_ranges and ranges[low + stride].start <= position:
        low += stride
        stride <<= 1
    high = low + stride if low + stride < n_ranges else n_ranges
    while high - low > 1:
        middle = low + ((high - low) >> 1)
        if ranges[middle].start <= position:
            low = middle
        else:
            high = middle
    return low


cdef inline uint64_t count_at(Corpus corpus, Cursor* cursor, size_t position) noexcept nogil:
    # The count of the pretoken around `position`, which is not before the last one asked for.
    if position >= cursor.end:
        cursor.range = range_at(corpus.ranges, cursor.range, corpus.n_ranges, position)
        cursor.end = corpus.ranges[cursor.range + 1].start
        cursor.count = corpus.ranges[cursor.range].count
    return cursor.count


cdef inline size_t left_of(const uint32_t* node, size_t position) noexcept nogil:
    # The position of the token before the one at `position`, or of the sentinel before it.
    if node[position - 1] & LAST:
        return position - (node[position - 1] & ~LAST)
    return position - 1


cdef inline size_t get_position(const char* positions, size_t i, bint wide) noexcept nogil:
    return (<const uint64_t*> positions)[i] if wide else (<const uint32_t*> positions)[i]


cdef inline void put_position(char* positions, size_t i, bint wide, size_t position) noexcept nogil:
    if wide:
        (<uint64_t*> positions)[i] = position
    else:
        (<uint32_t*> positions)[i] = <uint32_t> position
