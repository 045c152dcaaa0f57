"""The merges of one language in parity-aware BPE: another language may choose the pair.

Each language has its own nodes, pairs and queue. Token ids are the same in all of them. A pair that another language chose is
found by its ids, so no pair may be dropped, however rare: there is no threshold, and `pairs.ids` has every pair. Otherwise the
invariants are those of _merge_cy.py. A pair's id is never used again, because the queue may still hold it.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.tokenmill.kernels._pair_map import TM_NO_VALUE, tm_pair_map_get
from cython.cimports.tokenmill.training._corpus_cy import FREE, Corpus
from cython.cimports.tokenmill.training._limits_cy import Limits
from cython.cimports.tokenmill.training._pairs_cy import Pairs, new_pair
from cython.cimports.tokenmill.training._step_cy import Step


@cython.final
@cython.cclass
class LanguageLoop(Step):
    """Merges pairs over one text, whose pairs are all in `pairs` (made with the threshold 1).

    limits: the languages share it.
    """

    limits: Limits

    def __cinit__(self, corpus: Corpus, pairs: Pairs, limits: Limits):
        self.corpus = corpus
        self.pairs = pairs
        self.limits = limits
        pairs.add_ids(1)

    @property
    def length(self) -> int:
        """How many tokens the text has now."""
        return self.corpus.n_tokens

    def best(self):
        """The next pair of the queue with its count, (left, right, count); None if there is none. It must be merged next."""
        pair: uint32_t = self.pairs.pop()
        if pair == 0:
            return None
        return self.pairs.pair[pair].left, self.pairs.pair[pair].right, self.pairs.pair[pair].count

    def merge(self, left: uint32_t, right: uint32_t, new: uint32_t) -> int:
        """Merge (left, right) into the token `new` wherever it is; returns how often the pair occurred."""
        first: cython.size_t = self.pairs.n_pairs
        pair: uint32_t
        count: uint64_t
        if self.pairs.ids.n_slots == 0:
            return 0
        pair = tm_pair_map_get(cython.address(self.pairs.ids), left, right)
        if pair == TM_NO_VALUE or self.pairs.pair[pair].count == 0:
            return 0
        count = self.pairs.pair[pair].count
        self.limits.make(left, right, new)
        with cython.nogil:
            self.visit(self.pairs.places[pair], self.pairs.pair[pair].size, new, 1)
            self.merge_at(pair, new, self.limits.spans[left], self.limits.spans[new])
            self.pairs.free_places(self.places, self.size)
            self.pairs.places[pair] = cython.NULL
            self.lay_out()
            self.pairs.add_ids(first)
        return count

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0, check=False)
    def successor(self, left: uint32_t, right: uint32_t) -> uint32_t:
        """A new pair, unless its token would be too long."""
        return new_pair(self.pairs, left, right) if self.limits.fits(left, right) else FREE | left
