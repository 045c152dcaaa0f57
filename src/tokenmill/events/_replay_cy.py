"""The replay kernel: merges and removals applied to one pretoken in training order.

For a token or a pair, only one event matters: the earliest after the event that created it. It is looked up when the token or
pair appears, and applies in its turn if they are still there. An event applies at all its positions from left to right before
the next event does, since no token or pair that it creates waits for the same event again.

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
from cython.cimports.tokenmill.training._first_pair import FirstPair, split_token

from ..errors import UsageError
from ..kernels.random_seed import random_seed

NO_EVENT = cython.declare(uint32_t, 0xFFFFFFFF)  # above all events; tm_pair_map_get returns it for an unknown pair
CHECK = cython.declare(cython.size_t, 1 << 16)  # steps between two checks for signals


@cython.cclass
class EventTable:
    """The events of a vocabulary, indexed for replay. Immutable; threads share it.

    events: as in a `Vocabulary`, rows (left, right, new) for a merge, (id, -1, -1) for a removal. lengths: the number of symbols
    of each token. by_rank: merges apply by rank, and one whose pair appears after its turn is next.

    Raises UsageError for a merge whose lengths do not add up, if some event is a removal.
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
        free(self.part_lists)
        free(self.part_ids)
        tm_pair_map_free(cython.address(self.pairs))

    # ---- loading

    def _load(self, events):
        import numpy as np

        i: cython.size_t
        removals: cython.bint = (np.asarray(events)[:, 1] < 0).any()
        first_pair = cython.cast(cython.pointer(FirstPair), zeroed_array(self.n_ids, cython.sizeof(FirstPair)))
        latest: uint32_t[::1] = np.zeros(self.n_ids, np.uint32)  # by token: the index of its last part list, plus 1
        first: uint32_t[::1] = np.zeros(self.n_events, np.uint32)  # by event: the first one of the same pair or token
        try:
            for i in range(self.n_ids):
                first_pair[i].left = NO_EVENT
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
                    latest[row.left] = self._add_removal(cython.cast(uint32_t, i), first_pair, latest[row.left])
                else:
                    row.result = events[i, 2]
                    first[i] = tm_pair_map_get_or_put(
                        cython.address(self.pairs), row.left, row.right, cython.cast(uint32_t, i)
                    )
                    if removals:
                        self._add_merge(cython.cast(uint32_t, i), first_pair)
        finally:
            free(first_pair)
        self.by_key = np.argsort(first, kind="stable").astype(np.uint32)
        self.sizes = np.bincount(first).astype(np.uint32)
        for i in range(self.n_events):
            if first[self.by_key[i]] == self.by_key[i] and self.sizes[self.by_key[i]] > 1:
                self.event[self.by_key[i]].start = cython.cast(uint32_t, i + 1)
        return 0

    def _add_merge(self, event, first_pair):
        row: cython.pointer(Event) = cython.address(self.event[event])
        left: uint64_t = self.length[row.left]
        right: uint64_t = self.length[row.right]
        if left + right != self.length[row.result] or left == 0 or right == 0:
            raise UsageError(
                f"event {event} merges tokens of {left} and {right} symbols into one of {self.length[row.result]}"
            )
        if first_pair[row.result].left == NO_EVENT:
            first_pair[row.result].left = row.left
            first_pair[row.result].right = row.right
        first_pair[row.result].removed = False
        return 0

    def _add_removal(self, event, first_pair, latest):
        """Store the part list of a removal. Return its index plus 1.

        A token that is removed again and again with the same parts has one part list, `latest`.
        """
        token: uint32_t = self.event[event].left
        length: cython.size_t = self.length[token]
        grow(cython.address(self.part_ids), cython.address(self.part_ids_room), self.n_part_ids + length, 4)
        size = split_token(first_pair, token, self.part_ids + self.n_part_ids, length)
        first_pair[token].removed = True
        if latest:
            last = cython.address(self.part_lists[latest - 1])
            if last.size == size and memcmp(self.part_ids + last.start, self.part_ids + self.n_part_ids, 4 * size) == 0:
                self.event[event].result = latest - 1
                return latest
        grow(cython.address(self.part_lists), cython.address(self.part_lists_room), self.n_part_lists + 1, cython.sizeof(PartList))
        self.part_lists[self.n_part_lists].start = self.n_part_ids
        self.part_lists[self.n_part_lists].size = cython.cast(uint32_t, size)
        self.event[event].result = cython.cast(uint32_t, self.n_part_lists)
        self.n_part_ids += size
        self.n_part_lists += 1
        return cython.cast(uint32_t, self.n_part_lists)

    # ---- methods for Python

    def parts_of(self, event: uint32_t) -> list:
        """The ids of the tokens that the removal `event` leaves."""
        k: cython.size_t
        if event >= self.n_events or self.event[event].right != NO_EVENT:
            raise ValueError(f"event {event} is not a removal")
        parts: PartList = self.part_lists[self.event[event].result]
        return [self.part_ids[parts.start + k] for k in range(parts.size)]

    def tally(
        self,
        symbols: uint32_t[::1],
        ends: cython.const[uint64_t][::1],
        weights: cython.const[uint64_t][::1],
        happened: uint64_t[::1],
        final: uint64_t[::1],
    ):
        """Replay all events over pretokens: pretoken i is symbols[ends[i - 1]:ends[i]] and occurs weights[i] times.

        Add the occurrences of each event to `happened`, and those of each remaining id to `final`. The remaining ids of a
        pretoken replace its first symbols in `symbols`. A symbol may be any id of one symbol, or an id without a token.
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
        # next_events[i] is the next event of the token ids[i] or of the pair that begins with it. A merge removes an item from
        # both arrays, a removal inserts items.
        next_events: uint32_t[SHORT_REPLAY]
        steps: cython.size_t = 0
        for i in range(n):
            next_events[i] = _next_event(self, ids[i], ids[i + 1] if i + 1 < n else NO_EVENT, 0)
        while True:
            event = NO_EVENT
            index = 0
            for i in range(n):
                if next_events[i] < event:
                    event = next_events[i]
                    index = i
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
                for i in range(index + 1, n):
                    ids[i] = ids[i + 1]
                    next_events[i] = next_events[i + 1]
                ids[index] = row.result
            else:
                parts = cython.address(self.part_lists[row.result])
                size = parts.size
                i = n - 1
                while i > index:
                    ids[i + size - 1] = ids[i]
                    next_events[i + size - 1] = next_events[i]
                    i -= 1
                for i in range(size):
                    ids[index + i] = self.part_ids[parts.start + i]
                n += size - 1
            event = 0 if self.by_rank else event + 1
            for i in range(index - 1 if index > 0 else 0, index + size):
                next_events[i] = _next_event(self, ids[i], ids[i + 1] if i + 1 < n else NO_EVENT, event)

    def replay_long(self, ids, n, memory, happened, weight):
        # With a heap of (event, position). The position of a token is that of its first symbol, so its parts have positions of
        # their own when it is removed.
        nodes = cython.cast(cython.pointer(Node), memory)
        heap = cython.cast(cython.pointer(uint64_t), nodes + n)
        used: cython.size_t = 0
        steps: cython.size_t = 0
        link_tokens(nodes, ids, cython.cast(uint32_t, n))
        for i in range(n):
            used = _enqueue(self, nodes, heap, used, cython.cast(uint32_t, i), 0)
        while used > 0:
            event = cython.cast(uint32_t, heap[0] >> 32)
            position = cython.cast(uint32_t, heap[0])
            used = tm_heap_pop(heap, used)
            steps += 1
            if steps % CHECK == 0 and signalled():
                return SIGNALLED_REPLAY
            if nodes[position].due != event:
                continue  # the token or pair of this item is gone
            if happened != cython.NULL:
                happened[event] += weight
            last = position
            if self.event[event].right != NO_EVENT:
                join_next(nodes, position, self.event[event].result)
            else:
                last = _split(self, nodes, position, self.event[event].result)
            if used + n + 2 > heap_room(n):
                used = _rebuild_heap(nodes, heap)
            # Enqueue the later events of the token before, then of the new ones.
            event = 0 if self.by_rank else event + 1
            if nodes[position].prev != NOTHING:
                used = _enqueue(self, nodes, heap, used, nodes[position].prev, event)
            while True:
                used = _enqueue(self, nodes, heap, used, position, event)
                if position == last:
                    break
                position = nodes[position].next
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
    low: cython.size_t = table.event[event].start
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
def _enqueue(table: EventTable, nodes: cython.pointer(Node), heap: cython.pointer(uint64_t), used: cython.size_t,
             position: uint32_t, first: uint32_t) -> cython.size_t:
    """Push the next event of the token or pair at `position`, unless it is in the heap. Return the size of the heap."""
    after: uint32_t = nodes[position].next
    event: uint32_t = _next_event(table, nodes[position].id, NO_EVENT if after == NOTHING else nodes[after].id, first)
    if event == nodes[position].due:
        return used
    nodes[position].due = event
    return used if event == NO_EVENT else tm_heap_push(heap, used, cython.cast(uint64_t, event) << 32 | position)


@cython.cfunc
@cython.nogil
@cython.inline
@cython.exceptval(check=False)
def _split(table: EventTable, nodes: cython.pointer(Node), position: uint32_t, number: uint32_t) -> uint32_t:
    """Replace the token at `position` by the ids of part list `number`. Return the position of the last one."""
    end: uint32_t = nodes[position].next
    k: cython.size_t = table.part_lists[number].start
    stop: cython.size_t = k + table.part_lists[number].size
    while True:
        nodes[position].id = table.part_ids[k]
        k += 1
        if k == stop:
            break
        after = position + table.length[nodes[position].id]
        nodes[position].next = after
        nodes[after].prev = position
        position = after
    nodes[position].next = end
    if end != NOTHING:
        nodes[end].prev = position
    return position


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _rebuild_heap(nodes: cython.pointer(Node), heap: cython.pointer(uint64_t)) -> cython.size_t:
    """Rebuild the heap without stale items, with at most one for each position. Return its size."""
    used: cython.size_t = 0
    position: uint32_t = 0
    while position != NOTHING:
        if nodes[position].due != NO_EVENT:
            used = tm_heap_push(heap, used, cython.cast(uint64_t, nodes[position].due) << 32 | position)
        position = nodes[position].next
    return used
