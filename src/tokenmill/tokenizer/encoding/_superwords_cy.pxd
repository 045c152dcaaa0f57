from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenmill.split._scan_cy cimport Scanner
from tokenmill.tokenizer.encoding._cache_cy cimport PretokenCache
from tokenmill.tokenizer.encoding._parts_cy cimport IdRoom, PartEncoder
from tokenmill.tokenizer.merging._merger_cy cimport Merger


cdef class IdMerger(Merger):
    cdef size_t width


cdef class SuperwordCache(PretokenCache):
    cdef PartEncoder words
    cdef PretokenCache pretokens  # instead of `words`, if superwords join whole pretokens
    cdef Scanner scanner  # which cuts these
    cdef const uint64_t[::1] borders  # a Bloom filter of the borders that merges of stage 2 cross
    cdef int shift
    cdef size_t width
    cdef IdRoom room  # for ids of stage 1, where the fragments end among them, and their bytes

    # The ids of the pretokens in text[start:stop], those in pretokens of several ids marked with APART.
    cdef Py_ssize_t encode_pretokens(self, const uint8_t* text, size_t start, size_t length, size_t stop) noexcept nogil
    # Join the ids of n pretokens, of which those of pretoken i end at id_ends[i], by stage 2.
    cdef Py_ssize_t join(self, Py_ssize_t n, Py_ssize_t n_ids, const size_t* id_ends, uint32_t* out) noexcept nogil
    cdef Py_ssize_t cut(self, Py_ssize_t n, const size_t* id_ends) noexcept nogil
