"""The encoding kernel: text to ids, by the scanner, the cache and the merger in turn.

An Encoder is shared by all threads. The cache and the buffers, which change during encoding, are in a State. A thread takes
one from the pool while it holds the GIL, and returns it afterwards. So the loops need no locks, and the pool of a process that is
forked during encoding has fewer states, and no half-changed one.
"""

import cython
from cython.cimports.cpython.bytearray import PyByteArray_FromStringAndSize
from cython.cimports.cpython.bytes import PyBytes_AS_STRING
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.cpython.list import PyList_New
from cython.cimports.cpython.object import PyObject
from cython.cimports.cpython.unicode import PyUnicode_DecodeUTF8
from cython.cimports.libc.stdint import uint8_t, uint32_t
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.kernels._memory import tm_pages_free, tm_pages_new, tm_pages_populate, tm_pages_small
from cython.cimports.tokenmill.kernels._signals import raise_signalled
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_encode
from cython.cimports.tokenmill.tokenizer._objects import tm_items, tm_make_immortal, tm_text_units
from cython.cimports.tokenmill.tokenizer.encoding._cache_cy import PretokenCache
from cython.cimports.tokenmill.tokenizer.encoding._finder_cy import Finder
from cython.cimports.tokenmill.tokenizer.encoding._ids_cy import Ids
from cython.cimports.tokenmill.tokenizer.encoding._sections_cy import SECTION, Sections
from cython.cimports.tokenmill.tokenizer.encoding._stages_cy import HOLD, RAISED, SLICE, Stages, State
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_TOKEN, SIGNALLED, TOO_LONG, Merger, release

from ...errors import UsageError, WrongTypeError


class ForbiddenText(Exception):
    """A text contains a string that it must not contain."""


MANY = cython.declare(cython.Py_ssize_t, 1 << 17)  # ids of a list whose pages are requested at once
KEPT = cython.declare(cython.size_t, 1 << 20)  # ids that a state keeps room for between calls
MOST_KEPT = cython.declare(cython.size_t, 64 << 20)  # bytes of UTF-8, of which only those that were written take memory


@cython.cclass
class Encoder(Stages):
    """Text to ids. Immutable; threads share it.

    cache: the pretokens that all caches begin with; it becomes the cache of the first thread.
    scanner: cuts text into pretokens; None if the caller passes their ends.
    n_ids: all ids are below this.
    cache_bytes: the limit of the caches of all threads together; 0 for no caches beyond the initial entries.
    cutter: cuts text instead of the scanner, if the whole text is one pretoken.
    """

    def __init__(self, merger: Merger, cache: PretokenCache, scanner, n_ids: cython.Py_ssize_t, cache_bytes: cython.size_t,
                 cutter=None):
        cache.begin()
        self.merger = merger
        self._model = cache
        self.scanner = scanner
        self.cutter = cutter
        self._cache_bytes = cache_bytes
        self._pool = []
        self.n_ids = n_ids
        _reserve_ints(n_ids)

    # ------------------------------------------------------------------ the pool

    def take(self):
        with cython.critical_section(self):  # one thread at a time, also in a Python without the GIL
            if self._pool:
                state: State = self._pool.pop()
            else:
                first: cython.bint = self._states == 0
                self._states += 1
                state = State(self._model if first else self._model.copy())
        state.cache.set_limit(self._cache_bytes // self._states)
        state.ids.used = 0
        state.counted = 0
        return state

    def give(self, state):
        if state.ids.room > KEPT:
            state.ids = Ids()
        if state.rows.room > KEPT:
            state.rows = Ids()
        if state.text_size > MOST_KEPT:
            tm_pages_free(state.text, state.text_size)
            state.text = cython.NULL
            state.text_size = 0
        release(cython.address(state.prefixed), KEPT)
        release(cython.address(state.normal_text), KEPT)
        self._pool.append(state)

    def statistics(self) -> list:
        """PretokenCache.statistics of each cache in the pool."""
        return [cython.cast(State, state).cache.statistics() for state in self._pool]

    # ------------------------------------------------------------------ texts

    def encode(self, text, refused: Finder | None = None, sections: Sections | None = None, ends=None) -> list:
        """The ids of a str or of bytes.

        refused: finds strings that the text must not contain. ForbiddenText has the first of them.
        sections: the added tokens to match, and the changes of the text between them; None to encode the text as it is.
        ends: the ends of the pretokens, for an encoder without a scanner; not together with `sections`.
        """
        state: State = self.take()
        try:
            self._run(state, text, refused, sections, ends, True)
            return self.list_of(state.ids.data, state.ids.used)
        finally:
            self.give(state)

    def encode_to_ids(self, text, refused: Finder | None = None, sections: Sections | None = None, ends=None):
        """The ids as an object with the buffer protocol; options as for `encode`."""
        state: State = self.take()
        try:
            self._run(state, text, refused, sections, ends, True)
            return _array(state)
        finally:
            self.give(state)

    def count(self, text, refused: Finder | None = None, sections: Sections | None = None) -> int:
        """The number of ids."""
        state: State = self.take()
        try:
            self._run(state, text, refused, sections, None, False)
            return state.counted + state.ids.used
        finally:
            self.give(state)

    def encode_pretoken(self, pretoken: bytes) -> list:
        """The ids of one pretoken."""
        state: State = self.take()
        end: cython.size_t = len(pretoken)
        p = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(pretoken))
        try:
            if end > 0:
                self._check(state, self.pretokens(state, p, end, cython.address(end), 1))
            return self.list_of(state.ids.data, state.ids.used)
        finally:
            self.give(state)

    def encode_sections(self, data: bytes, sections: Sections | None = None, limit: cython.Py_ssize_t = -1,
                     encodes: cython.bint = True) -> tuple:
        """Return (ids, rows, changes) of a text in UTF-8: uint32, size_t (see _sections_cy.pxd), and the text of each changed stretch.

        limit: stop once there are more ids; -1 for no limit. encodes: if false, only the ids of added tokens are returned.
        """
        state: State = self.take()
        step: cython.size_t = SLICE
        if 0 <= limit < cython.cast(cython.Py_ssize_t, SLICE // 32):
            step = 64 + 16 * limit
        state.only_records = not encodes
        try:
            p = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(data))
            self._record_sections(state, p, len(data), sections, limit, step)
            return _array(state), _copy(state.rows), state.changes
        finally:
            state.recorded = state.changes = None
            state.only_records = state.in_changed = False
            self.give(state)

    def prefix(self, text, refused: Finder | None, sections: Sections | None, limit: cython.Py_ssize_t, size_memory: bytes,
               unknown: cython.Py_ssize_t):
        """The longest prefix of a str that ends with one of its ids, not inside a character, and has at most `limit` ids.

        None if that requires the spans of the ids: after an added token, a change or an unknown token, or if the prefix
        alone has more ids. size_memory: the bytes of each token by id, uint32. unknown: the id of the unknown token, or -1.
        """
        state: State = self.take()
        size: cython.Py_ssize_t = 0
        end: cython.size_t = 0
        sizes = cython.cast(cython.pointer(cython.const[uint32_t]), PyBytes_AS_STRING(size_memory))
        try:
            p: cython.pointer(cython.const[uint8_t]) = self._bytes(state, text, cython.address(size))
            if refused is not None and refused.is_in(p, size):
                _refuse(text, refused)
            self._record_sections(state, p, size, sections, limit, 64 + 4 * min(limit, SLICE // 8))
            if state.ids.used <= limit:
                return text
            row = cython.cast(cython.pointer(cython.size_t), state.rows.data)
            if state.rows.used != cython.sizeof(cython.size_t) or row[1] != 0 or row[3] != SECTION:
                return None
            for i in range(limit):
                if state.ids.data[i] == unknown or 4 * cython.cast(cython.Py_ssize_t, state.ids.data[i]) >= len(size_memory):
                    return None
                end += sizes[state.ids.data[i]]
            while end < cython.cast(cython.size_t, size) and p[end] & 0xC0 == 0x80:
                end -= 1
            state.ids.used = 0
            self._record_sections(state, p, end, sections, -1, SLICE)
            return None if state.ids.used > limit else PyUnicode_DecodeUTF8(cython.cast(cython.p_char, p), end, cython.NULL)
        finally:
            state.recorded = state.changes = None
            state.in_changed = False
            self.give(state)

    def _record_sections(self, state, p, length, sections, limit, step):
        state.recorded = state.rows
        state.rows.used = 0
        state.changes = []
        state.at = 0
        while state.at < length and (limit < 0 or state.ids.used <= limit):
            if length <= HOLD or step <= HOLD:
                code = self.encode_text(state, p, state.at, length, state.at + step, sections)
            else:
                with cython.nogil:
                    code = self.encode_text(state, p, state.at, length, state.at + step, sections)
                PyErr_CheckSignals()
            self._check(state, code)
        return 0

    def id_list(self, ids: cython.const[uint8_t][::1]) -> list:
        """A list of the ids in the memory of `encode_sections`."""
        return self.list_of(cython.cast(cython.pointer(uint32_t), cython.address(ids[0])), ids.shape[0] // 4) if len(ids) else []

    def list_of(self, ids, n):
        """A list of ints. They are immortal: counting references would read and write each int."""
        int_of: cython.pointer(cython.pointer(PyObject)) = _ints
        result: list = PyList_New(n)
        items: cython.pointer(cython.pointer(PyObject)) = tm_items(result)
        if n >= MANY:
            tm_pages_populate(items, n * cython.sizeof(cython.p_void))
        for i in range(n):
            if int_of[ids[i]] == cython.NULL:
                _make_int(int_of, ids[i])
            items[i] = int_of[ids[i]]
        return result

    # ------------------------------------------------------------------ the UTF-8 of a text

    def _bytes(self, state, text, size):
        """Without PyUnicode_AsUTF8, which converts into fresh memory twice and keeps the result with the str."""
        data: cython.p_void = cython.NULL
        n: cython.size_t = 0
        width: cython.int = tm_text_units(cython.cast(cython.pointer(PyObject), text), cython.address(data), cython.address(n))
        if width < 0:
            raise WrongTypeError(f"text is str or bytes, not {type(text).__name__}")
        size[0] = n
        if width == 0:
            return cython.cast(cython.pointer(cython.const[uint8_t]), data)
        if not self.reserve_text(state, n, width):
            raise MemoryError
        if n <= HOLD:
            size[0] = tm_utf8_encode(data, n, width, state.text)
        else:
            with cython.nogil:
                size[0] = tm_utf8_encode(data, n, width, state.text)
        if size[0] < 0:
            text.encode()  # raises: there are surrogates
        return state.text

    def reserve_text(self, state, n, width):
        size: cython.size_t = n * (4 if width == 4 else width + 1) + 16
        if state.text_size < size:
            size = max(size, KEPT)
            # Small pages: on a busy machine the system takes long to find huge ones, and this is written once.
            fresh = cython.cast(cython.pointer(uint8_t), tm_pages_small(size))
            if fresh == cython.NULL:
                return False
            tm_pages_free(state.text, state.text_size)
            state.text = fresh
            state.text_size = size
        return True

    # ------------------------------------------------------------------ the loops

    def _run(self, state, text, refused, sections, ends, keep):
        size: cython.Py_ssize_t = 0
        p = self._bytes(state, text, cython.address(size))
        length: cython.size_t = size
        if refused is not None and refused.is_in(p, size):
            _refuse(text, refused)
        if ends is not None:
            if length > 0:
                pretoken_ends: cython.const[cython.size_t][::1] = ends
                with cython.nogil:
                    code = self.pretokens(state, p, length, cython.address(pretoken_ends[0]), pretoken_ends.shape[0])
                return self._check(state, code)
            return 0
        if length <= HOLD:
            return self._check(state, self.encode_text(state, p, 0, length, length, sections))
        state.at = 0
        while state.at < length:
            with cython.nogil:
                code = self.encode_text(state, p, state.at, length, state.at + SLICE, sections)
            self._check(state, code)
            if not keep:
                state.counted += state.ids.used
                state.ids.used = 0
            PyErr_CheckSignals()
        return 0

    def _check(self, state, code):
        """Raise the exception for a negative number of the kernels."""
        if code >= 0:
            return 0
        if code == RAISED:
            error, state.error = state.error, None
            raise error
        if code == SIGNALLED:
            raise_signalled()
        if code == TOO_LONG:
            raise UsageError("a pretoken of the text has 1 GiB or more; the split pattern does not cut it")
        if code == NO_TOKEN:
            raise UsageError(
                f"the vocabulary has no token for {state.cache.missing!r} and no unknown token, so it cannot encode this text. "
                "drop_unknown=True of tokenmill.load (--drop-unknown) drops such characters of a tokenizer.json, as tokenizers does."
            )
        raise MemoryError


_ints = cython.declare(cython.pointer(cython.pointer(PyObject)), cython.NULL)  # the int of each id that was in a list; they are immortal
_n_ints = cython.declare(cython.size_t, 0)


@cython.cfunc
@cython.exceptval(-1)
def _reserve_ints(n: cython.size_t) -> cython.int:
    """Make room for the ints below n."""
    global _ints, _n_ints
    if n > _n_ints:
        n = max(n, 2 * _n_ints)
        grown: cython.p_void = tm_pages_new(n * cython.sizeof(cython.p_void))
        if grown == cython.NULL:
            raise MemoryError
        if _n_ints > 0:
            memcpy(grown, _ints, _n_ints * cython.sizeof(cython.p_void))
        _ints = cython.cast(cython.pointer(cython.pointer(PyObject)), grown)  # the old one stays: in a Python without the GIL, threads read it
        _n_ints = n
    return 0


@cython.cfunc
@cython.exceptval(-1)
def _make_int(int_of: cython.pointer(cython.pointer(PyObject)), id: uint32_t) -> cython.int:
    value: object = id
    tm_make_immortal(cython.cast(cython.pointer(PyObject), value))
    int_of[id] = cython.cast(cython.pointer(PyObject), value)
    return 0


@cython.cfunc
@cython.exceptval(-1)
def _refuse(text, refused: Finder) -> cython.int:
    raise ForbiddenText(refused.find(text.encode() if isinstance(text, str) else text).decode())


@cython.cfunc
def _array(state: State) -> object:
    """The ids as a separate object: a copy of a few ids, or the array itself, which the state replaces."""
    ids: Ids = state.ids
    if ids.used <= HOLD:
        return _copy(ids)
    state.ids = Ids()
    return ids


@cython.cfunc
def _copy(ids: Ids) -> bytearray:
    return PyByteArray_FromStringAndSize(cython.cast(cython.p_char, ids.data), ids.used * 4)
