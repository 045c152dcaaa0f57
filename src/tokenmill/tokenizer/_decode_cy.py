# cython: language_level=3
"""The decoding kernel: ids to bytes and text."""

from operator import index

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython.cimports.cpython.long import PyLong_AsLongLongAndOverflow, PyLong_Check
from cython.cimports.cpython.object import PyObject
from cython.cimports.cpython.unicode import PyUnicode_DecodeUTF8
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.tokenizer._encode_cy import tm_items

from ..errors import UnknownTokenError

# Tokens are copied 16 bytes at a time, whatever their length: both sides have that much room at the end.
SLACK = cython.declare(cython.size_t, 16)


@cython.cclass
class Decoder:
    """Ids to bytes. Immutable; threads share it.

    tokens: the bytes of each id, or None where it stands for nothing.
    """

    _tokens: list
    _blob: cython.pointer(uint8_t)
    _starts: cython.pointer(uint64_t)  # token i is _blob[_starts[i]:_starts[i + 1]]
    _known: cython.pointer(uint8_t)
    _n: cython.size_t

    def __cinit__(self, tokens: list):
        i: cython.size_t
        at: uint64_t = 0
        self._tokens = tokens
        self._n = len(tokens)
        self._blob = cython.cast(cython.pointer(uint8_t), malloc(sum([len(t) for t in tokens if t is not None]) + SLACK))
        self._starts = cython.cast(cython.pointer(uint64_t), malloc((self._n + 1) * 8))
        self._known = cython.cast(cython.pointer(uint8_t), malloc(self._n + 1))
        if self._blob == cython.NULL or self._starts == cython.NULL or self._known == cython.NULL:
            raise MemoryError
        for i in range(self._n):
            token = tokens[i]
            self._starts[i] = at
            self._known[i] = token is not None
            if token is not None:
                memcpy(self._blob + at, PyBytes_AS_STRING(token), len(token))
                at += len(token)
        self._starts[self._n] = at

    def __dealloc__(self):
        free(self._blob)
        free(self._starts)
        free(self._known)

    def token(self, id: object) -> bytes:
        """The bytes of one id."""
        i: cython.longlong = _number(index(id))
        if i < 0 or cython.cast(cython.size_t, i) >= self._n or not self._known[i]:
            self._unknown(id)
        return self._tokens[i]

    def decode_bytes(self, ids: object) -> bytes:
        """The bytes of ids: a list, a tuple, an array of integers, or anything to iterate over."""
        n: cython.Py_ssize_t = 0
        size: cython.size_t = 0
        wanted: cython.pointer(uint32_t) = self._take(ids, cython.address(n), cython.address(size))
        try:
            result: bytes = PyBytes_FromStringAndSize(cython.NULL, size)
            self._write(wanted, n, cython.cast(cython.pointer(uint8_t), PyBytes_AS_STRING(result)), size)
            return result
        finally:
            free(wanted)

    def decode(self, ids: object, errors: str) -> str:
        """The text of ids; `errors` as in bytes.decode."""
        n: cython.Py_ssize_t = 0
        size: cython.size_t = 0
        how: bytes = errors.encode()
        wanted: cython.pointer(uint32_t) = self._take(ids, cython.address(n), cython.address(size))
        out: cython.pointer(uint8_t) = cython.cast(cython.pointer(uint8_t), malloc(size + SLACK))
        try:
            if out == cython.NULL:
                raise MemoryError
            self._write(wanted, n, out, size)
            return PyUnicode_DecodeUTF8(cython.cast(cython.p_char, out), size, PyBytes_AS_STRING(how))
        finally:
            free(wanted)
            free(out)

    @cython.cfunc
    @cython.exceptval(check=True)
    def _take(self, ids: object, n: cython.pointer(cython.Py_ssize_t),
              size: cython.pointer(cython.size_t)) -> cython.pointer(uint32_t):
        """The ids as an array of their own, checked; how many there are, and how many bytes they stand for."""
        i: cython.Py_ssize_t
        id: cython.longlong
        items: cython.pointer(cython.pointer(PyObject)) = cython.NULL
        numbers: cython.const[uint32_t][:] = None
        wide: cython.const[int64_t][:] = None
        total: cython.size_t = 0
        if not isinstance(ids, (list, tuple)):
            kind = _kind(ids)
            if kind == "I":
                numbers = ids
            elif kind == "l":
                wide = ids
            else:
                ids = list(ids)
        if numbers is not None:
            n[0] = numbers.shape[0]
        elif wide is not None:
            n[0] = wide.shape[0]
        else:
            if not _all_ints(ids):
                ids = list(map(index, ids))
            n[0] = len(ids)
            items = tm_items(ids)
        wanted: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), malloc((n[0] + 1) * 4))
        if wanted == cython.NULL:
            raise MemoryError
        try:
            for i in range(n[0]):
                if items != cython.NULL:
                    id = _number(cython.cast(object, items[i]))
                elif numbers is not None:
                    id = numbers[i]
                else:
                    id = wide[i]
                if id < 0 or cython.cast(cython.size_t, id) >= self._n or not self._known[id]:
                    self._unknown(ids[i])
                wanted[i] = cython.cast(uint32_t, id)
                total += self._starts[id + 1] - self._starts[id]
        except BaseException:
            free(wanted)
            raise
        size[0] = total
        return wanted

    @cython.cfunc
    def _write(self, ids: cython.pointer(uint32_t), n: cython.Py_ssize_t, out: cython.pointer(uint8_t),
               size: cython.size_t) -> cython.void:
        if n < 1024:
            self._copy(ids, n, out, size)
        else:
            with cython.nogil:
                self._copy(ids, n, out, size)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _copy(self, ids: cython.pointer(uint32_t), n: cython.Py_ssize_t, out: cython.pointer(uint8_t),
              size: cython.size_t) -> cython.void:
        i: cython.Py_ssize_t
        start: uint64_t
        length: cython.size_t
        end: cython.pointer(uint8_t) = out + size
        for i in range(n):
            start = self._starts[ids[i]]
            length = self._starts[ids[i] + 1] - start
            if length <= SLACK and cython.cast(cython.size_t, end - out) >= SLACK:
                memcpy(out, self._blob + start, 16)
            else:
                memcpy(out, self._blob + start, length)
            out += length

    @cython.cfunc
    @cython.exceptval(-1)
    def _unknown(self, id: object) -> cython.int:
        raise UnknownTokenError(f"{id} is no id of this vocabulary: its ids lie between 0 and {self._n - 1}")


@cython.cfunc
@cython.inline
def _number(id: object) -> cython.longlong:
    """An int as a number; what does not fit is no id anyway, like -1."""
    overflow: cython.int = 0
    return PyLong_AsLongLongAndOverflow(id, cython.address(overflow))


@cython.cfunc
def _all_ints(ids: object) -> cython.bint:
    """Whether all items of a list or tuple are ints, so that to read them runs no code of others."""
    i: cython.Py_ssize_t
    items: cython.pointer(cython.pointer(PyObject)) = tm_items(ids)
    for i in range(len(ids)):
        if not PyLong_Check(cython.cast(object, items[i])):
            return False
    return True


@cython.cfunc
def _kind(ids: object) -> str:
    """The format of one-dimensional ids that have the buffer protocol and are read straight from it, else ""."""
    try:
        view = memoryview(ids)
    except TypeError:
        return ""
    if view.ndim != 1:
        return ""
    if view.format in ("I", "@I", "=I", "<I"):
        return "I"
    if view.format in ("l", "q", "@l", "<l", "@q", "<q") and view.itemsize == 8:
        return "l"
    return ""
