# cython: language_level=3
"""Tokens and mergers as flat memory, to be saved and restored without building them again.

What is restored is trusted: a wrong number in it is a wrong address. The caller checks that the bytes are those that were saved.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import malloc
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.kernels._memory import tm_pages_new
from cython.cimports.tokenmill.kernels._pair_map import tm_pair_map, tm_pair_map_get_or_put, tm_pair_map_reserve
from cython.cimports.tokenmill.kernels._platform import tm_prefetch_write
from cython.cimports.tokenmill.kernels._pretoken_key import tm_key_of, tm_random_hash
from cython.cimports.tokenmill.tokenizer.encoding._cache_cy import PretokenCache
from cython.cimports.tokenmill.tokenizer.merging._backtrack_cy import BacktrackMerger, Origin
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_ID, Merger

GROUP = cython.declare(cython.Py_ssize_t, 64)  # tokens whose slots are fetched at once
BYTE_PAIRS = cython.declare(cython.size_t, 65536 * 4)


def packed_cache(merger: Merger, blob: bytes, sizes: bytes) -> PretokenCache:
    """A cache that maps each token, as a pretoken, to its id: the lowest where two have the same bytes."""
    size: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), PyBytes_AS_STRING(sizes))
    pretoken: cython.pointer(cython.const[uint8_t]) = cython.cast(cython.pointer(cython.const[uint8_t]), PyBytes_AS_STRING(blob))
    limit: cython.pointer(cython.const[uint8_t]) = pretoken + PyBytes_GET_SIZE(blob)
    next: cython.pointer(cython.const[uint8_t]) = pretoken
    n: cython.Py_ssize_t = PyBytes_GET_SIZE(sizes) // 4
    first: cython.Py_ssize_t
    i: cython.Py_ssize_t
    id: uint32_t
    held: cython.size_t = 0
    found: uint32_t[4]
    for i in range(n):
        held += size[i] != NO_ID
    cache: PretokenCache = PretokenCache(merger, None, 3 * held)
    for first in range(0, n, GROUP):
        if first & 0xFFF == 0:
            PyErr_CheckSignals()
        for i in range(first, min(first + GROUP, n)):
            if size[i] != NO_ID:
                tm_prefetch_write(
                    cache.entries + (tm_random_hash(tm_key_of(next, size[i], limit, cache.seed), cache.seed) & (cache.slots - 1))
                )
                next += size[i]
        for i in range(first, min(first + GROUP, n)):
            if size[i] == NO_ID:
                continue
            id = cython.cast(uint32_t, i)
            if size[i] > 0 and cache.find(pretoken, size[i], limit, found) == 0 and not cache.insert(pretoken, size[i], limit, cython.address(id), 1):
                raise MemoryError
            pretoken += size[i]
    return cache


# ---------------------------------------------------------------------- mergers


def save_merger(merger: Merger):
    """A merger as (numbers, blocks of bytes), or None for a kind that is not saved."""
    if type(merger) is not Merger and type(merger) is not BacktrackMerger:
        return None
    numbers = [merger.n_ids, merger.unknown, merger.complete, merger.fallback, merger.fuse, merger.n_characters]
    blocks = [
        _bytes(merger.byte_ids, 256 * 4), _bytes(merger.byte_pairs, BYTE_PAIRS), _bytes(merger.made, merger.n_made * 4),
        _bytes(merger.characters, merger.n_characters * 4), _pairs(cython.address(merger.pairs)),
    ]
    if type(merger) is BacktrackMerger:
        fast: BacktrackMerger = merger
        blocks += [
            _bytes(fast.origins, fast.n_ids * cython.sizeof(Origin)), _bytes(fast.filter, _filter_size(fast)),
            _bytes(fast.shorter, fast.n_ids * 4), _bytes(fast.trie, fast.trie_size * 8),
        ]
    return numbers, blocks


def restore_merger(numbers: list, blocks: list) -> Merger:
    """The merger that `save_merger` saved."""
    n_ids, unknown, complete, fallback, fuse, n_characters = numbers
    byte_ids, byte_pairs, makes, characters, pairs, *fast_blocks = blocks
    count: cython.size_t = len(pairs) // 12
    kind = BacktrackMerger if fast_blocks else Merger
    merger: Merger = kind(n_ids, [0] * 256, None, None, count)
    merger.unknown = unknown
    merger.fallback = fallback
    merger.fuse = fuse
    merger.complete = complete
    memcpy(merger.byte_ids, _start(byte_ids, 256 * 4), 256 * 4)
    merger.byte_pairs = cython.cast(cython.pointer(uint32_t), _copy(byte_pairs))
    merger.made = cython.cast(cython.pointer(uint32_t), _copy(makes))
    merger.n_made = len(makes) // 4
    merger.characters = cython.cast(cython.pointer(uint32_t), _copy(characters))
    merger.n_characters = n_characters
    _put_pairs(cython.address(merger.pairs), pairs)
    if fast_blocks:
        fast: BacktrackMerger = merger
        origins, filter, shorter, trie = fast_blocks
        memcpy(fast.origins, _start(origins, n_ids * cython.sizeof(Origin)), n_ids * cython.sizeof(Origin))
        memcpy(fast.filter, _start(filter, _filter_size(fast)), _filter_size(fast))
        memcpy(fast.shorter, _start(shorter, n_ids * 4), n_ids * 4)
        fast.trie = cython.cast(cython.pointer(uint64_t), tm_pages_new(len(trie)))
        if fast.trie == cython.NULL:
            raise MemoryError
        fast.trie_size = len(trie) // 8
        memcpy(fast.trie, PyBytes_AS_STRING(trie), len(trie))
    return merger


# ---------------------------------------------------------------------- memory


@cython.cfunc
def _bytes(p: cython.p_void, size: cython.size_t) -> bytes:
    return PyBytes_FromStringAndSize(cython.cast(cython.p_char, p), size) if p != cython.NULL else b""


@cython.cfunc
@cython.exceptval(check=True)
def _start(block: bytes, size: cython.size_t) -> cython.p_char:
    """The memory of a block, which has `size` bytes."""
    if cython.cast(cython.size_t, PyBytes_GET_SIZE(block)) != size:
        raise ValueError(f"a block has {len(block)} bytes, not {size}")
    return PyBytes_AS_STRING(block)


@cython.cfunc
@cython.exceptval(check=True)
def _copy(block: bytes) -> cython.p_void:
    """A copy of a block, to be freed with free(); NULL for an empty one."""
    if PyBytes_GET_SIZE(block) == 0:
        return cython.NULL
    copy: cython.p_void = malloc(PyBytes_GET_SIZE(block))
    if copy == cython.NULL:
        raise MemoryError
    memcpy(copy, PyBytes_AS_STRING(block), PyBytes_GET_SIZE(block))
    return copy


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _filter_size(merger: BacktrackMerger) -> cython.size_t:
    return (cython.cast(cython.size_t, 1) << (64 - merger.filter_shift)) // 8


@cython.cfunc
def _pairs(pairs: cython.pointer(tm_pair_map)) -> bytes:
    """The pairs with their values, 12 bytes each, in the order of their slots: so they go back nearly without cache misses."""
    i: cython.size_t
    packed: bytes = PyBytes_FromStringAndSize(cython.NULL, 12 * pairs.used)
    p: cython.p_char = PyBytes_AS_STRING(packed)
    for i in range(pairs.n_slots):
        if pairs.slots[i].used:
            memcpy(p, pairs.slots + i, 12)
            p += 12
    return packed


@cython.cfunc
@cython.exceptval(-1)
def _put_pairs(pairs: cython.pointer(tm_pair_map), packed: bytes) -> cython.int:
    i: cython.size_t
    n: cython.size_t = PyBytes_GET_SIZE(packed) // 12
    pair: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), PyBytes_AS_STRING(packed))
    if not tm_pair_map_reserve(pairs, n):
        raise MemoryError
    for i in range(n):
        tm_pair_map_get_or_put(pairs, pair[3 * i], pair[3 * i + 1], pair[3 * i + 2])
    return 0
