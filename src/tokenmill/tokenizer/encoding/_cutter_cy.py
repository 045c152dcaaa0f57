# cython: language_level=3
"""Cuts a text that is one pretoken, as in SentencePiece, where no merge can join the two sides.

Two neighbouring characters *join* if a token that merges make has the one right before the other. Between two that do not
join, no token ever spans, so both sides merge as they would together. Most cuts are before spaces, so the parts are words,
which the cache knows.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.tokenmill.kernels._pair_map import (
    tm_pair_map_free,
    tm_pair_map_get,
    tm_pair_map_get_or_put,
    tm_pair_map_reserve,
)
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_read
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_ID


@cython.cclass
class Cutter:
    """The pairs of characters that join. Immutable; threads share it.

    tokens: the UTF-8 bytes of all tokens that merges make.

    >>> Cutter([b" low", b"er", b"ow"]).parts(b" low lower")
    [b' low', b' low', b'er']
    """

    def __cinit__(self, tokens):
        first: uint32_t = 0
        second: uint32_t = 0
        i: cython.size_t
        n: cython.size_t
        p: cython.pointer(cython.const[uint8_t])
        if not tm_pair_map_reserve(cython.address(self.pairs), 1):
            raise MemoryError
        for token in tokens:
            p = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(token))
            n = PyBytes_GET_SIZE(token)
            i = _read(p, n, cython.address(first))
            while i < n:
                i += _read(p + i, n - i, cython.address(second))
                if first < 128 and second < 128:
                    self.ascii[first][second >> 6] |= cython.cast(uint64_t, 1) << (second & 63)
                elif not tm_pair_map_reserve(cython.address(self.pairs), 1):
                    raise MemoryError
                else:
                    tm_pair_map_get_or_put(cython.address(self.pairs), first, second, 0)
                first = second

    def __dealloc__(self):
        tm_pair_map_free(cython.address(self.pairs))

    def parts(self, data: bytes) -> list:
        """The parts of `data`."""
        ends: cython.size_t[64]
        at: cython.size_t = 0
        n: cython.Py_ssize_t
        i: cython.Py_ssize_t
        found: list = []
        while at < cython.cast(cython.size_t, len(data)):
            n = self.scan(cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(data)), at, len(data), ends, 64)
            for i in range(n):
                found.append(data[at:ends[i]])
                at = ends[i]
        return found

    def joins(self, first, second):
        if first < 128 and second < 128:
            return self.ascii[first][second >> 6] >> (second & 63) & 1
        return tm_pair_map_get(cython.address(self.pairs), first, second) != NO_ID

    def scan(self, text, start, length, ends, room):
        first: uint32_t = 0
        second: uint32_t = 0
        size: cython.size_t
        n: cython.Py_ssize_t = 0
        at: cython.size_t = start + _read(text + start, length - start, cython.address(first))
        while at < length:
            if text[at] < 128:
                second = text[at]
                size = 1
            else:
                size = _read(text + at, length - at, cython.address(second))
            if not self.joins(first, second):
                ends[n] = at
                n += 1
                if n == room:
                    return n
            first = second
            at += size
        ends[n] = length
        return n + 1

    def cut(self, text, start, length):
        first: uint32_t = 0
        second: uint32_t = 0
        at: cython.size_t = length
        before: cython.size_t
        while at > start + 1:
            at -= 1
            if text[at] & 0xC0 == 0x80 or (text[at] >= 0x80 and tm_utf8_read(text + at, length - at, cython.address(second)) == 0):
                continue  # inside a character, or perhaps the first bytes of one that continues after `length`
            _read(text + at, length - at, cython.address(second))
            before = at - 1
            while before > start and at - before < 4 and text[before] & 0xC0 == 0x80:
                before -= 1
            if tm_utf8_read(text + before, at - before, cython.address(first)) == at - before and not self.joins(first, second):
                return at
        return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _read(p: cython.pointer(cython.const[uint8_t]), n: cython.size_t, point: cython.pointer(uint32_t)) -> cython.size_t:
    """The character at p and its size. A byte outside of any character is one, as in Python's surrogateescape."""
    size: cython.size_t = tm_utf8_read(p, n, point)
    if size == 0:
        point[0] = 0xDC00 | p[0]
        return 1
    return size
