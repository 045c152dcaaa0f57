# cython: language_level=3
"""The counting kernel: the pretokens of a text into a table, straight from a Scanner.

Few pretokens are most of the text. Before the table stands a small memory of the pretokens seen last (_recent.h), each in the one
slot that its hash names: a pretoken that is there is counted there, one that is not takes the slot, and what stood in it goes
on to the table with its count. In samples of 4 MB, 82 % of the pretokens of many languages and 92 to 94 % of English and
code never touched the table, whose entries lie scattered over more memory than the caches hold.

The memory of the last pretokens is empty between two calls, so a table is always whole for who looks at it from outside.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.tokenmill.counting._pages import tm_pages_plain
from cython.cimports.tokenmill.counting._recent import (
    tm_addition,
    tm_recent,
    tm_sift,
    tm_sift_fast,
    tm_sift_supported,
)
from cython.cimports.tokenmill.counting._table_cy import MOST, RECENT, CountTable
from cython.cimports.tokenmill.kernels._pretoken_key import TM_CANONICAL, tm_key, tm_key_of
from cython.cimports.tokenmill.split._scan_cy import Scanner

BATCH = cython.declare(cython.Py_ssize_t, 512)  # pretokens from the scanner at a time
LANE = cython.declare(cython.Py_ssize_t, 128)  # with less room than this the scanner's lane stops at once


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _empty(recent: cython.pointer(tm_recent), slots: cython.size_t, table: CountTable) -> cython.void:
    """All that is among the last pretokens goes to the table."""
    some: tm_addition[MOST]
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
    memset(recent, 0, slots * cython.sizeof(tm_recent))


def count_text(table: CountTable, scanner: Scanner, text: cython.const[uint8_t][::1],
               document_ends: cython.const[uint64_t][::1], position: cython.size_t, document: cython.Py_ssize_t,
               limit: cython.size_t, plain: cython.bint = False):
    """Count the pretokens of text[position:], where document i ends at document_ends[i].

    Stops at the end of the last document, when the table is full, or after about `limit` bytes. Returns the new
    (position, document) to go on from. `plain`: as on a processor without vectors.
    """
    base: cython.pointer(cython.const[uint8_t]) = cython.NULL
    documents: cython.Py_ssize_t = document_ends.shape[0]
    if text.shape[0] == 0 or documents == 0:
        return position, documents
    base = cython.address(text[0])
    first: cython.size_t = document_ends[document - 1] if 0 < document <= documents else 0
    start: cython.size_t = position
    last: cython.size_t
    ends: cython.size_t[512]
    some: tm_addition[768]  # BATCH + MOST
    waiting: cython.Py_ssize_t = 0
    n: cython.Py_ssize_t
    m: cython.Py_ssize_t
    i: cython.Py_ssize_t
    stuck: cython.bint = False
    fast: cython.bint = tm_sift_supported() and not plain
    # What waits, what comes in and the last pretokens may all be new to the table. With little room, they are fewer.
    batch: cython.Py_ssize_t = BATCH
    slots: cython.size_t = RECENT
    while slots > 1 and not table.has_room(MOST + batch + slots):
        slots >>= 1
    if slots == 1:
        batch = MOST - 1
    if table.recent == cython.NULL:
        table.recent = cython.cast(cython.pointer(tm_recent), tm_pages_plain(RECENT * cython.sizeof(tm_recent)))
        if table.recent == cython.NULL:
            raise MemoryError
    recent: cython.pointer(tm_recent) = table.recent
    with cython.nogil:
        while document < documents and table.has_room(MOST + batch + slots) and position - start < limit:
            n = 0
            last = position
            # A batch takes in the next documents too, but not with so little room left that the scan is slow.
            while n <= batch - LANE and document < documents:
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
            if fast:
                waiting += tm_sift_fast(recent, slots, base, position, ends, n, text.shape[0], some + waiting)
            else:
                waiting += tm_sift(recent, slots, base, position, ends, n, text.shape[0], some + waiting)
            position = last
            while waiting >= MOST and table.add_all(some + waiting - MOST, MOST):
                waiting -= MOST
        if not table.no_memory:
            table.add_all(some, waiting)
            _empty(recent, slots, table)
    table.check()
    if stuck:
        raise RuntimeError("the scanner found no pretoken")
    return position, document


def count_pretokens(table: CountTable, text: cython.const[uint8_t][::1], pretoken_ends: cython.const[uint64_t][::1],
                 start: cython.Py_ssize_t):
    """Count the pretokens of `text` that end at pretoken_ends[start:], until full. Returns the next `start`."""
    some: tm_addition[MOST]
    key: tm_key
    readable: cython.size_t = text.shape[0]
    position: cython.size_t = pretoken_ends[start - 1] if start > 0 else 0
    n: cython.Py_ssize_t
    i: cython.Py_ssize_t
    with cython.nogil:
        while start < pretoken_ends.shape[0] and table.has_room(MOST):
            n = min(MOST, pretoken_ends.shape[0] - start)
            for i in range(n):
                some[i].pretoken = cython.address(text[position])
                some[i].length = pretoken_ends[start + i] - position
                some[i].count = 1
                key = tm_key_of(some[i].pretoken, some[i].length, cython.address(text[0]) + readable, TM_CANONICAL)
                some[i].lo = key.lo
                some[i].hi = key.hi
                position = pretoken_ends[start + i]
            if not table.add_all(some, n):
                break
            start += n
    table.check()
    return start


def cut(scanner: Scanner, text: cython.const[uint8_t][::1], start: cython.size_t, length: cython.size_t):
    """The last offset in (start, length) where a pretoken begins whatever stands around, or 0 (see Scanner.cut)."""
    place: cython.size_t = 0
    if length > 0:
        with cython.nogil:
            place = scanner.cut(cython.address(text[0]), start, length)
    return place
