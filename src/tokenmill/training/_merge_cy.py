"""The merge loop by exact positions: byte-pair encoding without searching or hashing while it merges.

Node, position, span, postings and threshold are defined in _corpus_cy.py and _pairs_cy.py.

Invariants, between two merges
    1. The node at position p holds the id q of a pair exactly if that pair is at p and was not dropped; then p is in the
       postings of q.
    2. The count of every pair that some node holds is exact.
    3. All positions of a pair appear in one step: the merge (x1, x2) -> x3 makes only pairs with the new token x3, and all
       occurrences of x3 appear in this step. So postings never grow, and after the step a count only falls.
    4. A token has the same span everywhere: the sum of the spans of x1 and x2.
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

In parity-aware BPE each language has its own nodes, pairs and queue, and another language may choose the pair. It is found by
its ids, which are the same in all languages. So no pair may be dropped, however rare: the threshold is 1, and `pairs.ids` has
every pair. A pair's id is never used again, because the queue may still hold it.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.tokenmill.kernels._pair_map import TM_NO_VALUE, tm_pair_map_get
from cython.cimports.tokenmill.kernels._signals import check_signals
from cython.cimports.tokenmill.training._corpus_cy import FREE, Corpus
from cython.cimports.tokenmill.training._pairs_cy import Pair, Pairs, new_pair, set_pair
from cython.cimports.tokenmill.training._step_cy import BETWEEN_LOOKS, Step
from cython.cimports.tokenmill.training._tokens_cy import Tokens


@cython.final
@cython.cclass
class MergeLoop(Step):
    """Merges the pairs of one phase after another, or those that languages choose.

    tokens: the alphabet. `run_on` adds the new tokens. Languages share `tokens`; their caller adds the new ones.
    """

    free_id: uint32_t  # the first free pair id, or 0; its record stores the next one in `successor`

    def __cinit__(self, corpus: Corpus, pairs: Pairs, tokens: Tokens, of_language: bool = False):
        self.corpus = corpus
        self.pairs = pairs
        self.tokens = tokens
        if of_language:
            pairs.add_ids(1)

    def end_phase(self, threshold: uint64_t):
        """Drop all pairs, for a phase with another threshold. The nodes hold tokens then."""
        node: cython.pointer(uint32_t) = self.corpus.node
        with cython.nogil:
            for position in range(1, self.corpus.n_nodes):
                if position % BETWEEN_LOOKS == 0:
                    check_signals()
                if node[position] < FREE:
                    node[position] = FREE | self.pairs.pair[node[position]].left
        self.pairs.clear(threshold)
        self.free_id = 0

    def best(self):
        """Pop the next pair of the queue, (left, right, count); None if there is none. It must be merged next."""
        pair: uint32_t = self.pairs.pop()
        if pair == 0:
            return None
        return self.pairs.pair[pair].left, self.pairs.pair[pair].right, self.pairs.pair[pair].count

    def merge_pair(self, left: uint32_t, right: uint32_t, new: uint32_t) -> int:
        """Merge (left, right) into the token `new` at all positions. Return the count of the pair."""
        first: cython.size_t = self.pairs.n_pairs
        if self.pairs.ids.n_slots == 0:
            return 0
        pair = tm_pair_map_get(cython.address(self.pairs.ids), left, right)
        if pair == TM_NO_VALUE or self.pairs.pair[pair].count == 0:
            return 0
        count = self.pairs.pair[pair].count
        with cython.nogil:
            self._merge(pair, new)
            self.pairs.add_ids(first)
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _merge(self, merged: uint32_t, new: uint32_t) -> cython.int:
        """Merge the pair `merged` into the token `new` at all positions."""
        self.visit(self.pairs.postings[merged], self.pairs.pair[merged].size, new, 1)
        self.merge_at(merged, new)
        self.pairs.free_postings(self.positions, self.size)
        self.pairs.postings[merged] = cython.NULL
        return self.lay_out()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=False)
    def step(self, pairs: Pairs, tokens: Tokens, merged: uint32_t) -> cython.Py_ssize_t:
        """Merge the pair `merged` into a new token. Free its id and those of dropped pairs."""
        pair: cython.pointer(Pair) = pairs.pair + merged
        self._merge(merged, tokens.join(pair.left, pair.right, pair.count))
        # No node and no queue holds these ids.
        self._free_pair(merged)
        for i in range(self.n_grown):
            if pairs.pair[self.grown[i]].size == 0:
                self._free_pair(self.grown[i])
        return 8 + self.size + self.n_fresh

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0, check=False)
    def successor(self, left: uint32_t, right: uint32_t) -> uint32_t:
        """A new pair. It gets a free id if there is one, because its record is still in the cache."""
        id: uint32_t = self.free_id
        if not self.tokens.fits(left, right):
            return FREE | left
        if id == 0:
            return new_pair(self.pairs, left, right)
        self.free_id = self.pairs.pair[id].successor
        set_pair(self.pairs, id, left, right)
        return id

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _free_pair(self, id: uint32_t) -> cython.void:
        self.pairs.pair[id].successor = self.free_id
        self.free_id = id
