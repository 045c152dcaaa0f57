"""The sections of a text, each of which is split into pretokens: added tokens, normalization, the space before a text.

Definitions
    stretch     the text between two raw tokens. Each is normalized on its own.
    section     the text between two normal tokens in one stretch. Each is split on its own.
    raw tokens are matched in the text as it is, normal tokens in a normalized stretch (`normalized` of AddedToken).

A stretch that is already normalized is encoded in place. Nearly all text is, and the quick check of Unicode (UAX #15,
section 9) detects it with tables: each character has a combining class, or may change, or may join the last character of
class 0 before it. It does not join one that stays as it is when decomposed, and that is in no pair with it.

Where a stretch changes, nearly always each character changes alone, and marks only need to be put in order (`change`). Neither
changes the result of a Unicode normalization, so a result that passes the quick check is the normalized text. Several steps change
each character alone in a text without characters that may combine.

The flags of a token, as in Hugging Face tokenizers: it includes the white space before it (LSTRIP) or after it (RSTRIP), or is
matched only where no word character touches it (SINGLE_WORD).
"""

from _thread import interrupt_main

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy, memmove, memset
from cython.cimports.tokenmill.kernels._memory import tm_pages_free, tm_pages_new
from cython.cimports.tokenmill.kernels._pair_map import TM_NO_VALUE as NO_VALUE
from cython.cimports.tokenmill.kernels._pair_map import (
    tm_pair_map_free,
    tm_pair_map_get,
    tm_pair_map_get_or_put,
    tm_pair_map_reserve,
)
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_expected, tm_utf8_read
from cython.cimports.tokenmill.split._scan_cy import join_products, tm_byte_pairs, tm_byte_pairs_make, tm_has_simd
from cython.cimports.tokenmill.tokenizer.encoding._cutter_cy import Cutter
from cython.cimports.tokenmill.tokenizer.encoding._finder_cy import (
    LSTRIP,
    RSTRIP,
    SINGLE_WORD,
    Finder,
    tm_find_character,
)

from ...errors import FormatError
from ...vocabulary._packed_cy import pack_tokens

POINTS = cython.declare(cython.size_t, 0x110000)
PAGE = cython.declare(cython.size_t, 128)
MAY_JOIN = cython.declare(uint8_t, 254)
MAY_CHANGE = cython.declare(uint8_t, 255)
NO_POINT = cython.declare(uint32_t, 0xFFFFFFFF)
HIGH_BITS = cython.declare(uint64_t, 0x8080808080808080)
ONES = cython.declare(uint64_t, 0x0101010101010101)
NO_TOKEN_ID = cython.declare(uint32_t, 0xFFFFFFFF)
FIRST_SEEN = cython.declare(cython.size_t, 1 << 14)  # bytes of text after which vector instructions are worth their table
MOST_WAIT = cython.declare(cython.size_t, 1 << 12)  # bytes without them after many matches
MOST_STEPS = cython.declare(cython.size_t, 1 << 22)  # through a character map; those of SentencePiece take 50,000
MOST_MARKS = cython.declare(cython.size_t, 64)  # bytes of marks that a mark goes back over


@cython.cclass
class NormalizationCheck:
    """Checks whether a text is normalized, and normalizes most texts that are not. Threads share it.

    page_of: `class_page` of normalization.py. joined: `joined_pairs` there. trims, exact: see _sections_cy.pxd.
    """

    def __cinit__(self, page_of, joined, trims: cython.bint, exact: cython.int):
        self.page_of = page_of
        self.joined_of = joined
        self.trims = trims
        self.exact = exact
        self.kept = []
        self.classes = cython.cast(cython.pointer(uint8_t), tm_pages_new(POINTS))
        self.alone = cython.cast(
            cython.pointer(cython.pointer(uint16_t)), tm_pages_new(POINTS // PAGE * cython.sizeof(cython.p_void))
        )
        if self.classes == cython.NULL or self.alone == cython.NULL:
            raise MemoryError
        self.class_of(0)
        ascii: bytes = page_of(0)[0]
        self.ascii = ascii == b"\1" * 128
        self.printable = ascii[32:127] == b"\1" * 95
        self.due = FIRST_SEEN

    def __dealloc__(self):
        tm_pages_free(self.classes, POINTS)
        tm_pages_free(self.alone, POINTS // PAGE * cython.sizeof(cython.p_void))
        tm_pair_map_free(cython.address(self.joined))

    def class_of(self, point):
        """Two threads may fill a page at once with the same values. A text with a page that fails goes to `Sections.change`, which raises."""
        first: cython.size_t = point // PAGE * PAGE
        if self.classes[point] == 0:
            with cython.gil:
                try:
                    page: tuple = self.page_of(first // PAGE)
                    if MAY_JOIN in page[0] or self.exact:
                        self.learn_joined()
                except BaseException as error:
                    if isinstance(error, KeyboardInterrupt):
                        interrupt_main()
                    return MAY_CHANGE
                if page[1]:
                    self.kept.append(page)
                    self.alone[first // PAGE] = cython.cast(cython.pointer(uint16_t), PyBytes_AS_STRING(page[1]))
                memcpy(self.classes + first, PyBytes_AS_STRING(page[0]), PAGE)
                self.learned = True
        return self.classes[point]

    def mark_class(self, point):
        point_class: uint8_t = self.class_of(point)
        if point_class == MAY_JOIN:
            return cython.cast(uint8_t, tm_pair_map_get(cython.address(self.joined), NO_POINT, point))
        return point_class

    def learn_joined(self):
        with cython.critical_section(self):
            if self.joined_of is not None:
                pairs: list = self.joined_of()
                if not tm_pair_map_reserve(cython.address(self.joined), len(pairs)):
                    raise MemoryError
                for starter, mark, value in pairs:
                    tm_pair_map_get_or_put(cython.address(self.joined), starter, mark, value)
                self.joined_of = None
        return 0

    def make_unsure(self):
        lead: cython.int
        second: cython.int
        i: cython.int
        rows: uint64_t[256]
        first_columns: uint8_t[128]
        second_columns: uint8_t[128]
        self.due = 4 * self.seen
        self.learned = False
        memset(rows, 0, cython.sizeof(rows))
        for lead in range(0xC2, 0xF5):
            for second in range(64):
                point: cython.int = (lead & 0x1F) << 6 | second if lead < 0xE0 else (lead & 0x0F) << 12 | second << 6
                n: cython.int = 1 if lead < 0xE0 else 64
                for i in range(n):
                    if lead >= 0xF0 or self.classes[point + i] != 1:
                        rows[2 * (lead - 128)] |= cython.cast(uint64_t, 1) << second
                        break
        join_products(rows, first_columns, second_columns)
        table: bytes = PyBytes_FromStringAndSize(cython.NULL, cython.sizeof(tm_byte_pairs))
        unsure = cython.cast(cython.pointer(tm_byte_pairs), PyBytes_AS_STRING(table))
        tm_byte_pairs_make(unsure, first_columns, second_columns)
        self.kept.append(table)
        self.unsure = unsure
        return 0

    def passing(self, text, length):
        at: cython.size_t = 0
        resume: cython.size_t = 0  # where vector instructions go on
        wait: cython.size_t = 0
        point: uint32_t = 0
        starter: uint32_t = 32 if self.trims else NO_POINT
        last: uint8_t = 1
        if self.ascii and self.learned and not self.trims:
            self.seen += length
            if self.seen >= self.due and tm_has_simd():
                with cython.gil:
                    self.make_unsure()
        while at < length:
            if self.unsure != cython.NULL and at >= resume and last == 1 and length - at >= 68:
                unsure_at = tm_find_character(self.unsure, self.classes, text, at, length)
                wait = 0 if unsure_at - at >= 256 else min(2 * wait + 64, MOST_WAIT)
                resume = unsure_at + wait
                before = unsure_at
                while before > at and unsure_at - before < 4:  # the character before may be a starter
                    before -= 1
                    if text[before] & 0xC0 != 0x80:
                        break
                if before > at:
                    at = before
                    starter = NO_POINT
            while at + 8 <= length and _is_plain(self, text + at, starter == 32):
                at += 8
                last = 1
                starter = text[at - 1]
            while at + 2 <= length and 0xC2 <= text[at] < 0xE0 and text[at + 1] & 0xC0 == 0x80:  # letters of many scripts
                point = (text[at] & 0x1F) << 6 | (text[at + 1] & 0x3F)
                if self.classes[point] != 1:
                    break
                at += 2
                last = 1
                starter = point
            while at + 3 <= length and text[at] & 0xF0 == 0xE0 and (text[at + 1] ^ 0x80 | text[at + 2] ^ 0x80) < 0x40:
                point = (text[at] & 0x0F) << 12 | (text[at + 1] & 0x3F) << 6 | (text[at + 2] & 0x3F)
                if point < 0x800 or self.classes[point] != 1:  # the first are not UTF-8
                    break
                at += 3
                last = 1
                starter = point
            if at == length:
                break
            size = tm_utf8_read(text + at, length - at, cython.address(point))
            if size == 0:  # a byte that is not UTF-8
                at += 1
                last = 1
                starter = NO_POINT
                continue
            point_class = self.classes[point]
            if point_class == 0:
                point_class = self.class_of(point)
            if point == 32 and starter == 32 and self.trims:
                return at
            if point_class >= MAY_JOIN:
                if (
                    point_class == MAY_CHANGE
                    or tm_pair_map_get(cython.address(self.joined), starter, point) != NO_VALUE
                    or tm_pair_map_get(cython.address(self.joined), starter, NO_POINT) != NO_VALUE
                ):
                    return at
                point_class = self.mark_class(point)
            if point_class == 1:
                starter = point
            elif point_class < last:
                return at
            last = point_class
            at += size
        return length - 1 if self.trims and length > 0 and text[length - 1] == 32 else length

    def change(self, text, length, out, room):
        at: cython.size_t = 0
        used: cython.size_t = 0
        point: uint32_t = 0
        starter: uint32_t = 0  # the character before, for an exact check; 0, which is in no pair, for none
        if self.alone[0] == cython.NULL:
            return -1
        while at < length:
            while at + 8 <= length and used + 8 <= room and _is_plain(self, text + at, used == 0 or out[used - 1] == 32):
                memcpy(out + used, text + at, 8)
                at += 8
                used += 8
                starter = text[at - 1]
            if at == length:
                break
            new: cython.pointer(cython.const[uint8_t]) = text + at
            point_class: uint8_t = 1
            size = n = tm_utf8_read(text + at, length - at, cython.address(point))
            if size == 0:  # a byte that is not UTF-8
                size = n = 1
                point = 0
            else:
                point_class = self.class_of(point)
            if self.exact == 2 and 1 < point_class < MAY_CHANGE:
                return -1
            if self.exact:
                if point_class >= MAY_JOIN and tm_pair_map_get(cython.address(self.joined), starter, point) != NO_VALUE:
                    return -1
                starter = point
            if point_class == MAY_CHANGE:
                ends = self.alone[point // PAGE]
                if ends == cython.NULL:
                    return -1
                ends += point % PAGE
                new = cython.cast(cython.pointer(uint8_t), self.alone[point // PAGE]) + ends[0]
                n = ends[1] - ends[0]
            if used + n > room:
                return -1
            if self.trims and n > 0 and new[0] == 32 and (used == 0 or out[used - 1] == 32):
                new += 1
                n -= 1
            index = used
            if 1 < point_class < MAY_CHANGE:  # a mark goes before those of a higher class
                point_class = self.mark_class(point)
                while index > 0 and point_class > 1:
                    before = index - 1
                    while before > 0 and out[before] & 0xC0 == 0x80:
                        before -= 1
                    if tm_utf8_read(out + before, index - before, cython.address(point)) == 0 or self.mark_class(point) <= point_class:
                        break
                    index = before
                    if used - index > MOST_MARKS:
                        return -1
                memmove(out + index + n, out + index, used - index)
            memcpy(out + index, new, n)
            at += size
            used += n
        while self.trims and used > 0 and out[used - 1] == 32:
            used -= 1
        return used if self.exact or self.passing(out, used) == used else -1


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _is_plain(self: NormalizationCheck, text: cython.pointer(cython.const[uint8_t]), after_space: cython.bint) -> cython.bint:
    """True if the next eight bytes are ASCII that does not change. after_space: a space at their start may be removed."""
    x: uint64_t = 0
    memcpy(cython.address(x), text, 8)
    if x & HIGH_BITS or not self.printable:
        return False
    # Of control characters: 1F | 80 less 20 has no high bit, and 7F + 1 has it.
    if not self.ascii and (x + ONES | ~((x | HIGH_BITS) - 32 * ONES)) & HIGH_BITS:
        return False
    spaces: uint64_t = ~(((x ^ 32 * ONES) | HIGH_BITS) - ONES) & HIGH_BITS if self.trims else 0
    return spaces & spaces << 8 == 0 and not (spaces & 128 and after_space)


def key_pairs(units: cython.const[uint32_t][::1]) -> list:
    """Return the code points (first, second) that keys of a double array begin with. See CharacterMap in normalization.py.

    Raises FormatError for a damaged map whose units lead back to themselves, so that the keys have no end.
    """
    text: uint8_t[8]
    i: uint32_t
    n: uint32_t = units.shape[0]
    pairs: list = []
    steps: cython.size_t = 0
    room: cython.size_t = 4 * (cython.cast(cython.size_t, n) + 256)
    memory: bytes = bytes(2 * room)
    # The index of a child is the offset of its unit xor its label. child: the first child by offset; next: by child, the next one.
    child = cython.cast(cython.pointer(uint32_t), PyBytes_AS_STRING(memory))
    next = child + room // 4
    for i in range(n):
        label: uint32_t = units[i] & 0x800000FF
        if 0 < label < 256:
            next[i] = child[i ^ label]
            child[i ^ label] = i
    _add_pairs(cython.address(units[0]), n, child, next, 0, text, 0, NO_POINT, pairs, cython.address(steps))
    return pairs


@cython.cfunc
@cython.exceptval(-1)
def _add_pairs(units: cython.pointer(cython.const[uint32_t]), n: uint32_t, child: cython.pointer(uint32_t), next: cython.pointer(uint32_t),
               unit: uint32_t, text: cython.pointer(uint8_t), size: cython.size_t, first: uint32_t, pairs: list,
               steps: cython.pointer(cython.size_t)) -> cython.int:
    """Add the pairs of the keys below a unit. first: the first character, or NO_POINT. text: the bytes of the next one so far."""
    point: uint32_t = 0
    unit ^= units[unit] >> 10 << ((units[unit] & 1 << 9) >> 6)
    key_unit: uint32_t = child[unit] if unit < n + 256 else 0
    while key_unit > 0:
        steps[0] += 1
        if steps[0] > MOST_STEPS:
            raise FormatError("the character map is damaged: it has too many keys")
        text[size] = key_unit ^ unit
        length = tm_utf8_expected(text[0])
        if size + 1 < length and (size == 0 or text[size] & 0xC0 == 0x80):
            _add_pairs(units, n, child, next, key_unit, text, size + 1, first, pairs, steps)
        elif tm_utf8_read(text, size + 1, cython.address(point)) != length:
            pass  # not UTF-8, so no text has it
        elif first == NO_POINT:
            _add_pairs(units, n, child, next, key_unit, text + 4, 0, point, pairs, steps)
        else:
            pairs.append((first, point))
        key_unit = next[key_unit]
    return 0


@cython.cclass
class Sections:
    """The added tokens to match in a text, and the changes of the text between them. Immutable; threads share it.

    raw, normal: finders of added tokens. change: normalizes bytes; None for no normalization. page_of, joined, trims, exact: see
    NormalizationCheck; page_of is None if `change` must normalize every stretch. prefix: the rule for a space before a text.
    marks: a space in a normalized stretch is in place of a mark, so no normal token includes it.
    """

    def __cinit__(self, raw: Finder | None = None, normal: Finder | None = None, change=None, page_of=None,
                  joined=None, prefix: cython.int = 0, marks: cython.bint = False, trims: cython.bint = False,
                  exact: cython.int = 0):
        self.raw = raw
        self.normal = normal
        self.change = change
        self.check = None if page_of is None else NormalizationCheck(page_of, joined, trims, exact)
        self.always = change is not None and page_of is None
        self.prefix = prefix
        if normal is not None:
            normal.space = 255 if marks else 32
            self.inside = None if normal.flagged else Cutter(*pack_tokens(tuple(normal.contents)))

    def next_token(self, finder, text, done, length, token):
        which: cython.Py_ssize_t = 0
        while token.at < length:
            start = finder.search(text, token.at, length, cython.address(which), cython.address(token.block))
            if start == length:
                break
            end = start + finder.strings[which].length
            flags = finder.strings[which].flags
            token.at = end
            if flags:
                if flags & SINGLE_WORD and finder.touches_word(text, token.begin, start, end, length):
                    continue
                if flags & LSTRIP:
                    start = _after_text(text, done, start, finder.space)
                if flags & RSTRIP:
                    end = _after_spaces(text, end, length, finder.space)
                if start >= end:  # white space that the token before it includes
                    continue
            token.start = start
            token.end = end
            token.id = finder.strings[which].id
            return
        token.start = length
        token.end = length
        token.id = NO_TOKEN_ID

    def passing(self, text, length):
        if self.always:
            return 0
        return length if self.check is None else self.check.passing(text, length)

    def separates(self, text, start, at, end):
        before: cython.size_t = at - 1
        first: uint32_t = 0
        second: uint32_t = 0
        third: uint32_t = 0
        while before > start and text[before] & 0xC0 == 0x80:
            before -= 1
        size = tm_utf8_read(text + at, end - at, cython.address(second))
        if (
            size == 0
            or tm_utf8_read(text + before, at - before, cython.address(first)) != at - before
            or self.check.class_of(first) != 1
            or self.check.class_of(second) != 1
            or (self.inside is not None and self.inside.joins(first, second))
        ):
            return False
        if at + size == end or tm_utf8_read(text + at + size, end - at - size, cython.address(third)) == 0:
            return True
        # Otherwise the second may join it, or a mark behind it. No character of ASCII joins, except in a character map.
        return self.check.class_of(third) == 1 or (third < 0x80 and self.check.exact != 1)

    def prefixed(self, text, at, first):
        if self.prefix == NO_PREFIX:
            return False
        if self.prefix >= STRETCH_START:
            return first > 0
        if self.prefix == TEXT_START:
            return first == 2
        return (self.prefix == EVERY_SECTION or first == 2) and text[at] != 32


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_white_space(p: cython.pointer(cython.const[uint8_t]), left: cython.size_t, space: uint8_t) -> cython.size_t:
    """The size of the white-space character at p (Unicode's White_Space, with `space` for U+0020); 0 if there is none."""
    point: uint32_t = 0
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
    """Return the start of the white space before `at`, not before `done`; `done` if that is after `at`."""
    while at > done:
        before = at - 1
        while before > done and at - before < 4 and text[before] & 0xC0 == 0x80:
            before -= 1
        if _is_white_space(text + before, at - before, space) != at - before:
            return at
        at = before
    return done
