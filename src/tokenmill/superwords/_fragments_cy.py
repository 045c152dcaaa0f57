"""The text of stage 2: from lines to segments, from segments to ids of stage 1, and to fragments that are counted.

Definitions
    segment    a part of a line that the split pattern of stage 2 leaves whole; in BoundlessBPE, neighbouring pretokens of a
               document each of which is an atom, a token that superwords may be made of
    border     between two neighbouring ids of a segment
    total      of a border (x, y): how often x and y are neighbours in the whole text
    fragment   what the borders whose total is below a number `least` leave of a segment

The exact cut. A merge across the border (x, y) joins a token A that ends with x and a token B that begins with y, and each
occurrence of (A, B) holds one (x, y). So the count of the merged pair is at most the total of (x, y). If all merges have a
count of `least` or more, no merge crosses a border whose total is lower, and training on the fragments gives the same merges
as training on the segments.

Totals are added up in a table without keys, by a hash of the border. Borders that share a place only make the total too
high, so fewer borders are cut, and the merges stay the same.

Pretokens of the counting tables are fragments here: each id is two bytes, or four if there are more than 65,536.

Encoding takes longer than all else. So the ids of the first pass may be kept for the second: 32 bits each, with END in the
last of a segment.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memchr, memcpy
from cython.cimports.tokenmill.counting._table_cy import MOST, Addition, CountTable
from cython.cimports.tokenmill.kernels._memory import tm_make_room
from cython.cimports.tokenmill.kernels._pair_map import tm_pair_hash
from cython.cimports.tokenmill.kernels._platform import tm_prefetch, tm_prefetch_write
from cython.cimports.tokenmill.kernels._pretoken_key import TM_CANONICAL, tm_key, tm_key_of
from cython.cimports.tokenmill.kernels._signals import raise_signalled
from cython.cimports.tokenmill.split._scan_cy import Scanner
from cython.cimports.tokenmill.tokenizer.encoding._cache_cy import BATCH, PretokenCache
from cython.cimports.tokenmill.tokenizer.encoding._parts_cy import IdRoom, PartEncoder, free_id_room, make_id_room
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_MEMORY, SIGNALLED

ROOM = cython.declare(cython.Py_ssize_t, 2048)  # segments at a time
LEAST_ROOM = cython.declare(cython.Py_ssize_t, 128)  # with less room than this the scanner's SIMD code stops at once
CHUNK = cython.declare(cython.size_t, 1 << 15)  # bytes of text at a time
AHEAD = cython.declare(cython.Py_ssize_t, 16)  # totals that are prefetched
END = cython.declare(uint32_t, 0x80000000)
ID = cython.declare(uint32_t, 0x7FFFFFFF)
KEPT_CHUNK = cython.declare(cython.size_t, 1 << 13)  # kept ids at a time
HIGHEST = cython.declare(uint16_t, 0xFFFF)  # a total stays there

# What a token of stage 1 means for the veto on a colon before a space.
ENDS_WITH_COLON = 1
BEGINS_WITH_SPACE = 2
HOLDS_BOTH = 4


@cython.final
@cython.cclass
class SegmentReader:
    """Reads blocks of text as the ids of segments. One thread at a time uses it.

    scanner: the split pattern of stage 2, or that of the pretokens.
    parts: encodes with the merges of stage 1; None if pretokens are looked up.
    pretokens: looks pretokens up; it may give any ids to those that are no atoms. atoms: uint8 by id, 1 for an atom.
    cache_bytes: the limit of the cache that looks them up.
    totals: uint16, a power of two of them: the table of totals, for `add_totals`.
    crossed: a bit for each total, for `count_fragments`: whether it is high enough. One of the two is
        empty.
    flags: uint8 by id, all 0 where nothing is vetoed.
    width: the bytes of an id in a fragment, 2 or 4.
    After `begin`, call `add_totals` or `count_fragments` until it returns True; after `begin_kept`, call `count_fragments`.
    """

    scanner: Scanner
    parts = cython.declare(PartEncoder, visibility="readonly")
    pretokens: PretokenCache
    atoms: cython.const[uint8_t][::1]
    totals: uint16_t[::1]
    crossed: cython.const[uint8_t][::1]
    flags: cython.const[uint8_t][::1]
    width: cython.size_t
    shift: cython.int
    # the block
    block: cython.const[uint8_t][::1]
    document_ends: cython.const[uint64_t][::1]
    text: cython.pointer(cython.const[uint8_t])
    document: cython.Py_ssize_t
    position: cython.size_t
    line: cython.size_t  # where the line begins and ends
    line_end: cython.size_t
    # the segments of a chunk, and their ids
    ends: cython.size_t[2048]
    id_ends: cython.size_t[2048]
    chunk: cython.pointer(uint32_t)  # in room.ids, or in ids that were kept
    n_ids: cython.Py_ssize_t
    room: IdRoom  # its places: of the border before each id, in the table of totals; then where fragments end
    # ids that are kept, or were
    keeps: cython.bint
    kept: cython.pointer(uint32_t)
    kept_room: cython.size_t
    n_kept: cython.size_t
    old: uint32_t[::1]
    # how far the fragments of the chunk are counted
    n_cuts: cython.Py_ssize_t
    fragment: cython.Py_ssize_t
    id: cython.Py_ssize_t
    some: Addition[256]
    waiting: cython.Py_ssize_t

    def __cinit__(
        self,
        scanner: Scanner,
        parts: PartEncoder | None,
        totals: uint16_t[::1],
        crossed: cython.const[uint8_t][::1],
        flags: cython.const[uint8_t][::1],
        width: cython.size_t,
        pretokens: PretokenCache | None = None,
        atoms: cython.const[uint8_t][::1] = None,
        cache_bytes: cython.size_t = 0,
    ):
        if pretokens is not None:
            self.pretokens = pretokens.copy()
            self.pretokens.set_limit(cache_bytes)
        self.atoms = atoms
        self.scanner = scanner
        self.parts = parts
        n_totals: cython.Py_ssize_t = max(totals.shape[0], 8 * crossed.shape[0])
        self.totals = totals
        self.crossed = crossed
        self.flags = flags
        self.width = width
        self.shift = 64
        while cython.cast(cython.Py_ssize_t, 1) << (64 - self.shift) < n_totals:
            self.shift -= 1

    def __dealloc__(self):
        free(self.kept)
        free_id_room(cython.address(self.room))

    def begin(self, text: cython.const[uint8_t][::1], document_ends: cython.const[uint64_t][::1], keep: bool = False):
        """Begin a block of text, whose document i ends at document_ends[i]. keep: `take_kept` will ask for the ids."""
        self.keeps = keep
        self.n_kept = 0
        self.old = None
        self.block = text
        self.document_ends = document_ends
        self.text = cython.address(text[0]) if text.shape[0] > 0 else cython.NULL
        self.document = 0
        self.position = self.line = self.line_end = 0
        self.n_ids = self.n_cuts = self.fragment = 0

    def take_kept(self) -> bytearray:
        """The ids of the block, for `begin_kept`."""
        return bytearray(cython.cast(cython.p_char, self.kept)[: 4 * self.n_kept])

    def begin_kept(self, kept: uint32_t[::1]):
        """Begin a block whose ids were kept."""
        self.old = kept
        self.position = 0
        self.n_ids = self.n_cuts = self.fragment = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def next_line(self) -> cython.bint:
        """Set `line_end` to the end of the line that begins at `position`, or of the document where pretokens are looked up.

        False at the end of the block.
        """
        end: cython.size_t
        newline: cython.p_const_char
        while self.document < self.document_ends.shape[0] and self.position >= self.document_ends[self.document]:
            self.document += 1
        if self.document == self.document_ends.shape[0]:
            return False
        end = self.document_ends[self.document]
        self.line = self.position
        self.line_end = end
        if self.pretokens is not None:
            return True
        newline = cython.cast(cython.p_const_char, memchr(self.text + self.position, 10, end - self.position))
        if newline != cython.NULL:
            self.line_end = newline - cython.cast(cython.p_const_char, self.text) + 1
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def next_chunk(self) -> cython.int:
        """Set `chunk` to the next ids, each with the place of the total of the border before it. 0 at the end of the block."""
        kept: cython.pp_void = cython.cast(cython.pp_void, cython.address(self.kept))
        i: cython.Py_ssize_t
        if self.old is not None:
            if not self.next_kept():
                return 0
        elif not (self.next_runs() if self.pretokens is not None else self.next_lines()):
            return 0
        elif self.keeps:
            if not tm_make_room(kept, cython.address(self.kept_room), self.n_kept + self.n_ids, 4):
                self.checked(NO_MEMORY)
            memcpy(self.kept + self.n_kept, self.chunk, 4 * self.n_ids)
            self.n_kept += self.n_ids
        for i in range(1, self.n_ids):
            self.room.places[i] = cython.cast(
                uint32_t, tm_pair_hash(0, self.chunk[i - 1] & ID, self.chunk[i] & ID) >> self.shift
            )
        return 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def checked(self, n: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return a number of ids, or raise what a negative number of the merger stands for."""
        if n < 0:
            with cython.gil:
                if n == SIGNALLED:
                    raise_signalled()
                raise MemoryError
        return n

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def next_lines(self) -> cython.int:
        """The segments of the next lines and their ids. 0 at the end of the block."""
        first: cython.size_t = self.position
        n: cython.Py_ssize_t = 0
        m: cython.Py_ssize_t
        i: cython.Py_ssize_t
        while n <= ROOM - LEAST_ROOM and self.position - first < CHUNK:
            if self.position == self.line_end and not self.next_line():
                break
            m = self.scanner.scan(
                self.text + self.line, self.position - self.line, self.line_end - self.line, self.ends + n, ROOM - n
            )
            for i in range(n, n + m):
                self.ends[i] += self.line
            n += m
            self.position = self.ends[n - 1]
        if n == 0:
            return 0
        if not make_id_room(cython.address(self.room), self.position - first, 4):
            self.checked(NO_MEMORY)
        self.chunk = self.room.ids
        self.n_ids = self.checked(
            self.parts.encode(self.text, first, self.block.shape[0], self.ends, n, self.chunk, self.id_ends)
        )
        for i in range(n):
            self.chunk[self.id_ends[i] - 1] |= END
        return 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def next_runs(self) -> cython.int:
        """The atoms of the next pretokens, up to the end of a segment. 0 at the end of the block."""
        first: cython.size_t = self.position
        n: cython.Py_ssize_t
        i: cython.Py_ssize_t = 0
        ended: cython.bint = True
        self.n_ids = 0
        while not ended or self.position - first < CHUNK:
            if self.position == self.line_end:
                if self.n_ids > 0:
                    self.chunk[self.n_ids - 1] |= END
                ended = True
                if not self.next_line():
                    break
            n = self.scanner.scan_pretokens(
                self.text + self.line, self.position - self.line, self.line_end - self.line, self.ends, ROOM
            )
            for i in range(n):
                self.ends[i] += self.line
            # Room for what was found and for the ids of a batch.
            if not make_id_room(cython.address(self.room), self.ends[n - 1] - first, 4):
                self.checked(NO_MEMORY)
            self.chunk = self.room.ids
            i = 0
            while i < n:
                ended = not self.look_up(i, min(BATCH, n - i))
                i += BATCH
        return self.position > first

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def look_up(self, i: cython.Py_ssize_t, n: cython.Py_ssize_t) -> cython.int:
        """Add the atoms among the pretokens that end at ends[i:i + n] to the chunk. Returns whether the last is one."""
        k: cython.Py_ssize_t
        last: cython.size_t = 0
        id: uint32_t
        atom: cython.bint = True
        batch: cython.pointer(uint32_t) = self.chunk + self.n_ids
        self.checked(self.pretokens.encode(self.text, self.position, self.block.shape[0], self.ends + i, n, batch))
        for k in range(n):
            id = batch[last]
            atom = self.pretokens.places[k] == last + 1 and self.atoms[id]
            last = self.pretokens.places[k]
            if atom:
                self.chunk[self.n_ids] = id
                self.n_ids += 1
            elif self.n_ids > 0:
                self.chunk[self.n_ids - 1] |= END
        self.position = self.ends[i + n - 1]
        return atom

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def next_kept(self) -> cython.int:
        """The next ids that were kept. 0 at the end of the block."""
        end: cython.size_t = self.old.shape[0]
        size: cython.size_t = min(KEPT_CHUNK, end - self.position)
        if self.position == end:
            return 0
        self.chunk = cython.address(self.old[self.position])
        while self.position + size < end and not self.chunk[size - 1] & END:
            size += 1
        if not make_id_room(cython.address(self.room), size, 4):
            self.checked(NO_MEMORY)
        self.position += size
        self.n_ids = size
        return 1

    def add_totals(self, limit: cython.size_t) -> bool:
        """Add the borders of the next `limit` bytes to the totals. True at the end of the block."""
        totals: cython.pointer(uint16_t) = cython.address(self.totals[0])
        start: cython.size_t = self.position
        more: cython.bint = True
        i: cython.Py_ssize_t
        total: cython.pointer(uint16_t)
        with cython.nogil:
            while more and self.position - start < limit:
                more = self.next_chunk()
                for i in range(1, self.n_ids if more else 0):
                    if i + AHEAD < self.n_ids:
                        tm_prefetch_write(totals + self.room.places[i + AHEAD])
                    total = totals + self.room.places[i]
                    total[0] += not (self.chunk[i - 1] & END) and total[0] != HIGHEST
        return not more

    def count_fragments(self, table: CountTable, limit: cython.size_t) -> bool:
        """Count the fragments of the next `limit` bytes, or until the table is full. True at the end of the block."""
        start: cython.size_t = self.position
        more: cython.bint = True
        with cython.nogil:
            while self.position - start < limit and table.has_room(MOST):
                if self.fragment == self.n_cuts:
                    self.flush(table)
                    if not table.has_room(MOST):
                        break
                    more = self.next_chunk()
                    if not more:
                        break
                    self.find_cuts()
                self.count_cuts(table)
            if table.has_room(MOST):
                self.flush(table)
        table.check()
        return not more

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def find_cuts(self) -> cython.void:
        """Write the ends of the chunk's fragments into `places`. They are unpredictable, so nothing branches on them."""
        crossed: cython.pointer(cython.const[uint8_t]) = cython.address(self.crossed[0])
        chunk: cython.pointer(uint32_t) = self.chunk
        places: cython.pointer(uint32_t) = self.room.places
        cuts: cython.pointer(uint32_t) = self.room.places  # which are read before
        n: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        whole: cython.bint
        left: uint8_t
        right: uint8_t
        vetoed: uint8_t
        for i in range(1, self.n_ids):
            if i + AHEAD < self.n_ids:
                tm_prefetch(crossed + (places[i + AHEAD] >> 3))
            left = self.flags[chunk[i - 1] & ID]
            right = self.flags[chunk[i] & ID]
            vetoed = ((left & 1) & (right >> 1)) | ((left | right) >> 2)  # a token across it would hold a colon and a space
            whole = (
                (chunk[i - 1] < END)
                & (crossed[places[i] >> 3] >> (places[i] & 7))
                & (not vetoed)
            )
            cuts[n] = cython.cast(uint32_t, i)
            n += 1 - whole
        cuts[n] = cython.cast(uint32_t, self.n_ids)
        self.n_cuts = n + 1
        self.fragment = 0
        self.id = 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def count_cuts(self, table: CountTable) -> cython.void:
        """Count the rest of the fragments of the chunk, until the table is full."""
        cuts: cython.pointer(uint32_t) = self.room.places
        end: cython.Py_ssize_t
        while self.fragment < self.n_cuts:
            end = cuts[self.fragment]
            self.fragment += 1
            if end - self.id > 1:
                self.add(self.id, end)
            self.id = end
            if self.waiting == MOST:
                self.flush(table)
                if not table.has_room(MOST):
                    return

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add(self, first: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
        """Let the fragment of these ids wait to be counted. Its bytes lie as far from the front as its ids."""
        p: cython.pointer(uint8_t) = self.room.packed + 4 * first
        length: cython.size_t = (end - first) * self.width
        key: tm_key
        id: uint32_t
        i: cython.Py_ssize_t
        for i in range(first, end):
            id = self.chunk[i] & ID
            memcpy(p + (i - first) * self.width, cython.address(id), self.width)
        key = tm_key_of(p, length, self.room.packed + self.room.packed_room, TM_CANONICAL)
        self.some[self.waiting].lo = key.lo
        self.some[self.waiting].hi = key.hi
        self.some[self.waiting].count = 1
        self.some[self.waiting].pretoken = p
        self.some[self.waiting].length = length
        self.waiting += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def flush(self, table: CountTable) -> cython.void:
        """Count the fragments that wait. The table has room for them."""
        table.add_all(self.some, self.waiting)
        self.waiting = 0
