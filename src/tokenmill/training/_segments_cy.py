"""Segments of pairs and tokens that get new positions again and again, as they do when tokens are removed.

A pair has its segment in `pairs` and a list of late segments, for positions that came later. A token has a list of births.
Both are linked lists in one table. The new positions of a step are first recorded in the order in which they are found
(`new_position`). At the end of the step `lay_out` knows the sizes of their segments, and fills them. When a pair is merged or
a token removed, its segments are gathered into one.
"""

import cython
from cython.cimports.libc.stdint import uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, qsort
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.tokenmill.kernels._memory import tm_alloc, tm_reserve
from cython.cimports.tokenmill.kernels._platform import tm_prefetch
from cython.cimports.tokenmill.training._corpus_cy import FREE, Corpus, get_place, put_place
from cython.cimports.tokenmill.training._pairs_cy import Pairs, new_places, token_at
from cython.cimports.tokenmill.training._queue_cy import Queue

AHEAD = cython.declare(cython.size_t, 24)  # how many entries ahead nodes are prefetched


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compare_32(a: cython.p_const_void, b: cython.p_const_void) -> cython.int:
    x: uint32_t = cython.cast(cython.pointer(cython.const[uint32_t]), a)[0]
    y: uint32_t = cython.cast(cython.pointer(cython.const[uint32_t]), b)[0]
    return (x > y) - (x < y)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compare_64(a: cython.p_const_void, b: cython.p_const_void) -> cython.int:
    x: uint64_t = cython.cast(cython.pointer(cython.const[uint64_t]), a)[0]
    y: uint64_t = cython.cast(cython.pointer(cython.const[uint64_t]), b)[0]
    return (x > y) - (x < y)


@cython.final
@cython.cclass
class Segments:
    """The late segments and births of one training.

    wide: positions have 64 bits. expected: how many pairs to make room for at once, since it costs time to move them.
    """

    def __cinit__(self, queue: Queue, wide: bool, expected: cython.size_t):
        self.wide = wide
        self.n_segments = 1  # 0 is none
        self.queue = queue
        self.reserve(queue.pairs, expected, 0)

    def __dealloc__(self):
        free(self.late)
        free(self.growth)
        free(self.segment)
        free(self.fresh)
        free(self.fresh_entry)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def reserve(self, pairs: Pairs, more: cython.size_t, fresh: cython.size_t) -> cython.int:
        """Make room for `more` new pairs and `fresh` new positions before a step."""
        late: cython.pointer(Late)
        pairs.reserve(more)
        if self.late_room < pairs.room:
            late = cython.cast(cython.pointer(Late), tm_alloc(pairs.room * cython.sizeof(Late)))
            if late != cython.NULL:
                if self.late != cython.NULL:
                    memcpy(late, self.late, self.late_room * cython.sizeof(Late))
                memset(late + self.late_room, 0, (pairs.room - self.late_room) * cython.sizeof(Late))
                free(self.late)
                self.late = late
                self.late_room = pairs.room
        if self.fresh_room < fresh or self.fresh == cython.NULL:
            free(self.growth)
            free(self.fresh)
            free(self.fresh_entry)
            self.fresh_room = fresh + (fresh >> 1) + 64
            self.growth = cython.cast(cython.pointer(Growth), tm_alloc(self.fresh_room * cython.sizeof(Growth)))
            self.fresh = cython.cast(cython.p_char, tm_alloc(self.fresh_room * pairs.width))
            self.fresh_entry = cython.cast(cython.pointer(uint32_t), tm_alloc(self.fresh_room * 4))
        if (
            self.late_room < pairs.room
            or self.growth == cython.NULL
            or self.fresh == cython.NULL
            or self.fresh_entry == cython.NULL
        ):
            self.fresh_room = 0
            with cython.gil:
                raise MemoryError(f"no memory for {pairs.room} pairs and {fresh} positions")
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(0, check=True)
    def lay_out(self, pairs: Pairs, work: cython.size_t) -> cython.bint:
        """Write the next `work` new positions into segments of their pairs, and queue the pairs. True at the end."""
        stop: cython.size_t = self.n_fresh if self.n_fresh - self.at < work else self.at + work
        growth: cython.pointer(Growth) = self.growth
        pair: uint32_t
        entry: cython.size_t
        i: cython.size_t
        if self.at == 0:
            for i in range(self.n_growth):
                pair = growth[i].pair
                growth[i].at = cython.NULL
                if pairs.pair[pair].count == 0:  # came and went within the step
                    continue
                growth[i].at = new_places(pairs, growth[i].size)
                if growth[i].at == cython.NULL:
                    with cython.gil:
                        raise MemoryError(f"no memory for {growth[i].size} positions")
                if pairs.pair[pair].size == 0:
                    pairs.places[pair] = growth[i].at
                    pairs.pair[pair].size = growth[i].size
                else:
                    self.add(cython.address(self.late[pair].list), growth[i].at, growth[i].size)
                self.queue.enqueue(pair)
        for i in range(self.at, stop):
            entry = self.fresh_entry[i]
            if growth[entry].at != cython.NULL:
                put_place(growth[entry].at, 0, self.wide, get_place(self.fresh, i, self.wide))
                growth[entry].at += pairs.width
        self.at = stop
        if stop < self.n_fresh:
            return False
        self.n_growth = 0
        self.n_fresh = 0
        self.at = 0
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def add(self, head: cython.pointer(uint32_t), places: cython.p_char, size: cython.size_t) -> cython.int:
        """Add a segment to a list, unless it is empty."""
        entry: uint32_t = self.free_entry
        block: cython.p_void
        if size == 0:
            return 0
        if entry:
            self.free_entry = self.segment[entry].next
        else:
            entry = self.n_segments
            block = tm_reserve(
                self.segment, cython.address(self.segments_room), self.n_segments + 1, cython.sizeof(Segment)
            )
            if block == cython.NULL:
                with cython.gil:
                    raise MemoryError("no memory for the list of segments")
            self.segment = cython.cast(cython.pointer(Segment), block)
            self.n_segments += 1
        self.segment[entry].places = places
        self.segment[entry].size = size
        self.segment[entry].next = head[0]
        head[0] = entry
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def add_moved(
        self,
        head: cython.pointer(uint32_t),
        pairs: Pairs,
        places: cython.p_char,
        size: cython.size_t,
        offset: cython.size_t,
    ) -> cython.int:
        """Add a segment of the positions `offset` nodes after these to a list."""
        i: cython.size_t
        moved: cython.p_char = new_places(pairs, size)
        if moved == cython.NULL:
            with cython.gil:
                raise MemoryError(f"no memory for {size} positions")
        for i in range(size):
            put_place(moved, i, self.wide, get_place(places, i, self.wide) + offset)
        return self.add(head, moved, size)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def take(self, head: cython.pointer(uint32_t), taken: cython.pointer(Segment)) -> cython.int:
        """Remove the first segment of a list; 0 if there is none."""
        entry: uint32_t = head[0]
        if entry == 0:
            return 0
        taken[0] = self.segment[entry]
        head[0] = taken.next
        self.segment[entry].next = self.free_entry
        self.free_entry = entry
        return 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def gather_pair(self, corpus: Corpus, pairs: Pairs, pair: uint32_t) -> cython.longlong:
        """Move all positions of a pair, in ascending order, into `gathered`; returns how many there are."""
        head: cython.pointer(uint32_t) = cython.address(self.late[pair].list)
        self.add(head, pairs.places[pair], pairs.pair[pair].size)
        pairs.places[pair] = cython.NULL
        pairs.pair[pair].size = 0
        return self._gather(corpus, pairs, pair, False, head)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def gather_token(
        self, corpus: Corpus, pairs: Pairs, token: uint32_t, births: cython.pointer(uint32_t)
    ) -> cython.longlong:
        """Move all positions of a token's births, in ascending order, into `gathered`; returns how many there are."""
        return self._gather(corpus, pairs, token, True, births)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _gather(
        self, corpus: Corpus, pairs: Pairs, key: uint32_t, of_token: cython.bint, head: cython.pointer(uint32_t)
    ) -> cython.longlong:
        """Join the segments of a list. If there are several, only positions where `key` is now are kept."""
        wide: cython.bint = self.wide
        node: cython.pointer(uint32_t) = corpus.node
        entry: uint32_t = head[0]
        part: Segment
        total: cython.size_t = 0
        size: cython.size_t
        i: cython.size_t
        place: cython.size_t
        self.gathered = cython.NULL
        while entry:
            total += self.segment[entry].size
            entry = self.segment[entry].next
        if self.take(head, cython.address(part)) == 0:
            return 0
        if part.next == 0:  # in order already
            self.gathered = part.places
            return part.size
        self.gathered = new_places(pairs, total)
        if self.gathered == cython.NULL:
            with cython.gil:
                raise MemoryError(f"no memory for {total} positions")
        # First one after the other, so that nodes can be prefetched: most segments hold a few positions.
        size = 0
        while True:
            memcpy(self.gathered + size * pairs.width, part.places, part.size * pairs.width)
            size += part.size
            pairs.free_places(part.places, part.size)
            if self.take(head, cython.address(part)) == 0:
                break
        size = 0
        for i in range(total):
            if i + AHEAD < total:
                tm_prefetch(node + get_place(self.gathered, i + AHEAD, wide))
            place = get_place(self.gathered, i, wide)
            if (token_at(node, pairs.pair, place) if of_token else node[place]) == key:
                put_place(self.gathered, size, wide, place)
                size += 1
        pairs.free_places(self.gathered + size * pairs.width, total - size)
        qsort(self.gathered, size, pairs.width, _compare_64 if wide else _compare_32)
        return size
