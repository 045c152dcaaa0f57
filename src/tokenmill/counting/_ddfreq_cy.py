# cython: language_level=3
"""Rows of word counts to and from the byte stream of .ddfreq, and in another order.

An entry of .ddfreq is the length of a pretoken (8 bytes, little-endian), its bytes, and its count (8 bytes).
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.string import memcpy


def parse_entries(data: cython.const[uint8_t][::1], arena: uint8_t[::1], offsets: uint64_t[::1],
                  counts: uint64_t[::1]):
    """Read as many whole entries from `data` as there are and as `counts` has room for.

    Returns (bytes used, rows). `arena` must be as long as `data`; offsets[0] is 0.
    """
    n: cython.Py_ssize_t = counts.shape[0]
    size: cython.size_t = data.shape[0]
    at: cython.size_t = 0
    length: uint64_t = 0
    position: cython.size_t = 0
    i: cython.Py_ssize_t = 0
    with cython.nogil:
        while i < n and size - at >= 16:
            memcpy(cython.address(length), cython.address(data[at]), 8)
            if length > size - at - 16:
                break
            if length:
                memcpy(cython.address(arena[position]), cython.address(data[at + 8]), length)
            position += length
            at += 8 + length
            memcpy(cython.address(counts[i]), cython.address(data[at]), 8)
            at += 8
            i += 1
            offsets[i] = position
    return at, i


def format_entries(arena: cython.const[uint8_t][::1], offsets: cython.const[uint64_t][::1],
                   counts: cython.const[uint64_t][::1], out: uint8_t[::1]):
    """Write rows as entries; `out` has 16 bytes for each row and the bytes of the pretokens."""
    n: cython.Py_ssize_t = counts.shape[0]
    at: cython.size_t = 0
    length: uint64_t
    i: cython.Py_ssize_t
    with cython.nogil:
        for i in range(n):
            length = offsets[i + 1] - offsets[i]
            memcpy(cython.address(out[at]), cython.address(length), 8)
            if length:
                memcpy(cython.address(out[at + 8]), cython.address(arena[offsets[i]]), length)
            at += 8 + length
            memcpy(cython.address(out[at]), cython.address(counts[i]), 8)
            at += 8
