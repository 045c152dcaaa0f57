"""The distinct pretokens as one array of nodes, on which both merge loops work.

Definitions
    node    4 bytes for each token that training begins with (a byte of a pretoken), then one sentinel after each pretoken.
    span    the number of nodes of a token: the sum of the spans of the two tokens that it was merged from
    position of a token: the index of its first node
    pair    two neighbours in a pretoken. Its position is that of its left token.

Values of nodes
    below FREE          at a position: the id of the pair there
    FREE | token        at a position: the token, if it is the last of its pretoken, or its pair was dropped
    SENTINEL            between two pretokens, and before the first
    1 << 31 | span      in the last node of a token of span 2 or more: the position on its left is found without links
    INNER, or any 1 << 31 | span    elsewhere inside a token

The token at a position is not stored if there is a pair: it is the left token of that pair. So a merge reads one cache line
for a position, rarely two.

Count ranges: pretokens are ordered by falling count. So the count of the pretoken around a position seldom changes from one
position to the next, and a table of (first node, count) is enough. No node stores a count, and counts have 64 bits.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint16_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.tokenmill.kernels._arrays import new_array
from cython.cimports.tokenmill.kernels._memory import tm_return_freed

Ids = cython.fused_type(cython.const[uint8_t], cython.const[uint16_t], cython.const[uint32_t])


@cython.final
@cython.cclass
class Corpus:
    """The nodes of pretokens of two nodes or more, by falling count. `load` adds them.

    room: the largest number of nodes, with one sentinel for each pretoken and one before the first.
    pretokens: the largest number of pretokens. wide: positions have 64 bits.
    """

    def __cinit__(self, room: cython.size_t, pretokens: cython.size_t, wide: bool):
        tm_return_freed()  # memory that counting freed: 100 MB after 20 languages
        self.wide = wide
        self.node = cython.cast(cython.pointer(uint32_t), new_array(room + 1, 4))
        self.node[0] = SENTINEL
        self.n_nodes = 1
        self.ranges = cython.cast(cython.pointer(CountRange), new_array(pretokens + 1, cython.sizeof(CountRange)))

    def __dealloc__(self):
        free(self.node)
        free(self.ranges)

    def load(
        self,
        ids: Ids[::1],
        offsets: cython.const[uint64_t][::1],
        counts: cython.const[uint64_t][::1],
        order: cython.const[cython.longlong][::1],
        spans: cython.const[uint32_t][::1],
    ):
        """Add the pretokens order[0], order[1], ... Their counts must not rise, also from one call to the next.

        Pretoken i is ids[offsets[i]:offsets[i + 1]], token ids or BREAK (alphabet.py). A token has spans[id] nodes; one if
        `spans` is empty.
        """
        j: cython.size_t
        spread: cython.bint = spans.shape[0] > 0
        node: cython.pointer(uint32_t) = self.node + self.n_nodes
        with cython.nogil:
            for k in range(order.shape[0]):
                i: cython.size_t = offsets[order[k]]
                end: cython.size_t = offsets[order[k] + 1]
                self.n_tokens += counts[order[k]] * (end - i)
                first = node
                for i in range(i, end):
                    span: cython.size_t = spans[ids[i]] if spread else 1
                    for j in range(1, span):
                        node[j] = INNER
                    if span > 1:
                        node[span - 1] = LAST | cython.cast(uint32_t, span)
                    node[0] = FREE | ids[i]
                    node += span
                if node - first < 2:  # no pair
                    node = first
                    continue
                if self.n_ranges == 0 or self.ranges[self.n_ranges - 1].count != counts[order[k]]:
                    self.ranges[self.n_ranges].start = first - self.node
                    self.ranges[self.n_ranges].count = counts[order[k]]
                    self.n_ranges += 1
                node[0] = SENTINEL
                node += 1
        self.n_nodes = node - self.node
        self.ranges[self.n_ranges].start = self.n_nodes
