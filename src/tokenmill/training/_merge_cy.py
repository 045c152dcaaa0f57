"""The merge loop by exact positions: byte-pair encoding that neither searches nor hashes while it merges.

The words node, position, span, run, segment and threshold are defined in _corpus_cy.py and _pairs_cy.py.

Invariants, between two merges
    1. The node at position p holds the id q of a pair exactly if that pair stands at p and is in the race; then p is in
       the segment of q.
    2. The count of every pair that some node holds is exact.
    3. All positions of a pair are born in one step: the merge (x1, x2) -> x3 makes pairs with the new token x3 only,
       and all of x3 comes up in this step. So a segment never grows, and after the step a count only falls.
    4. A token has one span everywhere: the sum of the spans of its parts.
    5. No two merges make the same bytes. Take a stretch of the corpus that no merge so far has crossed at its ends. It
       is segmented alike wherever it stands: of two unlike tokens, a merge takes every pair inside; of two like ones,
       it counts from the left end of their run, and where the run began before the stretch an odd number before would
       have crossed its end. So when (x1, x2) -> x3 is merged, every uncrossed stretch with the bytes of x3 reads x1 x2
       and becomes x3, and later no other pair can spell these bytes. This holds whichever pairs are chosen.

One step
    The successor of an old pair is what takes its place: (a, x1) becomes (a, x3), and (x2, b) becomes (x3, b). Only (x2, x1)
    has three: (x2, x3), (x3, x1) and, where both sides merge, (x3, x3). So the successor is found through the pair that the
    node held, without looking for it. It is seen at most as often as that pair: where that is below the threshold, or
    the token would be too long, there is none, the node is FREE, and FREE begets FREE without any work.
    `sweep` walks along the segment, in ascending order, or `aaa` comes out wrong. It takes counts from the old pairs,
    gives them to the successors and writes down the new positions; `lay_out` then cuts the successors' segments, whose sizes are
    now known, and fills them. An successor that stayed below the threshold is taken out of its nodes, which become FREE, and
    its id and that of the merged pair are given to the successors of the next steps: the records of pairs stay few and warm.

    Two merges in three find a handful of entries, and wait for memory more than they work. So while one goes on, what the
    next ones will read is fetched in waves, each as soon as the one before tells where it is: the queue knows the next
    sixteen pairs, and fetches their records; eleven merges ahead the segment is fetched, six ahead the nodes at its
    entries, two ahead the records of the pairs beside those that are alive.

The threshold is a guess that saves work (pairs seen a few times are most of all pairs, and few of them are ever merged),
never a change of the result: if no pair reaches it and more merges are wanted, the caller compacts the nodes and begins
a new phase with a lower one.
"""

import cython
from cython.cimports.libc.stdint import int32_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.tokenmill.kernels._memory import tm_alloc
from cython.cimports.tokenmill.kernels._platform import tm_prefetch
from cython.cimports.tokenmill.training._corpus_cy import FREE, LAST, Corpus, Run, get_place, put_place, run_at
from cython.cimports.tokenmill.training._pairs_cy import Pair, Pairs, new_places, set_pair
from cython.cimports.tokenmill.training._queue_cy import Queue

SOON = cython.declare(cython.size_t, 16)  # how many entries of a coming merge are fetched before it begins
AHEAD = cython.declare(cython.size_t, 32)  # how many entries before its turn a node is fetched


@cython.final
@cython.cclass
class MergeLoop:
    """Merges the pairs of one phase.

    spans, lengths: uint32 by token id, in nodes and in bytes; `n_tokens` of them are set, the rest is written here.
    merges: int32 rows (left id, right id, new id) by number of the merge; likewise.
    max_bytes: of a token. With 2**64 - 1 no lengths are looked at, nor kept: that saves a cache miss for each new pair.
    """

    corpus: Corpus
    pairs: Pairs
    queue: Queue
    spans: uint32_t[::1]
    lengths: uint32_t[::1]
    merges: int32_t[:, ::1]
    max_bytes: cython.size_t
    limited: cython.bint
    n_tokens: cython.size_t
    n_merges: cython.size_t
    # the step under way
    stage: cython.int  # 0 none, 1 in `sweep`, 2 in `lay_out`
    step: uint32_t
    merged: cython.size_t  # the pair
    swap: cython.size_t  # the pair (x2, x1), once it was met
    after_swap: uint32_t  # and then (x3, x1)
    twice: uint32_t  # and (x3, x3)
    at: cython.size_t
    run: cython.size_t
    before: cython.size_t  # the position merged last
    # positions of the successors, in the order they came up, and whose they are
    fresh: cython.p_char
    fresh_pair: cython.pointer(uint32_t)
    n_fresh: cython.size_t
    fresh_room: cython.size_t
    # the successors of the step, and the first of the ids that are free again; pair[id].successor is the next
    successors: cython.pointer(uint32_t)
    n_successors: cython.size_t
    successors_room: cython.size_t
    free_id: cython.size_t

    def __cinit__(
        self,
        corpus: Corpus,
        queue: Queue,
        spans: uint32_t[::1],
        lengths: uint32_t[::1],
        merges: int32_t[:, ::1],
        n_tokens: cython.size_t,
        n_merges: cython.size_t,
        max_bytes: cython.size_t,
    ):
        self.corpus = corpus
        self.pairs = queue.pairs
        self.queue = queue
        self.spans = spans
        self.lengths = lengths
        self.merges = merges
        self.n_tokens = n_tokens
        self.n_merges = n_merges
        self.max_bytes = max_bytes
        self.limited = max_bytes != cython.cast(cython.size_t, -1)

    def __dealloc__(self):
        free(self.fresh)
        free(self.fresh_pair)
        free(self.successors)

    @property
    def done(self) -> int:
        """How many merges there are."""
        return self.n_merges

    def merge(self, wanted: cython.size_t, work: cython.size_t) -> bool:
        """Go on until there are `wanted` merges or about `work` positions were seen. False if no pair is left."""
        spent: cython.size_t = 0
        pair: cython.size_t
        if self.stage == 0 and wanted > self.n_merges:
            pair = self.n_tokens + wanted - self.n_merges
            if wanted > cython.cast(cython.size_t, self.merges.shape[0]) or pair > cython.cast(
                cython.size_t, self.lengths.shape[0]
            ):
                raise ValueError("more merges than there is room for")
        with cython.nogil:
            while spent < work:
                if self.stage == 0:
                    if self.n_merges >= wanted:
                        break
                    pair = self.queue.pop()
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
    def _begin(self, merged: cython.size_t) -> cython.int:
        """A new token for the pair `merged`."""
        left: uint32_t = self.pairs.pair[merged].left
        right: uint32_t = self.pairs.pair[merged].right
        size: cython.size_t = self.pairs.pair[merged].size
        new: cython.size_t = self.n_tokens
        # Heirs have the new token on one side and an older one on the other; each comes from a position.
        n_successors: cython.size_t = 2 * (size if size < new else new) + 3
        self.pairs.reserve(n_successors)
        if self.successors_room < n_successors:
            free(self.successors)
            self.successors_room = 2 * n_successors
            self.successors = cython.cast(cython.pointer(uint32_t), tm_alloc(self.successors_room * 4))
            if self.successors == cython.NULL:
                self.successors_room = 0
                with cython.gil:
                    raise MemoryError(f"no memory for {n_successors} pairs")
        if self.fresh_room < 2 * size:
            free(self.fresh)
            free(self.fresh_pair)
            self.fresh_room = 3 * size
            self.fresh = cython.cast(cython.p_char, tm_alloc(self.fresh_room * self.pairs.width))
            self.fresh_pair = cython.cast(cython.pointer(uint32_t), tm_alloc(self.fresh_room * 4))
            if self.fresh == cython.NULL or self.fresh_pair == cython.NULL:
                self.fresh_room = 0
                with cython.gil:
                    raise MemoryError(f"no memory for {3 * size} positions")
        self.merges[self.n_merges, 0] = cython.cast(int32_t, left)
        self.merges[self.n_merges, 1] = cython.cast(int32_t, right)
        self.merges[self.n_merges, 2] = cython.cast(int32_t, new)
        self.n_merges += 1
        self.spans[new] = self.spans[left] + self.spans[right]
        if self.limited:
            self.lengths[new] = self.lengths[left] + self.lengths[right]
        self.n_tokens += 1
        self.n_fresh = 0
        self.merged = merged
        self.swap = 0
        self.n_successors = 0
        self.step += 1
        self.at = 0
        self.run = 0
        self.before = 0
        self.stage = 1
        return 0

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _new_pair(self, left: uint32_t, right: uint32_t) -> uint32_t:
        """A new pair, under an id that is free again if there is one: its record is in the cache still."""
        id: cython.size_t = self.free_id
        if id:
            self.free_id = self.pairs.pair[id].successor
        else:
            id = self.pairs.n_pairs
            self.pairs.n_pairs += 1
        set_pair(self.pairs, id, left, right)
        self.successors[self.n_successors] = cython.cast(uint32_t, id)
        self.n_successors += 1
        return cython.cast(uint32_t, id)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def _free_pair(self, id: cython.size_t) -> cython.void:
        """No node and no queue holds this id: give it to the next new pair."""
        self.pairs.pair[id].successor = cython.cast(uint32_t, self.free_id)
        self.free_id = id

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _make_successor(self, old: cython.size_t, on_left: cython.bint) -> cython.void:
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
            self.swap = old
            pair[old].successor = self._new_pair(left, new)
            self.after_swap = self._new_pair(new, right)
            self.twice = self._new_pair(new, new)
        else:
            if on_left:
                right = new
            else:
                left = new
            if self.limited and cython.cast(cython.size_t, self.lengths[left]) + self.lengths[right] > self.max_bytes:
                return
            pair[old].successor = self._new_pair(left, right)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _sweep(self, work: cython.size_t) -> cython.size_t:
        """Merge at the next `work` entries of the segment."""
        node: cython.pointer(uint32_t) = self.corpus.node
        runs: cython.pointer(Run) = self.corpus.runs
        pair: cython.pointer(Pair) = self.pairs.pair
        wide: cython.bint = self.corpus.wide
        merged: uint32_t = cython.cast(uint32_t, self.merged)
        places: cython.p_char = self.pairs.places[merged]
        size: cython.size_t = pair[merged].size
        begin: cython.size_t = self.at
        stop: cython.size_t = size if size - begin < work else begin + work
        step: uint32_t = self.step
        new: uint32_t = cython.cast(uint32_t, self.n_tokens - 1)
        middle: cython.size_t = self.spans[pair[merged].left]
        whole: cython.size_t = self.spans[new]
        before: cython.size_t = self.before
        n_fresh: cython.size_t = self.n_fresh
        run_end: cython.size_t = 0
        count: uint64_t = 0
        i: cython.size_t
        place: cython.size_t
        left: cython.size_t
        old: uint32_t
        successor: uint32_t
        for i in range(begin, begin + AHEAD if stop - begin > AHEAD else stop):
            place = get_place(places, i, wide)
            tm_prefetch(cython.address(node[place]))
        for i in range(begin, stop):
            if i + AHEAD < size:
                place = get_place(places, i + AHEAD, wide)
                tm_prefetch(cython.address(node[place - 1]))
                tm_prefetch(cython.address(node[place + whole]))
            place = get_place(places, i, wide)
            if node[place] != merged:
                continue
            if place >= run_end:
                self.run = run_at(runs, self.run, self.corpus.n_runs, place)
                run_end = runs[self.run + 1].start
                count = runs[self.run].count
            left = place - 1
            if node[left] & LAST:
                left = place - (node[left] & ~LAST)
            old = node[left]
            # Where the token on the left was made just now, the pair of the two was made with it.
            if old < FREE and left != before:
                if pair[old].step != step:
                    self._make_successor(old, True)
                successor = pair[old].successor
                pair[old].count -= count
                node[left] = successor
                if successor < FREE:
                    pair[successor].count += count
                    pair[successor].size += 1
                    put_place(self.fresh, n_fresh, wide, left)
                    self.fresh_pair[n_fresh] = successor
                    n_fresh += 1
            successor = FREE | new
            old = node[place + middle]
            if old < FREE:
                if pair[old].step != step:
                    self._make_successor(old, False)
                pair[old].count -= count
                if pair[old].successor < FREE:
                    successor = pair[old].successor
                    if old == self.swap:
                        # x1 comes next; if it is about to be merged too, the pair is (x3, x3).
                        successor = self.twice if node[place + whole] == merged else self.after_swap
                    pair[successor].count += count
                    pair[successor].size += 1
                    put_place(self.fresh, n_fresh, wide, place)
                    self.fresh_pair[n_fresh] = successor
                    n_fresh += 1
            node[place] = successor
            node[place + middle] = FREE
            node[place + whole - 1] = LAST | cython.cast(uint32_t, whole)
            before = place
            pair[merged].count -= count
            if pair[merged].count == 0:  # what is left of the segment is dead
                stop = size
                break
        self.before = before
        self.n_fresh = n_fresh
        self.at = stop
        if stop == size:
            self.stage = 2
            self.at = 0
        return stop - begin

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
        successor: cython.size_t
        i: cython.size_t
        if begin == 0:
            for i in range(self.n_successors):
                successor = self.successors[i]
                if pair[successor].count >= pairs.threshold and not (
                    self.limited
                    and cython.cast(cython.size_t, self.lengths[pair[successor].left]) + self.lengths[pair[successor].right]
                    > self.max_bytes
                ):
                    places[successor] = new_places(pairs, pair[successor].size)
                    if places[successor] == cython.NULL:
                        with cython.gil:
                            raise MemoryError(f"no memory for {pair[successor].size} positions")
                    self.queue.enqueue(cython.cast(uint32_t, successor))
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


def append_tokens(tokens: list, merges: cython.const[int32_t][:, ::1]):
    """Append tokens[left] + tokens[right] for each merge (left, right, new)."""
    i: cython.Py_ssize_t
    left: bytes
    right: bytes
    for i in range(merges.shape[0]):
        left = tokens[merges[i, 0]]
        right = tokens[merges[i, 1]]
        tokens.append(left + right)
