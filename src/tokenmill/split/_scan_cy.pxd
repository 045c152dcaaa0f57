from libc.stdint cimport uint8_t


cdef class Scanner:
    # Cut text[start:length] into pieces from a known piece start, where `length` is the true end of the text. Writes
    # the exclusive end offset (from `text`) of at most `room` pieces and returns how many. Never reads outside of
    # text[0:length]. Call again with start = the last end written, until that is `length`.
    cdef Py_ssize_t scan(self, const uint8_t* text, size_t start, size_t length, size_t* ends, Py_ssize_t room) noexcept nogil
    # The last offset in (start, length) at which a piece begins whatever stands before `start` or after `length`,
    # or 0 if there is none: where a stream may be cut so that both sides split on their own as they would together.
    cdef size_t cut(self, const uint8_t* text, size_t start, size_t length) noexcept nogil
