"""Insert removals into the merges of a plain vocabulary, where the IoS of a token passes a threshold.

Picky BPE removes tokens while it trains. Here the merges are given: they are replayed on word counts, and none is added.

    A token is *used up* by a merge if its IoS there (see `replay`) is at least T, before the removals of that merge.
    The token is removed after the last merge that has it as a part, if any of its merges up to there used it up. What
    remains of it is replaced by its parts, as in Picky BPE.
    The alphabet, the unknown token and the added tokens stay.

So every other token is still made. To remove a token directly after the merge that used it up, as training does, would make
the tokens of its later merges impossible (docs/experiments/picky.md compares the two).

A text whose old ids are all of tokens that stay keeps its segmentation: a token that is removed would be among these ids if it
occurred in the text when it is removed, because no later merge takes it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ..counting import WordCounts
from ..errors import UsageError
from ..formats.rank_merges import merges_of_ranks
from ..jobs.progress import Progress
from ..tokenizer import Tokenizer
from ..vocabulary import Vocabulary
from .replay import Replay, alphabet_of, replay
from .usage import one_pretoken, ordinary_tokens


class Removal(NamedTuple):
    """After the merge number `merge`, the token `id` is removed: it was used up by a merge with the IoS part / whole."""

    merge: int
    id: int
    part: int
    whole: int


def insert_removals(
    vocabulary: Vocabulary, counts: WordCounts, threshold: float, progress: Progress | None = None
) -> Vocabulary:
    """`vocabulary`, of merges in event order, with its ids and the removals that are due on `counts`.

    threshold: T, above 0 and at most 1, taken as the decimal number it is written as.

    All removals that are due in a replay are inserted at once, and the result is replayed, until nothing changes. What is due
    at a merge follows from the events before it, so each round settles at least one more removal; a few rounds are
    usually enough.
    """
    merges, limit = vocabulary.events, Fraction(str(threshold))
    lasting = alphabet_of(vocabulary, merges) | {token.id for token in vocabulary.added_tokens} | {vocabulary.unknown}
    known = len(vocabulary.event_counts) == len(merges) > 0
    removals: list[Removal] = []
    while True:
        after = np.array([removal.merge + 1 for removal in removals], np.int64)
        gone = np.array([(removal.id, -1, -1) for removal in removals], np.int32).reshape(-1, 3)
        numbers = np.array([(removal.part, removal.whole) for removal in removals], np.uint64).reshape(-1, 2)
        found = vocabulary.replace(
            events=np.insert(merges, after, gone, axis=0),
            event_counts=np.insert(vocabulary.event_counts, after, numbers, axis=0) if known else (),
            refine=threshold,
        )
        due = _due(replay(found, counts, progress), limit, lasting)
        if due == removals:
            return found
        removals = due


def _due(found: Replay, limit: Fraction, lasting: frozenset[int | None]) -> list[Removal]:
    """The removals that are due according to a replay, in order: of one merge, the left part before the right.

    lasting: the tokens that are never removed.
    """
    merge = found.events[:, 1] >= 0
    events, happened = found.events[merge], found.happened[merge]
    before = np.stack([found.left[merge], found.right[merge]])
    last = {part: place for place, row in enumerate(events.tolist()) for part in row[:2]}
    ios = np.nan_to_num(np.stack(found.ios())[:, merge])
    used_up: dict[int, tuple[int, int]] = {}
    for place in np.flatnonzero((ios >= float(limit) - 1e-9).any(axis=0)).tolist():
        left, right, _ = events[place].tolist()
        for side, id in enumerate(dict.fromkeys((left, right))):
            part, whole = (1 + (left == right)) * int(happened[place]), int(before[side, place])
            if id not in lasting and id not in used_up and part * limit.denominator >= whole * limit.numerator > 0:
                used_up[id] = part, whole
    due = [Removal(last[id], id, *numbers) for id, numbers in used_up.items()]
    return sorted(due, key=lambda removal: (removal.merge, removal.id != events[removal.merge, 0]))


def in_event_order(tok: Tokenizer, *instead: object) -> Tokenizer:
    """A plain tokenizer in event order, with the same ids; UsageError if the ids would differ.

    If each merge comes after the merges that make its parts, and each token is made once, then no merge makes an earlier
    one possible again. The earliest merge that applies is then always a later one, as in event order.

    instead: what to do without it, for the message.
    """
    vocabulary = tok.vocabulary
    merges, stray = vocabulary.events, _out_of_order(vocabulary)
    if vocabulary.order == "ranks":
        merges, unbuilt = merges_of_ranks(vocabulary.tokens)
        stray = unbuilt[0] if unbuilt else None
    if stray is None:
        found = Tokenizer(vocabulary.replace(order="events", events=merges, whole_pretokens=False), name=tok.name)
        if not vocabulary.whole_pretokens:
            return found
        encode = one_pretoken(found.vocabulary).encode_bytes
        stray = next((id for id, token in ordinary_tokens(tok.vocabulary).items() if encode(token) != [id]), None)
        if stray is None:
            return found
    raise UsageError(
        f"removals cannot be inserted into the merges of this tokenizer: replaying them in order does not give token {stray}, "
        f"{vocabulary.tokens[stray]!r}. ",
        *instead,
    )


def _out_of_order(vocabulary: Vocabulary) -> int | None:
    """The first token that is made twice, or made after a merge has used it; None if there is none."""
    made: set[int] = set()
    parts: set[int] = set()
    for left, right, new in vocabulary.events.tolist():
        parts.update((left, right))
        if new in made or new in parts:
            return new
        made.add(new)
    return None
