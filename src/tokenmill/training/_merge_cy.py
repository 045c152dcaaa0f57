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

One step
    Each old pair has a successor pair in this step: (a, x1) becomes (a, x3), and (x2, b) becomes (x3, b). Only (x2, x1)
    has three: (x2, x3), (x3, x1) and, where both sides merge, (x3, x3). So the successor is found through the pair that the
    node held, without a lookup. It occurs at most as often as that pair. If that pair is below the threshold, or the new
    token would be too long, there is no successor: the node becomes FREE and costs nothing from then on.
    `_sweep` walks along the segment in ascending order (in any other order `aaa` comes out wrong). It moves counts from
    the old pairs to the successors and records the new positions. Then the sizes of the new segments are known, and
    `_lay_out` fills them. A successor that stays below the threshold is dropped: its nodes become FREE. Its id, and that
    of the merged pair, are used again in the next steps. So the records stay few and in the cache.

The threshold saves work: most pairs are rare, and few rare pairs are ever merged. It never changes the result: if no pair
reaches it and more merges are wanted, the caller compacts the nodes and begins a new phase with a lower threshold.
"""

import cython
from cython.cimports.libc.stdint import int32_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.tokenmill.kernels._arrays import new_array
from cython.cimports.tokenmill.kernels._platform import tm_prefetch
from cython.cimports.tokenmill.training._corpus_cy import (
    FREE,
    LAST,
    Corpus,
    Cursor,
    count_at,
    get_place,
    left_of,
    put_place,
)
from cython.cimports.tokenmill.training._limits_cy import Limits
from cython.cimports.tokenmill.training._pairs_cy import Pair, Pairs, new_pair, new_places, set_pair

# How many entries ahead nodes are prefetched. Without this, 20 languages took twice as long (docs/experiments/training.md).
AHEAD = cython.declare(cython.size_t, 32)


@cython.final
@cython.cclass
class MergeLoop:
    """Merges the pairs of one phase.

    spans: uint32 by token id, in nodes; `n_tokens` of them are set, the loop writes the rest.
    merges: int32 rows (left id, right id, new id); `n_merges` of them are set, the loop writes the rest.
    limits: which tokens may be made.
    """

    corpus: Corpus
    pairs: Pairs
    spans: uint32_t[::1]
    merges: int32_t[:, ::1]
    limits: Limits
    n_tokens: cython.size_t
    n_merges = cython.declare(cython.size_t, visibility="readonly")
    # the step under way
    stage: cython.int  # 0 none, 1 in `_sweep`, 2 in `_lay_out`
    step: uint32_t
    merged: uint32_t  # the pair
    swapped: uint32_t  # the pair (x2, x1), once it was met
    after_swapped: uint32_t  # then also the pair (x3, x1)
    doubled: uint32_t  # and the pair (x3, x3)
    at: cython.size_t
    cursor: Cursor
    before: cython.size_t  # the position merged last
    # the new positions, in the order in which they were found, and their pairs
    fresh: cython.p_char
    fresh_pair: cython.pointer(uint32_t)
    n_fresh: cython.size_t
    fresh_room: cython.size_t
    # the successors of the step; the first pair id that is free again, whose record names the next one in `successor`
    successors: cython.pointer(uint32_t)
    n_successors: cython.size_t
    successors_room: cython.size_t
    free_id: uint32_t

    def __cinit__(
        self,
        corpus: Corpus,
        pairs: Pairs,
        spans: uint32_t[::1],
        merges: int32_t[:, ::1],
        n_tokens: cython.size_t,
        n_merges: cython.size_t,
        limits: Limits,
    ):
        self.corpus = corpus
        self.pairs = pairs
        self.spans = spans
        self.merges = merges
        self.n_tokens = n_tokens
        self.n_merges = n_merges
        self.limits = limits

    def __dealloc__(self):
        free(self.fresh)
        free(self.fresh_pair)
        free(self.successors)

    def merge(self, wanted: cython.size_t, work: cython.size_t) -> bool:
        """Go on until there are `wanted` merges, at most as many as `merges` has rows, or about `work` positions were seen. False if no pair is left."""
        spent: cython.size_t = 0
        pair: uint32_t
        with cython.nogil:
            while spent < work:
                if self.stage == 0:
                    if self.n_merges >= wanted:
                        break
                    pair = self.pairs.pop()
                    if pair == 0:
                        break
                    self._begin(pair)
                    spent += 8
                if self.stage == 1:
                    spent += self._sweep(work)
                if self.stage == 2:
                    spent += self._lay_out(self.pairs, work)
        return self.stage != 0 or self.n_merges >= wanted or spent >= work

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _begin(self, merged: uint32_t) -> cython.int:
        """A new token for the pair `merged`."""
        left: uint32_t = self.pairs.pair[merged].left
        right: uint32_t = self.pairs.pair[merged].right
        size: cython.size_t = self.pairs.pair[merged].size
        new: cython.size_t = self.n_tokens
        # Successors have the new token on one side and an older one on the other; each comes from a position.
        n_successors: cython.size_t = 2 * (size if size < new else new) + 3
        self.pairs.reserve(n_successors)
        if self.successors_room < n_successors:
            free(self.successors)
            self.successors = cython.NULL
            self.successors = cython.cast(cython.pointer(uint32_t), new_array(2 * n_successors, 4))
            self.successors_room = 2 * n_successors
        if self.fresh_room < 2 * size:
            free(self.fresh)
            free(self.fresh_pair)
            self.fresh, self.fresh_pair = cython.NULL, cython.NULL
            self.fresh = cython.cast(cython.p_char, new_array(3 * size, self.pairs.width))
            self.fresh_pair = cython.cast(cython.pointer(uint32_t), new_array(3 * size, 4))
            self.fresh_room = 3 * size
        self.merges[self.n_merges, 0] = cython.cast(int32_t, left)
        self.merges[self.n_merges, 1] = cython.cast(int32_t, right)
        self.merges[self.n_merges, 2] = cython.cast(int32_t, new)
        self.n_merges += 1
        self.spans[new] = self.spans[left] + self.spans[right]
        self.limits.make(left, right, new)
        self.n_tokens += 1
        self.n_fresh = 0
        self.merged = merged
        self.swapped = 0
        self.n_successors = 0
        self.step += 1
        self.at = 0
        self.cursor.run = 0
        self.cursor.end = 0
        self.before = 0
        self.stage = 1
        return 0

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _new_pair(self, left: uint32_t, right: uint32_t) -> uint32_t:
        """A new pair, under an id that is free again if there is one: its record is in the cache still."""
        id: uint32_t = self.free_id
        if id:
            self.free_id = self.pairs.pair[id].successor
            set_pair(self.pairs, id, left, right)
        else:
            id = new_pair(self.pairs, left, right)
        self.successors[self.n_successors] = id
        self.n_successors += 1
        return id

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _free_pair(self, id: uint32_t) -> cython.void:
        """No node and no queue holds this id: give it to the next new pair."""
        self.pairs.pair[id].successor = self.free_id
        self.free_id = id

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _make_successor(self, old: uint32_t, on_left: cython.bint) -> cython.void:
        """The successor of `old` in this step: of (a, x1) if on_left, else of (x2, b)."""
        pair: cython.pointer(Pair) = self.pairs.pair
        new: uint32_t = cython.cast(uint32_t, self.n_tokens - 1)
        left: uint32_t = pair[old].left
        right: uint32_t = pair[old].right
        pair[old].step = self.step
        pair[old].successor = FREE | left
        if pair[old].count < self.pairs.threshold:
            return
        if left == pair[self.merged].right and right == pair[self.merged].left:
            # Three in a row. Whether they fit is asked in `lay_out`.
            self.swapped = old
            pair[old].successor = self._new_pair(left, new)
            self.after_swapped = self._new_pair(new, right)
            self.doubled = self._new_pair(new, new)
        else:
            if on_left:
                right = new
            else:
                left = new
            if not self.limits.fits(left, right):
                return
            pair[old].successor = self._new_pair(left, right)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _sweep(self, work: cython.size_t) -> cython.size_t:
        """Merge at the next `work` entries of the segment."""
        node: cython.pointer(uint32_t) = self.corpus.node
        pair: cython.pointer(Pair) = self.pairs.pair
        wide: cython.bint = self.corpus.wide
        merged: uint32_t = self.merged
        places: cython.p_char = self.pairs.places[merged]
        size: cython.size_t = pair[merged].size
        begin: cython.size_t = self.at
        stop: cython.size_t = size if size - begin < work else begin + work
        new: uint32_t = cython.cast(uint32_t, self.n_tokens - 1)
        middle: cython.size_t = self.spans[pair[merged].left]
        whole: cython.size_t = self.spans[new]
        before: cython.size_t = self.before
        cursor: Cursor = self.cursor
        count: uint64_t
        i: cython.size_t
        place: cython.size_t
        left: cython.size_t
        successor: uint32_t
        for i in range(begin, begin + AHEAD if stop - begin > AHEAD else stop):
            tm_prefetch(node + get_place(places, i, wide))
        for i in range(begin, stop):
            if i + AHEAD < size:
                place = get_place(places, i + AHEAD, wide)
                tm_prefetch(node + place - 1)
                tm_prefetch(node + place + whole)
            place = get_place(places, i, wide)
            if node[place] != merged:
                continue
            count = count_at(self.corpus, cython.address(cursor), place)
            left = left_of(node, place)
            # If the token on the left was made just now, the pair of the two was made with it.
            if node[left] < FREE and left != before:
                node[left] = self._move_count(node[left], True, count, left, False)
            successor = FREE | new
            if node[place + middle] < FREE:
                # Where x1 x2 x1 x2 was, the pair is (x3, x3).
                successor = self._move_count(
                    node[place + middle], False, count, place, node[place + whole] == merged
                )
            node[place] = successor
            node[place + middle] = FREE
            node[place + whole - 1] = LAST | cython.cast(uint32_t, whole)
            before = place
            pair[merged].count -= count
            if pair[merged].count == 0:  # the rest of the segment is dead
                stop = size
                break
        self.before = before
        self.cursor = cursor
        self.at = stop
        if stop == size:
            self.stage = 2
            self.at = 0
        return stop - begin

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _move_count(
        self, old: uint32_t, on_left: cython.bint, count: uint64_t, place: cython.size_t, merges_again: cython.bint
    ) -> uint32_t:
        """Give `count` occurrences of the pair `old` to its successor, at `place`; returns what the node there holds."""
        pair: cython.pointer(Pair) = self.pairs.pair
        successor: uint32_t
        if pair[old].step != self.step:
            self._make_successor(old, on_left)
        successor = pair[old].successor
        pair[old].count -= count
        if successor >= FREE:
            return successor if on_left else FREE | cython.cast(uint32_t, self.n_tokens - 1)
        if old == self.swapped and not on_left:
            successor = self.doubled if merges_again else self.after_swapped
        pair[successor].count += count
        pair[successor].size += 1
        put_place(self.fresh, self.n_fresh, self.corpus.wide, place)
        self.fresh_pair[self.n_fresh] = successor
        self.n_fresh += 1
        return successor

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _lay_out(self, pairs: Pairs, work: cython.size_t) -> cython.longlong:
        """Give the successors their segments and write the next `work` positions into them."""
        pair: cython.pointer(Pair) = pairs.pair
        places: cython.pp_char = pairs.places
        node: cython.pointer(uint32_t) = self.corpus.node
        wide: cython.bint = self.corpus.wide
        width: cython.size_t = pairs.width
        begin: cython.size_t = self.at
        stop: cython.size_t = self.n_fresh if self.n_fresh - begin < work else begin + work
        successor: uint32_t
        i: cython.size_t
        if begin == 0:
            for i in range(self.n_successors):
                successor = self.successors[i]
                if pair[successor].count >= pairs.threshold and self.limits.fits(
                    pair[successor].left, pair[successor].right
                ):
                    places[successor] = new_places(pairs, pair[successor].size)
                    pairs.enqueue(successor)
        for i in range(begin, stop):
            successor = self.fresh_pair[i]
            if places[successor] != cython.NULL:
                put_place(places[successor], 0, wide, get_place(self.fresh, i, wide))
                places[successor] += width
            else:
                node[get_place(self.fresh, i, wide)] = FREE | pair[successor].left
        self.at = stop
        if stop == self.n_fresh:
            for i in range(self.n_successors):
                successor = self.successors[i]
                if places[successor] != cython.NULL:
                    places[successor] -= pair[successor].size * width
                else:
                    self._free_pair(successor)
            pairs.free_places(places[self.merged], pair[self.merged].size)
            self._free_pair(self.merged)
            self.stage = 0
        return stop - begin
