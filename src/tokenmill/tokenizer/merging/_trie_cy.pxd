from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef struct Node:
    uint32_t parent, first, sibling, id, slot
    uint8_t label


cdef class Trie:
    cdef Node* nodes
    cdef size_t n
    cdef uint32_t* table  # the nodes by parent and label
    cdef int shift

    cdef void insert(self, const uint8_t* pretoken, Py_ssize_t size, uint32_t id) noexcept
    # The ids of the tokens pretoken[0:1], pretoken[0:2], ..., NO_ID where none is; returns how many were written: the
    # longer ones are no tokens.
    cdef Py_ssize_t prefixes(self, const uint8_t* pretoken, Py_ssize_t size, uint32_t* ids) noexcept
    # All tokens in a double array: the child of node i by a byte stands at (base of i) ^ byte, if that node is marked
    # with the byte. No two nodes have the same base. A node is base << 32 | mark << 24 | 1 << 21 | id, or without the
    # last two where no token ends there; base 0 where nothing follows, and for the root, which stands nowhere. Sets
    # shorter[id] to the longest token that a token begins with, or NO_ID, and the number of nodes.
    cdef uint64_t* lay_out(self, uint32_t* shorter, size_t* size) except NULL
