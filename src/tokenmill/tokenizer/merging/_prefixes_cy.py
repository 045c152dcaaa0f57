"""Find the longest proper prefix of each token that is a token, by sorting the tokens."""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, qsort
from cython.cimports.libc.string import memcmp, memset
from cython.cimports.tokenmill.kernels._arrays import new_array
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_ID

# A token: its first 8 bytes as a big-endian number, filled up with zeros, its bytes, their number, and its id.
SortedToken = cython.struct(
    key=uint64_t, start=cython.pointer(cython.const[uint8_t]), size=uint32_t, id=uint32_t
)


def find_prefixes(starts, sizes, n, prefixes):
    # In the order of their bytes, each token's prefixes are the token before it or prefixes of that one.
    items: cython.pointer(SortedToken) = cython.NULL
    up: cython.pointer(uint32_t) = cython.NULL
    before: uint32_t = NO_ID  # an index of items
    try:
        items = cython.cast(cython.pointer(SortedToken), new_array(n + 1, cython.sizeof(SortedToken)))
        up = cython.cast(cython.pointer(uint32_t), new_array(n + 1, 4))
        n = _sort(starts, sizes, n, cython.address(items))
        for i in range(n):
            token = items + i
            if before != NO_ID and _same(items + before, token):
                prefixes[token.id] = prefixes[items[before].id]
                continue
            while before != NO_ID:
                prefix = items + before
                if prefix.size < token.size and memcmp(prefix.start, token.start, prefix.size) == 0:
                    break
                before = up[before]
            up[i] = before
            prefixes[token.id] = NO_ID if before == NO_ID else items[before].id
            before = cython.cast(uint32_t, i)
        return 0
    finally:
        free(items)
        free(up)


@cython.cfunc
@cython.exceptval(check=True)
def _sort(starts: cython.pointer(cython.pointer(cython.const[uint8_t])), sizes: cython.pointer(cython.const[uint32_t]), n: cython.size_t,
          items: cython.pointer(cython.pointer(SortedToken))) -> cython.size_t:
    """Write the tokens in the order of their bytes, and return their number. Of equal ones the lowest id is first."""
    k: cython.int
    first: cython.size_t = 0
    used: cython.size_t = 0
    for i in range(n):
        if starts[i] == cython.NULL or sizes[i] == 0:
            continue
        token = items[0] + used
        token.key = 0
        for k in range(8):
            token.key = token.key << 8 | (starts[i][k] if cython.cast(uint32_t, k) < sizes[i] else 0)
        token.start = starts[i]
        token.size = sizes[i]
        token.id = cython.cast(uint32_t, i)
        used += 1
    _sort_by_key(items, used)
    for i in range(1, used + 1):  # equal keys: long tokens, or those that end with zeros
        if i == used or items[0][i].key != items[0][first].key:
            if i - first > 1:
                qsort(items[0] + first, i - first, cython.sizeof(SortedToken), _compare)
            first = i
    return used


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _same(a: cython.pointer(cython.const[SortedToken]), b: cython.pointer(cython.const[SortedToken])) -> cython.bint:
    return a.size == b.size and memcmp(a.start, b.start, a.size) == 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _compare(left: cython.pointer(cython.const[cython.void]), right: cython.pointer(cython.const[cython.void])) -> cython.int:
    a = cython.cast(cython.pointer(SortedToken), left)
    b = cython.cast(cython.pointer(SortedToken), right)
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
    fresh = cython.cast(cython.pointer(SortedToken), new_array(n + 1, cython.sizeof(SortedToken)))
    memset(counts, 0, cython.sizeof(counts))
    for i in range(n):
        for pass_ in range(8):
            counts[256 * pass_ + (items[0][i].key >> (8 * pass_) & 255)] += 1
    for pass_ in range(8):
        start: cython.size_t = 0
        if n == 0 or counts[256 * pass_ + (items[0][0].key >> (8 * pass_) & 255)] == n:
            continue  # all have the same byte
        for byte in range(256):
            size: cython.size_t = counts[256 * pass_ + byte]
            counts[256 * pass_ + byte] = start
            start += size
        for i in range(n):
            byte = 256 * pass_ + (items[0][i].key >> (8 * pass_) & 255)
            fresh[counts[byte]] = items[0][i]
            counts[byte] += 1
        items[0], fresh = fresh, items[0]
    free(fresh)
    return 0
