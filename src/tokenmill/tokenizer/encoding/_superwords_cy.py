# cython: language_level=3
"""Pretokens of many words to ids, in two steps, as they were trained.

The merges of stage 1 have lower ranks than those of stage 2, and never use a token of stage 2. So encoding applies all of
stage 1 first: PartEncoder does that, mostly word by word. Then the merges of stage 2 join ids.

Let A and B be two tokens that a merge of stage 2 joins. It crosses the border between the last id of stage 1 in A and the
first in B. No merge crosses any other border. So what lies between such borders, a fragment, is merged on its own. The base
class is a cache of fragments: its pretokens are ids of stage 1, written in 2 or 3 bytes each.
"""

import cython
from cython.cimports.libc.stdint import int32_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.kernels._memory import tm_reserve
from cython.cimports.tokenmill.kernels._pair_map import tm_pair_hash
from cython.cimports.tokenmill.kernels._platform import tm_prefetch_write
from cython.cimports.tokenmill.kernels._pretoken_key import tm_key, tm_key_of, tm_random_hash
from cython.cimports.tokenmill.tokenizer.encoding._cache_cy import (
    BATCH,
    COUNT_SHIFT,
    ID_MASK,
    Entry,
    PretokenCache,
)
from cython.cimports.tokenmill.tokenizer.encoding._parts_cy import PartEncoder
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_MEMORY, TOO_LONG, Merger

BITS = cython.declare(cython.size_t, 32)  # of the filter for each border


@cython.final
@cython.cclass
class IdMerger(Merger):
    """Merges ids, written in `width` bytes each, by the merges of stage 2."""

    def set_merges(self, merges: cython.const[int32_t][:, ::1], width: cython.size_t):
        """To be called once: the rows (left id, right id, new id) by rank."""
        rank: uint32_t
        n: uint32_t = merges.shape[0]
        self.width = width
        self.made = cython.cast(cython.pointer(uint32_t), malloc((n + 1) * 4))
        if self.made == cython.NULL:
            raise MemoryError
        for rank in range(n):
            self.made[rank] = merges[rank, 2]
            if not self.add_pair(merges[rank, 0], merges[rank, 1], rank):
                raise MemoryError

    def merge(self, pretoken, n, out, work):
        i: cython.size_t
        count: cython.size_t = n // self.width
        for i in range(count):
            out[i] = 0
            memcpy(out + i, pretoken + i * self.width, self.width)
        return self.merge_parts(out, count, cython.NULL, work)


@cython.final
@cython.cclass
class SuperwordCache(PretokenCache):
    """The cache of fragments, with what encodes by stage 1. Call `set_stages` once."""

    def __dealloc__(self):
        free(self.ids)
        free(self.packed)

    def set_stages(self, words: PartEncoder, borders: cython.const[uint64_t][::1], width: cython.size_t):
        """words: encodes with stage 1. borders: see `border_filter`. width: the bytes of an id."""
        self.words = words
        self.borders = borders
        self.width = width
        self.shift = 64
        while cython.cast(cython.size_t, 1) << (64 - self.shift) < 64 * cython.cast(cython.size_t, borders.shape[0]):
            self.shift -= 1

    def begin(self):
        PretokenCache.begin(self)
        self.words.cache.begin()

    def copy(self):
        fresh: SuperwordCache = SuperwordCache(self.merger, self, self.initial_slots)
        fresh.set_stages(self.words.copy(), self.borders, self.width)
        return fresh

    def set_limit(self, limit):
        self.limit = limit // 2
        self.words.cache.limit = limit // 2

    def encode(self, text, start, length, ends, n, out):
        id_ends: cython.size_t[BATCH]
        count: cython.Py_ssize_t
        if ends[n - 1] - start >= 0x3FFFFFFF:
            return TOO_LONG
        if not self.reserve(ends[n - 1] - start):
            return NO_MEMORY
        count = self.words.encode(text, start, length, ends, n, self.ids, id_ends)
        return count if count < 0 else self.join(count, id_ends, out)

    def reserve(self, size):
        """Make room for the ids of `size` bytes."""
        ids: cython.p_void = tm_reserve(self.ids, cython.address(self.ids_room), size + 4, 4)
        if ids == cython.NULL:
            return False
        self.ids = cython.cast(cython.pointer(uint32_t), ids)
        # Keys are read 16 bytes at a time, and the last id is written with 4 bytes.
        packed: cython.p_void = tm_reserve(self.packed, cython.address(self.packed_room), self.width * size + 32, 1)
        if packed == cython.NULL:
            return False
        self.packed = cython.cast(cython.pointer(uint8_t), packed)
        return True

    def join(self, n_ids, id_ends, out):
        """Join the ids of pretokens, of which those of pretoken i end at id_ends[i], by stage 2."""
        starts: cython.Py_ssize_t[BATCH]
        sizes: cython.Py_ssize_t[BATCH]
        keys: tm_key[BATCH]
        hashes: uint64_t[BATCH]
        filter: cython.pointer(cython.const[uint64_t]) = cython.address(self.borders[0])
        limit: cython.pointer(cython.const[uint8_t]) = self.packed + self.packed_room
        ids: cython.pointer(uint32_t) = self.ids
        width: cython.size_t = self.width
        o: cython.pointer(uint32_t) = out
        entry: cython.pointer(Entry)
        hash: uint64_t
        tail: uint32_t
        count: cython.Py_ssize_t
        i: cython.Py_ssize_t = 0
        first: cython.Py_ssize_t
        end: cython.Py_ssize_t
        pretoken: cython.Py_ssize_t = 0
        waiting: cython.Py_ssize_t
        k: cython.Py_ssize_t
        done: cython.Py_ssize_t = 0  # ids that are in `out`, joined or not
        for k in range(n_ids):
            memcpy(self.packed + k * width, ids + k, 4)
        while done < n_ids:
            # All keys and prefetches of a batch of fragments come before its first probe.
            waiting = 0
            while i < n_ids and waiting < BATCH:
                first = i
                end = id_ends[pretoken]
                i += 1
                while i < end:
                    hash = tm_pair_hash(0, ids[i - 1], ids[i]) >> self.shift
                    if not filter[hash >> 6] >> (hash & 63) & 1:
                        break
                    i += 1
                pretoken += i == end
                if i - first == 1:
                    continue
                starts[waiting] = first
                sizes[waiting] = i - first
                keys[waiting] = tm_key_of(self.packed + first * width, (i - first) * width, limit, self.seed)
                hashes[waiting] = tm_random_hash(keys[waiting], self.seed)
                tm_prefetch_write(self.entries + (hashes[waiting] & (self.slots - 1)))
                waiting += 1
            for k in range(waiting):
                first = starts[k]
                for done in range(done, first):
                    o[0] = ids[done]
                    o += 1
                done = first + sizes[k]
                entry = self.entries + (hashes[k] & (self.slots - 1))
                tail = entry.ids[3]
                if entry.lo == keys[k].lo and entry.hi == keys[k].hi and tail > ID_MASK:
                    memcpy(o, entry.ids, 16)
                    o[3] = tail & ID_MASK
                    o += tail >> COUNT_SHIFT
                else:
                    count = self.seek(self.packed + first * width, sizes[k] * width, keys[k], hashes[k], o)
                    if count < 0:
                        return count
                    o += count
            while done < i:
                o[0] = ids[done]
                o += 1
                done += 1
        return o - out


def border_filter(lefts: cython.const[uint32_t][::1], rights: cython.const[uint32_t][::1]):
    """A Bloom filter of the borders (lefts[i], rights[i]), a power of two of bits, as uint64."""
    import numpy as np

    i: cython.Py_ssize_t
    bits: cython.size_t = 1 << 12
    shift: cython.int = 52
    hash: uint64_t
    while bits < BITS * cython.cast(cython.size_t, lefts.shape[0]):
        bits *= 2
        shift -= 1
    words: uint64_t[::1] = np.zeros(bits // 64, np.uint64)
    for i in range(lefts.shape[0]):
        hash = tm_pair_hash(0, lefts[i], rights[i]) >> shift
        words[hash >> 6] |= cython.cast(uint64_t, 1) << (hash & 63)
    return np.asarray(words)
