# cython: language_level=3
"""Tokens in the order of their bytes, and the trie in a double array that is made from that order."""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, qsort, realloc
from cython.cimports.libc.string import memcmp, memcpy, memset
from cython.cimports.tokenmill.kernels._arrays import grown_array, new_array
from cython.cimports.tokenmill.kernels._memory import tm_pages_new
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_ID

# A node of the trie that waits for its children: the tokens first to last - 1 begin with its `depth` bytes. slot: of its entry.
Waiting = cython.struct(first=uint32_t, last=uint32_t, depth=uint32_t, slot=uint32_t)


@cython.cclass
class SortedTokens:
    def __dealloc__(self):
        free(self.items)

    def sort(self, starts, sizes, n):
        i: cython.size_t
        k: cython.int
        first: cython.size_t = 0
        token: cython.pointer(SortedToken)
        self.items = cython.cast(cython.pointer(SortedToken), new_array(n + 1, cython.sizeof(SortedToken)))
        for i in range(n):
            if starts[i] == cython.NULL or sizes[i] == 0:
                continue
            token = self.items + self.n
            token.key = 0
            for k in range(8):
                token.key = token.key << 8 | (starts[i][k] if cython.cast(uint32_t, k) < sizes[i] else 0)
            token.start = starts[i]
            token.size = sizes[i]
            token.id = cython.cast(uint32_t, i)
            self.n += 1
        _sort_by_key(cython.address(self.items), self.n)
        for i in range(1, self.n + 1):  # equal keys: long tokens, or such as end with zeros
            if i == self.n or self.items[i].key != self.items[first].key:
                if i - first > 1:
                    qsort(self.items + first, i - first, cython.sizeof(SortedToken), _compare)
                first = i
        return 0

    def find_prefixes(self, shorter):
        # Each token's prefixes are on the way from the token before it through the prefixes of that one.
        i: cython.size_t
        before: uint32_t = NO_ID  # an index of items
        token: cython.pointer(SortedToken)
        prefix: cython.pointer(SortedToken)
        up: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), new_array(self.n + 1, 4))
        try:
            for i in range(self.n):
                token = self.items + i
                if before != NO_ID and same_token(self.items + before, token):  # the lowest id counts
                    shorter[token.id] = shorter[self.items[before].id]
                    continue
                while before != NO_ID:
                    prefix = self.items + before
                    if prefix.size < token.size and memcmp(prefix.start, token.start, prefix.size) == 0:
                        break
                    before = up[before]
                up[i] = before
                shorter[token.id] = NO_ID if before == NO_ID else self.items[before].id
                before = cython.cast(uint32_t, i)
            return 0
        finally:
            free(up)

    def lay_out(self, size):
        slots: Slots = Slots()
        queue: cython.pointer(Waiting) = cython.NULL
        room: cython.size_t = 0
        used: cython.size_t = 1
        done: cython.size_t = 0
        at: uint32_t
        last: uint32_t
        node: Waiting
        labels: uint8_t[256]
        ends: uint32_t[256]
        n: cython.int
        k: cython.int
        base: uint32_t
        entry: uint64_t
        array: cython.pointer(uint64_t)
        try:
            queue = cython.cast(cython.pointer(Waiting), grown_array(queue, cython.address(room), 1, cython.sizeof(Waiting)))
            queue[0] = Waiting(0, cython.cast(uint32_t, self.n), 0, 0)
            while done < used:
                node = queue[done]
                done += 1
                at = node.first
                if at < node.last and self.items[at].size == node.depth:  # the token that ends here
                    at += 1
                n = 0
                last = at
                while last < node.last:
                    labels[n] = _byte(self.items + last, node.depth)
                    last += 1
                    while last < node.last and _byte(self.items + last, node.depth) == labels[n]:
                        last += 1
                    ends[n] = last
                    n += 1
                if n == 0:
                    continue
                base = 0 if node.depth == 0 else slots.place(labels, n)
                if node.depth > 0:
                    slots.nodes[node.slot] |= cython.cast(uint64_t, base) << 32
                queue = cython.cast(
                    cython.pointer(Waiting), grown_array(queue, cython.address(room), used + n, cython.sizeof(Waiting))
                )
                for k in range(n):
                    entry = cython.cast(uint64_t, labels[k]) << 24
                    if self.items[at].size == node.depth + 1:
                        entry |= self.items[at].id + 1
                    slots.nodes[base ^ labels[k]] = entry
                    if ends[k] - at > 1 or self.items[at].size > node.depth + 1:
                        queue[used] = Waiting(at, ends[k], node.depth + 1, base ^ labels[k])
                        used += 1
                    at = ends[k]
            array = cython.cast(cython.pointer(uint64_t), tm_pages_new(slots.n * 8))
            if array == cython.NULL:
                raise MemoryError
            memcpy(array, slots.nodes, slots.n * 8)
            size[0] = slots.n
            return array
        finally:
            free(queue)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _byte(token: cython.pointer(SortedToken), at: uint32_t) -> uint8_t:
    return cython.cast(uint8_t, token.key >> (56 - 8 * at)) if at < 8 else token.start[at]


def same_token(a, b):
    return a.size == b.size and memcmp(a.start, b.start, a.size) == 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compare(left: cython.pointer(cython.const[cython.void]), right: cython.pointer(cython.const[cython.void])) -> cython.int:
    a: cython.pointer(SortedToken) = cython.cast(cython.pointer(SortedToken), left)
    b: cython.pointer(SortedToken) = cython.cast(cython.pointer(SortedToken), right)
    order: cython.int = memcmp(a.start, b.start, min(a.size, b.size))
    if order != 0:
        return order
    if a.size != b.size:
        return -1 if a.size < b.size else 1
    return -1 if a.id < b.id else 1


@cython.cfunc
@cython.exceptval(-1)
def _sort_by_key(items: cython.pointer(cython.pointer(SortedToken)), n: cython.size_t) -> cython.int:
    """Sort by the key, a byte at a time, the last one first. Equal keys stay in their order."""
    counts: cython.size_t[2048]  # 256 for each byte
    pass_: cython.int
    byte: cython.int
    i: cython.size_t
    start: cython.size_t
    size: cython.size_t
    fresh: cython.pointer(SortedToken) = cython.cast(cython.pointer(SortedToken), new_array(n + 1, cython.sizeof(SortedToken)))
    memset(counts, 0, cython.sizeof(counts))
    for i in range(n):
        for pass_ in range(8):
            counts[256 * pass_ + (items[0][i].key >> (8 * pass_) & 255)] += 1
    for pass_ in range(8):
        start = 0
        if n == 0 or counts[256 * pass_ + (items[0][0].key >> (8 * pass_) & 255)] == n:
            continue  # all have the same byte
        for byte in range(256):
            size = counts[256 * pass_ + byte]
            counts[256 * pass_ + byte] = start
            start += size
        for i in range(n):
            byte = 256 * pass_ + (items[0][i].key >> (8 * pass_) & 255)
            fresh[counts[byte]] = items[0][i]
            counts[byte] += 1
        items[0], fresh = fresh, items[0]
    free(fresh)
    return 0


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
    def place(self, labels: cython.pointer(uint8_t), n: cython.int) -> uint32_t:
        """Find a base for a node, at one of the next free slots or in a new block, and take the slots of its children."""
        k: cython.int
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
                base = slot ^ labels[0]
                if self.is_free(labels, n, base):
                    self.cursor = slot
                    break
                base = 0
        if base == 0:
            base = self.n
            self.grow()
            self.cursor = base
        self.taken[base] |= 2
        for k in range(n):
            self.taken[base ^ labels[k]] |= 1
        return cython.cast(uint32_t, base)

    @cython.cfunc
    @cython.exceptval(check=False)
    def is_free(self, labels: cython.pointer(uint8_t), n: cython.int, base: cython.size_t) -> cython.bint:
        k: cython.int
        if self.taken[base] & 2:
            return False
        for k in range(n):
            if self.taken[base ^ labels[k]] & 1:
                return False
        return True
