from cpython.object cimport PyObject

cdef extern from "Python.h":
    PyObject** tm_items "PySequence_Fast_ITEMS" (object sequence) noexcept
    void tm_incref "Py_INCREF" (PyObject* item) noexcept
    const char* tm_utf8 "PyUnicode_AsUTF8AndSize" (object text, Py_ssize_t* size) except NULL
