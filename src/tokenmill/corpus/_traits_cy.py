"""The kernel of the filters: detects in one pass which filters may change a text."""

import cython
from cython.cimports.libc.stdint import uint32_t

# The traits. A filter's pattern matches nothing in a text without the filter's trait.
LINE_END = 1
CONTROL = 2
URL = 4
EMAIL = 8
RUN_32 = 16  # 32 characters of ASCII without white space in a row
RUN_40 = 32
RUN_51 = 64
REPEAT = 128  # four equal marks in a row
PIPES = 256
SPACES = 512
BULLET = 1024
BLANK_LINES = 2048
ANY = 4096  # every text has it


def traits(text: str) -> cython.int:
    """Return the sum of the traits of a text.

    >>> traits("see  www.a.org") == ANY + URL + SPACES
    True
    """
    bits: cython.int = 4096
    before: uint32_t = 10  # the last characters; the text begins like a line
    second: uint32_t = 0
    third: uint32_t = 0
    run: cython.Py_ssize_t = 0
    longest: cython.Py_ssize_t = 0
    same: cython.int = 0
    pipes: cython.int = 0
    for letter in text:
        c = cython.cast(uint32_t, letter)
        same = same + 1 if c == before else 0
        if 33 <= c <= 126:
            run += 1
            if run > longest:
                longest = run
            if not (97 <= c <= 122 or 65 <= c <= 90 or 48 <= c <= 57):
                if same >= 3 and c != 95:
                    bits |= 128
                elif c == 47:  # of "://"
                    if before == 47 and second == 58:
                        bits |= 4
                elif c == 46:  # of "www."
                    if before | 32 == 119 and second | 32 == 119 and third | 32 == 119:
                        bits |= 4
                elif c == 58:  # of "data:"
                    if before == 97 and second == 116:
                        bits |= 4
                elif c == 64:
                    bits |= 8
                elif c == 124:
                    pipes += 1
        else:
            run = 0
            if c == 32:
                if before == 32 or before == 10:
                    bits |= 512
            elif c == 10:
                if before == 32:
                    bits |= 512
                elif before == 10 and second == 10:
                    bits |= 2048
            elif c < 128:
                bits |= 1 if c == 13 else 0
                bits |= 2 if c != 9 else 0
                bits |= 512
            else:
                bits |= _beyond_ascii(c)
            if same >= 3 and c != 32 and c != 10:
                bits |= 128
        third = second
        second = before
        before = c
    if before == 32:
        bits |= 512
    bits |= (16 if longest >= 32 else 0) | (32 if longest >= 40 else 0) | (64 if longest >= 51 else 0)
    return bits | (256 if pipes else 0)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _beyond_ascii(c: uint32_t) -> cython.int:
    """Return the traits of a text with the character `c`, which is not ASCII."""
    if c < 0xA0:
        return 2 + 512 + (1 if c == 0x85 else 0)
    if c == 0xA0 or c == 0x1680 or c == 0x202F or c == 0x205F or c == 0x3000 or 0x2000 <= c <= 0x200A:
        return 512
    if c == 0x2028 or c == 0x2029:
        return 1 + 512
    if c == 0xFEFF or 0xFDD0 <= c <= 0xFDEF or (c & 0xFFFE) == 0xFFFE:
        return 2
    if c == 0xB7 or 0x2022 <= c <= 0x2043 or c == 0x2219 or 0x25A0 <= c <= 0x25FF or 0x27A2 <= c <= 0x27A4:
        return 1024
    return 0
