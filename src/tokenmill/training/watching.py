"""Watch training: the count of each merge, the IoS of each removal, and both as they happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..jobs.progress import Progress

Rows = np.ndarray | Sequence[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class TrainingEvent:
    """A merge, or the removal of a token by Picky BPE.

    rank: its position among all events, from 0.
    token: the bytes of the token that was made or removed.
    left, right: what was merged; None for a removal.
    count: how often the pair occurred when it was merged; None for a removal.
    ios: the IoS that caused the removal; None for a merge.
    """

    rank: int
    token: bytes
    left: bytes | None = None
    right: bytes | None = None
    count: int | None = None
    ios: float | None = None


class Watch:
    """Passes events on to `progress.event` if there is such a method.

    tokens: the bytes of the tokens at the beginning, by id. rank: that of the first event.
    """

    def __init__(self, progress: Progress | None, tokens: Sequence[bytes], rank: int = 0):
        self.event: Callable[[TrainingEvent], Any] | None = getattr(progress, "event", None)
        self._tokens = list(tokens)
        self._told = 0
        self._rank = rank

    def tell(self, events: Rows, numbers: Rows) -> None:
        """Pass on the new ones of all events so far. numbers: of a merge the count of its pair and 0, of a removal its IoS as a / b."""
        if self.event is None:
            return
        tokens, first = self._tokens, self._told
        rows = zip(*(np.asarray(rows[first:]).tolist() for rows in (events, numbers)), strict=True)
        for rank, ((left, right, new), (a, b)) in enumerate(rows, first + self._rank):
            if right < 0:
                self.event(TrainingEvent(rank, tokens[left], ios=a / b))
                continue
            parts = tokens[left], tokens[right]
            if new == len(tokens):
                tokens.append(parts[0] + parts[1])
            self.event(TrainingEvent(rank, tokens[new], *parts, count=a))
        self._told = len(events)
