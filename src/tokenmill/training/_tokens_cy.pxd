from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from tokenmill.kernels._pretoken_key cimport tm_seed
from tokenmill.training._take_apart cimport Made


cdef struct Token:
    uint64_t count   # f: occurrences in the corpus as it is segmented now; not kept for the alphabet
    size_t at        # its bytes, in `text`
    uint32_t length  # in bytes
    uint32_t span    # in nodes
    uint32_t births  # the list of segments with its positions, 0 for none

cdef struct Part:
    uint32_t token
    uint32_t held    # by the node of such a part; the last one's depends on what comes next


cdef class Tokens:
    cdef Token* token
    cdef Made* made
    cdef readonly uint32_t n_tokens
    cdef readonly size_t n_alphabet
    cdef readonly size_t n_removed
    cdef size_t room
    cdef size_t made_room
    cdef uint8_t* text
    cdef size_t text_room
    cdef uint32_t* slots  # by hash of the bytes: id + 1, or 0
    cdef size_t mask
    cdef tm_seed seed
    cdef Part* apart  # what the token removed last was taken apart into
    cdef size_t n_apart
    cdef size_t apart_room
    cdef uint32_t* parts
    cdef size_t parts_room
    cdef int32_t* events
    cdef size_t n_events
    cdef size_t events_room
    cdef uint64_t[2] noted  # what the next event is taken for: see number_bytes
    cdef uint64_t* numbers
    cdef size_t numbers_room

    cdef uint32_t join(self, uint32_t left, uint32_t right) except? 0 nogil
    cdef int remove(self, uint32_t id) except -1 nogil
    cdef uint32_t _add_known(self, bytes data, uint32_t span) except? 0
    cdef uint32_t* _slot_of(self, uint32_t id) noexcept nogil
    cdef int _event(self, uint32_t a, uint32_t b, uint32_t c) except -1 nogil
    cdef uint32_t _add(self, size_t length) except? 0 nogil
    cdef int _rehash(self) except -1 nogil
