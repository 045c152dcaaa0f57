"""Segments of pairs and tokens that get new positions again and again, as they do when tokens are removed.

A pair has its newest segment in `pairs` and a list of the older ones. A token has a list of births. Both are linked lists in
one table. When a pair is merged or a token removed, its segments are gathered into one.
"""

import cython
from cython.cimports.libc.stdint import uint32_t
from cython.cimports.libc.stdlib import free, qsort
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.tokenmill.kernels._arrays import grown_array
from cython.cimports.tokenmill.kernels._platform import tm_prefetch
from cython.cimports.tokenmill.training._corpus_cy import Corpus, get_place, put_place
from cython.cimports.tokenmill.training._pairs_cy import Pair, Pairs, new_places, token_at
from cython.cimports.tokenmill.training._step_cy import AHEAD


@cython.final
@cython.cclass
class Segments:
    """The late segments and births of one training.

    expected: how many pairs to make room for at once, since it costs time to move them.
    """

    def __cinit__(self, pairs: Pairs, wide: bool, expected: cython.size_t):
        self.wide = wide
        self.n_segments = 1  # 0 is none
        self.pairs = pairs
        pairs.reserve(expected)
        self.reserve()

    def __dealloc__(self):
        free(self.late)
        free(self.segment)

    def reserve(self):
        """Make room for as many lists as there is room for pairs."""
        room: cython.size_t = self.late_room
        self.late = cython.cast(
            cython.pointer(uint32_t), grown_array(self.late, cython.address(self.late_room), self.pairs.room, 4)
        )
        memset(self.late + room, 0, (self.late_room - room) * 4)
        return 0

    def retire(self, pair):
        """Move the newest segment of a pair into its list."""
        if self.pairs.places[pair] != cython.NULL:
            self.add(self.late + pair, self.pairs.places[pair], self.pairs.pair[pair].size)
            self.pairs.places[pair] = cython.NULL
            self.pairs.pair[pair].size = 0
        return 0

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
        self.retire(pair)
        return self.gather(corpus, pair, False, self.late + pair)

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
        qsort(self.gathered, size, width, compare_wide if wide else compare_narrow)
        return size
