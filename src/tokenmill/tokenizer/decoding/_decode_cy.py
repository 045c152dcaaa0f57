# cython: language_level=3
"""The decoding kernel: ids to bytes and text.

What each id adds to the length and the width of the text is known beforehand, so a str is made at once, in its final
width. Tokens of ASCII are copied straight into it; others go through a small buffer, from which whole characters are
widened into it. Bytes that turn out to be no UTF-8 go the long way, through Python's decoder and its error handlers.
"""

from operator import index

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython.cimports.cpython.long import PyLong_AsLongLongAndOverflow
from cython.cimports.cpython.object import PyObject
from cython.cimports.cpython.unicode import PyUnicode_DATA, PyUnicode_DecodeUTF8, PyUnicode_New
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memcpy, memmove
from cython.cimports.tokenmill.counting._pages import tm_prefetch
from cython.cimports.tokenmill.tokenizer.encoding._encode_cy import tm_items
from cython.cimports.tokenmill.tokenizer.encoding._ids_cy import Spare
from cython.cimports.tokenmill.tokenizer._text import tm_small_int, tm_widen

from ...errors import UnknownTokenError

# Tokens are copied 16 bytes at a time, whatever their length: both sides have that much room at the end.
SLACK = cython.declare(cython.size_t, 16)
MOST = cython.declare(cython.size_t, (1 << 28) - 1)  # bytes of a token
MANY = cython.declare(cython.Py_ssize_t, 1 << 20)  # from so many ids on the memory for them is kept for the next call
AHEAD = cython.declare(cython.Py_ssize_t, 16)  # how far ahead the ints of a list are fetched

# What a token adds to a text, in one number: its bytes, its lead bytes (those that are not the second or a later one of
# a character) from bit 28 on, and one of three bits if it has characters past U+007F, U+00FF or U+FFFF.
LEADS = cython.declare(cython.int, 28)
LATIN = cython.declare(uint64_t, 1 << 60)
BASIC = cython.declare(uint64_t, 1 << 61)
ASTRAL = cython.declare(uint64_t, 1 << 62)
NO_TOKEN = cython.declare(uint64_t, 1 << 63)

# Where the bytes of a token stand.
Span = cython.struct(start=uint32_t, size=uint32_t)

# Ids as the caller gave them, checked: what they stand for is `size` bytes, with `leads` lead bytes; `kinds` has the
# bits of all.
Wanted = cython.struct(
    ids=cython.pointer(uint32_t), mapped=cython.size_t, n=cython.Py_ssize_t, size=cython.size_t, leads=cython.size_t, kinds=uint64_t
)


@cython.cclass
class Decoder:
    """Ids to bytes. Immutable; threads share it.

    tokens: the bytes of each id, or None where it stands for nothing.
    """

    _tokens: list
    _blob: cython.pointer(uint8_t)
    _spans: cython.pointer(Span)
    _adds: cython.pointer(uint64_t)
    _n: cython.size_t
    _spare: Spare

    def __cinit__(self, tokens: list):
        i: cython.size_t
        at: cython.size_t = 0
        size: cython.size_t = sum([len(t) for t in tokens if t is not None])
        if size > MOST:
            raise MemoryError("the tokens have 256 MiB or more")
        self._tokens = tokens
        self._spare = Spare()
        self._n = len(tokens)
        self._blob = cython.cast(cython.pointer(uint8_t), malloc(size + SLACK))
        self._spans = cython.cast(cython.pointer(Span), malloc((self._n + 1) * cython.sizeof(Span)))
        self._adds = cython.cast(cython.pointer(uint64_t), malloc((self._n + 1) * 8))
        if self._blob == cython.NULL or self._spans == cython.NULL or self._adds == cython.NULL:
            raise MemoryError
        for i in range(self._n):
            token = tokens[i]
            size = 0 if token is None else len(token)
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
        i: cython.longlong = _number(index(id))
        if i < 0 or cython.cast(cython.size_t, i) >= self._n or self._adds[i] & NO_TOKEN:
            self._unknown(id)
        return self._tokens[i]

    def decode_bytes(self, ids: object) -> bytes:
        """The bytes of ids: a list, a tuple, an array of integers, or anything to iterate over."""
        wanted: Wanted
        wanted.ids = cython.NULL
        wanted.n = 0
        try:
            self._take(ids, cython.address(wanted))
            result: bytes = PyBytes_FromStringAndSize(cython.NULL, wanted.size)
            self._write(cython.address(wanted), cython.cast(cython.pointer(uint8_t), PyBytes_AS_STRING(result)))
            return result
        finally:
            self._release(cython.address(wanted))

    def decode(self, ids: object, errors: str) -> str:
        """The text of ids; `errors` as in bytes.decode."""
        wanted: Wanted
        wanted.ids = cython.NULL
        wanted.n = 0
        how: bytes = errors.encode()
        out: cython.pointer(uint8_t) = cython.NULL
        data: cython.p_void
        widest: uint32_t
        done: cython.bint
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
                data = PyUnicode_DATA(result)
                if wanted.n < 1024:
                    done = self._widen(cython.address(wanted), data)
                else:
                    with cython.nogil:
                        done = self._widen(cython.address(wanted), data)
                if done:
                    return result
            out = cython.cast(cython.pointer(uint8_t), malloc(wanted.size + SLACK))
            if out == cython.NULL:
                raise MemoryError
            self._write(cython.address(wanted), out)
            return PyUnicode_DecodeUTF8(cython.cast(cython.p_char, out), wanted.size, PyBytes_AS_STRING(how))
        finally:
            self._release(cython.address(wanted))
            free(out)

    @cython.cfunc
    @cython.exceptval(-1)
    def _take(self, ids: object, wanted: cython.pointer(Wanted)) -> cython.int:
        """Check the ids and take them over, with what they add up to."""
        i: cython.Py_ssize_t = 0
        id: cython.longlong
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
        wanted.mapped = 0
        if wanted.n >= MANY:
            size: cython.size_t = (4 * wanted.n + 4095) & ~cython.cast(cython.size_t, 4095)
            wanted.ids = cython.cast(cython.pointer(uint32_t), self._spare.take(size, cython.address(wanted.mapped)))
        else:
            wanted.ids = cython.cast(cython.pointer(uint32_t), malloc((wanted.n + 1) * 4))
        if wanted.ids == cython.NULL:
            raise MemoryError
        sums: Wanted = wanted[0]  # where no pointer leads, so that the compiler keeps it in registers
        if kind == "I":
            for i in range(sums.n):
                if not self._add(cython.address(sums), i, numbers[i]):
                    self._unknown(ids[i])
            wanted[0] = sums
            return 0
        if kind == "l":
            for i in range(sums.n):
                if not self._add(cython.address(sums), i, wide[i]):
                    self._unknown(ids[i])
            wanted[0] = sums
            return 0
        items = tm_items(ids)
        for i in range(sums.n):
            if i + AHEAD < sums.n:
                tm_prefetch(items[i + AHEAD])
            if not self._add(cython.address(sums), i, tm_small_int(items[i])):
                break
        else:
            i = sums.n
        wanted[0] = sums
        if i == sums.n:
            return 0
        rest: list = list(map(index, ids[i:]))  # not all of them small ints, or not ids
        for id_ in rest:
            if not self._add(wanted, i, _number(id_)):
                self._unknown(id_)
            i += 1
        return 0

    @cython.cfunc
    def _release(self, wanted: cython.pointer(Wanted)) -> cython.void:
        if wanted.n < MANY:
            free(wanted.ids)
        elif wanted.ids != cython.NULL:
            self._spare.keep(wanted.ids, wanted.mapped)

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _add(self, wanted: cython.pointer(Wanted), i: cython.Py_ssize_t, id: cython.longlong) -> cython.bint:
        """Take over one id; False if it is none."""
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
    def _write(self, wanted: cython.pointer(Wanted), out: cython.pointer(uint8_t)) -> cython.void:
        """The bytes to out[0:wanted.size]."""
        if wanted.n < 1024:
            self._copy(wanted, out)
        else:
            with cython.nogil:
                self._copy(wanted, out)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _copy(self, wanted: cython.pointer(Wanted), out: cython.pointer(uint8_t)) -> cython.void:
        i: cython.Py_ssize_t
        span: Span
        length: cython.size_t
        ids: cython.pointer(uint32_t) = wanted.ids
        end: cython.pointer(uint8_t) = out + wanted.size
        for i in range(wanted.n):
            span = self._spans[ids[i]]
            length = span.size
            if length <= SLACK and cython.cast(cython.size_t, end - out) >= SLACK:
                memcpy(out, self._blob + span.start, 16)
            else:
                memcpy(out, self._blob + span.start, length)
            out += length

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _widen(self, wanted: cython.pointer(Wanted), out: cython.p_void) -> cython.bint:
        """The characters to the memory of a str; False where the bytes are no UTF-8."""
        buffer: uint8_t[4096 + 16]
        filled: cython.size_t = 0
        count: cython.size_t = 0
        width: cython.int = 4 if wanted.kinds & ASTRAL else 2 if wanted.kinds & BASIC else 1
        ids: cython.pointer(uint32_t) = wanted.ids
        i: cython.Py_ssize_t
        span: Span
        left: cython.size_t  # of a token's bytes
        some: cython.size_t
        used: cython.Py_ssize_t
        for i in range(wanted.n):
            span = self._spans[ids[i]]
            left = span.size
            if left <= SLACK and filled + left <= 4096:
                memcpy(buffer + filled, self._blob + span.start, 16)
                filled += left
                continue
            while True:
                some = 4096 - filled if left > 4096 - filled else left
                memcpy(buffer + filled, self._blob + span.start, some)
                filled += some
                span.start += cython.cast(uint32_t, some)
                left -= some
                if left == 0:
                    break
                used = tm_widen(buffer, filled, width, out, cython.address(count))
                if used < 0:
                    return False
                filled -= used
                memmove(buffer, buffer + used, filled)
        return tm_widen(buffer, filled, width, out, cython.address(count)) == cython.cast(cython.Py_ssize_t, filled)

    @cython.cfunc
    @cython.exceptval(-1)
    def _unknown(self, id: object) -> cython.int:
        raise UnknownTokenError(f"{id} is no id of this vocabulary: its ids lie between 0 and {self._n - 1}")


@cython.cfunc
def _adds(token: cython.pointer(cython.const[uint8_t]), size: cython.size_t) -> uint64_t:
    """What a token adds to a text."""
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
    """An int as a number; what does not fit is no id anyway, like -1."""
    overflow: cython.int = 0
    return PyLong_AsLongLongAndOverflow(id, cython.address(overflow))


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
