from libc.stdint cimport uint8_t, uint16_t, uint32_t

from tokenmill.kernels._pair_map cimport tm_pair_map
from tokenmill.split._scan_cy cimport tm_byte_pairs
from tokenmill.tokenizer.encoding._cutter_cy cimport Cutter
from tokenmill.tokenizer.encoding._finder_cy cimport Finder, tm_pair_block

cdef enum:
    NO_PREFIX = 0
    EVERY_SECTION = 1  # a space before each section that does not begin with one
    FIRST_SECTION = 2  # the same, only where the text begins
    TEXT_START = 3  # a space where the text begins, even before a space
    STRETCH_START = 4  # a space at the start of each stretch
    BARE_START = 5  # the same, also if nothing of a stretch is left after normalization


# The next added token of a text: text[start:end], with the white space that it includes. `start` is the length of the text if there
# is none. The search for the next one goes on at `at`. Flags of a token do not look before `begin`.
cdef struct NextToken:
    size_t begin, at, start, end
    uint32_t id
    tm_pair_block block


# The rows of State.recorded, in the order of the text: sections, added tokens, and changed stretches, each before its sections. A row
# is four numbers: the ids before it, its start, its end, and one of these, perhaps with IN_CHANGED.
cdef enum:
    SECTION = 0
    PREFIXED_SECTION = 1  # a space was put before it
    ADDED_TOKEN = 2
    CHANGED_STRETCH = 3
    IN_CHANGED = 4  # the span is in the last changed stretch


cdef class NormalizationCheck:
    cdef uint8_t* classes  # by code point: 0 if not known yet, else see `class_page` in normalization.py
    cdef uint16_t** alone  # by page: the normalization of each code point alone, see `class_page`; NULL if it may differ in a text
    cdef list kept  # the owners of `alone`
    cdef object page_of
    cdef tm_pair_map joined  # see `joined_pairs` in normalization.py
    cdef object joined_of  # returns its pairs, on first use
    cdef bint ascii  # no character of ASCII changes
    cdef bint printable  # only control characters of ASCII change
    cdef bint trims  # spaces at both ends are removed, and one of several is left: the text must be a whole stretch
    # 1: in a text without a pair of `joined`, each character changes alone. 2: the same in a text without characters that may combine.
    # 0: neither is known.
    cdef int exact
    # The first two bytes of characters whose class is not 1 or not known, for vector instructions; NULL before there is enough text.
    cdef const tm_byte_pairs* unsure
    cdef bint learned  # there are new classes since `unsure` was made
    cdef size_t seen, due  # bytes of text so far, and those at which `unsure` is made again

    # The bytes of a text before the first character that may change.
    cdef size_t passing(self, const uint8_t* text, size_t length) noexcept nogil
    cdef int make_unsure(self) except -1  # from the classes that are known
    cdef uint8_t class_of(self, uint32_t point) noexcept nogil
    cdef uint8_t mark_class(self, uint32_t point) noexcept nogil  # also of characters that may join
    # Normalize text[0:length] to `out`, which has room for `room` bytes. Returns their number, or -1 if only `Sections.change` can.
    cdef Py_ssize_t change(self, const uint8_t* text, size_t length, uint8_t* out, size_t room) noexcept nogil
    cdef int learn_joined(self) except -1


cdef class Sections:
    cdef Finder raw  # the tokens that are matched before normalization; None for none
    cdef Finder normal  # those that are matched after it; None for none
    cdef NormalizationCheck check  # None if a stretch never changes, or always may
    cdef readonly object change  # bytes -> bytes: normalizes a stretch
    cdef Cutter inside  # the pairs of characters inside `normal` tokens; None without such tokens, or if some have flags
    cdef bint always  # every stretch is normalized
    cdef int prefix

    # Find the next added token of text[done:length] from token.at on, where the last one ended at `done`.
    cdef void next_token(self, Finder finder, const uint8_t* text, size_t done, size_t length, NextToken* token) noexcept nogil
    # The bytes of the stretch text[0:length] before the first character that may change.
    cdef size_t passing(self, const uint8_t* text, size_t length) noexcept nogil
    # True if the characters right before and right after `at` never change, also not with those after them, and no token includes both.
    cdef bint separates(self, const uint8_t* text, size_t start, size_t at, size_t end) noexcept nogil
    # True if a space is put before the section text[at:...]. first: 2 if the text begins there, 1 if the stretch does.
    cdef bint prefixed(self, const uint8_t* text, size_t at, int first) noexcept nogil
