from libc.stdint cimport uint32_t

from tokenmill.tokenizer.merging._merger_cy cimport Merger

# The merge of a token: its rank plus 1, the left and the right token, and the length of the token in bytes. The rank of a single
# byte is 0. A token that is not built yet has size 0.
cdef struct Origin:
    uint32_t rank, left, right, size


cdef class Origins:
    cdef Merger merger
    cdef Origin* origin  # by id

    # Fetch what `compatible` and `add` need of two tokens.
    cdef void prefetch(self, uint32_t left, uint32_t right) noexcept
    # Add the merge of `left` and `right` to the token `id`: to be called in order of rank. False if memory runs out.
    cdef bint add(self, uint32_t left, uint32_t right, uint32_t rank, uint32_t id) noexcept
    # True if two tokens are built, and merging the text of the two alone by the merges so far leaves them side by side.
    cdef bint compatible(self, uint32_t left, uint32_t right) noexcept
    # 1 for each id whose token is built, else 0.
    cdef bytes built(self)
