# cython: language_level=3
"""How a text becomes parts that are split into pretokens: added tokens, normalization, the space before a text.

Definitions
    stretch     the text between two added tokens that are found before normalization. Each is normalized on its own.
    part        the text between two added tokens that are found after normalization, in one stretch. Each is split on its own.
    raw tokens are found in the text as it is, normal tokens in a normalized stretch (`normalized` of AddedToken).

A stretch that is normalized already is encoded in place. That is nearly all text, and the quick check of Unicode (UAX #15,
section 9) finds it out from a table: each character has a combining class, or may change.

The flags of a token, as in Hugging Face tokenizers: it takes in the white space before it (LSTRIP) or after it (RSTRIP), or is
found only where no word character touches it (SINGLE_WORD).
"""

import cython
from cython.cimports.cpython.buffer import PyBuffer_FillInfo
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.kernels._memory import tm_pages_free, tm_pages_grow, tm_pages_new
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_read
from cython.cimports.tokenmill.tokenizer.encoding._finder_cy import LSTRIP, RSTRIP, SINGLE_WORD, Finder

POINTS = cython.declare(cython.size_t, 0x110000)
PAGE = cython.declare(cython.size_t, 128)
MAY_CHANGE = cython.declare(uint8_t, 255)
HIGH_BITS = cython.declare(uint64_t, 0x8080808080808080)
ROW = cython.declare(cython.size_t, 4 * cython.sizeof(cython.size_t))
NO_TOKEN_ID = cython.declare(uint32_t, 0xFFFFFFFF)


@cython.cclass
class PartList:
    """What a text consists of, in order: parts, added tokens, and changed stretches, whose parts follow. Its buffer is rows of
    four size_t."""

    def __dealloc__(self):
        tm_pages_free(self.rows, self.room * ROW)

    def add(self, first_id, start, end, kind):
        room: cython.size_t
        fresh: cython.p_void
        row: cython.pointer(cython.size_t)
        if self.used == self.room:
            room = 2 * self.room + 64
            fresh = tm_pages_grow(self.rows, self.room * ROW, room * ROW)
            if fresh == cython.NULL:
                return False
            self.rows = cython.cast(cython.pointer(cython.size_t), fresh)
            self.room = room
        row = self.rows + 4 * self.used
        row[0] = first_id
        row[1] = start
        row[2] = end
        row[3] = kind
        self.used += 1
        return True

    def __len__(self):
        return self.used

    def __getbuffer__(self, view: cython.pointer(Py_buffer), flags: cython.int):
        PyBuffer_FillInfo(view, self, self.rows, self.used * ROW, True, flags)


@cython.cclass
class NormalizationCheck:
    """Whether a text is normalized already. Threads share it.

    page_of: returns the 128 classes of the code points from 128 * number on, as bytes: 255 for one that may change, alone or
        with its neighbours, else its canonical combining class + 1.
    """

    def __cinit__(self, page_of):
        self.page_of = page_of
        self.classes = cython.cast(cython.pointer(uint8_t), tm_pages_new(POINTS))
        if self.classes == cython.NULL:
            raise MemoryError
        self.fill(0)
        self.ascii = page_of(0) == bytes([1]) * 128

    def __dealloc__(self):
        tm_pages_free(self.classes, POINTS)

    def fill(self, point):
        """Fill the page of a code point. Two threads may do so at once, and write the same."""
        first: cython.size_t = point // PAGE * PAGE
        with cython.gil:
            page: bytes = self.page_of(first // PAGE)
            memcpy(self.classes + first, cython.cast(cython.p_char, page), PAGE)
        return 0

    def passing(self, text, length):
        at: cython.size_t = 0
        size: cython.size_t
        point: uint32_t = 0
        eight: uint64_t
        of_point: uint8_t
        last: uint8_t = 1
        while at < length:
            if self.ascii:
                while at + 8 <= length:
                    memcpy(cython.address(eight), text + at, 8)
                    if eight & HIGH_BITS:
                        break
                    at += 8
                    last = 1
                if at == length:
                    return length
            size = tm_utf8_read(text + at, length - at, cython.address(point))
            if size == 0:  # a byte that is not UTF-8
                at += 1
                last = 1
                continue
            of_point = self.classes[point]
            if of_point == 0:
                self.fill(point)
                of_point = self.classes[point]
            if of_point == MAY_CHANGE or (of_point > 1 and of_point < last):
                return at
            last = of_point
            at += size
        return length


@cython.cclass
class Sections:
    """The added tokens to find in a text, and what happens to the text between them. Immutable; threads share it.

    raw, normal: finders of added tokens. change: normalizes bytes; None for no normalization. page_of: see
    NormalizationCheck; None if every stretch must be given to `change`. prefix: the rule for a space before a text.
    marks: whether a space in a normalized stretch stands for a mark, so that no normal token takes it in.
    """

    def __cinit__(self, raw: Finder | None = None, normal: Finder | None = None, change=None, page_of=None,
                  prefix: cython.int = 0, marks: cython.bint = False):
        self.raw = raw
        self.normal = normal
        self.change = change
        self.check = None if page_of is None else NormalizationCheck(page_of)
        self.always = change is not None and page_of is None
        self.prefix = prefix
        if normal is not None:
            normal.space = 0 if marks else 32
        plain: cython.bint = normal is None and prefix == 0
        self.only_tokens = plain and change is None and (raw is None or not raw.flagged)
        self.only_check = plain and raw is None and not self.always

    def next_token(self, finder, text, done, length, found):
        which: cython.Py_ssize_t = 0
        start: cython.size_t
        end: cython.size_t
        flags: cython.int
        while found.at < length:
            start = finder.search(text, found.at, length, cython.address(which))
            if start == length:
                break
            end = start + finder.strings[which].length
            flags = finder.strings[which].flags
            found.at = end
            if flags:
                if flags & SINGLE_WORD and finder.touches_word(text, found.begin, start, end, length):
                    continue
                if flags & LSTRIP:
                    start = _after_text(text, done, start, finder.space)
                if flags & RSTRIP:
                    end = _after_spaces(text, end, length, finder.space)
                if start >= end:  # white space that the token before it includes
                    continue
            found.start = start
            found.end = end
            found.id = finder.strings[which].id
            return
        found.start = length
        found.end = length
        found.id = NO_TOKEN_ID

    def changes(self, text, length):
        if self.always:
            return True
        return self.check is not None and self.check.passing(text, length) < length

    def prefixed(self, text, at, first):
        if self.prefix == NO_PREFIX:
            return False
        if self.prefix == STRETCH_START:
            return first > 0
        if self.prefix == TEXT_START:
            return first == 2
        return (self.prefix == EVERY_PART or first == 2) and text[at] != 32


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_white_space(p: cython.pointer(cython.const[uint8_t]), left: cython.size_t, space: uint8_t) -> cython.size_t:
    """The size of the white-space character at p (Unicode's White_Space, with `space` for U+0020); 0 if there is none."""
    point: uint32_t = 0
    size: cython.size_t
    if p[0] < 0x80:
        return p[0] == space or 9 <= p[0] <= 13
    size = tm_utf8_read(p, left, cython.address(point))
    if size == 0:
        return 0
    if (point == 0x85 or point == 0xA0 or point == 0x1680 or 0x2000 <= point <= 0x200A or point == 0x2028 or point == 0x2029
            or point == 0x202F or point == 0x205F or point == 0x3000):
        return size
    return 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _after_spaces(text: cython.pointer(cython.const[uint8_t]), at: cython.size_t, length: cython.size_t,
                  space: uint8_t) -> cython.size_t:
    """The first position from `at` on that is not white space."""
    size: cython.size_t
    while at < length:
        size = _is_white_space(text + at, length - at, space)
        if size == 0:
            break
        at += size
    return at


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _after_text(text: cython.pointer(cython.const[uint8_t]), done: cython.size_t, at: cython.size_t,
                space: uint8_t) -> cython.size_t:
    """Where the white space before `at` begins, not before `done`; `done` if it is behind `at`."""
    before: cython.size_t
    while at > done:
        before = at - 1
        while before > done and at - before < 4 and text[before] & 0xC0 == 0x80:
            before -= 1
        if _is_white_space(text + before, at - before, space) != at - before:
            return at
        at = before
    return done
