from libc.stdint cimport uint32_t

from tokenmill.training._corpus_cy cimport Corpus, put_place
from tokenmill.training._pairs_cy cimport Pairs


cdef struct Segment:
    char* places
    size_t size
    uint32_t next   # the one after it in its list, 0 for none

cdef struct Late:
    uint32_t list   # the further segments of a pair
    uint32_t entry  # its entry in `growth`, if that entry is of this pair

cdef struct Growth:
    uint32_t pair
    size_t size     # new positions of the pair in this step
    char* at        # where the next of them goes


cdef class Segments:
    cdef Pairs pairs
    cdef Late* late
    cdef size_t late_room
    cdef Growth* growth
    cdef size_t n_growth
    cdef Segment* segment
    cdef uint32_t n_segments
    cdef size_t segments_room
    cdef uint32_t free_entry
    cdef char* fresh
    cdef uint32_t* fresh_entry
    cdef size_t n_fresh
    cdef size_t fresh_room
    cdef size_t at
    cdef bint wide
    cdef char* gathered

    cdef int reserve(self, size_t more, size_t fresh) except -1 nogil
    cdef bint lay_out(self, size_t work) except? 0 nogil
    cdef int add(self, uint32_t* head, char* places, size_t size) except -1 nogil
    cdef size_t gather_pair(self, Corpus corpus, uint32_t pair) except? 0 nogil
    cdef size_t gather(self, Corpus corpus, uint32_t key, bint of_token, uint32_t* head) except? 0 nogil
    cdef int add_moved(self, uint32_t* head, char* places, size_t size, size_t offset) except -1 nogil
    cdef int take(self, uint32_t* head, Segment* taken) noexcept nogil


cdef inline void new_position(Segments self, uint32_t pair, size_t place) noexcept nogil:
    # A position that came up in this step. There is room for it: see `reserve`.
    cdef size_t entry = self.late[pair].entry
    if entry >= self.n_growth or self.growth[entry].pair != pair:
        entry = self.n_growth
        self.n_growth += 1
        self.growth[entry].pair = pair
        self.growth[entry].size = 0
        self.late[pair].entry = <uint32_t> entry
    self.growth[entry].size += 1
    put_place(self.fresh, self.n_fresh, self.wide, place)
    self.fresh_entry[self.n_fresh] = <uint32_t> entry
    self.n_fresh += 1
