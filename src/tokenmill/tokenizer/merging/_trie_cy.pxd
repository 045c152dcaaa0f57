from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef enum:
    MAX_IDS = 0xFFFFFF  # in a double array

# A token: its first 8 bytes as a big-endian number, filled up with zeros, where its bytes are, how many, and its id.
cdef struct SortedToken:
    uint64_t key
    const uint8_t* start
    uint32_t size, id


cdef class SortedTokens:
    cdef SortedToken* items
    cdef size_t n

    # Sort tokens by their bytes; of equal ones the lowest id is first. Those whose start is NULL, and empty ones, are left out.
    cdef int sort(self, const uint8_t** starts, const uint32_t* sizes, size_t n) except -1
    # Set shorter[id] to the longest token that is a proper prefix of token `id`, or NO_ID.
    cdef int find_prefixes(self, uint32_t* shorter) except -1
    # The tokens, no two of which are equal, as a trie in a double array: the child of a node by a byte is at base ^ byte, if the
    # entry there is marked with the byte. No two nodes have the same base. An entry is base << 32 | mark << 24 | id + 1. The last
    # part is 0 if no token ends, the base is 0 where nothing follows; the root has no entry, and base 0. Sets the number of entries.
    cdef uint64_t* lay_out(self, size_t* size) except NULL


cdef bint same_token(const SortedToken* a, const SortedToken* b) noexcept nogil
