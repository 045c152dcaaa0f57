# cython: language_level=3
"""The cutting kernel: a buffer of text into documents, in place, and the bounds of JSON values and of Arrow's strings.

A cutter gets a buffer that begins where a document begins. It moves the documents that end in the buffer to its front,
without line ends and separators, and writes where each of them ends and where it was. What is left after the last
of them must be given again, with more text after it.
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
    """Where `byte` is in text[start:length]; `length` if it is not there."""
    if start >= length:
        return length
    pointer: cython.pointer(uint8_t) = cython.cast(cython.pointer(uint8_t), memchr(text + start, byte, length - start))
    return length if pointer == cython.NULL else cython.cast(cython.size_t, pointer - text)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _is_space(text: cython.pointer(uint8_t), start: cython.size_t, end: cython.size_t) -> cython.bint:
    """Whether text[start:end] is ASCII white space."""
    while start < end and (text[start] == 32 or 9 <= text[start] <= 13):
        start += 1
    return start == end


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _line_end(text: cython.pointer(uint8_t), start: cython.size_t, newline: cython.size_t,
              length: cython.size_t) -> cython.size_t:
    """The end of the line text[start:newline] without its carriage returns; they stay where no newline follows."""
    if newline < length:
        while newline > start and text[newline - 1] == RETURN:
            newline -= 1
    return newline


def count_byte(buffer: uint8_t[::1], length: cython.size_t, byte: uint8_t) -> int:
    """How often a byte is in buffer[:length]."""
    if length == 0:
        return 0
    text: cython.pointer(uint8_t) = cython.address(buffer[0])
    count: cython.size_t = 0
    at: cython.size_t = 0
    within: uint8_t
    i: cython.size_t
    with cython.nogil:
        while at + 128 <= length:  # the loop becomes vector instructions
            within = 0
            for i in range(128):
                within += text[at + i] == byte
            count += within
            at += 128
        for i in range(at, length):
            count += text[i] == byte
    return count


@cython.cclass
class LineCutter:
    """Cuts text into its lines, or into runs of lines with blank lines between them.

    blank: whether documents are runs of lines, which are then joined by a newline.
    dense: whether lines of white space are no documents. Empty lines never are.
    limit: documents of more bytes, as they are in the source, are left out, and the numbers of their first lines
        appended to `too_long`; -1 for no limit. A line of more bytes is not blank.
    line: the number of the next line.
    dropping: whether the text that was given ended inside a document that is left out.
    """

    line = cython.declare(uint64_t, visibility="public")
    dropping = cython.declare(cython.bint, visibility="readonly")
    too_long = cython.declare(list, visibility="readonly")
    blank: cython.bint
    dense: cython.bint
    limit: cython.size_t
    inside: cython.bint  # of a line that is left out

    def __cinit__(self, blank: cython.bint, limit: cython.Py_ssize_t, dense: cython.bint = False):
        self.blank = blank
        self.dense = dense
        self.limit = limit if limit >= 0 else NO_LIMIT
        self.line = 1
        self.too_long = []

    def cut(self, buffer: uint8_t[::1], length: cython.size_t, final: cython.bint, ends: uint64_t[::1],
            places: uint64_t[::1]):
        """Cut buffer[:length]. Returns how many documents there are, and how much of the buffer is done with.

        final: whether no text follows. ends, places: where each document ends, and the number of its first line; with
        room for as many as the buffer has newlines, and one more.
        """
        if length == 0:
            return 0, 0
        text: cython.pointer(uint8_t) = cython.address(buffer[0])
        start: cython.size_t = 0  # of a document
        at: cython.size_t
        newline: cython.size_t
        end: cython.size_t
        size: cython.size_t
        lines: uint64_t
        written: cython.size_t = 0
        n: cython.Py_ssize_t = 0
        complete: cython.bint
        begins_blank: cython.bint
        with cython.nogil:
            if self.inside:
                start = _find(text, 0, length, NEWLINE) + 1
                if start > length:
                    start = length
                else:
                    self.inside = False
                    self.line += 1
                    self.dropping = self.dropping and self.blank
            while start < length:
                at = start
                size = 0
                lines = 0
                complete = False
                while not complete and at < length:
                    newline = _find(text, at, length, NEWLINE)
                    if newline == length and not final:
                        break
                    lines += 1
                    if not self.blank:
                        size = newline - at
                        complete = True
                    elif self._is_blank(text, at, newline):
                        complete = True
                    else:
                        size += newline - at + (size > 0)
                        complete = newline + 1 >= length and final
                    at = newline + 1
                if not complete:
                    begins_blank = self.blank and self._is_blank(text, at, length)
                    # Only at the front of the buffer, so that what comes before is given out with its place.
                    if n == 0 and (self.dropping or size + (0 if begins_blank else length - at) > self.limit):
                        if not self.dropping:
                            with cython.gil:
                                self.too_long.append(self.line)
                        self.dropping = True
                        self.line += lines
                        start = at
                        if not begins_blank:
                            self.inside = at < length
                            start = length
                    break
                if self.dropping:
                    self.dropping = False
                elif size > self.limit:
                    with cython.gil:
                        self.too_long.append(self.line)
                elif size > 0 and not (self.dense and _is_space(text, start, min(at, length))):
                    end = written
                    if self.blank:
                        written = self._move(text, start, min(at, length), length, written)
                    else:
                        size = _line_end(text, start, newline, length) - start
                        memmove(text + written, text + start, size)
                        written += size
                    ends[n] = written
                    places[n] = self.line
                    n += written > end  # a line of carriage returns is empty
                self.line += lines
                start = at
        return n, min(start, length)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _is_blank(self, text: cython.pointer(uint8_t), start: cython.size_t, end: cython.size_t) -> cython.bint:
        """Whether the line text[start:end] is blank, or may become a blank line."""
        return end - start <= self.limit and _is_space(text, start, end)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _move(self, text: cython.pointer(uint8_t), start: cython.size_t, stop: cython.size_t, length: cython.size_t,
              written: cython.size_t) -> cython.size_t:
        """Move the lines of text[start:stop], without their ends, to text[written:]."""
        newline: cython.size_t
        end: cython.size_t
        first: cython.bint = True
        while start < stop:
            newline = _find(text, start, length, NEWLINE)
            end = _line_end(text, start, newline, length)
            if not _is_space(text, start, end):
                if not first:
                    text[written] = NEWLINE
                    written += 1
                memmove(text + written, text + start, end - start)
                written += end - start
                first = False
            start = newline + 1
        return written


@cython.cclass
class SeparatorCutter:
    """Cuts text at a separator. Documents of nothing but white space are left out.

    limit, too_long, dropping: as for LineCutter, with the offsets where documents begin in place of line numbers.
    offset: where the next document begins in the source.
    """

    offset = cython.declare(uint64_t, visibility="public")
    dropping = cython.declare(cython.bint, visibility="readonly")
    too_long = cython.declare(list, visibility="readonly")
    separator: bytes
    limit: cython.size_t

    def __cinit__(self, separator: bytes, limit: cython.Py_ssize_t):
        self.separator = separator
        self.limit = limit if limit >= 0 else NO_LIMIT
        self.too_long = []

    def cut(self, buffer: uint8_t[::1], length: cython.size_t, final: cython.bint, ends: uint64_t[::1],
            places: uint64_t[::1]):
        """As LineCutter.cut; with room for as many as the first byte of the separator is in the buffer, and one more."""
        if length == 0:
            return 0, 0
        text: cython.pointer(uint8_t) = cython.address(buffer[0])
        mark: cython.p_char = self.separator
        size: cython.size_t = len(self.separator)
        start: cython.size_t = 0
        at: cython.size_t
        next: cython.size_t
        kept: cython.size_t
        written: cython.size_t = 0
        n: cython.Py_ssize_t = 0
        with cython.nogil:
            while start < length:
                at = start
                while True:
                    at = _find(text, at, length, cython.cast(uint8_t, mark[0]))
                    if at + size > length:
                        at = length
                        break
                    if memcmp(text + at, mark, size) == 0:
                        break
                    at += 1
                if at == length and not final:
                    if n == 0 and (self.dropping or length - start > self.limit + size):
                        if not self.dropping:
                            with cython.gil:
                                self.too_long.append(self.offset)
                        self.dropping = True
                        kept = min(size - 1, length - start)  # which may begin a separator
                        self.offset += length - start - kept
                        start = length - kept
                    break
                next = min(at + size, length)
                if self.dropping:
                    self.dropping = False
                elif at - start > self.limit:
                    with cython.gil:
                        self.too_long.append(self.offset)
                elif not _is_space(text, start, at):
                    memmove(text + written, text + start, at - start)
                    written += at - start
                    ends[n] = written
                    places[n] = self.offset
                    n += 1
                self.offset += next - start
                start = next
        return n, start


def not_utf8(text: cython.const[uint8_t][::1], ends: cython.const[uint64_t][::1]) -> list:
    """Which of the documents in `text` are not UTF-8."""
    damaged: list = []
    i: cython.Py_ssize_t
    n: cython.Py_ssize_t = ends.shape[0]
    at: cython.size_t = 0
    if n == 0 or text.shape[0] == 0:
        return damaged
    base: cython.pointer(cython.const[uint8_t]) = cython.address(text[0])
    with cython.nogil:
        # Where all of it is UTF-8, a document is too, unless it begins or ends inside a character.
        if _is_utf8(base, 0, ends[n - 1]):
            for i in range(n - 1):
                if ends[i] < ends[n - 1] and base[ends[i]] & 0xC0 == 0x80:
                    break
            else:
                at = ends[n - 1]
        if at == 0:
            for i in range(n):
                if not _is_utf8(base, at, ends[i]):
                    with cython.gil:
                        damaged.append(i)
                at = ends[i]
    return damaged


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_utf8(text: cython.pointer(cython.const[uint8_t]), at: cython.size_t, end: cython.size_t) -> cython.bint:
    eight: uint64_t[4]
    size: cython.size_t
    point: uint32_t
    while at < end:
        if end - at >= 32:
            memcpy(eight, text + at, 32)
            if (eight[0] | eight[1] | eight[2] | eight[3]) & cython.cast(uint64_t, 0x8080808080808080) == 0:
                at += 32
                continue
        size = 1 if text[at] < 0x80 else tm_utf8_read(text + at, end - at, cython.address(point))
        if size == 0:
            return False
        at += size
    return True


def arrow_ends(offsets: cython.const[uint8_t][::1], first: cython.size_t, ends: uint64_t[::1],
               wide: cython.bint) -> tuple:
    """Where Arrow's strings from number `first` on begin, and how long the longest of them is, in bytes.

    ends: one for each string; gets their ends, relative to that beginning.
    offsets: a buffer of Arrow, of 64 bits where `wide`, else of 32 bits.
    """
    if ends.shape[0] == 0:
        return 0, 0
    base: cython.pointer(cython.const[uint8_t]) = cython.address(offsets[0])
    narrow: cython.pointer(cython.const[uint32_t]) = cython.cast(cython.pointer(cython.const[uint32_t]), base) + first
    long: cython.pointer(cython.const[uint64_t]) = cython.cast(cython.pointer(cython.const[uint64_t]), base) + first
    start: uint64_t = long[0] if wide else narrow[0]
    before: uint64_t = 0
    longest: uint64_t = 0
    i: cython.Py_ssize_t
    for i in range(ends.shape[0]):
        ends[i] = (long[i + 1] if wide else narrow[i + 1]) - start
        longest = max(longest, ends[i] - before)
        before = ends[i]
    return start, longest


# JSON


def value_end(text: cython.const[uint8_t][::1], start: cython.size_t, length: cython.size_t):
    """Where the JSON array or object that begins at `start` ends; 0 if it does not end before `length`.

    Only brackets and strings are looked at.
    """
    at: cython.size_t = start
    back: cython.size_t
    depth: cython.size_t = 0
    byte: uint8_t
    base: cython.pointer(uint8_t) = cython.cast(cython.pointer(uint8_t), cython.address(text[0]))
    with cython.nogil:
        while at < length:
            byte = base[at]
            if byte == QUOTE:
                while True:
                    at = _find(base, at + 1, length, QUOTE)
                    back = at
                    while at < length and base[back - 1] == BACKSLASH:  # the opening quote ends this at the latest
                        back -= 1
                    if (at - back) & 1 == 0:
                        break
            elif byte == 91 or byte == 123:
                depth += 1
            elif byte == 93 or byte == 125:
                depth -= 1
                if depth == 0:
                    break
            at += 1
    return at + 1 if at < length else 0
