from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t


cdef struct Token:
    uint64_t count   # f: occurrences in the corpus as it is segmented now; not kept for the alphabet
    size_t at        # its bytes, in `text`
    uint32_t length  # in bytes
    uint32_t span    # in nodes
    uint32_t left    # the pair it was first made from
    uint32_t right
    uint32_t births  # the list of segments with its positions, 0 for none
    bint removed

cdef struct Part:
    uint32_t token
    uint32_t held    # by the node of such a part, the last one's apart: what stands there depends on what comes next


cdef class Tokens:
    cdef Token* token
    cdef readonly size_t n_tokens
    cdef readonly size_t n_alphabet
    cdef readonly size_t n_removed
    cdef size_t room
    cdef uint8_t* text
    cdef size_t text_room
    cdef uint32_t* slots
    cdef size_t mask
    cdef Part* apart
    cdef size_t n_apart
    cdef size_t apart_room
    cdef int32_t* events
    cdef size_t n_events
    cdef size_t events_room

    cdef size_t join(self, uint32_t left, uint32_t right) except? 0 nogil
    cdef int remove(self, uint32_t id) except? -1 nogil
    cdef size_t _join(self, uint32_t left, uint32_t right) except? 0 nogil
    cdef int _take_apart(self, uint32_t id) except? -1 nogil
    cdef int _event(self, uint32_t a, uint32_t b, uint32_t c) except? -1 nogil
    cdef long long _add(self, size_t length) except? -1 nogil
    cdef void _make_room(self, size_t i) noexcept nogil
    cdef int _rehash(self) except? -1 nogil
    cdef uint64_t _hash(self, size_t at, size_t length) noexcept nogil
