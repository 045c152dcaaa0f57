/* Reads of Python objects without the GIL, while the caller has references to them. */
#ifndef TOKENMILL_OBJECTS_H
#define TOKENMILL_OBJECTS_H

#include <Python.h>
#include <stddef.h>

/* The value of a non-negative int of one digit; -1 for anything else. */
static inline long long tm_small_int(PyObject *o) {
    if (!PyLong_CheckExact(o)) return -1;
#if PY_VERSION_HEX >= 0x030C0000
    if (!PyUnstable_Long_IsCompact((const PyLongObject *)o)) return -1;
    return PyUnstable_Long_CompactValue((const PyLongObject *)o);
#else
    Py_ssize_t size = Py_SIZE(o);
    return size == 1 ? (long long)((PyLongObject *)o)->ob_digit[0] : size == 0 ? 0 : -1;
#endif
}

/* The contents of a str or bytes object. Stores the address and the number of units. Returns the bytes per unit, 0 for UTF-8, -1 for
 * any other object. The cached UTF-8 of a str is not used: another thread may be writing it. */
static inline int tm_text_units(PyObject *o, void **data, size_t *n) {
    if (PyUnicode_Check(o)) {
        *data = PyUnicode_DATA(o);
        *n = (size_t)PyUnicode_GET_LENGTH(o);
        return PyUnicode_IS_ASCII(o) ? 0 : (int)PyUnicode_KIND(o);
    }
    if (!PyBytes_Check(o)) return -1;
    *data = PyBytes_AS_STRING(o);
    *n = (size_t)PyBytes_GET_SIZE(o);
    return 0;
}

/* Make an int object immortal, so that new references need not be counted. Python has immortal objects from 3.12 on, marked by the
 * sign of the lower half of the count, or without the GIL by a count of more than 32 bits. Before, the count is higher than any
 * program can undo. */
static inline void tm_make_immortal(PyObject *o) {
#if PY_VERSION_HEX >= 0x030C0000 && !defined(Py_GIL_DISABLED)
    Py_SET_REFCNT(o, (Py_ssize_t)3 << 30);
#else
    Py_SET_REFCNT(o, (Py_ssize_t)1 << 60);
#endif
}

#endif
