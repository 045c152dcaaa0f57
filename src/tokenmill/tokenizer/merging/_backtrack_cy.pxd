from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenmill.tokenizer.merging._merger_cy cimport Merger, Workspace
from tokenmill.tokenizer.merging._trie_cy cimport SortedTokens

cdef enum:
    # Pretokens of up to SCAN_BYTES bytes, of which the first merges leave at most SCAN parts, are merged pair by pair: that touches
    # less memory.
    SCAN_BYTES = 48
    SCAN = 16
    WORDS = 4  # pretokens of fewer than 64 times as many bytes need no memory of their own

# How a token was merged: the rank and the two parts, and its length in bytes. A single byte has rank 0, others that of
# their merge plus 1. A token that is not built yet has size 0.
cdef struct Origin:
    uint32_t rank, left, right, size


cdef class BacktrackMerger(Merger):
    cdef Origin* origins  # by id
    cdef object finisher  # called with this merger, calls `finish`; None once it has
    cdef bint ready  # it has
    cdef uint32_t* shorter  # by id: the longest token that is a proper prefix of it, or NO_ID
    cdef uint64_t* trie  # see SortedTokens.lay_out
    cdef size_t trie_size

    # Let `left` and `right` merge to the token `id`: to be called in order of rank. False if memory runs out.
    cdef bint make(self, uint32_t left, uint32_t right, uint32_t rank, uint32_t id) noexcept
    # Whether merging the text of these two tokens leaves the two side by side, by what was built so far.
    cdef bint compatible(self, uint32_t left, uint32_t right) noexcept nogil
    cdef int finish(self, SortedTokens tokens) except -1  # after the last token: all that were built, and the bytes
    cdef int prepare(self) except -1  # call the finisher, once
    # The tokens of a pretoken; bytes without a token have ids from n_ids on.
    cdef Py_ssize_t find_tokens(self, const uint8_t* pretoken, size_t n, uint32_t* out, Workspace* work) noexcept nogil
    cdef Py_ssize_t encode(self, const uint8_t* pretoken, size_t n, uint32_t* out, uint64_t* dead) noexcept nogil
