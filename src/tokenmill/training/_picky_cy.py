"""The loop of Picky BPE: merges by exact positions, and removals of tokens that have become junk.

tests/naive_training.py defines Picky BPE; node, position, span and postings are defined in _corpus_cy.py and _pairs_cy.py. A
removal breaks three premises of the plain loop (_merge_cy.py), so this is a loop of its own:

    counts only fall           A removal raises counts of old pairs. The pair is queued once more. Rare pairs cannot be
                               dropped, so there is no threshold.
    all positions appear in    Old pairs get new positions. So a pair has a chain of postings, one array for each step; when
    one step                   the pair is merged, all of them are gathered and sorted.
    no two pairs spell the     Another pair may spell a removed token, which comes back. So pairs with a token that is not
    same bytes                 new are looked up by (left, right).

Invariants, between two steps
    1. The node at position p holds the id q of a pair exactly if that pair is at p and its joined bytes are not too many;
       then p is in the postings of q. A node holds FREE | token if the token is the last of its pretoken, or its pair is too
       long.
    2. The count of every pair is exact, and so is that of every token outside the alphabet.
    3. Every pair that ever occurred has one id, and `pairs.ids` has all of them.
    4. All positions of a token outside the alphabet are in its births: a chain of the positions at which it was created, by a
       merge or by a removal. (A position there may hold another token by now, or be listed twice.)
       Dead postings pile up, since tokens are removed and come back. When they fill `most_bytes`, all postings are rebuilt
       from the nodes, with one array for each pair and token.
    5. A token has the same span everywhere: as many nodes as its bytes or characters.

One step: merge, lay out; then for x1 and for x2, if its IoS reaches T: split it into its parts, lay out. As in the plain loop,
the record of an old pair stores its successor. So `find` is called once for each pair and step, and never for pairs with a
new token.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, qsort
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.tokenmill.kernels._arrays import grow
from cython.cimports.tokenmill.kernels._platform import tm_prefetch
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
    get_position,
    left_of,
    put_position,
)
from cython.cimports.tokenmill.training._pairs_cy import Pair, Pairs, new_pair, new_postings, token_at
from cython.cimports.tokenmill.training._picky_cy import Link, reaches
from cython.cimports.tokenmill.training._step_cy import AHEAD, BETWEEN_LOOKS, Step
from cython.cimports.tokenmill.training._tokens_cy import Tokens


@cython.final
@cython.cclass
class PickyLoop(Step):
    """Merges and removals over a corpus whose pairs are all in `pairs` (with the threshold 1).

    numerator, denominator: T. With denominator 0 nothing is removed, and this is plain BPE.
    expected_pairs: the number of more pairs to make room for at once.
    spare_bytes: memory for dead postings, in addition to that for each node.
    """

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
        self.n_links = 1  # link 0 is the end of every chain
        self.most_bytes = 4 * corpus.n_nodes * pairs.width + spare_bytes  # live postings take half of it at most
        pairs.reserve(expected_pairs)
        self._reserve_chains(pairs)
        pairs.add_ids(1)

    def __dealloc__(self):
        free(self.chain)
        free(self.link)

    def step(self, pairs, tokens, merged):
        """Merge a pair, and remove its tokens if their IoS reaches T. Return the number of positions visited."""
        known: uint32_t = tokens.n_tokens
        x1: uint32_t = pairs.pair[merged].left
        x2: uint32_t = pairs.pair[merged].right
        f: uint64_t[2]
        first_successor: cython.size_t = pairs.n_pairs
        turn: cython.int
        if pairs.region_bytes + self.n_links * cython.sizeof(Link) > self.most_bytes:
            self._rewrite_postings(pairs, tokens)
        f[0], f[1] = tokens.token[x1].count, tokens.token[x2].count
        x3: uint32_t = tokens.join(x1, x2, pairs.pair[merged].count)
        self.unseen = x3 == known
        self._retire(pairs, merged)
        seen = self._gather(pairs, self.chain + merged, merged, False)
        self.visit(self.gathered, seen, tokens.n_tokens, 1)
        self._reserve_chains(pairs)
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
            if x >= tokens.n_alphabet and not (turn and x1 == x2) and reaches(times, f[turn], self.numerator, self.denominator):
                seen += self._remove(pairs, tokens, x, times, f[turn])
        return seen

    def successor(self, left, right):
        """Return the node of `left` before `right`: the id of the pair, or FREE | left if the token is too long.

        A merge calls this once for each pair with x3. If x3 is new, so is the pair, and it is added to `ids` after the merge.
        """
        if not self.tokens.fits(left, right):
            return FREE | left
        if self.unseen:
            return new_pair(self.pairs, left, right)
        pair = self.pairs.find(left, right)
        self._retire(self.pairs, pair)
        return pair

    def _keep_births(self, pairs, tokens, id):
        """Add the live positions to the births of `id`, and free the rest of their memory."""
        if id < tokens.n_alphabet:
            self.live = 0
        pairs.free_postings(self.positions + self.live * pairs.width, self.size - self.live)
        return self._add_link(cython.address(tokens.token[id].births), self.positions, self.live)

    # ---- postings

    def _reserve_chains(self, pairs):
        """Make room for the chains of as many pairs as there is room for."""
        room: cython.size_t = self.chains_room
        grow(cython.address(self.chain), cython.address(self.chains_room), pairs.room, 4)
        memset(self.chain + room, 0, (self.chains_room - room) * 4)
        return 0

    def _retire(self, pairs, pair):
        """Move the newest postings of a pair into its chain."""
        if pairs.postings[pair] != cython.NULL:
            self._add_link(self.chain + pair, pairs.postings[pair], pairs.pair[pair].size)
            pairs.postings[pair] = cython.NULL
            pairs.pair[pair].size = 0
        return 0

    def _add_link(self, head, positions, size):
        """Add positions to the chain that begins with the link `head`, unless there are none."""
        link: uint32_t = self.free_link
        if size == 0:
            return 0
        if link:
            self.free_link = self.link[link].next
        else:
            link = self.n_links
            grow(cython.address(self.link), cython.address(self.links_room), link + 1, cython.sizeof(Link))
            self.n_links += 1
        self.link[link].positions = positions
        self.link[link].size = size
        self.link[link].next = head[0]
        head[0] = link
        return 0

    def _rewrite_postings(self, pairs, tokens):
        """Rebuild all postings and births from the nodes by a counting sort, without dead ones, and fill the queue again."""
        node: cython.pointer(uint32_t) = self.corpus.node
        pair: cython.pointer(Pair) = pairs.pair
        wide: cython.bint = self.corpus.wide
        fills: cython.bint
        pairs.empty()
        self.free_link = 0
        self.n_links = tokens.n_tokens + 1
        grow(cython.address(self.link), cython.address(self.links_room), self.n_links, cython.sizeof(Link))
        memset(self.link, 0, self.n_links * cython.sizeof(Link))
        memset(self.chain, 0, self.chains_room * 4)
        births = self.link + 1
        for id in range(tokens.n_alphabet, tokens.n_tokens):
            tokens.token[id].births = cython.cast(uint32_t, id + 1)
        for id in range(pairs.n_pairs):
            pair[id].size = 0
            pairs.postings[id] = cython.NULL
        for fills in range(2):
            if fills:
                for id in range(1, pairs.n_pairs):
                    if pair[id].size:
                        pairs.postings[id] = new_postings(pairs, pair[id].size)
                        pair[id].size = 0
                        pairs.enqueue(cython.cast(uint32_t, id))
                for id in range(tokens.n_alphabet, tokens.n_tokens):
                    if births[id].size:
                        births[id].positions = new_postings(pairs, births[id].size)
                        births[id].size = 0
            for position in range(self.corpus.n_nodes):
                if position % BETWEEN_LOOKS == 0:
                    check_signals()
                value = node[position]
                if value < FREE:
                    if fills:
                        put_position(pairs.postings[value], pair[value].size, wide, position)
                    pair[value].size += 1
                value = token_at(node, pair, position)
                if tokens.n_alphabet <= value < tokens.n_tokens:
                    if fills:
                        put_position(births[value].positions, births[value].size, wide, position)
                    births[value].size += 1
        return 0

    def _gather(self, pairs, head, key, of_token):
        """Move the chain of the pair or token `key` to `gathered`, in ascending order. Return the number of positions.

        If the chain has several links, only positions where `key` is now are kept.
        """
        wide: cython.bint = self.corpus.wide
        node: cython.pointer(uint32_t) = self.corpus.node
        first: uint32_t = head[0]
        link: uint32_t = first
        last: uint32_t = 0
        total: cython.size_t = 0
        size: cython.size_t = 0
        self.gathered = cython.NULL
        if first == 0:
            return 0
        while link:
            total += self.link[link].size
            last = link
            link = self.link[link].next
        head[0] = 0
        self.link[last].next = self.free_link
        self.free_link = first
        if first == last:  # in order already
            self.gathered = self.link[first].positions
            return total
        self.gathered = new_postings(pairs, total)
        # First one after the other, so that nodes can be prefetched: most links have a few positions.
        link = first
        while size < total:
            memcpy(self.gathered + size * pairs.width, self.link[link].positions, self.link[link].size * pairs.width)
            size += self.link[link].size
            pairs.free_postings(self.link[link].positions, self.link[link].size)
            link = self.link[link].next
        size = 0
        for i in range(total):
            if i + AHEAD < total:
                tm_prefetch(node + get_position(self.gathered, i + AHEAD, wide))
            position = get_position(self.gathered, i, wide)
            if (token_at(node, pairs.pair, position) if of_token else node[position]) == key:
                put_position(self.gathered, size, wide, position)
                size += 1
        pairs.free_postings(self.gathered + size * pairs.width, total - size)
        qsort(self.gathered, size, pairs.width, compare_wide if wide else compare_narrow)
        return size

    # ---- a removal

    def _remove(self, pairs, tokens, x, times, f):
        """Replace the token x, whose IoS is times / f, by its parts at all positions. Return the number of positions visited."""
        node: cython.pointer(uint32_t) = self.corpus.node
        wide: cython.bint = self.corpus.wide
        span: cython.size_t = tokens.token[x].span
        n_parts: cython.size_t = tokens.remove(x, times, f)
        size: cython.size_t = self._gather(pairs, cython.address(tokens.token[x].births), x, True)
        cursor: Cursor
        offset: cython.size_t = 0
        cursor.range = cursor.end = 0
        self.visit(self.gathered, size, tokens.n_tokens, n_parts)
        self._reserve_chains(pairs)
        for i in range(n_parts - 1):
            tokens.part_values[i] = self.successor(tokens.parts[i], tokens.parts[i + 1])
        for i in range(size):
            if i + AHEAD < size:
                position = get_position(self.positions, i + AHEAD, wide)
                tm_prefetch(node + position - 1)
                tm_prefetch(node + position + span)
            position = get_position(self.positions, i, wide)
            if token_at(node, pairs.pair, position) == x:
                count = count_at(self.corpus, cython.address(cursor), position)
                self.moved += count
                put_position(self.positions, self.live, wide, position)
                self.live += 1
                self._split_at(position, left_of(node, position), count)
            if i % BETWEEN_LOOKS == BETWEEN_LOOKS - 1:
                check_signals()
        self.corpus.n_tokens += self.moved * (n_parts - 1)
        tokens.token[x].count = 0
        for i in range(n_parts):
            part = tokens.parts[i]
            tokens.token[part].count += self.moved
            if i > 0 and part >= tokens.n_alphabet and self.live:
                moved = new_postings(pairs, self.live)
                for k in range(self.live):
                    put_position(moved, k, wide, get_position(self.positions, k, wide) + offset)
                self._add_link(cython.address(tokens.token[part].births), moved, self.live)
            offset += tokens.token[part].span
        self._keep_births(pairs, tokens, tokens.parts[0])
        self.lay_out()
        return size + self.n_fresh

    def _split_at(self, position, left, count):
        """Replace the removed token at `position` by its parts."""
        node: cython.pointer(uint32_t) = self.corpus.node
        pair: cython.pointer(Pair) = self.pairs.pair  # no record moves: there is room for all successors
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
        elif old != SENTINEL:  # too long with the whole token, perhaps not with parts[0]
            self._put(left, self.successor(old & TOKEN, parts[0]), count)
        old = node[position]
        for j in range(n_parts):
            span = self.tokens.token[parts[j]].span
            if j + 1 < n_parts:
                value = self.tokens.part_values[j]
            elif old < FREE:
                if pair[old].step != self.number:
                    pair[old].successor = self.successor(last, pair[old].right)
                    pair[old].step = self.number
                value = pair[old].successor
                pair[old].count -= count
            elif node[position + span] == SENTINEL:
                value = FREE | last
            else:
                value = self.successor(last, token_at(node, pair, position + span))
            self._put(position, value, count)
            if span > 1:
                node[position + span - 1] = LAST | span
            position += span
        return 0
