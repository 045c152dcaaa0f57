from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenmill.tokenizer.merging._merger_cy cimport Merger
from tokenmill.tokenizer.merging._trie_cy cimport Trie

cdef enum:
    # Up to so many bytes, to merge them by scanning is as fast or faster, since it touches less memory. Where they are
    # not ASCII, tokens have fewer characters, so that the way through the trie is shorter.
    FEW = 16
    FEW_WIDE = 12
    WORDS = 4  # pretokens of fewer than 64 times as many bytes need no memory of their own

# A token's last merge: its rank and its halves, and its bytes. A single byte has rank 0, others that of the merge plus
# 1; a token that is not made yet has size 0.
cdef struct Origin:
    uint32_t rank, left, right, size


cdef class ProperMerger(Merger):
    cdef void* block  # the memory of byte_pairs and of the next three, together to be on huge pages
    cdef size_t block_size
    cdef Origin* origins  # by id
    cdef uint64_t* filter  # a bit for each hash of a pair, 16 times as many as pairs at least: set for those that exist
    cdef int filter_shift
    cdef uint32_t* shorter  # by id: the longest token that it begins with, or NO_ID
    cdef uint64_t* trie  # see Trie.lay_out
    cdef size_t trie_size

    # Let `left` and `right` merge to the token `id`: to be called in order of rank. False where there is no memory.
    cdef bint make(self, uint32_t left, uint32_t right, uint32_t rank, uint32_t id) noexcept
    # Whether merging leaves these two tokens side by side in the text of the two, by what was made so far.
    cdef bint fit(self, uint32_t left, uint32_t right) noexcept nogil
    cdef int finish(self, Trie trie) except -1  # after the last token; the trie has all that were made, and the bytes
    cdef Py_ssize_t encode(self, const uint8_t* pretoken, size_t n, uint32_t* out, uint64_t* closed) noexcept nogil
