# cython: language_level=3
"""The tokens of a .tiktoken file, decoded from base64 without a Python object for each."""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.libc.stdint import uint8_t, uint32_t
from cython.cimports.tokenmill.formats._bpe_tables_cy import BpeTables

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
    """The tokens by id, packed as by `pack_tokens`. None for a file that is not as usual; the slow reader names what is wrong."""
    tables: BpeTables = BpeTables(PyBytes_GET_SIZE(data))
    p: Bytes = cython.cast(Bytes, PyBytes_AS_STRING(data))
    end: Bytes = p + PyBytes_GET_SIZE(data)
    size: cython.Py_ssize_t
    id: uint32_t
    digits: Bytes
    while p < end:
        size = _decode(cython.address(p), tables.text + tables.used)  # the NUL after the data ends every loop
        if size < 1 or p[0] != 0x20:
            return None
        p += 1
        digits = p
        id = 0
        while 0x30 <= p[0] <= 0x39 and p - digits < 8:
            id = 10 * id + p[0] - 0x30
            p += 1
        if p == digits or id > HIGHEST or (p < end and p[0] != 0x0A):
            return None
        p += 1
        tables.add(size, id)
    if tables.n == 0 or not tables.index():
        return None
    tables.place("", {})
    return tables.finish((), (), ())[:2]


@cython.cfunc
@cython.exceptval(check=False)
def _decode(text: cython.pointer(Bytes), out: cython.pointer(uint8_t)) -> cython.Py_ssize_t:
    """Decode base64 and pass it. Returns the number of bytes, or -1 for text that no encoder writes."""
    p: Bytes = text[0]
    o: cython.pointer(uint8_t) = out
    bits: uint32_t
    while DIGITS[p[0]] != NO_DIGIT:
        if DIGITS[p[1]] == NO_DIGIT:
            return -1
        bits = cython.cast(uint32_t, DIGITS[p[0]]) << 18 | cython.cast(uint32_t, DIGITS[p[1]]) << 12
        o[0] = bits >> 16
        if DIGITS[p[2]] == NO_DIGIT:
            if p[2] != ord("=") or p[3] != ord("=") or bits & 0xFFFF:
                return -1
            o += 1
            p += 4
            break
        bits |= cython.cast(uint32_t, DIGITS[p[2]]) << 6
        o[1] = bits >> 8 & 0xFF
        if DIGITS[p[3]] == NO_DIGIT:
            if p[3] != ord("=") or bits & 0xFF:
                return -1
            o += 2
            p += 4
            break
        bits |= DIGITS[p[3]]
        o[2] = bits & 0xFF
        o += 3
        p += 4
    text[0] = p
    return o - out
