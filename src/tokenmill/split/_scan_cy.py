"""The scanner kernel: runs a compiled pattern over UTF-8 bytes and yields the ends of the pretokens.

The tables contain two machines. The transducer (`run_transducer`) finds all cuts in one pass and does most of the work.
Where it cannot decide, it stops with REWIND. The automaton (`match`) then finds single pretokens from a known pretoken
start until it has passed that offset. See transducer.py, automaton.py, and compiler.py for the tables.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memset
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_read

REWIND = cython.declare(cython.int, 7)
NONE = cython.declare(cython.size_t, cython.cast(cython.size_t, -1))
DEAD = cython.declare(cython.size_t, 0xFFFF)
CERTAIN = cython.declare(uint8_t, 1)  # values of Tables.certain
NEUTRAL = cython.declare(uint8_t, 2)


@cython.cfunc
@cython.exceptval(check=False)
def _bytes(data: bytes) -> cython.pointer(cython.const[uint8_t]):
    return cython.cast(cython.pointer(cython.const[uint8_t]), data)


@cython.cfunc
@cython.exceptval(check=False)
def _numbers(data: bytes) -> cython.pointer(cython.const[uint16_t]):
    return cython.cast(cython.pointer(cython.const[uint16_t]), cython.cast(cython.p_char, data))


@cython.final
@cython.cclass
class Scanner:
    """A compiled pattern (compiler.Tables), and the scanner of the pattern that cuts its pretokens, if any.

    composed: the tables of the transducer with the cuts of this pattern and of all inner ones (composition.py), or None.
        It replaces the transducer of this pattern, and `inner` is only used where it cannot decide.
    uses_simd: whether _simd_scan.h runs: the pattern fits, the processor supports it, and `scalar` is false.
    joins: 8,192 bytes, a bit for each pair of bytes left << 8 | right, of a pattern without an inner one: two pretokens that
        end and begin with such a pair are one. None without joins.
    """

    def __cinit__(self, tables, inner=None, scalar=False, joins: bytes | None = None, composed=None):
        self.joins = joins
        self.joined = _bytes(joins) if joins is not None else cython.NULL
        self.tables = tables  # owns the bytes that the pointers below refer to
        self.inner = inner
        self.composed = None if composed is None else Scanner(composed, None, scalar)
        alphabet = tables.alphabet
        self.width = alphabet.size + 1
        self.invalid = alphabet.invalid
        self.ascii = _bytes(alphabet.ascii)
        self.index = _numbers(alphabet.index)
        self.pages = _bytes(alphabet.pages)
        self.steps = _numbers(tables.steps) if tables.steps else cython.NULL
        self.actions = _bytes(tables.actions)
        self.matches = _numbers(tables.matches)
        self.accepts = _bytes(tables.accepts)
        self.certain = _bytes(tables.certain)
        simd = tables.simd
        self.uses_simd = simd is not None and not scalar and tm_has_simd()
        if self.uses_simd:
            columns: cython.size_t = simd.alphabet.size + 2
            self.pairs = cython.cast(cython.pointer(uint8_t), malloc(columns * columns * columns * 8))
            if self.pairs == cython.NULL:
                raise MemoryError
            tm_simd_pairs(self.pairs, _bytes(simd.steps), columns, columns - 2)
            self.simd.pairs = self.pairs
            self.simd.columns = columns
            tm_column_table(self.simd.ascii, _bytes(simd.alphabet.ascii), 128)
            self.simd.index = self.index
            self.simd.pages = _bytes(simd.alphabet.pages)
            self.simd.next = columns - 2
            self.simd.end = columns - 1
            self.simd.invalid = simd.alphabet.invalid
            self.make_leads()

    def __dealloc__(self):
        free(self.pairs)

    def make_leads(self):
        """Make the tables for characters of two and three bytes. Small letters are more frequent than capitals."""
        counts: cython.int[256]
        leads: uint8_t[64]
        first: uint8_t[128]
        second: uint8_t[128]
        rows: uint64_t[256]
        small: uint8_t = self.simd_column(97)
        capital: uint8_t = self.simd_column(65)
        lead: cython.int
        k: cython.int
        i: cython.int
        memset(rows, 0, cython.sizeof(rows))
        memset(leads, 0, 64)
        for lead in range(0xC2, 0xF0):
            memset(counts, 0, cython.sizeof(counts))
            n: cython.int = 1 if lead < 0xE0 else 64
            for k in range(64):
                point: cython.size_t = ((lead & 0x1F) << 6 | k) * n & 0xFFFF
                for i in range(0, n, 8):  # the most frequent one is among the samples
                    counts[self.simd_column(point + i)] += 1
            most: cython.int = 0
            for k in range(256):
                if counts[k] > counts[most]:
                    most = k
            if most == capital and counts[small] > 0:
                most = small
            leads[lead - 0xC0] = most
            for k in range(64):
                point = ((lead & 0x1F) << 6 | k) * n & 0xFFFF
                page = self.simd.pages + (cython.cast(cython.size_t, self.simd.index[point >> 7]) << 7) + (point & 127)
                for i in range(n):
                    if page[i] != most:
                        rows[2 * (lead - 128)] |= cython.cast(uint64_t, 1) << k
                        break
        tm_column_table(self.simd.leads, leads, 64)
        join_products(rows, first, second)
        tm_byte_pairs_make(cython.address(self.simd.odd), first, second)

    def simd_column(self, point):
        return self.simd.pages[(cython.cast(cython.size_t, self.simd.index[point >> 7]) << 7) + (point & 127)]

    def class_of(self, p, left, size):
        """Return the class of the character at p, or of the byte there if it is not UTF-8. Writes its length in bytes to `size`."""
        code: uint32_t = 0
        size[0] = 1
        if p[0] < 128:
            return self.ascii[p[0]]
        size[0] = tm_utf8_read(p, left, cython.address(code))
        if size[0] == 0:
            size[0] = 1
            return self.invalid
        return self.pages[(cython.cast(cython.size_t, self.index[code >> 7]) << 7) + (code & 127)]

    def scan(self, text, start, length, ends, room):
        at: cython.size_t = start
        n: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        if length - start == 1:  # such as the line break between two control tokens
            ends[0] = length
            return 1
        if self.joined == cython.NULL:
            return self.scan_pretokens(text, start, length, ends, room)
        while n == 0 and at < length:
            m = self.scan_pretokens(text, at, length, ends, room)
            at = ends[m - 1]
            for i in range(m):
                ends[n] = ends[i]
                n += ends[i] == length or not self.joins_at(text, ends[i])
        return n

    def joins_at(self, text, at):
        """Return whether the bytes text[at - 1] and text[at] are joined."""
        pair: cython.size_t = cython.cast(cython.size_t, text[at - 1]) << 8 | text[at]
        return self.joined[pair >> 3] >> (pair & 7) & 1

    def scan_pretokens(self, text, start, length, ends, room):
        if self.inner is None:
            return self.scan_one(self, text, start, length, ends, room, cython.NULL)
        known: cython.size_t[TM_CHAIN_MAX]
        tm_chain_take(cython.cast(cython.p_void, self), text, start, length, known)
        if self.composed is None:
            n = self.scan_chain(text, start, length, ends, room, known)
        else:
            n = self.scan_one(self.composed, text, start, length, ends, room, known)
        if n > 0 and ends[n - 1] < length:
            tm_chain_save(cython.cast(cython.p_void, self), text, ends[n - 1], length, known)
        return n

    def scan_chain(self, text, start, length, ends, room, known):
        """Find the pretokens of the inner patterns. `known[0]` is the end of the outer pretoken around `start`, or not after
        `start` if a new one begins there; `known[1]` is the same for the next pattern, and so on."""
        if self.inner is None:
            return self.scan_one(self, text, start, length, ends, room, cython.NULL)
        n: cython.Py_ssize_t = 0
        at: cython.size_t = start
        outer: cython.size_t[4]
        while at < length and n < room:
            if known[0] <= at:
                if self.composed is None:
                    self.scan_one(self, text, at, length, outer, 4, cython.NULL)
                    known[0] = outer[0]
                else:  # a pattern that knows its cuts at once
                    known[0] = self.next_pretoken(text, at, length)
            n += self.inner.scan_chain(text, at, known[0], ends + n, room - n, known + 1)
            at = ends[n - 1]
        return n

    def scan_one(self, machine, text, start, length, ends, room, known):
        """Find the pretokens of this pattern alone if `known` is NULL, else of the inner ones; known: as for scan_chain.

        machine: the scanner whose transducer finds them, this one or the composed one."""
        n: cython.Py_ssize_t = 0
        at: cython.size_t = start
        while at < length and n < room:
            stopped = length
            if machine.uses_simd and room - n >= TM_SIMD_ROOM:
                n += tm_simd_scan(
                    cython.address(machine.simd), text, at, length, ends + n, room - n, cython.address(stopped))
            elif machine.steps != cython.NULL and room - n >= 3:
                n += machine.run_transducer(text, at, length, ends + n, room - n, cython.address(stopped))
            if stopped == NONE:
                return n
            if n > 0:
                at = ends[n - 1]
            # The automata run until they have passed the offset where the transducer stopped.
            while at <= stopped and at < length and n < room:
                if known == cython.NULL:
                    ends[n] = self.next_pretoken(text, at, length)
                else:
                    self.scan_chain(text, at, length, ends + n, 1, known)
                at = ends[n]
                n += 1
        return n

    def run_transducer(self, text, start, length, ends, room, stopped):
        """Run the transducer from a pretoken start, with room for at least 3 ends. Return the number of ends written.

        `stopped` is NONE, or the offset that the automaton must pass because the transducer could not decide.
        """
        n: cython.Py_ssize_t = 0
        p: cython.size_t = start
        before: cython.size_t = start  # the starts of the last two characters
        before_that: cython.size_t = start
        row: cython.size_t = 0
        size: cython.size_t
        while n + 3 <= room:
            if p == length:
                cell = row + self.width - 1
            else:
                cell = row + self.class_of(text + p, length - p, cython.address(size))
            action: cython.int = self.actions[cell]
            if action > 1:
                if action == REWIND:
                    stopped[0] = p
                    return n - 2 if n > 2 else 0
                if action & 4:
                    ends[n] = before_that
                    n += 1
                if action & 2:
                    ends[n] = before
                    n += 1
            if p == length:
                ends[n] = length
                stopped[0] = NONE
                return n + 1
            ends[n] = p
            n += action & 1
            row = self.steps[cell]
            before_that = before
            before = p
            p += size
        # Out of room: the last two cuts may be bets, so they are left for the next call.
        stopped[0] = p if n <= 2 else NONE
        return n - 2 if n > 2 else 0

    def match(self, text, begin, length):
        """Return the end of the match that begins at `begin`, or NONE."""
        end: cython.size_t = NONE
        p: cython.size_t = begin
        row: cython.size_t = 0
        size: cython.size_t
        while p < length:
            cell = row + self.class_of(text + p, length - p, cython.address(size))
            if self.accepts[cell]:
                end = p
            row = self.matches[cell]
            if row == DEAD:
                return end
            p += size
        return length if self.accepts[row + self.width - 1] else end

    def next_pretoken(self, text, begin, length):
        """Return the end of the pretoken that begins at `begin`: a match, or the text before the next match."""
        size: cython.size_t
        end: cython.size_t = self.match(text, begin, length)
        if end != NONE and end != begin:
            return end
        end = begin
        while end == begin or (end < length and self.match(text, end, length) == NONE):
            self.class_of(text + end, length - end, cython.address(size))
            end += size
        return end

    def cut(self, text, start, length):
        at: cython.size_t = length
        size: cython.size_t
        size_before: cython.size_t
        while at > start + 1:
            at -= 1
            if text[at] & 0xC0 == 0x80:
                continue  # inside a character
            self.class_of(text + at, length - at, cython.address(size))
            if size == 1 and text[at] >= 128:
                continue  # perhaps the first bytes of a character that continues after `length`
            before = at - 1
            while before > start and at - before < 4 and text[before] & 0xC0 == 0x80:
                before -= 1
            self.class_of(text + before, at - before, cython.address(size_before))
            if size_before != at - before or (size_before == 1 and text[before] >= 128):
                continue  # perhaps the last bytes of a character that begins before `start`
            if self.is_certain(text, before, at, size) and (self.joined == cython.NULL or not self.joins_at(text, at)):
                return at
        return 0

    def is_certain(self, text, before, at, size):
        """Return whether the border at `at` is a certain cut of this pattern and of all inner ones.

        The characters around it are text[before:at] and the `size` bytes after it. At a certain cut of this pattern, each side is
        cut as it is alone, and the inner patterns cut the same pretokens. At a neutral border, so are all cuts but perhaps one at
        the border itself. With that one, the pretokens are again the same. Without it, the border is inside a pretoken whose two
        halves are pretokens of the sides alone. If it is a certain cut of the inner patterns, they cut that pretoken as they cut
        the halves.
        """
        read: cython.size_t
        last: cython.size_t = self.class_of(text + before, at - before, cython.address(read))
        after: cython.size_t = self.class_of(text + at, size, cython.address(read))
        border: uint8_t = self.certain[last * self.width + after]
        if border == NEUTRAL and self.inner is not None:
            return self.inner.is_certain(text, before, at, size)
        return border == CERTAIN

    def fill(self, data: cython.const[uint8_t][::1], start: cython.size_t, room: cython.size_t) -> bytes:
        """Return the ends of at most `room` pretokens of `data` from a pretoken start, as size_t values in bytes."""
        length: cython.size_t = data.shape[0]
        if start >= length:
            return b""
        ends = cython.cast(cython.pointer(cython.size_t), malloc(room * cython.sizeof(cython.size_t)))
        if ends == cython.NULL:
            raise MemoryError
        try:
            with cython.nogil:
                n: cython.Py_ssize_t = self.scan(
                    cython.address(data[0]), start, length, ends, cython.cast(cython.Py_ssize_t, room))
            return PyBytes_FromStringAndSize(
                cython.cast(cython.p_char, ends), n * cython.cast(cython.Py_ssize_t, cython.sizeof(cython.size_t)))
        finally:
            free(ends)

    def are_matches(self, data: cython.const[uint8_t][::1], ends: cython.const[uint64_t][::1]) -> bytes:
        """Return 1 for each pretoken of `data` that is a match, 0 for text between two. ends: as `fill` returns them."""
        matches: bytearray = bytearray(ends.shape[0])
        start: cython.size_t = 0
        for i in range(ends.shape[0]):
            end = self.match(cython.address(data[0]), start, data.shape[0])
            matches[i] = end != NONE and end != start
            start = ends[i]
        return bytes(matches)

    def certain_cut(self, data: cython.const[uint8_t][::1], start: cython.size_t = 0, length=None) -> cython.size_t:
        """Return `cut` of data[start:length], for Python."""
        size: cython.size_t = data.shape[0] if length is None else min(length, data.shape[0])
        at: cython.size_t = 0
        if size > 0:
            with cython.nogil:
                at = self.cut(cython.address(data[0]), start, size)
        return at


@cython.cfunc
@cython.exceptval(check=False)
def join_products(rows: cython.pointer(uint64_t), first: cython.pointer(uint8_t), second: cython.pointer(uint8_t)) -> cython.void:
    """Join the most similar groups of first bytes until there are eight."""
    lows: uint64_t[128]  # by group: the second bytes, up to 63 and from there on
    highs: uint64_t[128]
    counts: cython.int[128]  # its first bytes
    group: uint8_t[128]
    n: cython.int = 128
    i: cython.int
    k: cython.int
    one: cython.int = 0
    other: cython.int = 0
    for i in range(128):
        lows[i] = rows[2 * i]
        highs[i] = rows[2 * i + 1]
        group[i] = i
        counts[i] = 1
    while n > 8:
        least: cython.int = 1 << 30
        for i in range(n):
            for k in range(i):
                lo: uint64_t = lows[i] ^ lows[k]
                hi = highs[i] ^ highs[k]
                more: cython.int = counts[i] * (tm_bits_of(lo & lows[k]) + tm_bits_of(hi & highs[k]))
                more += counts[k] * (tm_bits_of(lo & lows[i]) + tm_bits_of(hi & highs[i]))
                if more < least:
                    least = more
                    one = k
                    other = i
                if least == 0:
                    break
            if least == 0:
                break
        n -= 1
        lows[one] |= lows[other]
        highs[one] |= highs[other]
        counts[one] += counts[other]
        lows[other] = lows[n]
        highs[other] = highs[n]
        counts[other] = counts[n]
        for i in range(128):
            group[i] = one if group[i] == other else other if group[i] == n else group[i]
    memset(second, 0, 128)
    for i in range(128):
        first[i] = 1 << group[i]
        rows[2 * i] = lows[group[i]]
        rows[2 * i + 1] = highs[group[i]]
        for k in range(8):
            second[i] |= cython.cast(uint8_t, (lows[k] if i < 64 else highs[k]) >> (i & 63) & 1) << k
