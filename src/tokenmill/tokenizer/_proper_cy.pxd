from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenmill.tokenizer._merge_cy cimport Merger, Workspace

cdef enum:
    FEW = 16  # up to so many bytes, to merge them by scanning is as fast or faster, since it touches less memory
    WORDS = 4  # pieces of fewer than 64 times as many bytes need no memory of their own

# A token's last merge: its rank and its halves. A single byte has rank 0, others that of the merge plus 1.
cdef struct Origin:
    uint32_t rank, left, right


cdef class ProperMerger(Merger):
    cdef Origin* origins  # by id
    cdef uint32_t* sizes  # by id: bytes of the token
    cdef uint64_t* filter  # a bit for each hash of a pair, 16 times as many as pairs at least: set for those that exist
    cdef int filter_shift
    cdef uint32_t* shorter  # by id: the longest token that it begins with, or NO_ID
    # All tokens as a trie in a double array: the child of node i by a byte stands at (base of i) ^ byte, if that node
    # is marked with the byte. No two nodes have the same base. A node is base << 32 | mark << 24 | 1 << 21 | id, or
    # without the last two where no token ends there; base 0 where nothing follows.
    cdef uint64_t* trie
    cdef size_t trie_size

    cdef Py_ssize_t encode(self, const uint8_t* piece, size_t n, uint32_t* out, uint64_t* closed) noexcept nogil
