from libc.stdint cimport uint8_t, uint32_t

# Set prefixes[id] to the longest token that is a proper prefix of token `id`, or NO_ID. Of equal tokens the lowest id counts.
# starts, sizes: the bytes of each of n tokens. A token whose start is NULL, or that is empty, is left out.
cdef int find_prefixes(const uint8_t** starts, const uint32_t* sizes, size_t n, uint32_t* prefixes) except -1
