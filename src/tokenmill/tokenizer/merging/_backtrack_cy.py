# cython: language_level=3
"""The merge kernel for proper vocabularies: token by token instead of merge by merge.

A vocabulary is proper if all bytes have tokens, and no token can come about of halves of higher rank. All that training
made are. Then, where merging leaves two tokens side by side in any text, it leaves them so in the text of the two alone;
and a row of tokens of which all neighbours are so is what merging gives. So the ids of a pretoken are found from left to
right: take the longest token; if it does not fit its neighbour, the next shorter one; if none does, what was taken
before was wrong, and no row of tokens ends where it did.

Whether two tokens fit is found by undoing their merges, the latest first: the two halves that face each other must
not be a pair that would have merged before (Antoniadis and van Antwerpen: So many tokens, so little time, 2024).
A place where no row of tokens ends is tried once, so the time is linear in the length, whatever the pretoken.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memset
from cython.cimports.tokenmill.counting._pages import tm_pages_free, tm_pages_new
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import (
    LONGEST,
    NO_ID,
    NO_MEMORY,
    SIGNALLED,
    TOO_LONG,
    Merger,
    Workspace,
    hash_of,
    pair_in,
    reserve,
    signalled,
)
from cython.cimports.tokenmill.tokenizer.merging._trie_cy import Trie

TOKEN = cython.declare(uint32_t, 1 << 21)
BASE_SHIFT = cython.declare(cython.int, 32)
MARK_SHIFT = cython.declare(cython.int, 24)
LITTLE = cython.declare(cython.size_t, 1 << 19)  # what takes more than that gets whole huge pages


@cython.cclass
class ProperMerger(Merger):
    """Finds the tokens of a pretoken from left to right. Immutable once `finish` has been called."""

    def __cinit__(self, n_ids: cython.uint = 0, byte_ids=None, unknown=None, characters=None, ranks: cython.uint = 0,
                  pairs: cython.size_t = 0):
        i: cython.size_t
        bits: cython.size_t = 4096
        self.filter_shift = 52
        while bits < 16 * cython.cast(cython.size_t, n_ids):
            bits *= 2
            self.filter_shift -= 1
        self.block_size = 65536 * 4 + bits // 8 + (n_ids + 1) * (cython.sizeof(Origin) + 4)
        if self.block_size > LITTLE:
            self.block_size = (self.block_size + 4 * LITTLE - 1) & ~(4 * LITTLE - 1)
        self.block = tm_pages_new(self.block_size)
        if self.block == cython.NULL:
            raise MemoryError
        self.byte_pairs = cython.cast(cython.pointer(uint32_t), self.block)
        self.filter = cython.cast(cython.pointer(uint64_t), self.byte_pairs + 65536)
        self.origins = cython.cast(cython.pointer(Origin), self.filter + bits // 64)
        self.shorter = cython.cast(cython.pointer(uint32_t), self.origins + n_ids + 1)
        for i in range(256):
            self.origins[self.byte_ids[i]].size = 1

    def __dealloc__(self):
        self.byte_pairs = cython.NULL
        tm_pages_free(self.block, self.block_size)
        tm_pages_free(self.trie, self.trie_size * 8)

    def make(self, left, right, rank, id):
        hash: uint64_t = hash_of(left, right) >> self.filter_shift
        self.filter[hash >> 6] |= cython.cast(uint64_t, 1) << (hash & 63)
        self.origins[id] = Origin(rank + 1, left, right, self.origins[left].size + self.origins[right].size)
        return self.add_pair(left, right, rank)

    def fit(self, left, right):
        return _fit(self, left, right)

    def finish(self, trie):
        self.trie = trie.lay_out(self.shorter, cython.address(self.trie_size))
        if not self.finish_pairs():
            raise MemoryError
        return 0

    def merge(self, pretoken, n, out, work):
        closed: uint64_t[WORDS]
        if n <= FEW_WIDE or (n <= FEW and pretoken[n - 1] < 0x80):
            return self.merge_parts(out, self.parts(pretoken, n, out), pretoken, work)
        if n < 64 * WORDS:
            memset(closed, 0, cython.sizeof(closed))
            return self.encode(pretoken, n, out, closed)
        if n >= LONGEST:
            return TOO_LONG
        if not reserve(work, n // 8 + 8):
            return NO_MEMORY
        memset(work.memory, 0, n // 8 + 8)
        return self.encode(pretoken, n, out, cython.cast(cython.pointer(uint64_t), work.memory))

    def encode(self, pretoken, n, out, closed):
        """closed: a bit for each place from 0 to n, set where no row of tokens ends; all 0 at first."""
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
                if closed[end >> 6] >> (end & 63) & 1 == 0 and (count == 0 or _fit(self, out[count - 1], token)):
                    break
                token = self.shorter[token]
            if token != NO_ID:
                out[count] = token
                count += 1
                at = end
                token = NO_ID
            else:
                closed[at >> 6] |= cython.cast(uint64_t, 1) << (at & 63)
                count -= 1
                token = out[count]
                at -= self.origins[token].size
        return count


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _fit(merger: ProperMerger, left: uint32_t, right: uint32_t) -> cython.bint:
    """Whether merging leaves these two tokens side by side in the text of the two."""
    limit: uint32_t = 0xFFFFFFFF
    rank: uint32_t
    hash: uint64_t
    l: uint32_t = merger.origins[left].rank
    r: uint32_t = merger.origins[right].rank
    while True:
        hash = hash_of(left, right) >> merger.filter_shift
        if merger.filter[hash >> 6] >> (hash & 63) & 1:  # hardly ever: most pairs never merge
            rank = pair_in(merger, left, right)
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
    found: uint32_t = cython.cast(uint32_t, node)
    i: cython.size_t = 1
    byte: uint64_t
    while i < n and node >> BASE_SHIFT != 0:
        byte = p[i]
        node = trie[(node >> BASE_SHIFT) ^ byte]
        if node == 0 or node >> MARK_SHIFT & 0xFF != byte:
            break
        if node & TOKEN:
            found = cython.cast(uint32_t, node)
        i += 1
    return found & NO_ID
