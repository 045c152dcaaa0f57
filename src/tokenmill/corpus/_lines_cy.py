"""The kernel of documents that no filter changes: texts in a buffer, with their ids and titles, to lines of JSON.

`Cleaner._line` does the same for one document, in plain Python.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_read

NEWLINE = cython.declare(cython.int, 10)
BACKSLASH = cython.declare(cython.int, 92)
NOT_PLAIN = cython.declare(cython.size_t, cython.cast(cython.size_t, -1))
# What follows the backslash where JSON escapes a byte; 117 is "u", of \u0000. 0 if the byte stays.
ESCAPES = cython.declare(uint8_t[256])


def _fill_tables():
    byte: cython.int
    for byte in range(256):
        ESCAPES[byte] = 117 if byte < 32 else 0
    for byte, letter in ((8, b"b"), (9, b"t"), (10, b"n"), (12, b"f"), (13, b"r"), (34, b'"'), (92, b"\\")):
        ESCAPES[byte] = letter[0]


_fill_tables()


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _put(out: cython.pointer(uint8_t), at: cython.size_t, text: cython.pointer(cython.const[uint8_t]),
         length: cython.size_t) -> cython.size_t:
    memcpy(out + at, text, length)
    return at + length


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_number(out: cython.pointer(uint8_t), at: cython.size_t, number: uint64_t) -> cython.size_t:
    """Write a number in quotes."""
    digits: uint8_t[20]
    n: cython.int = 0
    while n == 0 or number > 0:
        digits[19 - n] = cython.cast(uint8_t, 48 + number % 10)
        number //= 10
        n += 1
    out[at] = 34
    at = _put(out, at + 1, cython.address(digits[20 - n]), n)
    out[at] = 34
    return at + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_text(out: cython.pointer(uint8_t), at: cython.size_t, text: cython.pointer(cython.const[uint8_t]),
              start: cython.size_t, end: cython.size_t) -> cython.size_t:
    """Write text[start:end] with JSON's escapes."""
    run: cython.size_t = start
    while True:
        while run < end and ESCAPES[text[run]] == 0:
            run += 1
        at = _put(out, at, text + start, run - start)
        if run == end:
            return at
        byte = text[run]
        out[at] = BACKSLASH
        out[at + 1] = ESCAPES[byte]
        at += 2
        if ESCAPES[byte] == 117:
            out[at] = out[at + 1] = 48
            out[at + 2] = 48 + (byte >> 4)
            out[at + 3] = (48 if byte & 15 < 10 else 87) + (byte & 15)
            at += 4
        run += 1
        start = run


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _space_end(text: cython.pointer(cython.const[uint8_t]), start: cython.size_t, end: cython.size_t) -> cython.size_t:
    """Return the end of the white space (as Python's str defines it) that text[start:end] begins with."""
    point: uint32_t = 0
    while start < end:
        size = tm_utf8_read(text + start, end - start, cython.address(point))
        if not (point == 32 or 9 <= point <= 13 or 28 <= point <= 31 or point == 0x85 or point == 0xA0 or point == 0x1680
                or 0x2000 <= point <= 0x200A or point == 0x2028 or point == 0x2029 or point == 0x202F or point == 0x205F
                or point == 0x3000):
            return start
        start += size
    return end


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _room_of(text: cython.pointer(cython.const[uint8_t]), start: cython.size_t, end: cython.size_t) -> cython.size_t:
    """The bytes that text[start:end] becomes; NOT_PLAIN for text that a filter may change, or that is not UTF-8.

    Filters may change control characters, other ends of lines than a line feed, marks and noncharacters.
    """
    room: cython.size_t = 0
    point: uint32_t = 0
    while start < end:
        byte = text[start]
        if byte < 0x80:
            if byte == 127 or (byte < 32 and byte != 9 and byte != NEWLINE):
                return NOT_PLAIN
            room += 1 if ESCAPES[byte] == 0 else 2  # a tab, a line feed, a quote or a backslash
            start += 1
            continue
        size = tm_utf8_read(text + start, end - start, cython.address(point))
        if size == 0 or point < 0xA0 or point == 0x2028 or point == 0x2029 or point == 0xFEFF:
            return NOT_PLAIN
        if (point & 0xFFFE) == 0xFFFE or 0xFDD0 <= point <= 0xFDEF:
            return NOT_PLAIN
        room += size
        start += size
    return room


def json_lines(data: cython.const[uint8_t][::1], ends: cython.const[uint64_t][::1],
               numbers: cython.const[uint64_t][::1], ids, titles, source: bytes,
               first: cython.Py_ssize_t, min_chars: cython.size_t):
    """The lines of the documents from `first` on, without the line feeds at both ends of a text.

    ids, titles: see `blocks.Column`. A document without an id, of kind 0, has its number as its id; a title
    that is empty or no string, of kind 1, is left out.
    source: as JSON.
    Returns the lines; the number of the document before which they end, which a filter may change or is not UTF-8; how
    many documents and bytes of text they have; how many documents were left out since they are white space, and how many
    since they have fewer than `min_chars` characters.
    """
    n: cython.Py_ssize_t = ends.shape[0]
    i: cython.Py_ssize_t = first
    start: cython.size_t = ends[first - 1] if first > 0 else 0
    end: cython.size_t = start
    last: cython.size_t
    room: cython.size_t = 0
    written: cython.size_t = 0
    kept: cython.size_t = 0
    text_bytes: cython.size_t = 0
    blank: cython.size_t = 0
    short: cython.size_t = 0
    id_bytes: cython.const[uint8_t][::1] = ids[0] or b"\0"
    id_ends: cython.const[uint64_t][::1] = ids[1]
    id_kinds: cython.const[uint8_t][::1] = ids[2]
    title_bytes: cython.const[uint8_t][::1] = titles[0] or b"\0"
    title_ends: cython.const[uint64_t][::1] = titles[1]
    title_kinds: cython.const[uint8_t][::1] = titles[2]
    nothing: uint8_t = 0
    text: cython.pointer(cython.const[uint8_t]) = cython.address(nothing)
    if data.shape[0] > 0:
        text = cython.address(data[0])
    for i in range(first, n):
        size = _room_of(text, end, ends[i])
        if size == NOT_PLAIN:
            n = i
            break
        room += size + len(source) + 80 + 6 * (id_ends[i] - (id_ends[i - 1] if i > 0 else 0))
        room += 6 * (title_ends[i] - (title_ends[i - 1] if i > 0 else 0))
        end = ends[i]
    lines: bytes = PyBytes_FromStringAndSize(cython.NULL, room)
    out: cython.pointer(uint8_t) = cython.cast(cython.pointer(uint8_t), PyBytes_AS_STRING(lines))
    name: cython.pointer(uint8_t) = cython.cast(cython.pointer(uint8_t), PyBytes_AS_STRING(source))
    id: cython.pointer(cython.const[uint8_t]) = cython.address(id_bytes[0])
    title: cython.pointer(cython.const[uint8_t]) = cython.address(title_bytes[0])
    end = start
    for i in range(first, n):
        start, last, end = end, ends[i], ends[i]
        while start < last and text[start] == NEWLINE:
            start += 1
        while last > start and text[last - 1] == NEWLINE:
            last -= 1
        at: cython.size_t = _space_end(text, start, last)
        if at == last:
            blank += 1
            continue
        chars: cython.size_t = 0
        for at in range(start, last):
            if chars >= min_chars:
                break
            chars += (text[at] & 0xC0) != 0x80
        if chars < min_chars:
            short += 1
            continue
        written = _put(out, written, b'{"id": ', 7)
        if id_kinds[i] == 0:
            written = _put_number(out, written, numbers[i])
        else:
            out[written] = 34
            written = _put_text(out, written + 1, id, id_ends[i - 1] if i > 0 else 0, id_ends[i])
            out[written] = 34
            written += 1
        written = _put(out, written, b', "source": ', 12)
        written = _put(out, written, name, len(source))
        at = title_ends[i - 1] if i > 0 else 0
        if at < title_ends[i] and title_kinds[i] == 1:
            written = _put(out, written, b', "title": "', 12)
            written = _put_text(out, written, title, at, title_ends[i])
            out[written] = 34
            written += 1
        written = _put(out, written, b', "text": "', 11)
        written = _put_text(out, written, text, start, last)
        written = _put(out, written, b'"}\n', 3)
        kept += 1
        text_bytes += last - start
    return lines[:written], n, kept, text_bytes, blank, short
