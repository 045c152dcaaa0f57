from cpython.object cimport PyObject
from libc.stdint cimport uint8_t


cdef extern from "tokenmill/tokenizer/_text.h":
    long long tm_small_int(PyObject* o) noexcept
    Py_ssize_t tm_widen(const uint8_t* p, size_t n, int width, void* data, size_t* count) noexcept nogil
    bint tm_is_ascii "PyUnicode_IS_ASCII" (object text) noexcept
    int tm_units(PyObject* o, void** data, size_t* n) noexcept nogil


cdef extern from "tokenmill/tokenizer/_narrow.h":
    Py_ssize_t tm_narrow(const void* data, size_t n, int width, uint8_t* out) noexcept nogil
