# cython: language_level=3
"""From the parts of a vocabulary to what encodes with it: the merger's table of pairs, the seed of the caches."""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.libc.stdint import int32_t, uint8_t, uint32_t
from cython.cimports.libc.stdlib import malloc
from cython.cimports.tokenmill.tokenizer._cache_cy import PieceCache
from cython.cimports.tokenmill.tokenizer._merge_cy import NO_ID, Merger

from ._proper_cy import proper


def token_cache(merger: Merger, tokens: tuple, left_out=frozenset()) -> PieceCache:
    """A cache in which each token is a piece that is itself, the lowest id where two have the same bytes."""
    cache: PieceCache = PieceCache(merger, None, 0, 3 * len(tokens))
    id: uint32_t
    found: uint32_t[4]
    piece: cython.pointer(cython.const[uint8_t])
    size: cython.size_t
    for id in range(len(tokens)):
        token = tokens[id]
        if token is None or len(token) == 0 or id in left_out:
            continue
        piece = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(token))
        size = PyBytes_GET_SIZE(token)
        if cache.find(piece, size, piece + size, found) == 0 and not cache.insert(piece, size, piece + size, cython.address(id), 1):
            raise MemoryError
    return cache


def rank_merger(tokens: tuple, unknown) -> tuple:
    """The merger of the order "ranks": a pair for every cut of every token into two tokens, its rank the token's id.
    Beside it the cache in which each token is a piece, or None where bytes without a token are in it too."""
    n_ids: uint32_t = len(tokens)
    starts: dict = {token: id for id, token in enumerate(tokens) if token is not None and len(token) == 1}
    byte_ids = [starts.get(bytes([i])) for i in range(256)]
    merger: Merger = Merger(n_ids, byte_ids, unknown, None, n_ids, 4 * n_ids)
    whole = tokens if None not in byte_ids else tokens + tuple([bytes([i]) for i in range(256)])
    table: PieceCache = token_cache(merger, whole)
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
        start = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(token))
        size = PyBytes_GET_SIZE(token)
        end = start + size
        if table.find(start, size, end, left) == 0 or left[0] != id:
            continue  # the same bytes as a token before it
        for cut in range(1, size):
            table.prefetch(start, cut, end)
            table.prefetch(start + cut, size - cut, end)
        for cut in range(1, size):
            if (
                table.find(start, cut, end, left) != 0
                and table.find(start + cut, size - cut, end, right) != 0
                and not merger.add_pair(left[0], right[0], id)
            ):
                raise MemoryError
    if not merger.finish_pairs():
        raise MemoryError
    table.merger = proper(merger, tokens)
    return table.merger, table if whole is tokens else None


def list_merger(tokens: tuple, events: cython.const[int32_t][:, ::1], byte_ids, characters, unknown) -> Merger:
    """The merger of the order "merges": the pairs of `events`, which are rows (left id, right id, new id)."""
    n: uint32_t = events.shape[0]
    merger: Merger = Merger(len(tokens), byte_ids, unknown, characters, n, 2 * n)
    rank: uint32_t
    merger.made = cython.cast(cython.pointer(uint32_t), malloc((n + 1) * 4))
    if merger.made == cython.NULL:
        raise MemoryError
    for rank in range(n):
        merger.made[rank] = events[rank, 2]
        if merger.pair_rank(events[rank, 0], events[rank, 1]) == NO_ID and not merger.add_pair(
            events[rank, 0], events[rank, 1], rank
        ):
            raise MemoryError
    if not merger.finish_pairs():
        raise MemoryError
    return proper(merger, tokens)
