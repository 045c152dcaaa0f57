"""Which of the pairs that spell a token can occur: tokens are built in order of rank, each from two compatible ones.

Two tokens are *compatible* if merging the text of the two alone leaves them side by side. In a rank-ordered vocabulary, where no
token can be merged from a part of higher rank, merging any text leaves only compatible neighbours, and a sequence of tokens with only
compatible neighbours is what merging gives. So of all pairs that spell a token at most one is compatible when the token is built, and
the others never occur. All vocabularies that training makes are rank-ordered.

Compatibility is found by undoing the merges of the two tokens, the latest first: the two parts that face each other must not be
a pair that would have merged earlier (Antoniadis and van Antwerpen: So many tokens, so little time, 2024).
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.tokenmill.kernels._memory import tm_pages_free, tm_pages_new
from cython.cimports.tokenmill.kernels._pair_ranks import tm_pair_rank
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_ID, Merger


@cython.cclass
class Origins:
    """How each token was merged, recorded while a merger gets its pairs. The bytes or characters that merging begins with count as built."""

    def __cinit__(self, merger: Merger):
        byte: cython.size_t
        self.merger = merger
        self.of = cython.cast(cython.pointer(Origin), tm_pages_new((merger.n_ids + 256) * cython.sizeof(Origin)))
        if self.of == cython.NULL:
            raise MemoryError
        for byte in range(256):
            self.of[merger.byte_ids[byte]].size = 1
        for point in range(merger.n_characters):
            if merger.characters[point] != NO_ID:
                self.of[merger.characters[point]].size = 1

    def __dealloc__(self):
        tm_pages_free(self.of, (self.merger.n_ids + 256) * cython.sizeof(Origin))

    def make(self, left, right, rank, id):
        self.of[id] = Origin(rank + 1, left, right, self.of[left].size + self.of[right].size)
        return self.merger.add_pair(left, right, rank)

    def compatible(self, left, right):
        limit: uint32_t = 0xFFFFFFFF
        l: uint32_t = self.of[left].rank
        r: uint32_t = self.of[right].rank
        if self.of[left].size == 0 or self.of[right].size == 0:
            return False
        while True:
            rank = tm_pair_rank(cython.address(self.merger.pairs), left, right)
            if rank != NO_ID and rank + 1 < limit:
                return False
            if l > r:  # the later merge is undone
                limit = l
                left = self.of[left].right
                l = self.of[left].rank
            elif r > 0:  # of two merges of one rank the left one came first, and this pair lies before the right one
                limit = r + 1
                right = self.of[right].left
                r = self.of[right].rank
            else:
                return True

    def built(self):
        id: cython.size_t
        made: bytes = PyBytes_FromStringAndSize(cython.NULL, self.merger.n_ids)
        flags: cython.p_char = PyBytes_AS_STRING(made)
        for id in range(self.merger.n_ids):
            flags[id] = self.of[id].size > 0
        for id in range(256):  # where the alphabet is characters, the token of a byte stands for a part of one that has no token
            if self.merger.characters != cython.NULL and self.merger.byte_ids[id] < self.merger.n_ids:
                flags[self.merger.byte_ids[id]] = self.merger.unit(id) == self.merger.byte_ids[id]
        return made
