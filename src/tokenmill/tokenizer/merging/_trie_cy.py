# cython: language_level=3
"""Tokens as a trie: one that grows, and the double array that it is laid out in when it is complete."""

import cython
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc, realloc
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.tokenmill.kernels._memory import tm_pages_new
from cython.cimports.tokenmill.kernels._pair_map import (
    tm_pair_map_free,
    tm_pair_map_get,
    tm_pair_map_get_or_put,
    tm_pair_map_reserve,
)
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_ID


@cython.cclass
class Trie:
    """A trie while it grows: nodes with their first child and their next sibling. Node 0 is the root.

    room: the most nodes that there may be. n_ids: all ids are below this.
    """

    def __cinit__(self, room: cython.size_t, n_ids: cython.size_t):
        self.nodes = cython.cast(cython.pointer(Node), malloc((room + 1) * cython.sizeof(Node)))
        self.ends = cython.cast(cython.pointer(uint32_t), malloc((n_ids + 1) * 4))
        if self.nodes == cython.NULL or self.ends == cython.NULL or not tm_pair_map_reserve(cython.address(self.children), n_ids):
            raise MemoryError
        self.nodes[0] = Node(0, 0, NO_ID, 0, 0)
        self.n = 1

    def __dealloc__(self):
        free(self.nodes)
        free(self.ends)
        tm_pair_map_free(cython.address(self.children))

    def insert(self, node, token, size, id):
        i: cython.Py_ssize_t
        child: uint32_t
        if not tm_pair_map_reserve(cython.address(self.children), size):
            raise MemoryError
        for i in range(size):
            child = tm_pair_map_get_or_put(cython.address(self.children), node, token[i], cython.cast(uint32_t, self.n))
            if child == self.n:
                self.nodes[child] = Node(0, self.nodes[node].first, NO_ID, 0, token[i])
                self.nodes[node].first = child
                self.n += 1
            node = child
        self.nodes[node].id = id
        self.ends[id] = node
        return 0

    def prefixes(self, text, size, ids):
        i: cython.Py_ssize_t
        node: uint32_t = 0
        for i in range(size):
            node = tm_pair_map_get(cython.address(self.children), node, text[i])
            if node == NO_ID:
                return i
            ids[i] = self.nodes[node].id
        return size

    def lay_out(self, shorter, size):
        slots: Slots = Slots()
        queue: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), calloc(2 * self.n, 4))
        if queue == cython.NULL:
            raise MemoryError
        above: cython.pointer(uint32_t) = queue + self.n  # by node: the last token above it
        done: cython.size_t = 0
        used: cython.size_t = 1
        node: uint32_t
        child: uint32_t
        base: uint32_t
        try:
            above[0] = NO_ID
            while done < used:
                node = queue[done]
                done += 1
                if done & 0xFFFF == 0:
                    PyErr_CheckSignals()
                base = 0 if node == 0 else slots.place(self, node)
                if node > 0:
                    slots.nodes[self.nodes[node].slot] |= cython.cast(uint64_t, base) << 32
                child = self.nodes[node].first
                while child != 0:
                    self.nodes[child].slot = base ^ self.nodes[child].label
                    slots.nodes[self.nodes[child].slot] = cython.cast(uint64_t, self.nodes[child].label) << 24
                    above[child] = above[node] if self.nodes[node].id == NO_ID else self.nodes[node].id
                    if self.nodes[child].id != NO_ID:
                        slots.nodes[self.nodes[child].slot] |= self.nodes[child].id + 1
                        shorter[self.nodes[child].id] = above[child]
                    if self.nodes[child].first != 0:
                        queue[used] = child
                        used += 1
                    child = self.nodes[child].sibling
            array: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), tm_pages_new(slots.n * 8))
            if array == cython.NULL:
                raise MemoryError
            memcpy(array, slots.nodes, slots.n * 8)
            size[0] = slots.n
            return array
        finally:
            free(queue)


@cython.cclass
class Slots:
    """The double array while it grows, in blocks of 256."""

    nodes: cython.pointer(uint64_t)
    taken: cython.pointer(uint8_t)  # 1: a node is here; 2: this is a node's base
    n: cython.size_t
    room: cython.size_t
    cursor: cython.size_t

    def __cinit__(self):
        self.grow()  # the block of the children of the root, which are all 256
        memset(self.taken, 1, 256)
        self.taken[0] |= 2

    def __dealloc__(self):
        free(self.nodes)
        free(self.taken)

    @cython.cfunc
    @cython.exceptval(-1)
    def grow(self) -> cython.int:
        """Add one block."""
        if self.n == self.room:
            room: cython.size_t = 2 * self.room if self.room > 0 else 1 << 18
            nodes: cython.p_void = realloc(self.nodes, room * 8)
            if nodes != cython.NULL:
                self.nodes = cython.cast(cython.pointer(uint64_t), nodes)
            taken: cython.p_void = realloc(self.taken, room)
            if taken != cython.NULL:
                self.taken = cython.cast(cython.pointer(uint8_t), taken)
            if nodes == cython.NULL or taken == cython.NULL:
                raise MemoryError
            self.room = room
        memset(self.nodes + self.n, 0, 256 * 8)
        memset(self.taken + self.n, 0, 256)
        self.n += 256
        return 0

    @cython.cfunc
    @cython.exceptval(0)
    def place(self, trie: Trie, node: uint32_t) -> uint32_t:
        """Find a base for a node, at one of the next free slots or in a new block, and take the slots of its children."""
        first: uint32_t = trie.nodes[node].first
        slot: cython.size_t = self.cursor
        base: cython.size_t = 0
        tries: cython.size_t = 0
        steps: cython.size_t
        for steps in range(4096):
            slot = slot + 1 if slot + 1 < self.n else 256
            if slot >= self.n or tries == 64:
                break
            if self.taken[slot] & 1 == 0:
                tries += 1
                base = slot ^ trie.nodes[first].label
                if self.is_free(trie, first, base):
                    self.cursor = slot
                    break
                base = 0
        if base == 0:
            base = self.n
            self.grow()
            self.cursor = base
        self.taken[base] |= 2
        while first != 0:
            self.taken[base ^ trie.nodes[first].label] |= 1
            first = trie.nodes[first].sibling
        return cython.cast(uint32_t, base)

    @cython.cfunc
    def is_free(self, trie: Trie, child: uint32_t, base: cython.size_t) -> cython.bint:
        if self.taken[base] & 2:
            return False
        while child != 0:
            if self.taken[base ^ trie.nodes[child].label] & 1:
                return False
            child = trie.nodes[child].sibling
        return True
