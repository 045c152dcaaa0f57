from cpython.object cimport PyObject
from libc.stdint cimport uint8_t, uint32_t

from tokenmill.split._scan_cy cimport Scanner
from tokenmill.tokenizer.encoding._cache_cy cimport PretokenCache, Seed
from tokenmill.tokenizer.encoding._finder_cy cimport Finder
from tokenmill.tokenizer.encoding._ids_cy cimport Ids, Spare
from tokenmill.tokenizer.merging._merger_cy cimport Merger

cdef extern from "Python.h":
    PyObject** tm_items "PySequence_Fast_ITEMS" (object sequence) noexcept
    void tm_incref "Py_INCREF" (PyObject* item) noexcept


# A stretch of a long str as UTF-8, in State.text.
cdef struct Window:
    void* data  # the str: n characters of `width` bytes
    size_t n
    int width
    size_t taken  # characters so far
    size_t filled  # bytes in State.text
    size_t cut  # up to which they are encoded


cdef class State:
    cdef PretokenCache cache
    cdef Spare spare
    cdef Ids ids
    cdef uint8_t* text  # the UTF-8 of a str
    cdef size_t text_size
    cdef size_t at  # how far it is
    cdef size_t section  # where the next added token begins
    cdef Py_ssize_t which  # which it is
    cdef Py_ssize_t counted  # ids that are in `ids` no more


cdef class Encoder:
    cdef Merger _merger
    cdef PretokenCache _first  # None once it is taken
    cdef Seed _seed
    cdef Scanner _scanner
    cdef list _pool
    cdef Spare _spare, _text_spare
    cdef list read  # arrays of ids that nobody reads any more, to write to: memory that was just used is fast
    cdef list _ints
    cdef PyObject** _int
    cdef size_t _cache_bytes, _states

    cdef State take(self)  # what a thread needs to encode, to be given back
    cdef void give(self, State state)
    cdef list list_of(self, uint32_t* ids, Py_ssize_t n)  # ints
    # The UTF-8 of a str, or what bytes hold, until the state is used for another. UnicodeEncodeError where it has
    # lone surrogates.
    cdef const uint8_t* _bytes(self, State state, text, Py_ssize_t* size) except NULL
    # Room in state.text for the UTF-8 of n characters from units of `width` bytes. False where there is no memory.
    cdef bint reserve_text(self, State state, size_t n, int width) noexcept nogil
    cdef void _let_go(self, State state) noexcept nogil
    cdef bint _reserve_more(self, State state, size_t used, size_t n, int width) noexcept nogil  # the same behind `used` bytes
    # Encode a whole text into state.ids, or only count the ids: in state.counted, besides those that still stand there.
    cdef int _run(self, State state, text, Finder refused, Finder finder, ends, bint keep) except -1
    cdef int _run_windows(self, State state, text, Finder refused, Finder finder, bint keep) except -1
    cdef Py_ssize_t _next_window(self, State state, Window* window, Finder refused, Finder finder) noexcept nogil
    cdef size_t _certain_cut(self, const uint8_t* text, size_t length, Finder refused, Finder finder) noexcept nogil
    cdef int _slice_done(self, State state, bint keep) except -1
    # Encode text[at:length] with the added tokens that `finder` finds, if it is not None, until `stop` or a little
    # further; leaves state.at there. Where at is 0, a text begins. Returns 0, or a negative number of _merge_cy.
    cdef Py_ssize_t sections(self, State state, const uint8_t* text, size_t at, size_t length, size_t stop,
                             Finder finder) noexcept nogil
    cdef Py_ssize_t _encode(self, State state, const uint8_t* text, size_t at, size_t length, size_t stop,
                            const size_t* given, Py_ssize_t n_given) noexcept nogil
    cdef int _check(self, Py_ssize_t code, text) except -1
