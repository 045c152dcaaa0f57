# cython: language_level=3
"""The merge kernel for proper vocabularies: token by token instead of merge by merge.

A vocabulary is proper if all bytes have tokens and every token that merging its own bytes gives back is made of halves
of lower rank. All that training made are. Then, where merging leaves two tokens side by side in any text, it leaves
them so in the text of the two alone; and a row of tokens of which all neighbours are so is what merging gives. So the
ids of a piece are found from left to right: take the longest token; if it does not fit its neighbour, the next
shorter one; if none does, what was taken before was wrong, and no row of tokens ends where it did.

Whether two tokens fit is found by undoing their merges, the latest first: the two halves that face each other must
not be a pair that would have merged before (Antoniadis and van Antwerpen: So many tokens, so little time, 2024).
A place where no row of tokens ends is tried once, so the time is linear in the length, whatever the piece.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc, realloc
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.tokenmill.counting._pages import tm_pages_free, tm_pages_new
from cython.cimports.tokenmill.tokenizer._merge_cy import (
    ID_BITS,
    LONGEST,
    NO_ID,
    NO_MEMORY,
    SIGNALLED,
    TOO_LONG,
    Merger,
    Workspace,
    hash_of,
    pair_in,
    release,
    reserve,
    signalled,
)

TOKEN = cython.declare(uint32_t, 1 << 21)
BASE_SHIFT = cython.declare(cython.int, 32)
MARK_SHIFT = cython.declare(cython.int, 24)


@cython.cclass
class ProperMerger(Merger):
    """Finds the tokens of a piece from left to right. Made by `proper`."""

    def __dealloc__(self):
        free(self.origins)
        free(self.sizes)
        free(self.filter)
        free(self.shorter)
        tm_pages_free(self.trie, self.trie_size * 8)

    def merge(self, piece, n, out, work):
        closed: uint64_t[WORDS]
        if n <= FEW:
            return self.merge_parts(out, self.parts(piece, n, out), 1, piece, work)
        if n < 64 * WORDS:
            memset(closed, 0, cython.sizeof(closed))
            return self.encode(piece, n, out, closed)
        if n >= LONGEST:
            return TOO_LONG
        if not reserve(work, n // 8 + 8):
            return NO_MEMORY
        memset(work.memory, 0, n // 8 + 8)
        return self.encode(piece, n, out, cython.cast(cython.pointer(uint64_t), work.memory))

    def encode(self, piece, n, out, closed):
        """closed: a bit for each place from 0 to n, set where no row of tokens ends; all 0 at first."""
        at: cython.size_t = 0
        end: cython.size_t
        count: cython.Py_ssize_t = 0
        steps: cython.size_t = 0
        token: uint32_t = NO_ID  # to try here; NO_ID: the longest
        while at < n:
            steps += 1
            if steps & 0x3FFFF == 0 and signalled():
                return SIGNALLED
            if token == NO_ID:
                token = _longest(self.trie, piece + at, n - at)
            while token != NO_ID:
                end = at + self.sizes[token]
                if closed[end >> 6] >> (end & 63) & 1 == 0 and (count == 0 or _fit(self, out[count - 1], token)):
                    break
                token = self.shorter[token]
            if token != NO_ID:
                out[count] = token
                count += 1
                at = end
                token = NO_ID
            else:
                closed[at >> 6] |= cython.cast(uint64_t, 1) << (at & 63)
                count -= 1
                token = out[count]
                at -= self.sizes[token]
        return count


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _fit(merger: ProperMerger, left: uint32_t, right: uint32_t) -> cython.bint:
    """Whether merging leaves these two tokens side by side in the text of the two."""
    limit: uint32_t = 0xFFFFFFFF
    rank: uint32_t
    hash: uint64_t
    l: uint32_t = merger.origins[left].rank
    r: uint32_t = merger.origins[right].rank
    while True:
        hash = hash_of(left, right) >> merger.filter_shift
        if merger.filter[hash >> 6] >> (hash & 63) & 1:  # hardly ever: most pairs never merge
            rank = pair_in(merger, left, right)
            if rank != NO_ID and rank + 1 < limit:
                return False
        if l > r:  # the later merge is undone
            limit = l
            left = merger.origins[left].right
            l = merger.origins[left].rank
        elif r > 0:  # of two merges of one rank the left one came first, and this pair lies before the right one
            limit = r + 1
            right = merger.origins[right].left
            r = merger.origins[right].rank
        else:
            return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _longest(trie: cython.pointer(cython.const[uint64_t]), p: cython.pointer(cython.const[uint8_t]), n: cython.size_t) -> uint32_t:
    """The longest token that p[0:n] begins with; one byte at least is one."""
    node: uint64_t = trie[p[0]]
    found: uint32_t = cython.cast(uint32_t, node)
    i: cython.size_t = 1
    byte: uint64_t
    while i < n and node >> BASE_SHIFT != 0:
        byte = p[i]
        node = trie[(node >> BASE_SHIFT) ^ byte]
        if node == 0 or node >> MARK_SHIFT & 0xFF != byte:
            break
        if node & TOKEN:
            found = cython.cast(uint32_t, node)
        i += 1
    return found & NO_ID


# ---------------------------------------------------------------------- making one


def proper(merger: Merger, tokens: tuple) -> Merger:
    """A ProperMerger that gives the same ids as `merger`, if its vocabulary is proper; else `merger`."""
    if not merger.complete or merger.characters != cython.NULL:
        return merger
    n: uint32_t = merger.n_ids
    result: ProperMerger = ProperMerger(n, [merger.byte_ids[i] for i in range(256)], None, None, merger.n_ranks, 2 * n)
    result.origins = cython.cast(cython.pointer(Origin), calloc(n + 1, cython.sizeof(Origin)))
    result.sizes = cython.cast(cython.pointer(uint32_t), calloc(n + 1, 4))
    result.shorter = cython.cast(cython.pointer(uint32_t), calloc(n + 1, 4))
    if result.origins == cython.NULL or result.sizes == cython.NULL or result.shorter == cython.NULL:
        raise MemoryError
    trie: _Trie = _Trie(256 + sum([len(token) for token in tokens if token is not None]))
    id: uint32_t
    byte: uint8_t
    for id in range(256):
        byte = id
        result.sizes[merger.byte_ids[id]] = 1
        trie.insert(cython.address(byte), 1, merger.byte_ids[id])
    if not _find_origins(merger, result, trie, tokens):
        return merger
    for id in range(n):
        if result.origins[id].rank > 0 and not _is_proper(result, id):
            return merger
    trie.lay_out(result)
    _fill_filter(result)
    if not result.finish_pairs():
        raise MemoryError
    result.made = merger.made
    merger.made = cython.NULL
    return result


@cython.cfunc
@cython.exceptval(-1)
def _find_origins(merger: Merger, result: ProperMerger, trie: _Trie, tokens: tuple) -> cython.bint:
    """Merge the bytes of each token until two are left: if those merge, it is one that merging gives."""
    work: Workspace = Workspace(memory=cython.NULL, room=0)
    ids: cython.pointer(uint32_t) = cython.NULL
    longest: cython.Py_ssize_t = max([0 if token is None else len(token) for token in tokens], default=0)
    size: cython.Py_ssize_t
    count: cython.Py_ssize_t
    rank: uint32_t
    made: uint32_t
    piece: cython.pointer(cython.const[uint8_t])
    try:
        ids = cython.cast(cython.pointer(uint32_t), malloc((longest + 1) * 4))
        if ids == cython.NULL:
            raise MemoryError
        for token in tokens:
            if token is None or len(token) < 2:
                continue
            piece = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(token))
            size = PyBytes_GET_SIZE(token)
            count = merger.merge_parts(ids, merger.parts(piece, size, ids), 2, piece, cython.address(work))
            if count < 0:
                raise MemoryError
            rank = merger.pair_rank(ids[0], ids[1]) if count == 2 else NO_ID
            if rank == NO_ID:
                continue
            made = rank if merger.made == cython.NULL else merger.made[rank]
            if made >= merger.n_ids or result.sizes[made] == 1:
                return False
            if result.origins[made].rank == 0:
                result.origins[made] = Origin(rank + 1, ids[0], ids[1])
                result.sizes[made] = cython.cast(uint32_t, size)
                trie.insert(piece, size, made)
                if not result.add_pair(ids[0], ids[1], rank):
                    raise MemoryError
        return True
    finally:
        free(ids)
        release(cython.address(work), 0)


@cython.cfunc
def _is_proper(merger: ProperMerger, id: uint32_t) -> cython.bint:
    """Whether the halves of a token are of lower rank, and make it up."""
    left: uint32_t = merger.origins[id].left
    right: uint32_t = merger.origins[id].right
    return (
        merger.origins[left].rank < merger.origins[id].rank
        and merger.origins[right].rank < merger.origins[id].rank
        and merger.sizes[left] > 0
        and merger.sizes[right] > 0
        and merger.sizes[left] + merger.sizes[right] == merger.sizes[id]
    )


@cython.cfunc
@cython.exceptval(-1)
def _fill_filter(merger: ProperMerger) -> cython.int:
    i: cython.size_t
    hash: uint64_t
    bits: cython.size_t = 64
    merger.filter_shift = 58
    while bits < 16 * merger.n_pairs:
        bits *= 2
        merger.filter_shift -= 1
    merger.filter = cython.cast(cython.pointer(uint64_t), calloc(bits // 64, 8))
    if merger.filter == cython.NULL:
        raise MemoryError
    for i in range(merger.n_ids):
        if merger.origins[i].rank > 0:
            hash = hash_of(merger.origins[i].left, merger.origins[i].right) >> merger.filter_shift
            merger.filter[hash >> 6] |= cython.cast(uint64_t, 1) << (hash & 63)
    return 0


_Node = cython.struct(parent=uint32_t, first=uint32_t, sibling=uint32_t, id=uint32_t, slot=uint32_t, label=uint8_t)


@cython.cclass
class _Trie:
    """A trie while it grows: nodes with their first child and their next sibling. Node 0 is the root.

    room: how many nodes there may be.
    """

    nodes: cython.pointer(_Node)
    n: cython.size_t
    table: cython.pointer(uint32_t)  # the nodes by parent and label
    shift: cython.int

    def __cinit__(self, room: cython.size_t):
        slots: cython.size_t = 1024
        self.shift = 54
        while slots < 2 * room:
            slots *= 2
            self.shift -= 1
        self.nodes = cython.cast(cython.pointer(_Node), malloc((room + 1) * cython.sizeof(_Node)))
        self.table = cython.cast(cython.pointer(uint32_t), calloc(slots, 4))
        if self.nodes == cython.NULL or self.table == cython.NULL:
            raise MemoryError
        self.nodes[0] = _Node(0, 0, 0, NO_ID, 0, 0)
        self.n = 1

    def __dealloc__(self):
        free(self.nodes)
        free(self.table)

    @cython.cfunc
    def insert(self, piece: cython.pointer(cython.const[uint8_t]), size: cython.Py_ssize_t, id: uint32_t) -> cython.void:
        i: cython.Py_ssize_t
        node: uint32_t = 0
        child: uint32_t
        mask: uint64_t = (cython.cast(uint64_t, 1) << (64 - self.shift)) - 1
        slot: uint64_t
        for i in range(size):
            slot = hash_of(node, piece[i]) >> self.shift
            child = self.table[slot]
            while child != 0 and (self.nodes[child].parent != node or self.nodes[child].label != piece[i]):
                slot = slot + 1 & mask
                child = self.table[slot]
            if child == 0:
                child = cython.cast(uint32_t, self.n)
                self.nodes[child] = _Node(node, 0, self.nodes[node].first, NO_ID, 0, piece[i])
                self.nodes[node].first = child
                self.table[slot] = child
                self.n += 1
            node = child
        self.nodes[node].id = id

    @cython.cfunc
    @cython.exceptval(-1)
    def lay_out(self, merger: ProperMerger) -> cython.int:
        """Make the double array, the nodes near the root first, and what is shorter than each token."""
        slots: _Slots = _Slots()
        queue: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), calloc(2 * self.n, 4))
        if queue == cython.NULL:
            raise MemoryError
        above: cython.pointer(uint32_t) = queue + self.n  # by node: the last token before it on the way from the root
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
                base = 0 if node == 0 else slots.place(self, node)
                if node > 0:
                    slots.nodes[self.nodes[node].slot] |= cython.cast(uint64_t, base) << BASE_SHIFT
                child = self.nodes[node].first
                while child != 0:
                    self.nodes[child].slot = base ^ self.nodes[child].label
                    slots.nodes[self.nodes[child].slot] = cython.cast(uint64_t, self.nodes[child].label) << MARK_SHIFT
                    above[child] = above[node] if self.nodes[node].id == NO_ID else self.nodes[node].id
                    if self.nodes[child].id != NO_ID:
                        slots.nodes[self.nodes[child].slot] |= TOKEN | self.nodes[child].id
                        merger.shorter[self.nodes[child].id] = above[child]
                    if self.nodes[child].first != 0:
                        queue[used] = child
                        used += 1
                    child = self.nodes[child].sibling
            merger.trie_size = slots.n
            merger.trie = cython.cast(cython.pointer(uint64_t), tm_pages_new(slots.n * 8))
            if merger.trie == cython.NULL:
                raise MemoryError
            memcpy(merger.trie, slots.nodes, slots.n * 8)
            return 0
        finally:
            free(queue)


@cython.cclass
class _Slots:
    """The double array while it grows, in blocks of 256."""

    nodes: cython.pointer(uint64_t)
    taken: cython.pointer(uint8_t)  # 1: a node stands here; 2: this is a node's base
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
        """One block more."""
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
    def place(self, trie: _Trie, node: uint32_t) -> uint32_t:
        """A base for a node, whose children then have their places: at one of the next free slots, or in a new block."""
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
    def is_free(self, trie: _Trie, child: uint32_t, base: cython.size_t) -> cython.bint:
        if self.taken[base] & 2:
            return False
        while child != 0:
            if self.taken[base ^ trie.nodes[child].label] & 1:
                return False
            child = trie.nodes[child].sibling
        return True
