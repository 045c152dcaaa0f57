from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy
from tokenmill.counting._pages cimport tm_mulhi
from tokenmill.counting._recent cimport tm_addition, tm_recent
from tokenmill.kernels._pretoken_key cimport TM_CANONICAL, tm_hash, tm_key


cdef enum:
    # The top byte of a key's `hi`: 1 to 15 is a length, LONG says that the key is a hash (as in _pretoken_key.h), EMPTY
    # that the pretoken has no bytes (only mappings made by hand have such a pretoken).
    LONG = 0xFF
    EMPTY = 0xFE
    MOST = 256  # added at once
    RECENT = 4096  # pretokens that _count_cy remembers before the table


cdef struct Entry:
    uint64_t lo
    uint64_t hi
    uint64_t count
    uint64_t place


cdef inline uint64_t hash_of(const Entry* entry) noexcept nogil:
    cdef tm_key key
    key.lo = entry.lo
    key.hi = entry.hi
    return tm_hash(key, TM_CANONICAL)


cdef class CountTable:
    cdef Entry* entries
    cdef readonly size_t slots
    cdef size_t used
    cdef size_t most             # how many slots may be used
    cdef uint8_t* arena
    cdef size_t arena_used
    cdef size_t arena_size
    cdef size_t reserved         # bytes of addresses into which the entries may grow where they stand
    cdef Entry* next             # the larger table while growing; the same as `entries` where it grows in place
    cdef size_t next_slots
    cdef size_t next_reserved
    cdef size_t moved
    cdef Entry* aside            # entries that find their place last, while growing in place
    cdef size_t n_aside
    cdef size_t aside_room
    cdef size_t wrapped          # once sorted: how many entries at the front belong behind the last slot
    cdef int part
    cdef int part_bits
    cdef tm_recent* recent       # of _count_cy
    cdef bint no_memory
    cdef bint overflow

    cdef bint put_aside(self, const Entry* entry) noexcept nogil
    cdef bint widen(self, size_t stop) noexcept nogil
    cdef bint add_all(self, const tm_addition* some, Py_ssize_t n) noexcept nogil
    cdef bint reserve_arena(self, size_t room) noexcept nogil
    cdef size_t keep(self, const uint8_t* pretoken, size_t length) noexcept nogil
    cdef bint same(self, const Entry* entry, const uint8_t* pretoken, size_t length) noexcept nogil

    cdef inline bint has_room(self, size_t n) noexcept nogil:
        return self.used + n <= self.most and not self.no_memory

    cdef inline size_t home(self, uint64_t hash, size_t slots) noexcept nogil:
        return tm_mulhi(hash << self.part_bits, slots)

    cdef inline size_t length(self, const Entry* entry) noexcept nogil:
        cdef size_t length = entry.hi >> 56
        if length == LONG:
            memcpy(&length, self.arena + entry.place, 8)
        elif length == EMPTY:
            length = 0
        return length

    cdef inline const uint8_t* bytes_of(self, const Entry* entry) noexcept nogil:
        """The bytes of the pretoken: in the arena, or in the key itself."""
        if (entry.hi >> 56) == LONG:
            return self.arena + entry.place + 8
        return <const uint8_t*> entry
