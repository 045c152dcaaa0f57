"""Count words, runs of anything but white space (Unicode's White_Space), in the documents of a block."""

from __future__ import annotations

import cython


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _space(data: cython.pointer(cython.const[cython.uchar]), left: cython.size_t) -> cython.size_t:
    """The length of the white space character at `data`, of which `left` bytes are left; 0 for a character of another kind."""
    first: cython.uchar = data[0]
    if first == 0x20 or 0x09 <= first <= 0x0D:
        return 1
    if first < 0xC2 or first > 0xE3 or left < 2:
        return 0
    if first == 0xC2:
        return 2 if data[1] == 0x85 or data[1] == 0xA0 else 0
    if left < 3 or first < 0xE1:
        return 0
    code: cython.int = (first & 0x0F) << 12 | (data[1] & 0x3F) << 6 | (data[2] & 0x3F)
    if 0x2000 <= code <= 0x200A or code == 0x2028 or code == 0x2029 or code == 0x202F or code == 0x205F:
        return 3
    return 3 if code == 0x1680 or code == 0x3000 else 0


@cython.boundscheck(False)
@cython.wraparound(False)
@cython.initializedcheck(False)
def count_words(
    data: cython.const[cython.uchar][::1], ends: cython.const[cython.ulonglong][::1], inside: cython.bint
) -> tuple:
    """The number of words that begin in the documents of `data`, and whether the last document ends inside a word.

    ends: where each document ends. inside: whether `data` begins inside a word, of a document that began before.

    >>> count_words(b"low  lower", np.array([3, 10], np.uint64), False)
    (2, True)
    """
    words: cython.ulonglong = 0
    place: cython.size_t = 0
    document: cython.size_t
    documents: cython.size_t = ends.shape[0]
    end: cython.size_t
    size: cython.size_t
    within: cython.bint = inside
    if documents == 0 or data.shape[0] == 0:
        return 0, bool(inside)
    start: cython.pointer(cython.const[cython.uchar]) = cython.address(data[0])
    with cython.nogil:
        for document in range(documents):
            if document:
                within = False
            end = ends[document]
            while place < end:
                size = _space(start + place, end - place)
                if size:
                    within = False
                    place += size
                else:
                    words += not within
                    within = True
                    place += 1
    return words, bool(within)
