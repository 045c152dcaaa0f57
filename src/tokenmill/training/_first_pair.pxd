# The pair that each token was first made from, and the parts that a removed token splits into.
from libc.stdint cimport uint32_t


cdef struct FirstPair:
    uint32_t left
    uint32_t right
    bint removed    # whether the token is removed now


cdef inline size_t split_token(const FirstPair* first_pair, uint32_t id, uint32_t* parts, size_t length) noexcept nogil:
    # Write the parts of token `id` in order: the two tokens of its first pair, each split in turn if it is removed itself.
    # Return their number. `length`: the number of symbols that the token spans; `parts` has room for as many.
    # Tokens still to be split are stacked at the end of `parts`. Each spans a symbol that no part so far spans.
    cdef size_t n = 0, top = length - 2
    parts[top] = first_pair[id].left
    parts[top + 1] = first_pair[id].right
    while top < length:
        id = parts[top]
        if first_pair[id].removed:
            top -= 1
            parts[top] = first_pair[id].left
            parts[top + 1] = first_pair[id].right
        else:
            top += 1
            parts[n] = id
            n += 1
    return n
