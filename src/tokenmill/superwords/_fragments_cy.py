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

Both passes work on the ids of a block: 32 bits each, with END in the last of a segment. Encoding takes longer than all else.
So the ids of the first pass may be kept for the second.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memchr, memcpy
from cython.cimports.tokenmill.kernels._arrays import grow
from cython.cimports.tokenmill.kernels._pair_map import tm_pair_hash
from cython.cimports.tokenmill.kernels._platform import tm_prefetch, tm_prefetch_write
from cython.cimports.tokenmill.kernels._signals import raise_signalled
from cython.cimports.tokenmill.split._scan_cy import Scanner
from cython.cimports.tokenmill.tokenizer.encoding._cache_cy import BATCH, PretokenCache
from cython.cimports.tokenmill.tokenizer.encoding._superwords_cy import encode_segments
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import SIGNALLED

ROOM = cython.declare(cython.Py_ssize_t, 2048)  # segments at a time
LEAST_ROOM = cython.declare(cython.Py_ssize_t, 128)  # with less room than this the scanner's SIMD code stops at once
CHUNK = cython.declare(cython.size_t, 1 << 15)  # bytes of text at a time
AHEAD = cython.declare(cython.Py_ssize_t, 64)  # totals that are prefetched at once
END = cython.declare(uint32_t, 0x80000000)
ID = cython.declare(uint32_t, 0x7FFFFFFF)
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
    cache: encodes with the merges of stage 1, by parts. With `atoms`, it looks pretokens up, and may give any ids to those that are no
        atoms. cache_bytes: its limit.
    inside: see `encode_segments`. atoms: uint8 by id, 1 for an atom.
    After `begin`, call `read` until it returns True, then `take`.
    """

    scanner: Scanner
    cache: PretokenCache
    inside: cython.const[uint64_t][::1]
    atoms: cython.const[uint8_t][::1]
    # the block
    block: cython.const[uint8_t][::1]
    document_ends: cython.const[uint64_t][::1]
    text: cython.pointer(cython.const[uint8_t])
    document: cython.Py_ssize_t
    position: cython.size_t
    line: cython.size_t  # where the line begins and ends
    line_end: cython.size_t
    # the segments of a chunk, and the ids of the block so far
    ends: cython.size_t[2048]
    ids: cython.pointer(uint32_t)
    ids_room: cython.size_t
    n_ids: cython.size_t

    def __cinit__(
        self,
        scanner: Scanner,
        cache: PretokenCache,
        cache_bytes: cython.size_t,
        inside: cython.const[uint64_t][::1] | None,
        atoms: cython.const[uint8_t][::1] | None,
    ):
        self.scanner = scanner
        self.cache = cache.copy()
        self.cache.set_limit(cache_bytes)
        self.inside = inside
        self.atoms = atoms

    def __dealloc__(self):
        free(self.ids)

    def begin(self, text: cython.const[uint8_t][::1], document_ends: cython.const[uint64_t][::1]):
        """Begin a block of text, whose document i ends at document_ends[i]."""
        self.block = text
        self.document_ends = document_ends
        self.text = cython.address(text[0]) if text.shape[0] > 0 else cython.NULL
        self.document = 0
        self.position = self.line = self.line_end = 0
        self.n_ids = 0

    def read(self, limit: cython.size_t) -> bool:
        """Read the next `limit` bytes. True at the end of the block."""
        start: cython.size_t = self.position
        more: cython.bint = True
        with cython.nogil:
            while more and self.position - start < limit:
                more = self.next_lines() if self.atoms is None else self.next_pretokens()
        return not more

    def take(self) -> bytes:
        """The ids of the block, as uint32."""
        return cython.cast(cython.p_char, self.ids)[: 4 * self.n_ids] if self.n_ids else b""

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def next_line(self) -> cython.bint:
        """Set `line_end` to the end of the line that begins at `position`, or of the document where pretokens are looked up.

        False at the end of the block.
        """
        while self.document < self.document_ends.shape[0] and self.position >= self.document_ends[self.document]:
            self.document += 1
        if self.document == self.document_ends.shape[0]:
            return False
        end: cython.size_t = self.document_ends[self.document]
        self.line = self.position
        self.line_end = end
        if self.atoms is not None:
            return True
        newline = cython.cast(cython.p_const_char, memchr(self.text + self.position, 10, end - self.position))
        if newline != cython.NULL:
            self.line_end = newline - cython.cast(cython.p_const_char, self.text) + 1
        return True

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
    def make_room(self, nbytes: cython.size_t) -> cython.int:
        """Make room for the ids of a text of this many bytes."""
        grow(cython.address(self.ids), cython.address(self.ids_room), self.n_ids + nbytes + 4, 4)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def next_lines(self) -> cython.int:
        """Add the ids of the segments of the next lines. 0 at the end of the block."""
        first: cython.size_t = self.position
        n: cython.Py_ssize_t = 0
        inside: cython.pointer(cython.const[uint64_t]) = cython.address(self.inside[0])
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
        self.make_room(self.position - first)
        i = 0
        while i < n:
            m = min(BATCH, n - i)
            ids = self.ids + self.n_ids
            self.n_ids += self.checked(
                encode_segments(self.cache, inside, self.text, first, self.block.shape[0], self.ends + i, m, ids)
            )
            for k in range(m):
                ids[self.cache.out_ends[k] - 1] |= END
            i += m
            first = self.ends[i - 1]
        return 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def next_pretokens(self) -> cython.int:
        """Add the atoms among the next pretokens of a document. 0 at the end of the block."""
        if self.position == self.line_end:
            self.end_segment()
            if not self.next_line():
                return 0
        n = self.scanner.scan_pretokens(
            self.text + self.line, self.position - self.line, self.line_end - self.line, self.ends, ROOM
        )
        for i in range(n):
            self.ends[i] += self.line
        self.make_room(self.ends[n - 1] - self.position)
        i = 0
        while i < n:
            self.look_up(i, min(BATCH, n - i))
            i += BATCH
        return 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def look_up(self, i: cython.Py_ssize_t, n: cython.Py_ssize_t) -> cython.int:
        """Add the atoms among the pretokens that end at ends[i:i + n]."""
        last: cython.size_t = 0
        batch: cython.pointer(uint32_t) = self.ids + self.n_ids
        self.checked(self.cache.encode(self.text, self.position, self.block.shape[0], self.ends + i, n, batch))
        for k in range(n):
            id = batch[last]
            if self.cache.out_ends[k] == last + 1 and self.atoms[id]:
                self.ids[self.n_ids] = id
                self.n_ids += 1
            else:
                self.end_segment()
            last = self.cache.out_ends[k]
        self.position = self.ends[i + n - 1]
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def end_segment(self) -> cython.void:
        if self.n_ids > 0:
            self.ids[self.n_ids - 1] |= END


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _find_places(ids: cython.pointer(cython.const[uint32_t]), n: cython.Py_ssize_t, size: cython.Py_ssize_t,
                 places: cython.pointer(uint32_t)) -> cython.void:
    """The place, in a table of `size` totals, of the border after each of n ids."""
    shift: cython.int = 64
    while cython.cast(cython.Py_ssize_t, 1) << (64 - shift) < size:
        shift -= 1
    for i in range(n):
        places[i] = cython.cast(uint32_t, tm_pair_hash(0, ids[i] & ID, ids[i + 1] & ID) >> shift)


def add_totals(ids: cython.const[uint32_t][::1], totals: uint16_t[::1]):
    """Add the borders of a block to the table of totals, whose size is a power of two."""
    places: uint32_t[64]
    first: cython.Py_ssize_t = 0
    with cython.nogil:
        while first + 1 < ids.shape[0]:
            n = min(AHEAD, ids.shape[0] - 1 - first)
            _find_places(cython.address(ids[first]), n, totals.shape[0], places)
            for i in range(n):
                tm_prefetch_write(cython.address(totals[places[i]]))
            for i in range(n):
                total = cython.address(totals[places[i]])
                total[0] += not (ids[first + i] & END) and total[0] != HIGHEST
            first += n


def find_fragments(
    ids: cython.const[uint32_t][::1],
    crossed: cython.const[uint8_t][::1],
    flags: cython.const[uint8_t][::1],
    width: cython.size_t,
) -> tuple:
    """The fragments of several ids in a block: the bytes of all, `width` for each id, and the end of each.

    crossed: a bit for each total: whether it is high enough. flags: uint8 by id, all 0 where nothing is vetoed.
    """
    import numpy as np

    size: cython.Py_ssize_t = ids.shape[0]
    packed: uint8_t[::1] = np.empty(size * width + 4, np.uint8)
    ends: uint64_t[::1] = np.empty(size // 2 + 1, np.uint64)
    places: uint32_t[64]
    first: cython.Py_ssize_t = 0
    vetoed: uint8_t
    begin: cython.size_t = 0  # of the fragment, in `packed`
    end: cython.size_t = 0
    m: cython.size_t = 0
    with cython.nogil:
        while first < size:
            n = min(AHEAD, size - first)
            places[n - 1] = 0  # if no border is after the last id
            _find_places(cython.address(ids[first]), min(n, size - 1 - first), 8 * crossed.shape[0], places)
            for i in range(n):
                tm_prefetch(cython.address(crossed[places[i] >> 3]))
            for i in range(n):
                id = ids[first + i] & ID
                memcpy(cython.address(packed[end]), cython.address(id), 4)  # the next id overwrites what is too much
                end += width
                left = flags[id]
                right = flags[ids[first + i + 1 if first + i + 1 < size else first] & ID]
                vetoed = ((left & 1) & (right >> 1)) | ((left | right) >> 2)  # a token across it would hold a colon and a space
                # Where fragments end is unpredictable, so nothing branches on it.
                whole: cython.bint = (
                    (ids[first + i] < END)
                    & (crossed[places[i] >> 3] >> (places[i] & 7))
                    & (not vetoed)
                )
                several: cython.bint = end - begin > width
                ends[m] = end
                m += several & (not whole)
                end = end if whole | several else begin
                begin = begin if whole else end
            first += n
    return np.asarray(packed)[:end], np.asarray(ends)[:m]
