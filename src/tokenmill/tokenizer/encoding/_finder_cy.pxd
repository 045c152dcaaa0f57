from libc.stdint cimport uint8_t, uint32_t, uint64_t

from tokenmill.split._scan_cy cimport tm_byte_pairs


cdef extern from "tokenmill/split/_byte_pairs.h" nogil:
    size_t tm_segment_ends(const tm_byte_pairs* set, const uint8_t* text, size_t at, size_t length, size_t limit, size_t* ends,
        Py_ssize_t room, Py_ssize_t* n)
    size_t tm_find_character(const tm_byte_pairs* set, const uint8_t* classes, const uint8_t* text, size_t at, size_t length)
    enum: TM_NO_BLOCK
    ctypedef struct tm_pair_block:
        size_t limit, at
        uint64_t pairs
    size_t tm_find_pair(const tm_byte_pairs* set, const uint64_t* exact, const uint8_t* text, size_t at, size_t length,
        tm_pair_block* block)


cdef enum:
    LSTRIP = 1
    RSTRIP = 2
    SINGLE_WORD = 4

cdef struct String:
    const uint8_t* bytes  # of the object in `contents`
    size_t length
    uint32_t id
    int flags

# A node of the trie: where strings branch off, or one ends. Its children are in a row, by their bytes.
cdef struct Node:
    uint32_t string  # one of the strings that go through it
    uint32_t ends  # the string that ends there, or NO_ID
    uint32_t children, n_children
    uint32_t end  # bytes from the root
    uint8_t byte  # the first after the end of its parent


cdef class Finder:
    cdef list contents  # the strings, in order
    cdef String* strings
    cdef Py_ssize_t n
    cdef Node* nodes  # the first is the root
    cdef uint32_t heads[256]  # the child of the root for each byte; 0 for none
    cdef uint64_t begins[1024]  # a bit for each pair of bytes: 1 if a string begins with them, or is the first one
    cdef uint8_t alone[256]  # by byte: 1 if it is one of the strings
    cdef int first  # the byte that all strings begin with, or -1; also if it is a space, which is frequent
    cdef tm_byte_pairs pairs  # `begins`, and perhaps more pairs
    cdef bint uses_simd
    cdef readonly bint flagged  # any string has a flag
    cdef uint8_t space  # the byte that is a space to tokens that include white space; 255 for none
    cdef object is_word  # str -> bool: true with a word character

    # Find the leftmost of the strings in text[at:length], the longest if several begin there. Returns its start, or `length`;
    # stores its index in `which`. The searches of a text share `block`.
    cdef size_t search(self, const uint8_t* text, size_t at, size_t length, Py_ssize_t* which, tm_pair_block* block) noexcept nogil
    # True if the text contains any of the strings.
    cdef bint has_any(self, const uint8_t* text, size_t length) noexcept nogil
    # True if a word character is right before `start` or right after `end` in text[begin:length].
    cdef bint touches_word(self, const uint8_t* text, size_t begin, size_t start, size_t end, size_t length) noexcept nogil
    cdef void make_nodes(self) noexcept
    cdef void make_pairs(self) noexcept
    # The longest string that text[0:left] begins with, or -1.
    cdef Py_ssize_t match(self, const uint8_t* text, size_t left) noexcept nogil
    cdef bint is_in(self, const uint8_t* text, size_t length) noexcept  # `has_any`, without the GIL for a long text
