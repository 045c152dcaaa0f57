from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenmill.tokenizer.encoding._cache_cy cimport PretokenCache
from tokenmill.tokenizer.encoding._parts_cy cimport PartEncoder
from tokenmill.tokenizer.merging._merger_cy cimport Merger


cdef class IdMerger(Merger):
    cdef size_t width


cdef class SuperwordCache(PretokenCache):
    cdef PartEncoder words
    cdef const uint64_t[::1] borders  # a Bloom filter of the borders that merges of stage 2 cross
    cdef int shift
    cdef size_t width
    cdef uint32_t* ids  # of stage 1
    cdef uint8_t* packed  # their bytes as the pretokens of this cache
    cdef uint32_t* cuts  # where the fragments end among them
    cdef size_t ids_room, packed_room, cuts_room

    # Join the ids of n pretokens, of which those of pretoken i end at id_ends[i], by stage 2.
    cdef Py_ssize_t join(self, Py_ssize_t n, Py_ssize_t n_ids, const size_t* id_ends, uint32_t* out) noexcept nogil
    cdef Py_ssize_t cut(self, Py_ssize_t n, const size_t* id_ends) noexcept nogil
    cdef bint reserve(self, size_t size) noexcept nogil
    cdef void release(self) noexcept nogil
