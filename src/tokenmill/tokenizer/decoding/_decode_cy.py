# cython: language_level=3
"""The decoding kernel: ids to bytes and text.

What each token adds to the length and the width of a text is known beforehand, so a str is made at once, in its final width.
Tokens of ASCII are copied straight into it; others go through a small buffer, from which whole characters are decoded into it.
Bytes that turn out not to be UTF-8 go through Python's decoder and its error handlers.
"""

from operator import index

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.cpython.long import PyLong_AsLongLongAndOverflow
from cython.cimports.cpython.object import PyObject
from cython.cimports.cpython.unicode import PyUnicode_DATA, PyUnicode_DecodeUTF8, PyUnicode_New
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memcpy, memmove
from cython.cimports.tokenmill.kernels._memory import tm_alloc, tm_free
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_decode
from cython.cimports.tokenmill.tokenizer._objects import tm_items, tm_small_int

from ...errors import UnknownTokenError, UsageError, WrongTypeError

# Tokens are copied 16 bytes at a time, whatever their length: both sides have that much room at the end.
SLACK = cython.declare(cython.size_t, 16)
MOST = cython.declare(cython.size_t, (1 << 28) - 1)  # bytes of a token
HOLD = cython.declare(cython.Py_ssize_t, 1024)  # up to so many ids are decoded without releasing the GIL
SLICE = cython.declare(cython.Py_ssize_t, 1 << 20)  # ids between two checks for signals
PART_BYTES = cython.declare(cython.size_t, 4 << 20)  # bytes that Python's decoder gets between two checks for signals
PART = cython.declare(cython.size_t, 1 << 14)  # bytes that are decoded at a time

# What a token adds to a text, in one number: its bytes, its lead bytes (those that begin a character) from bit 28 on, and one of
# three bits if it has characters above U+007F, U+00FF or U+FFFF.
LEADS = cython.declare(cython.int, 28)
LATIN = cython.declare(uint64_t, 1 << 60)
BASIC = cython.declare(uint64_t, 1 << 61)
ASTRAL = cython.declare(uint64_t, 1 << 62)
NO_TOKEN = cython.declare(uint64_t, 1 << 63)

# The bytes of a token.
Span = cython.struct(start=uint32_t, size=uint32_t)

# Ids given by a caller, checked: they decode to `size` bytes, with `leads` lead bytes; `kinds` has the bits of all.
Wanted = cython.struct(
    ids=cython.pointer(uint32_t), n=cython.Py_ssize_t, size=cython.size_t, leads=cython.size_t, kinds=uint64_t
)

# A str that is being filled: `count` characters of `width` bytes. The next bytes go through the buffer, about `part` at a time.
Output = cython.struct(
    data=cython.p_void, width=cython.int, count=cython.size_t, buffer=cython.pointer(uint8_t), filled=cython.size_t,
    part=cython.size_t, room=cython.size_t
)


@cython.cclass
class Decoder:
    """Ids to bytes and text. Immutable; threads share it.

    tokens: the bytes of each id, or None for an unused id.
    """

    _tokens: list
    _blob: cython.pointer(uint8_t)
    _spans: cython.pointer(Span)
    _adds: cython.pointer(uint64_t)
    _n: cython.size_t
    _longest: cython.size_t  # bytes of a token

    def __cinit__(self, tokens: list):
        i: cython.size_t
        at: cython.size_t = 0
        size: cython.size_t = sum([len(t) for t in tokens if t is not None])
        if size > MOST:
            raise MemoryError("the tokens have 256 MiB or more")
        self._tokens = tokens
        self._n = len(tokens)
        self._blob = cython.cast(cython.pointer(uint8_t), malloc(size + SLACK))
        self._spans = cython.cast(cython.pointer(Span), malloc((self._n + 1) * cython.sizeof(Span)))
        self._adds = cython.cast(cython.pointer(uint64_t), malloc((self._n + 1) * 8))
        if self._blob == cython.NULL or self._spans == cython.NULL or self._adds == cython.NULL:
            raise MemoryError
        for i in range(self._n):
            token = tokens[i]
            size = 0 if token is None else len(token)
            self._longest = max(self._longest, size)
            self._spans[i] = Span(cython.cast(uint32_t, at), cython.cast(uint32_t, size))
            self._adds[i] = NO_TOKEN
            if token is not None:
                memcpy(self._blob + at, PyBytes_AS_STRING(token), size)
                self._adds[i] = _adds(self._blob + at, size)
                at += size

    def __dealloc__(self):
        free(self._blob)
        free(self._spans)
        free(self._adds)

    def token(self, id: object) -> bytes:
        """The bytes of one id."""
        i: cython.longlong = _number(id)
        if i < 0 or cython.cast(cython.size_t, i) >= self._n or self._adds[i] & NO_TOKEN:
            self._unknown(id)
        return self._tokens[i]

    def decode_bytes(self, ids: object) -> bytes:
        """The bytes of ids: a list, a tuple, an array of integers, or any iterable."""
        wanted: Wanted
        wanted.ids = cython.NULL
        try:
            self._take(ids, cython.address(wanted))
            result: bytes = PyBytes_FromStringAndSize(cython.NULL, wanted.size)
            self._write(cython.address(wanted), cython.cast(cython.pointer(uint8_t), PyBytes_AS_STRING(result)))
            return result
        finally:
            tm_free(wanted.ids)

    def decode(self, ids: object, errors: str) -> str:
        """The text of ids; `errors` as in bytes.decode."""
        wanted: Wanted
        wanted.ids = cython.NULL
        how: bytes = errors.encode()
        out: cython.pointer(uint8_t) = cython.NULL
        widest: uint32_t
        try:
            self._take(ids, cython.address(wanted))
            if wanted.kinds == 0:
                result: str = PyUnicode_New(wanted.size, 127)
                if wanted.size > 0:
                    self._write(cython.address(wanted), cython.cast(cython.pointer(uint8_t), PyUnicode_DATA(result)))
                return result
            if wanted.leads > 0:
                widest = 0x10FFFF if wanted.kinds & ASTRAL else 0xFFFF if wanted.kinds & BASIC else 0xFF
                result = PyUnicode_New(wanted.leads, widest)
                if self._fill(cython.address(wanted), PyUnicode_DATA(result)):
                    return result
            out = cython.cast(cython.pointer(uint8_t), tm_alloc(wanted.size + SLACK))
            if out == cython.NULL:
                raise MemoryError
            self._write(cython.address(wanted), out)
            return _decode_any(out, wanted.size, how)
        finally:
            tm_free(wanted.ids)
            tm_free(out)

    @cython.cfunc
    @cython.exceptval(-1)
    def _take(self, ids: object, wanted: cython.pointer(Wanted)) -> cython.int:
        """Copy the ids after a check, and add up what they stand for."""
        i: cython.Py_ssize_t = 0
        stop: cython.Py_ssize_t
        items: cython.pointer(cython.pointer(PyObject))
        numbers: cython.const[uint32_t][:] = None
        wide: cython.const[int64_t][:] = None
        kind = "" if isinstance(ids, (list, tuple)) else _kind(ids)
        if kind == "I":
            numbers = ids
        elif kind == "l":
            wide = ids
        elif not isinstance(ids, (list, tuple)):
            ids = list(ids)
        wanted.n = len(ids)
        wanted.size = wanted.leads = wanted.kinds = 0
        wanted.ids = cython.cast(cython.pointer(uint32_t), tm_alloc((wanted.n + 1) * 4))
        if wanted.ids == cython.NULL:
            raise MemoryError
        while i < wanted.n:
            if len(ids) != wanted.n:  # by an item's __index__ or a signal's handler
                raise UsageError(f"the list had {wanted.n} ids and has {len(ids)} now; it must not change during decoding")
            stop = min(i + SLICE, wanted.n)
            sums: Wanted = wanted[0]  # a local copy, which the compiler keeps in registers
            if kind == "I":
                while i < stop and self._add(cython.address(sums), i, numbers[i]):
                    i += 1
            elif kind == "l":
                while i < stop and self._add(cython.address(sums), i, wide[i]):
                    i += 1
            else:
                items = tm_items(ids)
                while i < stop and self._add(cython.address(sums), i, tm_small_int(items[i])):
                    i += 1
            wanted[0] = sums
            if i < stop:  # a large int, another integer type, or no id
                id = ids[i]
                if kind != "" or not self._add(wanted, i, _number(id)):
                    self._unknown(id)
                i += 1
            if i < wanted.n:
                PyErr_CheckSignals()
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _add(self, wanted: cython.pointer(Wanted), i: cython.Py_ssize_t, id: cython.longlong) -> cython.bint:
        """Add one id; False if it is not in the vocabulary."""
        if cython.cast(cython.size_t, id) >= self._n:
            return False
        adds: uint64_t = self._adds[id]
        if adds & NO_TOKEN:
            return False
        wanted.size += adds & MOST
        wanted.leads += adds >> LEADS & MOST
        wanted.kinds |= adds & (LATIN | BASIC | ASTRAL)
        wanted.ids[i] = cython.cast(uint32_t, id)
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _write(self, wanted: cython.pointer(Wanted), out: cython.pointer(uint8_t)) -> cython.int:
        """Write the bytes to out[0:wanted.size]."""
        first: cython.Py_ssize_t = 0
        end: cython.pointer(uint8_t) = out + wanted.size
        if wanted.n <= HOLD:
            self._copy(wanted, 0, wanted.n, cython.address(out), end + 1, end)
            return 0
        while first < wanted.n:
            with cython.nogil:
                first = self._copy(wanted, first, min(first + SLICE, wanted.n), cython.address(out), end + 1, end)
            PyErr_CheckSignals()
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _copy(self, wanted: cython.pointer(Wanted), first: cython.Py_ssize_t, last: cython.Py_ssize_t,
              to: cython.pointer(cython.pointer(uint8_t)), stop: cython.pointer(uint8_t),
              end: cython.pointer(uint8_t)) -> cython.Py_ssize_t:
        """Write the bytes of ids from `first` to `last`, or until `stop` or a little further, to memory that ends at `end`.
        Moves `to`; returns the id to go on with."""
        i: cython.Py_ssize_t = first
        span: Span
        length: cython.size_t
        ids: cython.pointer(uint32_t) = wanted.ids
        out: cython.pointer(uint8_t) = to[0]
        while i < last and out < stop:
            span = self._spans[ids[i]]
            length = span.size
            if length <= SLACK and cython.cast(cython.size_t, end - out) >= SLACK:
                memcpy(out, self._blob + span.start, 16)
            else:
                memcpy(out, self._blob + span.start, length)
            out += length
            i += 1
        to[0] = out
        return i

    @cython.cfunc
    @cython.exceptval(-1)
    def _fill(self, wanted: cython.pointer(Wanted), data: cython.p_void) -> cython.int:
        """Write the characters to the memory of a str. 0 if the bytes are not UTF-8, otherwise 1."""
        output: Output
        first: cython.Py_ssize_t = 0
        output.data = data
        output.width = 4 if wanted.kinds & ASTRAL else 2 if wanted.kinds & BASIC else 1
        output.count = output.filled = 0
        output.part = min(PART, wanted.size) + 4  # more than is ever left over
        output.room = output.part + self._longest + 2 * SLACK
        output.buffer = cython.cast(cython.pointer(uint8_t), tm_alloc(output.room))
        if output.buffer == cython.NULL:
            raise MemoryError
        try:
            while 0 <= first < wanted.n:
                if wanted.n <= HOLD:
                    first = self._decode_part(wanted, first, cython.address(output))
                else:
                    with cython.nogil:
                        first = self._decode_part(wanted, first, cython.address(output))
                    PyErr_CheckSignals()
            return first >= 0 and output.filled == 0
        finally:
            tm_free(output.buffer)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _decode_part(self, wanted: cython.pointer(Wanted), first: cython.Py_ssize_t,
                     output: cython.pointer(Output)) -> cython.Py_ssize_t:
        """Decode a part of the ids, from `first` on. Returns the id to go on with, or -1 where the bytes are not UTF-8."""
        buffer: cython.pointer(uint8_t) = output.buffer
        out: cython.pointer(uint8_t) = buffer + output.filled
        used: cython.Py_ssize_t
        first = self._copy(wanted, first, wanted.n, cython.address(out), buffer + output.part, buffer + output.room)
        output.filled = out - buffer
        used = tm_utf8_decode(buffer, output.filled, output.width, output.data, cython.address(output.count))
        if used < 0:
            return -1
        output.filled -= used  # of a character that goes on in the next part
        memmove(buffer, buffer + used, output.filled)
        return first

    @cython.cfunc
    @cython.exceptval(-1)
    def _unknown(self, id: object) -> cython.int:
        raise UnknownTokenError(f"{id} is not an id of this vocabulary; its ids are between 0 and {self._n - 1}")


@cython.cfunc
def _decode_any(data: cython.pointer(uint8_t), size: cython.size_t, errors: bytes) -> str:
    """Decode with Python's error handlers, part by part, so that signals are heard.

    Parts end before a lead byte, so no error spans two. A handler that may look at the positions of an error gets
    the whole."""
    how: cython.p_char = PyBytes_AS_STRING(errors)
    if size <= PART_BYTES or errors not in (b"replace", b"ignore", b"backslashreplace", b"surrogateescape"):
        return PyUnicode_DecodeUTF8(cython.cast(cython.p_char, data), size, how)
    parts: list = []
    first: cython.size_t = 0
    last: cython.size_t
    back: cython.size_t
    while first < size:
        last = min(first + PART_BYTES, size)
        for back in range(4 if last < size else 0):  # after more than three continuation bytes any place will do
            if data[last - back] & 0xC0 != 0x80:
                last -= back
                break
        parts.append(PyUnicode_DecodeUTF8(cython.cast(cython.p_char, data + first), last - first, how))
        first = last
        PyErr_CheckSignals()
    return "".join(parts)


@cython.cfunc
def _adds(token: cython.pointer(cython.const[uint8_t]), size: cython.size_t) -> uint64_t:
    """Return the length of a token, the number of its characters and the width of the widest, in one number."""
    i: cython.size_t
    highest: uint8_t = 0
    leads: uint64_t = 0
    for i in range(size):
        leads += token[i] & 0xC0 != 0x80
        highest = max(highest, token[i])
    kind: uint64_t = 0 if highest < 0x80 else LATIN if highest < 0xC4 else BASIC if highest < 0xF0 else ASTRAL
    return size | leads << LEADS | kind


@cython.cfunc
@cython.inline
def _number(id: object) -> cython.longlong:
    """The value of an integer of any type; -1, which is not an id either, if it does not fit."""
    overflow: cython.int = 0
    try:
        id = index(id)
    except TypeError:
        raise WrongTypeError(f"an id is an integer, not {type(id).__name__}") from None
    return PyLong_AsLongLongAndOverflow(id, cython.address(overflow))


@cython.cfunc
def _kind(ids: object) -> str:
    """The format of one-dimensional ids that are read from their buffer, otherwise ""."""
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
