"""The stages of encoding, one inside the other: added tokens, normalization, the space before a text, splitting, cache and merger.

Text is encoded in steps, so that the caller can check for signals between them. A State keeps the position between two steps.
Within a step, the pretokens of several sections and documents wait, with the added tokens between them, and go to the cache in one
batch, which hides cache misses. Otherwise the batches of short documents, or of a text with an added token in each line, would be
short.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING
from cython.cimports.libc.stdint import uint8_t
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.kernels._memory import tm_pages_free
from cython.cimports.tokenmill.kernels._signals import signalled
from cython.cimports.tokenmill.split._scan_cy import TM_SIMD_ROOM
from cython.cimports.tokenmill.tokenizer.encoding._cache_cy import ADDED_END, BATCH, MAX_LENGTH, SCAN, PretokenCache
from cython.cimports.tokenmill.tokenizer.encoding._cutter_cy import Cutter, lacks_spaces
from cython.cimports.tokenmill.tokenizer.encoding._finder_cy import TM_NO_BLOCK, tm_pair_block
from cython.cimports.tokenmill.tokenizer.encoding._ids_cy import Ids
from cython.cimports.tokenmill.tokenizer.encoding._sections_cy import (
    ADDED_TOKEN,
    BARE_START,
    CHANGED_STRETCH,
    IN_CHANGED,
    NO_PREFIX,
    PREFIXED_SECTION,
    SECTION,
    STRETCH_START,
    TEXT_START,
)
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_MEMORY, SIGNALLED, release, reserve

MOST_WAITING = cython.declare(cython.Py_ssize_t, SCAN - 2 * TM_SIMD_ROOM)  # pretokens: more would leave the scanner no room
LONG = cython.declare(cython.size_t, 16)  # bytes of a pretoken that is not its own key in the cache
WINDOW = cython.declare(cython.size_t, 1024)  # bytes that are checked beyond the end of a stretch
SMALL = cython.declare(cython.size_t, 64)  # bytes that are normalized after the first that must be


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
class Stages:
    def cut(self, text, length):
        return self.scanner.cut(text, 0, length) if self.cutter is None else self.cutter.cut(text, 0, length)

    def encode_text(self, state, text, at, length, stop, sections):
        code: cython.Py_ssize_t = self.stretches(state, text, at, length, stop, sections)
        if code == 0:
            code = self.flush(state)
        state.n_waiting = 0
        return code

    def documents(self, state, work, stop, sections):
        code: cython.Py_ssize_t = 0
        # Joined pretokens are cut again when they are encoded, and that depends on the end of the document.
        joined: cython.bint = self.scanner is not None and self.scanner.joined != cython.NULL
        state.id_ends = work.id_ends + work.document
        while work.document < work.n and work.at < stop and code == 0:
            first: cython.size_t = work.ends[work.document - 1] if work.document > 0 else 0
            size: cython.size_t = work.ends[work.document] - first
            code = self.stretches(state, work.text + first, work.at - first, size, stop - first, sections)
            if code == 0 and (joined or state.n_ended == SCAN):
                code = self.flush(state)
            state.waiting_limit = work.text + work.ends[work.n - 1] - state.waiting_text  # of all documents
            work.at = first + state.at
            if state.at == size:
                work.document += 1
                state.ended[state.n_ended] = state.n_waiting
                state.n_ended += 1
        if code == 0:
            code = self.flush(state)
        state.n_waiting = state.n_ended = 0
        return code

    def pretokens(self, state, text, length, ends, n):
        code: cython.Py_ssize_t = 0
        at: cython.size_t = 0
        while n > 0 and code == 0:
            batch = min(n, SCAN)
            _wait(self, state, text, at, length)
            memcpy(state.ends, ends, batch * cython.sizeof(cython.size_t))
            state.n_waiting = batch
            at = state.waiting_end = ends[batch - 1]
            code = self.flush(state)
            ends += batch
            n -= batch
        return code

    def stretches(self, state, text, at, length, stop, sections):
        state.readable = text + length
        if sections is None:
            code = _record(self, state, 0, length, SECTION) if at == 0 else 0
            return self.encode_section(state, text, at, length, stop) if code == 0 else code
        if at == 0:
            state.in_stretch = False
            state.passed = 0
            state.first = 0 if state.goes_on else 2
            state.raw.begin = 0
            state.raw.at = 0
            state.raw.start = length
            state.raw.block = state.normal.block = tm_pair_block(length, TM_NO_BLOCK, 0)
            if sections.raw is not None:
                sections.next_token(sections.raw, text, 0, length, cython.address(state.raw))
        while at < length and at < stop:
            end = state.raw.start
            if at < end:
                fail = end
                if not state.in_stretch:
                    if state.passed < end:
                        whole: cython.bint = sections.check is not None and sections.check.trims
                        state.passed = at + sections.passing(text + at, (end if whole else _window(text, end, length)) - at)
                    fail = min(state.passed, end)
                if fail < end:
                    code = self.changed_stretch(state, text, at, fail, end, sections)
                    state.at = end
                else:
                    code = self.stretch(state, text, at, end, stop, sections)
                if code < 0:
                    return code
                at = state.at
                if at < end:
                    break  # at `stop`
            state.in_stretch = False
            state.first = 1
            code = self.tokens(state, cython.address(state.raw), sections.raw, text, at, length, sections)
            if code < 0:
                return code
            at = code
        state.at = at
        return 0

    def stretch(self, state, text, at, length, stop, sections):
        if not state.in_stretch:
            state.in_stretch = True
            state.in_section = False
            state.normal.begin = at
            state.normal.at = at
            state.normal.start = length
            if sections.normal is not None:
                sections.next_token(sections.normal, text, at, length, cython.address(state.normal))
        while at < length and at < stop:
            end = state.normal.start
            if not state.in_section and (
                at < end or (sections.prefix == TEXT_START and state.first == 2) or (sections.prefix >= STRETCH_START and state.first > 0)
            ):
                state.in_section = True
                prefixed = sections.prefixed(text, at, state.first)
                code = _record(self, state, at, end, PREFIXED_SECTION if prefixed else SECTION)
                if code == 0 and prefixed:
                    code = self.prefixed(state, text, at, end)
                    at = state.at
                if code < 0:
                    return code
            if at < end:
                code = self.encode_section(state, text, at, end, stop)
                if code < 0:
                    return code
                at = state.at
                if at < end:
                    break  # at `stop`
            state.in_section = False
            state.first = 0
            code = self.tokens(state, cython.address(state.normal), sections.normal, text, at, length, sections)
            if code < 0:
                return code
            at = code
        state.at = at
        return 0

    def changed_stretch(self, state, text, at, fail, end, sections):
        begin: cython.size_t = at
        until: cython.size_t = end
        room: cython.size_t = SMALL
        local: cython.bint = (
            sections.check is not None and (sections.normal is None or sections.inside is not None)
            and sections.prefix == NO_PREFIX and self.cutter is None and self.scanner is not None and self.scanner.joined == cython.NULL
            and not sections.check.trims
        )
        while at < end:
            if local:
                begin = max(at, self.clean_cut(text, at, fail, end, sections))
                if fail == end:
                    begin = end
                if begin - at > room:
                    room = SMALL
                until = 0
                while until == 0 and begin < end:
                    limit = fail + 1 + room
                    until = end if limit >= end else self.clean_cut(text, fail, limit, end, sections)
                    room = min(2 * room, SLICE)  # where much changes, few and large windows are faster
            state.in_stretch = False
            while at < begin:
                code = self.stretch(state, text, at, begin, at + SLICE, sections)
                if code < 0:
                    return code
                at = state.at
                if at < begin and signalled():
                    return SIGNALLED
            if begin < end:
                state.in_stretch = False
                code = _record(self, state, begin, until, CHANGED_STRETCH)
                if code < 0:
                    return code
                state.in_changed = True
                code = self.changed(state, text + begin, until - begin, sections)
                state.in_changed = state.in_stretch = False
                if code < 0:
                    return code
                at = until
                if local:
                    fail = at + sections.check.passing(text + at, end - at)
        return 0

    def clean_cut(self, text, start, length, end, sections):
        at: cython.size_t = length
        while at > start:
            at = self.scanner.cut(text, start, at)
            if at <= start:
                break
            if sections.separates(text, start, at, end):
                return at
        return 0

    def changed(self, state, text, length, sections):
        code: cython.Py_ssize_t = 0
        at: cython.size_t = 0
        size: cython.Py_ssize_t = -1
        room: cython.size_t = 2 * length + 4096
        readable: cython.pointer(cython.const[uint8_t]) = state.readable
        block: tm_pair_block = state.normal.block
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
        state.readable = changed + size
        state.normal.block = tm_pair_block(size, TM_NO_BLOCK, 0)
        while at < cython.cast(cython.size_t, size) and code == 0:
            code = self.stretch(state, changed, at, size, at + SLICE, sections)
            at = state.at
            if code == 0 and at < cython.cast(cython.size_t, size) and signalled():
                code = SIGNALLED
        if size == 0 and sections.prefix == BARE_START and state.first > 0:
            code = _record(self, state, 0, 0, PREFIXED_SECTION)
            if code == 0:
                code = self.prefixed(state, changed, 0, 0)
        if code == 0:
            code = self.flush(state)
        state.readable = readable
        state.normal.block = block
        return code

    def prefixed(self, state, text, at, length):
        size: cython.size_t = length - at
        cut: cython.size_t = size
        look: cython.size_t = 1024
        readable: cython.pointer(cython.const[uint8_t]) = state.readable
        if state.only_records:
            state.at = length
            return 0
        while size > look:  # only up to a certain cut: the rest is encoded in place
            cut = self.cut(text + at, look)
            if cut > 0:
                break
            cut = size
            look *= 2
        if state.prefixed.room < cut + 1 and not reserve(cython.address(state.prefixed), 2 * cut + 4096):
            return NO_MEMORY
        state.prefixed.memory[0] = 32
        memcpy(state.prefixed.memory + 1, text + at, cut)
        state.readable = state.prefixed.memory + cut + 1
        code = self.encode_section(state, state.prefixed.memory, 0, cut + 1, cut + 1)
        if code == 0:
            code = self.flush(state)
        state.readable = readable
        state.at = at + cut
        return code

    def tokens(self, state, token, finder, text, at, length, sections):
        while token.start < length:
            start = token.start if token.start > at else at
            code = _record(self, state, token.start, token.end, ADDED_TOKEN)
            if code == 0:
                code = _wait(self, state, text, start, length) if state.cache.takes_added else self.flush(state)
            if code < 0:
                return code
            if state.cache.takes_added:
                state.waiting_end = text + token.end - state.waiting_text
                state.ends[state.n_waiting] = state.waiting_end | ADDED_END
                state.added[state.n_waiting] = token.id
                state.n_waiting += 1
            elif not state.ids.reserve(1, 0):
                return NO_MEMORY
            else:
                state.ids.data[state.ids.used] = token.id
                state.ids.used += 1
            at = token.end
            sections.next_token(finder, text, at, length, token)
            if token.start >= at:
                break  # else it begins in white space that the last one includes
        return at

    def encode_section(self, state, text, at, length, stop):
        if state.only_records:
            at = length
        while at < length and at < stop:
            code = _wait(self, state, text, at, length)
            if code < 0:
                return code
            offset: cython.size_t = text - state.waiting_text  # not 0 where documents before this one wait
            ends = state.ends + state.n_waiting
            if self.cutter is not None:
                n = self.cutter.scan(
                    state.waiting_text, at + offset, length + offset, state.readable - state.waiting_text, ends, SCAN - state.n_waiting
                )
            else:
                n = self.scanner.scan(state.waiting_text, at + offset, length + offset, ends, SCAN - state.n_waiting)
            at = ends[n - 1] - offset
            if state.cache.wants_cutter(ends[n - 1] - state.waiting_end):
                with cython.gil:
                    try:
                        state.cache.cutter.build()
                    except MemoryError:
                        return NO_MEMORY
            if state.cache.cutter is not None and state.cache.cutter.early:
                code = self.cut_long(state, state.cache.cutter, n)
                if code < 0:
                    return code
            else:
                state.n_waiting += n
                state.waiting_end = ends[n - 1]
        state.at = at
        return 0

    def cut_long(self, state, cutter, n):
        ends: cython.size_t[SCAN]
        i: cython.Py_ssize_t = 0
        at: cython.size_t = state.waiting_end
        check: cython.size_t = at + SLICE
        cut: cython.bint = False
        start: cython.size_t = at
        next_ends: cython.pointer(cython.size_t) = state.ends + state.n_waiting
        while i < n and not _is_long(state.waiting_text, at, next_ends[i]):
            at = next_ends[i]
            i += 1
        state.n_waiting += i
        state.waiting_end = at
        memcpy(ends, next_ends + i, (n - i) * cython.sizeof(cython.size_t))
        for i in range(n - i):
            start = at
            cut = _is_long(state.waiting_text, at, ends[i])
            while at < ends[i]:
                if state.n_waiting > SCAN - BATCH:
                    code = self.flush(state)
                    if code < 0:
                        return code
                    if at >= check:
                        check = at + SLICE
                        if signalled():
                            return SIGNALLED
                next_ends = state.ends + state.n_waiting
                if cut:
                    count = cutter.segments(state.waiting_text, start, at, ends[i], next_ends, SCAN - state.n_waiting)
                    at = next_ends[count - 1]
                else:
                    count = 1
                    at = next_ends[0] = ends[i]
                state.n_waiting += count
                state.waiting_end = at
        return 0

    def flush(self, state):
        i: cython.Py_ssize_t = 0
        n: cython.Py_ssize_t = state.n_waiting
        d: cython.Py_ssize_t = 0
        start: cython.size_t = state.waiting_from
        rest: cython.size_t = state.waiting_limit - start
        state.n_waiting = 0
        state.waiting_from = state.waiting_end
        # An added token in white space that the one before includes may end before `start`.
        size: cython.size_t = state.waiting_end - start if state.waiting_end > start else 0
        if n > 0 and not state.ids.reserve(size + n + 4, state.ids.used + rest // 2 if rest > HOLD else 0):
            return NO_MEMORY
        while d < state.n_ended and state.ended[d] == 0:  # empty documents
            state.id_ends[d] = state.ids.used
            d += 1
        while i < n:
            batch = min(n - i, BATCH)
            state.cache.added = state.added + i
            count = state.cache.encode(
                state.waiting_text, start, state.waiting_limit, state.ends + i, batch, state.ids.data + state.ids.used
            )
            if count < 0:
                return count
            while d < state.n_ended and state.ended[d] <= i + batch:
                state.id_ends[d] = state.ids.used + state.cache.out_ends[state.ended[d] - i - 1]
                d += 1
            state.ids.used += count
            i += batch
            start = state.ends[i - 1] & ~ADDED_END
        state.id_ends += state.n_ended
        state.n_ended = 0
        return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _is_long(text: cython.pointer(cython.const[uint8_t]), start: cython.size_t, end: cython.size_t) -> cython.bint:
    """True if a pretoken is cut before it is looked up. Long pretokens of scripts without spaces rarely occur twice."""
    size: cython.size_t = end - start
    return size >= LONG and (size > MAX_LENGTH or lacks_spaces(text + end) or lacks_spaces(text + start + 3))


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _window(text: cython.pointer(cython.const[uint8_t]), end: cython.size_t, length: cython.size_t) -> cython.size_t:
    """The end of a whole character, up to WINDOW bytes after text[end]. So one check covers several short stretches."""
    if length - end > WINDOW:
        length = end + WINDOW
        while length > end and text[length] & 0xC0 == 0x80:
            length -= 1
    return length


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _wait(self: Stages, state: State, text: cython.pointer(cython.const[uint8_t]), at: cython.size_t,
          length: cython.size_t) -> cython.Py_ssize_t:
    """Prepare for pretokens or an added token from text[at] on to wait, in a text that ends at text[length]. Returns 0, or a negative
    number."""
    code: cython.Py_ssize_t = 0
    if state.n_waiting > 0 and (text + at != state.waiting_text + state.waiting_end or state.n_waiting > MOST_WAITING):
        code = self.flush(state)
    if state.n_waiting == 0:
        state.waiting_text = text
        state.waiting_from = state.waiting_end = at
    state.waiting_limit = text + length - state.waiting_text
    return code


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _record(self: Stages, state: State, start: cython.size_t, end: cython.size_t, kind: cython.size_t) -> cython.Py_ssize_t:
    """Record a row of the text if rows are recorded. Returns 0, or a negative number."""
    if state.recorded is None:
        return 0
    code = self.flush(state)
    if code < 0:
        return code
    if not state.recorded.reserve(cython.sizeof(cython.size_t), 0):  # four numbers, in items of 4 bytes
        return NO_MEMORY
    row = cython.cast(cython.pointer(cython.size_t), state.recorded.data + state.recorded.used)
    row[0] = state.ids.used
    row[1] = start
    row[2] = end
    row[3] = kind | IN_CHANGED if state.in_changed else kind
    state.recorded.used += cython.sizeof(cython.size_t)
    return 0
