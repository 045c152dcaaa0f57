# cython: language_level=3
"""The cache in front of the merge kernel: pretokens already seen, with their ids.

Open addressing, linear probing, entries of 32 bytes, two to a cache line, at most half of them used. Pretokens come in
batches: first all keys, hashes and prefetches, then all probes, so that the cache misses of a batch overlap. A pretoken
that is not there is merged and put in. When the bytes held would pass the bound, the cache returns to its seed.
One thread at a time.

Slots are the low bits of the hash: saved word counts stand in the order of its high bits, and pretokens that come in the
order of their slots crowd at one place of the table, where each is put after all others.
"""

import cython
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.libc.string import memcmp, memcpy, memset
from cython.cimports.tokenmill.counting._pages import tm_pages_enlarge, tm_pages_free, tm_prefetch
from cython.cimports.tokenmill.kernels._pretoken_key import TM_CANONICAL, tm_hash, tm_key, tm_key_of
from cython.cimports.tokenmill.tokenizer._merge_cy import Merger, release

COUNT_SHIFT = cython.declare(cython.int, 24)
ID_MASK = cython.declare(uint32_t, 0xFFFFFF)
LONGEST_KEPT = cython.declare(cython.size_t, 4096)  # longer pretokens hardly ever come twice
ARENA = cython.declare(cython.size_t, 2 << 20)  # bytes of the arena at first: a huge page
WORK_KEPT = cython.declare(cython.size_t, 1 << 20)


@cython.cclass
class Seed:
    """What caches begin with, and return to: the entries of a cache, without the empty slots, and its arena.

    It never changes, so threads share it. In the order of slots, so that to put them in is to go through the table once.
    """

    def __cinit__(self, cache: PretokenCache):
        i: cython.size_t
        self.slots = cache.slots
        self.entries = cython.cast(cython.pointer(Entry), malloc((cache.used + 1) * cython.sizeof(Entry)))
        self.arena = cython.cast(cython.pointer(uint8_t), malloc(cache.arena_used + 1))
        if self.entries == cython.NULL or self.arena == cython.NULL:
            raise MemoryError
        for i in range(cache.slots):
            if cache.entries[i].hi != 0:
                self.entries[self.used] = cache.entries[i]
                self.used += 1
        if cache.arena_used:
            memcpy(self.arena, cache.arena, cache.arena_used)
        self.arena_used = cache.arena_used

    def __dealloc__(self):
        free(self.entries)
        free(self.arena)


@cython.cclass
class PretokenCache:
    """Pretokens with their ids.

    merger: encodes the pretokens that are not there.
    seed: what to begin with.
    bound: the bytes that tables and arena may take, once they outgrow the seed.
    slots: how many to begin with, where there is no seed.
    """

    def __cinit__(self, merger: Merger, seed: Seed = None, bound: cython.size_t = 0, slots: cython.size_t = 0):
        self.merger = merger
        self.seed = seed
        self.bound = bound
        n: cython.size_t = 4096 if seed is None else seed.slots
        while n < slots:
            n *= 2
        if not _resize(self, n):
            raise MemoryError
        if seed is not None:
            if not _reserve_arena(self, seed.arena_used):
                raise MemoryError
            if seed.arena_used:
                memcpy(self.arena, seed.arena, seed.arena_used)
            _return(self)

    def __dealloc__(self):
        tm_pages_free(self.entries, self.reserved)
        tm_pages_free(self.arena, self.arena_reserved)
        release(cython.address(self.work), 0)

    @property
    def nbytes(self):
        """Bytes of memory held."""
        return self.slots * cython.sizeof(Entry) + self.arena_room + self.work.room

    def __len__(self):
        return self.used

    @property
    def crowding(self):
        """How many slots past their home the pretokens stand on average: what looking one up costs."""
        i: cython.size_t
        steps: cython.size_t = 0
        for i in range(self.slots):
            if self.entries[i].hi != 0:
                steps += i - _hash(self.entries + i) & self.slots - 1
        return cython.cast(cython.double, steps) / max(self.used, 1)

    def begin(self):
        """Make what is there now the seed. To be called once, on a cache that had none."""
        self.seed = Seed(self)

    # ------------------------------------------------------------------ looking up

    def encode(self, text, start, length, ends, n, out):
        keys: tm_key[BATCH]
        hashes: uint64_t[BATCH]
        limit: cython.pointer(cython.const[uint8_t]) = text + length
        pretoken: cython.pointer(cython.const[uint8_t]) = text + start
        after: cython.pointer(cython.const[uint8_t])
        o: cython.pointer(uint32_t) = out
        entries: cython.pointer(Entry) = self.entries
        entry: cython.pointer(Entry)
        mask: cython.size_t = self.slots - 1
        count: cython.Py_ssize_t
        tail: uint32_t
        i: cython.Py_ssize_t
        for i in range(n):
            after = text + ends[i]
            keys[i] = tm_key_of(pretoken, after - pretoken, limit, TM_CANONICAL)
            hashes[i] = tm_hash(keys[i], TM_CANONICAL)
            tm_prefetch(entries + (hashes[i] & mask))
            pretoken = after
        for i in range(n):
            entry = entries + (hashes[i] & mask)
            tail = entry.ids[3]
            if entry.lo == keys[i].lo and entry.hi == keys[i].hi and tail > ID_MASK:
                memcpy(o, entry.ids, 16)
                o[3] = tail & ID_MASK
                o += tail >> COUNT_SHIFT
            else:
                pretoken = text + (ends[i - 1] if i > 0 else start)
                count = _seek(self, pretoken, text + ends[i] - pretoken, keys[i], hashes[i], o)
                if count < 0:
                    return count
                o += count
                entries = self.entries
                mask = self.slots - 1
        return o - out

    def find(self, pretoken, length, end, out):
        """The ids of a pretoken where it is there, else 0; nothing is merged. `out` has room for 4 at least."""
        key: tm_key = tm_key_of(pretoken, length, end, TM_CANONICAL)
        return _probe(self, pretoken, length, key, tm_hash(key, TM_CANONICAL), out)

    def prefetch(self, pretoken, length, end):
        tm_prefetch(self.entries + (tm_hash(tm_key_of(pretoken, length, end, TM_CANONICAL), TM_CANONICAL) & self.slots - 1))

    # ------------------------------------------------------------------ putting in

    def insert(self, pretoken, length, end, ids, count):
        """Put in a pretoken that is not there. False where there is no memory."""
        key: tm_key = tm_key_of(pretoken, length, end, TM_CANONICAL)
        return _put(self, pretoken, length, key, tm_hash(key, TM_CANONICAL), ids, count)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _seek(cache: PretokenCache, pretoken: cython.pointer(cython.const[uint8_t]), length: cython.size_t, key: tm_key, hash: uint64_t,
          out: cython.pointer(uint32_t)) -> cython.Py_ssize_t:
    """The ids of a pretoken that is not in its home slot, or does not fit there; merges it where it is new."""
    count: cython.Py_ssize_t = _probe(cache, pretoken, length, key, hash, out)
    if count == 0:
        count = cache.merger.merge(pretoken, length, out, cython.address(cache.work))
        if count > 0 and length <= LONGEST_KEPT:
            _put(cache, pretoken, length, key, hash, out, count)
        elif cache.work.room > WORK_KEPT:
            release(cython.address(cache.work), WORK_KEPT)
    return count


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _probe(cache: PretokenCache, pretoken: cython.pointer(cython.const[uint8_t]), length: cython.size_t, key: tm_key, hash: uint64_t,
           out: cython.pointer(uint32_t)) -> cython.Py_ssize_t:
    """The ids of a pretoken where it is there, else 0.

    It changes places with the one in its home slot, which stays where a search for it comes by. So the pretokens that
    come often get home, and are found without a search: text that was seen before takes a tenth less time.
    """
    slot: cython.size_t = hash & cache.slots - 1
    entry: cython.pointer(Entry) = cache.entries + slot
    record: cython.pointer(Record)
    count: uint32_t
    found: Entry
    while entry.hi != 0:
        if entry.lo == key.lo and entry.hi == key.hi:
            count = entry.ids[3] >> COUNT_SHIFT
            if count > 0:
                memcpy(out, entry.ids, 16)
                out[3] &= ID_MASK
                found = entry[0]
                entry[0] = cache.entries[hash & cache.slots - 1]
                cache.entries[hash & cache.slots - 1] = found
                return count
            record = _record(cache, entry)
            count = record.count
            if record.length == 0 or (
                record.length == length
                and memcmp(cython.cast(cython.pointer(uint32_t), record + 1) + count, pretoken, length) == 0
            ):
                memcpy(out, record + 1, 4 * count)
                return count
        slot = slot + 1 & cache.slots - 1
        entry = cache.entries + slot
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _record(cache: PretokenCache, entry: cython.pointer(Entry)) -> cython.pointer(Record):
    return cython.cast(cython.pointer(Record), cache.arena + (cython.cast(uint64_t, entry.ids[1]) << 32 | entry.ids[0]))


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _hash(entry: cython.pointer(Entry)) -> uint64_t:
    key: tm_key
    key.lo = entry.lo
    key.hi = entry.hi
    return tm_hash(key, TM_CANONICAL)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _free_slot(cache: PretokenCache, hash: uint64_t) -> cython.pointer(Entry):
    """The first free slot from the home of `hash` on."""
    slot: cython.size_t = hash & cache.slots - 1
    while cache.entries[slot].hi != 0:
        slot = slot + 1 & cache.slots - 1
    return cache.entries + slot


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _put(cache: PretokenCache, pretoken: cython.pointer(cython.const[uint8_t]), length: cython.size_t, key: tm_key, hash: uint64_t,
         ids: cython.pointer(cython.const[uint32_t]), count: cython.Py_ssize_t) -> cython.bint:
    entry: cython.pointer(Entry)
    record: cython.pointer(Record)
    kept: cython.size_t = length if key.hi >> 56 == 0xFF else 0  # bytes to compare: of keys that are hashes
    size: cython.size_t = 0
    at: uint64_t
    if kept > 0 or count > 4:
        size = (cython.sizeof(Record) + 4 * cython.cast(cython.size_t, count) + kept + 7) & ~cython.cast(cython.size_t, 7)
    if not _make_room(cache, size):
        return False
    entry = _free_slot(cache, hash)
    entry.lo = key.lo
    entry.hi = key.hi
    entry.ids[3] = 0
    if size == 0:
        memcpy(entry.ids, ids, 4 * count)
        entry.ids[3] |= cython.cast(uint32_t, count) << COUNT_SHIFT
    else:
        at = cache.arena_used
        record = cython.cast(cython.pointer(Record), cache.arena + at)
        record.length = cython.cast(uint32_t, kept)
        record.count = cython.cast(uint32_t, count)
        memcpy(record + 1, ids, 4 * count)
        memcpy(cython.cast(cython.pointer(uint32_t), record + 1) + count, pretoken, kept)
        entry.ids[0] = cython.cast(uint32_t, at)
        entry.ids[1] = cython.cast(uint32_t, at >> 32)
        cache.arena_used += size
    cache.used += 1
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _make_room(cache: PretokenCache, size: cython.size_t) -> cython.bint:
    """Room for one more entry and `size` bytes in the arena; clears the cache where the bound asks for it.

    The table may take half of the bound and the arena a quarter; the rest is what growing needs meanwhile. A
    cache that is itself a seed keeps a quarter of its slots used, so that the table of its copies has room for others."""
    if cache.bound == 0:
        return _reserve_arena(cache, size) and (4 * cache.used < cache.slots or _grow(cache))
    if cache.arena_used + size > cache.arena_room and cache.arena_used + size > cache.bound // 4:
        _clear(cache)
    if 2 * cache.used >= cache.slots and (cache.slots * 2 * cython.sizeof(Entry) > cache.bound // 2 or not _grow(cache)):
        _clear(cache)
    return _reserve_arena(cache, size)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reserve_arena(cache: PretokenCache, size: cython.size_t) -> cython.bint:
    room: cython.size_t
    if cache.arena_used + size <= cache.arena_room:
        return True
    room = 2 * cache.arena_room if cache.arena_room > ARENA // 2 else ARENA
    if cache.bound > 0 and room > cache.bound // 4:
        room = cache.bound // 4
    if room < cache.arena_used + size:
        room = cache.arena_used + size
    room = (room + 4095) & ~cython.cast(cython.size_t, 4095)
    arena: cython.p_void = tm_pages_enlarge(cache.arena, cache.arena_room, room, cython.address(cache.arena_reserved))
    if arena == cython.NULL:
        return False
    cache.arena = cython.cast(cython.pointer(uint8_t), arena)
    cache.arena_room = room
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _resize(cache: PretokenCache, slots: cython.size_t) -> cython.bint:
    """Memory for so many slots; those that are new are empty."""
    size: cython.size_t = cython.sizeof(Entry)
    entries: cython.p_void = tm_pages_enlarge(
        cache.entries, cache.slots * size, slots * size, cython.address(cache.reserved)
    )
    if entries == cython.NULL:
        return False
    cache.entries = cython.cast(cython.pointer(Entry), entries)
    cache.slots = slots
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _grow(cache: PretokenCache) -> cython.bint:
    """Twice the slots, in place: an entry stays near its slot or goes as far into the new half.

    They are gone through from an empty slot on, round to it. So whatever stands between an entry's home and its slot
    has been moved before it, and it comes to stand no further from home than it did.
    """
    n: cython.size_t = cache.slots
    first: cython.size_t = 0
    i: cython.size_t
    entry: Entry
    if not _resize(cache, 2 * n):
        return False
    while cache.entries[first].hi != 0:
        first += 1
    for i in range(first + 1, first + n):
        entry = cache.entries[i & n - 1]
        if entry.hi == 0:
            continue
        cache.entries[i & n - 1].hi = 0
        _free_slot(cache, _hash(cython.address(entry)))[0] = entry
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _clear(cache: PretokenCache) -> cython.void:
    memset(cache.entries, 0, cache.slots * cython.sizeof(Entry))
    cache.used = 0
    cache.arena_used = 0
    if cache.seed is not None:
        _return(cache)
    cache.cleared += 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _return(cache: PretokenCache) -> cython.void:
    """Put the seed into an empty table; its records stand at the front of the arena."""
    i: cython.size_t
    for i in range(cache.seed.used):
        _free_slot(cache, _hash(cache.seed.entries + i))[0] = cache.seed.entries[i]
    cache.used = cache.seed.used
    cache.arena_used = cache.seed.arena_used
