"""Find the pairs of tokens that can occur. Tokens are built in order of rank, each from two compatible ones.

Two tokens are *compatible* if merging the text of the two alone leaves them side by side. In a rank-ordered vocabulary, where no
token can be merged from one of higher rank, merging any text leaves only compatible neighbours, and a sequence of tokens with only
compatible neighbours is the result of merging its text. So of all pairs that spell a token at most one is compatible when the token
is built, and the others never occur. All vocabularies that training makes are rank-ordered.

Compatibility is checked by undoing the merges of the two tokens, the latest first: the two tokens at the border must not be
a pair that would have merged earlier (Antoniadis and van Antwerpen: So many tokens, so little time, 2024).
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.tokenmill.kernels._memory import tm_pages_free, tm_pages_new
from cython.cimports.tokenmill.kernels._pair_ranks import tm_pair_rank, tm_pair_rank_prefetch_slot
from cython.cimports.tokenmill.kernels._platform import tm_prefetch
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_ID, Merger


@cython.cclass
class Origins:
    """The merge of each token, recorded while pairs are added to a merger. The tokens that merging begins with count as built."""

    def __cinit__(self, merger: Merger):
        byte: cython.size_t
        self.merger = merger
        self.origin = cython.cast(cython.pointer(Origin), tm_pages_new((merger.n_ids + 256) * cython.sizeof(Origin)))
        if self.origin == cython.NULL:
            raise MemoryError
        for byte in range(256):
            self.origin[merger.byte_ids[byte]].size = 1
        for point in range(merger.n_characters):
            if merger.characters[point] != NO_ID:
                self.origin[merger.characters[point]].size = 1

    def __dealloc__(self):
        tm_pages_free(self.origin, (self.merger.n_ids + 256) * cython.sizeof(Origin))

    def prefetch(self, left, right):
        tm_prefetch(self.origin + left)
        tm_prefetch(self.origin + right)
        tm_pair_rank_prefetch_slot(cython.address(self.merger.pairs), left, right)

    def add(self, left, right, rank, id):
        self.origin[id] = Origin(rank + 1, left, right, self.origin[left].size + self.origin[right].size)
        return self.merger.add_pair(left, right, rank)

    def compatible(self, left, right):
        limit: uint32_t = 0xFFFFFFFF
        l: uint32_t = self.origin[left].rank
        r: uint32_t = self.origin[right].rank
        if self.origin[left].size == 0 or self.origin[right].size == 0:
            return False
        while True:
            rank = tm_pair_rank(cython.address(self.merger.pairs), left, right)
            if rank != NO_ID and rank + 1 < limit:
                return False
            if l > r:  # the later merge is undone
                limit = l
                left = self.origin[left].right
                l = self.origin[left].rank
            elif r > 0:  # of two merges of one rank the left one came first, and this pair is before the right one
                limit = r + 1
                right = self.origin[right].left
                r = self.origin[right].rank
            else:
                return True

    def built(self):
        id: cython.size_t
        built: bytes = PyBytes_FromStringAndSize(cython.NULL, self.merger.n_ids)
        flags: cython.p_char = PyBytes_AS_STRING(built)
        for id in range(self.merger.n_ids):
            flags[id] = self.origin[id].size > 0
        for id in range(256):  # where the alphabet is characters, the token of a byte is for characters without a token
            if self.merger.characters != cython.NULL and self.merger.byte_ids[id] < self.merger.n_ids:
                flags[self.merger.byte_ids[id]] = self.merger.initial_id(id) == self.merger.byte_ids[id]
        return built
