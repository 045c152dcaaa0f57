"""The distinct pretokens as one array of nodes, on which both merge loops work.

Definitions
    node    4 bytes for each token that training begins with (a byte of a pretoken), then one sentinel after each pretoken.
    span    the number of nodes of a token: the sum of its parts' spans. The first of them is the token's position.
    pair    two neighbours in a pretoken. Its position is that of its left token.

What a node holds
    below FREE          at a position: the id of the pair there
    FREE | token        at a position: the token, if it is the last of its pretoken, or its pair was dropped
    SENTINEL            between two pretokens, and before the first
    1 << 31 | span      in the last node of a token of span 2 or more: the position on its left is found without links
    anything else       inside a token: never the id of a pair

The token at a position is not stored if there is a pair: it is the left token of that pair. So a merge reads one cache line
for a position, rarely two.

    run     Pretokens are ordered by falling count. So the count of the pretoken around a position seldom changes from one
            position to the next, and a table of (first node, count) is enough. No node stores a count, and counts have
            64 bits.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.tokenmill.kernels._memory import tm_alloc, tm_reserve

BREAK = 0x3FFFFFFF  # as a token id in a pretoken: a symbol that never merges


@cython.final
@cython.cclass
class Corpus:
    """The nodes of all pretokens of two tokens or more, in a given order. (Other pretokens have no pairs.)

    First `measure` all pretokens in order, slice by slice; then `allocate`; then `load` the same slices, each from the node
    that `measure` returned.
    """

    def __cinit__(self):
        self.n_nodes = 1

    def __dealloc__(self):
        free(self.node)
        free(self.runs)

    @property
    def nodes(self) -> int:
        """How many nodes there are, sentinels included."""
        return self.n_nodes

    def measure(
        self,
        offsets: cython.const[uint64_t][::1],
        counts: cython.const[uint64_t][::1],
        order: cython.const[cython.longlong][::1],
    ) -> int:
        """Reserve nodes for the pretokens order[0], order[1], ..., whose counts must not rise; returns the first node."""
        first: cython.size_t = self.n_nodes
        n: cython.size_t = first
        k: cython.Py_ssize_t
        total: cython.Py_ssize_t = order.shape[0]
        size: uint64_t
        count: uint64_t = self.runs[self.n_runs - 1].count if self.n_runs else 0
        with cython.nogil:
            for k in range(total):
                size = offsets[order[k] + 1] - offsets[order[k]]
                if size < 2:
                    continue
                if counts[order[k]] != count or self.n_runs == 0:
                    count = counts[order[k]]
                    self._new_run(n, count)
                n += size + 1
        self.n_nodes = n
        return first

    def allocate(self, most_32: cython.size_t):
        """Allocate the nodes. Positions have 32 bits if there are at most `most_32` nodes, else 64."""
        self.node = cython.cast(cython.pointer(uint32_t), tm_alloc((self.n_nodes + 1) * 4))
        if self.node == cython.NULL:
            raise MemoryError(f"no memory for {self.n_nodes} nodes of 4 bytes")
        self.node[0] = SENTINEL
        self.wide = self.n_nodes > most_32
        self._new_run(self.n_nodes, 0)
        self.n_runs -= 1

    def load(
        self,
        arena: cython.const[uint8_t][::1],
        offsets: cython.const[uint64_t][::1],
        order: cython.const[cython.longlong][::1],
        first: cython.size_t,
    ):
        """Write the pretokens order[0], order[1], ..., given as bytes, from the node `first` on."""
        k: cython.Py_ssize_t
        total: cython.Py_ssize_t = order.shape[0]
        i: cython.size_t
        end: cython.size_t
        node: cython.pointer(uint32_t) = self.node + first
        if arena.shape[0] == 0:
            return
        with cython.nogil:
            for k in range(total):
                i = offsets[order[k]]
                end = offsets[order[k] + 1]
                if end - i < 2:
                    continue
                for i in range(i, end):
                    node[0] = FREE | arena[i]
                    node += 1
                node[0] = SENTINEL
                node += 1

    def load_ids(
        self,
        ids: cython.const[uint32_t][::1],
        offsets: cython.const[uint64_t][::1],
        order: cython.const[cython.longlong][::1],
        first: cython.size_t,
    ):
        """The same for pretokens given as token ids or BREAK."""
        k: cython.Py_ssize_t
        i: cython.size_t
        end: cython.size_t
        node: cython.pointer(uint32_t) = self.node + first
        with cython.nogil:
            for k in range(order.shape[0]):
                i = offsets[order[k]]
                end = offsets[order[k] + 1]
                if end - i < 2:
                    continue
                for i in range(i, end):
                    node[0] = FREE | ids[i]
                    node += 1
                node[0] = SENTINEL
                node += 1

    def load_spread(
        self,
        ids: cython.const[uint32_t][::1],
        offsets: cython.const[uint64_t][::1],
        order: cython.const[cython.longlong][::1],
        first: cython.size_t,
        spans: cython.const[uint32_t][::1],
    ):
        """The same for tokens that span spans[id] nodes each. `measure` was given the pretokens' lengths in nodes."""
        k: cython.Py_ssize_t
        i: cython.size_t
        j: cython.size_t
        span: cython.size_t
        size: cython.size_t
        node: cython.pointer(uint32_t) = self.node + first
        with cython.nogil:
            for k in range(order.shape[0]):
                size = 0
                for i in range(offsets[order[k]], offsets[order[k] + 1]):
                    size += spans[ids[i]]
                if size < 2:
                    continue
                for i in range(offsets[order[k]], offsets[order[k] + 1]):
                    span = spans[ids[i]]
                    for j in range(1, span):
                        node[j] = FREE
                    if span > 1:
                        node[span - 1] = LAST | cython.cast(uint32_t, span)
                    node[0] = FREE | ids[i]
                    node += span
                node[0] = SENTINEL
                node += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(-1)
    def _new_run(self, start: cython.size_t, count: uint64_t) -> cython.int:
        block: cython.p_void = tm_reserve(
            self.runs, cython.address(self.runs_room), self.n_runs + 1, cython.sizeof(Run)
        )
        if block == cython.NULL:
            with cython.gil:
                raise MemoryError(f"no memory for {self.n_runs} different counts")
        self.runs = cython.cast(cython.pointer(Run), block)
        self.runs[self.n_runs].start = start
        self.runs[self.n_runs].count = count
        self.n_runs += 1
        return 0
