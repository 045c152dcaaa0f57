from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

from tokenmill.kernels._memory cimport tm_make_room
from tokenmill.tokenizer.encoding._cache_cy cimport PretokenCache


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


cdef class PartEncoder:
    cdef const uint64_t[::1] inside
    cdef uint32_t[::1] sizes
    cdef PretokenCache cache

    cpdef PartEncoder copy(self)
    # The ids of the pretokens text[start:ends[0]], text[ends[0]:ends[1]], ... (n of them) of a text that ends at
    # text[length]. `out` has room for as many ids as they have bytes and 4 more. Those of pretoken i end at id_ends[i].
    # Returns their number, or a negative number of _merger_cy.
    cdef Py_ssize_t encode(self, const uint8_t* text, size_t start, size_t length, const size_t* ends, Py_ssize_t n,
                           uint32_t* out, size_t* id_ends) noexcept nogil
