/* UTF-8 to the code points of a Python str, and what Python objects hold. The way back: _narrow.h. */
#ifndef TOKENMILL_TEXT_H
#define TOKENMILL_TEXT_H

#include <Python.h>
#include <stdint.h>
#include <stddef.h>
#include <string.h>

/* The value of an int that fits in one digit and is not negative; -1 for anything else. */
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

/* Whole characters of p[0:n] to out, which has room for one of each lead byte: returns the bytes taken, short of n only
 * where the last character is not whole, or -1 where they are no UTF-8; adds the characters to *count. Each width has a
 * function of its own; runs of ASCII go eight at a time, which the compiler makes vector instructions of. */
#define TM_WIDEN(NAME, UNIT)                                                                                          \
    static ptrdiff_t NAME(const uint8_t *p, size_t n, UNIT *out, size_t *count) {                                     \
        size_t i = 0;                                                                                                 \
        UNIT *o = out;                                                                                                \
        while (i < n) {                                                                                               \
            uint64_t eight;                                                                                           \
            while (n - i >= 8 && (memcpy(&eight, p + i, 8), (eight & 0x8080808080808080ull) == 0)) {                  \
                for (int k = 0; k < 8; k++) o[k] = p[i + k];                                                          \
                o += 8;                                                                                               \
                i += 8;                                                                                               \
            }                                                                                                         \
            if (i == n) break;                                                                                        \
            uint32_t a = p[i], point;                                                                                 \
            if (a < 0x80) {                                                                                           \
                *o++ = (UNIT)a;                                                                                       \
                i++;                                                                                                  \
                continue;                                                                                             \
            }                                                                                                         \
            if (a < 0xC2 || a > 0xF4) return -1;                                                                      \
            size_t length = a < 0xE0 ? 2 : a < 0xF0 ? 3 : 4;                                                          \
            if (n - i < length) break;                                                                                \
            if ((p[i + 1] & 0xC0) != 0x80) return -1;                                                                 \
            if (length == 2) {                                                                                        \
                point = (a & 0x1F) << 6 | (p[i + 1] & 0x3F);                                                          \
            } else if (length == 3) {                                                                                 \
                if ((p[i + 2] & 0xC0) != 0x80) return -1;                                                             \
                point = (a & 0x0F) << 12 | (uint32_t)(p[i + 1] & 0x3F) << 6 | (p[i + 2] & 0x3F);                      \
                if (point < 0x800 || (point >= 0xD800 && point < 0xE000)) return -1;                                  \
            } else {                                                                                                  \
                if ((p[i + 2] & 0xC0) != 0x80 || (p[i + 3] & 0xC0) != 0x80) return -1;                                \
                point = (a & 0x07) << 18 | (uint32_t)(p[i + 1] & 0x3F) << 12 | (uint32_t)(p[i + 2] & 0x3F) << 6 |     \
                        (p[i + 3] & 0x3F);                                                                            \
                if (point < 0x10000 || point > 0x10FFFF) return -1;                                                   \
            }                                                                                                         \
            *o++ = (UNIT)point;                                                                                       \
            i += length;                                                                                              \
        }                                                                                                             \
        *count += (size_t)(o - out);                                                                                  \
        return (ptrdiff_t)i;                                                                                          \
    }

TM_WIDEN(tm_widen_1, uint8_t)
TM_WIDEN(tm_widen_2, uint16_t)
TM_WIDEN(tm_widen_4, uint32_t)

/* The same for units of 1, 2 or 4 bytes, behind the *count characters that stand in `data` already. */
static inline ptrdiff_t tm_widen(const uint8_t *p, size_t n, int width, void *data, size_t *count) {
    if (width == 1) return tm_widen_1(p, n, (uint8_t *)data + *count, count);
    if (width == 2) return tm_widen_2(p, n, (uint16_t *)data + *count, count);
    return tm_widen_4(p, n, (uint32_t *)data + *count, count);
}

/* What a str or bytes object holds, read without the GIL by who has a reference: returns the width of its units, 0 where
 * they are UTF-8 already, -1 for anything else. That somebody asked for the UTF-8 of a str before is no help here:
 * another thread may be about to. */
static inline int tm_units(PyObject *o, void **data, size_t *n) {
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

#endif
