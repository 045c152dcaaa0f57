from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from tokenmill.kernels._pretoken_key cimport tm_seed
from tokenmill.training._first_pair cimport FirstPair


cdef struct Token:
    uint64_t count   # f: occurrences in the corpus now; only in Picky BPE, and not for the alphabet
    size_t start     # of its bytes in `text`
    uint32_t births  # the first link of the chain of its positions, 0 for none (_picky_cy.py)
    uint32_t length  # in bytes
    uint32_t span    # in nodes
    uint32_t shape   # see `shape_of`; set if max_words is not 0

cdef struct Event:
    int32_t left     # in a removal, the removed token
    int32_t right    # in a removal, -1
    int32_t new      # in a removal, -1
    uint64_t[2] numbers  # of a merge, the count of the pair and 0; of a removal, its IoS as a / b


cdef class Tokens:
    cdef Token* token
    cdef FirstPair* first_pair
    cdef readonly uint32_t n_tokens
    cdef readonly size_t n_alphabet
    cdef readonly size_t n_removed
    cdef size_t max_bytes
    cdef size_t max_words
    cdef bint spread  # whether some token spans several nodes
    cdef size_t room
    cdef size_t first_pairs_room
    cdef uint8_t* text
    cdef size_t text_room
    cdef uint32_t* slots  # hash table of ids by the bytes: id + 1, or 0; NULL if no token is looked up
    cdef size_t mask
    cdef tm_seed seed
    cdef uint32_t* parts  # of the token removed last
    cdef uint32_t* part_values  # of the nodes of these parts, but for the last one: its value depends on the next token
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
        # Return whether the two tokens may merge.
        if <size_t> self.token[left].length + self.token[right].length > self.max_bytes:
            return False
        return self.max_words == 0 or joined(self.token[left].shape, self.token[right].shape) >> 2 <= self.max_words


cdef inline uint32_t joined(uint32_t left, uint32_t right) noexcept nogil:
    # The shape of two tokens together. A word may span both. 63 words stand for more.
    cdef uint32_t words = (left >> 2) + (right >> 2) - (left & right >> 1 & 1)
    return (words if words < 63 else 63) << 2 | left & 2 | right & 1
