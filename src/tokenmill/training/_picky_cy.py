"""The loop of Picky BPE: merges by exact positions, and removals of tokens that have become junk.

naive.py defines Picky BPE; node, position, span, run and segment are defined in _corpus_cy.py and _pairs_cy.py. A
removal breaks three premises of the plain loop (_merge_cy.py), so this is a loop of its own:

    counts only fall           A removal raises counts of old pairs. The pair is queued once more. Rare pairs cannot be
                               dropped, so there is no threshold.
    all positions appear in    Old pairs get new positions. These go into more segments of the pair, its late segments;
    one step                   when the pair is merged, all of them are gathered and sorted.
    no two pairs spell the     Another pair may spell a removed token, which comes back. So pairs with a token that is not
    same bytes                 new are looked up by (left, right).

Invariants, between two steps
    1. The node at position p holds the id q of a pair exactly if that pair is at p and its joined bytes are not too many;
       then p is in one of the segments of q. A node holds FREE | token if the token is the last of its pretoken, or its
       pair is too long.
    2. The count of every pair is exact, and so is that of every token outside the alphabet.
    3. Every pair that was ever met has one id, and `pairs.ids` has all of them.
    4. All positions of a token outside the alphabet are in its births: the segments of the positions at which it was
       merged or became a part. (A position there may hold another token by now, or be listed twice.)
    5. A token has the same span everywhere: as many nodes as its bytes or characters.

One step: merge, lay out; then for x1 and for x2, if its IoS reaches T: take apart, lay out. As in the plain loop the successor
of an old pair is found through its record. So `find` is called once for each pair and step, and never for pairs with
a token that is made in this step.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.tokenmill.kernels._platform import tm_multiply, tm_prefetch
from cython.cimports.tokenmill.training._corpus_cy import (
    FREE,
    LAST,
    SENTINEL,
    TOKEN,
    Corpus,
    count_at,
    get_place,
    left_of,
    put_place,
)
from cython.cimports.tokenmill.training._pairs_cy import Pair, Pairs, new_pair, token_at
from cython.cimports.tokenmill.training._segments_cy import Segments
from cython.cimports.tokenmill.training._step_cy import AHEAD, Step, add_position
from cython.cimports.tokenmill.training._tokens_cy import Part, Token, Tokens

IDLE = cython.declare(cython.int, 0)
SWEEP = cython.declare(cython.int, 1)
SPLIT = cython.declare(cython.int, 2)
LAY_OUT = cython.declare(cython.int, 3)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _reaches(a: uint64_t, b: uint64_t, p: uint64_t, q: uint64_t) -> cython.bint:
    """Whether a / b >= p / q, exactly."""
    high: uint64_t
    other: uint64_t
    low: uint64_t = tm_multiply(a, q, cython.address(high))
    other_low: uint64_t = tm_multiply(p, b, cython.address(other))
    return high > other or (high == other and low >= other_low)


@cython.final
@cython.cclass
class PickyLoop(Step):
    """Merges and removals over a corpus whose pairs are all in `pairs` (made with the threshold 1).

    numerator, denominator: T; with denominator 0 nothing is removed, and this is plain BPE.
    expected_pairs: how many more pairs to make room for at once.
    """

    tokens: Tokens
    numerator: uint64_t
    denominator: uint64_t
    max_bytes: cython.size_t
    least: uint64_t
    segments: Segments
    # the step under way
    stage: cython.int
    turn: cython.int  # which of x1 and x2 is judged next: 0, 1; 2 for neither
    unseen: cython.bint  # x3 was made in this step
    first_successor: cython.size_t  # the pairs from this one on are of this step
    times: uint64_t  # m
    counts: uint64_t[2]  # f of x1 and x2 before the merge
    removed: uint32_t  # the token, in SPLIT

    def __cinit__(
        self,
        corpus: Corpus,
        pairs: Pairs,
        tokens: Tokens,
        numerator: uint64_t,
        denominator: uint64_t,
        min_pair_count: uint64_t,
        max_bytes: cython.size_t,
        expected_pairs: cython.size_t = 0,
    ):
        self.corpus = corpus
        self.pairs = pairs
        self.tokens = tokens
        self.numerator = numerator
        self.denominator = denominator
        self.least = min_pair_count
        self.max_bytes = max_bytes
        self.keep_live = True
        self.segments = Segments(pairs, corpus.wide, expected_pairs)
        self.pairs.add_ids(1)

    @property
    def present(self) -> int:
        """The number of tokens that are present now."""
        return self.tokens.n_tokens - self.tokens.n_removed

    def run_on(self, wanted: cython.size_t, work: cython.size_t) -> bool:
        """Go on until `wanted` tokens are present or about `work` positions were seen. False at the end."""
        spent: cython.size_t = 0
        pair: uint32_t
        with cython.nogil:
            while spent < work:
                if self.stage == IDLE:
                    if self.tokens.n_tokens - self.tokens.n_removed >= wanted:
                        break
                    pair = self.pairs.pop()
                    if pair == 0 or self.pairs.pair[pair].count < self.least:
                        break
                    self._begin(self.pairs, self.tokens, pair)
                    spent += 8
                elif self.stage == LAY_OUT:
                    spent += self.n_fresh
                    if self.lay_out(work):
                        self._judge(self.pairs, self.tokens)
                else:
                    spent += self.sweep(work) if self.stage == SWEEP else self._split(work)
                    if self.at == self.size:
                        self.at = 0
                        if self.stage == SWEEP:
                            self._end_sweep(self.pairs, self.tokens)
                        else:
                            self._end_split(self.pairs, self.tokens)
                        self.stage = LAY_OUT
        return spent >= work

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _begin(self, pairs: Pairs, tokens: Tokens, merged: uint32_t) -> cython.int:
        known: uint32_t = tokens.n_tokens
        x1: uint32_t = pairs.pair[merged].left
        x2: uint32_t = pairs.pair[merged].right
        tokens.noted[0] = pairs.pair[merged].count
        tokens.noted[1] = 0
        x3: uint32_t = tokens.join(x1, x2)
        self.counts[0] = tokens.token[x1].count
        self.counts[1] = tokens.token[x2].count
        self.unseen = x3 == known
        self.first_successor = pairs.n_pairs
        size: cython.size_t = self.segments.gather_pair(self.corpus, merged)
        self.visit(self.segments.gathered, size)
        self.merge_at(merged, x3, tokens.token[x1].span, tokens.token[x3].span)
        self.segments.reserve()
        self.turn = 0
        self.stage = SWEEP
        return 0

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _too_long(self, left: uint32_t, right: uint32_t) -> cython.bint:
        token: cython.pointer(Token) = self.tokens.token
        return cython.cast(cython.size_t, token[left].length) + token[right].length > self.max_bytes

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0)
    def _wanted(self, left: uint32_t, right: uint32_t) -> uint32_t:
        """Return the node of `left` before `right`: the id of the pair, or FREE | left if the token is too long."""
        pair: uint32_t
        if self._too_long(left, right):
            return FREE | left
        pair = self.pairs.find(left, right)
        self.segments.retire(pair)
        return pair

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0, check=False)
    def successor(self, left: uint32_t, right: uint32_t) -> uint32_t:
        """As `_wanted`, for a pair with x3 that is asked for once in this step.

        If x3 is new, so is the pair, and it is not looked up before the end of the sweep. It gets its place in the map then.
        """
        if not self.unseen or self._too_long(left, right):
            return self._wanted(left, right)
        return new_pair(self.pairs, left, right)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _put(self, place: cython.size_t, held: uint32_t, count: uint64_t) -> cython.void:
        """Let the node at `place` hold the pair or token `held`; a pair gains `count` occurrences."""
        self.corpus.node[place] = held
        if held < FREE:
            self.n_fresh = add_position(self, self.pairs.pair, self.n_fresh, self.corpus.wide, held, place, count)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _end_sweep(self, pairs: Pairs, tokens: Tokens) -> cython.int:
        if self.unseen:
            pairs.add_ids(self.first_successor)
        self.times = self.moved
        tokens.token[self.x1].count -= self.times
        tokens.token[self.x2].count -= self.times
        tokens.token[self.x3].count += self.times
        return self._keep_births(pairs, tokens, self.x3)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _keep_births(self, pairs: Pairs, tokens: Tokens, id: uint32_t) -> cython.int:
        """Make the live positions a segment of births of `id`, and free the rest of their memory."""
        if id < tokens.n_alphabet:
            self.live = 0
        pairs.free_places(self.places + self.live * pairs.width, self.size - self.live)
        self.segments.add(cython.address(tokens.token[id].births), self.places, self.live)
        return 0

    # ---- a removal

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _judge(self, pairs: Pairs, tokens: Tokens) -> cython.int:
        """Begin the removal of x1 or x2 if it is due, else end the step."""
        x: uint32_t
        uses: uint64_t = 2 if self.x1 == self.x2 else 1
        while self.turn < 2:
            x = self.x2 if self.turn else self.x1
            self.turn += 1
            if self.denominator == 0 or x < tokens.n_alphabet or (self.turn == 2 and uses == 2):
                continue
            if _reaches(uses * self.times, self.counts[self.turn - 1], self.numerator, self.denominator):
                tokens.noted[0] = uses * self.times
                tokens.noted[1] = self.counts[self.turn - 1]
                self._begin_split(pairs, tokens, x)
                return 0
        self.stage = IDLE
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _begin_split(self, pairs: Pairs, tokens: Tokens, x: uint32_t) -> cython.int:
        i: cython.size_t
        size: cython.size_t
        tokens.remove(x)
        self.removed = x
        size = self.segments.gather(self.corpus, x, True, cython.address(tokens.token[x].births))
        self.visit(self.segments.gathered, size)
        self.reserve(2 * (size if size < tokens.n_tokens else tokens.n_tokens) + tokens.n_apart, size * (tokens.n_apart + 1))
        self.segments.reserve()
        for i in range(tokens.n_apart - 1):
            tokens.apart[i].held = self._wanted(tokens.apart[i].token, tokens.apart[i + 1].token)
        self.stage = SPLIT
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _split(self, work: cython.size_t) -> cython.Py_ssize_t:
        """Take the removed token apart at the next `work` positions; returns how many were visited."""
        node: cython.pointer(uint32_t) = self.corpus.node
        wide: cython.bint = self.corpus.wide
        begin: cython.size_t = self.at
        stop: cython.size_t = self.size if self.size - begin < work else begin + work
        span: cython.size_t = self.tokens.token[self.removed].span
        count: uint64_t
        i: cython.size_t
        place: cython.size_t
        for i in range(begin, stop):
            if i + AHEAD < self.size:
                place = get_place(self.places, i + AHEAD, wide)
                tm_prefetch(node + place - 1)
                tm_prefetch(node + place + span)
            place = get_place(self.places, i, wide)
            if token_at(node, self.pairs.pair, place) == self.removed:
                count = count_at(self.corpus, cython.address(self.cursor), place)
                self.moved += count
                put_place(self.places, self.live, wide, place)
                self.live += 1
                self._split_at(place, left_of(node, place), count)
        self.at = stop
        return stop - begin

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _split_at(self, place: cython.size_t, left: cython.size_t, count: uint64_t) -> cython.int:
        """Replace the removed token at `place` by its parts."""
        node: cython.pointer(uint32_t) = self.corpus.node
        pair: cython.pointer(Pair) = self.pairs.pair  # does not move: there is room for all successors
        apart: cython.pointer(Part) = self.tokens.apart
        n_apart: cython.size_t = self.tokens.n_apart
        last: uint32_t = apart[n_apart - 1].token
        old: uint32_t = node[left]
        held: uint32_t
        span: uint32_t
        j: cython.size_t
        if old < FREE:
            if pair[old].step != self.number:
                pair[old].successor = self._wanted(pair[old].left, apart[0].token)
                pair[old].step = self.number
            pair[old].count -= count
            self._put(left, pair[old].successor, count)
        elif old != SENTINEL:  # too long with the whole token, perhaps not with its first part
            self._put(left, self._wanted(old & TOKEN, apart[0].token), count)
        old = node[place]
        for j in range(n_apart):
            span = self.tokens.token[apart[j].token].span
            if j + 1 < n_apart:
                held = apart[j].held
            elif old < FREE:
                if pair[old].step != self.number:
                    pair[old].successor = self._wanted(last, pair[old].right)
                    pair[old].step = self.number
                held = pair[old].successor
                pair[old].count -= count
            elif node[place + span] == SENTINEL:
                held = FREE | last
            else:
                held = self._wanted(last, token_at(node, pair, place + span))
            self._put(place, held, count)
            if span > 1:
                node[place + span - 1] = LAST | span
            place += span
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _end_split(self, pairs: Pairs, tokens: Tokens) -> cython.int:
        """Count the parts, and note where they were born."""
        j: cython.size_t
        offset: cython.size_t = 0
        part: uint32_t
        tokens.token[self.removed].count = 0
        for j in range(tokens.n_apart):
            part = tokens.apart[j].token
            tokens.token[part].count += self.moved
            if j > 0 and part >= tokens.n_alphabet and self.live:
                self.segments.add_moved(cython.address(tokens.token[part].births), self.places, self.live, offset)
            offset += tokens.token[part].span
        return self._keep_births(pairs, tokens, tokens.apart[0].token)
