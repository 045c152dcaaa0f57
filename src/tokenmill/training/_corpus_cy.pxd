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
    # What a node holds: see _corpus_cy.py.
    const uint32_t FREE "TM_FREE"
    const uint32_t TOKEN "TM_TOKEN"
    const uint32_t INNER "TM_INNER"
    const uint32_t SENTINEL "TM_SENTINEL"
    const uint32_t LAST "TM_LAST"
    # of two positions, of 32 or 64 bits, for qsort
    int compare_narrow "tm_compare_narrow" (const void*, const void*) noexcept nogil
    int compare_wide "tm_compare_wide" (const void*, const void*) noexcept nogil

cdef struct Run:
    size_t start
    uint64_t count


cdef class Corpus:
    cdef uint32_t* node
    cdef readonly size_t n_nodes
    cdef Run* runs
    cdef size_t n_runs
    cdef readonly bint wide
    cdef readonly uint64_t n_tokens  # in the corpus now: those of each pretoken times its count; a step keeps it up to date


cdef struct Cursor:
    # The run of the last position asked for. All zeros at first.
    size_t run
    size_t end
    uint64_t count


cdef inline size_t run_at(const Run* runs, size_t run, size_t n_runs, size_t place) noexcept nogil:
    # The run that `place` lies in, at or after `run`. It is near, so gallop. runs[n_runs].start is the end.
    cdef size_t stride = 1, high, middle
    while run + stride < n_runs and runs[run + stride].start <= place:
        run += stride
        stride <<= 1
    high = run + stride if run + stride < n_runs else n_runs
    while high - run > 1:
        middle = run + ((high - run) >> 1)
        if runs[middle].start <= place:
            run = middle
        else:
            high = middle
    return run


cdef inline uint64_t count_at(Corpus corpus, Cursor* cursor, size_t place) noexcept nogil:
    # The count of the pretoken around `place`, which is not before the last one asked for.
    if place >= cursor.end:
        cursor.run = run_at(corpus.runs, cursor.run, corpus.n_runs, place)
        cursor.end = corpus.runs[cursor.run + 1].start
        cursor.count = corpus.runs[cursor.run].count
    return cursor.count


cdef inline size_t left_of(const uint32_t* node, size_t place) noexcept nogil:
    # The position of the token before the one at `place`, or of the sentinel before it.
    if node[place - 1] & LAST:
        return place - (node[place - 1] & ~LAST)
    return place - 1


cdef inline size_t get_place(const char* places, size_t i, bint wide) noexcept nogil:
    return (<const uint64_t*> places)[i] if wide else (<const uint32_t*> places)[i]


cdef inline void put_place(char* places, size_t i, bint wide, size_t place) noexcept nogil:
    if wide:
        (<uint64_t*> places)[i] = place
    else:
        (<uint32_t*> places)[i] = <uint32_t> place
