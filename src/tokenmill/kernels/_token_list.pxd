# The tokens of a long pretoken as a doubly linked list: joining two of them does not move the others.
from libc.stdint cimport uint32_t

cdef extern from *:
    """
    #define TM_NOTHING 0xFFFFFFFFu
    """
    const uint32_t NOTHING "TM_NOTHING"  # no node, and nothing due

# A token. Its index is that of its first symbol.
cdef struct Node:
    uint32_t id, prev, next
    uint32_t due  # the rank or event that is next for the token, or for the pair that begins with it


cdef inline void link_tokens(Node* nodes, const uint32_t* ids, uint32_t n) noexcept nogil:
    cdef uint32_t i
    for i in range(n):
        nodes[i] = Node(ids[i], i - 1 if i > 0 else NOTHING, i + 1 if i + 1 < n else NOTHING, NOTHING)


cdef inline void join_next(Node* nodes, uint32_t index, uint32_t id) noexcept nogil:
    # Join the token at `index` and the one after it to the token `id`.
    cdef uint32_t after = nodes[index].next
    nodes[after].due = NOTHING
    nodes[index].id = id
    nodes[index].next = nodes[after].next
    if nodes[index].next != NOTHING:
        nodes[nodes[index].next].prev = index


cdef inline Py_ssize_t list_ids(const Node* nodes, Py_ssize_t n, uint32_t* ids) noexcept nogil:
    # Write the ids of a list that began with n tokens. Returns their number.
    cdef Py_ssize_t i = 0
    cdef uint32_t index = 0 if n else NOTHING
    while index != NOTHING:
        ids[i] = nodes[index].id
        i += 1
        index = nodes[index].next
    return i
