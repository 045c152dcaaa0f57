from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from tokenmill.kernels._memory cimport tm_make_room
from tokenmill.split._scan_cy cimport Scanner
from tokenmill.tokenizer.encoding._cache_cy cimport PretokenCache
from tokenmill.tokenizer.merging._merger_cy cimport Merger


# Ids of some text, and for its fragments: where each ends, and their bytes as pretokens of a cache or a table of counts.
cdef struct IdRoom:
    uint32_t* ids
    uint32_t* places
    uint8_t* packed
    size_t ids_room, places_room, packed_room


cdef inline bint make_id_room(IdRoom* room, size_t size, size_t width) noexcept nogil:
    # Make room for the ids of `size` bytes, each `width` bytes in `packed`. False if memory runs out.
    return (
        tm_make_room(<void**> &room.ids, &room.ids_room, size + 4, 4)
        and tm_make_room(<void**> &room.places, &room.places_room, size + 4, 4)
        # Keys are read 16 bytes at a time, and the last id is written with 4 bytes.
        and tm_make_room(<void**> &room.packed, &room.packed_room, width * size + 32, 1)
    )


cdef inline void free_id_room(IdRoom* room) noexcept nogil:
    free(room.ids)
    free(room.places)
    free(room.packed)
    room.ids = room.places = NULL
    room.packed = NULL
    room.ids_room = room.places_room = room.packed_room = 0


cdef class IdMerger(Merger):
    cdef size_t width


cdef class SuperwordCache(PretokenCache):
    cdef PretokenCache words  # encodes with stage 1
    cdef const uint64_t[::1] inside  # see `encode_parts`
    cdef Scanner scanner  # cuts what it encodes, if superwords join whole pretokens
    cdef const uint64_t[::1] borders  # a Bloom filter of the borders that merges of stage 2 cross
    cdef int shift
    cdef size_t width
    cdef IdRoom room  # for ids of stage 1, where the fragments end among them, and their bytes

    # The ids of the pretokens in text[start:stop], those in pretokens of several ids marked with APART.
    cdef Py_ssize_t encode_pretokens(self, const uint8_t* text, size_t start, size_t length, size_t stop) noexcept nogil
    # Join the ids of n pretokens, of which those of pretoken i end at id_ends[i], by stage 2.
    cdef Py_ssize_t join(self, Py_ssize_t n, Py_ssize_t n_ids, const uint32_t* id_ends, uint32_t* out) noexcept nogil
    cdef Py_ssize_t cut(self, Py_ssize_t n, const uint32_t* id_ends) noexcept nogil


# PretokenCache.encode, by parts of the pretokens, which are looked up and merged instead. A part ends between two bytes that no token
# holds side by side. inside: 1,024 words, a bit for each pair of bytes left << 8 | right: whether a token holds it.
cdef Py_ssize_t encode_parts(PretokenCache cache, const uint64_t* inside, const uint8_t* text, size_t start, size_t length,
                             const size_t* ends, Py_ssize_t n, uint32_t* out) noexcept nogil
