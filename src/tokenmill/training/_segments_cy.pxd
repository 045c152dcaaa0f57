from libc.stdint cimport uint32_t

from tokenmill.training._corpus_cy cimport Corpus
from tokenmill.training._pairs_cy cimport Pairs

cdef extern from *:
    """
    #define TM_COMPARE(name, type) \\
        static inline int name(const void *a, const void *b) { \\
            return (*(const type *)a > *(const type *)b) - (*(const type *)a < *(const type *)b); \\
        }
    TM_COMPARE(tm_compare_narrow, uint32_t)
    TM_COMPARE(tm_compare_wide, uint64_t)
    """
    int compare_narrow "tm_compare_narrow" (const void*, const void*) noexcept nogil
    int compare_wide "tm_compare_wide" (const void*, const void*) noexcept nogil

cdef struct Segment:
    char* places
    size_t size
    uint32_t next   # the one after it in its list, 0 for none


cdef class Segments:
    cdef Pairs pairs
    cdef uint32_t* late  # by pair: the list of its older segments, 0 for none
    cdef size_t late_room
    cdef Segment* segment
    cdef uint32_t n_segments
    cdef size_t segments_room
    cdef uint32_t free_entry
    cdef bint wide
    cdef char* gathered

    cdef int reserve(self) except -1 nogil
    cdef int retire(self, uint32_t pair) except -1 nogil
    cdef int add(self, uint32_t* head, char* places, size_t size) except -1 nogil
    cdef size_t gather_pair(self, Corpus corpus, uint32_t pair) except? 0 nogil
    cdef size_t gather(self, Corpus corpus, uint32_t key, bint of_token, uint32_t* head) except? 0 nogil
    cdef int add_moved(self, uint32_t* head, char* places, size_t size, size_t offset) except -1 nogil
    cdef int take(self, uint32_t* head, Segment* taken) noexcept nogil
