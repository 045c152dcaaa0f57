# cython: language_level=3
"""The JSON kernel: the text in one field of each of many objects, without a Python object for each.

It takes only what it is certain of: RFC 8259 to the letter, UTF-8, nested less than 64 deep, numbers of at most 4,000
digits, no lone surrogate in the text. Anything else is odd, and goes through Python's json, its slow twin.
"""

from array import array

import cython
from cython.cimports.cpython.bytearray import PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cython.cimports.cpython.bytes import PyBytes_AS_STRING
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.string import memchr, memcmp
from cython.cimports.tokenmill.kernels._json_string import json_string

DEEPEST = cython.declare(cython.int, 64)
DIGITS = cython.declare(cython.size_t, 4000)
QUOTE = cython.declare(cython.int, 34)
BACKSLASH = cython.declare(cython.int, 92)

# A JSON text, and what is wanted of it.
Reader = cython.struct(
    at=cython.pointer(cython.const[uint8_t]),
    end=cython.pointer(cython.const[uint8_t]),
    field=cython.pointer(cython.const[uint8_t]),
    field_size=cython.size_t,
    found=cython.bint,
    out=cython.pointer(uint8_t),  # the text goes here
    size=cython.size_t,  # bytes of the text
)


def text_fields(text: cython.const[uint8_t][::1], ends: cython.const[uint64_t][::1], field: bytes) -> tuple:
    """The texts in `field` of the JSON objects in `text`, one after the other, their ends, and which objects are odd.

    Object i is text[ends[i - 1]:ends[i]]. The text of an odd object is left empty.
    """
    n: cython.Py_ssize_t = ends.shape[0]
    i: cython.Py_ssize_t
    odd: list = []
    reader: Reader
    found = array("Q", bytes(8 * n))
    if n == 0 or text.shape[0] == 0:
        return b"", found, [*range(n)]
    text_ends: uint64_t[::1] = found
    base: cython.pointer(cython.const[uint8_t]) = cython.address(text[0])
    result: bytearray = PyByteArray_FromStringAndSize(cython.NULL, ends[n - 1] + 8)
    out: cython.pointer(uint8_t) = cython.cast(cython.pointer(uint8_t), PyByteArray_AS_STRING(result))
    reader.out = out
    reader.end = base
    reader.field = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(field))
    reader.field_size = len(field)
    with cython.nogil:
        for i in range(n):
            reader.at = reader.end
            reader.end = base + ends[i]
            reader.found = False
            _skip_space(cython.address(reader))
            if _object(cython.address(reader), 0) and reader.found and _at_end(cython.address(reader)):
                reader.out += reader.size
            else:
                with cython.gil:
                    odd.append(i)
            text_ends[i] = reader.out - out
    return result, found, odd


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _skip_space(r: cython.pointer(Reader)) -> cython.void:
    while r.at < r.end and (r.at[0] == 32 or r.at[0] == 10 or r.at[0] == 13 or r.at[0] == 9):
        r.at += 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _at_end(r: cython.pointer(Reader)) -> cython.bint:
    _skip_space(r)
    return r.at == r.end


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _take(r: cython.pointer(Reader), byte: cython.int) -> cython.bint:
    """Step over `byte`, and white space before and after it; False if it is not there."""
    _skip_space(r)
    if r.at == r.end or r.at[0] != byte:
        return False
    r.at += 1
    _skip_space(r)
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _object(r: cython.pointer(Reader), depth: cython.int) -> cython.bint:
    """Step over an object; of one at depth 0 take the text in the field, the last if there are several."""
    key: cython.pointer(cython.const[uint8_t])
    size: cython.size_t
    wanted: cython.bint
    if depth == DEEPEST or not _take(r, 123):
        return False
    if _take(r, 125):
        return True
    while True:
        key = r.at + 1
        if not _string(r, False):
            return False
        wanted = False
        if depth == 0:
            size = r.at - key - 1
            if memchr(key, BACKSLASH, size) != cython.NULL:  # perhaps the field, written with an escape
                return False
            wanted = size == r.field_size and memcmp(key, r.field, size) == 0
        if not _take(r, 58):
            return False
        if wanted:
            r.found = True
        if not (_string(r, True) if wanted else _value(r, depth + 1)):
            return False
        if not _take(r, 44):
            return _take(r, 125)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _value(r: cython.pointer(Reader), depth: cython.int) -> cython.bint:
    """Step over a value."""
    if r.at == r.end:
        return False
    byte: uint8_t = r.at[0]
    if byte == QUOTE:
        return _string(r, False)
    if byte == 123:
        return _object(r, depth)
    if byte == 91:
        r.at += 1
        if depth == DEEPEST:
            return False
        if _take(r, 93):
            return True
        while _value(r, depth + 1):
            if not _take(r, 44):
                return _take(r, 93)
        return False
    if byte == 116:
        return _word(r, b"true", 4)
    if byte == 102:
        return _word(r, b"false", 5)
    if byte == 110:
        return _word(r, b"null", 4)
    return _number(r)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _word(r: cython.pointer(Reader), word: cython.p_char, size: cython.size_t) -> cython.bint:
    if cython.cast(cython.size_t, r.end - r.at) < size or memcmp(r.at, word, size) != 0:
        return False
    r.at += size
    return True


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _digits(r: cython.pointer(Reader)) -> cython.size_t:
    """Step over digits; how many there are."""
    start: cython.pointer(cython.const[uint8_t]) = r.at
    while r.at < r.end and 48 <= r.at[0] <= 57:
        r.at += 1
    return r.at - start


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _number(r: cython.pointer(Reader)) -> cython.bint:
    first: uint8_t
    n: cython.size_t
    if r.at[0] == 45:
        r.at += 1
    if r.at == r.end:
        return False
    first = r.at[0]
    n = _digits(r)
    if n == 0 or n > DIGITS or (first == 48 and n > 1):
        return False
    if r.at < r.end and r.at[0] == 46:
        r.at += 1
        if _digits(r) == 0:
            return False
    if r.at < r.end and r.at[0] | 32 == 101:
        r.at += 1
        if r.at < r.end and (r.at[0] == 43 or r.at[0] == 45):
            r.at += 1
        if _digits(r) == 0:
            return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _string(r: cython.pointer(Reader), keep: cython.bint) -> cython.bint:
    """Step over a string; `keep` its text."""
    out: cython.pointer(uint8_t) = cython.NULL
    size: cython.size_t = r.size
    if keep:
        out = r.out
    after: cython.pointer(cython.const[uint8_t]) = json_string(r.at, r.end, out, cython.address(size))
    if after == cython.NULL:
        return False
    r.at = after
    if keep:
        r.size = size
    return True
