"""The cutting kernel: cuts a buffer of text into documents, and makes the items of a JSON array lines.

The buffer begins at the start of a document. A cutter moves the documents that end in the buffer to its front, without
line ends and separators, and writes the end and the number of each. The rest after the last of them must be passed
again, with more text after it.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memchr, memcmp, memcpy, memmove
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_read

NEWLINE = cython.declare(cython.int, 10)
RETURN = cython.declare(cython.int, 13)
QUOTE = cython.declare(cython.int, 34)
BACKSLASH = cython.declare(cython.int, 92)
NO_LIMIT = cython.declare(cython.size_t, cython.cast(cython.size_t, -1) >> 1)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _find(text: cython.pointer(uint8_t), start: cython.size_t, length: cython.size_t,
          byte: cython.int) -> cython.size_t:
    """Return the position of `byte` in text[start:length]; `length` if it is not there."""
    if start >= length:
        return length
    pointer = cython.cast(cython.pointer(uint8_t), memchr(text + start, byte, length - start))
    return length if pointer == cython.NULL else cython.cast(cython.size_t, pointer - text)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_space(text: cython.pointer(uint8_t), start: cython.size_t, end: cython.size_t) -> cython.bint:
    """Return whether text[start:end] is ASCII white space."""
    while start < end and (text[start] == 32 or 9 <= text[start] <= 13):
        start += 1
    return start == end


def count_byte(buffer: uint8_t[::1], length: cython.size_t, byte: uint8_t) -> int:
    """Return the count of a byte in buffer[:length]."""
    return _count(cython.address(buffer[0]), 0, length, byte) if length > 0 else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count(text: cython.pointer(uint8_t), at: cython.size_t, end: cython.size_t, byte: uint8_t) -> cython.size_t:
    count: cython.size_t = 0
    while at + 128 <= end:  # the loop becomes vector instructions
        within: uint8_t = 0
        for i in range(128):
            within += text[at + i] == byte
        count += within
        at += 128
    for i in range(at, end):
        count += text[i] == byte
    return count


@cython.cclass
class Cutter:
    """Cuts text at a separator, at the ends of its lines, or into runs of lines with blank lines between them.

    Empty documents are left out. Carriage returns at the end of a line are removed, but not before a separator.

    separator: b"\\n" for lines. blank: whether documents are runs of lines.
    dense: whether lines of white space are left out too, as they always are between separators and blank lines.
    limit: documents of more bytes in the source are left out, and their numbers added to `too_long`; -1 for no limit.
        A line of more bytes is not blank.
    number: of the next document: its offset if there is a separator, else the number of its first line.
    """

    number = cython.declare(uint64_t, visibility="public")
    too_long = cython.declare(list, visibility="readonly")
    separator: bytes  # owns what `mark` refers to
    mark: cython.p_char
    size: cython.size_t
    lines: cython.bint
    blank: cython.bint
    dense: cython.bint
    limit: cython.size_t
    dropping: cython.bint  # whether the text so far ended inside a document that is left out

    def __cinit__(self, separator: bytes, limit: cython.Py_ssize_t, blank: cython.bint = False, dense: cython.bint = False,
                  lines: cython.bint = True):
        self.separator = separator
        self.mark = separator
        self.size = len(separator)
        self.lines = lines
        self.blank = blank
        self.dense = dense or blank or not lines
        self.limit = limit if limit >= 0 else NO_LIMIT
        self.number = 1 if lines else 0
        self.too_long = []

    def cut(self, buffer: uint8_t[::1], length: cython.size_t, final: cython.bint, ends: uint64_t[::1],
            numbers: uint64_t[::1]):
        """Cut buffer[:length]. Return the number of documents, and the number of bytes of the buffer that they took.

        final: whether no text follows. ends, numbers: written, the end and the number of each document; with room for
        one more than the separator's first byte occurs in the buffer.
        """
        if length == 0:
            return 0, 0
        text: cython.pointer(uint8_t) = cython.address(buffer[0])
        start: cython.size_t = 0  # of a document
        end: cython.size_t = 0
        after: cython.size_t = 0
        written: cython.size_t = 0
        n: cython.Py_ssize_t = 0
        with cython.nogil:
            while start < length:
                if self.blank and not self.dropping:
                    start = self._move_on(text, start, self._after_blank(text, start, length, final))
                    if start == length:
                        break
                if not self._find_end(text, start, length, final, cython.address(end), cython.address(after)) and not final:
                    # Only at the front of the buffer, so that the documents before are returned first.
                    if n == 0 and (self.dropping or end - start > self.limit):
                        if not self.dropping:
                            with cython.gil:
                                self.too_long.append(self.number)
                        self.dropping = True
                        start = self._move_on(text, start, end)
                    break
                begin = start
                number = self.number
                start = self._move_on(text, start, after)
                if self.dropping:
                    self.dropping = False
                elif end - begin > self.limit:
                    with cython.gil:
                        self.too_long.append(number)
                elif not (self.dense and _is_space(text, begin, end)):
                    before = written
                    if self.blank:
                        written = _put_lines(text, begin, end, end < after, written)
                    else:
                        while self.lines and end < after and end > begin and text[end - 1] == RETURN:
                            end -= 1
                        memmove(text + written, text + begin, end - begin)
                        written += end - begin
                    ends[n] = written
                    numbers[n] = number
                    n += written > before
        return n, start

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _find_end(self, text: cython.pointer(uint8_t), start: cython.size_t, length: cython.size_t, final: cython.bint,
                  end: cython.pointer(cython.size_t), after: cython.pointer(cython.size_t)) -> cython.bint:
        """Return whether a separator follows: `end` is where it begins, `after` where it ends.

        Without one, `end` is where one may begin before `length`, and `after` is `length`.
        """
        at: cython.size_t = start
        while True:
            at = end[0] = _find(text, at, length, cython.cast(uint8_t, self.mark[0]))
            if at + self.size > length:
                end[0] = length if final else max(start, length - min(length, self.size - 1))
                after[0] = length
                return False
            if self.blank:
                after[0] = self._after_blank(text, at + 1, length, True)
                if after[0] == length and text[length - 1] != NEWLINE and not final:
                    return False
                if after[0] > at + 1 or at + 1 == length:
                    return final or after[0] > at + 1
            elif self.size == 1 or memcmp(text + at, self.mark, self.size) == 0:
                after[0] = at + self.size
                return True
            at += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _after_blank(self, text: cython.pointer(uint8_t), at: cython.size_t, length: cython.size_t,
                     final: cython.bint) -> cython.size_t:
        """Return the end of the blank lines at text[at]; final: whether the last one needs no newline."""
        while at < length:
            newline = at  # no search for the newline: most lines have a letter soon
            while newline < length and text[newline] != NEWLINE and (text[newline] == 32 or 9 <= text[newline] <= 13):
                newline += 1
            if newline - at > self.limit or (not final if newline == length else text[newline] != NEWLINE):
                break
            at = min(newline + 1, length)
        return at

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _move_on(self, text: cython.pointer(uint8_t), start: cython.size_t, to: cython.size_t) -> cython.size_t:
        """Advance `number` over text[start:to], and return `to`."""
        if not self.lines:
            self.number += to - start
        elif self.blank:
            self.number += _count(text, start, to, NEWLINE)
        elif to > start:
            self.number += text[to - 1] == NEWLINE
        return to


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put_lines(text: cython.pointer(uint8_t), start: cython.size_t, end: cython.size_t, ended: cython.bint,
               written: cython.size_t) -> cython.size_t:
    """Move text[start:end] to text[written:], without carriage returns before a newline; `ended`: a newline follows."""
    if _find(text, start, end, RETURN) == end:
        memmove(text + written, text + start, end - start)
        return written + end - start
    while start < end:
        newline = _find(text, start, end, NEWLINE)
        stop = newline
        while (newline < end or ended) and stop > start and text[stop - 1] == RETURN:
            stop -= 1
        memmove(text + written, text + start, stop - start)
        written += stop - start
        if newline < end:
            text[written] = NEWLINE
            written += 1
        start = newline + 1
    return written


def not_utf8(text: cython.const[uint8_t][::1], ends: cython.const[uint64_t][::1]) -> list:
    """Return the indexes of the documents in `text` that are not UTF-8."""
    damaged: list = []
    n: cython.Py_ssize_t = ends.shape[0]
    at: cython.size_t = 0
    if n == 0 or text.shape[0] == 0:
        return damaged
    base: cython.pointer(cython.const[uint8_t]) = cython.address(text[0])
    with cython.nogil:
        for i in range(n):
            if not _is_utf8(base, at, ends[i], ends[n - 1]):
                with cython.gil:
                    damaged.append(i)
            at = ends[i]
    return damaged


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_utf8(text: cython.pointer(cython.const[uint8_t]), at: cython.size_t, end: cython.size_t,
             last: cython.size_t) -> cython.bint:
    """Return whether text[at:end] is UTF-8. Its end is read with the texts up to `last`: most are ASCII too."""
    eight: uint64_t[4]
    point: uint32_t
    while at < end:
        if last - at >= 32:
            memcpy(eight, text + at, 32)
            if (eight[0] | eight[1] | eight[2] | eight[3]) & cython.cast(uint64_t, 0x8080808080808080) == 0:
                at += 32
                continue
        size = 1 if text[at] < 0x80 else tm_utf8_read(text + at, end - at, cython.address(point))
        if size == 0:
            return False
        at += size
    return True


# JSON


@cython.cclass
class ArrayLines:
    """Makes the items of a JSON array lines, in the buffer: the array's brackets and commas become newlines.

    Newlines elsewhere, which are white space, become tabs. Only brackets, commas and strings are checked.

    depth: the number of open brackets. items: the number of items that have ended.
    ended: whether the array has ended.
    missing: whether an item is missing before or after a comma.
    """

    depth = cython.declare(cython.size_t, visibility="public")
    items = cython.declare(cython.size_t, visibility="public")
    ended = cython.declare(cython.bint, visibility="public")
    missing = cython.declare(cython.bint, visibility="readonly")
    in_item: cython.bint  # whether there was anything since the last comma
    in_string: cython.bint
    escaped: cython.bint  # whether the last byte of a string was a backslash that escapes the next

    def turn(self, buffer: uint8_t[::1], start: cython.size_t, length: cython.size_t) -> int:
        """Convert buffer[start:length], which follows the last call's. Return the end, at most that of the array."""
        text: cython.pointer(uint8_t) = cython.address(buffer[0])
        at: cython.size_t = start
        with cython.nogil:
            while at < length and not self.ended and not self.missing:
                if self.in_string:
                    back = quote = _find(text, at, length, QUOTE)
                    while back > at and text[back - 1] == BACKSLASH:
                        back -= 1
                    self.escaped = ((quote - back) & 1) ^ (self.escaped and back == at)
                    if quote < length:
                        self.in_string = self.escaped
                        self.escaped = False
                    at = min(quote + 1, length)
                    continue
                byte = text[at]
                if byte == 91 or byte == 123:
                    self.depth += 1
                    if self.depth == 1:
                        text[at] = NEWLINE
                elif byte == 93 or byte == 125:
                    self.depth -= 1
                    self.ended = self.depth == 0
                elif byte == QUOTE:
                    self.in_string = True
                if self.ended or (byte == 44 and self.depth == 1):
                    self.missing = not self.in_item and (byte == 44 or self.items > 0)
                    text[at] = NEWLINE
                    self.in_item = False
                    self.items += not self.missing
                elif byte == NEWLINE:
                    text[at] = 9
                elif byte != 32 and byte != 9 and byte != RETURN and text[at] != NEWLINE:
                    self.in_item = True
                at += 1
        return at
