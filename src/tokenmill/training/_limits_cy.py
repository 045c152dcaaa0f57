"""Which tokens a merge loop may make: limits on the bytes and on the words of a token.

A word is a non-empty part of a token between spaces. The shape of a token is (words << 2 | 2 | 1): 2 where it begins with
a word and 1 where it ends with one. The shape of a merged token follows from those of its parts.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t

MOST_WORDS = 62  # the highest limit on words


@cython.final
@cython.cclass
class Limits:
    """The limits of one training.

    lengths: uint32 by token id, in bytes. shapes: uint8 by token id; empty where words are not limited. Those of the first
        tokens are set, a merge loop writes the rest.
    max_bytes: 2**64 - 1 for no limit. max_words: 0 for no limit. Without limits nothing is read or written, which saves
        cache misses.
    """

    def __cinit__(
        self, lengths: uint32_t[::1], shapes: uint8_t[::1], max_bytes: cython.size_t, max_words: cython.size_t = 0
    ):
        self.lengths = lengths
        self.shapes = shapes
        self.max_bytes = max_bytes
        self.max_words = max_words
        self.limited = max_words > 0 or max_bytes != cython.cast(cython.size_t, -1)


def shape_of(token: bytes) -> int:
    """The shape of a token.

    >>> shape_of(b" of the"), shape_of(b" ")
    (9, 0)
    """
    words = min(sum(part != b"" for part in token.split(b" ")), MOST_WORDS + 1)
    begins, ends = (token and not at_edge(b" ") for at_edge in (token.startswith, token.endswith))
    return words << 2 | 2 * bool(begins) | bool(ends)
