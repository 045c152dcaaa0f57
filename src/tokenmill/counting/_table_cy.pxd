from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy

from tokenmill.kernels._platform cimport tm_mulhi
from tokenmill.kernels._pretoken_key cimport TM_CANONICAL, tm_hash, tm_key, tm_key_of, tm_long_key, tm_random_hash, tm_seed


cdef enum:
    # The top byte of a key's `hi`: 1 to 15 is a length; LONG means that the key is a hash (as in _pretoken_key.h).
    LONG = 0xFF
    MOST = 256  # additions in one call of `add_all`
    CACHED = 4096  # slots of the direct-mapped cache in front of the table


cdef struct Entry:
    uint64_t lo
    uint64_t hi
    uint64_t count
    uint64_t offset


cdef struct Addition:
    # Occurrences of a pretoken to add to a table: its key, their number and, of a LONG pretoken, its bytes.
    uint64_t lo
    uint64_t hi
    uint64_t count
    const uint8_t* pretoken
    size_t length


cdef inline void set_addition(const uint8_t* pretoken, size_t length, const uint8_t* end, Addition* out) noexcept nogil:
    """One occurrence of a pretoken; `end` is where readable memory ends."""
    cdef tm_key key = tm_key_of(pretoken, length, end, TM_CANONICAL)
    out.lo = key.lo
    out.hi = key.hi
    out.count = 1
    out.pretoken = pretoken
    out.length = length


cdef inline uint64_t canonical_hash(const Entry* entry) noexcept nogil:
    cdef tm_key key
    key.lo = entry.lo
    key.hi = entry.hi
    return tm_hash(key, TM_CANONICAL)


cdef class CountTable:
    cdef Entry* entries
    cdef readonly size_t slots
    cdef size_t used
    cdef size_t most             # the largest number of used slots
    cdef uint8_t* arena
    cdef size_t arena_used
    cdef size_t arena_size
    cdef readonly bint seeded    # whether the home slots come from a seeded hash, not the canonical one
    cdef tm_seed seed
    cdef size_t window_steps     # probes past the home slot, and additions, since both counts were last reset
    cdef size_t window_additions
    cdef readonly size_t steps   # probes past the home slot in all
    cdef Addition* cache         # of `count_cached`, empty between two calls of `count_text`
    cdef public uint64_t weight  # of each occurrence that is added
    cdef bint no_memory
    cdef bint overflow

    cdef Py_ssize_t count_cached(self, size_t slots, const uint8_t* text, size_t start, const size_t* ends, Py_ssize_t n,
                                 size_t readable, Addition* out) noexcept nogil
    cdef bint add_all(self, const Addition* additions, Py_ssize_t n) noexcept nogil
    cdef bint reserve_arena(self, size_t room) noexcept nogil
    cdef size_t keep(self, const uint8_t* pretoken, size_t length) noexcept nogil
    cdef void move(self, const Entry* entry, Entry* to, size_t slots) noexcept nogil
    cdef void reseed(self) noexcept nogil

    cdef inline bint has_room(self, size_t n) noexcept nogil:
        return self.used + n <= self.most and not self.no_memory

    cdef inline size_t length(self, const Entry* entry) noexcept nogil:
        cdef size_t length = entry.hi >> 56
        if length == LONG:
            memcpy(&length, self.arena + entry.offset, 8)
        return length

    cdef inline const uint8_t* bytes_of(self, const Entry* entry) noexcept nogil:
        """The bytes of the pretoken: in the arena, or in the key itself."""
        if (entry.hi >> 56) == LONG:
            return self.arena + entry.offset + 8
        return <const uint8_t*> entry

    cdef inline uint64_t seeded_hash(self, tm_key key, const uint8_t* pretoken, size_t length) noexcept nogil:
        if (key.hi >> 56) == LONG:  # the key itself may collide
            key = tm_long_key(pretoken, length, self.seed)
        return tm_random_hash(key, self.seed)

    cdef inline size_t home(self, const Entry* entry, size_t slots) noexcept nogil:
        cdef tm_key key
        key.lo = entry.lo
        key.hi = entry.hi
        if self.seeded:
            return tm_mulhi(self.seeded_hash(key, self.bytes_of(entry), self.length(entry)), slots)
        return tm_mulhi(tm_hash(key, TM_CANONICAL), slots)
