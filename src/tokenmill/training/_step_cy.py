"""One step of a merge loop: a pair is merged at all its positions, and the pairs beside them change.

When (x1, x2) becomes x3, each pair next to it has a successor in this step: (a, x1) becomes (a, x3), and (x2, b) becomes
(x3, b). Only (x2, x1) has three: (x2, x3), (x3, x1) and, where both sides merge, (x3, x3). So the successor is found through
the pair that the node held, without a lookup. It occurs at most as often as that pair.

`merge_at` walks along the positions in ascending order (in any other order `aaa` comes out wrong). It moves counts from the old
pairs to the successors and records the new positions. Then the sizes of the new segments are known, and `lay_out` fills
them (a counting sort). A pair that stays below the threshold is dropped: its nodes become FREE.

Both loops, _merge_cy.py and _picky_cy.py, are made of such steps. They say which successor a pair has.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.tokenmill.kernels._arrays import new_array
from cython.cimports.tokenmill.kernels._platform import tm_prefetch
from cython.cimports.tokenmill.kernels._signals import check_signals
from cython.cimports.tokenmill.training._corpus_cy import (
    FREE,
    INNER,
    LAST,
    Cursor,
    count_at,
    get_place,
    left_of,
    put_place,
)
from cython.cimports.tokenmill.training._pairs_cy import Pair, new_places


@cython.cclass
class Step:
    """The step under way. A subclass sets `corpus`, `pairs` and `tokens` and defines `step` and `successor`."""

    def __dealloc__(self):
        free(self.fresh)
        free(self.fresh_pair)
        free(self.grown)

    def run_on(self, wanted: cython.size_t, work: cython.size_t) -> bool:
        """Go on until `wanted` tokens are present or about `work` positions were seen. False if no pair is left."""
        spent: cython.size_t = 0
        pair: uint32_t = 1
        with cython.nogil:
            while spent < work and self.tokens.n_tokens - self.tokens.n_removed < wanted:
                pair = self.pairs.pop()
                if pair == 0 or self.pairs.pair[pair].count < self.least:
                    pair = 0
                    break
                spent += self.step(self.pairs, self.tokens, pair)
        return pair != 0

    def step(self, pairs, tokens, merged):
        """Merge a pair wherever it is; returns how many positions were seen."""
        return 0

    def visit(self, places, size, known, parts):
        """Begin a step at these positions of a pair or token, which `parts` tokens take the place of. Records of pairs may move.

        known: the number of tokens. Each new pair has one of the parts on one side and some token on the other, and comes
            from a position.
        """
        pairs: cython.size_t = 2 * min(size, known) + parts + 2
        positions: cython.size_t = size * (parts + 1)
        self.places = places
        self.size = size
        self.live = 0
        self.moved = 0
        self.n_fresh = 0
        self.n_grown = 0
        self.number += 1
        self.pairs.reserve(pairs)
        if self.grown_room < pairs:
            free(self.grown)
            self.grown = cython.NULL
            self.grown = cython.cast(cython.pointer(uint32_t), new_array(2 * pairs, 4))
            self.grown_room = 2 * pairs
        if self.fresh_room < positions:
            free(self.fresh)
            free(self.fresh_pair)
            self.fresh, self.fresh_pair = cython.NULL, cython.NULL
            positions += positions >> 1
            self.fresh = cython.cast(cython.p_char, new_array(positions, self.pairs.width))
            self.fresh_pair = cython.cast(cython.pointer(uint32_t), new_array(positions, 4))
            self.fresh_room = positions
        return 0

    def successor(self, left, right):
        """Return the value of a node of `left` with `right` beside it: the id of the pair, or FREE | left if it is not wanted."""
        return FREE | left

    def _set_successor(self, old, on_left):
        """Set the successor of `old`: of (a, x1) if on_left, else of (x2, b)."""
        pair: cython.pointer(Pair) = self.pairs.pair  # does not move: there is room
        left: uint32_t = pair[old].left
        right: uint32_t = pair[old].right
        pair[old].step = self.number
        if left == self.x2 and right == self.x1:
            self.swapped = old
            pair[old].successor = self.successor(left, self.x3)
            self.after_swapped = self.successor(self.x3, right)
            self.doubled = self.successor(self.x3, self.x3)
        elif pair[old].count < self.pairs.threshold:
            pair[old].successor = FREE | (left if on_left else self.x3)
        elif on_left:
            pair[old].successor = self.successor(left, self.x3)
        else:
            pair[old].successor = self.successor(self.x3, right)
        return 0

    def merge_at(self, merged, new):
        """Merge the pair `merged` into the token `new` at the positions to visit."""
        node: cython.pointer(uint32_t) = self.corpus.node
        pair: cython.pointer(Pair) = self.pairs.pair
        wide: cython.bint = self.corpus.wide
        places: cython.p_char = self.places
        size: cython.size_t = self.size
        number: uint32_t = self.number
        middle: cython.size_t = self.tokens.token[pair[merged].left].span
        whole: cython.size_t = self.tokens.token[new].span
        x3: uint32_t = FREE | new
        n_fresh: cython.size_t = 0
        before: cython.size_t = 0  # the position merged last
        cursor: Cursor
        cursor.run = cursor.end = 0
        self.x1 = pair[merged].left
        self.x2 = pair[merged].right
        self.x3 = new
        self.swapped = 0
        for i in range(min(AHEAD, size)):
            tm_prefetch(node + get_place(places, i, wide))
        for i in range(size):
            if i + AHEAD < size:
                place = get_place(places, i + AHEAD, wide)
                tm_prefetch(node + place - 1)
                tm_prefetch(node + place + whole)
            place = get_place(places, i, wide)
            if node[place] != merged:
                continue
            count = count_at(self.corpus, cython.address(cursor), place)
            left = left_of(node, place)
            old = node[left]
            # If the token on the left was made just now, the pair of the two was made with it.
            if old < FREE and left != before:
                if pair[old].step != number:
                    self._set_successor(old, True)
                pair[old].count -= count
                held = pair[old].successor
                node[left] = held
                if held < FREE:
                    n_fresh = add_position(self, pair, n_fresh, wide, held, left, count)
            old = node[place + middle]
            held = x3
            if old < FREE:
                if pair[old].step != number:
                    self._set_successor(old, False)
                pair[old].count -= count
                held = pair[old].successor
                if old == self.swapped:  # where x1 x2 x1 x2 was, the pair is (x3, x3)
                    held = self.doubled if node[place + whole] == merged else self.after_swapped
                if held < FREE:
                    n_fresh = add_position(self, pair, n_fresh, wide, held, place, count)
            node[place] = held
            node[place + middle] = INNER
            node[place + whole - 1] = LAST | cython.cast(uint32_t, whole)
            before = place
            self.moved += count
            if self.keep_live:
                put_place(places, self.live, wide, place)
                self.live += 1
            pair[merged].count -= count
            if pair[merged].count == 0:  # the other entries are dead
                break
            if i % BETWEEN_LOOKS == BETWEEN_LOOKS - 1:
                check_signals()
        self.n_fresh = n_fresh
        self.corpus.n_tokens -= self.moved
        return 0

    def lay_out(self):
        """Write the new positions into segments of their pairs, and queue the pairs. Pairs that are dropped have no segment then."""
        pair: cython.pointer(Pair) = self.pairs.pair
        places: cython.pp_char = self.pairs.places
        node: cython.pointer(uint32_t) = self.corpus.node
        wide: cython.bint = self.corpus.wide
        width: cython.size_t = self.pairs.width
        stop: cython.size_t = 0
        for i in range(self.n_grown):
            id = self.grown[i]
            if pair[id].count >= self.pairs.threshold:
                places[id] = new_places(self.pairs, pair[id].size)
                self.pairs.enqueue(id)
        while stop < self.n_fresh:
            begin = stop
            stop = min(begin + BETWEEN_LOOKS, self.n_fresh)
            for i in range(begin, stop):
                id = self.fresh_pair[i]
                place = get_place(self.fresh, i, wide)
                if places[id] != cython.NULL:
                    put_place(places[id], 0, wide, place)
                    places[id] += width
                elif node[place] == id:
                    node[place] = FREE | pair[id].left
            if stop < self.n_fresh:
                check_signals()
        for i in range(self.n_grown):
            id = self.grown[i]
            if places[id] != cython.NULL:
                places[id] -= pair[id].size * width
            else:
                pair[id].size = 0
        return 0
