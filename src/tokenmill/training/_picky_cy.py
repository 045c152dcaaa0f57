"""The loop of Picky BPE: merges by exact positions, and removals of tokens that have become junk.

tests/naive_training.py defines Picky BPE; node, position, span, run and segment are defined in _corpus_cy.py and _pairs_cy.py. A
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
       Dead entries pile up, since tokens are removed and come back. When they fill `most_bytes`, all segments are rebuilt
       from the nodes, with one segment for each pair and token.
    5. A token has the same span everywhere: as many nodes as its bytes or characters.

One step: merge, lay out; then for x1 and for x2, if its IoS reaches T: take apart, lay out. As in the plain loop the successor
of an old pair is found through its record. So `find` is called once for each pair and step, and never for pairs with
a token that is made in this step.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, qsort
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.tokenmill.kernels._arrays import grow
from cython.cimports.tokenmill.kernels._platform import tm_multiply, tm_prefetch
from cython.cimports.tokenmill.kernels._signals import check_signals
from cython.cimports.tokenmill.training._corpus_cy import (
    FREE,
    LAST,
    SENTINEL,
    TOKEN,
    Corpus,
    Cursor,
    compare_narrow,
    compare_wide,
    count_at,
    get_place,
    left_of,
    put_place,
)
from cython.cimports.tokenmill.training._pairs_cy import Pair, Pairs, new_pair, new_places, token_at
from cython.cimports.tokenmill.training._step_cy import AHEAD, BETWEEN_LOOKS, Step, add_position
from cython.cimports.tokenmill.training._tokens_cy import Tokens

Segment = cython.struct(places=cython.p_char, size=cython.size_t, next=uint32_t)  # next: the one after it in its list


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
    spare_bytes: room for dead entries, in addition to that for each node.
    """

    numerator: uint64_t
    denominator: uint64_t
    unseen: cython.bint  # x3 is new, and under way
    # segments that are not the newest of their pair, and births of tokens: linked lists in one table
    late: cython.pointer(uint32_t)  # by pair: the list of its late segments, 0 for none
    late_room: cython.size_t
    segment: cython.pointer(Segment)
    n_segments: uint32_t
    segments_room: cython.size_t
    free_entry: uint32_t
    gathered: cython.p_char
    most_bytes: cython.size_t

    def __cinit__(
        self,
        corpus: Corpus,
        pairs: Pairs,
        tokens: Tokens,
        numerator: uint64_t,
        denominator: uint64_t,
        min_pair_count: uint64_t,
        expected_pairs: cython.size_t = 0,
        spare_bytes: cython.size_t = 0,
    ):
        self.corpus = corpus
        self.pairs = pairs
        self.tokens = tokens
        self.numerator = numerator
        self.denominator = denominator
        self.least = min_pair_count
        self.keep_live = True
        self.n_segments = 1  # 0 is none
        self.most_bytes = 4 * corpus.n_nodes * pairs.width + spare_bytes  # live entries take half of it at most
        pairs.reserve(expected_pairs)
        self._reserve_lists(pairs)
        pairs.add_ids(1)

    def __dealloc__(self):
        free(self.late)
        free(self.segment)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1, check=False)
    def step(self, pairs: Pairs, tokens: Tokens, merged: uint32_t) -> cython.Py_ssize_t:
        """Merge a pair, and remove its tokens if that is due; returns how many positions were seen."""
        known: uint32_t = tokens.n_tokens
        x1: uint32_t = pairs.pair[merged].left
        x2: uint32_t = pairs.pair[merged].right
        f: uint64_t[2]
        first_successor: cython.size_t = pairs.n_pairs
        turn: cython.int
        if pairs.block_bytes + self.n_segments * cython.sizeof(Segment) > self.most_bytes:
            self._rewrite_segments(pairs, tokens)
        f[0], f[1] = tokens.token[x1].count, tokens.token[x2].count
        x3: uint32_t = tokens.join(x1, x2, pairs.pair[merged].count)
        self.unseen = x3 == known
        self._retire(pairs, merged)
        seen = self._gather(pairs, self.late + merged, merged, False)
        self.visit(self.gathered, seen, tokens.n_tokens, 1)
        self._reserve_lists(pairs)
        self.merge_at(merged, x3)
        if self.unseen:
            pairs.add_ids(first_successor)
            self.unseen = False
        times = self.moved
        tokens.token[x1].count -= times
        tokens.token[x2].count -= times
        tokens.token[x3].count += times
        self._keep_births(pairs, tokens, x3)
        self.lay_out()
        seen += 8 + self.n_fresh
        if x1 == x2:
            times *= 2
        for turn in range(2 if self.denominator else 0):
            x = x2 if turn else x1
            if x >= tokens.n_alphabet and not (turn and x1 == x2) and _reaches(times, f[turn], self.numerator, self.denominator):
                seen += self._remove(pairs, tokens, x, times, f[turn])
        return seen

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0, check=False)
    def successor(self, left: uint32_t, right: uint32_t) -> uint32_t:
        """Return the node of `left` before `right`: the id of the pair, or FREE | left if the token is too long.

        A merge asks once for each pair with x3. If x3 is new, so is the pair, and it gets its place in the map after the merge.
        """
        if not self.tokens.fits(left, right):
            return FREE | left
        if self.unseen:
            return new_pair(self.pairs, left, right)
        pair = self.pairs.find(left, right)
        self._retire(self.pairs, pair)
        return pair

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
    def _keep_births(self, pairs: Pairs, tokens: Tokens, id: uint32_t) -> cython.int:
        """Make the live positions a segment of births of `id`, and free the rest of their memory."""
        if id < tokens.n_alphabet:
            self.live = 0
        pairs.free_places(self.places + self.live * pairs.width, self.size - self.live)
        return self._add_segment(cython.address(tokens.token[id].births), self.places, self.live)

    # ---- segments

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _reserve_lists(self, pairs: Pairs) -> cython.int:
        """Make room for as many lists as there is room for pairs."""
        room: cython.size_t = self.late_room
        grow(cython.address(self.late), cython.address(self.late_room), pairs.room, 4)
        memset(self.late + room, 0, (self.late_room - room) * 4)
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _retire(self, pairs: Pairs, pair: uint32_t) -> cython.int:
        """Move the newest segment of a pair into its list."""
        if pairs.places[pair] != cython.NULL:
            self._add_segment(self.late + pair, pairs.places[pair], pairs.pair[pair].size)
            pairs.places[pair] = cython.NULL
            pairs.pair[pair].size = 0
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _add_segment(self, head: cython.pointer(uint32_t), places: cython.p_char, size: cython.size_t) -> cython.int:
        """Add a segment to a list, unless it is empty."""
        entry: uint32_t = self.free_entry
        if size == 0:
            return 0
        if entry:
            self.free_entry = self.segment[entry].next
        else:
            entry = self.n_segments
            grow(cython.address(self.segment), cython.address(self.segments_room), entry + 1, cython.sizeof(Segment))
            self.n_segments += 1
        self.segment[entry].places = places
        self.segment[entry].size = size
        self.segment[entry].next = head[0]
        head[0] = entry
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _rewrite_segments(self, pairs: Pairs, tokens: Tokens) -> cython.int:
        """Rebuild all segments from the nodes by a counting sort, without dead entries, and fill the queue again."""
        node: cython.pointer(uint32_t) = self.corpus.node
        pair: cython.pointer(Pair) = pairs.pair
        wide: cython.bint = self.corpus.wide
        fills: cython.bint
        pairs.empty()
        self.free_entry = 0
        self.n_segments = tokens.n_tokens + 1
        grow(cython.address(self.segment), cython.address(self.segments_room), self.n_segments, cython.sizeof(Segment))
        memset(self.segment, 0, self.n_segments * cython.sizeof(Segment))
        memset(self.late, 0, self.late_room * 4)
        births = self.segment + 1
        for id in range(tokens.n_alphabet, tokens.n_tokens):
            tokens.token[id].births = cython.cast(uint32_t, id + 1)
        for id in range(pairs.n_pairs):
            pair[id].size = 0
            pairs.places[id] = cython.NULL
        for fills in range(2):
            if fills:
                for id in range(1, pairs.n_pairs):
                    if pair[id].size:
                        pairs.places[id] = new_places(pairs, pair[id].size)
                        pair[id].size = 0
                        pairs.enqueue(cython.cast(uint32_t, id))
                for id in range(tokens.n_alphabet, tokens.n_tokens):
                    if births[id].size:
                        births[id].places = new_places(pairs, births[id].size)
                        births[id].size = 0
            for place in range(self.corpus.n_nodes):
                if place % BETWEEN_LOOKS == 0:
                    check_signals()
                held = node[place]
                if held < FREE:
                    if fills:
                        put_place(pairs.places[held], pair[held].size, wide, place)
                    pair[held].size += 1
                held = token_at(node, pair, place)
                if tokens.n_alphabet <= held < tokens.n_tokens:
                    if fills:
                        put_place(births[held].places, births[held].size, wide, place)
                    births[held].size += 1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _gather(
        self, pairs: Pairs, head: cython.pointer(uint32_t), key: uint32_t, of_token: cython.bint
    ) -> cython.Py_ssize_t:
        """Join the segments of a list, of the pair `key` or of the token `key`, into `gathered`; returns how many positions.

        They are in ascending order. If there are several segments, only positions where `key` is now are kept.
        """
        wide: cython.bint = self.corpus.wide
        node: cython.pointer(uint32_t) = self.corpus.node
        first: uint32_t = head[0]
        entry: uint32_t = first
        last: uint32_t = 0
        total: cython.size_t = 0
        size: cython.size_t = 0
        self.gathered = cython.NULL
        if first == 0:
            return 0
        while entry:
            total += self.segment[entry].size
            last = entry
            entry = self.segment[entry].next
        head[0] = 0
        self.segment[last].next = self.free_entry
        self.free_entry = first
        if first == last:  # in order already
            self.gathered = self.segment[first].places
            return total
        self.gathered = new_places(pairs, total)
        # First one after the other, so that nodes can be prefetched: most segments hold a few positions.
        entry = first
        while size < total:
            memcpy(self.gathered + size * pairs.width, self.segment[entry].places, self.segment[entry].size * pairs.width)
            size += self.segment[entry].size
            pairs.free_places(self.segment[entry].places, self.segment[entry].size)
            entry = self.segment[entry].next
        size = 0
        for i in range(total):
            if i + AHEAD < total:
                tm_prefetch(node + get_place(self.gathered, i + AHEAD, wide))
            place = get_place(self.gathered, i, wide)
            if (token_at(node, pairs.pair, place) if of_token else node[place]) == key:
                put_place(self.gathered, size, wide, place)
                size += 1
        pairs.free_places(self.gathered + size * pairs.width, total - size)
        qsort(self.gathered, size, pairs.width, compare_wide if wide else compare_narrow)
        return size

    # ---- a removal

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _remove(self, pairs: Pairs, tokens: Tokens, x: uint32_t, times: uint64_t, f: uint64_t) -> cython.Py_ssize_t:
        """Take the token x, whose IoS is times / f, apart wherever it is; returns how many positions were seen."""
        node: cython.pointer(uint32_t) = self.corpus.node
        wide: cython.bint = self.corpus.wide
        span: cython.size_t = tokens.token[x].span
        n_parts: cython.size_t = tokens.remove(x, times, f)
        size: cython.size_t = self._gather(pairs, cython.address(tokens.token[x].births), x, True)
        cursor: Cursor
        offset: cython.size_t = 0
        cursor.run = cursor.end = 0
        self.visit(self.gathered, size, tokens.n_tokens, n_parts)
        self._reserve_lists(pairs)
        for i in range(n_parts - 1):
            tokens.held[i] = self.successor(tokens.parts[i], tokens.parts[i + 1])
        for i in range(size):
            if i + AHEAD < size:
                place = get_place(self.places, i + AHEAD, wide)
                tm_prefetch(node + place - 1)
                tm_prefetch(node + place + span)
            place = get_place(self.places, i, wide)
            if token_at(node, pairs.pair, place) == x:
                count = count_at(self.corpus, cython.address(cursor), place)
                self.moved += count
                put_place(self.places, self.live, wide, place)
                self.live += 1
                self._split_at(place, left_of(node, place), count)
            if i % BETWEEN_LOOKS == BETWEEN_LOOKS - 1:
                check_signals()
        self.corpus.n_tokens += self.moved * (n_parts - 1)
        tokens.token[x].count = 0
        for i in range(n_parts):
            part = tokens.parts[i]
            tokens.token[part].count += self.moved
            if i > 0 and part >= tokens.n_alphabet and self.live:
                moved = new_places(pairs, self.live)
                for k in range(self.live):
                    put_place(moved, k, wide, get_place(self.places, k, wide) + offset)
                self._add_segment(cython.address(tokens.token[part].births), moved, self.live)
            offset += tokens.token[part].span
        self._keep_births(pairs, tokens, tokens.parts[0])
        self.lay_out()
        return size + self.n_fresh

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _split_at(self, place: cython.size_t, left: cython.size_t, count: uint64_t) -> cython.int:
        """Replace the removed token at `place` by its parts."""
        node: cython.pointer(uint32_t) = self.corpus.node
        pair: cython.pointer(Pair) = self.pairs.pair  # does not move: there is room for all successors
        parts: cython.pointer(uint32_t) = self.tokens.parts
        n_parts: cython.size_t = self.tokens.n_parts
        last: uint32_t = parts[n_parts - 1]
        old: uint32_t = node[left]
        if old < FREE:
            if pair[old].step != self.number:
                pair[old].successor = self.successor(pair[old].left, parts[0])
                pair[old].step = self.number
            pair[old].count -= count
            self._put(left, pair[old].successor, count)
        elif old != SENTINEL:  # too long with the whole token, perhaps not with its first part
            self._put(left, self.successor(old & TOKEN, parts[0]), count)
        old = node[place]
        for j in range(n_parts):
            span = self.tokens.token[parts[j]].span
            if j + 1 < n_parts:
                held = self.tokens.held[j]
            elif old < FREE:
                if pair[old].step != self.number:
                    pair[old].successor = self.successor(last, pair[old].right)
                    pair[old].step = self.number
                held = pair[old].successor
                pair[old].count -= count
            elif node[place + span] == SENTINEL:
                held = FREE | last
            else:
                held = self.successor(last, token_at(node, pair, place + span))
            self._put(place, held, count)
            if span > 1:
                node[place + span - 1] = LAST | span
            place += span
        return 0
