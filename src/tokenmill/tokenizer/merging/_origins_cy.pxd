from libc.stdint cimport uint32_t

from tokenmill.tokenizer.merging._merger_cy cimport Merger

# How a token was merged: the rank and the two parts, and its length in bytes. A single byte has rank 0, others that of
# their merge plus 1. A token that is not built yet has size 0.
cdef struct Origin:
    uint32_t rank, left, right, size


cdef class Origins:
    cdef Merger merger
    cdef Origin* of  # by id

    # Let `left` and `right` merge to the token `id`: to be called in order of rank. False if memory runs out.
    cdef bint make(self, uint32_t left, uint32_t right, uint32_t rank, uint32_t id) noexcept
    # Whether two tokens are built, and merging the text of the two alone leaves them side by side, by what was built so far.
    cdef bint compatible(self, uint32_t left, uint32_t right) noexcept
    # 1 for each id whose token is built, else 0.
    cdef bytes built(self)
