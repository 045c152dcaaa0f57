"""A smaller vocabulary cut from a larger one: what the same training would have given with a smaller `vocab_size`.

A training never looks ahead to the number of tokens that is wanted. So a smaller one takes the same steps and ends earlier.
This is exact for plain BPE, for Picky BPE (its steps until so many tokens are present), for parity-aware BPE, and for
SuperBPE with the same `stage1_size`. It is not for BoundlessBPE, whose superwords depend on the size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np


def prefix(vocabulary: Vocabulary, vocab_size: int) -> Vocabulary:
    """The vocabulary that the same training would have given with this `vocab_size`; the whole one if it is not larger.

    vocab_size: the number of tokens, including the alphabet and the special tokens, which get the last ids again.
    Raises UsageError for a vocabulary that was not trained in one go, and for a `vocab_size` that is too small.
    """
    import numpy as np

    special = [token for token in vocabulary.added_tokens if token.id != vocabulary.unknown]
    size = vocabulary.n_vocab - len(special)
    merged = vocabulary.events[vocabulary.events[:, 1] >= 0, 2] if len(vocabulary.events) else np.zeros(0, np.int32)
    first = size + len(vocabulary.removed) - len(np.unique(merged))
    in_one_go = [token.id for token in special] == [*range(size, vocabulary.n_vocab)] and not (merged < first).any()
    if len(vocabulary.superwords):
        raise UsageError(
            "superwords of whole pretokens (BoundlessBPE) depend on the size of the vocabulary: train each size on its own"
        )
    if vocabulary.order not in ("merges", "events") or not in_one_go:
        raise UsageError(
            "this vocabulary cannot be cut to a smaller size: only one that training made in one go can, without published "
            "ranks, added tokens or an extension"
        )
    if vocab_size < first + len(special):
        raise UsageError(
            f"vocab_size is {vocab_size}, but the alphabet and the special tokens need {first + len(special)}"
        )
    made, gone, events = _steps(vocabulary.events, first, vocab_size - len(special))
    ids = [*range(first), *made]
    inside = np.full(len(vocabulary.tokens) + len(special) + 1, -1, np.int32)  # the last one is for the -1 of a removal
    inside[ids] = np.arange(len(ids))
    removed = sorted(inside[list(gone)].tolist())
    present, final = final_ids(len(ids), removed, len(special))
    tokens = [vocabulary.tokens[ids[id]] for id in present]
    n = len(tokens)
    if removed:
        tokens += [*[None] * len(special), *(vocabulary.tokens[ids[id]] for id in removed)]
    moved = {token.id: token._replace(id=id) for id, token in enumerate(special, n)}
    return replace(
        vocabulary,
        tokens=tuple(tokens),
        events=final[inside[events]] if len(events) else (),
        added_tokens=tuple(moved.get(token.id, token) for token in vocabulary.added_tokens),
        event_counts=vocabulary.event_counts[: len(events)],
    )


def final_ids(n_tokens: int, removed: Sequence[int], n_special: int) -> tuple[list[int], np.ndarray]:
    """The ids that are present, and by id the final one: the present ones first, then special tokens, then the removed ones.

    The array has one more element, -1, for the -1 of a removal. Removed ids come in ascending order.
    """
    import numpy as np

    gone = set(removed)
    present = [id for id in range(n_tokens) if id not in gone]
    final = np.full(n_tokens + 1, -1, np.int32)
    final[present] = np.arange(len(present))
    final[list(removed)] = len(present) + n_special + np.arange(len(removed))
    return present, final


def _steps(events: np.ndarray, present: int, wanted: int) -> tuple[list[int], set[int], np.ndarray]:
    """The events up to the end of the step after which `wanted` tokens are present.

    Before them too: the ids that they make, in order, and of these the removed ones. present: how many tokens there are at first.
    """
    made: dict[int, None] = {}
    gone: set[int] = set()
    for end, (left, right, new) in enumerate(events.tolist()):
        if right < 0:
            gone.add(left)
            present -= 1
        elif present >= wanted:
            return list(made), gone, events[:end]
        elif new not in made or new in gone:
            made[new] = None
            gone.discard(new)
            present += 1
    return list(made), gone, events
