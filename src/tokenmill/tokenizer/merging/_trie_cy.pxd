from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenmill.kernels._pair_map cimport tm_pair_map

cdef enum:
    MAX_IDS = 0xFFFFFF  # in a double array

cdef struct Node:
    uint32_t first, sibling, id, slot
    uint8_t label


cdef class Trie:
    cdef Node* nodes
    cdef size_t n
    cdef uint32_t* ends  # by id: the node of a token that was inserted
    cdef tm_pair_map children  # (node, label) -> node

    # Insert the token `id`: the text of the node, and token[0:size] after it.
    cdef int insert(self, uint32_t node, const uint8_t* token, Py_ssize_t size, uint32_t id) except -1
    # The ids of the tokens text[0:1], text[0:2], ..., NO_ID if there is none. Returns how many were written: no longer
    # prefix is a token.
    cdef Py_ssize_t prefixes(self, const uint8_t* text, Py_ssize_t size, uint32_t* ids) noexcept
    # All tokens in a double array: the child of a node by a byte is at base ^ byte, if the entry there is marked with the
    # byte. No two nodes have the same base. An entry is base << 32 | mark << 24 | id + 1. The last part is 0 if no token
    # ends, the base is 0 where nothing follows; the root has no entry, and base 0. Sets shorter[id] to the longest token that
    # is a prefix of token `id`, or NO_ID, and the number of entries.
    cdef uint64_t* lay_out(self, uint32_t* shorter, size_t* size) except NULL
