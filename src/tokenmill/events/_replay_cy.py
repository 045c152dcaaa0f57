"""The replay kernel: merges and removals applied to one pretoken in training order.

For a token, or for two neighbours, only one event matters: the earliest after the event that made them. It is looked up when
they come up. When its turn comes and they are still there, it applies. An event applies at all its places from left to
right before the next event does, since nothing that it makes waits for the same event again.

A pretoken of n symbols in which k events apply takes O((n + k) log n) steps, and O(log e) more for an event of a pair that
has e events.
"""

import cython
from cython.cimports.libc.stdint import int32_t, uint32_t, uint64_t
from cython.cimports.libc.stdlib import calloc, free, malloc
from cython.cimports.libc.string import memcmp
from cython.cimports.tokenmill.kernels._arrays import grow, no_memory, zeroed_array
from cython.cimports.tokenmill.kernels._heap import tm_heap_pop, tm_heap_push
from cython.cimports.tokenmill.kernels._pair_map import (
    tm_pair_map_free,
    tm_pair_map_get,
    tm_pair_map_get_or_put,
    tm_pair_map_reserve,
)
from cython.cimports.tokenmill.kernels._signals import check_signals, raise_signalled, signalled
from cython.cimports.tokenmill.kernels._token_list import NOTHING, Node, join_next, link_tokens, list_ids
from cython.cimports.tokenmill.training._take_apart import Made, take_apart

from ..errors import UsageError
from ..kernels.random_seed import random_seed

NO_EVENT = cython.declare(uint32_t, 0xFFFFFFFF)  # above all events, and what tm_pair_map_get gives for no pair
CHECK = cython.declare(cython.size_t, 1 << 16)  # steps between two looks for signals


@cython.cclass
class EventTable:
    """The events of a vocabulary, indexed for replay. Immutable; threads share it.

    events: those of a `Vocabulary`: rows (left, right, new) for a merge, (id, -1, -1) for a removal. lengths: the symbols
    that each token spans. by_rank: whether merges apply by rank: one that comes up after its turn is next.

    Raises UsageError for a merge whose lengths do not add up, where some event is a removal.
    """

    def __cinit__(
        self, events: cython.const[int32_t][:, ::1], lengths: cython.const[uint32_t][::1], by_rank: cython.bint = False
    ):
        i: cython.size_t
        self.by_rank = by_rank
        self.n_events = cython.cast(uint32_t, events.shape[0])
        self.n_ids = cython.cast(uint32_t, lengths.shape[0])
        self.event = cython.cast(cython.pointer(Event), zeroed_array(self.n_events, cython.sizeof(Event)))
        self.removal = cython.cast(cython.pointer(uint32_t), zeroed_array(self.n_ids, 4))
        self.length = cython.cast(cython.pointer(uint32_t), zeroed_array(self.n_ids, 4))
        for i in range(self.n_ids):
            self.removal[i] = NO_EVENT
            self.length[i] = lengths[i]
        self.pairs.seed = random_seed()[0]
        if not tm_pair_map_reserve(cython.address(self.pairs), self.n_events):
            no_memory(self.n_events, cython.sizeof(Event))
        self._load(events)

    def __dealloc__(self):
        free(self.event)
        free(self.removal)
        free(self.length)
        free(self.parts)
        free(self.part)
        tm_pair_map_free(cython.address(self.pairs))

    # ---- loading

    def _load(self, events):
        import numpy as np

        i: cython.size_t
        removals: cython.bint = (np.asarray(events)[:, 1] < 0).any()
        made = cython.cast(cython.pointer(Made), zeroed_array(self.n_ids, cython.sizeof(Made)))
        latest: uint32_t[::1] = np.zeros(self.n_ids, np.uint32)  # by token: the number of its last parts list, plus 1
        first: uint32_t[::1] = np.zeros(self.n_events, np.uint32)  # by event: the first one of the same pair or token
        try:
            for i in range(self.n_ids):
                made[i].left = NO_EVENT
            for i in range(self.n_events):
                if i % CHECK == 0:
                    check_signals()
                row = cython.address(self.event[i])
                row.left = events[i, 0]
                row.right = events[i, 1]  # -1 becomes NO_EVENT
                if row.right == NO_EVENT:
                    if self.removal[row.left] == NO_EVENT:
                        self.removal[row.left] = cython.cast(uint32_t, i)
                    first[i] = self.removal[row.left]
                    latest[row.left] = self._add_removal(cython.cast(uint32_t, i), made, latest[row.left])
                else:
                    row.result = events[i, 2]
                    first[i] = tm_pair_map_get_or_put(
                        cython.address(self.pairs), row.left, row.right, cython.cast(uint32_t, i)
                    )
                    if removals:
                        self._add_merge(cython.cast(uint32_t, i), made)
        finally:
            free(made)
        self.by_key = np.argsort(first, kind="stable").astype(np.uint32)
        self.sizes = np.bincount(first).astype(np.uint32)
        for i in range(self.n_events):
            if first[self.by_key[i]] == self.by_key[i] and self.sizes[self.by_key[i]] > 1:
                self.event[self.by_key[i]].list = cython.cast(uint32_t, i + 1)
        return 0

    def _add_merge(self, event, made):
        row: cython.pointer(Event) = cython.address(self.event[event])
        left: uint64_t = self.length[row.left]
        right: uint64_t = self.length[row.right]
        if left + right != self.length[row.result] or left == 0 or right == 0:
            raise UsageError(
                f"event {event} merges tokens of {left} and {right} symbols into one of {self.length[row.result]}"
            )
        if made[row.result].left == NO_EVENT:
            made[row.result].left = row.left
            made[row.result].right = row.right
        made[row.result].removed = False
        return 0

    def _add_removal(self, event, made, latest):
        """Find the parts of the token; returns the number of their list plus 1.

        A token that is removed again and again with the same parts has one parts list, `latest`.
        """
        token: uint32_t = self.event[event].left
        length: cython.size_t = self.length[token]
        grow(cython.address(self.part), cython.address(self.part_room), self.part_used + length, 4)
        size = take_apart(made, token, self.part + self.part_used, length)
        made[token].removed = True
        if latest:
            last = cython.address(self.parts[latest - 1])
            if last.size == size and memcmp(self.part + last.start, self.part + self.part_used, 4 * size) == 0:
                self.event[event].result = latest - 1
                return latest
        grow(cython.address(self.parts), cython.address(self.parts_room), self.n_parts + 1, cython.sizeof(Parts))
        self.parts[self.n_parts].start = self.part_used
        self.parts[self.n_parts].size = cython.cast(uint32_t, size)
        self.event[event].result = cython.cast(uint32_t, self.n_parts)
        self.part_used += size
        self.n_parts += 1
        return cython.cast(uint32_t, self.n_parts)

    # ---- what Python sees

    def parts_of(self, event: uint32_t) -> list:
        """The ids of the tokens that the removal `event` leaves."""
        k: cython.size_t
        if event >= self.n_events or self.event[event].right != NO_EVENT:
            raise ValueError(f"event {event} is not a removal")
        parts: Parts = self.parts[self.event[event].result]
        return [self.part[parts.start + k] for k in range(parts.size)]

    def tally(
        self,
        symbols: uint32_t[::1],
        ends: cython.const[uint64_t][::1],
        weights: cython.const[uint64_t][::1],
        happened: uint64_t[::1],
        final: uint64_t[::1],
    ):
        """Replay all events over pretokens: pretoken i is symbols[ends[i - 1]:ends[i]], seen weights[i] times.

        Adds to `happened`, by event, how often it applied, and to `final`, by id, how often that token is left. The ids that
        are left of a pretoken are at its beginning in `symbols`. A symbol may be any id that spans one symbol, or an id
        without a token.
        """
        n: cython.Py_ssize_t = 0
        start: cython.size_t = 0
        done: cython.size_t = 0
        room: cython.size_t = 0
        memory: cython.p_void = cython.NULL
        try:
            with cython.nogil:
                for i in range(ends.shape[0]):
                    ids = cython.address(symbols[0]) + start
                    n = ends[i] - start
                    start = ends[i]
                    done += n + 1
                    if n <= SHORT_REPLAY:
                        n = self.replay_short(ids, n, cython.address(happened[0]), weights[i])
                    else:
                        if room < replay_memory(n):
                            free(memory)
                            room = 2 * replay_memory(n)
                            memory = malloc(room)
                            if memory == cython.NULL:
                                no_memory(n, cython.sizeof(Node))
                        n = self.replay_long(ids, n, memory, cython.address(happened[0]), weights[i])
                    if done > CHECK and signalled():
                        n = SIGNALLED_REPLAY
                    if n < 0:
                        break
                    if done > CHECK:
                        done = 0
                    for k in range(n):
                        final[ids[k]] += weights[i]
        finally:
            free(memory)
        raise_signalled()

    # ---- replay

    def replay_short(self, ids, n, happened, weight):
        # waits[i] is the next event of the token ids[i] or of the pair that begins with it. A merge closes the gap in both
        # arrays, a removal opens one.
        waits: uint32_t[SHORT_REPLAY]
        steps: cython.size_t = 0
        for i in range(n):
            waits[i] = _next_event(self, ids[i], ids[i + 1] if i + 1 < n else NO_EVENT, 0)
        while True:
            event = NO_EVENT
            at = 0
            for i in range(n):
                if waits[i] < event:
                    event = waits[i]
                    at = i
            if event == NO_EVENT:
                return n
            steps += 1
            if steps % CHECK == 0 and signalled():
                return SIGNALLED_REPLAY
            if happened != cython.NULL:
                happened[event] += weight
            row = cython.address(self.event[event])
            size: cython.Py_ssize_t = 1
            if row.right != NO_EVENT:
                n -= 1
                for i in range(at + 1, n):
                    ids[i] = ids[i + 1]
                    waits[i] = waits[i + 1]
                ids[at] = row.result
            else:
                parts = cython.address(self.parts[row.result])
                size = parts.size
                i = n - 1
                while i > at:
                    ids[i + size - 1] = ids[i]
                    waits[i + size - 1] = waits[i]
                    i -= 1
                for i in range(size):
                    ids[at + i] = self.part[parts.start + i]
                n += size - 1
            event = 0 if self.by_rank else event + 1
            for i in range(at - 1 if at > 0 else 0, at + size):
                waits[i] = _next_event(self, ids[i], ids[i + 1] if i + 1 < n else NO_EVENT, event)

    def replay_long(self, ids, n, memory, happened, weight):
        # With a heap of (event, place). A token is at the place of its first symbol, so its parts have places of their
        # own when it is taken apart.
        nodes = cython.cast(cython.pointer(Node), memory)
        heap = cython.cast(cython.pointer(uint64_t), nodes + n)
        used: cython.size_t = 0
        steps: cython.size_t = 0
        link_tokens(nodes, ids, cython.cast(uint32_t, n))
        for i in range(n):
            used = _wait(self, nodes, heap, used, cython.cast(uint32_t, i), 0)
        while used > 0:
            event = cython.cast(uint32_t, heap[0] >> 32)
            place = cython.cast(uint32_t, heap[0])
            used = tm_heap_pop(heap, used)
            steps += 1
            if steps % CHECK == 0 and signalled():
                return SIGNALLED_REPLAY
            if nodes[place].due != event:
                continue  # the token or pair that waited here is gone
            if happened != cython.NULL:
                happened[event] += weight
            last = place
            if self.event[event].right != NO_EVENT:
                join_next(nodes, place, self.event[event].result)
            else:
                last = _split(self, nodes, place, self.event[event].result)
            if used + n + 2 > heap_room(n):
                used = _without_stale(nodes, heap)
            # The token before, then the new ones, wait for later events.
            event = 0 if self.by_rank else event + 1
            if nodes[place].prev != NOTHING:
                used = _wait(self, nodes, heap, used, nodes[place].prev, event)
            while True:
                used = _wait(self, nodes, heap, used, place, event)
                if place == last:
                    break
                place = nodes[place].next
        return list_ids(nodes, n, ids)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _next_event(table: EventTable, id: uint32_t, right: uint32_t, first: uint32_t) -> uint32_t:
    """The earliest event from `first` on that removes `id` or merges it with `right`; NO_EVENT if there is none."""
    removal: uint32_t = table.removal[id] if id < table.n_ids else NO_EVENT
    merge: uint32_t = NO_EVENT if right == NO_EVENT else tm_pair_map_get(cython.address(table.pairs), id, right)
    if removal < first:
        removal = _later(table, removal, first)
    if merge < first:
        merge = _later(table, merge, first)
    return removal if removal < merge else merge


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _later(table: EventTable, event: uint32_t, first: uint32_t) -> uint32_t:
    """Return the earliest event from `first` on of the pair or token whose first one is `event`, by binary search."""
    low: cython.size_t = table.event[event].list
    if low == 0:
        return NO_EVENT
    low -= 1
    end = high = low + table.sizes[event]
    while low < high:
        middle = (low + high) // 2
        if table.by_key[middle] < first:
            low = middle + 1
        else:
            high = middle
    return table.by_key[low] if low < end else NO_EVENT


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _wait(table: EventTable, nodes: cython.pointer(Node), heap: cython.pointer(uint64_t), used: cython.size_t,
          place: uint32_t, first: uint32_t) -> cython.size_t:
    """Push the next event of the token or pair at `place`, unless it is there; returns the size of the heap."""
    after: uint32_t = nodes[place].next
    event: uint32_t = _next_event(table, nodes[place].id, NO_EVENT if after == NOTHING else nodes[after].id, first)
    if event == nodes[place].due:
        return used
    nodes[place].due = event
    return used if event == NO_EVENT else tm_heap_push(heap, used, cython.cast(uint64_t, event) << 32 | place)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _split(table: EventTable, nodes: cython.pointer(Node), place: uint32_t, number: uint32_t) -> uint32_t:
    """Replace the token at `place` by its parts; returns the place of the last one."""
    end: uint32_t = nodes[place].next
    k: cython.size_t = table.parts[number].start
    stop: cython.size_t = k + table.parts[number].size
    while True:
        nodes[place].id = table.part[k]
        k += 1
        if k == stop:
            break
        after = place + table.length[nodes[place].id]
        nodes[place].next = after
        nodes[after].prev = place
        place = after
    nodes[place].next = end
    if end != NOTHING:
        nodes[end].prev = place
    return place


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _without_stale(nodes: cython.pointer(Node), heap: cython.pointer(uint64_t)) -> cython.size_t:
    """Replace the heap by what waits now, at most one entry for each place; returns its size."""
    used: cython.size_t = 0
    place: uint32_t = 0
    while place != NOTHING:
        if nodes[place].due != NO_EVENT:
            used = tm_heap_push(heap, used, cython.cast(uint64_t, nodes[place].due) << 32 | place)
        place = nodes[place].next
    return used
