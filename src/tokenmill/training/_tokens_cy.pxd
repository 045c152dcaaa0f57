from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from tokenmill.kernels._pretoken_key cimport tm_seed
from tokenmill.training._take_apart cimport Made


cdef struct Token:
    uint64_t count   # f: occurrences in the corpus as it is segmented now; kept by Picky BPE, but not for the alphabet
    size_t at        # its bytes, in `text`
    uint32_t births  # the list of segments with its positions, 0 for none
    uint32_t length  # in bytes
    uint32_t span    # in nodes
    uint32_t shape   # see `shape_of`; kept where words are limited

cdef struct Event:
    int32_t left     # or the token that is removed
    int32_t right    # -1 in a removal, as `new`
    int32_t new
    uint64_t[2] numbers  # of a merge, the count of the pair and 0; of a removal, its IoS as a / b


cdef class Tokens:
    cdef Token* token
    cdef Made* made
    cdef readonly uint32_t n_tokens
    cdef readonly size_t n_alphabet
    cdef readonly size_t n_removed
    cdef size_t max_bytes
    cdef size_t max_words
    cdef bint spread  # some token spans several nodes
    cdef size_t room
    cdef size_t made_room
    cdef uint8_t* text
    cdef size_t text_room
    cdef uint32_t* slots  # by hash of the bytes: id + 1, or 0; NULL where no token is looked up
    cdef size_t mask
    cdef tm_seed seed
    cdef uint32_t* parts  # of the token removed last
    cdef uint32_t* held   # by the nodes of these parts; the last one's depends on what comes next
    cdef size_t n_parts
    cdef size_t parts_room
    cdef Event* event
    cdef size_t n_events
    cdef size_t events_room

    cpdef uint32_t join(self, uint32_t left, uint32_t right, uint64_t count) except? 0 nogil
    cdef size_t remove(self, uint32_t id, uint64_t a, uint64_t b) except 0 nogil
    cdef uint32_t* _slot_of(self, uint32_t id) noexcept nogil
    cdef int _add_event(self, uint32_t left, uint32_t right, uint32_t new, uint64_t a, uint64_t b) except -1 nogil
    cdef uint32_t _add(self, size_t length) except? 0 nogil
    cdef int _rehash(self) except -1 nogil

    cdef inline bint fits(self, uint32_t left, uint32_t right) noexcept nogil:
        # Whether the two tokens may merge.
        if <size_t> self.token[left].length + self.token[right].length > self.max_bytes:
            return False
        return self.max_words == 0 or joined(self.token[left].shape, self.token[right].shape) >> 2 <= self.max_words


cdef inline uint32_t joined(uint32_t left, uint32_t right) noexcept nogil:
    # The shape of two tokens together. Where no space is between them, a word goes on. 63 words stand for more.
    cdef uint32_t words = (left >> 2) + (right >> 2) - (left & right >> 1 & 1)
    return (words if words < 63 else 63) << 2 | left & 2 | right & 1
