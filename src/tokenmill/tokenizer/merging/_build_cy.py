"""Build the merger of a vocabulary and the initial entries of the caches.

Tokens are built in order of rank. Of all pairs that spell a token, at most one can occur when the token's bytes are merged by
the merges before: two compatible tokens (_origins_cy.py). The other pairs are skipped. That is right unless one of them
turns out compatible later. Then the vocabulary is not rank-ordered, and the merger gets more pairs: of a list only the late merges
and those that depend on them, of ranks all.

The loops check for signals, so that Ctrl-C stops loading.
"""

from array import array
from functools import partial

import cython
from cython.cimports.cpython.bytearray import PyByteArray_AS_STRING
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.libc.stdint import int32_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.tokenmill.kernels._arrays import new_array
from cython.cimports.tokenmill.kernels._pretoken_key import tm_key, tm_key_of, tm_random_hash, tm_random_hashes
from cython.cimports.tokenmill.kernels._utf8 import tm_utf8_read
from cython.cimports.tokenmill.split._scan_cy import Scanner
from cython.cimports.tokenmill.tokenizer.encoding._cache_cy import BATCH, Entry, PretokenCache
from cython.cimports.tokenmill.tokenizer.encoding._finder_cy import TM_NO_BLOCK, Finder, tm_pair_block
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import DROPPED_POINTS, NO_ID, Merger
from cython.cimports.tokenmill.tokenizer.merging._origins_cy import Origins
from cython.cimports.tokenmill.tokenizer.merging._prefixes_cy import find_prefixes

from ._merger_kinds_cy import new_merger

MOST_SEEDS = cython.declare(cython.Py_ssize_t, 1 << 16)  # tokens of the lowest ids, with room for others 8 MB of the cache
CHECK = cython.declare(uint32_t, 0xFFF)  # signals are checked for when the low bits of a token's number are 0

# The state of a row of a list of merges; 0 for one that is in the pair table.
SKIPPED = cython.declare(uint8_t, 1)
UNBUILT = cython.declare(uint8_t, 2)  # skipped because the left or the right token was not built
LATE = cython.declare(uint8_t, 3)  # skipped at first, and added at the end


@cython.final
@cython.cclass
class Tokens:
    """Packed tokens by id."""

    blob: bytes
    sizes: bytes
    n: uint32_t
    total: cython.size_t
    starts: cython.pointer(cython.pointer(cython.const[uint8_t]))  # NULL for an id without a token
    size: cython.pointer(uint32_t)
    end: cython.pointer(cython.const[uint8_t])  # of the bytes of all tokens

    def __cinit__(self, blob: bytes, sizes: bytes):
        p = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(blob))
        self.blob = blob
        self.sizes = sizes
        self.n = PyBytes_GET_SIZE(sizes) // 4
        self.size = cython.cast(cython.pointer(uint32_t), PyBytes_AS_STRING(sizes))
        self.starts = cython.cast(
            cython.pointer(cython.pointer(cython.const[uint8_t])), new_array(self.n, cython.sizeof(cython.p_void))
        )
        for id in range(self.n):
            self.starts[id] = cython.NULL
            if self.size[id] != NO_ID:
                self.starts[id] = p
                p += self.size[id]
        self.total = PyBytes_GET_SIZE(blob)
        self.end = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(blob)) + self.total

    def __dealloc__(self):
        free(self.starts)


def initial_ids(packed: tuple, excluded=frozenset()) -> tuple:
    """Return the ids that merging begins with: a list by byte, None for a byte without a token, and a dictionary by code point.

    packed: the tokens, as `pack_tokens` returns them. excluded: ids that are left out. The lowest of several ids counts. A byte that
    is not UTF-8 has the code point of a lone surrogate, as in surrogateescape.
    """
    tokens: Tokens = Tokens(*packed)
    byte_ids: list = [None] * 256
    characters: dict = {}
    point: uint32_t = 0
    for id in range(tokens.n):
        if tokens.starts[id] == cython.NULL or tokens.size[id] > 4 or id in excluded:
            continue
        if tokens.size[id] == 1:
            byte_ids[tokens.starts[id][0]] = id if byte_ids[tokens.starts[id][0]] is None else byte_ids[tokens.starts[id][0]]
            point = 0xDC00 | tokens.starts[id][0] if tokens.starts[id][0] >= 0x80 else tokens.starts[id][0]
        elif tokens.size[id] == 0 or tm_utf8_read(tokens.starts[id], tokens.size[id], cython.address(point)) != tokens.size[id]:
            continue
        characters.setdefault(point, id)
    return byte_ids, characters


def packed_cache(merger: Merger, blob: bytes, sizes: bytes) -> PretokenCache:
    """A cache that maps each token, as a pretoken, to its id: the lowest where two have the same bytes."""
    cache: PretokenCache = PretokenCache(merger)
    _put_tokens(cache, cython.NULL, blob, sizes)
    return cache


def learning_cache(merger: Merger, blob: bytes, sizes: bytes) -> PretokenCache:
    """An empty cache that adds tokens after some pretokens were merged: those that merging is known to make of their own bytes."""
    cache: PretokenCache = PretokenCache(merger)
    if merger.built is not None:
        sizes = sizes[: 4 * MOST_SEEDS]
        cache.set_seeds(len(sizes) // 4, partial(_put_built, blob=blob, sizes=sizes))
    return cache


def _put_built(cache: PretokenCache, blob: bytes, sizes: bytes):
    _put_tokens(cache, PyBytes_AS_STRING(known_built(cache.merger, blob, sizes)), blob, sizes)


def known_built(merger: Merger, blob: bytes, sizes: bytes):
    """By id, 1 for a token that merging is known to make of its own bytes, else 0. None if that is not known of any token.

    It is not known of a token that contains the text of a late merge. 0 also for some tokens in which such a text begins.
    """
    if not merger.late:
        return merger.built
    which: cython.Py_ssize_t = 0
    id: cython.Py_ssize_t = 0
    tokens: Tokens = Tokens(blob, sizes)
    known: bytearray = bytearray(merger.built)
    finder: Finder = Finder(dict.fromkeys(merger.late, 0))
    text = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(tokens.blob))
    block = tm_pair_block(tokens.total, TM_NO_BLOCK, 0)
    at: cython.size_t = finder.search(text, 0, tokens.total, cython.address(which), cython.address(block))
    while at < tokens.total:
        while id < tokens.n and (tokens.starts[id] == cython.NULL or tokens.starts[id] + tokens.size[id] <= text + at):
            id += 1
        if id == tokens.n:  # `sizes` has fewer tokens than `blob`
            break
        known[id] = 0
        at = finder.search(text, at + 1, tokens.total, cython.address(which), cython.address(block))
    return bytes(known)


@cython.cfunc
@cython.exceptval(-1)
def _put_tokens(cache: PretokenCache, included: cython.p_char, blob: bytes, sizes: bytes) -> cython.int:
    """Add the tokens to a cache; of several with the same bytes the first. included: by id; 0 for one to leave out. NULL for all."""
    size = cython.cast(cython.pointer(uint32_t), PyBytes_AS_STRING(sizes))
    pretoken = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(blob))
    limit: cython.pointer(cython.const[uint8_t]) = pretoken + PyBytes_GET_SIZE(blob)
    next: cython.pointer(cython.const[uint8_t]) = pretoken
    n: cython.Py_ssize_t = PyBytes_GET_SIZE(sizes) // 4
    n_tokens: cython.size_t = 0
    keys: tm_key[BATCH]
    hashes: uint64_t[BATCH]
    for i in range(n):
        n_tokens += size[i] != NO_ID
    if not cache.reserve(3 * n_tokens):
        raise MemoryError
    for first in range(0, n, BATCH):
        if included == cython.NULL and first & 0xFFF == 0:  # a cache that learns does so within an encode
            PyErr_CheckSignals()
        k: cython.Py_ssize_t = 0
        for i in range(first, min(first + BATCH, n)):
            if size[i] != NO_ID:
                keys[k] = tm_key_of(next, size[i], limit, cache.seed)
                k += 1
                next += size[i]
        tm_random_hashes(keys, k, cache.seed, cache.entries, cython.sizeof(Entry), cache.slots - 1, hashes)
        k = 0
        for i in range(first, min(first + BATCH, n)):
            if size[i] != NO_ID:
                if size[i] > 0 and (included == cython.NULL or included[i]):
                    if not cache.put_token(pretoken, size[i], keys[k], hashes[k], cython.cast(uint32_t, i)):
                        raise MemoryError
                k += 1
                pretoken += size[i]
    return 0


def rank_merger(packed: tuple, unknown) -> tuple:
    """The merger of the order "ranks", where any split of a token into two tokens merges, with the token's id as its rank. No two tokens
    are equal.

    packed: the tokens, as `pack_tokens` returns them. Returns the merger, and the cache of all tokens; None for it if it also has
    bytes without a token."""
    tokens: Tokens = Tokens(*packed)
    byte_ids = initial_ids(packed)[0]
    prefixes = cython.cast(cython.pointer(uint32_t), new_array(tokens.n + 257, 4))
    try:
        find_prefixes(tokens.starts, tokens.size, tokens.n, prefixes)
        if None not in byte_ids:
            merger: Merger = _new_rank_merger(tokens, byte_ids, unknown)
            table: PretokenCache = packed_cache(merger, *packed)
            if _build_ranks(merger, table, tokens, prefixes):
                return merger, table
        merger = _new_rank_merger(tokens, byte_ids, unknown)
        if None in byte_ids:  # all bytes have ids, those without a token from n on
            tokens = Tokens(tokens.blob + bytes(range(256)), tokens.sizes + array("I", [1] * 256).tobytes())
            find_prefixes(tokens.starts, tokens.size, tokens.n, prefixes)
        table = packed_cache(merger, tokens.blob, tokens.sizes)
        _add_all_splits(merger, table, tokens, prefixes)
        return merger, table if None not in byte_ids else None
    finally:
        free(prefixes)


@cython.cfunc
def _new_rank_merger(tokens: Tokens, byte_ids: list, unknown) -> Merger:
    merger: Merger = Merger(tokens.n, byte_ids, unknown)
    merger.reserve_pairs(tokens.n)
    merger.expect_merges()
    return merger


@cython.cfunc
@cython.exceptval(-1)
def _add_all_splits(merger: Merger, table: PretokenCache, tokens: Tokens, prefixes: cython.pointer(uint32_t)) -> cython.int:
    """Add each split of each token into two tokens to the pair table."""
    for id in range(tokens.n):
        if id & CHECK == 0:
            PyErr_CheckSignals()
        if tokens.starts[id] == cython.NULL or tokens.size[id] < 2:
            continue
        left = prefixes[id]
        while left != NO_ID:
            right = _rest(table, tokens, id, left)
            if right != NO_ID:
                if not merger.add_pair(left, right, id):
                    raise MemoryError
                _note(merger, tokens, left, right, id, id)
            left = prefixes[left]
    return 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _rest_key(table: PretokenCache, tokens: Tokens, id: uint32_t, left: uint32_t) -> tm_key:
    """The key of the bytes of a token after those of the token `left`, one of its prefixes."""
    rest = tokens.starts[id] + tokens.size[left]
    return tm_key_of(rest, tokens.size[id] - tokens.size[left], tokens.end, table.seed)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _find_rest(table: PretokenCache, tokens: Tokens, id: uint32_t, left: uint32_t, key: tm_key, hash: uint64_t) -> uint32_t:
    """The token with the bytes of `_rest_key`; NO_ID if there is none."""
    found: uint32_t[4]
    size: cython.size_t = tokens.size[left]
    return found[0] if table.find(tokens.starts[id] + size, tokens.size[id] - size, key, hash, found) != 0 else NO_ID


@cython.cfunc
@cython.exceptval(check=False)
def _rest(table: PretokenCache, tokens: Tokens, id: uint32_t, left: uint32_t) -> uint32_t:
    key: tm_key = _rest_key(table, tokens, id, left)
    return _find_rest(table, tokens, id, left, key, tm_random_hash(key, table.seed))


@cython.cfunc
@cython.exceptval(check=True)
def _build_ranks(merger: Merger, table: PretokenCache, tokens: Tokens, prefixes: cython.pointer(uint32_t)) -> cython.bint:
    """Build the tokens in order of id. False if the vocabulary is not rank-ordered.

    Most are built from their longest or second longest prefix and the rest. The rests are looked up in batches, which hides
    cache misses."""
    origins: Origins = Origins(merger)
    i: cython.Py_ssize_t
    id: uint32_t = 0
    ids: uint32_t[BATCH]
    lefts: uint32_t[BATCH]
    rights: uint32_t[BATCH]
    keys: tm_key[BATCH]
    hashes: uint64_t[BATCH]
    skipped: list = []
    while id < tokens.n:
        PyErr_CheckSignals()
        n: cython.Py_ssize_t = 0
        while id < tokens.n and n + 2 <= BATCH:
            left: uint32_t = prefixes[id] if tokens.starts[id] != cython.NULL and tokens.size[id] > 1 else NO_ID
            for _ in range(2):
                if left != NO_ID:
                    ids[n] = id
                    lefts[n] = left
                    keys[n] = _rest_key(table, tokens, id, left)
                    n += 1
                    left = prefixes[left]
            id += 1
        tm_random_hashes(keys, n, table.seed, table.entries, cython.sizeof(Entry), table.slots - 1, hashes)
        for i in range(n):
            rights[i] = _find_rest(table, tokens, ids[i], lefts[i], keys[i], hashes[i])
            if rights[i] != NO_ID:
                origins.prefetch(lefts[i], rights[i])
        for i in range(n):
            if origins.origin[ids[i]].size > 0:
                continue
            left = lefts[i]
            if rights[i] == NO_ID or not origins.compatible(left, rights[i]):
                if i + 1 < n and ids[i + 1] == ids[i]:
                    continue
                left = _compatible_left(origins, table, tokens, prefixes, ids[i], prefixes[left], rights + i)
            if left == NO_ID:
                skipped.append(ids[i])
            elif not origins.add(left, rights[i], ids[i], ids[i]):
                raise MemoryError
            else:
                _note(merger, tokens, left, rights[i], ids[i], ids[i])
    for id in skipped:
        if _compatible_left(origins, table, tokens, prefixes, id, prefixes[id], rights) != NO_ID:
            return False
    merger.built = origins.built()
    return True


@cython.cfunc
@cython.exceptval(check=False)
def _compatible_left(origins: Origins, table: PretokenCache, tokens: Tokens, prefixes: cython.pointer(uint32_t), id: uint32_t,
                     left: uint32_t, right: cython.pointer(uint32_t)) -> uint32_t:
    """The longest prefix of a token, from `left` on, that is compatible with the rest of it, right[0]; NO_ID if there is none."""
    while left != NO_ID:
        right[0] = _rest(table, tokens, id, left)
        if right[0] != NO_ID and origins.compatible(left, right[0]):
            return left
        left = prefixes[left]
    return NO_ID


def list_merger(packed: tuple, events: cython.const[int32_t][::1], byte_ids, characters, unknown, scores: cython.bint = False,
                fallback: cython.bint = False, fuse: cython.bint = False, dropped: str = "",
                scanner: Scanner | None = None, last: tuple | None = None) -> Merger:
    """The merger of the orders "merges" and "scores". events: left id, right id and new id of each merge.

    packed: the tokens, as `pack_tokens` returns them. scores: the order is "scores". fallback, fuse: see Merger.
    dropped: the characters that are dropped. scanner: splits pretokens again (DividedMerger).
    last: byte_ids and characters for the end of a pretoken (SuffixMerger)."""
    tokens: Tokens = Tokens(*packed)
    settings = (tokens.n, byte_ids, unknown, characters, fallback, fuse)
    merger: Merger = new_merger(settings, scanner, last)
    if dropped:
        bits: bytearray = bytearray(DROPPED_POINTS // 8)
        for character in dropped:
            bits[ord(character) >> 3] |= 1 << (ord(character) & 7)
        merger.dropped_bits = bytes(bits)
        merger.drops = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(merger.dropped_bits))
    merger.reserve_pairs(min(events.shape[0] // 3, tokens.n))
    if last is None and (characters is not None or _are_bytes(tokens, byte_ids)):
        merger.expect_merges()
    _add_listed(merger, tokens, events, scores, None if scores or last is not None else Origins(merger))
    if scanner is not None:
        merger.built = None  # a token may be split
    return merger


@cython.cfunc
def _are_bytes(tokens: Tokens, byte_ids: list) -> cython.bint:
    """True if the token of each byte is that byte."""
    byte: cython.int
    for byte in range(256):
        if byte_ids[byte] is not None:
            id: uint32_t = byte_ids[byte]
            if tokens.starts[id] == cython.NULL or tokens.size[id] != 1 or tokens.starts[id][0] != byte:
                return False
    return True


@cython.cfunc
@cython.exceptval(-1)
def _add_listed(merger: Merger, tokens: Tokens, events: cython.const[int32_t][::1], scores: cython.bint,
                origins: Origins | None) -> cython.int:
    """Add the pairs of a list. origins: builds the tokens, to skip pairs that never occur; None to add all."""
    rank: uint32_t = 0
    n: uint32_t = events.shape[0] // 3
    states: bytearray = bytearray(n)
    state = cython.cast(cython.pointer(uint8_t), PyByteArray_AS_STRING(states))
    late: set = set()  # the texts that late merges make
    for row in range(n):
        if row & CHECK == 0:
            PyErr_CheckSignals()
        left: uint32_t = events[3 * row]
        right: uint32_t = events[3 * row + 1]
        id: uint32_t = events[3 * row + 2]
        rank = _rank_of(events, row, rank, scores)
        if origins is None:
            if not merger.add_pair(left, right, rank):  # of a pair listed twice, the first rank counts
                raise MemoryError
        elif origins.origin[left].size == 0 or origins.origin[right].size == 0:
            state[row] = UNBUILT
        elif origins.origin[id].size > 0 or not origins.compatible(left, right):
            state[row] = SKIPPED
        elif not origins.add(left, right, rank, id):
            raise MemoryError
    for row in range(n):
        if state[row] == UNBUILT:
            state[row] = SKIPPED
            if origins.compatible(events[3 * row], events[3 * row + 1]):
                state[row] = LATE
                id = events[3 * row + 2]
                if tokens.starts[id] != cython.NULL:
                    late.add(cython.cast(cython.p_char, tokens.starts[id])[:tokens.size[id]])
    if late:
        _add_late(merger, tokens.n, events, state)
    if origins is not None:
        merger.built = origins.built()
        merger.late = tuple(late)
    _number_ranks(merger, tokens, events, scores, state)
    return 0


@cython.cfunc
@cython.exceptval(-1)
def _number_ranks(merger: Merger, tokens: Tokens, events: cython.const[int32_t][::1], scores: cython.bint,
                  state: cython.pointer(uint8_t)) -> cython.int:
    """Set the final ranks of the merges of a list, and note the merges. state: by row."""
    row: uint32_t
    rank: uint32_t = 0
    n: uint32_t = events.shape[0] // 3
    ranks: cython.pointer(uint32_t) = cython.NULL
    new_ids = cython.cast(cython.pointer(uint32_t), new_array(n, 4))
    try:
        for row in range(n):
            rank = _rank_of(events, row, rank, scores)
            new_ids[row] = events[3 * row + 2] if rank == row and state[row] != SKIPPED else NO_ID
        ranks = merger.number_ranks(new_ids, n)
        for row in range(n if merger.byte_pairs != cython.NULL else 0):
            rank = _rank_of(events, row, rank, scores)
            if state[row] != SKIPPED:
                _note(merger, tokens, events[3 * row], events[3 * row + 1], ranks[rank + 1] - 1, events[3 * row + 2])
    finally:
        free(new_ids)
        free(ranks)
    return 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _rank_of(events: cython.const[int32_t][::1], row: uint32_t, before: uint32_t, scores: cython.bint) -> uint32_t:
    """The rank of a merge while the list is read: its row. All merges to a token of a score have one rank."""
    return before if scores and row > 0 and events[3 * row - 1] == events[3 * row + 2] else row


@cython.cfunc
@cython.exceptval(-1)
def _add_late(merger: Merger, n_ids: uint32_t, events: cython.const[int32_t][::1], state: cython.pointer(uint8_t)) -> cython.int:
    """Add the late merges of a list, and all skipped ones whose left or right token a late merge may make. state: by row."""
    n: uint32_t = events.shape[0] // 3
    late: bytearray = bytearray(n_ids)
    is_late = cython.cast(cython.pointer(uint8_t), PyByteArray_AS_STRING(late))
    more: cython.bint = True
    while more:
        PyErr_CheckSignals()
        more = False
        for row in range(n):
            depends: cython.bint = is_late[events[3 * row]] or is_late[events[3 * row + 1]]
            if state[row] == SKIPPED and depends:
                state[row] = LATE
            if (state[row] == LATE or depends) and not is_late[events[3 * row + 2]]:
                is_late[events[3 * row + 2]] = more = True
    for row in range(n):
        if state[row] == LATE and not merger.add_pair(events[3 * row], events[3 * row + 1], row):
            raise MemoryError
    return 0


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _note(merger: Merger, tokens: Tokens, left: uint32_t, right: uint32_t, rank: uint32_t, id: uint32_t) -> cython.void:
    if 0 < min(tokens.size[left], tokens.size[right]) <= 3:
        merger.note_merge(left, tokens.starts[left], tokens.size[left], right, tokens.starts[right], tokens.size[right], rank, id)
