"""The merge loop by exact positions: byte-pair encoding without searching or hashing while it merges.

The words node, position, span, run, segment and threshold are defined in _corpus_cy.py and _pairs_cy.py.

Invariants, between two merges
    1. The node at position p holds the id q of a pair exactly if that pair is at p and was not dropped; then p is in the
       segment of q.
    2. The count of every pair that some node holds is exact.
    3. All positions of a pair appear in one step: the merge (x1, x2) -> x3 makes only pairs with the new token x3, and all
       occurrences of x3 appear in this step. So a segment never grows, and after the step a count only falls.
    4. A token has the same span everywhere: the sum of the spans of its parts.
    5. No two merges make the same bytes. Take a stretch of the corpus that no merge so far has crossed at its ends. It
       is segmented in the same way wherever it occurs: a merge of two different tokens takes every such pair inside; a
       merge of two equal tokens counts from the left end of their run, and if the run began before the stretch, an odd
       number of tokens before it would have led to a merge across its end. So when (x1, x2) -> x3 is merged, every
       uncrossed stretch with the bytes of x3 reads x1 x2 and becomes x3, and later no other pair can spell these bytes.
       This holds whichever pairs are chosen.

If a pair is below the threshold, or the new token would be too long, it has no successor: the node becomes FREE and costs
nothing from then on. The id of a dropped pair, and that of the merged pair, are used again in the next steps. So the
records stay few and in the cache.

The threshold saves work: most pairs are rare, and few rare pairs are ever merged. It never changes the result: if no pair
reaches it and more merges are wanted, the caller begins a new phase with a lower threshold.
"""

import cython
from cython.cimports.libc.stdint import int32_t, uint32_t, uint64_t
from cython.cimports.tokenmill.training._corpus_cy import FREE, Corpus
from cython.cimports.tokenmill.training._limits_cy import Limits
from cython.cimports.tokenmill.training._pairs_cy import Pairs, new_pair, set_pair
from cython.cimports.tokenmill.training._step_cy import Step

IDLE = cython.declare(cython.int, 0)
SWEEP = cython.declare(cython.int, 1)
LAY_OUT = cython.declare(cython.int, 2)


@cython.final
@cython.cclass
class MergeLoop(Step):
    """Merges the pairs of one phase.

    spans: uint32 by token id, in nodes; `n_tokens` of them are set, the loop writes the rest.
    merges: int32 rows (left id, right id, new id); `n_merges` of them are set, the loop writes the rest.
    counts: uint64, the count of the pair of each merge when it was made.
    limits: which tokens may be made.
    """

    spans: uint32_t[::1]
    merges: int32_t[:, ::1]
    counts: uint64_t[::1]
    limits: Limits
    n_tokens: cython.size_t
    n_merges = cython.declare(cython.size_t, visibility="readonly")
    stage: cython.int
    free_id: uint32_t  # the first pair id that is free again; its record names the next one in `successor`

    def __cinit__(
        self,
        corpus: Corpus,
        pairs: Pairs,
        spans: uint32_t[::1],
        merges: int32_t[:, ::1],
        counts: uint64_t[::1],
        n_tokens: cython.size_t,
        n_merges: cython.size_t,
        limits: Limits,
    ):
        self.corpus = corpus
        self.pairs = pairs
        self.spans = spans
        self.merges = merges
        self.counts = counts
        self.n_tokens = n_tokens
        self.n_merges = n_merges
        self.limits = limits

    @property
    def idle(self) -> bool:
        """Whether no step is under way."""
        return self.stage == IDLE

    def merge(self, wanted: cython.size_t, work: cython.size_t) -> bool:
        """Go on until there are `wanted` merges (`merges` has as many rows) or about `work` positions were seen.

        Returns False if no pair is left.
        """
        spent: cython.size_t = 0
        pair: uint32_t
        with cython.nogil:
            while spent < work:
                if self.stage == IDLE:
                    if self.n_merges >= wanted:
                        break
                    pair = self.pairs.pop()
                    if pair == 0:
                        break
                    self._begin(pair)
                    spent += 8
                if self.stage == SWEEP:
                    spent += self.sweep(work)
                    if self.at == self.size:
                        self.pairs.free_places(self.places, self.size)
                        self.at = 0
                        self.stage = LAY_OUT
                if self.stage == LAY_OUT:
                    spent += self.n_fresh
                    if self.lay_out(work):
                        self._end()
        return self.stage != IDLE or self.n_merges >= wanted or spent >= work

    def spell(self, alphabet: list) -> list:
        """The bytes of all tokens by id; a loop in Python takes twice as long (docs/experiments/training.md)."""
        tokens: list = list(alphabet)
        left: bytes
        right: bytes
        i: cython.size_t
        for i in range(self.n_merges):
            left, right = tokens[self.merges[i, 0]], tokens[self.merges[i, 1]]
            tokens.append(left + right)
        return tokens

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _begin(self, merged: uint32_t) -> cython.int:
        """A new token for the pair `merged`."""
        left: uint32_t = self.pairs.pair[merged].left
        right: uint32_t = self.pairs.pair[merged].right
        new: uint32_t = cython.cast(uint32_t, self.n_tokens)
        self.merges[self.n_merges, 0] = cython.cast(int32_t, left)
        self.merges[self.n_merges, 1] = cython.cast(int32_t, right)
        self.merges[self.n_merges, 2] = cython.cast(int32_t, new)
        self.counts[self.n_merges] = self.pairs.pair[merged].count
        self.n_merges += 1
        self.spans[new] = self.spans[left] + self.spans[right]
        self.limits.make(left, right, new)
        self.n_tokens += 1
        self.stage = SWEEP
        self.visit(self.pairs.places[merged], self.pairs.pair[merged].size)
        return self.merge_at(merged, new, self.spans[left], self.spans[new])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0, check=False)
    def successor(self, left: uint32_t, right: uint32_t) -> uint32_t:
        """A new pair, under an id that is free again if there is one: its record is in the cache still."""
        id: uint32_t = self.free_id
        if not self.limits.fits(left, right):
            return FREE | left
        if id == 0:
            return new_pair(self.pairs, left, right)
        self.free_id = self.pairs.pair[id].successor
        set_pair(self.pairs, id, left, right)
        return id

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _end(self) -> cython.void:
        """Free the merged pair and those that were dropped: no node and no queue holds their ids."""
        i: cython.size_t
        self._free_pair(self.merged)
        for i in range(self.n_grown):
            if self.pairs.pair[self.grown[i]].size == 0:
                self._free_pair(self.grown[i])
        self.stage = IDLE

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _free_pair(self, id: uint32_t) -> cython.void:
        self.pairs.places[id] = cython.NULL
        self.pairs.pair[id].successor = self.free_id
        self.free_id = id
