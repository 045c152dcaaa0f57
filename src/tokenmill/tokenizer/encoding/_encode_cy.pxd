from libc.stdint cimport uint8_t, uint32_t

from tokenmill.tokenizer.encoding._cache_cy cimport PretokenCache
from tokenmill.tokenizer.encoding._finder_cy cimport Finder
from tokenmill.tokenizer.encoding._sections_cy cimport Sections
from tokenmill.tokenizer.encoding._stages_cy cimport Stages, State


cdef class Encoder(Stages):
    cdef PretokenCache _model  # has the initial entries; the cache of the first state
    cdef list _pool
    cdef size_t _cache_bytes, _states
    cdef readonly Py_ssize_t n_ids

    cdef State take(self)  # the state for one call; to be returned with `give`
    cdef void give(self, State state)
    cdef list list_of(self, uint32_t* ids, Py_ssize_t n)
    # The UTF-8 of a str, or the contents of bytes, valid until the state is used for another text. UnicodeEncodeError for
    # lone surrogates.
    cdef const uint8_t* _bytes(self, State state, text, Py_ssize_t* size) except NULL
    # Make room in state.text for the UTF-8 of n characters of `width` bytes. False if memory runs out.
    cdef bint reserve_text(self, State state, size_t n, int width) noexcept nogil
    # Encode a whole text into state.ids; or with keep=False only count the ids, in state.counted and state.ids.used.
    cdef int _run(self, State state, text, Finder refused, Sections sections, ends, bint keep) except -1
    # Encode a text and record its rows, `step` bytes at a time until there are more than `limit` ids; -1 for no limit.
    cdef int _record_sections(self, State state, const uint8_t* p, size_t length, Sections sections, Py_ssize_t limit,
                           size_t step) except -1
    cdef int _check(self, State state, Py_ssize_t code) except -1
