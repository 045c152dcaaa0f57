from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenmill.kernels._pair_map cimport tm_pair_map
from tokenmill.split._scan_cy cimport tm_byte_pairs


# True if a text of three bytes or more ends, at `end`, in a script without spaces between words: Thai, Lao, Tibetan, Myanmar; Khmer;
# kana, Han. Long pretokens of other scripts are words, which occur again.
cdef inline bint lacks_spaces(const uint8_t* end) noexcept nogil:
    cdef int start = (end - 3)[0] << 8 | (end - 2)[0]
    return 0xE0B8 <= start < 0xE183 or 0xE19E <= start < 0xE1A0 or 0xE381 <= start < 0xEA00


cdef class Cutter:
    cdef uint64_t ascii[128][2]  # by the first of two ASCII characters: a bit for each second one that joins it
    cdef tm_byte_pairs pairs  # the same
    cdef bint uses_simd
    cdef uint64_t stray[1024]  # a Bloom filter of the pairs with a stray
    cdef uint64_t* known  # a bit for each code that is a token; NULL if unknown neighbours are not one token
    cdef uint64_t edges[64]  # by the last six bits of one character: a bit for those of the first byte of the next, if there may be such a pair
    cdef uint64_t* wide  # a Bloom filter of the other pairs that join
    cdef size_t wide_size  # in bytes
    cdef int shift
    cdef bint ready
    cdef uint64_t unmade[512]  # a Bloom filter of the tokens that merging may not make, so that only a whole pretoken is one
    cdef uint64_t unmade_lengths[2]  # a bit for each of their lengths, the last one for 63 or more; [1] of those for which `lacks_spaces`
    cdef bint early  # it is built, and pretokens may be cut before they are looked up
    cdef readonly bint joins_newlines  # a newline joins another character
    cdef object source  # the arguments of `learn_all`

    cdef int build(self) except -1  # does nothing the second time
    cdef int learn_known(self, known) except -1
    cdef int learn_all(self, bytes blob, bytes sizes, events, bytes known) except -1

    cdef void make_products(self) noexcept
    cdef int learn(self, const uint8_t* p, size_t n, tm_pair_map* pairs) except -1
    cdef int learn_unmade(self, const uint8_t* p, size_t n) noexcept
    cdef bint is_unmade(self, const uint8_t* p, size_t n) noexcept nogil

    # The ends of the segments of text[start:length], like Scanner.scan. text[0:limit] may be read.
    cdef Py_ssize_t scan(self, const uint8_t* text, size_t start, size_t length, size_t limit, size_t* ends,
                         Py_ssize_t room) noexcept nogil
    # The ends of the segments of the pretoken text[start:end] from text[at] on, at most `room` of them, which is 64 or more. They may be
    # looked up like pretokens. To be called where the cutter is `early`.
    cdef Py_ssize_t segments(self, const uint8_t* text, size_t start, size_t at, size_t end, size_t* ends, Py_ssize_t room) noexcept nogil
    cdef size_t cut(self, const uint8_t* text, size_t start, size_t length) noexcept nogil
    cdef bint joins(self, uint32_t first, uint32_t second) noexcept nogil
