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
from cython.cimports.tokenmill.kernels._arrays import grown_array, new_array
from cython.cimports.tokenmill.kernels._platform import tm_prefetch
from cython.cimports.tokenmill.training._corpus_cy import Corpus, get_place, put_place
from cython.cimports.tokenmill.training._pairs_cy import Pair, Pairs, new_places, token_at

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

    def __cinit__(self, pairs: Pairs, wide: bool, expected: cython.size_t):
        self.wide = wide
        self.n_segments = 1  # 0 is none
        self.pairs = pairs
        self.reserve(expected, 1)

    def __dealloc__(self):
        free(self.late)
        free(self.growth)
        free(self.segment)
        free(self.fresh)
        free(self.fresh_entry)

    def reserve(self, more, fresh):
        """Make room for `more` new pairs and `fresh` new positions before a step."""
        late: cython.pointer(Late)
        self.pairs.reserve(more)
        if self.late_room < self.pairs.room:
            late = cython.cast(cython.pointer(Late), new_array(self.pairs.room, cython.sizeof(Late)))
            memcpy(late, self.late, self.late_room * cython.sizeof(Late))
            memset(late + self.late_room, 0, (self.pairs.room - self.late_room) * cython.sizeof(Late))
            free(self.late)
            self.late = late
            self.late_room = self.pairs.room
        if self.fresh_room < fresh:
            free(self.growth)
            free(self.fresh)
            free(self.fresh_entry)
            self.growth, self.fresh, self.fresh_entry = cython.NULL, cython.NULL, cython.NULL
            self.fresh_room = 0
            fresh += (fresh >> 1) + 64
            self.growth = cython.cast(cython.pointer(Growth), new_array(fresh, cython.sizeof(Growth)))
            self.fresh = cython.cast(cython.p_char, new_array(fresh, self.pairs.width))
            self.fresh_entry = cython.cast(cython.pointer(uint32_t), new_array(fresh, 4))
            self.fresh_room = fresh
        return 0

    def lay_out(self, work):
        """Write the next `work` new positions into segments of their pairs, and queue the pairs. True at the end."""
        stop: cython.size_t = self.n_fresh if self.n_fresh - self.at < work else self.at + work
        growth: cython.pointer(Growth) = self.growth
        pair: cython.pointer(Pair) = self.pairs.pair
        width: cython.size_t = self.pairs.width
        id: uint32_t
        entry: cython.size_t
        i: cython.size_t
        if self.at == 0:
            for i in range(self.n_growth):
                id = growth[i].pair
                growth[i].at = cython.NULL
                if pair[id].count == 0:  # came and went within the step
                    continue
                growth[i].at = new_places(self.pairs, growth[i].size)
                if pair[id].size == 0:
                    self.pairs.places[id] = growth[i].at
                    pair[id].size = growth[i].size
                else:
                    self.add(cython.address(self.late[id].list), growth[i].at, growth[i].size)
                self.pairs.enqueue(id)
        for i in range(self.at, stop):
            entry = self.fresh_entry[i]
            if growth[entry].at != cython.NULL:
                put_place(growth[entry].at, 0, self.wide, get_place(self.fresh, i, self.wide))
                growth[entry].at += width
        self.at = stop
        if stop < self.n_fresh:
            return False
        self.n_growth = 0
        self.n_fresh = 0
        self.at = 0
        return True

    def add(self, head, places, size):
        """Add a segment to a list, unless it is empty."""
        entry: uint32_t = self.free_entry
        if size == 0:
            return 0
        if entry:
            self.free_entry = self.segment[entry].next
        else:
            entry = self.n_segments
            self.segment = cython.cast(
                cython.pointer(Segment),
                grown_array(self.segment, cython.address(self.segments_room), entry + 1, cython.sizeof(Segment)),
            )
            self.n_segments += 1
        self.segment[entry].places = places
        self.segment[entry].size = size
        self.segment[entry].next = head[0]
        head[0] = entry
        return 0

    def add_moved(self, head, places, size, offset):
        """Add a segment of the positions `offset` nodes after these to a list."""
        i: cython.size_t
        moved: cython.p_char = new_places(self.pairs, size)
        for i in range(size):
            put_place(moved, i, self.wide, get_place(places, i, self.wide) + offset)
        return self.add(head, moved, size)

    def take(self, head, taken):
        """Remove the first segment of a list; 0 if there is none."""
        entry: uint32_t = head[0]
        if entry == 0:
            return 0
        taken[0] = self.segment[entry]
        head[0] = taken.next
        self.segment[entry].next = self.free_entry
        self.free_entry = entry
        return 1

    def gather_pair(self, corpus, pair):
        """Move all positions of a pair, in ascending order, into `gathered`; returns how many there are."""
        head: cython.pointer(uint32_t) = cython.address(self.late[pair].list)
        self.add(head, self.pairs.places[pair], self.pairs.pair[pair].size)
        self.pairs.places[pair] = cython.NULL
        self.pairs.pair[pair].size = 0
        return self.gather(corpus, pair, False, head)

    def gather(self, corpus, key, of_token, head):
        """Join the segments of a list, of the pair `key` or of the token `key`, into `gathered`; returns how many positions.

        They are in ascending order. If there are several segments, only positions where `key` is now are kept.
        """
        wide: cython.bint = self.wide
        node: cython.pointer(uint32_t) = corpus.node
        pair: cython.pointer(Pair) = self.pairs.pair
        width: cython.size_t = self.pairs.width
        entry: uint32_t = head[0]
        part: Segment
        total: cython.size_t = 0
        size: cython.size_t = 0
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
        self.gathered = new_places(self.pairs, total)
        # First one after the other, so that nodes can be prefetched: most segments hold a few positions.
        while True:
            memcpy(self.gathered + size * width, part.places, part.size * width)
            size += part.size
            self.pairs.free_places(part.places, part.size)
            if self.take(head, cython.address(part)) == 0:
                break
        size = 0
        for i in range(total):
            if i + AHEAD < total:
                tm_prefetch(node + get_place(self.gathered, i + AHEAD, wide))
            place = get_place(self.gathered, i, wide)
            if (token_at(node, pair, place) if of_token else node[place]) == key:
                put_place(self.gathered, size, wide, place)
                size += 1
        self.pairs.free_places(self.gathered + size * width, total - size)
        qsort(self.gathered, size, width, _compare_64 if wide else _compare_32)
        return size
