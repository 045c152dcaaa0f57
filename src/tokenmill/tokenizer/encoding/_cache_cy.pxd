from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenmill.kernels._pretoken_key cimport tm_key, tm_seed
from tokenmill.tokenizer.encoding._cutter_cy cimport Cutter
from tokenmill.tokenizer.merging._merger_cy cimport Merger, Workspace

cdef enum:
    COUNT_SHIFT = 24
    ID_MASK = 0xFFFFFF
    BATCH = 128  # pretokens that are looked up at once
    SCAN = 512  # pretokens that are cut at once: the scanner leaves some of the room unused
    MAX_LENGTH = 4096  # bytes of a cached pretoken; longer ones hardly ever occur twice

cdef extern from *:
    """
    #define TM_ADDED_END (~(SIZE_MAX >> 1))
    """
    const size_t ADDED_END "TM_ADDED_END"  # the top bit of an end: of an added token among the pretokens

# A pretoken and its ids. `lo` and `hi` are its key (kernels/_pretoken_key.h); `hi` is 0 in an empty slot. The top byte of
# ids[3] (above COUNT_SHIFT) is the number of ids, 1 to 4, that are in the entry; if it is 0, ids[0] and ids[1] are the
# offset of the pretoken's record in the arena.
cdef struct Entry:
    uint64_t lo, hi
    uint32_t ids[4]

# A record in the arena. The ids follow, then `length` bytes: those of a long pretoken, none of one that is its own key.
cdef struct Record:
    uint32_t length, count


cdef class PretokenCache:
    cdef Merger merger
    cdef Workspace work
    cdef tm_seed seed  # of the hash
    cdef Entry* entries
    cdef size_t slots, used
    cdef uint8_t* arena
    cdef size_t arena_used, arena_room
    cdef size_t limit  # of all bytes in memory; 0: nothing is added
    cdef Cutter cutter  # of long pretokens; None for none
    cdef size_t uncut  # bytes of pretokens, of scripts without spaces, that were merged
    cdef object seeds  # adds n_seeds pretokens after `patience` others were merged; None if no pretokens are known
    cdef size_t n_seeds, patience
    cdef PretokenCache model  # whose initial entries this one shares; None if it has its own, which follow
    cdef bytes initial, initial_arena  # the entries and the arena to return to
    cdef Entry* initial_entries
    cdef uint8_t* initial_records  # the arena
    cdef uint32_t* index  # the number of each initial entry, plus 1, by the low bits of its hash; 0 in an empty slot
    cdef size_t index_mask
    cdef uint32_t out_ends[BATCH]  # where the ids of each pretoken of the last batch end in its `out`
    cdef size_t initial_used, initial_arena_used
    cdef bint takes_added  # whether added tokens may be among the pretokens of `encode`
    cdef const uint32_t* added  # their ids, at the indices of their ends
    cdef bytes missing  # the first byte or character without a token in the pretoken that could not be merged

    cdef int make_index(self) except -1  # for the caches that share
    cdef PretokenCache copy(self)  # a cache for another thread, which shares the initial entries of this one
    cdef void set_limit(self, size_t limit) noexcept
    # Whether it is time to build the cutter. span: the bytes of the pretokens that were just scanned.
    cdef bint wants_cutter(self, size_t span) noexcept nogil

    # The ids of the pretokens text[start:ends[0]], text[ends[0]:ends[1]], ... (n of them, at most BATCH) of a text that
    # ends at text[length], written to `out`, which has room for as many ids as the pretokens have bytes and 4 more.
    # Returns their number, or a negative number of _merger_cy. Added tokens may be among them, marked by ADDED_END, if
    # `takes_added`; then their ids are in `added`, at the same indices.
    cdef Py_ssize_t encode(self, const uint8_t* text, size_t start, size_t length, const size_t* ends, Py_ssize_t n,
                           uint32_t* out) noexcept nogil
    # The ids of one pretoken that is not in its home slot, or whose ids do not fit there. A new pretoken is merged. Its text
    # ends at `end`; `out` has room for 4 ids more than it has bytes.
    cdef Py_ssize_t seek(self, const uint8_t* pretoken, size_t length, tm_key key, uint64_t hash, const uint8_t* end,
                         uint32_t* out) noexcept nogil
    # The ids of a pretoken if it is in the cache, otherwise 0; nothing is merged. `out` has room for 4 ids.
    cdef Py_ssize_t find(self, const uint8_t* pretoken, size_t length, tm_key key, uint64_t hash, uint32_t* out) noexcept nogil
    cdef bint reserve(self, size_t n) noexcept nogil  # at least n slots; false if memory runs out
    # Add a token as a pretoken, unless it is in the cache. False if memory runs out.
    cdef bint put_token(self, const uint8_t* token, size_t length, tm_key key, uint64_t hash, uint32_t id) noexcept nogil
