from libc.stdint cimport uint32_t, uint64_t

from tokenmill.kernels._platform cimport tm_multiply
from tokenmill.training._corpus_cy cimport FREE
from tokenmill.training._pairs_cy cimport Pairs
from tokenmill.training._step_cy cimport Step, add_position
from tokenmill.training._tokens_cy cimport Tokens


cdef struct Link:  # of a chain: postings in one array, and the next link; 0 is the end
    char* positions
    size_t size
    uint32_t next


cdef class PickyLoop(Step):
    cdef uint64_t numerator
    cdef uint64_t denominator
    cdef bint unseen      # the current step merges into a new token
    # the chains of all pairs, without the newest postings of each, and the births of all tokens: their links in one table
    cdef uint32_t* chain  # by pair: the first link of its chain
    cdef size_t chains_room
    cdef Link* link
    cdef uint32_t n_links
    cdef size_t links_room
    cdef uint32_t free_link
    cdef char* gathered
    cdef size_t most_bytes

    cdef int _keep_births(self, Pairs pairs, Tokens tokens, uint32_t id) except -1 nogil
    cdef int _reserve_chains(self, Pairs pairs) except -1 nogil
    cdef int _retire(self, Pairs pairs, uint32_t pair) except -1 nogil
    cdef int _add_link(self, uint32_t* head, char* positions, size_t size) except -1 nogil
    cdef int _rewrite_postings(self, Pairs pairs, Tokens tokens) except -1 nogil
    cdef Py_ssize_t _gather(self, Pairs pairs, uint32_t* head, uint32_t key, bint of_token) except -1 nogil
    cdef Py_ssize_t _remove(self, Pairs pairs, Tokens tokens, uint32_t x, uint64_t times, uint64_t f) except -1 nogil
    cdef int _split_at(self, size_t position, size_t left, uint64_t count) except -1 nogil

    cdef inline void _put(self, size_t position, uint32_t value, uint64_t count) noexcept nogil:
        # Set the node at `position` to `value`. If that is a pair, it gains `count` occurrences.
        self.corpus.node[position] = value
        if value < FREE:
            self.n_fresh = add_position(self, self.pairs.pair, self.n_fresh, self.corpus.wide, value, position, count)


cdef inline bint reaches(uint64_t a, uint64_t b, uint64_t p, uint64_t q) noexcept nogil:
    # Return whether a / b >= p / q, exactly.
    cdef uint64_t left_high, right_high
    cdef uint64_t left_low = tm_multiply(a, q, &left_high), right_low = tm_multiply(p, b, &right_high)
    return left_high > right_high or (left_high == right_high and left_low >= right_low)
