# cython: language_level=3
"""The encoding kernel: text to ids, by the scanner, the cache and the merger in turn.

An Encoder is shared by all threads. What changes while it encodes, the cache and the buffer of ids, is in a State; a
thread takes one from the pool while it holds the GIL, and puts it back after. So nothing in the loops is locked or
shared, and a process that forks while others encode finds no state half changed, only fewer of them.
"""

import cython
from cython.cimports.cpython.buffer import PyBUF_FORMAT
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.cpython.list import PyList_New
from cython.cimports.cpython.object import PyObject
from cython.cimports.libc.stdint import uint8_t, uint32_t
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.counting._pages import tm_pages_free, tm_pages_new
from cython.cimports.tokenmill.split._scan_cy import Scanner
from cython.cimports.tokenmill.tokenizer._cache_cy import BATCH, PieceCache
from cython.cimports.tokenmill.tokenizer._merge_cy import (
    NO_MEMORY,
    NO_TOKEN,
    SIGNALLED,
    TOO_LONG,
    Merger,
    tm_raise_pending,
)

from ..errors import UsageError

# Texts up to this many bytes are encoded without giving up the GIL: handing it over costs as much as they do.
HOLD = cython.declare(cython.size_t, 4096)
# Signals are looked for after so many bytes, which take a tenth of a second where every piece is new.
SLICE = cython.declare(cython.size_t, 4 << 20)
# A buffer of more ids than this is not kept from one call to the next.
KEPT = cython.declare(cython.size_t, 1 << 20)


@cython.cclass
class Ids:
    """A growing array of ids; gives them out by the buffer protocol as unsigned 32-bit integers."""

    data: cython.pointer(uint32_t)
    room: cython.size_t  # in ids
    mapped: cython.size_t  # in bytes
    used: cython.Py_ssize_t
    shape: cython.Py_ssize_t[1]
    format: cython.char[2]

    def __cinit__(self):
        self.format[0] = 73  # "I"

    def __dealloc__(self):
        tm_pages_free(self.data, self.mapped)

    def __len__(self):
        return self.used

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def reserve(self, more: cython.size_t, hint: cython.size_t) -> cython.bint:
        """Room for `more` ids, and at once for `hint` of them where it has to grow: what is not touched costs nothing."""
        need: cython.size_t = self.used + more
        if need <= self.room:
            return True
        if need < self.room + self.room // 2:
            need = self.room + self.room // 2
        if need < self.used + hint:
            need = self.used + hint
        size: cython.size_t = (need * 4 + 4095) & ~cython.cast(cython.size_t, 4095)
        data: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), tm_pages_new(size))
        if data == cython.NULL:
            return False
        memcpy(data, self.data, self.used * 4)
        tm_pages_free(self.data, self.mapped)
        self.data = data
        self.mapped = size
        self.room = size // 4
        return True

    @cython.cfunc
    def trim(self) -> cython.void:
        """Give back the memory behind the last id."""
        size: cython.size_t = (cython.cast(cython.size_t, self.used) * 4 + 4095) & ~cython.cast(cython.size_t, 4095)
        if 0 < size < self.mapped:
            tm_pages_free(cython.cast(cython.pointer(uint8_t), self.data) + size, self.mapped - size)
            self.mapped = size
            self.room = size // 4

    def __getbuffer__(self, view: cython.pointer(Py_buffer), flags: cython.int):
        self.shape[0] = self.used
        view.buf = self.data
        view.obj = self
        view.len = self.used * 4
        view.readonly = 0
        view.itemsize = 4
        view.format = self.format if flags & PyBUF_FORMAT else cython.NULL
        view.ndim = 1
        view.shape = self.shape
        view.strides = cython.address(view.itemsize)
        view.suboffsets = cython.NULL
        view.internal = cython.NULL


@cython.cclass
class State:
    """What one thread changes while it encodes."""

    cache: PieceCache
    ids: Ids
    at: cython.size_t

    def __cinit__(self, cache: PieceCache):
        self.cache = cache
        self.ids = Ids()


@cython.cclass
class Encoder:
    """Ordinary text to ids. Made from the parts of a vocabulary; immutable, threads share it.

    scanner: cuts text into pieces; None where the caller must say where they end.
    n_ids: ids are below this.
    cache_bytes: what the caches of all threads together may hold, if that is more than the seed of each.
    """

    _merger: Merger
    _seed: PieceCache
    _scanner: Scanner
    _pool: list
    _ints: list
    _int: cython.pointer(cython.pointer(PyObject))
    _cache_bytes: cython.size_t
    _states: cython.size_t

    def __init__(self, merger: Merger, seed: PieceCache, scanner, n_ids: cython.Py_ssize_t, cache_bytes: cython.size_t):
        self._merger = merger
        self._seed = seed
        self._scanner = scanner
        self._cache_bytes = cache_bytes
        self._pool = []
        self._ints = list(range(n_ids))
        self._int = tm_items(self._ints)

    # ------------------------------------------------------------------ the pool

    @cython.cfunc
    def _take(self) -> State:
        state: State
        if self._pool:
            state = self._pool.pop()
        else:
            self._states += 1
            state = State(PieceCache(self._merger, self._seed))
        state.cache.bound = self._cache_bytes // self._states
        state.ids.used = 0
        return state

    @cython.cfunc
    def _give(self, state: State) -> cython.void:
        if state.ids.room > KEPT:
            state.ids = Ids()
        self._pool.append(state)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the caches in the pool hold."""
        return sum([cython.cast(State, state).cache.nbytes for state in self._pool])

    # ------------------------------------------------------------------ one text

    def encode(self, text, ends=None) -> list:
        """The ids of a str or of bytes. ends: where the pieces end, where there is no scanner."""
        state: State = self._take()
        try:
            self._run(state, text, ends)
            return self._list(state.ids.data, state.ids.used)
        finally:
            self._give(state)

    def encode_to_ids(self, text, ends=None) -> Ids:
        """The ids of a str or of bytes as an array."""
        state: State = self._take()
        try:
            self._run(state, text, ends)
            result: Ids = state.ids
            state.ids = Ids()
            result.trim()
            return result
        finally:
            self._give(state)

    def encode_piece(self, piece: bytes) -> list:
        """The ids of bytes that are one piece."""
        state: State = self._take()
        end: cython.size_t = len(piece)
        try:
            if end > 0:
                self._check(self._encode(state, cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(piece)), 0, end, end, cython.address(end), 1), piece)
            return self._list(state.ids.data, state.ids.used)
        finally:
            self._give(state)

    @cython.cfunc
    def _list(self, ids: cython.pointer(uint32_t), n: cython.Py_ssize_t) -> list:
        """A list of ints. They are made once for each id: to count a reference is cheaper than to make an int."""
        i: cython.Py_ssize_t
        item: cython.pointer(PyObject)
        result: list = PyList_New(n)
        items: cython.pointer(cython.pointer(PyObject)) = tm_items(result)
        for i in range(n):
            item = self._int[ids[i]]
            tm_incref(item)
            items[i] = item
        return result

    @cython.cfunc
    @cython.exceptval(-1)
    def _run(self, state: State, text, ends) -> cython.int:
        """Encode a whole text into state.ids."""
        size: cython.Py_ssize_t = 0
        p: cython.pointer(cython.const[uint8_t])
        code: cython.Py_ssize_t
        given: cython.pointer(cython.const[cython.size_t]) = cython.NULL
        n_given: cython.Py_ssize_t = 0
        if isinstance(text, str):
            p = cython.cast(cython.pointer(cython.const[uint8_t]), tm_utf8(text, cython.address(size)))
        elif isinstance(text, bytes):
            p = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(text))
            size = PyBytes_GET_SIZE(text)
        else:
            raise TypeError(f"text is str or bytes, not {type(text).__name__}")
        view: cython.const[cython.size_t][::1]
        if ends is not None and size > 0:
            view = ends
            n_given = view.shape[0]
            given = cython.address(view[0])
        if size <= HOLD:
            return self._check(self._encode(state, p, 0, size, size, given, n_given), text)
        state.at = 0
        while state.at < cython.cast(cython.size_t, size):
            with cython.nogil:
                code = self._encode(state, p, state.at, size, size if n_given > 0 else state.at + SLICE, given, n_given)
            self._check(code, text)
            PyErr_CheckSignals()
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _encode(self, state: State, text: cython.pointer(cython.const[uint8_t]), at: cython.size_t, length: cython.size_t,
                stop: cython.size_t, given: cython.pointer(cython.const[cython.size_t]),
                n_given: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Encode text[at:] from a piece's start until `stop` or a little further; leaves state.at where it stopped."""
        ends: cython.size_t[BATCH]
        n: cython.Py_ssize_t
        count: cython.Py_ssize_t
        while at < length and at < stop:
            if given != cython.NULL:
                n = n_given if n_given < BATCH else BATCH
                memcpy(ends, given, n * cython.sizeof(cython.size_t))
                given += n
                n_given -= n
            else:
                n = self._scanner.scan(text, at, length, ends, BATCH)
            if not state.ids.reserve(ends[n - 1] - at + 4, (length - at) // 2 if length > HOLD else 0):
                return NO_MEMORY
            count = state.cache.encode(text, at, length, ends, n, state.ids.data + state.ids.used)
            if count < 0:
                return count
            state.ids.used += count
            at = ends[n - 1]
        state.at = at
        return 0

    @cython.cfunc
    @cython.exceptval(-1)
    def _check(self, code: cython.Py_ssize_t, text) -> cython.int:
        """Raise what a negative number of the kernels means."""
        if code >= 0:
            return 0
        if code == SIGNALLED:
            tm_raise_pending()
        if code == TOO_LONG:
            raise UsageError("a piece of the text has 1 GiB or more; the split pattern does not cut it")
        if code == NO_TOKEN:
            missing = self._merger.first_missing(text.encode() if isinstance(text, str) else text)
            raise UsageError(f"the vocabulary has no token for {missing!r} and no unknown token, so it cannot encode this text")
        raise MemoryError
