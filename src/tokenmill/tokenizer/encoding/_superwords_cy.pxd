from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from tokenmill.kernels._memory cimport tm_make_room
from tokenmill.split._scan_cy cimport Scanner
from tokenmill.tokenizer.encoding._cache_cy cimport PretokenCache
from tokenmill.tokenizer.merging._merger_cy cimport Merger


# Ids of some text, the ends of its fragments, and their bytes as pretokens of a cache or a table of counts.
cdef struct IdRoom:
    uint32_t* ids
    uint32_t* cuts
    uint8_t* packed
    size_t ids_room, cuts_room, packed_room


cdef inline bint make_id_room(IdRoom* room, size_t size, size_t width) noexcept nogil:
    # Make room for the ids of `size` bytes, each `width` bytes in `packed`. False if memory runs out.
    return (
        tm_make_room(<void**> &room.ids, &room.ids_room, size + 4, 4)
        and tm_make_room(<void**> &room.cuts, &room.cuts_room, size + 4, 4)
        # Keys are read 16 bytes at a time, and the last id is written with 4 bytes.
        and tm_make_room(<void**> &room.packed, &room.packed_room, width * size + 32, 1)
    )


cdef inline void free_id_room(IdRoom* room) noexcept nogil:
    free(room.ids)
    free(room.cuts)
    free(room.packed)
    room.ids = room.cuts = NULL
    room.packed = NULL
    room.ids_room = room.cuts_room = room.packed_room = 0


cdef class IdMerger(Merger):
    cdef size_t width


cdef class SuperwordCache(PretokenCache):
    cdef PretokenCache words  # encodes with stage 1
    cdef const uint64_t[::1] inside  # see `encode_segments`
    cdef Scanner scanner  # cuts text into pretokens, if superwords join whole pretokens
    cdef const uint64_t[::1] borders  # a Bloom filter of the borders that merges of stage 2 cross
    cdef int shift
    cdef size_t width
    cdef IdRoom room  # for ids of stage 1, the ends of fragments among them, and their bytes

    # The ids of the pretokens in text[start:stop]. The ids of a pretoken with several are marked with NO_JOIN.
    cdef Py_ssize_t encode_pretokens(self, const uint8_t* text, size_t start, size_t length, size_t stop) noexcept nogil
    # Join the ids of n pretokens, of which those of pretoken i end at id_ends[i], by stage 2.
    cdef Py_ssize_t join(self, Py_ssize_t n, Py_ssize_t n_ids, const uint32_t* id_ends, uint32_t* out) noexcept nogil
    cdef Py_ssize_t cut(self, Py_ssize_t n, const uint32_t* id_ends) noexcept nogil


# PretokenCache.encode by segments of the pretokens. A segment ends between two bytes that are side by side in no token. inside: 1,024
# words, a bit for each pair of bytes left << 8 | right: 1 if a token contains it.
cdef Py_ssize_t encode_segments(PretokenCache cache, const uint64_t* inside, const uint8_t* text, size_t start, size_t length,
                             const size_t* ends, Py_ssize_t n, uint32_t* out) noexcept nogil
