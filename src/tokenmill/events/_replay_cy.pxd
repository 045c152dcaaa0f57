from libc.stdint cimport int32_t, uint32_t, uint64_t

from tokenmill.kernels._pair_map cimport tm_pair_map
from tokenmill.kernels._token_list cimport Node
from tokenmill.training._first_pair cimport FirstPair

cdef enum:
    SHORT_REPLAY = 128  # symbols that replay_short takes
    SIGNALLED_REPLAY = -1  # returned by a replay when a signal handler raised: call raise_signalled

cdef struct Event:
    uint32_t left    # of the merged pair, or the removed token
    uint32_t right   # NO_EVENT in a removal
    uint32_t result  # the new token, or in a removal the index of its part list
    uint32_t start   # in the first event of a pair or token with several: their index in `by_key`, plus 1; else 0

cdef struct PartList:
    size_t start  # in `part_ids`
    uint32_t size


cdef class EventTable:
    cdef bint by_rank
    cdef Event* event
    cdef uint32_t n_events, n_ids
    cdef tm_pair_map pairs  # (left, right) -> the first event that merges them
    cdef uint32_t* removal  # by id: the first event that removes it, or NO_EVENT
    cdef uint32_t* length  # by id: its number of symbols
    cdef uint32_t[::1] by_key  # all events, grouped by pair or token, each group in training order
    cdef uint32_t[::1] sizes   # by the first event of a pair or token: the size of the group
    cdef PartList* part_lists  # the tokens that each removal leaves; equal lists of a token are stored once
    cdef size_t n_part_lists, part_lists_room
    cdef uint32_t* part_ids
    cdef size_t n_part_ids, part_ids_room

    # Replay all events over the n symbols `ids`, in place. Return the number of ids, or SIGNALLED_REPLAY. If `happened` is
    # not NULL, add `weight` to happened[event] each time an event applies. `memory` has replay_memory(n) bytes.
    cdef Py_ssize_t replay_short(self, uint32_t* ids, Py_ssize_t n, uint64_t* happened, uint64_t weight) noexcept nogil
    cdef Py_ssize_t replay_long(
        self, uint32_t* ids, Py_ssize_t n, void* memory, uint64_t* happened, uint64_t weight) noexcept nogil

    cdef int _load(self, const int32_t[:, ::1] events) except -1
    cdef int _add_merge(self, uint32_t event, FirstPair* first_pair) except -1
    cdef uint32_t _add_removal(self, uint32_t event, FirstPair* first_pair, uint32_t latest) except 0


cdef inline size_t replay_memory(size_t n) noexcept nogil:
    return n * sizeof(Node) + heap_room(n) * sizeof(uint64_t)


cdef inline size_t heap_room(size_t n) noexcept nogil:
    return 4 * n + 16
