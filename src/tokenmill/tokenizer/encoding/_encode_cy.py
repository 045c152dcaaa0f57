# cython: language_level=3
"""The encoding kernel: text to ids, by the scanner, the cache and the merger in turn.

An Encoder is shared by all threads. What changes while it encodes, the cache and the buffers, is in a State; a thread takes
one from the pool while it holds the GIL, and gives it back afterwards. So the loops need no locks, and a process that is
forked while others encode finds no half-changed state, only fewer states.
"""

import cython
from cython.cimports.cpython.bytearray import PyByteArray_FromStringAndSize
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.cpython.list import PyList_New
from cython.cimports.cpython.object import PyObject
from cython.cimports.cpython.unicode import PyUnicode_DecodeUTF8
from cython.cimports.libc.stdint import uint8_t, uint32_t
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.kernels._memory import tm_pages_free, tm_pages_populate, tm_pages_small
from cython.cimports.tokenmill.kernels._signals import raise_signalled, signalled
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_encode
from cython.cimports.tokenmill.split._scan_cy import Scanner
from cython.cimports.tokenmill.tokenizer._objects import tm_incref, tm_items, tm_text_units
from cython.cimports.tokenmill.tokenizer.encoding._cache_cy import BATCH, SCAN, PretokenCache
from cython.cimports.tokenmill.tokenizer.encoding._cutter_cy import Cutter
from cython.cimports.tokenmill.tokenizer.encoding._finder_cy import Finder
from cython.cimports.tokenmill.tokenizer.encoding._ids_cy import Ids
from cython.cimports.tokenmill.tokenizer.encoding._sections_cy import (
    ADDED_TOKEN,
    CHANGED_STRETCH,
    IN_CHANGED,
    NO_PREFIX,
    PART,
    PREFIXED_PART,
    TEXT_START,
    Sections,
)
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import (
    NO_MEMORY,
    NO_TOKEN,
    SIGNALLED,
    TOO_LONG,
    Merger,
    release,
    reserve,
)

from ...errors import UsageError, WrongTypeError


class ForbiddenText(Exception):
    """A text contains a string that it must not contain."""


# Texts of up to so many bytes are encoded without releasing the GIL: handing it over takes as long as they do.
HOLD = cython.declare(cython.size_t, 4096)
MANY = cython.declare(cython.Py_ssize_t, 1 << 17)  # ids of a list whose pages are requested at once
# Signals are checked for after so many bytes, which take a tenth of a second where every pretoken is new.
SLICE = cython.declare(cython.size_t, 4 << 20)
SMALL = cython.declare(cython.size_t, 64)  # bytes that are normalized after the first that must be
KEPT = cython.declare(cython.size_t, 1 << 20)  # ids that a state keeps room for between calls
MOST_KEPT = cython.declare(cython.size_t, 64 << 20)  # bytes of UTF-8, of which only those that were written take memory


# Beside the negative numbers of _merger_cy:
RAISED = cython.declare(cython.Py_ssize_t, -13)  # State.error


@cython.cclass
class State:
    """The data that one thread changes while it encodes."""

    def __cinit__(self, cache: PretokenCache):
        self.cache = cache
        self.ids = Ids()
        self.rows = Ids()

    def __dealloc__(self):
        tm_pages_free(self.text, self.text_size)
        release(cython.address(self.prefixed), 0)
        release(cython.address(self.normal_text), 0)


@cython.cclass
class Encoder:
    """Text to ids. Made from the parts of a vocabulary; immutable, threads share it.

    cache: the pretokens that all caches begin with; it becomes the cache of the first thread.
    scanner: cuts text into pretokens; None if the caller gives their ends.
    n_ids: all ids are below this.
    cache_bytes: the limit of the caches of all threads together; 0 for no caches beyond the initial entries.
    cutter: cuts text instead of the scanner, where the whole text is one pretoken.
    """

    def __init__(self, merger: Merger, cache: PretokenCache, scanner, n_ids: cython.Py_ssize_t, cache_bytes: cython.size_t,
                 cutter=None):
        cache.begin()
        self._merger = merger
        self._model = cache
        self._scanner = scanner
        self._cutter = cutter
        self._cache_bytes = cache_bytes
        self._pool = []
        self._ints = list(range(n_ids))
        self._int = tm_items(self._ints)
        self.n_ids = n_ids

    # ------------------------------------------------------------------ the pool

    def take(self):
        state: State
        with cython.critical_section(self):  # one thread at a time, also in a Python without the GIL
            if self._pool:
                state = self._pool.pop()
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

        refused: finds strings that the text must not contain: ForbiddenText with the first of them.
        sections: the added tokens to find and how the text between them changes; None to encode the text as it is.
        ends: where the pretokens end, for an encoder without a scanner; not together with `sections`.
        """
        state: State = self.take()
        try:
            self._run(state, text, refused, sections, ends, True)
            return self.list_of(state.ids.data, state.ids.used)
        finally:
            self.give(state)

    def encode_to_ids(self, text, refused: Finder | None = None, sections: Sections | None = None, ends=None):
        """The same as an array, which has the buffer protocol."""
        state: State = self.take()
        try:
            self._run(state, text, refused, sections, ends, True)
            return _array(state)
        finally:
            self.give(state)

    def count(self, text, refused: Finder | None = None, sections: Sections | None = None, ends=None) -> int:
        """The number of ids."""
        state: State = self.take()
        try:
            self._run(state, text, refused, sections, ends, False)
            return state.counted + state.ids.used
        finally:
            self.give(state)

    def encode_pretoken(self, pretoken: bytes) -> list:
        """The ids of bytes that are one pretoken."""
        state: State = self.take()
        end: cython.size_t = len(pretoken)
        p: cython.pointer(cython.const[uint8_t]) = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(pretoken))
        try:
            if end > 0:
                self._check(state, self._encode(state, p, 0, end, end, cython.address(end), 1), pretoken)
            return self.list_of(state.ids.data, state.ids.used)
        finally:
            self.give(state)

    def encode_parts(self, data: bytes, sections: Sections | None = None, limit: cython.Py_ssize_t = -1,
                     encodes: cython.bint = True) -> tuple:
        """The ids of a text in UTF-8, and what it consists of.

        limit: stop once there are more ids; -1 for no limit. encodes: whether ids are wanted; else only added tokens are.
        Returns (ids, parts, changes): the memory of uint32; that of rows (see _sections_cy.pxd); each changed stretch as it was
        encoded, for the rows CHANGED_STRETCH.
        """
        state: State = self.take()
        step: cython.size_t = SLICE
        if 0 <= limit < cython.cast(cython.Py_ssize_t, SLICE // 32):
            step = 64 + 16 * limit
        state.only_parts = not encodes
        try:
            p: cython.pointer(cython.const[uint8_t]) = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(data))
            self._record_parts(state, data, p, len(data), sections, limit, step)
            return _array(state), _copy(state.rows), state.changes
        finally:
            state.parts = state.changes = None
            state.only_parts = state.in_changed = False
            self.give(state)

    def prefix(self, text, refused: Finder | None, sections: Sections | None, limit: cython.Py_ssize_t, size_memory: bytes,
               unknown: cython.Py_ssize_t):
        """The longest prefix of a str that ends with one of its ids, not inside a character, and takes at most `limit` ids.

        None where that takes the spans of encode_parts: after an added token, a change or an unknown token, or if the prefix
        alone takes more ids. size_memory: the bytes of each token by id, uint32. unknown: the id of the unknown token, or -1.
        """
        state: State = self.take()
        size: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        end: cython.size_t = 0
        sizes: cython.pointer(cython.const[uint32_t]) = cython.cast(
            cython.pointer(cython.const[uint32_t]), PyBytes_AS_STRING(size_memory)
        )
        row: cython.pointer(cython.size_t)
        try:
            p: cython.pointer(cython.const[uint8_t]) = self._bytes(state, text, cython.address(size))
            if refused is not None and refused.is_in(p, size):
                _refuse(text, refused)
            self._record_parts(state, text, p, size, sections, limit, 64 + 4 * min(limit, SLICE // 8))
            if state.ids.used <= limit:
                return text
            row = cython.cast(cython.pointer(cython.size_t), state.rows.data)
            if state.rows.used != cython.sizeof(cython.size_t) or row[1] != 0 or row[3] != PART:
                return None
            for i in range(limit):
                if state.ids.data[i] == unknown or 4 * cython.cast(cython.Py_ssize_t, state.ids.data[i]) >= len(size_memory):
                    return None
                end += sizes[state.ids.data[i]]
            while end < cython.cast(cython.size_t, size) and p[end] & 0xC0 == 0x80:
                end -= 1
            state.ids.used = 0
            self._record_parts(state, text, p, end, sections, -1, SLICE)
            return None if state.ids.used > limit else PyUnicode_DecodeUTF8(cython.cast(cython.p_char, p), end, cython.NULL)
        finally:
            state.parts = state.changes = None
            state.in_changed = False
            self.give(state)

    def _record_parts(self, state, text, p, length, sections, limit, step):
        code: cython.Py_ssize_t
        state.parts = state.rows
        state.rows.used = 0
        state.changes = []
        state.at = 0
        while state.at < length and (limit < 0 or state.ids.used <= limit):
            if length <= HOLD or step <= HOLD:
                code = self.sections(state, p, state.at, length, state.at + step, sections)
            else:
                with cython.nogil:
                    code = self.sections(state, p, state.at, length, state.at + step, sections)
                PyErr_CheckSignals()
            self._check(state, code, text)
        return 0

    def listed(self, ids: cython.const[uint8_t][::1]) -> list:
        """The ids in the memory of `encode_parts` as a list."""
        return self.list_of(cython.cast(cython.pointer(uint32_t), cython.address(ids[0])), ids.shape[0] // 4) if len(ids) else []

    def list_of(self, ids, n):
        """A list of ints. Each int object is made once, with the encoder: counting a reference is cheaper than making one."""
        i: cython.Py_ssize_t
        item: cython.pointer(PyObject)
        result: list = PyList_New(n)
        items: cython.pointer(cython.pointer(PyObject)) = tm_items(result)
        if n >= MANY:
            tm_pages_populate(items, n * cython.sizeof(cython.p_void))
        for i in range(n):
            item = self._int[ids[i]]
            tm_incref(item)
            items[i] = item
        return result

    # ------------------------------------------------------------------ what a text is to the kernel

    def _bytes(self, state, text, size):
        """Not by PyUnicode_AsUTF8, which converts into fresh memory twice and keeps the result with the str."""
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
        fresh: cython.pointer(uint8_t)
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
        p: cython.pointer(cython.const[uint8_t])
        code: cython.Py_ssize_t
        p = self._bytes(state, text, cython.address(size))
        length: cython.size_t = size
        if refused is not None and refused.is_in(p, size):
            _refuse(text, refused)
        if ends is not None:
            if length > 0:
                given: cython.const[cython.size_t][::1] = ends
                with cython.nogil:
                    code = self._encode(state, p, 0, length, length, cython.address(given[0]), given.shape[0])
                return self._check(state, code, text)
            return 0
        if length <= HOLD:
            return self._check(state, self.sections(state, p, 0, length, length, sections), text)
        state.at = 0
        while state.at < length:
            with cython.nogil:
                code = self.sections(state, p, state.at, length, state.at + SLICE, sections)
            self._check(state, code, text)
            if not keep:
                state.counted += state.ids.used
                state.ids.used = 0
            PyErr_CheckSignals()
        return 0

    def _cut(self, text, length):
        return self._scanner.cut(text, 0, length) if self._cutter is None else self._cutter.cut(text, 0, length)


    def sections(self, state, text, at, length, stop, sections):
        code: cython.Py_ssize_t
        end: cython.size_t
        fail: cython.size_t
        if sections is None:
            if at == 0 and not self._record(state, 0, length, PART):
                return NO_MEMORY
            return self._encode(state, text, at, length, stop, cython.NULL, 0)
        if at == 0:
            state.in_stretch = False
            state.first = 0 if state.goes_on else 2
            state.raw.begin = 0
            state.raw.at = 0
            state.raw.start = length
            if sections.raw is not None:
                sections.next_token(sections.raw, text, 0, length, cython.address(state.raw))
        while at < length and at < stop:
            end = state.raw.start
            if at < end:
                fail = end
                if not state.in_stretch:
                    fail = at + sections.passing(text + at, end - at)
                if fail < end:
                    code = self._changed_stretch(state, text, at, fail, end, sections)
                    state.at = end
                else:
                    code = self._parts(state, text, at, end, stop, sections)
                if code < 0:
                    return code
                at = state.at
                if at < end:
                    break  # it is time to stop
            state.in_stretch = False
            state.first = 1
            code = self._tokens(state, cython.address(state.raw), sections.raw, text, at, length, sections)
            if code < 0:
                return code
            at = code
        state.at = at
        return 0

    def _parts(self, state, text, at, length, stop, sections):
        code: cython.Py_ssize_t
        end: cython.size_t
        prefixed: cython.bint
        if not state.in_stretch:
            state.in_stretch = True
            state.in_part = False
            state.normal.begin = at
            state.normal.at = at
            state.normal.start = length
            if sections.normal is not None:
                sections.next_token(sections.normal, text, at, length, cython.address(state.normal))
        while at < length and at < stop:
            end = state.normal.start
            if not state.in_part and (at < end or (sections.prefix == TEXT_START and state.first == 2)):
                state.in_part = True
                prefixed = sections.prefixed(text, at, state.first)
                if not self._record(state, at, end, PREFIXED_PART if prefixed else PART):
                    return NO_MEMORY
                if prefixed:
                    code = self._prefixed(state, text, at, end)
                    if code < 0:
                        return code
                    at = state.at
            if at < end:
                code = self._encode(state, text, at, end, stop, cython.NULL, 0)
                if code < 0:
                    return code
                at = state.at
                if at < end:
                    break  # it is time to stop
            state.in_part = False
            state.first = 0
            code = self._tokens(state, cython.address(state.normal), sections.normal, text, at, length, sections)
            if code < 0:
                return code
            at = code
        state.at = at
        return 0

    def _changed_stretch(self, state, text, at, fail, end, sections):
        code: cython.Py_ssize_t
        begin: cython.size_t = at
        until: cython.size_t = end
        limit: cython.size_t
        room: cython.size_t = SMALL
        local: cython.bint = (
            sections.check is not None and (sections.normal is None or sections.inside is not None)
            and sections.prefix == NO_PREFIX and self._cutter is None and self._scanner is not None and self._scanner.joined == cython.NULL
        )
        while at < end:
            if local:
                begin = max(at, self._clean_cut(text, at, fail, sections))
                if fail == end:
                    begin = end
                if begin - at > room:
                    room = SMALL
                until = 0
                while until == 0 and begin < end:
                    limit = fail + 1 + room
                    until = end if limit >= end else self._clean_cut(text, fail, limit, sections)
                    room = min(2 * room, SLICE)  # where much changes, few and large windows are faster
            state.in_stretch = False
            while at < begin:
                code = self._parts(state, text, at, begin, at + SLICE, sections)
                if code < 0:
                    return code
                at = state.at
                if at < begin and signalled():
                    return SIGNALLED
            if begin < end:
                state.in_stretch = False
                if not self._record(state, begin, until, CHANGED_STRETCH):
                    return NO_MEMORY
                state.in_changed = True
                code = self._changed(state, text + begin, until - begin, sections)
                state.in_changed = state.in_stretch = False
                if code < 0:
                    return code
                at = until
                if local:
                    fail = at + sections.check.passing(text + at, end - at)
        return 0

    def _clean_cut(self, text, start, length, sections):
        at: cython.size_t = length
        while at > start:
            at = self._scanner.cut(text, start, at)
            if at <= start:
                break
            if sections.parts(text, start, at, length):
                return at
        return 0

    def _changed(self, state, text, length, sections):
        code: cython.Py_ssize_t = 0
        at: cython.size_t = 0
        size: cython.Py_ssize_t = -1
        room: cython.size_t = 2 * length + 4096
        changed: cython.pointer(cython.const[uint8_t]) = cython.NULL
        if sections.check is not None and (state.normal_text.room >= room or reserve(cython.address(state.normal_text), 2 * room)):
            changed = state.normal_text.memory
            size = sections.check.change(text, length, state.normal_text.memory, room)
        if size < 0 or state.changes is not None:
            with cython.gil:
                try:
                    if size < 0:
                        state.changed = sections.change(cython.cast(cython.p_char, text)[:length])
                        size = len(state.changed)
                        changed = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(state.changed))
                    if state.changes is not None:
                        state.changes.append(cython.cast(cython.p_char, changed)[:size])
                except BaseException as error:
                    state.error = error
                    return RAISED
        while at < cython.cast(cython.size_t, size) and code == 0:
            code = self._parts(state, changed, at, size, at + SLICE, sections)
            at = state.at
            if code == 0 and at < cython.cast(cython.size_t, size) and signalled():
                code = SIGNALLED
        if code == NO_TOKEN:
            with cython.gil:
                state.missing = self._merger.first_missing(cython.cast(cython.p_char, changed)[:size])
        return code

    def _prefixed(self, state, text, at, length):
        size: cython.size_t = length - at
        cut: cython.size_t = size
        look: cython.size_t = 1024
        code: cython.Py_ssize_t
        if state.only_parts:
            state.at = length
            return 0
        while size > look:  # only as much as is on its own: the rest is encoded in place
            cut = self._cut(text + at, look)
            if cut > 0:
                break
            cut = size
            look *= 2
        if state.prefixed.room < cut + 1 and not reserve(cython.address(state.prefixed), 2 * cut + 4096):
            return NO_MEMORY
        state.prefixed.memory[0] = 32
        memcpy(state.prefixed.memory + 1, text + at, cut)
        code = self._encode(state, state.prefixed.memory, 0, cut + 1, cut + 1, cython.NULL, 0)
        state.at = at + cut
        return code

    def _tokens(self, state, token, finder, text, at, length, sections):
        start: cython.size_t
        while token.start < length:
            start = token.start if token.start > at else at
            if not state.ids.reserve(1, 0) or not self._record(state, start, token.end, ADDED_TOKEN):
                return NO_MEMORY
            state.ids.data[state.ids.used] = token.id
            state.ids.used += 1
            at = token.end
            sections.next_token(finder, text, at, length, token)
            if token.start >= at:
                break  # else it begins in white space that the last one took in, and is a token all the same
        return at

    def _record(self, state, start, end, kind):
        row: cython.pointer(cython.size_t)
        if state.parts is not None:
            if not state.parts.reserve(4 * cython.sizeof(cython.size_t) // 4, 0):
                return False
            row = cython.cast(cython.pointer(cython.size_t), state.parts.data + state.parts.used)
            row[0] = state.ids.used
            row[1] = start
            row[2] = end
            row[3] = kind | IN_CHANGED if state.in_changed else kind
            state.parts.used += cython.sizeof(cython.size_t)
        return True

    def _encode(self, state, text, at, length, stop, given, n_given):
        """Encode text[at:length] from the start of a pretoken until `stop` or a little further; sets state.at to the end."""
        ends: cython.size_t[SCAN]
        n: cython.Py_ssize_t
        i: cython.Py_ssize_t
        batch: cython.Py_ssize_t
        count: cython.Py_ssize_t
        if state.only_parts:
            at = length
        while at < length and at < stop:
            if given != cython.NULL:
                n = n_given if n_given < SCAN else SCAN
                memcpy(ends, given, n * cython.sizeof(cython.size_t))
                given += n
                n_given -= n
            elif self._cutter is not None:
                n = self._cutter.scan(text, at, length, ends, SCAN)
            else:
                n = self._scanner.scan(text, at, length, ends, SCAN)
            if not state.ids.reserve(ends[n - 1] - at + 4, state.ids.used + (length - at) // 2 if length > HOLD else 0):
                return NO_MEMORY
            i = 0
            while i < n:
                batch = n - i if n - i < BATCH else BATCH
                if given == cython.NULL:
                    count = state.cache.encode(text, at, length, ends + i, batch, state.ids.data + state.ids.used)
                else:
                    count = state.cache.encode_given(text, at, length, ends + i, batch, state.ids.data + state.ids.used)
                if count < 0:
                    return count
                state.ids.used += count
                i += batch
                at = ends[i - 1]
        state.at = at
        return 0

    def _check(self, state, code, text):
        """Raise the exception that a negative number of the kernels stands for."""
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
            missing = state.missing or self._merger.first_missing(text.encode() if isinstance(text, str) else text)
            state.missing = None
            raise UsageError(
                f"the vocabulary has no token for {missing!r} and no unknown token, so it cannot encode this text. "
                "drop_unknown=True of tokenmill.load (--drop-unknown) drops such characters of a tokenizer.json, as tokenizers does."
            )
        raise MemoryError


@cython.cfunc
@cython.exceptval(-1)
def _refuse(text, refused: Finder) -> cython.int:
    raise ForbiddenText(refused.find(text.encode() if isinstance(text, str) else text).decode())


@cython.cfunc
def _array(state: State) -> object:
    """The ids as an object of their own: a copy of a few ids, the state's own array of many."""
    ids: Ids = state.ids
    if ids.used <= HOLD:
        return _copy(ids)
    state.ids = Ids()
    return ids


@cython.cfunc
def _copy(ids: Ids) -> bytearray:
    return PyByteArray_FromStringAndSize(cython.cast(cython.p_char, ids.data), ids.used * 4)
