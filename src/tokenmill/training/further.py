"""Training that goes on from a vocabulary: all old ids stay, new tokens follow."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from ..counting import WordCounts
from ..errors import UsageError
from ..vocabulary import AddedToken, Vocabulary
from . import driving
from .alphabet import Alphabet
from .options import LONGEST, checked_special_tokens
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
    progress: Progress | None = None,
) -> Vocabulary:
    """Go on training where `vocabulary` stands, on the pieces of `counts` as it encodes them.

    vocab_size: the `n_vocab` of the result. New tokens get the ids from the `n_vocab` of the old one on, the new
        special tokens the last ones.
    ids, offsets: piece i of `counts`, encoded, is ids[offsets[i]:offsets[i + 1]].
    A pair that spells an old token becomes that token and takes no id. What was trained to 300 tokens and then
    further to 400 on the same counts is what 400 tokens at once would have been.

    Raises UsageError for a vocabulary of events (Picky BPE) or of characters, which cannot be trained further.
    """
    import numpy as np

    progress = progress or (lambda stage, done, total: None)
    special = checked_special_tokens(special_tokens)
    if vocabulary.order == "events" or vocabulary.alphabet != "bytes":
        kind = "Picky BPE" if vocabulary.order == "events" else "characters"
        raise UsageError(f"a vocabulary of {kind} cannot be trained further; only plain BPE on bytes can")
    if counts.split_patterns and vocabulary.split_patterns and counts.split_patterns != vocabulary.split_patterns:
        raise UsageError(
            f"the counts were split by {counts.split_patterns}, the vocabulary splits by {vocabulary.split_patterns}; "
            "count the corpus with the pattern of the vocabulary"
        )
    old = vocabulary.n_vocab
    if vocab_size < old + len(special):
        raise UsageError(
            f"vocab_size is {vocab_size}, but the {old} old ids and {len(special)} special tokens need {old + len(special)}"
        )
    clash = next((text for text in special if text in {token.content for token in vocabulary.added_tokens}), None)
    if clash is not None:
        raise UsageError(f"the vocabulary has a special token {clash!r} already")
    tokens = [vocabulary.tokens[id] if id < len(vocabulary.tokens) else None for id in range(old)]
    spelt = [token or b"" for token in tokens]
    start = _encoded_pieces(
        counts, spelt, np.ascontiguousarray(ids, np.uint32), np.ascontiguousarray(offsets, np.uint64)
    )
    pair_weight(counts.offsets, counts.counts)
    corpus = driving.lay_down(start, np.ascontiguousarray(counts.counts), by_falling_count(counts, min_count), progress)
    max_bytes = min(max_token_bytes or LONGEST, LONGEST)
    events, known, _ = driving.refine(
        corpus, spelt, start.spans, vocab_size - len(special), (0, 0), min_pair_count, max_bytes, progress
    )
    new = known[old:]
    added = (AddedToken(text, id) for id, text in enumerate(special, old + len(new)))
    return dataclasses.replace(
        vocabulary,
        tokens=(*tokens, *new),
        events=None if vocabulary.events is None else np.concatenate([vocabulary.events, events]),
        added_tokens=(*vocabulary.added_tokens, *added),
    )


def _encoded_pieces(counts: WordCounts, spelt: list[bytes], ids: np.ndarray, offsets: np.ndarray) -> Alphabet:
    """The old tokens as an alphabet, with the pieces written in it; UsageError if they do not spell the pieces."""
    import numpy as np

    spans = [len(token) for token in spelt]
    if len(offsets) != len(counts) + 1 or (len(offsets) and int(offsets[-1]) != len(ids)):
        raise UsageError(f"{len(offsets) - 1} encoded pieces were given with word counts of {len(counts)}")
    if len(ids) and int(ids.max()) >= len(spelt):
        raise UsageError(f"an encoded piece holds the id {int(ids.max())}; the vocabulary has {len(spelt)}")
    ends = np.zeros(len(ids) + 1, np.uint64)
    np.cumsum(np.asarray(spans, np.uint64)[ids], out=ends[1:])
    wrong = np.flatnonzero(ends[offsets] != counts.offsets)
    if len(wrong):
        raise UsageError(
            f"the encoded pieces are not those of the word counts: piece {int(wrong[0]) - 1} is of another length"
        )
    return Alphabet(tuple(spelt), ids, offsets, spans=spans, nodes=counts.offsets)
