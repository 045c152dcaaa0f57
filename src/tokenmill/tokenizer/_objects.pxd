from cpython.object cimport PyObject


cdef extern from "tokenmill/tokenizer/_objects.h":
    long long tm_small_int(PyObject* o) noexcept
    int tm_text_units(PyObject* o, void** data, size_t* n) noexcept nogil
    PyObject** tm_items "PySequence_Fast_ITEMS" (object sequence) noexcept
    void tm_make_immortal(PyObject* o) noexcept
