# What remains of a token that is removed.
from libc.stdint cimport uint32_t


cdef struct Made:
    uint32_t left   # the pair that the token was first made from
    uint32_t right
    bint removed    # now


cdef inline size_t take_apart(const Made* made, uint32_t id, uint32_t* parts, size_t length) noexcept nogil:
    # Writes the parts of token `id`, in order: the two tokens it was first made from, each taken apart in turn if it is
    # removed itself. Returns their number. `length`: how many symbols the token spans; `parts` has room for as many.
    # Tokens still to be looked at are stacked at the end of `parts`; each spans a symbol that no part so far spans.
    cdef size_t n = 0, top = length - 2
    parts[top] = made[id].left
    parts[top + 1] = made[id].right
    while top < length:
        id = parts[top]
        if made[id].removed:
            top -= 1
            parts[top] = made[id].left
            parts[top + 1] = made[id].right
        else:
            top += 1
            parts[n] = id
            n += 1
    return n
