"""The slow twin of the encoder: each order of merging, straight from its definition.

It shares no code with the kernels. A pretoken starts as a list of parts: its bytes, or its
characters where the alphabet is characters. Then

    ranks    Of all neighbours whose joined bytes are a token, merge the one with the lowest id, the leftmost of several.
             Repeat until no neighbours join (tiktoken).
    merges   Of all neighbours that are a listed merge, merge the one listed first, the leftmost of several. Repeat until
             none is listed (Hugging Face, plain training).
    events   Replay merges and removals in training order (Picky BPE): see naive_replay.py.

>>> merge_by_ranks(b"aaab", {b"a": 0, b"b": 1, b"aa": 2, b"ab": 3})
[2, 3]
>>> merge_by_list([0, 0, 0, 1], {(0, 1): (0, 2), (0, 0): (1, 3)})
[3, 2]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from naive_replay import NaiveReplay
from tokenmill.errors import UsageError
from tokenmill.vocabulary import Vocabulary

__all__ = ["NaiveEncoder", "characters", "merge_by_list", "merge_by_ranks"]


def merge_by_ranks(pretoken: bytes, ranks: dict[bytes, int]) -> list[int]:
    """The ids of `pretoken`. Any two neighbours whose joined bytes are a token merge, the lowest id first."""
    parts = [pretoken[i : i + 1] for i in range(len(pretoken))]
    while True:
        found = [(ranks[a + b], i) for i, (a, b) in enumerate(pairwise(parts)) if a + b in ranks]
        if not found:
            return [ranks.get(part, -1) for part in parts]
        _, i = min(found)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


def merge_by_list(ids: list[int], merges: dict[tuple[int, int], tuple[int, int]]) -> list[int]:
    """Merge `ids` by `merges`, which maps (left, right) to (place in the list, new id)."""
    ids = list(ids)
    while True:
        found = [(merges[pair][0], i) for i, pair in enumerate(pairwise(ids)) if pair in merges]
        if not found:
            return ids
        _, i = min(found)
        ids[i : i + 2] = [merges[ids[i], ids[i + 1]][1]]


def characters(pretoken: bytes) -> list[bytes]:
    """The UTF-8 characters of `pretoken`; a byte outside of any well-formed character is one of its own."""
    text = pretoken.decode("utf-8", "surrogateescape")
    return [character.encode("utf-8", "surrogateescape") for character in text]


class NaiveEncoder:
    """Encodes text without added tokens, given as bytes, by the definitions above. It is slow on purpose."""

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
            self.replay = NaiveReplay(rows)

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
