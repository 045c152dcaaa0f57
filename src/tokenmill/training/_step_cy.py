"""One step of a merge loop: a pair is merged at all its positions, and the neighbouring pairs change.

When (x1, x2) becomes x3, each pair next to it has a successor in this step: (a, x1) becomes (a, x3), and (x2, b) becomes
(x3, b). Only (x2, x1) has three: (x2, x3), (x3, x1) and, where both sides merge, (x3, x3). The successor is stored in the
record of the pair that the node holds, so no lookup is needed. It occurs at most as often as that pair.

`merge_at` visits the positions in ascending order (in any other order `aaa` comes out wrong). It moves counts from the old
pairs to the successors and records the new positions. Then the numbers of new postings are known, and `lay_out` writes
them (a counting sort). A pair that stays below the threshold is dropped: its nodes become FREE.

Both loops, _merge_cy.py and _picky_cy.py, consist of such steps. They define the successors of pairs.
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
    get_position,
    left_of,
    put_position,
)
from cython.cimports.tokenmill.training._pairs_cy import Pair, new_postings


@cython.cclass
class Step:
    """The current step. A subclass sets `corpus`, `pairs` and `tokens` and defines `step` and `successor`."""

    def __dealloc__(self):
        free(self.fresh)
        free(self.fresh_pair)
        free(self.grown)

    def run_on(self, wanted: cython.size_t, work: cython.size_t) -> bool:
        """Run until `wanted` tokens are present or about `work` positions were visited. Return False if no pair is left."""
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
        """Merge a pair at all its positions. Return the number of positions visited."""
        return 0

    def visit(self, positions, size, known, n_new):
        """Begin a step at `size` positions of a pair or token, which `n_new` tokens replace. Records of pairs may move.

        known: the number of tokens. Each new pair has a new token on one side and any token on the other, and comes from a
            position.
        """
        pairs: cython.size_t = 2 * min(size, known) + n_new + 2
        fresh: cython.size_t = size * (n_new + 1)
        self.positions = positions
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
        if self.fresh_room < fresh:
            free(self.fresh)
            free(self.fresh_pair)
            self.fresh, self.fresh_pair = cython.NULL, cython.NULL
            fresh += fresh >> 1
            self.fresh = cython.cast(cython.p_char, new_array(fresh, self.pairs.width))
            self.fresh_pair = cython.cast(cython.pointer(uint32_t), new_array(fresh, 4))
            self.fresh_room = fresh
        return 0

    def successor(self, left, right):
        """Return the value of a node of `left` before `right`: the id of the pair, or FREE | left if the pair is not wanted."""
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
        positions: cython.p_char = self.positions
        size: cython.size_t = self.size
        number: uint32_t = self.number
        middle: cython.size_t = self.tokens.token[pair[merged].left].span
        whole: cython.size_t = self.tokens.token[new].span
        x3: uint32_t = FREE | new
        n_fresh: cython.size_t = 0
        before: cython.size_t = 0  # the last position of a merge
        cursor: Cursor
        cursor.range = cursor.end = 0
        self.x1 = pair[merged].left
        self.x2 = pair[merged].right
        self.x3 = new
        self.swapped = 0
        for i in range(min(AHEAD, size)):
            tm_prefetch(node + get_position(positions, i, wide))
        for i in range(size):
            if i + AHEAD < size:
                position = get_position(positions, i + AHEAD, wide)
                tm_prefetch(node + position - 1)
                tm_prefetch(node + position + whole)
            position = get_position(positions, i, wide)
            if node[position] != merged:
                continue
            count = count_at(self.corpus, cython.address(cursor), position)
            left = left_of(node, position)
            old = node[left]
            # If the token on the left is a new x3, its merge has already set the pair of the two.
            if old < FREE and left != before:
                if pair[old].step != number:
                    self._set_successor(old, True)
                pair[old].count -= count
                value = pair[old].successor
                node[left] = value
                if value < FREE:
                    n_fresh = add_position(self, pair, n_fresh, wide, value, left, count)
            old = node[position + middle]
            value = x3
            if old < FREE:
                if pair[old].step != number:
                    self._set_successor(old, False)
                pair[old].count -= count
                value = pair[old].successor
                if old == self.swapped:  # where x1 x2 x1 x2 was, the pair is (x3, x3)
                    value = self.doubled if node[position + whole] == merged else self.after_swapped
                if value < FREE:
                    n_fresh = add_position(self, pair, n_fresh, wide, value, position, count)
            node[position] = value
            node[position + middle] = INNER
            node[position + whole - 1] = LAST | cython.cast(uint32_t, whole)
            before = position
            self.moved += count
            if self.keep_live:
                put_position(positions, self.live, wide, position)
                self.live += 1
            pair[merged].count -= count
            if pair[merged].count == 0:  # the other postings are dead
                break
            if i % BETWEEN_LOOKS == BETWEEN_LOOKS - 1:
                check_signals()
        self.n_fresh = n_fresh
        self.corpus.n_tokens -= self.moved
        return 0

    def lay_out(self):
        """Write the new positions as postings of their pairs, and queue the pairs. Dropped pairs have no postings then."""
        pair: cython.pointer(Pair) = self.pairs.pair
        postings: cython.pp_char = self.pairs.postings
        node: cython.pointer(uint32_t) = self.corpus.node
        wide: cython.bint = self.corpus.wide
        width: cython.size_t = self.pairs.width
        stop: cython.size_t = 0
        for i in range(self.n_grown):
            id = self.grown[i]
            if pair[id].count >= self.pairs.threshold:
                postings[id] = new_postings(self.pairs, pair[id].size)
                self.pairs.enqueue(id)
        while stop < self.n_fresh:
            begin = stop
            stop = min(begin + BETWEEN_LOOKS, self.n_fresh)
            for i in range(begin, stop):
                id = self.fresh_pair[i]
                position = get_position(self.fresh, i, wide)
                if postings[id] != cython.NULL:
                    put_position(postings[id], 0, wide, position)
                    postings[id] += width
                elif node[position] == id:
                    node[position] = FREE | pair[id].left
            if stop < self.n_fresh:
                check_signals()
        for i in range(self.n_grown):
            id = self.grown[i]
            if postings[id] != cython.NULL:
                postings[id] -= pair[id].size * width
            else:
                pair[id].size = 0
        return 0
