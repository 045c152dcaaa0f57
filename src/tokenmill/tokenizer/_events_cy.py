# cython: language_level=3
"""The merge kernel of event order: merges and removals replayed in training order (Picky BPE).

Of two neighbours, or of a token, only one event matters: the earliest after the event that brought them about. It is
found when they are born, through the table of pairs or an array by token, and waited for; when its turn comes and they
are still there, it applies. An event applies at all its places from left to right before the next one: nothing that
it makes waits for it again.
"""

import cython
from cython.cimports.libc.stdint import int32_t, uint8_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free
from cython.cimports.tokenmill.kernels._heap import tm_heap_pop, tm_heap_push
from cython.cimports.tokenmill.tokenizer.merging._merger_cy import (
    NO_ID,
    NO_MEMORY,
    SHORT,
    SIGNALLED,
    Merger,
    Node,
    Workspace,
    reserve,
    signalled,
)

from .naive import removal_parts

NOWHERE = cython.declare(uint32_t, 0xFFFFFFFF)


@cython.cclass
class EventMerger(Merger):
    """Replays events. The rank of a pair, in the table of Merger, is the number of the first event that merges it."""

    later: cython.pointer(uint32_t)  # by event: the next event of the same pair or of the same token
    left: cython.pointer(uint32_t)  # by event: the pair that it merges, or the token that it removes and NO_ID
    right: cython.pointer(uint32_t)
    removal: cython.pointer(uint32_t)  # by id: the first event that removes it
    units: cython.pointer(uint32_t)  # by id: how many parts of a pretoken it was made from
    starts: cython.pointer(uint32_t)  # by event: a removal leaves fallen[starts[e]:starts[e + 1]]
    fallen: cython.pointer(uint32_t)

    def set_events(self, events: cython.const[int32_t][:, ::1], units: cython.const[uint32_t][::1]):
        """Take the events, rows (left, right, new) or (id, -1, -1), and the units of each id. To be called once."""
        n: uint32_t = events.shape[0]
        n_ids: uint32_t = units.shape[0]
        event: uint32_t
        id: uint32_t
        before: uint32_t
        parts: dict = removal_parts([(int(a), int(b), int(c)) for a, b, c in events])
        flat: list = [id for event in range(n) for id in parts.get(event, ())]
        self.made = _numbers(n)
        self.later = _numbers(n)
        self.left = _numbers(n)
        self.right = _numbers(n)
        self.removal = _numbers(n_ids)
        self.units = _numbers(n_ids)
        self.starts = _numbers(n + 1)
        self.fallen = _numbers(len(flat))
        latest: cython.pointer(uint32_t) = _numbers(n)  # by the first event of a pair or token: the last one so far
        try:
            for id in range(n_ids):
                self.units[id] = units[id]
                self.removal[id] = NO_ID
            for event in range(len(flat)):
                self.fallen[event] = flat[event]
            self.starts[0] = 0
            for event in range(n):
                self.starts[event + 1] = self.starts[event] + len(parts.get(event, ()))
                self.left[event] = events[event, 0]
                self.right[event] = NO_ID if events[event, 1] < 0 else events[event, 1]
                self.made[event] = NO_ID if events[event, 1] < 0 else events[event, 2]
                self.later[event] = NO_ID
                if self.right[event] == NO_ID:
                    before = self.removal[self.left[event]]
                    if before == NO_ID:
                        self.removal[self.left[event]] = event
                else:
                    before = self.pair_rank(self.left[event], self.right[event])
                    if before == NO_ID and not self.add_pair(self.left[event], self.right[event], event):
                        raise MemoryError
                if before != NO_ID:
                    self.later[latest[before]] = event
                latest[event if before == NO_ID else before] = event
        finally:
            free(latest)
        if not self.finish_pairs():
            raise MemoryError

    def __dealloc__(self):
        free(self.later)
        free(self.left)
        free(self.right)
        free(self.removal)
        free(self.units)
        free(self.starts)
        free(self.fallen)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def merge_parts(self, ids: cython.pointer(uint32_t), n: cython.Py_ssize_t,
                    pretoken: cython.pointer(cython.const[uint8_t]), work: cython.pointer(Workspace)) -> cython.Py_ssize_t:
        return self.replay_short(ids, n) if n <= SHORT else self.replay(ids, n, work)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def replay_short(self, ids: cython.pointer(uint32_t), n: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """The event at waits[i] is what the token at i, or the pair that begins with it, waits for. Both arrays close
        up after a merge and open after a removal."""
        waits: uint32_t[SHORT]
        i: cython.Py_ssize_t
        at: cython.Py_ssize_t
        parts: cython.Py_ssize_t
        event: uint32_t
        for i in range(n):
            waits[i] = _awaited(self, ids[i], ids[i + 1] if i + 1 < n else NO_ID, 0)
        while True:
            event = NO_ID
            at = 0
            for i in range(n):
                if waits[i] < event:
                    event = waits[i]
                    at = i
            if event == NO_ID:
                return n
            parts = 1
            if self.right[event] != NO_ID:
                n -= 1
                for i in range(at + 1, n):
                    ids[i] = ids[i + 1]
                    waits[i] = waits[i + 1]
                ids[at] = self.made[event]
            else:
                parts = self.starts[event + 1] - self.starts[event]
                i = n - 1
                while i > at:
                    ids[i + parts - 1] = ids[i]
                    waits[i + parts - 1] = waits[i]
                    i -= 1
                for i in range(parts):
                    ids[at + i] = self.fallen[self.starts[event] + i]
                n += parts - 1
            for i in range(at - 1 if at > 0 else 0, at + parts):
                waits[i] = _awaited(self, ids[i], ids[i + 1] if i + 1 < n else NO_ID, event + 1)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def replay(self, ids: cython.pointer(uint32_t), n: cython.Py_ssize_t,
               work: cython.pointer(Workspace)) -> cython.Py_ssize_t:
        """The same with a queue of (event, place). A token stands at the place of its first part, so that its parts
        find their old places when it falls apart."""
        room: cython.size_t = 4 * n + 16
        if not reserve(work, n * cython.sizeof(Node) + room * 8):
            return NO_MEMORY
        nodes: cython.pointer(Node) = cython.cast(cython.pointer(Node), work.memory)
        heap: cython.pointer(uint64_t) = cython.cast(cython.pointer(uint64_t), nodes + n)
        used: cython.size_t = 0
        steps: cython.size_t = 0
        i: cython.Py_ssize_t
        k: uint32_t
        place: uint32_t
        after: uint32_t
        event: uint32_t
        end: uint32_t
        for i in range(n):
            nodes[i].id = ids[i]
            nodes[i].prev = i - 1 if i > 0 else NOWHERE
            nodes[i].next = i + 1 if i + 1 < n else NOWHERE
            nodes[i].rank = NO_ID
        for i in range(n):
            used = _wait(self, nodes, heap, used, i, 0)
        while used > 0:
            event = cython.cast(uint32_t, heap[0] >> 32)
            place = cython.cast(uint32_t, heap[0])
            used = tm_heap_pop(heap, used)
            steps += 1
            if steps & 0x3FFFF == 0 and signalled():
                return SIGNALLED
            if nodes[place].rank != event:
                continue  # what waited here is gone
            if used + self.starts[event + 1] - self.starts[event] + 2 > room:
                used = _without_stale(nodes, heap)
            end = nodes[place].next
            if self.right[event] != NO_ID:
                after = nodes[end].next
                nodes[end].rank = NO_ID
                nodes[place].id = self.made[event]
                nodes[place].next = after
                if after != NOWHERE:
                    nodes[after].prev = place
                used = _wait(self, nodes, heap, used, place, event + 1)
            else:
                i = place
                for k in range(self.starts[event], self.starts[event + 1]):
                    after = cython.cast(uint32_t, i) + self.units[self.fallen[k]] if k + 1 < self.starts[event + 1] else end
                    nodes[i].id = self.fallen[k]
                    nodes[i].next = after
                    if after != NOWHERE:
                        nodes[after].prev = i
                        i = after
                i = place
                while cython.cast(uint32_t, i) != end:
                    used = _wait(self, nodes, heap, used, i, event + 1)
                    if nodes[i].next == NOWHERE:
                        break
                    i = nodes[i].next
            if nodes[place].prev != NOWHERE:
                used = _wait(self, nodes, heap, used, nodes[place].prev, event + 1)
        i = 0
        place = 0
        while place != NOWHERE:
            ids[i] = nodes[place].id
            i += 1
            place = nodes[place].next
        return i


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _awaited(merger: EventMerger, id: uint32_t, right: uint32_t, first: uint32_t) -> uint32_t:
    """The earliest event from `first` on that removes `id` or merges it with `right`; NO_ID if there is none."""
    removal: uint32_t = merger.removal[id] if id < merger.n_ids else NO_ID
    merge: uint32_t = NO_ID if right == NO_ID else merger.pair_rank(id, right)
    while removal < first:
        removal = merger.later[removal]
    while merge < first:
        merge = merger.later[merge]
    return removal if removal < merge else merge


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _wait(merger: EventMerger, nodes: cython.pointer(Node), heap: cython.pointer(uint64_t), used: cython.size_t,
          place: uint32_t, first: uint32_t) -> cython.size_t:
    """Put what the token or pair at `place` waits for in the queue, unless it is there; returns the queue's length."""
    after: uint32_t = nodes[place].next
    event: uint32_t = _awaited(merger, nodes[place].id, NO_ID if after == NOWHERE else nodes[after].id, first)
    if event == nodes[place].rank:
        return used
    nodes[place].rank = event
    return used if event == NO_ID else tm_heap_push(heap, used, cython.cast(uint64_t, event) << 32 | place)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _without_stale(nodes: cython.pointer(Node), heap: cython.pointer(uint64_t)) -> cython.size_t:
    """The queue anew, of what waits now only: one entry for a place at most."""
    used: cython.size_t = 0
    place: uint32_t = 0
    while place != NOWHERE:
        if nodes[place].rank != NO_ID:
            used = tm_heap_push(heap, used, cython.cast(uint64_t, nodes[place].rank) << 32 | place)
        place = nodes[place].next
    return used


@cython.cfunc
@cython.exceptval(check=True)
def _numbers(n: cython.size_t) -> cython.pointer(uint32_t):
    numbers: cython.pointer(uint32_t) = cython.cast(cython.pointer(uint32_t), calloc(n + 1, 4))
    if numbers == cython.NULL:
        raise MemoryError
    return numbers


def event_merger(tokens: tuple, events, byte_ids, characters, unknown) -> Merger:
    """The merger of the order "events"."""
    import numpy as np

    merger: EventMerger = EventMerger(len(tokens), byte_ids, unknown, characters, len(events))
    sizes = [0 if token is None else len(token) for token in tokens]
    if characters is not None:  # a token of whole characters has as many parts as it has first bytes of characters
        sizes = [0 if token is None else sum([byte & 0xC0 != 0x80 for byte in token]) for token in tokens]
    merger.set_events(np.ascontiguousarray(events, np.int32), np.array(sizes, np.uint32))
    return merger
