# cython: language_level=3
"""The scanner kernel: runs a compiled automaton over UTF-8 bytes and yields the ends of the pieces."""

import cython
from cython.cimports.libc.stdint import uint8_t


@cython.cclass
class Scanner:
    """Placeholder until the automaton stands: a piece begins at every ASCII space."""

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def scan(self, text: cython.pointer(cython.const[uint8_t]), start: cython.size_t, length: cython.size_t,
             ends: cython.pointer(cython.size_t), room: cython.Py_ssize_t) -> cython.Py_ssize_t:
        n: cython.Py_ssize_t = 0
        i: cython.size_t = start
        while i < length and n < room:
            i += 1
            if i == length or text[i] == 32:
                ends[n] = i
                n += 1
        return n

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def cut(self, text: cython.pointer(cython.const[uint8_t]), start: cython.size_t, length: cython.size_t) -> cython.size_t:
        i: cython.size_t = length
        while i > start + 1:
            i -= 1
            if text[i] == 32:
                return i
        return 0
