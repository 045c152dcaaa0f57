# The tokens of a long pretoken as a doubly linked list: joining two of them does not move the others.
from libc.stdint cimport uint32_t

cdef extern from *:
    """
    #define TM_NOTHING 0xFFFFFFFFu
    """
    const uint32_t NOTHING "TM_NOTHING"  # no place, and nothing due

# A token, at the place of its first symbol.
cdef struct Node:
    uint32_t id, prev, next
    uint32_t due  # the rank or event that is next for the token, or for the pair that begins with it


cdef inline void link_tokens(Node* nodes, const uint32_t* ids, uint32_t n) noexcept nogil:
    cdef uint32_t i
    for i in range(n):
        nodes[i] = Node(ids[i], i - 1 if i > 0 else NOTHING, i + 1 if i + 1 < n else NOTHING, NOTHING)


cdef inline void join_next(Node* nodes, uint32_t place, uint32_t id) noexcept nogil:
    # Makes the token at `place` and the one after it the token `id`.
    cdef uint32_t gone = nodes[place].next
    nodes[gone].due = NOTHING
    nodes[place].id = id
    nodes[place].next = nodes[gone].next
    if nodes[place].next != NOTHING:
        nodes[nodes[place].next].prev = place


cdef inline Py_ssize_t list_ids(const Node* nodes, Py_ssize_t n, uint32_t* ids) noexcept nogil:
    # Writes the ids of a list that began with n tokens; returns how many there are now.
    cdef Py_ssize_t i = 0
    cdef uint32_t place = 0 if n else NOTHING
    while place != NOTHING:
        ids[i] = nodes[place].id
        i += 1
        place = nodes[place].next
    return i
