"""The index of a phase: which pairs are in the corpus, how often, and where.

A phase lasts as long as one index. An index takes two passes over the nodes. The first gives each distinct pair an id and counts
it: pairs of bytes through a table of 65,536, others through a map. Then only the pairs that reach the threshold are kept, and
the second pass writes their positions into their segments (a counting sort).
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.tokenmill.kernels._arrays import new_array, zeroed_array
from cython.cimports.tokenmill.kernels._pair_map import tm_pair_map_free
from cython.cimports.tokenmill.training._corpus_cy import (
    FREE,
    SENTINEL,
    TOKEN,
    Corpus,
    Cursor,
    count_at,
    put_place,
)
from cython.cimports.tokenmill.training._limits_cy import Limits
from cython.cimports.tokenmill.training._pairs_cy import Pair, Pairs, new_places


@cython.final
@cython.cclass
class PairIndex:
    """Fills `pairs` with the pairs of `corpus`, and queues them.

    spans: uint32, the nodes of each token by id. limits: pairs that may not merge are left out.
    spread: tokens have spans[id] nodes each. If false, one.
    Call `count` until it returns True, `choose`, and `place` until it returns True. At the end of the phase, `forget`.
    """

    corpus: Corpus
    pairs: Pairs
    spans: cython.const[uint32_t][::1]
    limits: Limits
    spread: cython.bint
    direct: cython.pointer(uint32_t)
    kept: cython.pointer(uint32_t)  # by id in `count`: the new id, or FREE | left token
    at = cython.declare(cython.size_t, visibility="readonly")  # the next node to look at
    cursor: Cursor

    def __cinit__(
        self,
        corpus: Corpus,
        pairs: Pairs,
        spans: cython.const[uint32_t][::1],
        limits: Limits,
        spread: bool = False,
    ):
        self.corpus = corpus
        self.spread = spread
        self.pairs = pairs
        self.spans = spans
        self.limits = limits
        self.direct = cython.cast(cython.pointer(uint32_t), zeroed_array(1 << 16, 4))
        self.at = 1

    def __dealloc__(self):
        free(self.direct)
        free(self.kept)

    def count(self, nodes: cython.size_t) -> bool:
        """Count the pairs at the next nodes. True at the end."""
        stop: cython.size_t = min(self.at + nodes, self.corpus.n_nodes)
        node: cython.pointer(uint32_t) = self.corpus.node
        place: cython.size_t
        next: cython.size_t = self.at
        pair: uint32_t
        record: cython.pointer(Pair)
        left: uint32_t
        right: uint32_t
        with cython.nogil:
            while next < stop:
                place = next
                left = node[place]
                next += 1
                if left == SENTINEL:
                    continue
                left &= TOKEN
                if self.spread:
                    next = place + self.spans[left]
                right = node[next]
                if right == SENTINEL:
                    continue
                right &= TOKEN
                if (left | right) < 256:
                    pair = self.direct[(left << 8) | right]
                    if pair == 0:
                        pair = self.pairs.find(left, right)
                        self.direct[(left << 8) | right] = pair
                else:
                    pair = self.pairs.find(left, right)
                record = cython.address(self.pairs.pair[pair])
                record.count += count_at(self.corpus, cython.address(self.cursor), place)
                record.size += 1
                node[place] = pair
        self.at = next
        return self.at >= self.corpus.n_nodes

    def choose(self):
        """Keep the pairs that reach the threshold, reserve their segments and queue them."""
        pairs: Pairs = self.pairs
        old: cython.size_t
        kept: cython.size_t = 1
        left: uint32_t
        right: uint32_t
        free(self.direct)
        self.direct = cython.NULL
        tm_pair_map_free(cython.address(pairs.ids))  # the merge loop does not look for pairs
        self.kept = cython.cast(cython.pointer(uint32_t), new_array(pairs.n_pairs, 4))
        for old in range(1, pairs.n_pairs):
            left = pairs.pair[old].left
            right = pairs.pair[old].right
            if pairs.pair[old].count >= pairs.threshold and self.limits.fits(left, right):
                self.kept[old] = cython.cast(uint32_t, kept)
                pairs.pair[kept] = pairs.pair[old]
                pairs.places[kept] = new_places(pairs, pairs.pair[kept].size)
                pairs.enqueue(cython.cast(uint32_t, kept))
                kept += 1
            else:
                self.kept[old] = FREE | left
        pairs.n_pairs = kept
        self.at = 1

    def place(self, nodes: cython.size_t) -> bool:
        """Write the positions of the pairs at the next nodes into their segments. True at the end."""
        stop: cython.size_t = min(self.at + nodes, self.corpus.n_nodes)
        node: cython.pointer(uint32_t) = self.corpus.node
        places: cython.pp_char = self.pairs.places
        wide: cython.bint = self.corpus.wide
        width: cython.size_t = self.pairs.width
        place: cython.size_t
        held: uint32_t
        with cython.nogil:
            for place in range(self.at, stop):
                held = node[place]
                if held < FREE:
                    held = self.kept[held]
                    node[place] = held
                    if held < FREE:
                        put_place(places[held], 0, wide, place)
                        places[held] += width
        self.at = stop
        if stop < self.corpus.n_nodes:
            return False
        for place in range(1, self.pairs.n_pairs):
            places[place] -= self.pairs.pair[place].size * width
        free(self.kept)
        self.kept = cython.NULL
        self.at = 1
        return True

    def forget(self, nodes: cython.size_t) -> bool:
        """Write the tokens at the next nodes in place of their pairs, which a new phase counts again. True at the end."""
        stop: cython.size_t = min(self.at + nodes, self.corpus.n_nodes)
        node: cython.pointer(uint32_t) = self.corpus.node
        place: cython.size_t
        with cython.nogil:
            for place in range(self.at, stop):
                if node[place] < FREE:
                    node[place] = FREE | self.pairs.pair[node[place]].left
        self.at = stop
        return stop == self.corpus.n_nodes
