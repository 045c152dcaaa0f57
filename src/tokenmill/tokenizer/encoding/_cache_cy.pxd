from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenmill.tokenizer.merging._merger_cy cimport Merger, Workspace

cdef enum:
    BATCH = 128  # pretokens that are looked up at once
    SCAN = 512  # pretokens that are cut at once: the scanner leaves some of the room unused

# A pretoken and its ids. `lo` and `hi` are the key (kernels/_pretoken_key.h); `hi` is 0 in an empty slot. The top byte of
# ids[3] is the number of ids, 1 to 4, that stand here; or 0: then ids[0] and ids[1] say where in the arena the record
# of the pretoken begins.
cdef struct Entry:
    uint64_t lo, hi
    uint32_t ids[4]

# In the arena: the bytes of a long pretoken (0 for one that is its own key), its ids, then those bytes.
cdef struct Record:
    uint32_t length, count


cdef class Seed:
    cdef Entry* entries
    cdef size_t used, slots  # slots: of the table that they fill
    cdef uint8_t* arena
    cdef size_t arena_used


cdef class PretokenCache:
    cdef Merger merger
    cdef Workspace work
    cdef Entry* entries
    cdef size_t slots, used
    cdef size_t reserved, arena_reserved  # bytes of addresses that the table and the arena can grow into
    cdef uint8_t* arena
    cdef size_t arena_used, arena_room
    cdef size_t bound  # of all bytes held
    cdef Seed seed  # what the cache begins with, and returns to when it is full
    cdef size_t cleared  # how often it was

    # The ids of the pretokens text[start:ends[0]], text[ends[0]:ends[1]], ... (n of them, at most BATCH) of a text that
    # ends at text[length], written to `out`, which has room for as many ids as the pretokens have bytes and 4 more.
    # Returns their number, or a negative number of _merge_cy.
    cdef Py_ssize_t encode(self, const uint8_t* text, size_t start, size_t length, const size_t* ends, Py_ssize_t n,
                           uint32_t* out) noexcept nogil
    cdef Py_ssize_t find(self, const uint8_t* pretoken, size_t length, const uint8_t* end, uint32_t* out) noexcept nogil
    cdef void prefetch(self, const uint8_t* pretoken, size_t length, const uint8_t* end) noexcept nogil
    cdef bint insert(self, const uint8_t* pretoken, size_t length, const uint8_t* end, const uint32_t* ids,
                     Py_ssize_t count) noexcept nogil
