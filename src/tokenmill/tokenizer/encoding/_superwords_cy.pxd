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
    cdef uint32_t* ids  # of stage 1, and their bytes as the pretokens of this cache
    cdef uint8_t* packed
    cdef size_t ids_room, packed_room

    cdef Py_ssize_t join(self, Py_ssize_t n_ids, const size_t* id_ends, uint32_t* out) noexcept nogil
    cdef bint reserve(self, size_t size) noexcept nogil
