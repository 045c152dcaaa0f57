# cython: language_level=3
"""Finds added tokens in UTF-8 text, at the speed of a plain scan for their first two bytes."""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.libc.stdint import uint8_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memcmp

BLOCK = cython.declare(cython.size_t, 64)


@cython.cclass
class Finder:
    """A set of strings to find, each with its id.

    >>> Finder({b"<|a|>": 7}).find("low <|a|> lower")
    b'<|a|>'
    """

    def __cinit__(self, ids: dict):
        i: cython.Py_ssize_t
        self.contents = sorted(ids, key=lambda content: (-len(content), content))
        self.n = len(self.contents)
        self.strings = cython.cast(cython.pointer(String), malloc((self.n + 1) * cython.sizeof(String)))
        if self.strings == cython.NULL:
            raise MemoryError
        heads = {content[:2] for content in self.contents}
        self.few_heads = len(heads) <= 16 and min(map(len, heads), default=0) == 2
        for i in range(self.n):
            content = self.contents[i]
            self.strings[i].start = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(content))
            self.strings[i].length = PyBytes_GET_SIZE(content)
            self.strings[i].id = ids[content]
            self.first[content[0]] = 1
        for i in range(self.n - 1, -1, -1):
            same: cython.bint = i + 1 < self.n and self.strings[i].length == self.strings[i + 1].length
            self.strings[i].group_end = self.strings[i + 1].group_end if same else i + 1
        if self.few_heads:
            self.n_heads = len(heads)
            for i, head in enumerate(heads):
                self.heads[i][0] = head[0]
                self.heads[i][1] = head[1]

    def __dealloc__(self):
        free(self.strings)

    def __len__(self):
        return self.n

    def find(self, data: bytes):
        """The first of the strings in `data`, or None."""
        which: cython.Py_ssize_t = 0
        size: cython.size_t = len(data)
        text: cython.pointer(cython.const[uint8_t]) = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(data))
        return None if self.search(text, 0, size, cython.address(which)) == size else self.contents[which]

    def is_in(self, text, length):
        which: cython.Py_ssize_t = 0
        if length <= 4096:
            return self.search(text, 0, length, cython.address(which)) < length
        with cython.nogil:
            return self.search(text, 0, length, cython.address(which)) < length

    def search(self, text, at, length, which):
        i: cython.size_t
        k: cython.Py_ssize_t
        stop: cython.size_t
        hit: uint8_t
        a: uint8_t
        b: uint8_t
        p: cython.pointer(cython.const[uint8_t])
        while at < length:
            stop = at + BLOCK if length - at > BLOCK else length
            if self.few_heads and stop < length:  # the compiler makes this loop one of 16 bytes at a time
                p = text + at
                hit = 0
                for k in range(self.n_heads):
                    a = self.heads[k][0]
                    b = self.heads[k][1]
                    for i in range(64):
                        hit |= (p[i] == a) & (p[i + 1] == b)
                if hit == 0:
                    at = stop
                    continue
            for i in range(at, stop):
                if self.first[text[i]]:
                    which[0] = self.match(text + i, length - i)
                    if which[0] >= 0:
                        return i
            at = stop
        return length

    def match(self, text, left):
        """The longest string that text[0:left] begins with, or -1. Strings of one length are searched by bisection."""
        i: cython.Py_ssize_t = 0
        end: cython.Py_ssize_t
        middle: cython.Py_ssize_t
        low: cython.Py_ssize_t
        length: cython.size_t
        order: cython.int
        while i < self.n:
            length = self.strings[i].length
            low = i
            end = self.strings[i].group_end
            i = end
            if length > left:
                continue
            while low < end:
                middle = (low + end) // 2
                order = memcmp(self.strings[middle].start, text, length)
                if order == 0:
                    return middle
                if order < 0:
                    low = middle + 1
                else:
                    end = middle
        return -1
