"""The kernel for documents that no filter changes: texts in a buffer, with their ids and titles, to lines of JSON.

Its slow twin is `Cleaner._line`.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_read

NEWLINE = cython.declare(cython.int, 10)
NOT_PLAIN = cython.declare(cython.size_t, cython.cast(cython.size_t, -1))
# For each ASCII character that JSON escapes, the byte after the backslash; 1 for control characters, 0 for all others.
ESCAPES = cython.declare(uint8_t[128])


def _fill_table():
    byte: cython.int
    for byte in range(128):
        ESCAPES[byte] = 1 if byte < 32 or byte == 127 else 0
    for byte, letter in ((9, b"t"), (10, b"n"), (34, b'"'), (92, b"\\")):
        ESCAPES[byte] = letter[0]


_fill_table()


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
def _put_text(out: cython.pointer(uint8_t), at: cython.size_t, text: cython.pointer(cython.const[uint8_t]),
              start: cython.size_t, end: cython.size_t, chars: cython.pointer(cython.size_t),
              blank: cython.pointer(cython.bint)) -> cython.size_t:
    """Write text[start:end] with JSON's escapes. Return the end of the output, or NOT_PLAIN.

    NOT_PLAIN is for text that is not UTF-8, or that a filter may change: control characters, line ends other than line
    feeds, byte order marks and noncharacters.
    chars, blank: written, the number of characters, and whether all of them may be white space.
    """
    point: uint32_t = 0
    count: cython.size_t = 0
    white: cython.bint = True
    while start < end:
        count += 1
        byte = text[start]
        if byte < 0x80:
            white &= byte <= 32
            escape = ESCAPES[byte]
            if escape == 1:
                return NOT_PLAIN
            if escape != 0:
                out[at] = 92
                at += 1
                byte = escape
            out[at] = byte
            at += 1
            start += 1
            continue
        size = tm_utf8_read(text + start, end - start, cython.address(point))
        if size == 0 or point < 0xA0 or point == 0x2028 or point == 0x2029 or point == 0xFEFF:
            return NOT_PLAIN
        if (point & 0xFFFE) == 0xFFFE or 0xFDD0 <= point <= 0xFDEF:
            return NOT_PLAIN
        white &= point == 0xA0 or 0x1680 <= point <= 0x3000
        at = _put(out, at, text + start, size)
        start += size
    chars[0] = count
    blank[0] = white
    return at


def json_lines(data: cython.const[uint8_t][::1], ends: cython.const[uint64_t][::1],
               numbers: cython.const[uint64_t][::1], ids, titles, source: bytes,
               first: cython.Py_ssize_t, min_chars: cython.size_t):
    """Write the lines of the documents from `first` on, without the line feeds at both ends of a text.

    ids, titles: see `blocks.Column`. A document without an id, of kind 0, has its number as its id. Only titles of kind
        1, strings, that are not empty are written.
    source: as JSON.
    Returns the lines; the index of the first document after them, which a filter may change or which is not UTF-8 or is
    white space; the numbers of documents and of bytes of text in the lines; and the number of documents left out, with
    fewer than `min_chars` characters.
    """
    n: cython.Py_ssize_t = ends.shape[0]
    end: cython.size_t = ends[first - 1] if first > 0 else 0
    last: cython.size_t
    written: cython.size_t = 0
    kept: cython.size_t = 0
    text_bytes: cython.size_t = 0
    short: cython.size_t = 0
    chars: cython.size_t = 0
    blank: cython.bint = False
    digits: uint8_t[20]
    first_digit: cython.int
    id_bytes: cython.const[uint8_t][::1] = ids[0] or b"\0"
    id_ends: cython.const[uint64_t][::1] = ids[1]
    id_kinds: cython.const[uint8_t][::1] = ids[2]
    title_bytes: cython.const[uint8_t][::1] = titles[0] or b"\0"
    title_ends: cython.const[uint64_t][::1] = titles[1]
    title_kinds: cython.const[uint8_t][::1] = titles[2]
    nothing: uint8_t = 0
    text: cython.pointer(cython.const[uint8_t]) = cython.address(data[0]) if data.shape[0] > 0 else cython.address(nothing)
    # An escape doubles a character.
    room: cython.size_t = 2 * (ends[n - 1] - end + id_ends[n - 1] + title_ends[n - 1]) + (n - first) * (len(source) + 80)
    lines: bytes = PyBytes_FromStringAndSize(cython.NULL, room)
    out = cython.cast(cython.pointer(uint8_t), PyBytes_AS_STRING(lines))
    name = cython.cast(cython.pointer(uint8_t), PyBytes_AS_STRING(source))
    for i in range(first, n):
        start, last, end = end, ends[i], ends[i]
        at = _put(out, written, b'{"id": "', 8)
        if id_kinds[i] == 0:
            first_digit, number = 20, numbers[i]
            while number > 0 or first_digit == 20:
                first_digit -= 1
                digits[first_digit] = cython.cast(uint8_t, 48 + number % 10)
                number //= 10
            at = _put(out, at, cython.address(digits[first_digit]), 20 - first_digit)
        else:
            at = _put_text(out, at, cython.address(id_bytes[0]), id_ends[i - 1] if i > 0 else 0, id_ends[i],
                           cython.address(chars), cython.address(blank))
        if at == NOT_PLAIN:
            break
        at = _put(out, at, b'", "source": ', 13)
        at = _put(out, at, name, len(source))
        if title_kinds[i] == 1 and (title_ends[i - 1] if i > 0 else 0) < title_ends[i]:
            at = _put(out, at, b', "title": "', 12)
            at = _put_text(out, at, cython.address(title_bytes[0]), title_ends[i - 1] if i > 0 else 0, title_ends[i],
                           cython.address(chars), cython.address(blank))
            if at == NOT_PLAIN:
                break
            at = _put(out, at, b'"', 1)
        while start < last and text[start] == NEWLINE:
            start += 1
        while last > start and text[last - 1] == NEWLINE:
            last -= 1
        at = _put(out, at, b', "text": "', 11)
        at = _put_text(out, at, text, start, last, cython.address(chars), cython.address(blank))
        if at == NOT_PLAIN or blank:
            break
        if chars < min_chars:
            short += 1
            continue
        written = _put(out, at, b'"}\n', 3)
        kept += 1
        text_bytes += last - start
    else:
        i = n
    return lines[:written], i, kept, text_bytes, short
