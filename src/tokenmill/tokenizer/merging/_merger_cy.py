"""The merge kernel: the bytes of one pretoken to ids, by ranks of pairs.

Both orders of merging use one table, (left id, right id) -> rank. For the order "merges" it is the list of merges. For "ranks",
where any two neighbours whose joined bytes are a token merge, it contains each split of each token into two tokens.

The new id of a merge follows from its rank. In most vocabularies the rank is the id. In a list, ids rise from one merge to the
next with few exceptions. So ranks are numbered such that within a block of them the id is the rank plus an offset. The
offsets stay in the fastest memory, and an array of all ids would not.

Merging begins with the initial ids: those of single bytes, or of characters where the alphabet is characters.

The *certain* pairs of bytes are merged first, in one pass (`first_merges`). Then one of two loops merges the rest, with the same
result. Short pretokens use an array, whose minimum is searched for each merge. Longer ones use a heap of chains: most pairs of a
long pretoken share their rank with others, and a chain needs the heap once.

A pair of bytes (a, b) with the rank r is certain between the bytes p and q if r is below the rank of every merge of a token that ends
with p and a, and of every merge of b and a token that begins with q. Proof: until a or b is merged, both are single bytes, so the
only merges that can touch them are these and (a, b). All of these come later than (a, b), which is possible from the start. So (a, b)
merges, whatever is around it. It may merge early: an earlier merge elsewhere has no byte in common with it, and the token of (a, b)
is an operand only of merges of higher rank. (Where it is an operand of others, it is never certain.)

A character of three bytes is certain in the same way, in two merges: of a pair, then of its token and the third byte. The second one waits
for the first alone if no merge takes the third byte, or the pair's token on its other side, earlier.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memcpy, memset
from cython.cimports.tokenmill.kernels._arrays import new_array
from cython.cimports.tokenmill.kernels._memory import tm_pages_free, tm_pages_new
from cython.cimports.tokenmill.kernels._pair_ranks import (
    TM_RANK_MASK,
    tm_pair_rank,
    tm_pair_rank_prefetch,
    tm_pair_ranks_add,
    tm_pair_ranks_free,
    tm_pair_ranks_renumber,
    tm_pair_ranks_reserve,
)
from cython.cimports.tokenmill.kernels._signals import signalled
from cython.cimports.tokenmill.kernels._token_list import NOTHING, Node, join_next, link_tokens, list_ids
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_read

BLOCK_BITS = cython.declare(cython.int, 8)  # of a rank within a block, at most


def reserve(work, size):
    if work.room < size:
        tm_pages_free(work.memory, work.room)
        work.room = 0
        work.memory = cython.cast(cython.pointer(uint8_t), tm_pages_new(size))
        if work.memory == cython.NULL:
            return False
        work.room = size
    return True


def release(work, keep):
    if work.room > keep:
        tm_pages_free(work.memory, work.room)
        work.memory = cython.NULL
        work.room = 0


@cython.cclass
class Merger:
    """Merges pretokens by ranks of pairs. Immutable after the last pair is added; threads share it."""

    def __cinit__(self, n_ids: cython.uint = 0, byte_ids=None, unknown=None, characters=None,
                  fallback: cython.bint = False, fuse: cython.bint = False):
        """n_ids: all ids are below this. byte_ids: the id of each of the 256 bytes, None for a byte without a token.
        characters: the id of each code point, if the alphabet is characters.
        fallback: a character without a token becomes its bytes. fuse: neighbouring unknown characters become one."""
        i: cython.size_t
        self.n_ids = n_ids
        self.late = ()
        self.offsets = cython.address(self.no_offset)
        self.block_bits = 31
        self.unknown = NO_ID if unknown is None else unknown
        self.fallback = fallback
        self.fuse = fuse
        self.complete = characters is None and None not in byte_ids
        for i in range(256):
            self.byte_ids[i] = n_ids + i if byte_ids is None or byte_ids[i] is None else byte_ids[i]
        if characters is not None:
            self.n_characters = max(characters, default=-1) + 1
            self.characters = cython.cast(cython.pointer(uint32_t), malloc((self.n_characters + 1) * 4))
            if self.characters == cython.NULL:
                raise MemoryError
            memset(self.characters, 0xFF, (self.n_characters + 1) * 4)
            for point, id in characters.items():
                self.characters[cython.cast(cython.size_t, point)] = id
        if not tm_pair_ranks_reserve(cython.address(self.pairs), 0, 0):
            raise MemoryError

    def __dealloc__(self):
        if self.offsets != cython.address(self.no_offset):
            free(self.offsets)
        free(self.characters)
        tm_pages_free(self.byte_pairs, 65536 * cython.sizeof(BytePair))
        tm_pages_free(self.triples, 65536 * cython.sizeof(ByteTriple))
        tm_pair_ranks_free(cython.address(self.pairs))

    # ------------------------------------------------------------------ the pair table

    def rank(self, left: uint32_t, right: uint32_t):
        """The rank of a pair, or None."""
        rank: uint32_t = tm_pair_rank(cython.address(self.pairs), left, right)
        return None if rank == NO_ID else rank

    def reserve_pairs(self, n):
        if not tm_pair_ranks_reserve(cython.address(self.pairs), n, 0):
            raise MemoryError
        return 0

    def add_pair(self, left, right, rank):
        return tm_pair_ranks_add(cython.address(self.pairs), left, right, rank)

    def number_ranks(self, new_ids, n):
        ranks = cython.cast(cython.pointer(uint32_t), new_array(n + 1, 4))
        self.offsets = cython.cast(cython.pointer(uint32_t), new_array(n, 4))  # only the few that are written take memory
        self.block_bits = BLOCK_BITS
        ranks[0] = 0
        while not _number(new_ids, n, self.block_bits, ranks, self.offsets):
            self.block_bits -= 1
        tm_pair_ranks_renumber(cython.address(self.pairs), ranks)
        return ranks

    def expect_merges(self):
        self.byte_pairs = cython.cast(cython.pointer(BytePair), tm_pages_new(65536 * cython.sizeof(BytePair)))
        if self.byte_pairs == cython.NULL:
            raise MemoryError
        if self.characters == cython.NULL:
            self.triples = cython.cast(cython.pointer(ByteTriple), tm_pages_new(65536 * cython.sizeof(ByteTriple)))
            if self.triples == cython.NULL:
                raise MemoryError
        return 0

    def note_merge(self, left, left_bytes, left_size, right, right_bytes, right_size, rank, id):
        pair: cython.pointer(BytePair) = self.byte_pairs + (left_bytes[left_size - 1] << 8 | right_bytes[0])
        a: cython.bint = left_size == 1 and self.initial_id(left_bytes[0]) == left
        b: cython.bint = right_size == 1 and self.initial_id(right_bytes[0]) == right
        if self.triples != cython.NULL and left_size + right_size == 3 and (a or b):
            self.note_triple(left, left_bytes, left_size, right, right_bytes, ~rank, id)
        if a and b and pair.rank == 0 and pair.id != NO_ID:
            pair.rank = ~rank
            pair.id = id
        if b and pair.before == 0:
            pair.before = ~rank
        if a and pair.after == 0:
            pair.after = ~rank
        self.note_operand(left_bytes, left_size, LEFT)
        self.note_operand(right_bytes, right_size, RIGHT)

    def note_operand(self, token, size, side):
        if size == 2:
            pair = self.byte_pairs + (token[0] << 8 | token[1])
            pair.id = NO_ID if pair.rank == 0 else pair.id | side
        elif size == 3 and self.triples != cython.NULL:
            triple = _triple(self.triples, token)
            if triple != cython.NULL and triple.id == 0:
                triple.id = NO_ID

    def note_triple(self, left, left_bytes, left_size, right, right_bytes, rank, id):
        bytes: uint8_t[3]
        memcpy(bytes, left_bytes, left_size)
        memcpy(bytes + left_size, right_bytes, 3 - left_size)
        triple = _triple(self.triples, bytes)
        if triple == cython.NULL or triple.id != 0:
            return
        first = self.byte_pairs + (bytes[0] << 8 | bytes[1])
        pair = self.byte_pairs + (bytes[1] << 8 | bytes[2])
        if left_size == 2 and first.id & ID_BITS == left and first.rank > pair.after and first.id & RIGHT == 0:
            triple.left = first.rank
            triple.right = rank
            triple.id = id
        elif left_size == 1 and pair.id & ID_BITS == right and pair.rank > first.before and pair.id & LEFT == 0:
            triple.left = rank
            triple.right = pair.rank
            triple.id = id

    # ------------------------------------------------------------------ one pretoken

    def first_missing(self, data: bytes) -> bytes:
        """The first byte or character of `data` that has no token; b"" if all have one."""
        p = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(data))
        i: cython.size_t = 0
        n: cython.size_t = len(data)
        length: cython.size_t = 1
        ids: uint32_t[4]
        while i < n:
            if self.characters != cython.NULL:
                length = max(tm_utf8_read(p + i, n - i, ids), 1)
            self.initial_ids(p + i, length, ids)
            if ids[0] >= self.n_ids:
                return data[i:i + length]
            i += length
        return b""

    def initial_id(self, byte):
        if self.characters == cython.NULL:
            return self.byte_ids[byte]
        return self.characters[byte] if byte < 0x80 and byte < self.n_characters else NO_ID

    def initial_ids(self, pretoken, n, ids):
        i: cython.size_t = 0
        count: cython.Py_ssize_t = 0
        while i < n:
            i += _add_initial(self, pretoken + i, n - i, ids, cython.address(count))
        return count

    def dropped(self, text, n):
        point: uint32_t = 0
        length: cython.size_t = tm_utf8_read(text, n, cython.address(point))
        if length == 0 or point >= DROPPED_POINTS:
            return 0
        return length if self.drops[point >> 3] >> (point & 7) & 1 else 0

    def add_character(self, text, n, ids, count):
        point: uint32_t = 0
        length: cython.size_t = tm_utf8_read(text, n, cython.address(point))
        if length == 0:  # a byte outside of any character stands for itself, as in Python's surrogateescape
            length = 1
            point = 0xDC00 | text[0]
        id: uint32_t = self.characters[point] if point < self.n_characters else NO_ID
        if id == NO_ID and self.fallback and self.fallback_ids(text, length, ids + count[0]):
            count[0] += length
        elif id != NO_ID or not self.fuse or count[0] == 0 or ids[count[0] - 1] != NO_ID:
            ids[count[0]] = id
            count[0] += 1
        return length

    def first_merges(self, pretoken, n, ids):
        i: cython.size_t = 0
        count: cython.Py_ssize_t = 0
        pairs: cython.pointer(BytePair) = self.byte_pairs
        triple: cython.pointer(ByteTriple) = cython.NULL
        before: uint32_t = 0  # of the two bytes around i
        if pairs == cython.NULL:
            return self.initial_ids(pretoken, n, ids)
        while i + 1 < n:
            pair = pairs + (pretoken[i] << 8 | pretoken[i + 1])
            if self.triples != cython.NULL:
                triple = _triple(self.triples, pretoken + i) if i + 2 < n else cython.NULL
            if triple != cython.NULL and triple.left > before and triple.right > _after(pairs, pretoken, i + 2, n):
                ids[count] = triple.id
                size = 3
                count += 1
            elif pair.rank > before and pair.rank > _after(pairs, pretoken, i + 1, n):
                ids[count] = pair.id & ID_BITS
                size = 2
                count += 1
            else:
                size = _add_initial(self, pretoken + i, n - i, ids, cython.address(count))
            i += size
            before = pairs[pretoken[i - 1] << 8 | pretoken[i]].before if i < n else 0
        if i < n:
            _add_initial(self, pretoken + i, 1, ids, cython.address(count))
        return count

    def fallback_ids(self, character, n, ids):
        for i in range(n):
            ids[i] = self.byte_ids[character[i]]
            if ids[i] >= self.n_ids:
                return False
        return True

    def merge(self, pretoken, n, out, work):
        if n >= LONGEST:
            return TOO_LONG
        if self.drops != cython.NULL and self.dropped(pretoken, n) > 0:
            return 0
        count: cython.Py_ssize_t = self.first_merges(pretoken, n, out)
        if count > 1:
            count = self.merge_ids(out, count, work)
        return self.replace_missing(out, count)

    def replace_missing(self, ids, count):
        if not self.complete:
            for i in range(count):
                if ids[i] >= self.n_ids:
                    if self.unknown == NO_ID:
                        return NO_TOKEN
                    ids[i] = self.unknown
        return count

    def merge_ids(self, ids, n, work):
        return _by_scan(self, ids, n) if n <= SHORT else _by_chains(self, ids, n, work)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _new_id(self: Merger, rank: uint32_t) -> uint32_t:
    """The new id of the merge of a rank."""
    return rank + self.offsets[rank >> self.block_bits]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _number(new_ids: cython.pointer(cython.const[uint32_t]), n: cython.size_t, bits: cython.int, ranks: cython.pointer(uint32_t),
            offsets: cython.pointer(uint32_t)) -> cython.bint:
    """Set `ranks` and `offsets` as `number_ranks` does, in blocks of 1 << bits ranks. False if there are too many ranks.

    The ids of a block rise. A merge to a lower id, or to a much higher one, begins a new block."""
    rank: cython.size_t = 0
    last: uint32_t = NO_ID
    for i in range(n):
        id = new_ids[i]
        if id == NO_ID:
            continue
        if last < id and id - last <= cython.cast(uint32_t, 1) << bits:
            rank += id - last
        elif last != NO_ID:
            rank = (rank >> bits) + 1 << bits
        if rank >= TM_RANK_MASK:
            return False
        offsets[rank >> bits] = cython.cast(uint32_t, id - rank)
        ranks[i + 1] = cython.cast(uint32_t, rank + 1)
        last = id
    return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _add_initial(self: Merger, text: cython.pointer(cython.const[uint8_t]), n: cython.size_t, ids: cython.pointer(uint32_t),
              count: cython.pointer(cython.Py_ssize_t)) -> cython.size_t:
    """Append the id of the first byte of a text, or the ids of its first character. Returns the size in bytes."""
    if self.characters != cython.NULL:
        return self.add_character(text, n, ids, count)
    ids[count[0]] = self.byte_ids[text[0]]
    count[0] += 1
    return 1


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _triple(triples: cython.pointer(ByteTriple), bytes: cython.pointer(cython.const[uint8_t])) -> cython.pointer(ByteTriple):
    """The triple of a character; NULL if these are not the three bytes of one."""
    if bytes[0] & 0xF0 != 0xE0 or (bytes[1] ^ 0x80 | bytes[2] ^ 0x80) >= 0x40:
        return cython.NULL
    return triples + ((bytes[0] & 0x0F) << 12 | (bytes[1] & 0x3F) << 6 | (bytes[2] & 0x3F))


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _after(pairs: cython.pointer(BytePair), pretoken: cython.pointer(cython.const[uint8_t]), i: cython.size_t, n: cython.size_t) -> uint32_t:
    """BytePair.after of the bytes at i and i + 1; 0 at the end."""
    return pairs[pretoken[i] << 8 | pretoken[i + 1]].after if i + 1 < n else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _by_scan(self: Merger, ids: cython.pointer(uint32_t), n: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Merge up to SHORT ids. ranks[i] is the rank of the pair at i; both arrays close up after each merge."""
    ranks: uint32_t[SHORT]
    for i in range(n - 1):
        tm_pair_rank_prefetch(cython.address(self.pairs), ids[i], ids[i + 1])
    for i in range(n - 1):
        ranks[i] = tm_pair_rank(cython.address(self.pairs), ids[i], ids[i + 1])
    while n > 1:
        best = NO_ID
        at = 0
        for i in range(n - 1):
            if ranks[i] < best:
                best = ranks[i]
                at = i
        if best == NO_ID:
            break
        ids[at] = _new_id(self, best)
        n -= 1
        for i in range(at + 1, n):
            ids[i] = ids[i + 1]
        for i in range(at + 1, n - 1):
            ranks[i] = ranks[i + 1]
        if at + 1 < n:
            ranks[at] = tm_pair_rank(cython.address(self.pairs), ids[at], ids[at + 1])
        if at > 0:
            ranks[at - 1] = tm_pair_rank(cython.address(self.pairs), ids[at - 1], ids[at])
    return n


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _by_chains(self: Merger, ids: cython.pointer(uint32_t), n: cython.Py_ssize_t,
               work: cython.pointer(Workspace)) -> cython.Py_ssize_t:
    """Merge any number of ids. The pairs in a chain have one rank and wait from left to right. A heap has the first pair of each chain."""
    queue: Queue
    steps: cython.size_t = 0
    if not reserve(
        work, n * (cython.sizeof(Node) + 3 * cython.sizeof(Waiting) + 3 * cython.sizeof(Chain)) + OPEN * cython.sizeof(LastPair)
    ):
        return NO_MEMORY
    queue.heap = cython.cast(cython.pointer(Chain), work.memory)
    queue.nodes = cython.cast(cython.pointer(Node), queue.heap + 3 * n)
    queue.pairs = cython.cast(cython.pointer(Waiting), queue.nodes + n)
    queue.last = cython.cast(cython.pointer(LastPair), queue.pairs + 3 * n)
    queue.n_chains = queue.n_pairs = 0
    memset(queue.last, 0xFF, OPEN * cython.sizeof(LastPair))
    link_tokens(queue.nodes, ids, cython.cast(uint32_t, n))
    for i in range(n):
        if i & 0x3FFFF == 0x3FFFF and signalled():
            return SIGNALLED
        _push(self, cython.address(queue), cython.cast(uint32_t, i))
    while queue.n_chains > 0:
        first: Chain = queue.heap[0]
        queue.n_chains = tm_chains_pop(queue.heap, queue.n_chains)
        rank = cython.cast(uint32_t, first.key >> 32)
        entry = first.entry
        while True:
            steps += 1
            if steps & 0x3FFFF == 0 and signalled():
                return SIGNALLED
            pair: Waiting = queue.pairs[entry]
            if queue.last[rank % OPEN].entry == entry:  # the end of this chain
                queue.last[rank % OPEN].rank = NO_ID
            if queue.nodes[pair.index].due == rank:  # otherwise the pair is gone
                join_next(queue.nodes, pair.index, _new_id(self, rank))
                if queue.nodes[pair.index].prev != NOTHING:
                    _push(self, cython.address(queue), queue.nodes[pair.index].prev)
                _push(self, cython.address(queue), pair.index)
            entry = pair.next
            if entry == NOTHING:
                break
            first = Chain(cython.cast(uint64_t, rank) << 32 | queue.pairs[entry].index, entry)
            if queue.n_chains > 0 and queue.heap[0].key < first.key:
                queue.n_chains = tm_chains_push(queue.heap, queue.n_chains, first)
                break
    return list_ids(queue.nodes, n, ids)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _push(merger: Merger, queue: cython.pointer(Queue), index: uint32_t) -> cython.void:
    """Look up the rank of the pair at `index`; if it merges, add it to a chain."""
    after: uint32_t = queue.nodes[index].next
    rank: uint32_t = NO_ID
    entry: uint32_t = queue.n_pairs
    if after != NOTHING:
        rank = tm_pair_rank(cython.address(merger.pairs), queue.nodes[index].id, queue.nodes[after].id)
    queue.nodes[index].due = rank
    if rank == NO_ID:
        return
    queue.pairs[entry] = Waiting(index, NOTHING)
    queue.n_pairs += 1
    last = queue.last + rank % OPEN
    if last.rank == rank and queue.pairs[last.entry].index < index:
        queue.pairs[last.entry].next = entry
    else:
        queue.n_chains = tm_chains_push(queue.heap, queue.n_chains, Chain(cython.cast(uint64_t, rank) << 32 | index, entry))
    last[0] = LastPair(rank, entry)
