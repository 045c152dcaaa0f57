"""The tokens of a .tiktoken file, decoded from base64 without a Python object for each."""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cython.cimports.libc.stdint import uint8_t, uint32_t
from cython.cimports.libc.string import memcpy

from .file_content import MAX_ID

Bytes = cython.typedef(cython.pointer(cython.const[uint8_t]))
HIGHEST = cython.declare(uint32_t, MAX_ID)
NO_DIGIT = cython.declare(uint8_t, 64)
DIGITS = cython.declare(uint8_t[256])  # the value of each character of base64
for _byte in range(256):
    DIGITS[_byte] = NO_DIGIT
for _value, _character in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"):
    DIGITS[ord(_character)] = _value


def read_ranks(data: bytes):
    """Return the tokens as records for BpeTables. None for an unusual file, whose mistake the slow reader names."""
    records: bytes = PyBytes_FromStringAndSize(cython.NULL, 2 * PyBytes_GET_SIZE(data) + 16)
    o: cython.pointer(uint8_t) = cython.cast(cython.pointer(uint8_t), PyBytes_AS_STRING(records))
    start: cython.pointer(uint8_t) = o
    p: Bytes = cython.cast(Bytes, PyBytes_AS_STRING(data))
    end: Bytes = p + PyBytes_GET_SIZE(data)
    while p < end:
        size = _decode(cython.address(p), o + 8)  # the NUL after the data ends every loop
        if size < 1 or p[0] != 0x20:
            return None
        p += 1
        digits: Bytes = p
        id: uint32_t = 0
        while 0x30 <= p[0] <= 0x39 and p - digits < 8:
            id = 10 * id + p[0] - 0x30
            p += 1
        if p == digits or id > HIGHEST or (p < end and p[0] != 0x0A):
            return None
        p += 1
        memcpy(o, cython.address(size), 4)
        memcpy(o + 4, cython.address(id), 4)
        o += 8 + size
    return records[:o - start] or None


@cython.cfunc
@cython.exceptval(check=False)
def _decode(text: cython.pointer(Bytes), out: cython.pointer(uint8_t)) -> cython.Py_ssize_t:
    """Decode base64 and pass it. Return the number of bytes, or -1 for text that no encoder writes."""
    p: Bytes = text[0]
    o: cython.pointer(uint8_t) = out
    bits: uint32_t
    n: cython.int = 4
    while n == 4 and DIGITS[p[0]] != NO_DIGIT:
        bits = n = 0
        while n < 4 and DIGITS[p[n]] != NO_DIGIT:
            bits |= cython.cast(uint32_t, DIGITS[p[n]]) << (18 - 6 * n)
            n += 1
        # Fewer than four digits are filled up, and the bits without a byte are 0.
        if n == 1 or (n == 2 and p[2] != ord("=")) or (n < 4 and (p[3] != ord("=") or bits & (0xFFFFFF >> 8 * (n - 1)))):
            return -1
        o[0], o[1], o[2] = bits >> 16, bits >> 8 & 0xFF, bits & 0xFF
        o += n - 1
        p += 4
    text[0] = p
    return o - out
