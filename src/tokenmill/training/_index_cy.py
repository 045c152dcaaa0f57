"""The index of a phase: which pairs are in the corpus, how often, and where.

A phase lasts as long as one index. An index takes two passes over the nodes. The first gives each distinct pair an id and counts
it: pairs of bytes through a table of 65,536, others through a map. Then only the pairs that reach the threshold are kept, and
the second pass writes their positions into their segments (a counting sort).

Merging leaves nodes that are inside a token, pretokens of one token, and dead entries: of many languages two entries in three
after 2,000 merges. So the index is renewed when the queue comes to pairs without a segment. Their ids stay. The first pass
counts the positions of each pair; the second moves the tokens together, so that each is one node again, and writes
the segments from the nodes.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.tokenmill.kernels._arrays import new_array, zeroed_array
from cython.cimports.tokenmill.kernels._pair_map import tm_pair_map_free
from cython.cimports.tokenmill.training._corpus_cy import (
    FREE,
    INNER,
    SENTINEL,
    TOKEN,
    Corpus,
    Cursor,
    count_at,
    put_place,
)
from cython.cimports.tokenmill.training._limits_cy import Limits
from cython.cimports.tokenmill.training._pairs_cy import Pair, Pairs, new_places, queue_level


@cython.final
@cython.cclass
class PairIndex:
    """Fills `pairs` with the pairs of `corpus`, and queues them.

    spans: uint32, the nodes of each token by id. limits: pairs that may not merge are left out.
    spread: tokens have spans[id] nodes each. If false, one.
    Call `count` until it returns True, `choose`, and `place` until it returns True. To renew it, or to end the phase: the
    same with `recount` in place of `count`. Each token has one node then.
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
    renewed: cython.bint
    to: cython.size_t  # where the next token goes
    run: cython.size_t  # that `at` is in
    to_run: cython.size_t

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

    def recount(self, nodes: cython.size_t) -> bool:
        """Count the positions of each pair at the next nodes. True at the end."""
        stop: cython.size_t = min(self.at + nodes, self.corpus.n_nodes)
        node: cython.pointer(uint32_t) = self.corpus.node
        pair: cython.pointer(Pair) = self.pairs.pair
        place: cython.size_t
        self.renewed = True
        with cython.nogil:
            if self.at == 1:
                for place in range(self.pairs.n_pairs):
                    pair[place].size = 0
            for place in range(self.at, stop):
                if node[place] < FREE:
                    pair[node[place]].size += 1
        self.at = stop
        return stop == self.corpus.n_nodes

    def choose(self, most: cython.size_t):
        """Keep the pairs that reach the threshold, and reserve segments of about `most` entries. New pairs are queued."""
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
            if pairs.pair[old].count >= pairs.threshold and (self.renewed or self.limits.fits(left, right)):
                if self.renewed:
                    kept = old
                self.kept[old] = cython.cast(uint32_t, kept)
                pairs.pair[kept] = pairs.pair[old]
                kept += 1
            else:
                self.kept[old] = FREE | left
                if self.renewed:
                    pairs.pair[old].size = 0
        if not self.renewed:
            pairs.n_pairs = kept
        pairs.set_floor(most)
        for old in range(1, pairs.n_pairs):
            if pairs.pair[old].size and queue_level(pairs.pair[old].count) >= pairs.floor:
                pairs.places[old] = new_places(pairs, pairs.pair[old].size)
            if not self.renewed:
                pairs.enqueue(cython.cast(uint32_t, old))
        self.at = self.to = 1
        self.run = self.to_run = 0

    def place(self, nodes: cython.size_t) -> bool:
        """Write the positions of the pairs at the next nodes into their segments. True at the end.

        If the index is renewed, the tokens move together.
        """
        pairs: Pairs = self.pairs
        corpus: Corpus = self.corpus
        stop: cython.size_t = min(self.at + nodes, corpus.n_nodes)
        end: cython.size_t
        pair: cython.size_t
        with cython.nogil:
            while self.at < stop:
                end = corpus.runs[self.run + 1].start
                if self.at == corpus.runs[self.run].start:
                    self.begin_run()
                self.place_run(stop if stop < end else end)
                self.run += self.at == end
        if stop < corpus.n_nodes:
            return False
        self.end_run()
        corpus.n_runs = self.to_run
        if self.to < corpus.n_nodes:
            corpus.cut(self.to)
        for pair in range(1, pairs.n_pairs):
            if pairs.places[pair] != cython.NULL:
                pairs.places[pair] -= pairs.pair[pair].size * pairs.width
        free(self.kept)
        self.kept = cython.NULL
        self.at = 1
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def begin_run(self) -> cython.void:
        self.end_run()
        self.corpus.runs[self.to_run].count = self.corpus.runs[self.run].count
        self.corpus.runs[self.to_run].start = self.to
        self.to_run += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def end_run(self) -> cython.void:
        """Drop the last run if nothing is left of it."""
        if self.to_run and self.corpus.runs[self.to_run - 1].start == self.to:
            self.to_run -= 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def place_run(self, stop: cython.size_t) -> cython.void:
        """`place` for the nodes of one run, up to `stop`."""
        node: cython.pointer(uint32_t) = self.corpus.node
        kept: cython.pointer(uint32_t) = self.kept
        places: cython.pp_char = self.pairs.places
        wide: cython.bint = self.corpus.wide
        width: cython.size_t = self.pairs.width
        renewed: cython.bint = self.renewed
        to: cython.size_t = self.to
        place: cython.size_t
        held: uint32_t
        for place in range(self.at, stop):
            held = node[place]
            if held < FREE:
                held = kept[held]
                node[to] = held
                if held < FREE and places[held] != cython.NULL:
                    put_place(places[held], 0, wide, to)
                    places[held] += width
                to += 1
            elif held < INNER or not renewed:
                node[to] = held
                to += 1
            elif held == SENTINEL:
                if node[to - 1] != SENTINEL and node[to - 2] == SENTINEL:  # a pretoken of one token has no pairs
                    to -= 1
                    self.corpus.lone += self.corpus.runs[self.to_run - 1].count
                if node[to - 1] != SENTINEL:
                    node[to] = SENTINEL
                    to += 1
        self.to = to
        self.at = stop
