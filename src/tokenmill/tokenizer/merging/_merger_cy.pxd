from libc.stdint cimport uint8_t, uint32_t, uint64_t

cdef extern from *:
    """
    static inline int tm_check_signals(void) { return PyErr_CheckSignals(); }
    static inline int tm_raise_pending(void) { return PyErr_Occurred() ? -1 : 0; }
    """
    int tm_check_signals() noexcept
    int tm_raise_pending() except -1  # raise the exception that a handler of signals has set

cdef enum:
    ID_BITS = 21
    NO_ID = 0x1FFFFF  # no token, or no rank: above every id and every rank
    SHORT = 128  # parts that are merged on an array
    LONGEST = 0x40000000  # bytes of a pretoken
    NO_MEMORY = -1
    NO_TOKEN = -2  # a byte or a character that the vocabulary does not have, and no unknown token
    SIGNALLED = -3  # a handler of signals raised: call tm_raise_pending with the GIL
    TOO_LONG = -4  # a pretoken of LONGEST bytes or more

# Memory that a merge works in: grows to what the longest pretoken needed, kept by whoever calls.
cdef struct Workspace:
    uint8_t* memory
    size_t room

# A part or token of a long pretoken at its place; `rank` is that of the pair that begins here.
cdef struct Node:
    uint32_t id, prev, next, rank


cdef class Merger:
    cdef uint32_t byte_ids[256]
    cdef uint32_t* byte_pairs  # the rank of two bytes: byte_pairs[left << 8 | right]
    cdef uint32_t* made  # the id that the merge of a rank makes
    cdef uint32_t* characters  # the id of each code point, where the alphabet is characters
    cdef uint32_t n_ranks, n_characters
    cdef uint32_t n_ids  # ids from here on stand for bytes and characters that have no token
    cdef uint32_t unknown  # given out in their place, or NO_ID
    cdef uint64_t* pairs  # open addressing: left << 42 | right << 21 | rank
    cdef size_t pair_slots, n_pairs
    cdef int pair_shift
    cdef bint complete  # every byte has a token

    # The rank of a pair, or NO_ID.
    cdef uint32_t pair_rank(self, uint32_t left, uint32_t right) noexcept nogil
    cdef bint add_pair(self, uint32_t left, uint32_t right, uint32_t rank) noexcept nogil
    cdef bint finish_pairs(self) noexcept nogil
    cdef Py_ssize_t parts(self, const uint8_t* pretoken, size_t n, uint32_t* ids) noexcept nogil
    # The ids of pretoken[0:n], n >= 1, written to `out`, which has room for n. Returns their number, or one of the
    # negative numbers above.
    cdef Py_ssize_t merge(self, const uint8_t* pretoken, size_t n, uint32_t* out, Workspace* work) noexcept nogil
    # The same for parts in place. `pretoken` are their bytes, or NULL if they are characters.
    cdef Py_ssize_t merge_parts(self, uint32_t* ids, Py_ssize_t n, const uint8_t* pretoken, Workspace* work) noexcept nogil


cdef bint reserve(Workspace* work, size_t size) noexcept nogil  # room for `size` bytes; false without memory
cdef void release(Workspace* work, size_t keep) noexcept nogil  # gives the memory back if it is more than `keep` bytes
cdef bint signalled() noexcept nogil  # whether a handler of signals raised


cdef inline uint64_t hash_of(uint32_t left, uint32_t right) noexcept nogil:
    """Its upper bits are well mixed."""
    return (<uint64_t>left << ID_BITS | right) * <uint64_t>0x9E3779B97F4A7C15


cdef inline uint64_t slot_of(Merger merger, uint32_t left, uint32_t right) noexcept nogil:
    """Where the table of pairs has (left, right), or the search for it begins."""
    return hash_of(left, right) >> merger.pair_shift


cdef inline uint32_t pair_in(Merger merger, uint32_t left, uint32_t right) noexcept nogil:
    """The rank of a pair, or NO_ID."""
    cdef uint64_t key = <uint64_t>left << ID_BITS | right
    cdef uint64_t slot = slot_of(merger, left, right)
    cdef uint64_t found = merger.pairs[slot]
    while found >> ID_BITS != key:
        if found == <uint64_t>0xFFFFFFFFFFFFFFFF:  # empty
            return NO_ID
        slot = slot + 1 & merger.pair_slots - 1
        found = merger.pairs[slot]
    return <uint32_t>(found & NO_ID)
