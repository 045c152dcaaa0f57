"""Junk: tokens that occur almost only inside a longer token, found by a threshold on their IoS."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..vocabulary import Vocabulary
from .replay import Replay
from .tables import Column, Table, Token

THRESHOLDS = (0.6, 0.7, 0.8, 0.9, 1.0)
ENOUGH = 100  # occurrences before the merge; fewer make an IoS that may be chance


class Swallowed(NamedTuple):
    """The merge in which a token has its highest IoS: that merge swallows the token.

    ios: the IoS. by: the id of the merged token. before: occurrences just before the merge. merged: occurrences that the
    merge took. alone: occurrences at the end.
    """

    id: int
    ios: float
    by: int
    before: int
    merged: int
    alone: int


def swallowed_tokens(vocabulary: Vocabulary, replay: Replay) -> list[Swallowed]:
    """Every remaining token that a merge used, with its highest IoS, the highest first; without the alphabet."""
    happened = np.flatnonzero((replay.happened > 0) & (replay.events[:, 1] >= 0))
    left, right, new = replay.events[happened].T
    left_ios, right_ios = (side[happened] for side in replay.ios())
    times = replay.happened[happened]
    # The left and the right part of each merge in turn, so that of equals the earliest comes first.
    ids, ios = np.stack([left, right]).T.ravel(), np.stack([left_ios, right_ios]).T.ravel()
    before = np.stack([replay.left[happened], replay.right[happened]]).T.ravel()
    taken = np.repeat(np.where(left == right, 2 * times, times), 2)
    skip = np.zeros(len(replay.final), bool)
    skip[list(replay.alphabet | vocabulary.removed)] = True
    order = np.lexsort((-ios, ids))
    order = order[np.concatenate([[True], np.diff(ids[order]) != 0])[: len(order)] & ~skip[ids[order]]]
    order = order[np.lexsort((ids[order], np.invert(before[order]), -ios[order]))]
    columns = (ids[order], ios[order], np.repeat(new, 2)[order], before[order], taken[order], replay.final[ids[order]])
    return [Swallowed(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def thresholds_table(found: Sequence[Swallowed], size: int, thresholds: Sequence[float] = THRESHOLDS) -> Table:
    """How many tokens reach each threshold; `size` is the number of tokens of the vocabulary."""
    rows = []
    for threshold in thresholds:
        junk = [token for token in found if token.ios >= threshold]
        enough = [token for token in junk if token.before >= ENOUGH]
        rows.append((threshold, len(junk), len(junk) / size if size else None, len(enough)))
    columns = (
        Column("T", "number", digits=1),
        Column("tokens", "count", "tokens with an IoS of at least T in a merge"),
        Column("of the vocabulary", "share"),
        Column(
            f"seen {ENOUGH} times or more", "count", "of these, frequent enough before the merge to rule out chance"
        ),
    )
    note = (
        "The IoS (intersection over self) of a token in a merge is the share of its occurrences that the merge takes; 1 if "
        "none is left. It is counted by replaying all merges on this text without removing anything. Training with a "
        "threshold removes tokens as it goes, which changes later merges."
    )
    return Table("thresholds", "Tokens that a threshold would call junk", columns, rows, note)


def junk_table(vocabulary: Vocabulary, found: Sequence[Swallowed], threshold: float) -> Table:
    """The tokens whose IoS reaches `threshold`, each with the token that swallowed it."""

    def cell(id: int) -> Token:
        return Token(id, vocabulary.token_bytes(id) or b"")

    rows = [
        (cell(token.id), cell(token.by), token.ios, token.before, token.merged, token.alone)
        for token in found
        if token.ios >= threshold
    ]
    columns = (
        Column("token", "token"),
        Column("swallowed by", "token"),
        Column("IoS", "ios"),
        Column("before", "count", "occurrences before the merge"),
        Column("merged", "count", "occurrences that the merge took"),
        Column("alone", "count", "occurrences left at the end, after all merges"),
    )
    return Table("junk", f"Tokens with an IoS of {threshold} or more", columns, rows, listing=True)
