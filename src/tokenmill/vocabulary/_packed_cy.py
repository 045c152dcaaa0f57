# cython: language_level=3
"""Tokens as flat memory: all bytes in one object, and the sizes, uint32, with NO_TOKEN for an id without a token."""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cython.cimports.cpython.mem import PyMem_Free, PyMem_Malloc
from cython.cimports.libc.stdint import int32_t, uint32_t, uint64_t
from cython.cimports.libc.string import memchr

NO_TOKEN = cython.declare(uint32_t, 0xFFFFFFFF)
WIDTHS = cython.declare(uint64_t, 0x4322111111111111)  # the bytes of a character by the first four bits, from the right


def pack_tokens(tokens: tuple, left_out=frozenset()) -> tuple:
    """The tokens and their sizes. left_out: ids that get none."""
    i: cython.Py_ssize_t
    n: cython.Py_ssize_t = len(tokens)
    sizes: bytes = PyBytes_FromStringAndSize(cython.NULL, 4 * n)
    size: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), PyBytes_AS_STRING(sizes))
    kept: list = []
    for i in range(n):
        token = tokens[i]
        if token is None or i in left_out:
            size[i] = NO_TOKEN
        else:
            size[i] = PyBytes_GET_SIZE(token)
            kept.append(token)
    return b"".join(kept), sizes


def unpack_tokens(blob: bytes, sizes: bytes) -> tuple:
    """The tokens of `pack_tokens`."""
    i: cython.Py_ssize_t
    p: cython.p_char = PyBytes_AS_STRING(blob)
    size: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), PyBytes_AS_STRING(sizes))
    tokens: list = []
    for i in range(PyBytes_GET_SIZE(sizes) // 4):
        if size[i] == NO_TOKEN:
            tokens.append(None)
        else:
            tokens.append(PyBytes_FromStringAndSize(p, size[i]))
            p += size[i]
    return tuple(tokens)


def first_tokens(blob: bytes, sizes: bytes) -> list:
    """(id, token) of the tokens that are one byte, or one character by their first byte, in the order of their ids."""
    i: cython.Py_ssize_t
    p: cython.p_char = PyBytes_AS_STRING(blob)
    size: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), PyBytes_AS_STRING(sizes))
    found: list = []
    for i in range(PyBytes_GET_SIZE(sizes) // 4):
        if size[i] == NO_TOKEN:
            continue
        if size[i] == 1 or (0 < size[i] < 5 and WIDTHS >> (cython.cast(cython.uchar, p[0]) >> 4 << 2) & 7 == size[i]):
            found.append((i, PyBytes_FromStringAndSize(p, size[i])))
        p += size[i]
    return found


def first_made(blob: bytes, sizes: bytes, events: cython.const[int32_t][::1], wanted) -> int:
    """The first event that makes a token with a space behind its first byte for which wanted(token) is true; how many there are if none.
    """
    i: cython.Py_ssize_t
    event: cython.Py_ssize_t
    n: cython.Py_ssize_t = PyBytes_GET_SIZE(sizes) // 4
    count: cython.Py_ssize_t = events.shape[0] // 3
    p: cython.p_char = PyBytes_AS_STRING(blob)
    size: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), PyBytes_AS_STRING(sizes))
    starts: cython.pointer(cython.p_char) = cython.cast(cython.pointer(cython.p_char), PyMem_Malloc((n + 1) * cython.sizeof(cython.p_char)))
    if starts == cython.NULL:
        raise MemoryError
    try:
        for i in range(n):  # only tokens with such a space have a start
            starts[i] = cython.NULL
            if size[i] != NO_TOKEN:
                if size[i] > 1 and memchr(p + 1, 0x20, size[i] - 1) != cython.NULL:
                    starts[i] = p
                p += size[i]
        for event in range(count):
            i = events[3 * event + 2]
            if starts[i] != cython.NULL and wanted(PyBytes_FromStringAndSize(starts[i], size[i])):
                return event
        return count
    finally:
        PyMem_Free(starts)
