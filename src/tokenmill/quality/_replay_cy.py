# cython: language_level=3
"""The replay kernel: applies a vocabulary's events to pretokens and counts how often each happens.

Within one pretoken nothing matters but the pretoken, so that the pretokens can be taken one after the other. A pretoken is a row
of nodes, each at the position of its first symbol; a heap holds (event, position) for every event that may apply next:
the first later merge of two neighbours, the first later removal of a token. An entry whose tokens have changed
meanwhile is dropped when it comes up. Taking entries in order applies the events in training order, each from
left to right: O(L log L) for a pretoken of L symbols.
"""

import cython
from cython.cimports.libc.stdint import int32_t, int64_t, uint64_t
from cython.cimports.libc.stdlib import free, malloc, realloc

NONE = cython.declare(int32_t, -1)


@cython.cclass
class Replayer:
    """The events of one vocabulary, indexed; pretokens are given to `start` and worked off by `advance`.

    events: int32 (n, 3). parts: for each removal, by its place, what the token falls apart into.
    lengths: int32, by id: symbols that a token spans. Ids up to len(lengths) - 1 may appear.
    """

    events: cython.const[int32_t][:, ::1]
    lengths: int32_t[::1]
    part_start: int64_t[::1]
    part_ids: int32_t[::1]
    mask: uint64_t
    keys: cython.pointer(uint64_t)      # open addressing: left << 32 | right, all ones where free
    first: cython.pointer(int32_t)      # the first merge of that pair
    following: cython.pointer(int32_t)  # for each event the next of the same pair, or the next removal of the token
    removal: cython.pointer(int32_t)    # for each id its first removal
    # The pretoken at work: node i spans symbols i to right[i]; token[i] is NONE where no node begins.
    token: cython.pointer(int32_t)
    right: cython.pointer(int64_t)
    left: cython.pointer(int64_t)
    room: cython.Py_ssize_t
    heap: cython.pointer(uint64_t)
    heap_size: cython.Py_ssize_t
    heap_room: cython.Py_ssize_t
    length: int64_t
    weight: uint64_t
    pretoken: cython.Py_ssize_t
    symbols: int32_t[::1]
    ends: uint64_t[::1]
    weights: uint64_t[::1]

    def __init__(self, events, lengths, part_start, part_ids):
        self.events = events
        self.lengths = lengths
        self.part_start = part_start
        self.part_ids = part_ids
        n: cython.Py_ssize_t = self.events.shape[0]
        ids: cython.Py_ssize_t = self.lengths.shape[0]
        capacity: cython.size_t = 16
        while capacity < cython.cast(cython.size_t, 2 * n):
            capacity *= 2
        self.mask = capacity - 1
        self.keys = cython.cast(cython.pointer(uint64_t), malloc(capacity * 8))
        self.first = cython.cast(cython.pointer(int32_t), malloc(capacity * 4))
        self.following = cython.cast(cython.pointer(int32_t), malloc((n + 1) * 4))
        self.removal = cython.cast(cython.pointer(int32_t), malloc((ids + 1) * 4))
        if not self.keys or not self.first or not self.following or not self.removal:
            raise MemoryError
        self.index(n, ids, capacity)

    def __dealloc__(self):
        free(self.keys)
        free(self.first)
        free(self.following)
        free(self.removal)
        free(self.token)
        free(self.right)
        free(self.left)
        free(self.heap)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def index(self, n: cython.Py_ssize_t, ids: cython.Py_ssize_t, capacity: cython.size_t) -> cython.void:
        """Chain the events of each pair and the removals of each token, the earliest first."""
        i: cython.Py_ssize_t
        slot: uint64_t
        key: uint64_t
        left: int32_t
        for i in range(cython.cast(cython.Py_ssize_t, capacity)):
            self.keys[i] = ~cython.cast(uint64_t, 0)
        for i in range(ids):
            self.removal[i] = NONE
        for i in range(n - 1, -1, -1):  # from the last, so that each chain grows at its head
            left = self.events[i, 0]
            if self.events[i, 1] < 0:
                self.following[i] = self.removal[left]
                self.removal[left] = cython.cast(int32_t, i)
                continue
            key = pair_key(left, self.events[i, 1])
            slot = self.slot_of(key)
            if self.keys[slot] == key:
                self.following[i] = self.first[slot]
            else:
                self.keys[slot] = key
                self.following[i] = NONE
            self.first[slot] = cython.cast(int32_t, i)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def slot_of(self, key: uint64_t) -> uint64_t:
        slot: uint64_t = key * cython.cast(uint64_t, 0x9E3779B97F4A7C15)
        slot = (slot ^ (slot >> 32)) & self.mask
        while self.keys[slot] != key and self.keys[slot] != ~cython.cast(uint64_t, 0):
            slot = (slot + 1) & self.mask
        return slot

    def start(self, symbols: int32_t[::1], ends: uint64_t[::1], weights: uint64_t[::1]):
        """Take on pretokens: pretoken i is symbols[ends[i - 1]:ends[i]], seen weights[i] times. No pretoken may be open."""
        self.symbols = symbols
        self.ends = ends
        self.weights = weights
        self.pretoken = 0
        self.length = 0
        self.heap_size = 0

    def advance(self, happened: uint64_t[::1], final: uint64_t[::1], budget: cython.Py_ssize_t) -> bool:
        """Work for about `budget` steps, adding to `happened` by event and `final` by id; True when all is done."""
        done: cython.int
        with cython.nogil:
            done = self.work(happened, final, budget)
        if done < 0:
            raise MemoryError
        return done == 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def work(self, happened: uint64_t[::1], final: uint64_t[::1], budget: cython.Py_ssize_t) -> cython.int:
        entry: uint64_t
        event: int32_t
        at: int64_t
        while budget > 0:
            if self.heap_size == 0:
                if self.length:
                    at = 0
                    while at < self.length:
                        final[self.token[at]] += self.weight
                        at = self.right[at]
                    budget -= self.length
                    self.length = 0
                    self.pretoken += 1
                if self.pretoken == self.ends.shape[0]:
                    return 1
                if not self.open_pretoken():
                    return -1
                if self.length == 0:
                    self.pretoken += 1
                budget -= self.length + 1
                continue
            entry = self.pop()
            budget -= 1
            event = cython.cast(int32_t, entry >> 32)
            at = cython.cast(int64_t, entry & cython.cast(uint64_t, 0xFFFFFFFF))
            if self.token[at] != self.events[event, 0]:
                continue
            if self.events[event, 1] < 0:
                happened[event] += self.weight
                if not self.take_apart(event, at):
                    return -1
            elif self.right[at] < self.length and self.token[self.right[at]] == self.events[event, 1]:
                happened[event] += self.weight
                if not self.merge(event, at):
                    return -1
        return 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def open_pretoken(self) -> cython.bint:
        """Lay out the next pretoken as one node for each symbol, with the first events of all. False: no memory."""
        begin: int64_t = 0 if self.pretoken == 0 else cython.cast(int64_t, self.ends[self.pretoken - 1])
        i: int64_t
        self.length = cython.cast(int64_t, self.ends[self.pretoken]) - begin
        self.weight = self.weights[self.pretoken]
        if self.length > self.room and not self.make_room(self.length):
            self.length = 0
            return False
        for i in range(self.length):
            self.token[i] = self.symbols[begin + i]
            self.right[i] = i + 1
            self.left[i] = i - 1
        for i in range(self.length):
            if not self.push_removal(i, NONE) or not self.push_merge(i, NONE):
                return False
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def make_room(self, length: cython.Py_ssize_t) -> cython.bint:
        room: cython.Py_ssize_t = 2 * length
        free(self.token)
        free(self.right)
        free(self.left)
        self.token = cython.cast(cython.pointer(int32_t), malloc(room * 4))
        self.right = cython.cast(cython.pointer(int64_t), malloc(room * 8))
        self.left = cython.cast(cython.pointer(int64_t), malloc(room * 8))
        self.room = room if self.token and self.right and self.left else 0
        return self.room > 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def merge(self, event: int32_t, at: int64_t) -> cython.bint:
        other: int64_t = self.right[at]
        self.token[other] = NONE
        self.token[at] = self.events[event, 2]
        self.right[at] = self.right[other]
        if self.right[at] < self.length:
            self.left[self.right[at]] = at
        if self.left[at] >= 0 and not self.push_merge(self.left[at], event):
            return False
        return self.push_removal(at, event) and self.push_merge(at, event)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def take_apart(self, event: int32_t, at: int64_t) -> cython.bint:
        stop: int64_t = self.right[at]
        before: int64_t = self.left[at]
        start: int64_t = at
        i: int64_t
        part: int32_t
        for i in range(self.part_start[event], self.part_start[event + 1]):
            part = self.part_ids[i]
            self.token[at] = part
            self.left[at] = before
            self.right[at] = at + self.lengths[part]
            before = at
            at = self.right[at]
        if stop < self.length:
            self.left[stop] = before
        if self.left[start] >= 0 and not self.push_merge(self.left[start], event):
            return False
        at = start
        while at < stop:
            if not self.push_removal(at, event) or not self.push_merge(at, event):
                return False
            at = self.right[at]
        return True

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def push_merge(self, at: int64_t, now: int32_t) -> cython.bint:
        """Queue the first merge after `now` of the pair that begins at node `at`, if there is one."""
        if self.right[at] >= self.length:
            return True
        key: uint64_t = pair_key(self.token[at], self.token[self.right[at]])
        slot: uint64_t = self.slot_of(key)
        if self.keys[slot] != key:
            return True
        return self.push_chain(self.first[slot], at, now)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def push_removal(self, at: int64_t, now: int32_t) -> cython.bint:
        return self.push_chain(self.removal[self.token[at]], at, now)

    @cython.cfunc
    @cython.inline
    @cython.nogil
    @cython.exceptval(check=False)
    def push_chain(self, event: int32_t, at: int64_t, now: int32_t) -> cython.bint:
        while event != NONE and event <= now:
            event = self.following[event]
        if event == NONE:
            return True
        if self.heap_size == self.heap_room and not self.grow_heap():
            return False
        entry: uint64_t = cython.cast(uint64_t, event) << 32 | cython.cast(uint64_t, at)
        i: cython.Py_ssize_t = self.heap_size
        self.heap_size += 1
        while i > 0 and self.heap[(i - 1) >> 1] > entry:
            self.heap[i] = self.heap[(i - 1) >> 1]
            i = (i - 1) >> 1
        self.heap[i] = entry
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def grow_heap(self) -> cython.bint:
        room: cython.Py_ssize_t = 2 * self.heap_room + 1024
        heap: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), realloc(self.heap, room * 8))
        if not heap:
            return False
        self.heap = heap
        self.heap_room = room
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def pop(self) -> uint64_t:
        top: uint64_t = self.heap[0]
        self.heap_size -= 1
        entry: uint64_t = self.heap[self.heap_size]
        i: cython.Py_ssize_t = 0
        child: cython.Py_ssize_t = 1
        while child < self.heap_size:
            if child + 1 < self.heap_size and self.heap[child + 1] < self.heap[child]:
                child += 1
            if self.heap[child] >= entry:
                break
            self.heap[i] = self.heap[child]
            i = child
            child = 2 * i + 1
        self.heap[i] = entry
        return top


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def pair_key(left: int32_t, right: int32_t) -> uint64_t:
    return cython.cast(uint64_t, left) << 32 | cython.cast(uint64_t, right)
