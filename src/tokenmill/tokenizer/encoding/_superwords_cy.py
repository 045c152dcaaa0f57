"""Pretokens of many words to ids, in two steps, as they were trained.

The merges of stage 1 have lower ranks than those of stage 2, and never use a token of stage 2. So encoding applies all of
stage 1 first. Then the merges of stage 2 join ids.

Stage 1 encodes segments. A pretoken that spans words hardly ever occurs twice, so a cache of such pretokens is useless. But a merge
makes a token that contains the two bytes on both sides of the border that it crosses. So if two neighbouring bytes are side by side
in no token, no merge crosses the border between them, and the segments between such borders, mostly words, are encoded separately.

Let A and B be two tokens that a merge of stage 2 joins. It crosses the border between the last id of stage 1 in A and the
first in B. No merge crosses any other border. So the ids between the other borders, a fragment, are merged separately. The base
class is a cache of fragments: its pretokens are ids of stage 1, written in 2 or 3 bytes each.

Where superwords join whole pretokens only (BoundlessBPE), the first step encodes pretoken by pretoken, and the pretokens of the cache's
`encode` are stretches of pretokens with borders that superwords may cross. An id that is not a whole pretoken is marked with NO_JOIN,
and no superword crosses a border next to it.
"""

import cython
from cython.cimports.libc.stdint import int32_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free
from cython.cimports.libc.string import memcpy
from cython.cimports.tokenmill.kernels._arrays import new_array
from cython.cimports.tokenmill.kernels._pair_map import tm_pair_hash
from cython.cimports.tokenmill.kernels._platform import tm_prefetch_write
from cython.cimports.tokenmill.kernels._pretoken_key import tm_key, tm_key_of, tm_random_hash
from cython.cimports.tokenmill.split._scan_cy import Scanner
from cython.cimports.tokenmill.tokenizer.encoding._cache_cy import (
    BATCH,
    COUNT_SHIFT,
    ID_MASK,
    SCAN,
    Entry,
    PretokenCache,
)
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_MEMORY, TOO_LONG, Merger

MOST = cython.declare(cython.size_t, 0xFFFFFF00)  # bytes of pretokens at once: offsets of ids have 32 bits
KEPT = cython.declare(cython.size_t, 1 << 20)  # ids that there is room for between calls
BITS = cython.declare(cython.size_t, 32)  # of the filter for each border
NO_JOIN = cython.declare(uint32_t, 0x80000000)  # marks an id that is not a whole pretoken


@cython.final
@cython.cclass
class IdMerger(Merger):
    """Merges ids, written in `width` bytes each, by the merges of stage 2."""

    def set_merges(self, merges: cython.const[int32_t][:, ::1], width: cython.size_t):
        """To be called once: the rows (left id, right id, new id) by rank."""
        n: uint32_t = merges.shape[0]
        new_ids = cython.cast(cython.pointer(uint32_t), new_array(n, 4))
        self.width = width
        try:
            for rank in range(n):
                new_ids[rank] = merges[rank, 2]
                if not self.add_pair(merges[rank, 0], merges[rank, 1], rank):
                    raise MemoryError
            free(self.number_ranks(new_ids, n))
        finally:
            free(new_ids)

    def merge(self, pretoken, n, out, work):
        count: cython.size_t = n // self.width
        for i in range(count):
            out[i] = 0
            memcpy(out + i, pretoken + i * self.width, self.width)
        return self.merge_ids(out, count, work)


@cython.final
@cython.cclass
class SuperwordCache(PretokenCache):
    """The cache of fragments, with what encodes by stage 1. Call `set_stages` once."""

    def __cinit__(self):
        self.takes_added = False

    def __dealloc__(self):
        free_id_room(cython.address(self.room))

    def set_stages(
        self,
        words: PretokenCache,
        inside: cython.const[uint64_t][::1] | None,
        scanner: Scanner | None,
        borders: cython.const[uint64_t][::1],
        width: cython.size_t,
    ):
        """words: encodes with stage 1. inside: see `encode_segments`; None if superwords join whole pretokens, which `scanner` cuts.
        borders: see `border_filter`. width: the bytes of an id."""
        self.words = words
        self.inside = inside
        self.scanner = scanner
        self.borders = borders
        self.width = width
        self.shift = 64
        while cython.cast(cython.size_t, 1) << (64 - self.shift) < 64 * cython.cast(cython.size_t, borders.shape[0]):
            self.shift -= 1

    def begin(self):
        PretokenCache.begin(self)
        self.words.begin()

    def copy(self):
        fresh: SuperwordCache = SuperwordCache(self.merger, self)
        fresh.set_stages(self.words.copy(), self.inside, self.scanner, self.borders, self.width)
        return fresh

    def set_limit(self, limit):
        self.limit = limit // 2
        self.words.limit = limit // 2

    def encode(self, text, start, length, ends, n, out):
        if ends[n - 1] - start > MOST:
            return TOO_LONG
        if not make_id_room(cython.address(self.room), ends[n - 1] - start, self.width):
            return NO_MEMORY
        ids = self.room.ids
        if self.scanner is None:
            count = encode_segments(self.words, cython.address(self.inside[0]), text, start, length, ends, n, ids)
        else:
            count = self.encode_pretokens(text, start, length, ends[n - 1])
            n = 1  # all as one; `out_ends` is not used then
            self.words.out_ends[0] = cython.cast(uint32_t, count)
        if count > 0:
            count = self.join(n, count, self.words.out_ends, out)
        if self.room.ids_room > KEPT:
            free_id_room(cython.address(self.room))
        return count

    def encode_pretokens(self, text, start, length, stop):
        pretokens: cython.size_t[SCAN]
        ids: cython.pointer(uint32_t) = self.room.ids
        while start < stop:
            n = self.scanner.scan_pretokens(text, start, length, pretokens, SCAN)
            while pretokens[n - 1] > stop:
                n -= 1
            i = 0
            while i < n:
                batch = min(n - i, BATCH)
                count = self.words.encode(text, start, length, pretokens + i, batch, ids)
                if count < 0:
                    with cython.gil:
                        self.missing = self.words.missing
                    return count
                id: cython.Py_ssize_t = 0
                for k in range(batch):
                    if cython.cast(cython.Py_ssize_t, self.words.out_ends[k]) - id > 1:
                        while id < self.words.out_ends[k]:
                            ids[id] |= NO_JOIN
                            id += 1
                    id = self.words.out_ends[k]
                ids += count
                i += batch
                start = pretokens[i - 1]
        return ids - self.room.ids

    def join(self, n, n_ids, id_ends, out):
        starts: cython.size_t[BATCH]
        stops: cython.size_t[BATCH]
        keys: tm_key[BATCH]
        hashes: uint64_t[BATCH]
        limit: cython.pointer(cython.const[uint8_t]) = self.room.packed + self.room.packed_room
        ids: cython.pointer(uint32_t) = self.room.ids
        cuts: cython.pointer(uint32_t) = self.room.cuts
        width: cython.size_t = self.width
        o: cython.pointer(uint32_t) = out
        n_cuts: cython.Py_ssize_t = self.cut(n, id_ends)
        cut: cython.Py_ssize_t = 0
        k: cython.Py_ssize_t
        first: cython.size_t = 0  # of a fragment
        done: cython.size_t = 0  # ids that are in `out`, joined or not
        pretoken: cython.Py_ssize_t = 0  # the first whose ids are not all in `out`
        if self.scanner is not None:
            for k in range(n_ids):
                ids[k] &= ~NO_JOIN
        for k in range(n_ids):
            memcpy(self.room.packed + k * width, ids + k, 4)
        while cut < n_cuts:
            # All keys and prefetches of a batch of fragments come before its first probe.
            waiting: cython.Py_ssize_t = 0
            while cut < n_cuts and waiting < BATCH:
                starts[waiting] = first
                stops[waiting] = cuts[cut]
                waiting += stops[waiting] - first > 1
                first = cuts[cut]
                cut += 1
            for k in range(waiting):
                keys[k] = tm_key_of(self.room.packed + starts[k] * width, (stops[k] - starts[k]) * width, limit, self.seed)
                hashes[k] = tm_random_hash(keys[k], self.seed)
                tm_prefetch_write(self.entries + (hashes[k] & (self.slots - 1)))
            for k in range(waiting):
                while id_ends[pretoken] <= starts[k]:
                    self.out_ends[pretoken] = cython.cast(uint32_t, o - out + id_ends[pretoken] - done)
                    pretoken += 1
                o = _copy(o, ids, done, starts[k])
                done = stops[k]
                entry: cython.pointer(Entry) = self.entries + (hashes[k] & (self.slots - 1))
                tail: uint32_t = entry.ids[3]
                if entry.lo == keys[k].lo and entry.hi == keys[k].hi and tail > ID_MASK:
                    memcpy(o, entry.ids, 16)
                    o[3] = tail & ID_MASK
                    o += tail >> COUNT_SHIFT
                else:
                    count = self.seek(
                        self.room.packed + starts[k] * width, (stops[k] - starts[k]) * width, keys[k], hashes[k], limit, o
                    )
                    if count < 0:
                        return count
                    o += count
                if id_ends[pretoken] == done:
                    self.out_ends[pretoken] = cython.cast(uint32_t, o - out)
                    pretoken += 1
            while pretoken < n and id_ends[pretoken] <= first:
                self.out_ends[pretoken] = cython.cast(uint32_t, o - out + id_ends[pretoken] - done)
                pretoken += 1
            o = _copy(o, ids, done, first)
            done = first
        return o - out

    def cut(self, n, id_ends):
        """Write the ends of the fragments into `cuts`. Return their number. Nothing branches on unpredictable bits of the filter."""
        filter: cython.pointer(cython.const[uint64_t]) = cython.address(self.borders[0])
        ids: cython.pointer(uint32_t) = self.room.ids
        cuts: cython.pointer(uint32_t) = self.room.cuts
        shift: cython.int = self.shift
        count: cython.Py_ssize_t = 0
        i: cython.size_t = 0
        for pretoken in range(n):
            for i in range(i + 1, id_ends[pretoken]):
                hash = tm_pair_hash(0, ids[i - 1], ids[i]) >> shift
                cuts[count] = cython.cast(uint32_t, i)
                crossed: uint64_t = filter[hash >> 6] >> (hash & 63) & ((ids[i - 1] | ids[i]) < NO_JOIN)
                count += 1 - cython.cast(cython.Py_ssize_t, crossed)
            i = id_ends[pretoken]
            cuts[count] = cython.cast(uint32_t, i)
            count += 1
        return count


def encode_segments(cache, inside, text, start, length, ends, n, out):
    segments: cython.size_t[BATCH]
    out_ends: uint32_t[BATCH]
    first: cython.size_t = start  # of the next batch
    at: cython.size_t = start
    used: cython.Py_ssize_t = 0
    pretoken: cython.Py_ssize_t = 0  # the first that is not cut
    done: cython.Py_ssize_t = 0  # the first without ids
    while pretoken < n:
        waiting = 0
        while pretoken < n and waiting < BATCH:
            stop = ends[pretoken] - 1
            # The ends of segments cannot be predicted, so nothing branches on them.
            last = stop if stop - at < BATCH - waiting else at + BATCH - waiting
            while at < last:
                pair = cython.cast(cython.size_t, text[at]) << 8 | text[at + 1]
                at += 1
                segments[waiting] = at
                waiting += 1 - cython.cast(cython.Py_ssize_t, inside[pair >> 6] >> (pair & 63) & 1)
            if at == stop and waiting < BATCH:
                at += 1
                segments[waiting] = at
                out_ends[pretoken] = cython.cast(uint32_t, waiting)
                waiting += 1
                pretoken += 1
        count = cache.encode(text, first, length, segments, waiting, out + used)
        if count < 0:
            return count
        first = segments[waiting - 1]
        while done < pretoken:
            out_ends[done] = cython.cast(uint32_t, used + cache.out_ends[out_ends[done]])
            done += 1
        used += count
    memcpy(cache.out_ends, out_ends, n * cython.sizeof(uint32_t))
    return used


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _copy(
    out: cython.pointer(uint32_t), ids: cython.pointer(uint32_t), first: cython.size_t, end: cython.size_t
) -> cython.pointer(uint32_t):
    """Copy ids[first:end]; both arrays have room for 4 more. Returns the end of the copy."""
    memcpy(out, ids + first, 16)
    for i in range(first + 4, end):
        out[i - first] = ids[i]
    return out + (end - first)


def border_filter(lefts: cython.const[uint32_t][::1], rights: cython.const[uint32_t][::1]):
    """A Bloom filter of the borders (lefts[i], rights[i]), a power of two of bits, as uint64."""
    import numpy as np

    bits: cython.size_t = 1 << 12
    shift: cython.int = 52
    while bits < BITS * cython.cast(cython.size_t, lefts.shape[0]):
        bits *= 2
        shift -= 1
    words: uint64_t[::1] = np.zeros(bits // 64, np.uint64)
    for i in range(lefts.shape[0]):
        hash = tm_pair_hash(0, lefts[i], rights[i]) >> shift
        words[hash >> 6] |= cython.cast(uint64_t, 1) << (hash & 63)
    return np.asarray(words)
