# cython: language_level=3
"""From the parts of a vocabulary to what encodes with it: the merger's table of pairs, the seed of the caches.

Tokens are made in order of rank. Of all pairs that spell a token, merging its bytes by what was made before can only
lead to one, if to any: two tokens that fit (_proper_cy.py). The others are left out: they never stand side by side.
That holds as long as no pair fits that was passed over when its turn came; else the vocabulary is not proper, and the
merger gets all pairs and goes merge by merge.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.libc.stdint import int32_t, uint8_t, uint32_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memcmp
from cython.cimports.tokenmill.tokenizer.encoding._cache_cy import PretokenCache
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_ID, Merger
from cython.cimports.tokenmill.tokenizer.merging._backtrack_cy import ProperMerger
from cython.cimports.tokenmill.tokenizer.merging._trie_cy import Trie


def token_cache(merger: Merger, tokens: tuple, left_out=frozenset()) -> PretokenCache:
    """A cache in which each token is a pretoken that is itself, the lowest id where two have the same bytes."""
    cache: PretokenCache = PretokenCache(merger, None, 0, 3 * len(tokens))
    id: uint32_t
    found: uint32_t[4]
    pretoken: cython.pointer(cython.const[uint8_t])
    size: cython.size_t
    for id in range(len(tokens)):
        token = tokens[id]
        if token is None or len(token) == 0 or id in left_out:
            continue
        pretoken = _start(token)
        size = PyBytes_GET_SIZE(token)
        if cache.find(pretoken, size, pretoken + size, found) == 0 and not cache.insert(pretoken, size, pretoken + size, cython.address(id), 1):
            raise MemoryError
    return cache


def rank_merger(tokens: tuple, unknown) -> tuple:
    """The merger of the order "ranks", where any cut of a token into two tokens merges, the token's id the rank. Beside
    it the cache in which each token is a pretoken, or None where bytes without a token are in it too."""
    starts: dict = {token: id for id, token in enumerate(tokens) if token is not None and len(token) == 1}
    byte_ids = [starts.get(bytes([i])) for i in range(256)]
    n_ids: uint32_t = len(tokens)
    if None not in byte_ids:
        proper: ProperMerger = ProperMerger(n_ids, byte_ids, None, None, n_ids, 2 * n_ids)
        seed: PretokenCache = token_cache(proper, tokens)
        if _make_by_rank(proper, seed, tokens):
            return proper, seed
    merger: Merger = Merger(n_ids, byte_ids, unknown, None, n_ids, 4 * n_ids)
    whole = tokens if None not in byte_ids else tokens + tuple([bytes([i]) for i in range(256)])
    table: PretokenCache = token_cache(merger, whole)
    id: uint32_t
    left: uint32_t[4]
    right: uint32_t[4]
    size: cython.size_t
    cut: cython.size_t
    start: cython.pointer(cython.const[uint8_t])
    end: cython.pointer(cython.const[uint8_t])
    for id in range(n_ids):
        token = tokens[id]
        if token is None or len(token) < 2:
            continue
        start = _start(token)
        size = PyBytes_GET_SIZE(token)
        end = start + size
        if table.find(start, size, end, left) == 0 or left[0] != id:
            continue  # the same bytes as a token before it
        for cut in range(1, size):
            if (
                table.find(start, cut, end, left) != 0
                and table.find(start + cut, size - cut, end, right) != 0
                and not merger.add_pair(left[0], right[0], id)
            ):
                raise MemoryError
    if not merger.finish_pairs():
        raise MemoryError
    return merger, table if whole is tokens else None


@cython.cfunc
@cython.exceptval(check=True)
def _make_by_rank(merger: ProperMerger, table: PretokenCache, tokens: tuple) -> cython.bint:
    """Make the tokens in order of id. False if the vocabulary is not proper."""
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
            token = tokens[id]
            if token is None or len(token) < 2:
                continue
            start = _start(token)
            size = PyBytes_GET_SIZE(token)
            if table.find(start, size, start + size, found) == 0 or found[0] != id:
                continue  # the same bytes as a token before it
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
def _cut(merger: ProperMerger, table: PretokenCache, trie: Trie, start: cython.pointer(cython.const[uint8_t]),
         size: cython.Py_ssize_t, lefts: cython.pointer(uint32_t), right: cython.pointer(uint32_t)) -> cython.Py_ssize_t:
    """Where a token is cut into two that are made and fit: their ids are lefts[cut - 1] and right[0]. 0 if nowhere."""
    cut: cython.Py_ssize_t = trie.prefixes(start, size, lefts)
    if cut == size:
        cut -= 1
    while cut > 0:
        if (
            lefts[cut - 1] != NO_ID
            and table.find(start + cut, size - cut, start + size, right) != 0
            and merger.origins[right[0]].size > 0
            and merger.fit(lefts[cut - 1], right[0])
        ):
            return cut
        cut -= 1
    return 0


def list_merger(tokens: tuple, events: cython.const[int32_t][:, ::1], byte_ids, characters, unknown) -> Merger:
    """The merger of the order "merges": the pairs of `events`, which are rows (left id, right id, new id)."""
    n: uint32_t = events.shape[0]
    rank: uint32_t
    if characters is None and None not in byte_ids:
        proper: ProperMerger = ProperMerger(len(tokens), byte_ids, None, None, n, 2 * n)
        if _make_listed(proper, tokens, events):
            return proper
    merger: Merger = Merger(len(tokens), byte_ids, unknown, characters, n, 2 * n)
    _set_made(merger, events)
    for rank in range(n):
        if merger.pair_rank(events[rank, 0], events[rank, 1]) == NO_ID and not merger.add_pair(
            events[rank, 0], events[rank, 1], rank
        ):
            raise MemoryError
    if not merger.finish_pairs():
        raise MemoryError
    return merger


@cython.cfunc
@cython.exceptval(check=True)
def _make_listed(merger: ProperMerger, tokens: tuple, events: cython.const[int32_t][:, ::1]) -> cython.bint:
    """Make the tokens in the order of the list. False if the vocabulary is not proper."""
    trie: Trie = _trie(merger, tokens)
    rank: uint32_t
    left: uint32_t
    right: uint32_t
    id: uint32_t
    passed: list = []
    for rank in range(events.shape[0]):
        left = events[rank, 0]
        right = events[rank, 1]
        id = events[rank, 2]
        if merger.origins[id].size > 0 or merger.origins[left].size == 0 or merger.origins[right].size == 0 or not merger.fit(left, right):
            passed.append((left, right))
            continue
        if not _spell(tokens[left], tokens[right], tokens[id]):
            return False
        if not merger.make(left, right, rank, id):
            raise MemoryError
        trie.insert(_start(tokens[id]), PyBytes_GET_SIZE(tokens[id]), id)
    for left, right in passed:
        if merger.origins[left].size > 0 and merger.origins[right].size > 0 and merger.fit(left, right):
            return False
    _set_made(merger, events)
    merger.finish(trie)
    return True


@cython.cfunc
@cython.exceptval(-1)
def _set_made(merger: Merger, events: cython.const[int32_t][:, ::1]) -> cython.int:
    rank: cython.Py_ssize_t
    merger.made = cython.cast(cython.pointer(uint32_t), malloc((events.shape[0] + 1) * 4))
    if merger.made == cython.NULL:
        raise MemoryError
    for rank in range(events.shape[0]):
        merger.made[rank] = events[rank, 2]
    return 0


@cython.cfunc
def _trie(merger: ProperMerger, tokens: tuple) -> Trie:
    """A trie with the bytes in it, and with room for all tokens."""
    trie: Trie = Trie(256 + sum([len(token) for token in tokens if token is not None]))
    i: cython.int
    byte: uint8_t
    for i in range(256):
        byte = i
        trie.insert(cython.address(byte), 1, merger.byte_ids[i])
    return trie


@cython.cfunc
def _spell(left: bytes, right: bytes, token: bytes) -> cython.bint:
    """Whether two tokens joined are the third."""
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
