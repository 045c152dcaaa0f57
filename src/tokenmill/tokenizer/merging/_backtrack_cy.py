# cython: language_level=3
"""The fast merge kernel: the tokens of a pretoken from left to right, with backtracking, instead of merge by merge.

It needs a rank-ordered vocabulary: no token can be merged from a part of higher rank. All
vocabularies that training makes are such. Two tokens are *compatible* if merging the text of the two alone leaves them side
by side. In a rank-ordered vocabulary, merging any text leaves only compatible neighbours, and a sequence of tokens with only
compatible neighbours is what merging gives. So the ids are found from left to right: take the longest token; if it is not
compatible with the one before, the next shorter one; if none is, the token before was wrong, and no sequence of tokens ends
where it ended.

Compatibility is found by undoing the merges of the two tokens, the latest first: the two parts that face each other must not be
a pair that would have merged earlier (Antoniadis and van Antwerpen: So many tokens, so little time, 2024). A place where no
sequence ends is tried once, so the time is linear in the length of the pretoken.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.tokenmill.kernels._memory import tm_pages_free, tm_pages_new
from cython.cimports.tokenmill.kernels._pair_ranks import tm_pair_rank
from cython.cimports.tokenmill.kernels._signals import signalled
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import (
    LONGEST,
    NO_ID,
    NO_MEMORY,
    SIGNALLED,
    TOO_LONG,
    Merger,
    Workspace,
    reserve,
)
from cython.cimports.tokenmill.tokenizer.merging._trie_cy import SortedTokens

BASE_SHIFT = cython.declare(cython.int, 32)
MARK_SHIFT = cython.declare(cython.int, 24)
ID_MASK = cython.declare(uint32_t, 0xFFFFFF)


@cython.cclass
class BacktrackMerger(Merger):
    """Finds the tokens of a pretoken from left to right. What only long pretokens need is made with the first of them, by `finisher`,
    which holds the GIL meanwhile; after that, it is immutable."""

    def __cinit__(self, n_ids: cython.uint = 0, byte_ids=None, unknown=None, characters=None):
        i: cython.size_t
        self.origins = cython.cast(cython.pointer(Origin), tm_pages_new((n_ids + 256) * cython.sizeof(Origin)))
        self.shorter = cython.cast(cython.pointer(uint32_t), tm_pages_new((n_ids + 256) * 4))
        if self.origins == cython.NULL or self.shorter == cython.NULL:
            raise MemoryError
        for i in range(256):
            self.origins[self.byte_ids[i]].size = 1
            self.shorter[self.byte_ids[i]] = NO_ID

    def __dealloc__(self):
        tm_pages_free(self.origins, (self.n_ids + 256) * cython.sizeof(Origin))
        tm_pages_free(self.shorter, (self.n_ids + 256) * 4)
        tm_pages_free(self.trie, self.trie_size * 8)

    def make(self, left, right, rank, id):
        self.origins[id] = Origin(rank + 1, left, right, self.origins[left].size + self.origins[right].size)
        return self.add_pair(left, right, rank)

    def compatible(self, left, right):
        return _compatible(self, left, right)

    def finish(self, tokens):
        tokens.find_prefixes(self.shorter)
        byte: cython.size_t
        self.trie = tokens.lay_out(cython.address(self.trie_size))
        for byte in range(256):
            if self.byte_ids[byte] >= self.n_ids:  # it has no token
                self.trie[byte] = byte << MARK_SHIFT | (self.byte_ids[byte] + 1)
        self.ready = True
        return 0

    def prepare(self):
        with cython.critical_section(self):
            if not self.ready:
                self.finisher(self)
                self.finisher = None
        return 0

    def merge(self, pretoken, n, out, work):
        return self.replace_missing(out, self.find_tokens(pretoken, n, out, work))

    def find_tokens(self, pretoken, n, out, work):
        dead: uint64_t[WORDS]
        count: cython.Py_ssize_t
        if n <= SCAN_BYTES:
            count = self.first_merges(pretoken, n, out)
            if count <= SCAN:
                return self.merge_parts(out, count, work)
        if not self.ready:
            with cython.gil:
                try:
                    self.prepare()
                except MemoryError:
                    return NO_MEMORY
        if n < 64 * WORDS:
            memset(dead, 0, cython.sizeof(dead))
            return self.encode(pretoken, n, out, dead)
        if n >= LONGEST:
            return TOO_LONG
        if not reserve(work, n // 8 + 8):
            return NO_MEMORY
        memset(work.memory, 0, n // 8 + 8)
        return self.encode(pretoken, n, out, cython.cast(cython.pointer(uint64_t), work.memory))

    def encode(self, pretoken, n, out, dead):
        """dead: a bit for each place from 0 to n, set where no sequence of tokens ends; all 0 at first."""
        at: cython.size_t = 0
        end: cython.size_t
        count: cython.Py_ssize_t = 0
        steps: cython.size_t = 0
        token: uint32_t = NO_ID  # to try here; NO_ID: the longest
        while at < n:
            steps += 1
            if steps & 0x3FFFF == 0 and signalled():
                return SIGNALLED
            if token == NO_ID:
                token = _longest(self.trie, pretoken + at, n - at)
            while token != NO_ID:
                end = at + self.origins[token].size
                if dead[end >> 6] >> (end & 63) & 1 == 0 and (count == 0 or _compatible(self, out[count - 1], token)):
                    break
                token = self.shorter[token]
            if token != NO_ID:
                out[count] = token
                count += 1
                at = end
                token = NO_ID
            else:
                dead[at >> 6] |= cython.cast(uint64_t, 1) << (at & 63)
                count -= 1
                token = out[count]
                at -= self.origins[token].size
        return count


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _compatible(merger: BacktrackMerger, left: uint32_t, right: uint32_t) -> cython.bint:
    """Whether merging the text of these two tokens leaves the two side by side."""
    limit: uint32_t = 0xFFFFFFFF
    rank: uint32_t
    l: uint32_t = merger.origins[left].rank
    r: uint32_t = merger.origins[right].rank
    while True:
        rank = tm_pair_rank(cython.address(merger.pairs), left, right)
        if rank != NO_ID and rank + 1 < limit:
            return False
        if l > r:  # the later merge is undone
            limit = l
            left = merger.origins[left].right
            l = merger.origins[left].rank
        elif r > 0:  # of two merges of one rank the left one came first, and this pair lies before the right one
            limit = r + 1
            right = merger.origins[right].left
            r = merger.origins[right].rank
        else:
            return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _longest(trie: cython.pointer(cython.const[uint64_t]), p: cython.pointer(cython.const[uint8_t]), n: cython.size_t) -> uint32_t:
    """The longest token that p[0:n] begins with; one byte at least is one."""
    node: uint64_t = trie[p[0]]
    found: uint64_t = node
    i: cython.size_t = 1
    byte: uint64_t
    while i < n and node >> BASE_SHIFT != 0:
        byte = p[i]
        node = trie[(node >> BASE_SHIFT) ^ byte]
        if node == 0 or node >> MARK_SHIFT & 0xFF != byte:
            break
        if node & ID_MASK:
            found = node
        i += 1
    return cython.cast(uint32_t, found & ID_MASK) - 1
