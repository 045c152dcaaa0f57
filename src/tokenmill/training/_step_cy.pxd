from libc.stdint cimport uint32_t, uint64_t

from tokenmill.training._corpus_cy cimport Corpus, put_position
from tokenmill.training._pairs_cy cimport Pair, Pairs
from tokenmill.training._tokens_cy cimport Tokens

cdef extern from *:
    """
    #define TM_AHEAD 32
    #define TM_BETWEEN_LOOKS ((size_t)1 << 20)
    """
    # Nodes are prefetched this many postings ahead. Without this, 20 languages took twice as long (docs/experiments/training.md).
    const size_t AHEAD "TM_AHEAD"
    # Positions between two looks for Ctrl-C: 20 to 100 ms.
    const size_t BETWEEN_LOOKS "TM_BETWEEN_LOOKS"


cdef class Step:
    cdef readonly Corpus corpus
    cdef Pairs pairs
    cdef Tokens tokens
    cdef uint64_t least     # the count at which training ends
    cdef uint32_t number    # of the step: a pair whose record has this number has a successor
    cdef uint32_t x1, x2, x3
    cdef uint32_t swapped   # the pair (x2, x1), once a node held it
    cdef uint32_t after_swapped  # from then on, the pair (x3, x1)
    cdef uint32_t doubled   # and the pair (x3, x3)
    # the positions to visit; with `keep_live`, the live ones are moved to the front
    cdef char* positions
    cdef size_t size
    cdef bint keep_live
    cdef size_t live
    cdef uint64_t moved     # occurrences of the pair so far
    # the new positions in the order of the visit, with their pairs; and the pairs that have some
    cdef char* fresh
    cdef uint32_t* fresh_pair
    cdef size_t n_fresh
    cdef size_t fresh_room
    cdef uint32_t* grown
    cdef size_t n_grown
    cdef size_t grown_room

    cdef int visit(self, char* positions, size_t size, size_t known, size_t n_new) except -1 nogil
    cdef Py_ssize_t step(self, Pairs pairs, Tokens tokens, uint32_t merged) except -1 nogil
    cdef int merge_at(self, uint32_t merged, uint32_t new) except -1 nogil
    cdef uint32_t successor(self, uint32_t left, uint32_t right) except 0 nogil
    cdef int _set_successor(self, uint32_t old, bint on_left) except -1 nogil
    cdef int lay_out(self) except -1 nogil


cdef inline size_t add_position(
    Step self, Pair* pair, size_t n_fresh, bint wide, uint32_t id, size_t position, uint64_t count) noexcept nogil:
    # Add a new position to the pair `id`. Return the number of new positions.
    if pair[id].size == 0:
        self.grown[self.n_grown] = id
        self.n_grown += 1
    pair[id].size += 1
    pair[id].count += count
    put_position(self.fresh, n_fresh, wide, position)
    self.fresh_pair[n_fresh] = id
    return n_fresh + 1
