# cython: language_level=3
"""The tokens and the merges of a GGUF file, read from its bytes without a Python object for each.

A list of texts is, for each text, its size as a 64-bit number and its bytes.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.formats._bpe_tables_cy import BpeTables
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_read

Bytes = cython.typedef(cython.pointer(cython.const[uint8_t]))


def end_of_texts(data: bytes, start: cython.size_t, count: cython.size_t):
    """Return the end of the list of `count` texts that begins at data[start]; None if `data` ends before it."""
    size: uint64_t = 0
    n: cython.size_t
    end: cython.size_t = PyBytes_GET_SIZE(data)
    p: Bytes = cython.cast(Bytes, PyBytes_AS_STRING(data))
    for n in range(count):
        if end - start < 8:
            return None
        memcpy(cython.address(size), p + start, 8)
        if end - start - 8 < size:
            return None
        start += 8 + size
    return start


def read_tables(data: bytes, tokens: tuple, merges: tuple):
    """The tables of two lists, each given as (start, end) from `end_of_texts`. None where they are unusual or wrong."""
    tables: BpeTables = BpeTables(tokens[1] - tokens[0] + merges[1] - merges[0])
    p: Bytes = cython.cast(Bytes, PyBytes_AS_STRING(data))
    at: cython.size_t = tokens[0]
    end: cython.size_t = tokens[1]
    size: uint64_t = 0
    id: uint32_t = 0
    while at < end:
        memcpy(cython.address(size), p + at, 8)
        if not _copy(p + at + 8, size, tables.text + tables.used):
            return None
        tables.add(size, id)
        id += 1
        at += 8 + size
    if not tables.index():
        return None
    at, end = merges[0], merges[1]
    while at < end:
        memcpy(cython.address(size), p + at, 8)
        if not _copy(p + at + 8, size, tables.text + tables.at) or not tables.add_spaced_merge(size):
            return None
        at += 8 + size
    return tables if tables.finish_merges() else None


@cython.cfunc
@cython.exceptval(check=False)
def _copy(p: Bytes, n: cython.size_t, o: cython.pointer(uint8_t)) -> cython.bint:
    """Copy n bytes; False if they are not UTF-8."""
    i: cython.size_t = 0
    size: cython.size_t
    point: uint32_t = 0
    while i < n:
        size = tm_utf8_read(p + i, n - i, cython.address(point))
        if size == 0:
            return False
        i += size
    memcpy(o, p, n)
    return True
