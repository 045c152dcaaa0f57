# cython: language_level=3
"""From the parts of a vocabulary to the tables that encode with it: the merger, and the initial entries of the caches.

Tokens are built in order of rank. Of all pairs that spell a token, at most one can occur when the token's bytes are merged by
what was built before: two compatible tokens (_backtrack_cy.py). The other pairs are left out. That is right unless a pair that was
passed over turns out compatible later; then the vocabulary is not rank-ordered, and gets a Merger with all pairs.

The loops check for signals, so that Ctrl-C stops loading.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.libc.stdint import int32_t, uint8_t, uint32_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memcmp
from cython.cimports.tokenmill.tokenizer.encoding._cache_cy import PretokenCache
from cython.cimports.tokenmill.tokenizer.merging._backtrack_cy import BacktrackMerger
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_ID, Merger
from cython.cimports.tokenmill.tokenizer.merging._trie_cy import MAX_IDS, Trie

from ._saved_cy import pack_tokens, packed_cache

CHECK = cython.declare(uint32_t, 0xFFF)  # signals are checked for after so many tokens, plus 1


def token_cache(merger: Merger, tokens: tuple, left_out=frozenset()) -> PretokenCache:
    """A cache that maps each token, as a pretoken, to its id: the lowest where two have the same bytes."""
    return packed_cache(merger, *pack_tokens(tokens, left_out))


def rank_merger(tokens: tuple, unknown) -> tuple:
    """The merger of the order "ranks", where any split of a token into two tokens merges, with the token's id as its rank.

    Returns it with the cache of all tokens, or None if that cache holds bytes without a token as well."""
    starts: dict = {token: id for id, token in enumerate(tokens) if token is not None and len(token) == 1}
    byte_ids = [starts.get(bytes([i])) for i in range(256)]
    n_ids: uint32_t = len(tokens)
    if None not in byte_ids and n_ids < MAX_IDS:
        fast: BacktrackMerger = BacktrackMerger(n_ids, byte_ids, None, None, n_ids)
        cache: PretokenCache = token_cache(fast, tokens)
        if _build_ranks(fast, cache, tokens):
            return fast, cache
    merger: Merger = Merger(n_ids, byte_ids, unknown, None, 2 * n_ids)
    whole = tokens if None not in byte_ids else tokens + tuple([bytes([i]) for i in range(256)])
    table: PretokenCache = token_cache(merger, whole)
    _add_all_splits(merger, table, tokens)
    return merger, table if whole is tokens else None


@cython.cfunc
@cython.exceptval(-1)
def _add_all_splits(merger: Merger, table: PretokenCache, tokens: tuple) -> cython.int:
    """Add each split of each token into two tokens to the pair table."""
    id: uint32_t
    left: uint32_t[4]
    right: uint32_t[4]
    size: cython.size_t
    cut: cython.size_t
    start: cython.pointer(cython.const[uint8_t])
    end: cython.pointer(cython.const[uint8_t])
    for id in range(len(tokens)):
        if not _is_merged(table, tokens, id):
            continue
        start = _start(tokens[id])
        size = PyBytes_GET_SIZE(tokens[id])
        end = start + size
        for cut in range(1, size):
            if (
                table.find(start, cut, end, left) != 0
                and table.find(start + cut, size - cut, end, right) != 0
                and not merger.add_pair(left[0], right[0], id)
            ):
                raise MemoryError
    if not merger.finish_pairs():
        raise MemoryError
    return 0


@cython.cfunc
@cython.exceptval(check=True)
def _is_merged(table: PretokenCache, tokens: tuple, id: uint32_t) -> cython.bint:
    """Whether a token has several bytes, which no token before it has. Checks for signals."""
    found: uint32_t[4]
    if id & CHECK == 0:
        PyErr_CheckSignals()
    token = tokens[id]
    if token is None or len(token) < 2:
        return False
    table.find(_start(token), PyBytes_GET_SIZE(token), _start(token) + PyBytes_GET_SIZE(token), found)
    return found[0] == id


@cython.cfunc
@cython.exceptval(check=True)
def _build_ranks(merger: BacktrackMerger, table: PretokenCache, tokens: tuple) -> cython.bint:
    """Build the tokens in order of id. False if the vocabulary is not rank-ordered."""
    trie: Trie = _trie(merger, tokens)
    longest: cython.Py_ssize_t = max([0 if token is None else len(token) for token in tokens], default=0)
    lefts: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), malloc((longest + 1) * 4))
    id: uint32_t
    found: uint32_t[4]
    start: cython.pointer(cython.const[uint8_t])
    size: cython.Py_ssize_t
    cut: cython.Py_ssize_t
    passed: list = []
    try:
        if lefts == cython.NULL:
            raise MemoryError
        for id in range(len(tokens)):
            if not _is_merged(table, tokens, id):
                continue
            start = _start(tokens[id])
            size = PyBytes_GET_SIZE(tokens[id])
            cut = _cut(merger, table, trie, start, size, lefts, found)
            if cut == 0:
                passed.append(id)
                continue
            if not merger.make(lefts[cut - 1], found[0], id, id):
                raise MemoryError
            trie.insert(start, size, id)
        for id in passed:
            token = tokens[id]
            if _cut(merger, table, trie, _start(token), PyBytes_GET_SIZE(token), lefts, found) > 0:
                return False
        merger.finish(trie)
        return True
    finally:
        free(lefts)


@cython.cfunc
@cython.exceptval(check=False)
def _cut(merger: BacktrackMerger, table: PretokenCache, trie: Trie, start: cython.pointer(cython.const[uint8_t]),
         size: cython.Py_ssize_t, lefts: cython.pointer(uint32_t), right: cython.pointer(uint32_t)) -> cython.Py_ssize_t:
    """Where a token splits into two compatible tokens that are built: lefts[cut - 1] and right[0]. 0 if nowhere."""
    cut: cython.Py_ssize_t = trie.prefixes(start, size, lefts)
    if cut == size:
        cut -= 1
    while cut > 0:
        if (
            lefts[cut - 1] != NO_ID
            and table.find(start + cut, size - cut, start + size, right) != 0
            and merger.origins[right[0]].size > 0
            and merger.compatible(lefts[cut - 1], right[0])
        ):
            return cut
        cut -= 1
    return 0


def list_merger(tokens: tuple, events: cython.const[int32_t][:, ::1], byte_ids, characters, unknown,
                scores: cython.bint = False, fallback: cython.bint = False, fuse: cython.bint = False) -> Merger:
    """The merger of the orders "merges" and "scores": the pairs of `events`, whose rows are (left id, right id, new id).

    scores: the order is "scores". fallback, fuse: see Merger."""
    n: uint32_t = events.shape[0]
    row: uint32_t
    rank: uint32_t = 0
    if characters is None and None not in byte_ids and len(tokens) < MAX_IDS and not scores:
        fast: BacktrackMerger = BacktrackMerger(len(tokens), byte_ids, None, None, n)
        if _build_listed(fast, tokens, events):
            return fast
    merger: Merger = Merger(len(tokens), byte_ids, unknown, characters, n, fallback, fuse)
    _set_made(merger, events)
    for row in range(n):
        if row & CHECK == 0:
            PyErr_CheckSignals()
        if not scores or row == 0 or events[row, 2] != events[row - 1, 2]:
            rank = row
        if not merger.add_pair(events[row, 0], events[row, 1], rank):  # of a pair listed twice, the first rank counts
            raise MemoryError
    if not merger.finish_pairs():
        raise MemoryError
    return merger


@cython.cfunc
@cython.exceptval(check=True)
def _build_listed(merger: BacktrackMerger, tokens: tuple, events: cython.const[int32_t][:, ::1]) -> cython.bint:
    """Build the tokens in the order of the list. False if the vocabulary is not rank-ordered."""
    trie: Trie = _trie(merger, tokens)
    rank: uint32_t
    left: uint32_t
    right: uint32_t
    id: uint32_t
    passed: list = []
    for rank in range(events.shape[0]):
        if rank & CHECK == 0:
            PyErr_CheckSignals()
        left = events[rank, 0]
        right = events[rank, 1]
        id = events[rank, 2]
        if merger.origins[id].size > 0 or merger.origins[left].size == 0 or merger.origins[right].size == 0 or not merger.compatible(left, right):
            passed.append((left, right))
            continue
        if not _spell(tokens[left], tokens[right], tokens[id]):
            return False
        if not merger.make(left, right, rank, id):
            raise MemoryError
        trie.insert(_start(tokens[id]), PyBytes_GET_SIZE(tokens[id]), id)
    for left, right in passed:
        if merger.origins[left].size > 0 and merger.origins[right].size > 0 and merger.compatible(left, right):
            return False
    _set_made(merger, events)
    merger.finish(trie)
    return True


@cython.cfunc
@cython.exceptval(-1)
def _set_made(merger: Merger, events: cython.const[int32_t][:, ::1]) -> cython.int:
    rank: cython.Py_ssize_t
    merger.n_made = events.shape[0]
    merger.made = cython.cast(cython.pointer(uint32_t), malloc((merger.n_made + 1) * 4))
    if merger.made == cython.NULL:
        raise MemoryError
    for rank in range(events.shape[0]):
        merger.made[rank] = events[rank, 2]
    return 0


@cython.cfunc
def _trie(merger: BacktrackMerger, tokens: tuple) -> Trie:
    """A trie of the bytes, with room for all tokens."""
    trie: Trie = Trie(256 + sum([len(token) for token in tokens if token is not None]))
    i: cython.int
    byte: uint8_t
    for i in range(256):
        byte = i
        trie.insert(cython.address(byte), 1, merger.byte_ids[i])
    return trie


@cython.cfunc
def _spell(left: bytes, right: bytes, token: bytes) -> cython.bint:
    """Whether the third token is the first two joined."""
    n: cython.Py_ssize_t = PyBytes_GET_SIZE(left)
    return (
        n + PyBytes_GET_SIZE(right) == PyBytes_GET_SIZE(token)
        and memcmp(_start(token), _start(left), n) == 0
        and memcmp(_start(token) + n, _start(right), PyBytes_GET_SIZE(right)) == 0
    )


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _start(token: bytes) -> cython.pointer(cython.const[uint8_t]):
    return cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(token))
