"""Certain cuts: cuts a pretoken where no token of the vocabulary can span. A segment is the bytes between two cuts.

Definitions.
D1. The units of some bytes, read from the left, are characters of UTF-8, or else single bytes, strays. The
    code of a unit is its code point; that of a stray is 0xDC00 | byte, which no character has.
D2. Two units join if a token that merges make, read on its own, has one code of each side by side. The codes of a
    character on the left are its own and that of its last byte as a stray, those of one on the right its own and that of
    its first byte as a stray: a token may begin or end inside a character.
D3. A border between two units of a pretoken is certain if they do not join.

Invariants.
I1. A token that spans a border of units has a border of units there. Otherwise a character of the token spans it. Its first
    byte is inside no other character, so the units of the pretoken have that character too, and no border.
I2. No token spans a certain border. By I1 the token has a unit on each side of it. If that is a character, the pretoken
    has the same one there; if it is a stray, it is the byte next to the border. So the two units join by D2.
I3. The ids of a pretoken are those of its segments. A merge, or a removal of what merges made, works inside one token, so
    inside one segment. Which one is next depends only on ranks and positions: among those of one segment the order is the same
    with the others and without.

Where unknown neighbours become one token, two units that are both unknown join, too.

I3 is about merging. If whole pretokens are looked up among the tokens before they are merged, segments are not. That makes no
difference to a token that merging makes of its own bytes. A segment that may be another token is joined to its neighbour.

Pairs of ASCII characters are in a table of pairs of bytes. If whole texts are cut, it becomes the union of eight products, so that
vector code can look up 64 pairs at once (_byte_pairs.h). The others are in Bloom filters, one for pairs of characters and a small one
for pairs with a stray. A false positive makes a segment longer; its ids are the same.
"""

from array import array

import cython
from cython.cimports.cpython.bytearray import PyByteArray_AS_STRING
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.libc.stdint import int32_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.tokenmill.kernels._memory import tm_pages_free, tm_pages_new
from cython.cimports.tokenmill.kernels._pair_map import (
    tm_pair_hash,
    tm_pair_map,
    tm_pair_map_free,
    tm_pair_map_get_or_put,
    tm_pair_map_reserve,
)
from cython.cimports.tokenmill.kernels._pretoken_key import TM_CANONICAL, tm_hash, tm_key_of
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_read
from cython.cimports.tokenmill.split._scan_cy import join_products, tm_byte_pairs_make, tm_has_simd
from cython.cimports.tokenmill.tokenizer.encoding._finder_cy import tm_segment_ends

STRAY = cython.declare(uint32_t, 0xDC00)  # the code of a byte outside of any character, less the byte
POINTS = cython.declare(cython.size_t, 0x110000)
STRAY_MASK = cython.declare(uint32_t, 0xFFFFFF00)


@cython.cclass
class Cutter:
    """The pairs of units that join. Threads share it; `build` fills it, once.

    blob, sizes: the tokens; see `pack_tokens`. events: the merges; only tokens that they make are used. None for all tokens.
    lazy: for long pretokens; the caller calls `build` before the first cut.
    built_of: `known_built` of the merger, if pretokens are looked up among the tokens before they are merged; else None.
    known: the codes that have a token of their own, if neighbours without one become one unknown token; else None.

    >>> Cutter(*pack_tokens((b" low", b"er", b"ow")), array("i", [0, 0, 0, 0, 0, 1, 0, 0, 2])).ends(b" low lower")
    array('Q', [4, 8, 10])
    """

    def __cinit__(self, blob: bytes = b"", sizes: bytes = b"", events=None, lazy: cython.bint = False, built_of=None, known=None):
        self.source = (blob, sizes, events, built_of)
        self.wide_size = 512
        self.shift = 52
        if known is not None:
            self.learn_known(known)
        if not lazy:
            self.build()
            self.make_products()

    def build(self):
        with cython.critical_section(self):
            if not self.ready:
                blob, sizes, events, built_of = self.source
                known = b"\1" * (len(sizes) // 4) if built_of is None else built_of()
                self.learn_all(blob, sizes, events, known)
                self.source = None
                self.ready = True
                self.early = known is not None
        return 0

    def learn_all(self, blob, sizes, events, known):
        pairs: tm_pair_map
        i: cython.size_t
        n: cython.size_t = PyBytes_GET_SIZE(sizes) // 4
        size = cython.cast(cython.pointer(uint32_t), PyBytes_AS_STRING(sizes))
        p = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(blob))
        merged: bytearray = bytearray(n) if events is not None else bytearray(b"\1") * n
        is_merged = cython.cast(cython.pointer(uint8_t), PyByteArray_AS_STRING(merged))
        rows: cython.const[int32_t][::1] = events
        if events is not None:
            for i in range(rows.shape[0] // 3):
                if rows[3 * i + 2] >= 0:  # not a removal
                    is_merged[rows[3 * i + 2]] = 1
        memset(cython.address(pairs), 0, cython.sizeof(tm_pair_map))
        try:
            for id in range(n):
                if size[id] == 0xFFFFFFFF:
                    continue
                if is_merged[id]:
                    self.learn(p, size[id], cython.address(pairs))
                if known is not None and not known[id]:
                    self.learn_unmade(p, size[id])
                p += size[id]
            while self.wide_size < 2 * pairs.used:
                self.wide_size *= 2
                self.shift -= 1
            self.wide = cython.cast(cython.pointer(uint64_t), tm_pages_new(self.wide_size))
            if self.wide == cython.NULL:
                raise MemoryError
            for i in range(pairs.n_slots):
                if pairs.slots[i].used:
                    hash: uint64_t = tm_pair_hash(0, pairs.slots[i].left, pairs.slots[i].right) >> self.shift
                    self.wide[hash >> 6] |= cython.cast(uint64_t, 1) << (hash & 63)
            return 0
        finally:
            tm_pair_map_free(cython.address(pairs))

    def __dealloc__(self):
        tm_pages_free(self.wide, self.wide_size)
        tm_pages_free(self.known, POINTS // 8)

    def learn_known(self, known):
        first: uint32_t
        second: uint32_t
        self.known = cython.cast(cython.pointer(uint64_t), tm_pages_new(POINTS // 8))
        if self.known == cython.NULL:
            raise MemoryError
        for first in known:
            self.known[first >> 6] |= cython.cast(uint64_t, 1) << (first & 63)
        for first in range(128):
            for second in range(128):
                if _are_unknown(self, first, second):
                    self.ascii[first][second >> 6] |= cython.cast(uint64_t, 1) << (second & 63)
        return 0

    def learn(self, p, n, pairs):
        first: uint32_t = 0
        second: uint32_t = 0
        i: cython.size_t = _read(p, n, cython.address(first))
        while i < n:
            i += _read(p + i, n - i, cython.address(second))
            self.joins_newlines |= (first == 0x0A) != (second == 0x0A)
            if first < 128 and second < 128:
                self.ascii[first][second >> 6] |= cython.cast(uint64_t, 1) << (second & 63)
            elif first & STRAY_MASK == STRAY or second & STRAY_MASK == STRAY:
                _bit(self.stray, first, second)[0] |= cython.cast(uint64_t, 1) << (tm_pair_hash(0, first, second) & 63)
                if not (STRAY | 0xC0 <= first <= STRAY | 0xFF or STRAY | 0x80 <= second <= STRAY | 0xBF):
                    self.edges[first & 63] |= cython.cast(uint64_t, 1) << (_lead(second) & 63)  # of characters
            elif not tm_pair_map_reserve(pairs, 1):
                raise MemoryError
            else:
                tm_pair_map_get_or_put(pairs, first, second, 0)
            first = second
        return 0

    def learn_unmade(self, p, n):
        if n > 0:
            self.unmade_lengths[n >= 3 and lacks_spaces(p + n)] |= cython.cast(uint64_t, 1) << min(n, 63)
            bit: uint64_t = _unmade_bit(p, n)
            self.unmade[bit >> 6] |= cython.cast(uint64_t, 1) << (bit & 63)
        return 0

    def is_unmade(self, p, n):
        if not self.unmade_lengths[n >= 3 and lacks_spaces(p + n)] >> min(n, 63) & 1:
            return False
        bit: uint64_t = _unmade_bit(p, n)
        return self.unmade[bit >> 6] >> (bit & 63) & 1

    def make_products(self):
        first: uint8_t[128]
        second: uint8_t[128]
        join_products(cython.address(self.ascii[0][0]), first, second)
        tm_byte_pairs_make(cython.address(self.pairs), first, second)
        self.uses_simd = tm_has_simd()

    def ends(self, data: bytes):
        """Return the end of each segment of `data`, as 64-bit numbers."""
        ends: cython.size_t[256]
        at: cython.size_t = 0
        count: cython.size_t = 0
        length: cython.size_t = PyBytes_GET_SIZE(data)
        segment_ends = array("Q", bytes(8 * length))
        out: uint64_t[::1] = segment_ends
        p = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(data))
        with cython.nogil:
            while at < length:
                n = self.scan(p, at, length, length, ends, 256)
                for i in range(n):
                    out[count] = ends[i]
                    count += 1
                at = ends[n - 1]
        return segment_ends[:count]

    def joins(self, first, second):
        return _joins(self, first, second)

    def scan(self, text, start, length, limit, ends, room):
        first: uint32_t = 0
        second: uint32_t = 0
        n: cython.Py_ssize_t = 0
        at: cython.size_t = start + _read(text + start, length - start, cython.address(first))
        resume: cython.size_t = at if self.uses_simd else length  # where vector code goes on
        while at < length and n < room - 1:
            if at >= resume and first < 128:
                at = tm_segment_ends(cython.address(self.pairs), text, at, length, limit, ends, room, cython.address(n))
                if at == length:
                    break
                resume = at + 64
                first = text[at - 1]
            byte = text[at]
            if (first | byte) < 128:  # the ends of segments cannot be predicted, so nothing branches on them
                ends[n] = at
                n += 1 - cython.cast(cython.Py_ssize_t, self.ascii[first][byte >> 6] >> (byte & 63) & 1)
                first = byte
                at += 1
                continue
            size = _read(text + at, length - at, cython.address(second))
            ends[n] = at
            n += 1 - cython.cast(cython.Py_ssize_t, _joins(self, first, second))
            first = second
            at += size
        if at >= length:
            ends[n] = length
            n += 1
        return n

    def segments(self, text, start, at, end, ends, room):
        k: cython.Py_ssize_t = 0
        if at == start and self.is_unmade(text + start, end - start):
            ends[0] = end
            return 1
        n: cython.Py_ssize_t = self.scan(text, at, end, end, ends, room)
        if self.unmade_lengths[0] | self.unmade_lengths[1] == 0:
            return n
        for i in range(n):
            ends[k] = ends[i]
            while k > 0 and self.is_unmade(text + ends[k - 1], ends[k] - ends[k - 1]):
                k -= 1
                ends[k] = ends[i]
            k += k > 0 or not self.is_unmade(text + at, ends[0] - at)  # the first one is joined to the next
        if k > 1 and ends[k - 1] < end:
            k -= 1  # so that the rest has two or more
        return max(k, 1)

    def certain_cut(self, data, start: cython.size_t, end: cython.size_t) -> int:
        """Return the last cut in data[start:end], like Scanner.certain_cut; 0 if there is none."""
        view: cython.const[uint8_t][::1] = data
        self.build()
        return self.cut(cython.address(view[0]), start, end) if end > start else 0

    def cut(self, text, start, length):
        first: uint32_t = 0
        second: uint32_t = 0
        at: cython.size_t = length
        while at > start + 1:
            at -= 1
            if text[at] & 0xC0 == 0x80 or (text[at] >= 0x80 and tm_utf8_read(text + at, length - at, cython.address(second)) == 0):
                continue  # inside a character, or perhaps the first bytes of one that continues after `length`
            _read(text + at, length - at, cython.address(second))
            before = at - 1
            while before > start and at - before < 4 and text[before] & 0xC0 == 0x80:
                before -= 1
            if tm_utf8_read(text + before, at - before, cython.address(first)) == at - before and not _joins(self, first, second):
                return at
        return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _unmade_bit(p: cython.pointer(cython.const[uint8_t]), n: cython.size_t) -> uint64_t:
    return tm_hash(tm_key_of(p, n, p + n, TM_CANONICAL), TM_CANONICAL) >> 49


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _joins(self: Cutter, first: uint32_t, second: uint32_t) -> cython.bint:
    if first < 128 and second < 128:
        return self.ascii[first][second >> 6] >> (second & 63) & 1
    hash: uint64_t = tm_pair_hash(0, first, second) >> self.shift
    joined: cython.bint = self.wide[hash >> 6] >> (hash & 63) & 1
    if self.known != cython.NULL:
        joined |= _are_unknown(self, first, second)
    lead: uint32_t = _lead(second)
    if self.edges[first & 63] >> (lead & 63) & 1 or first & STRAY_MASK == STRAY or second & STRAY_MASK == STRAY:
        last: uint32_t = first if first & STRAY_MASK == STRAY else STRAY | 0x80 | first & 0x3F
        joined |= _has(self.stray, last, second) | _has(self.stray, first, lead) | _has(self.stray, last, lead)
    return joined


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _are_unknown(self: Cutter, first: uint32_t, second: uint32_t) -> cython.bint:
    return not (self.known[first >> 6] >> (first & 63) & 1 or self.known[second >> 6] >> (second & 63) & 1)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _lead(point: uint32_t) -> uint32_t:
    """The first byte of a unit as a stray."""
    if point < 0x800:
        return STRAY | 0xC0 | point >> 6
    if point & STRAY_MASK == STRAY:
        return point
    return STRAY | 0xE0 | point >> 12 if point < 0x10000 else STRAY | 0xF0 | point >> 18


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _bit(words: cython.pointer(uint64_t), first: uint32_t, second: uint32_t) -> cython.pointer(uint64_t):
    """The word with the bit of a pair with a stray. The bit is the low end of the hash, the word its high end."""
    return words + (tm_pair_hash(0, first, second) >> 54)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _has(words: cython.pointer(uint64_t), first: uint32_t, second: uint32_t) -> cython.bint:
    return _bit(words, first, second)[0] >> (tm_pair_hash(0, first, second) & 63) & 1


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _read(p: cython.pointer(cython.const[uint8_t]), n: cython.size_t, point: cython.pointer(uint32_t)) -> cython.size_t:
    """The character at p and its size. A byte outside of any character is one, as in Python's surrogateescape."""
    size: cython.size_t = tm_utf8_read(p, n, point)
    if size == 0:
        point[0] = 0xDC00 | p[0]
        return 1
    return size
