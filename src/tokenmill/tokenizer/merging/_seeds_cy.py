# cython: language_level=3
"""The initial entries of a pretoken cache: each token of the vocabulary, which is a pretoken of one id."""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_GET_SIZE
from cython.cimports.cpython.exc import PyErr_CheckSignals
from cython.cimports.libc.stdint import uint8_t, uint32_t
from cython.cimports.tokenmill.kernels._platform import tm_prefetch_write
from cython.cimports.tokenmill.kernels._pretoken_key import tm_key_of, tm_random_hash
from cython.cimports.tokenmill.tokenizer.encoding._cache_cy import PretokenCache
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_ID, Merger

GROUP = cython.declare(cython.Py_ssize_t, 64)  # tokens whose slots are fetched at once


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
