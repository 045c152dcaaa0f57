"""The sizes of tokens, and which tokens a merge loop may make: limits on the bytes and on the words of a token.

A word is a non-empty part of a token between spaces. The shape of a token is (words << 2 | 2 | 1): 2 where it begins with
a word and 1 where it ends with one. The shape of a merged token follows from those of its parts.
"""

import cython

MOST_WORDS = 62  # the highest limit on words


@cython.final
@cython.cclass
class Limits:
    """The sizes of the tokens of one training, by id, and their limits.

    tokens: the bytes of the first ones. room: for how many tokens in all; a merge loop calls `make` for each new one.
    max_words: 0 for no limit.
    spans: the nodes of each of the first tokens; by default one.
    """

    def __cinit__(
        self, tokens: list, room: cython.size_t, max_bytes: cython.size_t, max_words: cython.size_t = 0, spans: list = None
    ):
        import numpy as np

        known: cython.Py_ssize_t = len(tokens)
        sizes = np.ones((2, room), np.uint32)
        sizes[0, :known] = 1 if spans is None else spans
        sizes[1, :known] = [len(token) for token in tokens]
        shapes = np.zeros(room if max_words else 0, np.uint8)
        if max_words:
            shapes[:known] = [shape_of(token) for token in tokens]
        self.spans, self.lengths, self.shapes = sizes[0], sizes[1], shapes
        self.max_bytes = max_bytes
        self.max_words = max_words
        self.spread = spans is not None


def shape_of(token: bytes) -> int:
    """The shape of a token.

    >>> shape_of(b" of the"), shape_of(b" ")
    (9, 0)
    """
    words = min(sum(part != b"" for part in token.split(b" ")), MOST_WORDS + 1)
    begins, ends = (token and not at_edge(b" ") for at_edge in (token.startswith, token.endswith))
    return words << 2 | 2 * bool(begins) | bool(ends)
