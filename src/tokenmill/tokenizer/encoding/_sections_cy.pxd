from libc.stdint cimport uint8_t, uint16_t, uint32_t

from tokenmill.kernels._pair_map cimport tm_pair_map
from tokenmill.split._scan_cy cimport tm_byte_pairs
from tokenmill.tokenizer.encoding._cutter_cy cimport Cutter
from tokenmill.tokenizer.encoding._finder_cy cimport Finder, tm_pair_block

cdef enum:
    NO_PREFIX = 0
    EVERY_PART = 1  # a space before each part that does not begin with one
    FIRST_PART = 2  # the same, only where the text begins
    TEXT_START = 3  # a space where the text begins, whatever is there
    STRETCH_START = 4  # a space at the start of each stretch
    BARE_START = 5  # the same, also where normalization leaves nothing of a stretch


# An added token in a text: text[start:end], with the white space that it takes in. `start` is the length of the text if there
# is none. The search for the next one goes on at `at`. No token looks before `begin`.
cdef struct Found:
    size_t begin, at, start, end
    uint32_t id
    tm_pair_block block


# What a row of State.parts is, beside IN_CHANGED: four numbers, the ids before it, its start, its end, and one of these.
# Parts, added tokens, and changed stretches, whose parts follow, are in order.
cdef enum:
    PART = 0
    PREFIXED_PART = 1  # a space was put before it
    ADDED_TOKEN = 2
    CHANGED_STRETCH = 3
    IN_CHANGED = 4  # the span is in the last changed stretch


cdef class NormalizationCheck:
    cdef uint8_t* classes  # by code point: 0 not known yet, else see `class_page` in normalization.py
    cdef uint16_t** alone  # by page: what each code point becomes alone, see `class_page`; NULL where it may become something else
    cdef list kept  # the owners of `alone`
    cdef object page_of
    cdef tm_pair_map joined  # see `joined_pairs` in normalization.py
    cdef object joined_of  # what it is made from, on first use
    cdef bint ascii  # no character of ASCII changes
    cdef bint printable  # none but control characters does
    cdef bint trims  # spaces at both ends go, and one stays of several: the text is a whole stretch
    # 1: the pairs of `joined` are all that changes together: in a text without one, each character changes alone. 2: the same in a text
    # without characters that may combine. 0: neither is known.
    cdef int exact
    # The first two bytes of characters whose class is not 1 or not known, for vector instructions; NULL before there is enough text.
    cdef const tm_byte_pairs* unsure
    cdef bint learned  # there are classes that `unsure` has not
    cdef size_t seen, due  # bytes of text, and how many until `unsure` is made again

    # How much of a text is normalized already, up to the first character that may change.
    cdef size_t passing(self, const uint8_t* text, size_t length) noexcept nogil
    cdef int make_unsure(self) except -1  # from the classes that are known
    cdef uint8_t class_of(self, uint32_t point) noexcept nogil
    cdef uint8_t mark_class(self, uint32_t point) noexcept nogil  # the class of what may join, too
    # Normalize text[0:length] to `out`, which has room for `room` bytes. Returns their number, or -1: that takes `Sections.change`.
    cdef Py_ssize_t change(self, const uint8_t* text, size_t length, uint8_t* out, size_t room) noexcept nogil
    cdef int learn_joined(self) except -1


cdef class Sections:
    cdef Finder raw  # the tokens that are found before normalization; None for none
    cdef Finder normal  # those that are found after it; None for none
    cdef NormalizationCheck check  # None if a stretch never changes, or always may
    cdef readonly object change  # bytes -> bytes: normalizes a stretch
    cdef Cutter inside  # which characters `normal` tokens have side by side; None where there are none, or with flags
    cdef bint always  # every stretch is normalized
    cdef int prefix

    # Find the next added token of text[done:length] from found.at on, where the last one ended at `done`.
    cdef void next_token(self, Finder finder, const uint8_t* text, size_t done, size_t length, Found* found) noexcept nogil
    # How much of the stretch text[0:length] is normalized already.
    cdef size_t passing(self, const uint8_t* text, size_t length) noexcept nogil
    # The characters right before and right after `at` stay as they are, and so apart, whatever is around them.
    cdef bint parts(self, const uint8_t* text, size_t start, size_t at, size_t length) noexcept nogil
    # Whether a space is put before the part text[at:...] of a stretch. first: 2 if the text begins there, 1 if the stretch does.
    cdef bint prefixed(self, const uint8_t* text, size_t at, int first) noexcept nogil
