# cython: language_level=3
"""The counting kernel: the pieces of a text into a table, straight from a Scanner.

Few pieces are most of the text. Before the table stands a small memory of the pieces seen last (RECENT of them, each in
the one slot that its hash names): a piece that is there is counted there, one that is not takes the slot, and what stood
in it goes on to the table with its count. In samples of 4 MB, 82 % of the pieces of many languages and 92 to 94 % of
English and code never touched the table, whose entries lie scattered over more memory than the caches hold. Which of the
two happens cannot be predicted, so nothing branches on it, and no address depends on it either: what stood in the slot
is always written out, piece by piece, with a bit that says whether it was another one; the bits are looked at afterwards.

The memory of the last pieces is empty between two calls, so a table is always whole for who looks at it from outside.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.stdlib import calloc
from cython.cimports.libc.string import memset
from cython.cimports.tokenmill.counting._pages import tm_lowest
from cython.cimports.tokenmill.counting._table_cy import LONG, MOST, Addition, CountTable
from cython.cimports.tokenmill.split._piece_key import tm_hash, tm_key, tm_key_of
from cython.cimports.tokenmill.split._scan_cy import Scanner

ONE = cython.declare(uint64_t, 1)
RECENT = cython.declare(cython.size_t, 4096)
BATCH = cython.declare(cython.Py_ssize_t, 512)  # pieces from the scanner at a time: with more room its lane goes further

Recent = cython.struct(lo=uint64_t, hi=uint64_t, count=uint64_t, unused=uint64_t)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sift(recent: cython.pointer(Recent), slots: cython.size_t, text: cython.pointer(cython.const[uint8_t]),
          start: cython.size_t, ends: cython.pointer(cython.const[cython.size_t]), n: cython.Py_ssize_t,
          readable: cython.pointer(cython.const[uint8_t]), out: cython.pointer(Addition)) -> cython.Py_ssize_t:
    """Count one batch of neighbouring pieces among the last ones; what falls out of them is written to `out`.

    slots: a power of two. Returns how many were written, at most n.
    """
    key: tm_key
    slot: cython.pointer(Recent)
    fallen: Addition[64]
    first: cython.Py_ssize_t
    size: cython.Py_ssize_t
    i: cython.Py_ssize_t
    m: cython.Py_ssize_t = 0
    same: uint64_t
    kept: uint64_t
    for first in range(0, n, 64):
        size = n - first if n - first < 64 else 64
        kept = 0
        for i in range(size):
            key = tm_key_of(text + start, ends[first + i] - start, readable)
            if (key.hi >> 56) == LONG:
                fallen[i].lo = key.lo
                fallen[i].hi = key.hi
                fallen[i].count = 1
                fallen[i].piece = text + start
                fallen[i].length = ends[first + i] - start
                kept |= ONE << i
            else:
                slot = recent + (tm_hash(key) & (slots - 1))
                same = ((slot.lo ^ key.lo) | (slot.hi ^ key.hi)) == 0
                fallen[i].lo = slot.lo
                fallen[i].hi = slot.hi
                fallen[i].count = slot.count
                kept |= ((same ^ 1) & (slot.count != 0)) << i
                slot.lo = key.lo
                slot.hi = key.hi
                slot.count = (slot.count & (0 - same)) + 1
            start = ends[first + i]
        while kept:
            out[m] = fallen[tm_lowest(kept)]
            m += 1
            kept &= kept - 1
    return m


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _empty(recent: cython.pointer(Recent), slots: cython.size_t, table: CountTable) -> cython.void:
    """All that is among the last pieces goes to the table."""
    some: Addition[MOST]
    n: cython.Py_ssize_t = 0
    i: cython.size_t
    for i in range(slots):
        some[n].lo = recent[i].lo
        some[n].hi = recent[i].hi
        some[n].count = recent[i].count
        n += recent[i].count != 0
        if n == MOST:
            table.add_all(some, n)
            n = 0
    table.add_all(some, n)
    memset(recent, 0, slots * cython.sizeof(Recent))


def count_text(table: CountTable, scanner: Scanner, text: cython.const[uint8_t][::1],
               document_ends: cython.const[uint64_t][::1], position: cython.size_t, document: cython.Py_ssize_t,
               limit: cython.size_t):
    """Count the pieces of text[position:], where document i ends at document_ends[i].

    Stops at the end of the last document, when the table is full, or after about `limit` bytes. Returns the new
    (position, document) to go on from.
    """
    base: cython.pointer(cython.const[uint8_t]) = cython.NULL
    documents: cython.Py_ssize_t = document_ends.shape[0]
    if text.shape[0] == 0 or documents == 0:
        return position, documents
    base = cython.address(text[0])
    readable: cython.pointer(cython.const[uint8_t]) = base + text.shape[0]
    first: cython.size_t = document_ends[document - 1] if 0 < document <= documents else 0
    start: cython.size_t = position
    last: cython.size_t
    ends: cython.size_t[512]
    some: Addition[768]  # BATCH + MOST
    waiting: cython.Py_ssize_t = 0
    n: cython.Py_ssize_t
    m: cython.Py_ssize_t
    i: cython.Py_ssize_t
    stuck: cython.bint = False
    # What waits, what comes in and the last pieces may all be new to the table. With little room, they are fewer.
    batch: cython.Py_ssize_t = BATCH
    slots: cython.size_t = RECENT
    while slots > 1 and not table.has_room(MOST + batch + slots):
        slots >>= 1
    if slots == 1:
        batch = MOST - 1
    if table.recent == cython.NULL:
        table.recent = calloc(RECENT, cython.sizeof(Recent))
        if table.recent == cython.NULL:
            raise MemoryError
    recent: cython.pointer(Recent) = cython.cast(cython.pointer(Recent), table.recent)
    with cython.nogil:
        while document < documents and table.has_room(MOST + batch + slots) and position - start < limit:
            n = 0
            last = position
            # A batch takes in the next documents too, but not with so little room left that the scan is idle.
            while n <= batch - 128 and document < documents:
                if last >= document_ends[document]:
                    first = document_ends[document]
                    document += 1
                    continue
                m = scanner.scan(base + first, last - first, document_ends[document] - first, ends + n, batch - n)
                for i in range(n, n + m):
                    ends[i] += first
                n += m
                if m == 0:
                    break
                last = ends[n - 1]
            if n == 0:
                stuck = document < documents
                break
            waiting += _sift(recent, slots, base, position, ends, n, readable, some + waiting)
            position = last
            while waiting >= MOST and table.add_all(some + waiting - MOST, MOST):
                waiting -= MOST
        if not table.no_memory:
            table.add_all(some, waiting)
            _empty(recent, slots, table)
    table.check()
    if stuck:
        raise RuntimeError("the scanner found no piece")
    return position, document


def count_pieces(table: CountTable, text: cython.const[uint8_t][::1], piece_ends: cython.const[uint64_t][::1],
                 start: cython.Py_ssize_t):
    """Count the pieces of `text` that end at piece_ends[start:], until full. Returns the next `start`."""
    some: Addition[MOST]
    key: tm_key
    readable: cython.size_t = text.shape[0]
    position: cython.size_t = piece_ends[start - 1] if start > 0 else 0
    n: cython.Py_ssize_t
    i: cython.Py_ssize_t
    with cython.nogil:
        while start < piece_ends.shape[0] and table.has_room(MOST):
            n = min(MOST, piece_ends.shape[0] - start)
            for i in range(n):
                some[i].piece = cython.address(text[position])
                some[i].length = piece_ends[start + i] - position
                some[i].count = 1
                key = tm_key_of(some[i].piece, some[i].length, cython.address(text[0]) + readable)
                some[i].lo = key.lo
                some[i].hi = key.hi
                position = piece_ends[start + i]
            if not table.add_all(some, n):
                break
            start += n
    table.check()
    return start


def cut(scanner: Scanner, text: cython.const[uint8_t][::1], start: cython.size_t, length: cython.size_t):
    """The last offset in (start, length) where a piece begins whatever stands around, or 0 (see Scanner.cut)."""
    place: cython.size_t = 0
    if length > 0:
        with cython.nogil:
            place = scanner.cut(cython.address(text[0]), start, length)
    return place
