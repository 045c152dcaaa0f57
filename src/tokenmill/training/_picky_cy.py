"""The loop of Picky BPE: merges by exact positions, and removals of tokens that have become junk.

naive_picky.py defines Picky BPE; node, position, span, run and segment are defined in _corpus_cy.py and _pairs_cy.py. A
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
    5. A token has the same span everywhere: as many nodes as its bytes or characters, since nodes are not compacted here.

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
    Cursor,
    count_at,
    get_place,
    left_of,
    put_place,
)
from cython.cimports.tokenmill.training._pairs_cy import Pair, Pairs, new_pair, token_at
from cython.cimports.tokenmill.training._segments_cy import Segments, new_position
from cython.cimports.tokenmill.training._tokens_cy import Part, Token, Tokens

AHEAD = cython.declare(cython.size_t, 16)  # how many entries ahead nodes are prefetched

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
class PickyLoop:
    """Merges and removals over a corpus whose pairs are all in `pairs` (made with the threshold 1).

    numerator, denominator: T; with denominator 0 nothing is removed, and this is plain BPE.
    expected_pairs: how many more pairs to make room for at once.
    """

    corpus: Corpus
    pairs: Pairs
    tokens: Tokens
    numerator: uint64_t
    denominator: uint64_t
    max_bytes: cython.size_t
    least: uint64_t
    segments: Segments
    # the step under way
    stage: cython.int
    turn: cython.int  # which of x1 and x2 is judged next: 0, 1; 2 for neither
    step: uint32_t
    x1: uint32_t
    x2: uint32_t
    x3: uint32_t
    unseen: cython.bint  # x3 was made in this step
    first_successor: cython.size_t  # the pairs from this one on are of this step
    times: uint64_t  # m
    moved: uint64_t  # occurrences of the pair or the removed token, so far
    counts: uint64_t[2]  # f of x1 and x2 before the merge
    merged: uint32_t  # the pair
    removed: uint32_t  # the token, in SPLIT
    swapped: uint32_t  # the pair (x2, x1), once it was met
    after_swapped: uint32_t  # then also the pair (x3, x1)
    doubled: uint32_t  # and the pair (x3, x3)
    places: cython.p_char  # the positions to visit: of the pair, or of the token that is removed
    size: cython.size_t
    live: cython.size_t  # how many of these were valid; they are moved to the front
    at: cython.size_t
    cursor: Cursor
    before: cython.size_t

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
        self.segments = Segments(pairs, corpus.wide, expected_pairs)
        self.pairs.add_ids(1)

    @property
    def present(self) -> int:
        """How many tokens are present now."""
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
                elif self.stage != LAY_OUT:
                    spent += self._visit(work)
                else:
                    spent += self.segments.n_fresh
                    if self.segments.lay_out(work):
                        self._judge(self.pairs, self.tokens)
        return spent >= work

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _begin(self, pairs: Pairs, tokens: Tokens, merged: uint32_t) -> cython.int:
        known: uint32_t = tokens.n_tokens
        self.merged = merged
        self.x1 = pairs.pair[merged].left
        self.x2 = pairs.pair[merged].right
        self.counts[0] = tokens.token[self.x1].count
        self.counts[1] = tokens.token[self.x2].count
        self.x3 = tokens.join(self.x1, self.x2)
        self.unseen = self.x3 == known
        self.first_successor = pairs.n_pairs
        self._take(self.segments.gather_pair(self.corpus, merged))
        self.segments.reserve(2 * (self.size if self.size < tokens.n_tokens else tokens.n_tokens) + 3, 2 * self.size)
        self.before = 0
        self.swapped = 0
        self.turn = 0
        self.stage = SWEEP
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _take(self, size: cython.size_t) -> cython.void:
        """Begin to visit the positions that were gathered."""
        self.places = self.segments.gathered
        self.size = size
        self.live = 0
        self.moved = 0
        self.at = 0
        self.cursor.run = 0
        self.cursor.end = 0
        self.step += 1

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
        """What the node of `left` holds with `right` beside it: the id of the pair, or FREE | left if it is too long."""
        return FREE | left if self._too_long(left, right) else self.pairs.find(left, right)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0)
    def _with_new(self, left: uint32_t, right: uint32_t) -> uint32_t:
        """As `_wanted`, for a pair with x3 that is asked for once in this step.

        If x3 is new, so is the pair, and it is not looked up before the end of the sweep. It gets its place in the map then.
        """
        if not self.unseen or self._too_long(left, right):
            return self._wanted(left, right)
        return new_pair(self.pairs, left, right)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _make_successor(self, old: uint32_t, on_left: cython.bint) -> cython.int:
        """Set the successor of `old` in this merge: of (a, x1) if on_left, else of (x2, b)."""
        left: uint32_t = self.pairs.pair[old].left
        right: uint32_t = self.pairs.pair[old].right
        swapped: cython.bint = left == self.x2 and right == self.x1
        if on_left or swapped:
            self.pairs.pair[old].successor = self._with_new(left, self.x3)
        else:
            self.pairs.pair[old].successor = self._with_new(self.x3, right)
        if swapped:
            self.swapped = old
            self.after_swapped = self._with_new(self.x3, right)
            self.doubled = self._with_new(self.x3, self.x3)
        self.pairs.pair[old].step = self.step
        return 0

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _put(self, place: cython.size_t, held: uint32_t, count: uint64_t) -> cython.void:
        """Let the node at `place` hold the pair or token `held`; a pair gains `count` occurrences."""
        pair: cython.pointer(Pair) = self.pairs.pair
        self.corpus.node[place] = held
        if held < FREE:
            pair[held].count += count
            new_position(self.segments, held, place)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _visit(self, work: cython.size_t) -> cython.longlong:
        """Merge or take apart at the next `work` positions, in ascending order."""
        node: cython.pointer(uint32_t) = self.corpus.node
        wide: cython.bint = self.corpus.wide
        merging: cython.bint = self.stage == SWEEP
        begin: cython.size_t = self.at
        stop: cython.size_t = self.size if self.size - begin < work else begin + work
        span: cython.size_t = self.tokens.token[self.x3 if merging else self.removed].span
        cursor: Cursor = self.cursor
        count: uint64_t
        i: cython.size_t
        place: cython.size_t
        for i in range(begin, begin + AHEAD if stop - begin > AHEAD else stop):
            tm_prefetch(node + get_place(self.places, i, wide))
        for i in range(begin, stop):
            if i + AHEAD < self.size:
                place = get_place(self.places, i + AHEAD, wide)
                tm_prefetch(node + place - 1)
                tm_prefetch(node + place + span)
            place = get_place(self.places, i, wide)
            if merging:
                if node[place] != self.merged:
                    continue
            elif token_at(node, self.pairs.pair, place) != self.removed:
                continue
            count = count_at(self.corpus, cython.address(cursor), place)
            self.moved += count
            put_place(self.places, self.live, wide, place)
            self.live += 1
            if merging:
                self._merge_at(place, left_of(node, place), count)
            else:
                self._split_at(place, left_of(node, place), count)
        self.cursor = cursor
        self.at = stop
        if stop == self.size:
            if merging:
                self._end_sweep(self.pairs, self.tokens)
            else:
                self._end_split(self.pairs, self.tokens)
        return stop - begin

    # ---- a merge

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(-1)
    def _merge_at(self, place: cython.size_t, left: cython.size_t, count: uint64_t) -> cython.int:
        node: cython.pointer(uint32_t) = self.corpus.node
        pair: cython.pointer(Pair) = self.pairs.pair  # does not move: there is room for all successors
        middle: cython.size_t = self.tokens.token[self.x1].span
        whole: cython.size_t = self.tokens.token[self.x3].span
        held: uint32_t = FREE | self.x3
        old: uint32_t = node[left]
        # If the token on the left was made just now, the pair of the two was made with it.
        if old < FREE and left != self.before:
            if pair[old].step != self.step:
                self._make_successor(old, True)
            pair[old].count -= count
            self._put(left, pair[old].successor, count)
        old = node[place + middle]
        if old < FREE:
            if pair[old].step != self.step:
                self._make_successor(old, False)
            pair[old].count -= count
            held = pair[old].successor
            if old == self.swapped:  # where x1 x2 x1 x2 was, the pair is (x3, x3)
                held = self.doubled if node[place + whole] == self.merged else self.after_swapped
        self._put(place, held, count)
        node[place + middle] = FREE
        node[place + whole - 1] = LAST | cython.cast(uint32_t, whole)
        self.before = place
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _end_sweep(self, pairs: Pairs, tokens: Tokens) -> cython.int:
        if self.unseen:
            pairs.add_ids(self.first_successor)
        self.times = self.moved
        pairs.pair[self.merged].count = 0
        tokens.token[self.x1].count -= self.times
        tokens.token[self.x2].count -= self.times
        tokens.token[self.x3].count += self.times
        self._keep_births(pairs, tokens, self.x3)
        self.at = 0
        self.stage = LAY_OUT
        return 0

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
                self._begin_split(pairs, tokens, x)
                return 0
        self.stage = IDLE
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _begin_split(self, pairs: Pairs, tokens: Tokens, x: uint32_t) -> cython.int:
        i: cython.size_t
        tokens.remove(x)
        self.removed = x
        self._take(self.segments.gather(self.corpus, x, True, cython.address(tokens.token[x].births)))
        self.segments.reserve(
            2 * (self.size if self.size < tokens.n_tokens else tokens.n_tokens) + tokens.n_apart,
            self.size * (tokens.n_apart + 1),
        )
        for i in range(tokens.n_apart - 1):
            tokens.apart[i].held = self._wanted(tokens.apart[i].token, tokens.apart[i + 1].token)
        self.stage = SPLIT
        return 0

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
            if pair[old].step != self.step:
                pair[old].successor = self._wanted(pair[old].left, apart[0].token)
                pair[old].step = self.step
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
                if pair[old].step != self.step:
                    pair[old].successor = self._wanted(last, pair[old].right)
                    pair[old].step = self.step
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
        self._keep_births(pairs, tokens, tokens.apart[0].token)
        self.at = 0
        self.stage = LAY_OUT
        return 0
