"""Replay of events, merges and removals in training order, for encoding and analysis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np

    from ._replay_cy import EventTable

__all__ = ["event_table"]


def event_table(vocabulary: Vocabulary, events: np.ndarray | None = None) -> EventTable:
    """An EventTable of `events`, by default those of `vocabulary`. Merges apply by rank unless its order is "events".

    Raises UsageError for a merge whose lengths do not add up, if some event is a removal.
    """
    import numpy as np

    from ._replay_cy import EventTable

    rows = np.ascontiguousarray(vocabulary.events if events is None else events, np.int32)
    if vocabulary.alphabet == "bytes":
        lengths = [0 if token is None else len(token) for token in vocabulary.tokens]
    else:  # a byte that is not part of a well-formed character counts as a character
        lengths = [0 if token is None else len(token.decode("utf-8", "surrogateescape")) for token in vocabulary.tokens]
    return EventTable(rows, np.array(lengths, np.uint32), vocabulary.order != "events")
