"""The decoding kernel: ids to bytes and text.

The tokens of an ASCII text are copied directly into a str. Other bytes are measured and then decoded into a str of its final
width. Bytes that are not UTF-8 go through Python's decoder and its error handlers.
"""

from operator import index

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.cpython.long import PyLong_AsLongLongAndOverflow
from cython.cimports.cpython.object import PyObject
from cython.cimports.cpython.unicode import PyUnicode_DATA, PyUnicode_DecodeUTF8, PyUnicode_New
from cython.cimports.libc.stdint import int64_t, uint8_t, uint32_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.kernels._memory import tm_alloc, tm_free
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_decode
from cython.cimports.tokenmill.tokenizer._objects import tm_items, tm_small_int

from ...errors import UnknownTokenError, UsageError, WrongTypeError

# Short tokens are copied as 16 bytes: both buffers have that much room at the end.
SLACK = cython.declare(cython.size_t, 16)
GIL_IDS = cython.declare(cython.Py_ssize_t, 1024)  # the most ids that are decoded with the GIL held
SLICE = cython.declare(cython.Py_ssize_t, 1 << 20)  # ids between two checks for signals
GIL_BYTES = cython.declare(cython.size_t, 1 << 14)  # the most bytes that are decoded with the GIL held
CHUNK_BYTES = cython.declare(cython.size_t, 4 << 20)  # bytes that Python's decoder gets between two checks for signals

# The bytes of a token. The size may have the bit WIDE, for bytes that are not ASCII, or be NO_TOKEN.
Span = cython.struct(start=uint32_t, size=uint32_t)
MOST = cython.declare(cython.size_t, (1 << 28) - 1)  # bytes of a token
WIDE = cython.declare(uint32_t, 1 << 30)
NO_TOKEN = cython.declare(uint32_t, 1 << 31)

# A copy of the caller's ids, after checks. They decode to `size` bytes. `flags` has WIDE if a token has it.
CheckedIds = cython.struct(ids=cython.pointer(uint32_t), n=cython.Py_ssize_t, size=cython.size_t, flags=uint32_t)


@cython.cclass
class Decoder:
    """Ids to bytes and text. Immutable; threads share it.

    tokens: the bytes of each id, or None for an unused id.
    """

    _tokens: list
    _blob: cython.pointer(uint8_t)
    _spans: cython.pointer(Span)
    _n: cython.size_t

    def __cinit__(self, tokens: list):
        at: cython.size_t = 0
        size: cython.size_t = sum([len(t) for t in tokens if t is not None])
        if size > MOST:
            raise MemoryError("the tokens have 256 MiB or more")
        self._tokens = tokens
        self._n = len(tokens)
        self._blob = cython.cast(cython.pointer(uint8_t), malloc(size + SLACK))
        self._spans = cython.cast(cython.pointer(Span), malloc((self._n + 1) * cython.sizeof(Span)))
        if self._blob == cython.NULL or self._spans == cython.NULL:
            raise MemoryError
        for i in range(self._n):
            token = tokens[i]
            if token is None:
                self._spans[i] = Span(0, NO_TOKEN)
                continue
            size = len(token)
            memcpy(self._blob + at, PyBytes_AS_STRING(token), size)
            self._spans[i] = Span(cython.cast(uint32_t, at), size if token.isascii() else size | WIDE)
            at += size

    def __dealloc__(self):
        free(self._blob)
        free(self._spans)

    def token(self, id: object) -> bytes:
        """The bytes of one id."""
        i: cython.longlong = _number(id)
        if i < 0 or cython.cast(cython.size_t, i) >= self._n or self._spans[i].size == NO_TOKEN:
            self._unknown(id)
        return self._tokens[i]

    def decode_bytes(self, ids: object) -> bytes:
        """The bytes of ids: a list, a tuple, an array of integers, or any iterable."""
        return self._decoded(ids, False)

    def decode(self, ids: object, errors: str) -> str:
        """The text of ids; `errors` as in bytes.decode."""
        decoded = self._decoded(ids, True)
        if isinstance(decoded, str):
            return decoded
        text = _decode_valid(decoded)
        return _decode_any(decoded, errors.encode()) if text is None else text

    @cython.cfunc
    def _decoded(self, ids: object, as_text: cython.bint) -> object:
        """The bytes of ids; with as_text the text if it is ASCII."""
        checked: CheckedIds
        checked.ids = cython.NULL
        try:
            self._check(ids, cython.address(checked))
            if as_text and not checked.flags & WIDE:
                text: str = PyUnicode_New(checked.size, 127)
                if checked.size > 0:
                    self._write(cython.address(checked), cython.cast(cython.pointer(uint8_t), PyUnicode_DATA(text)))
                return text
            data: bytes = PyBytes_FromStringAndSize(cython.NULL, checked.size)
            self._write(cython.address(checked), cython.cast(cython.pointer(uint8_t), PyBytes_AS_STRING(data)))
            return data
        finally:
            tm_free(checked.ids)

    @cython.cfunc
    @cython.exceptval(-1)
    def _check(self, ids: object, checked: cython.pointer(CheckedIds)) -> cython.int:
        """Check and copy the ids, and sum up the sizes of their tokens."""
        i: cython.Py_ssize_t = 0
        numbers: cython.const[uint32_t][:] = None
        wide: cython.const[int64_t][:] = None
        format = "" if isinstance(ids, (list, tuple)) else _format(ids)
        if format == "I":
            numbers = ids
        elif format == "l":
            wide = ids
        elif not isinstance(ids, (list, tuple)):
            ids = list(ids)
        checked.n = len(ids)
        checked.size = checked.flags = 0
        checked.ids = cython.cast(cython.pointer(uint32_t), tm_alloc((checked.n + 1) * 4))
        if checked.ids == cython.NULL:
            raise MemoryError
        while i < checked.n:
            if len(ids) != checked.n:  # by an item's __index__ or a signal's handler
                raise UsageError(f"the list had {checked.n} ids and has {len(ids)} now; it must not change during decoding")
            stop = min(i + SLICE, checked.n)
            sums: CheckedIds = checked[0]  # a local copy, which the compiler keeps in registers
            if format == "I":
                while i < stop and self._add(cython.address(sums), i, numbers[i]):
                    i += 1
            elif format == "l":
                while i < stop and self._add(cython.address(sums), i, wide[i]):
                    i += 1
            else:
                items = tm_items(ids)
                while i < stop and self._add(cython.address(sums), i, tm_small_int(items[i])):
                    i += 1
            checked[0] = sums
            if i < stop:  # a large int, another integer type, or an error
                id = ids[i]
                if format != "" or not self._add(checked, i, _number(id)):
                    self._unknown(id)
                i += 1
            if i < checked.n:
                PyErr_CheckSignals()
        return 0

    @cython.cfunc
    @cython.inline
    @cython.exceptval(check=False)
    def _add(self, checked: cython.pointer(CheckedIds), i: cython.Py_ssize_t, id: cython.longlong) -> cython.bint:
        """Add one id; False if it is not in the vocabulary."""
        if cython.cast(cython.size_t, id) >= self._n:
            return False
        size: uint32_t = self._spans[id].size
        if size == NO_TOKEN:
            return False
        checked.size += size & MOST
        checked.flags |= size
        checked.ids[i] = cython.cast(uint32_t, id)
        return True

    @cython.cfunc
    @cython.exceptval(-1)
    def _write(self, checked: cython.pointer(CheckedIds), out: cython.pointer(uint8_t)) -> cython.int:
        """Write the bytes to out[0:checked.size]."""
        first: cython.Py_ssize_t = 0
        end: cython.pointer(uint8_t) = out + checked.size
        if checked.n <= GIL_IDS:
            self._copy(checked.ids, checked.n, out, end)
            return 0
        while first < checked.n:
            with cython.nogil:
                out = self._copy(checked.ids + first, min(SLICE, checked.n - first), out, end)
            first += SLICE
            PyErr_CheckSignals()
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _copy(self, ids: cython.pointer(uint32_t), n: cython.Py_ssize_t, out: cython.pointer(uint8_t),
              end: cython.pointer(uint8_t)) -> cython.pointer(uint8_t):
        """Write the bytes of n ids to memory that ends at `end`. Returns the end of the bytes."""
        for i in range(n):
            span: Span = self._spans[ids[i]]
            length = span.size & MOST
            if length <= SLACK and cython.cast(cython.size_t, end - out) >= SLACK:
                memcpy(out, self._blob + span.start, 16)
            else:
                memcpy(out, self._blob + span.start, length)
            out += length
        return out

    @cython.cfunc
    @cython.exceptval(-1)
    def _unknown(self, id: object) -> cython.int:
        raise UnknownTokenError(f"{id} is not an id of this vocabulary; its ids are between 0 and {self._n - 1}")


@cython.cfunc
def _decode_valid(data: bytes):
    """Decode UTF-8 into a str of its final width; None where a character is malformed."""
    p = cython.cast(cython.pointer(uint8_t), PyBytes_AS_STRING(data))
    size: cython.size_t = len(data)
    at: cython.size_t = 0
    count: cython.size_t = 0
    used: cython.Py_ssize_t = 0
    highest: uint8_t = 0
    if size <= GIL_BYTES:
        highest = _highest(p, size, cython.address(count))
    else:
        with cython.nogil:
            highest = _highest(p, size, cython.address(count))
    text: str = PyUnicode_New(count, 0x7F if highest < 0x80 else 0xFF if highest < 0xC4 else 0xFFFF if highest < 0xF0 else 0x10FFFF)
    out: cython.p_void = PyUnicode_DATA(text)
    width: cython.int = 1 if highest < 0xC4 else 2 if highest < 0xF0 else 4
    count = 0
    if size <= GIL_BYTES:
        return text if tm_utf8_decode(p, size, width, out, cython.address(count)) == cython.cast(cython.Py_ssize_t, size) else None
    while at < size:
        with cython.nogil:
            used = tm_utf8_decode(p + at, min(size - at, CHUNK_BYTES), width, out, cython.address(count))
        if used <= 0:
            return None
        at += used
        PyErr_CheckSignals()
    return text


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _highest(p: cython.pointer(uint8_t), size: cython.size_t, count: cython.pointer(cython.size_t)) -> uint8_t:
    """The highest byte; counts the bytes that begin a character."""
    i: cython.size_t = 0
    highest: uint8_t = 0
    while i < size:
        n = min(size - i, 128)  # a byte can count them, so the compiler vectorizes the loop
        leads: uint8_t = 0
        for k in range(n):
            leads += p[i + k] & 0xC0 != 0x80
            highest = max(highest, p[i + k])
        count[0] += leads
        i += n
    return highest


@cython.cfunc
def _decode_any(data: bytes, errors: bytes) -> str:
    """Decode with Python's error handlers, in chunks with checks for signals between them.

    Chunks end before a lead byte, so no error spans two. A handler that may use the positions of an error gets all bytes."""
    p: cython.p_char = PyBytes_AS_STRING(data)
    size: cython.size_t = len(data)
    handler: cython.p_char = PyBytes_AS_STRING(errors)
    if size <= CHUNK_BYTES or errors not in (b"replace", b"ignore", b"backslashreplace", b"surrogateescape"):
        return PyUnicode_DecodeUTF8(p, size, handler)
    texts: list = []
    first: cython.size_t = 0
    back: cython.size_t
    while first < size:
        last = min(first + CHUNK_BYTES, size)
        for back in range(4 if last < size else 0):  # after more than three continuation bytes any index will do
            if p[last - back] & 0xC0 != 0x80:
                last -= back
                break
        texts.append(PyUnicode_DecodeUTF8(p + first, last - first, handler))
        first = last
        PyErr_CheckSignals()
    return "".join(texts)


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
def _format(ids: object) -> str:
    """The format of one-dimensional ids whose buffer is read: "I" or "l"; otherwise ""."""
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
