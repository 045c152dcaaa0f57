"""The pretoken cache: pretokens with their ids. The merge kernel runs only for pretokens that are not in it.

Open addressing with linear probing: entries of 32 bytes, two to a cache line, at most half of the slots used. Pretokens come
in batches. All keys, hashes and prefetches of a batch come before its first probe, so that cache misses overlap. When its
memory would exceed the limit, the cache returns to its initial entries, the tokens of the vocabulary. One thread at a
time uses a cache.

The first cache has the initial entries in its table. The caches of other threads begin empty and share one copy of these
entries, with an index by hash. They add the shared entries that they use to their own. So the memory of a thread
grows with the pretokens that it encodes, not with the vocabulary.

If a token is merged like any other pretoken, there are no initial entries. Each cache then adds tokens after some merges. This
takes milliseconds, which would slow down short texts.

The hash is seeded at random in each process, so nobody can prepare text whose pretokens collide. Slots are the low bits of
the hash; only speed depends on them, never an id.
"""

import cython
from cython.cimports.cpython.bytes import PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cython.cimports.libc.stdint import uint8_t, uint32_t, uint64_t
from cython.cimports.libc.string import memcmp, memcpy, memset
from cython.cimports.tokenmill.kernels._memory import tm_alloc, tm_free, tm_pages_free, tm_pages_grow, tm_pages_new
from cython.cimports.tokenmill.kernels._pretoken_key import tm_key, tm_key_of, tm_random_hash, tm_random_hashes, tm_seed
from cython.cimports.tokenmill.tokenizer.encoding._cutter_cy import Cutter, lacks_spaces
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import NO_TOKEN, Merger, release

from ...kernels.random_seed import random_seed

ARENA = cython.declare(cython.size_t, 1 << 18)  # bytes of the arena at first
MIN_ARENA = cython.declare(cython.size_t, 1 << 16)  # a cache with less room in its arena would be cleared all the time
SEEDS_SHARE = cython.declare(cython.size_t, 32)  # n seeds are added after n / SEEDS_SHARE merges
CUT_AFTER = cython.declare(cython.size_t, 4)  # bytes for each id, of pretokens to cut, that are merged before the cutter is built
CUT_SPAN = cython.declare(cython.size_t, 1 << 16)  # bytes of SCAN pretokens, some of which are so long that it is built at once
WORK_KEPT = cython.declare(cython.size_t, 1 << 20)
ADDED_KEY = cython.declare(uint64_t, cython.cast(uint64_t, 0xFE) << 56)  # `hi` of an added token: no pretoken has it
UNLIMITED = cython.declare(cython.size_t, ~cython.cast(cython.size_t, 0))


@cython.cclass
class PretokenCache:
    """Pretokens with their ids.

    merger: encodes the pretokens that are not in the cache.
    model: a cache whose initial entries this one shares. Without it the cache has none, and no limit, until `begin` is called.
    """

    def __cinit__(self, merger: Merger, model: PretokenCache = None):
        self.merger = merger
        self.limit = UNLIMITED
        self.takes_added = True
        self.seed.a, self.seed.b = random_seed()
        self.slots = 4096
        self.entries = cython.cast(cython.pointer(Entry), tm_pages_new(self.slots * cython.sizeof(Entry)))
        if self.entries == cython.NULL:
            raise MemoryError
        if model is not None:
            self.model = model
            self.set_cutter(model.cutter)
            self.set_seeds(model.n_seeds, model.seeds)
            if model.index == cython.NULL:
                model.make_index()

    def __dealloc__(self):
        tm_pages_free(self.entries, self.slots * cython.sizeof(Entry))
        tm_pages_free(self.arena, self.arena_room)
        tm_free(self.index)
        release(cython.address(self.work), 0)

    def statistics(self) -> tuple:
        """The bytes of memory, the number of pretokens, and the mean distance of an entry from its home, in slots."""
        steps: cython.size_t = 0
        for i in range(self.slots):
            if self.entries[i].hi != 0:
                steps += i - _hash(self, self.entries + i) & self.slots - 1
        memory = self.slots * cython.sizeof(Entry) + self.arena_room + self.work.room
        return memory, self.used, cython.cast(cython.double, steps) / max(self.used, 1)

    def begin(self):
        """Make the present entries the initial ones, in the order of their slots. To be called once, on a cache without initial entries."""
        n: cython.size_t = 0
        initial: bytes = PyBytes_FromStringAndSize(cython.NULL, self.used * cython.sizeof(Entry))
        entries = cython.cast(cython.pointer(Entry), PyBytes_AS_STRING(initial))
        for i in range(self.slots):
            if self.entries[i].hi != 0:
                entries[n] = self.entries[i]
                n += 1
        self.initial = initial
        self.initial_entries = entries
        self.initial_used = n
        self.initial_arena = PyBytes_FromStringAndSize(cython.cast(cython.p_char, self.arena), self.arena_used)
        self.initial_records = cython.cast(cython.pointer(uint8_t), PyBytes_AS_STRING(self.initial_arena))
        self.initial_arena_used = self.arena_used

    def make_index(self):
        slots: cython.size_t = 4
        while slots < 2 * self.initial_used:
            slots *= 2
        index = cython.cast(cython.pointer(uint32_t), tm_alloc(4 * slots))
        if index == cython.NULL:
            raise MemoryError
        memset(index, 0, 4 * slots)
        for i in range(self.initial_used):
            slot: cython.size_t = _hash(self, self.initial_entries + i) & slots - 1
            while index[slot] != 0:
                slot = slot + 1 & slots - 1
            index[slot] = cython.cast(uint32_t, i + 1)
        self.index = index
        self.index_mask = slots - 1

    def wants_cutter(self, span):
        return self.cutter is not None and not self.cutter.ready and (self.uncut > CUT_AFTER * self.merger.n_ids or span > CUT_SPAN)

    def copy(self):
        return PretokenCache(self.merger, self)

    def set_cutter(self, cutter: Cutter | None):
        """Cut long pretokens before they are looked up. To be called once, before the first look-up."""
        self.cutter = cutter

    def set_seeds(self, n: cython.size_t, seeds):
        """seeds: called with this cache after n / SEEDS_SHARE pretokens were merged; adds up to n others to it. None for none."""
        self.n_seeds = n
        self.seeds = seeds
        self.patience = n // SEEDS_SHARE if seeds is not None else 0

    def set_limit(self, limit):
        self.limit = limit

    # ------------------------------------------------------------------ lookup

    def encode(self, text, start, length, ends, n, out):
        keys: tm_key[BATCH]
        hashes: uint64_t[BATCH]
        limit: cython.pointer(cython.const[uint8_t]) = text + length
        pretoken: cython.pointer(cython.const[uint8_t]) = text + start
        o: cython.pointer(uint32_t) = out
        entries: cython.pointer(Entry) = self.entries
        seed: tm_seed = self.seed
        mask: cython.size_t = self.slots - 1
        for i in range(n):
            if ends[i] & ADDED_END:
                after = text + (ends[i] & ~ADDED_END)
                keys[i].lo = self.added[i]
                keys[i].hi = ADDED_KEY
            else:
                after = text + ends[i]
                keys[i] = tm_key_of(pretoken, after - pretoken, limit, seed)
            pretoken = after
        tm_random_hashes(keys, n, seed, entries, cython.sizeof(Entry), mask, hashes)
        for i in range(n):
            entry = entries + (hashes[i] & mask)
            tail = entry.ids[3]
            if entry.lo == keys[i].lo and entry.hi == keys[i].hi and tail > ID_MASK:
                memcpy(o, entry.ids, 16)
                o[3] = tail & ID_MASK
                o += tail >> COUNT_SHIFT
            elif keys[i].hi == ADDED_KEY:
                o[0] = cython.cast(uint32_t, keys[i].lo)
                o += 1
            else:
                pretoken = text + (ends[i - 1] & ~ADDED_END if i > 0 else start)
                count = self.seek(pretoken, text + ends[i] - pretoken, keys[i], hashes[i], limit, o)
                if count < 0:
                    return count
                o += count
                entries = self.entries
                mask = self.slots - 1
            self.out_ends[i] = cython.cast(uint32_t, o - out)
        return o - out

    def seek(self, pretoken, length, key, hash, end, out):
        count: cython.Py_ssize_t = _probe(self, pretoken, length, key, hash, out)
        if count == 0 and self.patience > 0:
            self.patience -= 1
            if self.patience == 0 and 8 * self.n_seeds * cython.sizeof(Entry) <= self.limit:
                with cython.gil:
                    try:
                        self.seeds(self)
                    except MemoryError:  # the cache goes on without them
                        pass
                count = _probe(self, pretoken, length, key, hash, out)
        if count == 0:
            count = self.merger.merge(pretoken, length, out, cython.address(self.work))
            if count == NO_TOKEN:
                with cython.gil:
                    self.missing = self.merger.first_missing(cython.cast(cython.p_char, pretoken)[:length])
            self.uncut += length if length >= 6 and lacks_spaces(pretoken + length) else 0
            if count > 0 and length <= MAX_LENGTH:
                _put(self, pretoken, length, key, hash, out, count)
            elif self.work.room > WORK_KEPT:
                release(cython.address(self.work), WORK_KEPT)
        return count

    def find(self, pretoken, length, key, hash, out):
        return _probe(self, pretoken, length, key, hash, out)

    # ------------------------------------------------------------------ insertion

    def reserve(self, n):
        slots: cython.size_t = self.slots
        while slots < n:
            slots *= 2
        return slots == self.slots or _grow(self, slots)

    def put_token(self, token, length, key, hash, id):
        ids: uint32_t[4]
        return _probe(self, token, length, key, hash, ids) > 0 or _put(self, token, length, key, hash, cython.address(id), 1)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _probe(cache: PretokenCache, pretoken: cython.pointer(cython.const[uint8_t]), length: cython.size_t, key: tm_key, hash: uint64_t,
           out: cython.pointer(uint32_t)) -> cython.Py_ssize_t:
    """The ids of a pretoken if it is in the cache, otherwise 0.

    The entry is swapped with the one in its home slot, which stays within reach of a search. So frequent pretokens move
    home, where the first probe finds them.
    """
    slot: cython.size_t = hash & cache.slots - 1
    entry: cython.pointer(Entry) = cache.entries + slot
    while entry.hi != 0:
        if entry.lo == key.lo and entry.hi == key.hi:
            count = _ids_of(entry, cache.arena, pretoken, length, out)
            if entry.ids[3] > ID_MASK and slot != (hash & cache.slots - 1):
                probed: Entry = entry[0]
                entry[0] = cache.entries[hash & cache.slots - 1]
                cache.entries[hash & cache.slots - 1] = probed
            if count > 0:
                return count
        slot = slot + 1 & cache.slots - 1
        entry = cache.entries + slot
    return _share(cache, pretoken, length, key, hash, out) if cache.model is not None else 0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _share(cache: PretokenCache, pretoken: cython.pointer(cython.const[uint8_t]), length: cython.size_t, key: tm_key, hash: uint64_t,
           out: cython.pointer(uint32_t)) -> cython.Py_ssize_t:
    """The ids of a pretoken if it is one of the shared initial entries, which is added to this cache; otherwise 0."""
    index: cython.pointer(uint32_t) = cache.model.index
    slot: cython.size_t = hash & cache.model.index_mask
    while index[slot] != 0:
        entry = cache.model.initial_entries + (index[slot] - 1)
        if entry.lo == key.lo and entry.hi == key.hi:
            count = _ids_of(entry, cache.model.initial_records, pretoken, length, out)
            if count > 0:
                _put(cache, pretoken, length, key, hash, out, count)
                return count
        slot = slot + 1 & cache.model.index_mask
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _ids_of(entry: cython.pointer(Entry), arena: cython.pointer(uint8_t), pretoken: cython.pointer(cython.const[uint8_t]),
            length: cython.size_t, out: cython.pointer(uint32_t)) -> cython.Py_ssize_t:
    """The ids of an entry with the key of a pretoken; 0 if its record is that of another one."""
    count: uint32_t = entry.ids[3] >> COUNT_SHIFT
    if count > 0:
        memcpy(out, entry.ids, 16)
        out[3] &= ID_MASK
        return count
    record = cython.cast(cython.pointer(Record), arena + (cython.cast(uint64_t, entry.ids[1]) << 32 | entry.ids[0]))
    count = record.count
    if record.length == 0 or (
        record.length == length and memcmp(cython.cast(cython.pointer(uint32_t), record + 1) + count, pretoken, length) == 0
    ):
        memcpy(out, record + 1, 4 * count)
        return count
    return 0


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _hash(cache: PretokenCache, entry: cython.pointer(Entry)) -> uint64_t:
    key: tm_key
    key.lo = entry.lo
    key.hi = entry.hi
    return tm_random_hash(key, cache.seed)


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
    kept: cython.size_t = length if key.hi >> 56 == 0xFF else 0  # bytes to compare, if the key is a hash
    size: cython.size_t = 0
    if kept > 0 or count > 4 or (count == 4 and ids[3] > ID_MASK):
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
        at: uint64_t = cache.arena_used
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
    """Make room for one more entry and `size` bytes in the arena, within the limit. False if it cannot be made.

    The table may take half of the limit and the arena a quarter; the rest is what growing needs temporarily. The
    table of initial entries stays three quarters empty, so that it has room for others."""
    quarter: cython.size_t = cache.limit // 4
    if cache.limit == UNLIMITED:
        return _reserve_arena(cache, size) and (4 * cache.used < cache.slots or _grow(cache, 2 * cache.slots))
    if cache.limit == 0:
        return False
    if cache.arena_used + size > cache.arena_room and cache.arena_used + size > quarter:
        if cache.initial_arena_used + MIN_ARENA > quarter:
            return False
        _clear(cache)
    if 2 * cache.used >= cache.slots and (cache.slots * 2 * cython.sizeof(Entry) > cache.limit // 2 or not _grow(cache, 2 * cache.slots)):
        _clear(cache)
    return _reserve_arena(cache, size)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reserve_arena(cache: PretokenCache, size: cython.size_t) -> cython.bint:
    need: cython.size_t = cache.arena_used + size
    if need <= cache.arena_room:
        return True
    room: cython.size_t = max(need, min(max(2 * cache.arena_room, ARENA), cache.limit // 4))
    arena: cython.p_void = tm_pages_grow(cache.arena, cache.arena_room, room)
    if arena == cython.NULL:
        return False
    cache.arena = cython.cast(cython.pointer(uint8_t), arena)
    cache.arena_room = room
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _grow(cache: PretokenCache, slots: cython.size_t) -> cython.bint:
    """Make the table larger, to `slots`, twice as many or more. False if memory runs out.

    The entries move within the memory, in the order of their slots from a free one on. So each one moves to its own slot, to one
    before it, or to the new half. From the end of that half a search goes on in the first slots, whose entries move last; so these
    move once more.
    """
    n: cython.size_t = cache.slots
    first: cython.size_t = 0
    grown: cython.p_void = tm_pages_grow(cache.entries, n * cython.sizeof(Entry), slots * cython.sizeof(Entry))
    if grown == cython.NULL:
        return False
    cache.entries = cython.cast(cython.pointer(Entry), grown)
    cache.slots = slots
    while cache.entries[first].hi != 0:
        first += 1
    for i in range(first, first + n):
        _move(cache, cache.entries + (i & n - 1))
    i = 0
    while i < first or cache.entries[i].hi != 0:
        _move(cache, cache.entries + i)
        i += 1
    return True


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _move(cache: PretokenCache, entry: cython.pointer(Entry)) -> cython.void:
    """Move the entry of a slot to the first free slot from its home on."""
    moved: Entry = entry[0]
    if moved.hi != 0:
        entry.hi = 0
        _free_slot(cache, _hash(cache, cython.address(moved)))[0] = moved


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _clear(cache: PretokenCache) -> cython.void:
    """Return to the initial entries. Their records are still at the front of the arena."""
    memset(cache.entries, 0, cache.slots * cython.sizeof(Entry))
    for i in range(cache.initial_used):
        _free_slot(cache, _hash(cache, cache.initial_entries + i))[0] = cache.initial_entries[i]
    cache.used = cache.initial_used
    cache.arena_used = cache.initial_arena_used
