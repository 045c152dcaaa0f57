"""Training that goes on from a vocabulary: all old ids stay, new tokens follow."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ..counting import WordCounts
from ..errors import UsageError
from ..vocabulary import AddedToken, Vocabulary
from . import driving
from .alphabet import Alphabet
from .options import LONGEST, check_share, checked_special_tokens, exact
from .trainer import by_falling_count, pair_weight

if TYPE_CHECKING:
    import numpy as np

__all__ = ["train_further"]

Progress = Callable[[str, int, "int | None"], None]


def train_further(
    counts: WordCounts,
    vocab_size: int,
    vocabulary: Vocabulary,
    ids: np.ndarray,
    offsets: np.ndarray,
    *,
    special_tokens: Iterable[str] = (),
    min_count: int = 1,
    min_pair_count: int = 1,
    max_token_bytes: int | None = None,
    refine: float | None = None,
    progress: Progress | None = None,
) -> Vocabulary:
    """Go on training where `vocabulary` stands, on the pretokens of `counts` as it encodes them.

    vocab_size: the `n_vocab` of the result. New tokens get the ids from the `n_vocab` of the old one on, the new
        special tokens the last ones.
    ids, offsets: pretoken i of `counts`, encoded, is ids[offsets[i]:offsets[i + 1]].
    refine: for a vocabulary of events, the threshold T of Picky BPE; unless told, the one it was trained with.
    A pair that spells an old token becomes that token and takes no id. What was trained to 300 tokens and then
    further to 400 on the same counts is what 400 tokens at once would have been, in plain BPE.

    In Picky BPE the new events follow the old ones. No token that was present is removed, whatever its IoS: models have
    rows for it. What was removed may come back, and is then a new token, with a new id; ids of removed tokens, which
    are never given out, are the highest ones again, and change.

    Raises UsageError for a vocabulary of characters, which cannot be trained further.
    """
    import numpy as np

    progress = progress or (lambda stage, done, total: None)
    special = checked_special_tokens(special_tokens)
    threshold = _threshold(vocabulary, refine)
    if vocabulary.alphabet != "bytes":
        raise UsageError("a vocabulary of characters cannot be trained further; only one of bytes can")
    if counts.split_patterns and vocabulary.split_patterns and counts.split_patterns != vocabulary.split_patterns:
        raise UsageError(
            f"the counts were split by {counts.split_patterns}, the vocabulary splits by {vocabulary.split_patterns}; "
            "count the corpus with the pattern of the vocabulary"
        )
    old, gone = vocabulary.n_vocab, sorted(vocabulary.removed)
    if vocab_size < old + len(special):
        raise UsageError(
            f"vocab_size is {vocab_size}, but the {old} old ids and {len(special)} special tokens need {old + len(special)}"
        )
    clash = next((text for text in special if text in {token.content for token in vocabulary.added_tokens}), None)
    if clash is not None:
        raise UsageError(f"the vocabulary has a special token {clash!r} already")
    tokens = [*vocabulary.tokens[:old], *[None] * (old - len(vocabulary.tokens))]
    for id in gone:
        if id < old:
            tokens[id] = None
    spelt = [token or b"" for token in tokens]
    start = _encoded_pretokens(
        counts, spelt, np.ascontiguousarray(ids, np.uint32), np.ascontiguousarray(offsets, np.uint64)
    )
    pair_weight(counts.offsets, counts.counts)
    corpus = driving.lay_down(start, np.ascontiguousarray(counts.counts), by_falling_count(counts, min_count), progress)
    max_bytes = min(max_token_bytes or LONGEST, LONGEST)
    # While it trains, the removed tokens have the ids from `old` on, and new ones follow.
    inside = _moved(len(vocabulary.tokens), gone, old)
    events, known, removed = driving.refine(
        corpus,
        spelt,
        start.spans,
        vocab_size - len(special),
        (0, 0) if threshold is None else exact(threshold).as_integer_ratio(),
        min_pair_count,
        max_bytes,
        progress,
        _first_made(vocabulary, gone, inside),
    )
    if vocabulary.order != "ranks":
        events = np.concatenate([inside[vocabulary.events], events])
    lost = set(removed)
    present = [id for id in range(old, len(known)) if id not in lost]
    final = _moved(len(known), present, old)
    final[removed] = old + len(present) + len(special) + np.arange(len(removed), dtype=np.int32)
    tokens += [known[id] for id in present]
    if removed:
        tokens += [*[None] * len(special), *[known[id] for id in removed]]
    added = (AddedToken(text, id) for id, text in enumerate(special, old + len(present)))
    return dataclasses.replace(
        vocabulary,
        tokens=tuple(tokens),
        events=() if vocabulary.order == "ranks" else final[events],
        added_tokens=(*vocabulary.added_tokens, *added),
        refine=threshold,
    )


def _threshold(vocabulary: Vocabulary, refine: float | None) -> float | None:
    """T, or None for plain BPE; UsageError where it cannot be told or cannot be."""
    if vocabulary.order != "events":
        if refine is not None:
            raise UsageError(
                f"refine is {refine}, but this vocabulary is of order {vocabulary.order!r}: only one of events can be refined"
            )
        return None
    if refine is None:
        refine = vocabulary.refine
    if refine is None:
        raise UsageError(
            "the files of this Picky tokenizer do not tell at which threshold it was trained: give refine, such as 0.9"
        )
    check_share("refine", refine)
    return refine


def _moved(size: int, ids: Sequence[int], first: int) -> np.ndarray:
    """int32: by id the new one, which is first, first + 1, ... for `ids` and else the same; -1 stays -1."""
    import numpy as np

    moved = np.arange(size + 1, dtype=np.int32)
    moved[list(ids)] = np.arange(first, first + len(ids))
    moved[size] = -1
    return moved


def _first_made(vocabulary: Vocabulary, gone: Sequence[int], inside: np.ndarray) -> list[tuple[bytes, int, int]]:
    """The removed tokens, each with the pair that it was first made from, by their ids `inside`."""
    pairs: dict[int, tuple[int, int]] = {}
    if gone:
        for left, right, new in vocabulary.events.tolist():
            if right >= 0:
                pairs.setdefault(new, (int(inside[left]), int(inside[right])))
    return [(vocabulary.tokens[id], *pairs[id]) for id in gone]  # type: ignore[misc]


def _encoded_pretokens(counts: WordCounts, spelt: list[bytes], ids: np.ndarray, offsets: np.ndarray) -> Alphabet:
    """The old tokens as an alphabet, with the pretokens written in it; UsageError if they do not spell the pretokens."""
    import numpy as np

    spans = [len(token) for token in spelt]
    if len(offsets) != len(counts) + 1 or (len(offsets) and int(offsets[-1]) != len(ids)):
        raise UsageError(f"{len(offsets) - 1} encoded pretokens were given with word counts of {len(counts)}")
    if len(ids) and int(ids.max()) >= len(spelt):
        raise UsageError(f"an encoded pretoken holds the id {int(ids.max())}; the vocabulary has {len(spelt)}")
    ends = np.zeros(len(ids) + 1, np.uint64)
    np.cumsum(np.asarray(spans, np.uint64)[ids], out=ends[1:])
    wrong = np.flatnonzero(ends[offsets] != counts.offsets)
    if len(wrong):
        raise UsageError(
            f"the encoded pretokens are not those of the word counts: pretoken {int(wrong[0]) - 1} is of another length"
        )
    return Alphabet(tuple(spelt), ids, offsets, spans=spans, nodes=counts.offsets)
