"""The tokens that a threshold on IoS would call junk: rungs that were climbed over and hold nothing any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..vocabulary import Vocabulary
from .replay import Replay
from .tables import Column, Table, Token

__all__ = ["Swallowed", "junk_table", "swallowed_tokens", "thresholds_table"]

THRESHOLDS = (0.6, 0.7, 0.8, 0.9, 1.0)
ENOUGH = 100  # occurrences before the merge, for an IoS to be more than chance


class Swallowed(NamedTuple):
    """The merge in which a token has its highest IoS. ios: that value; by: the id of the token that swallowed it;
    before: occurrences just before that merge; merged: those it took; alone: occurrences at the end."""

    id: int
    ios: float
    by: int
    before: int
    merged: int
    alone: int


def swallowed_tokens(vocabulary: Vocabulary, replay: Replay) -> list[Swallowed]:
    """Every present token that some merge used, with its highest IoS; the alphabet is left out. Highest IoS first."""
    best: dict[int, Swallowed] = {}
    skip = replay.alphabet | vocabulary.removed
    final = replay.final.tolist()
    left_ios, right_ios = replay.ios()
    columns = zip(
        replay.events.tolist(),
        replay.happened.tolist(),
        replay.left.tolist(),
        replay.right.tolist(),
        left_ios.tolist(),
        right_ios.tolist(),
        strict=True,
    )
    for (left, right, new), happened, left_before, right_before, left_value, right_value in columns:
        if happened == 0 or right < 0:
            continue
        sides = [(left, left_before, left_value), (right, right_before, right_value)]
        for id, before, value in sides[: 1 if left == right else 2]:
            if id not in skip and (id not in best or value > best[id].ios):
                taken = 2 * happened if left == right else happened
                best[id] = Swallowed(id, value, new, before, taken, final[id])
    return sorted(best.values(), key=lambda found: (-found.ios, -found.before, found.id))


def thresholds_table(found: Sequence[Swallowed], size: int, thresholds: Sequence[float] = THRESHOLDS) -> Table:
    """How many tokens reach each threshold; `size` is how many tokens the vocabulary has."""
    rows = []
    for threshold in thresholds:
        junk = [token for token in found if token.ios >= threshold]
        enough = [token for token in junk if token.before >= ENOUGH]
        rows.append((threshold, len(junk), len(junk) / size if size else None, len(enough)))
    return Table(
        "thresholds",
        "Tokens that a threshold would call junk",
        (
            Column("T", "number", digits=1),
            Column("tokens", "count", "tokens with an IoS of at least T in some merge"),
            Column("of the vocabulary", "share"),
            Column(
                f"seen {ENOUGH} times or more", "count", "of these, frequent enough before the merge to be no chance"
            ),
        ),
        rows,
        "IoS (intersection over self) of a token in a merge: the share of its occurrences that the merge takes; 1 where "
        "nothing of it is left. Counted by "
        "replaying all merges on this text, without removing anything; training with a threshold removes as it goes, "
        "which changes what comes after.",
    )


def junk_table(vocabulary: Vocabulary, found: Sequence[Swallowed], threshold: float) -> Table:
    """The tokens whose IoS reaches `threshold`, each with the token that swallowed it."""
    rows = []
    for token in found:
        if token.ios >= threshold:
            own, other = vocabulary.token_bytes(token.id) or b"", vocabulary.token_bytes(token.by) or b""
            rows.append(
                (Token(token.id, own), Token(token.by, other), token.ios, token.before, token.merged, token.alone)
            )
    return Table(
        "junk",
        f"Tokens with an IoS of {threshold} or more",
        (
            Column("token", "token"),
            Column("swallowed by", "token"),
            Column("IoS", "ios"),
            Column("before", "count", "occurrences before the merge"),
            Column("merged", "count", "occurrences that the merge took"),
            Column("alone", "count", "occurrences left at the end, after all merges"),
        ),
        rows,
        listing=True,
    )
