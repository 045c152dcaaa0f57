"""Replay of events straight from its definition: what the kernel is held to.

The events apply one after the other, each everywhere in the pretoken, from left to right. A merge joins two neighbours. A
removal replaces a token by its parts: the pair it was first made from, each of the two replaced in turn if it is itself
removed at that time.

>>> events = [(0, 1, 3), (3, 2, 4), (3, -1, -1)]  # ab, abc, and ab is removed
>>> replay_events([0, 1, 2, 0, 1], events)
[4, 0, 1]
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

Event = tuple[int, int, int]  # (left, right, new) for a merge, (id, -1, -1) for a removal


def removal_parts(events: Iterable[Event]) -> dict[int, list[int]]:
    """The parts of each removal, by its place among the events.

    >>> removal_parts([(0, 1, 2), (2, 2, 3), (2, -1, -1), (3, -1, -1)])
    {2: [0, 1], 3: [0, 1, 0, 1]}
    """
    pair: dict[int, tuple[int, int]] = {}
    removed: set[int] = set()
    parts: dict[int, list[int]] = {}
    for place, (left, right, new) in enumerate(events):
        if right >= 0:
            pair.setdefault(new, (left, right))
            removed.discard(new)
            continue
        removed.add(left)
        parts[place] = []
        waiting = [left]
        while waiting:
            id = waiting.pop()
            if id in removed:
                waiting += reversed(pair[id])
            else:
                parts[place].append(id)
    return parts


def apply_event(ids: Sequence[int], event: Event, parts: list[int]) -> list[int]:
    """`ids` after one event. parts: of the token that it removes."""
    left, right, new = event
    result: list[int] = []
    i = 0
    while i < len(ids):
        if right < 0 and ids[i] == left:
            result += parts
            i += 1
        elif right >= 0 and tuple(ids[i : i + 2]) == (left, right):
            result.append(new)
            i += 2
        else:
            result.append(ids[i])
            i += 1
    return result


def replay_events(ids: list[int], events: Sequence[Event]) -> list[int]:
    """`ids` after all events."""
    parts = removal_parts(events)
    for place, event in enumerate(events):
        ids = apply_event(ids, event, parts.get(place, []))
    return ids


class NaiveReplay:
    """`replay_events` for one list of events and many pretokens: it skips the events that cannot apply."""

    def __init__(self, events: Sequence[Event]):
        self.events, self.parts = events, removal_parts(events)
        self.places: dict[tuple[int, int] | int, list[int]] = {}
        for place, (left, right, _) in enumerate(events):
            self.places.setdefault(left if right < 0 else (left, right), []).append(place)

    def __call__(self, ids: list[int]) -> list[int]:
        last = -1
        while True:
            upcoming = []
            for key in {*ids, *pairwise(ids)}:
                places = self.places.get(key, [])
                upcoming += places[bisect_right(places, last) :][:1]
            if not upcoming:
                return ids
            last = min(upcoming)
            ids = apply_event(ids, self.events[last], self.parts.get(last, []))
