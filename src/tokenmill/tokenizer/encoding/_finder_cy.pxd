from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenmill.kernels._pair_map cimport tm_pair_map
from tokenmill.split._scan_cy cimport tm_byte_pairs


cdef extern from "tokenmill/split/_byte_pairs.h" nogil:
    size_t tm_part_ends(const tm_byte_pairs* set, const uint8_t* text, size_t start, size_t at, size_t length, size_t* ends,
        Py_ssize_t room, Py_ssize_t* n)
    size_t tm_find_character(const tm_byte_pairs* set, const uint8_t* classes, const uint8_t* text, size_t at, size_t length)
    size_t tm_find_pair(const tm_byte_pairs* set, const uint64_t* exact, const uint8_t* text, size_t at, size_t length)


cdef enum:
    LSTRIP = 1
    RSTRIP = 2
    SINGLE_WORD = 4

cdef struct String:
    const uint8_t* bytes  # of the object in `contents`
    size_t length
    uint32_t id
    int flags

# What follows a node of the trie: from there to `node`, where `end` bytes have matched, nothing branches off, and no string ends.
cdef struct Run:
    uint32_t strings, string  # how many go through the node, and one of them
    uint32_t node
    size_t end


cdef class Finder:
    cdef list contents  # the strings, the longest first, those of one length in order
    cdef String* strings
    cdef Py_ssize_t n
    cdef tm_pair_map children  # the trie: (node, byte) -> node; node 0 is the root
    cdef uint32_t* ends  # by node: which string ends there, or NO_ID
    cdef Run* runs  # by node
    cdef uint64_t begins[1024]  # a bit for each pair of bytes: whether a string begins with them, or is the first one
    cdef uint8_t alone[256]  # whether this byte is one of the strings
    cdef int first  # the byte that all strings begin with, or -1
    cdef tm_byte_pairs pairs  # `begins`, and perhaps more pairs
    cdef bint uses_simd
    cdef readonly bint flagged  # any string has a flag
    cdef uint8_t space  # which byte is a space to tokens that take in white space; 255 for none
    cdef object is_word  # str -> bool: whether it has a word character

    # Find the leftmost of the strings in text[at:length], the longest where several begin there. Returns where it begins, or
    # `length`; stores which it is.
    cdef size_t search(self, const uint8_t* text, size_t at, size_t length, Py_ssize_t* which) noexcept nogil
    # Whether a word character stands right before `start` or right after `end` in text[begin:length].
    cdef bint touches_word(self, const uint8_t* text, size_t begin, size_t start, size_t end, size_t length) noexcept nogil
    cdef int make_runs(self) except -1
    cdef void make_pairs(self) noexcept
    cdef Py_ssize_t match(self, const uint8_t* text, size_t left) noexcept nogil
    cdef bint is_in(self, const uint8_t* text, size_t length) noexcept  # whether the text contains any; releases the GIL
