"""The slow twin of the encoder: each order of merging, straight from its definition, to be checked by eye.

A pretoken is first a list of parts, its bytes (or its characters, where training began with those). Then

    ranks    of all neighbours whose joined bytes are a token, the one with the lowest id merges, the leftmost first;
             again, until no neighbours join (tiktoken)
    merges   of all neighbours that are a listed merge, the one listed earliest merges, the leftmost first; again,
             until none is listed (Hugging Face, plain training)
    events   of all events after the last one applied, the earliest that applies is applied everywhere in the pretoken:
             a merge of two neighbours from left to right, or a removal of a token that is present, which falls
             apart into its parts; until none applies (Picky BPE)

>>> merge_by_ranks(b"aaab", {b"a": 0, b"b": 1, b"aa": 2, b"ab": 3})
[2, 3]
>>> merge_by_list([0, 0, 0, 1], {(0, 1): (0, 2), (0, 0): (1, 3)})
[3, 2]
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import pairwise

from ..errors import UsageError
from ..vocabulary import Vocabulary

__all__ = ["NaiveEncoder", "characters", "merge_by_list", "merge_by_ranks", "removal_parts", "replay_events"]


def merge_by_ranks(pretoken: bytes, ranks: dict[bytes, int]) -> list[int]:
    """The ids of `pretoken` where any two neighbours that spell a token merge, the lowest id first."""
    parts = [pretoken[i : i + 1] for i in range(len(pretoken))]
    while True:
        found = [(ranks[a + b], i) for i, (a, b) in enumerate(pairwise(parts)) if a + b in ranks]
        if not found:
            return [ranks.get(part, -1) for part in parts]
        _, i = min(found)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


def merge_by_list(ids: list[int], merges: dict[tuple[int, int], tuple[int, int]]) -> list[int]:
    """The ids that `ids` merge to by `merges`: (left, right) -> (place in the list, new id)."""
    ids = list(ids)
    while True:
        found = [(merges[pair][0], i) for i, pair in enumerate(pairwise(ids)) if pair in merges]
        if not found:
            return ids
        _, i = min(found)
        ids[i : i + 2] = [merges[ids[i], ids[i + 1]][1]]


def removal_parts(events: Iterable[tuple[int, int, int]]) -> dict[int, list[int]]:
    """For each removal, by its place among the events: the parts that the removed token falls apart into.

    They are the pair that the token was first made from, each taken apart further while it is itself removed.
    """
    pair: dict[int, tuple[int, int]] = {}
    gone: set[int] = set()
    parts: dict[int, list[int]] = {}

    def apart(id: int) -> list[int]:
        return [part for half in pair[id] for part in (apart(half) if half in gone else [half])]

    for place, (left, right, new) in enumerate(events):
        if right < 0:
            parts[place] = apart(left)
            gone.add(left)
        else:
            pair.setdefault(new, (left, right))
            gone.discard(new)
    return parts


def replay_events(ids: list[int], events: list[tuple[int, int, int]], parts: dict[int, list[int]]) -> list[int]:
    """The ids that `ids` become when `events` are applied one after the other, as training did."""
    for place, (left, right, new) in enumerate(events):
        result: list[int] = []
        i = 0
        while i < len(ids):
            if right < 0 and ids[i] == left:
                result += parts[place]
                i += 1
            elif right >= 0 and ids[i] == left and i + 1 < len(ids) and ids[i + 1] == right:
                result.append(new)
                i += 2
            else:
                result.append(ids[i])
                i += 1
        ids = result
    return ids


class _Replay:
    """`replay_events` that goes from one event that applies straight to the next: same answers, bearable time."""

    def __init__(self, events: list[tuple[int, int, int]]):
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
            ids = replay_events(ids, [self.events[last]], {0: self.parts.get(last, [])})


def characters(pretoken: bytes) -> list[bytes]:
    """The UTF-8 characters of `pretoken`; a byte that belongs to no well-formed character is one of its own."""
    text = pretoken.decode("utf-8", "surrogateescape")
    return [character.encode("utf-8", "surrogateescape") for character in text]


class NaiveEncoder:
    """Encodes ordinary text, given as bytes, by the definitions above. Slow, and meant to be."""

    def __init__(self, vocabulary: Vocabulary, ends: Callable[[bytes], Iterable[int]]):
        self.vocabulary, self.ends = vocabulary, ends
        self.ids: dict[bytes, int] = {}
        for id, token in enumerate(vocabulary.tokens):
            if token is not None and id not in vocabulary.removed:
                self.ids.setdefault(token, id)
        self.starts = {token: id for id, token in reversed([*enumerate(vocabulary.tokens)]) if token is not None}
        rows = [tuple(row) for row in vocabulary.events.tolist()]
        self.merges: dict[tuple[int, int], tuple[int, int]] = {}
        if vocabulary.order == "merges":
            for place, (left, right, new) in enumerate(rows):
                self.merges.setdefault((left, right), (place, new))
        elif vocabulary.order == "events":
            self.replay = _Replay(rows)

    def encode(self, data: bytes) -> list[int]:
        """The ids of the bytes `data`, pretoken by pretoken."""
        ids: list[int] = []
        start = 0
        for end in self.ends(data):
            ids += self.encode_pretoken(data[start:end])
            start = end
        return ids

    def encode_pretoken(self, pretoken: bytes) -> list[int]:
        """The ids of one pretoken."""
        vocabulary = self.vocabulary
        if vocabulary.whole_pretokens and pretoken in self.ids:
            return [self.ids[pretoken]]
        parts = [pretoken[i : i + 1] for i in range(len(pretoken))]
        if vocabulary.alphabet == "characters":
            parts = characters(pretoken)
        if vocabulary.order == "ranks":
            ids = merge_by_ranks(pretoken, self.ids)
        else:
            ids = [self.starts.get(part, -1) for part in parts]
            ids = merge_by_list(ids, self.merges) if vocabulary.order == "merges" else self.replay(ids)
        if -1 in ids:
            if vocabulary.unknown is None:
                missing = next(part for part in parts if part not in self.starts)
                raise UsageError(
                    f"the vocabulary has no token for {missing!r} and no unknown token, so it cannot encode {pretoken!r}"
                )
            ids = [vocabulary.unknown if id < 0 else id for id in ids]
        return ids
