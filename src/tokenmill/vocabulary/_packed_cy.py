"""Tokens as flat memory: all bytes in one object, and the sizes, uint32, with NO_TOKEN for an id without a token."""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cython.cimports.libc.stdint import uint32_t

NO_TOKEN = cython.declare(uint32_t, 0xFFFFFFFF)


def pack_tokens(tokens: tuple, left_out=frozenset()) -> tuple:
    """Return the bytes of all tokens and their sizes. left_out: ids that get NO_TOKEN."""
    n: cython.Py_ssize_t = len(tokens)
    sizes: bytes = PyBytes_FromStringAndSize(cython.NULL, 4 * n)
    size = cython.cast(cython.pointer(uint32_t), PyBytes_AS_STRING(sizes))
    packed: list = []
    for i in range(n):
        token = tokens[i]
        if token is None or i in left_out:
            size[i] = NO_TOKEN
        else:
            size[i] = PyBytes_GET_SIZE(token)
            packed.append(token)
    return b"".join(packed), sizes


def unpack_tokens(blob: bytes, sizes: bytes) -> tuple:
    """Return the tokens that `pack_tokens` was called with."""
    p: cython.p_char = PyBytes_AS_STRING(blob)
    size = cython.cast(cython.pointer(uint32_t), PyBytes_AS_STRING(sizes))
    tokens: list = []
    for i in range(PyBytes_GET_SIZE(sizes) // 4):
        if size[i] == NO_TOKEN:
            tokens.append(None)
        else:
            tokens.append(PyBytes_FromStringAndSize(p, size[i]))
            p += size[i]
    return tuple(tokens)


def spaced_tokens(blob: bytes, sizes: bytes) -> dict:
    """Return by id the tokens that contain a space after a byte that may end a word."""
    k: cython.size_t
    p: cython.p_char = PyBytes_AS_STRING(blob)
    size = cython.cast(cython.pointer(uint32_t), PyBytes_AS_STRING(sizes))
    spaced: dict = {}
    for i in range(PyBytes_GET_SIZE(sizes) // 4):
        if size[i] == NO_TOKEN:
            continue
        for k in range(1, size[i]):
            byte: cython.uchar = p[k - 1]
            if p[k] == 0x20 and (byte >= 0x80 or byte == 0x5F or 0x61 <= byte | 0x20 <= 0x7A or 0x30 <= byte <= 0x39):
                spaced[i] = PyBytes_FromStringAndSize(p, size[i])
                break
        p += size[i]
    return spaced
