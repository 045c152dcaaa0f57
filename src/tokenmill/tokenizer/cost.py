"""What it costs to export a Picky tokenizer to an engine that knows only merges.

Such an engine gets the present tokens, to be merged by rank: the same tokens under the same ids, but not always the same
choice between them. How often the choice differs, and how many tokens that takes, is measured on a sample.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    from ..counting import WordCounts
    from .tokenizer import Tokenizer

    Sample = str | os.PathLike | Iterable[str | os.PathLike] | WordCounts

__all__ = ["Cost", "Report", "check_split", "cost", "cost_without_events", "share_of"]

Progress = Callable[[str, int, "int | None"], None]


@dataclass(frozen=True)
class Cost:
    """How two tokenizers fare on the same text.

    pretokens, differing: how many pretokens there are, and how many of them get other ids.
    tokens, other_tokens: how many tokens each of the two needs.
    """

    pretokens: int
    differing: int
    tokens: int
    other_tokens: int

    def __str__(self) -> str:
        share, more = self.differing / max(1, self.pretokens), self.other_tokens / max(1, self.tokens) - 1
        return (
            f"without events: {self.differing:,} of {self.pretokens:,} pretokens ({share:.3%}) get other ids than in event "
            f"order; {self.other_tokens:,} tokens instead of {self.tokens:,} ({more if self.tokens else 0:+.3%})"
        )


Report = Callable[[Cost], object]


def cost_without_events(tok: Tokenizer, sample: Sample | None, progress: Progress | None = None) -> Cost | None:
    """What it costs on `sample` to encode by rank what `tok` encodes in event order.

    sample: files, folders, globs or saved word counts, or WordCounts (`count_iterator` makes them of texts).
    None where there is no sample, or nothing to measure: only a Picky tokenizer has another order than its exports.

    >>> print(cost_without_events(tok, "held-out.txt"))
    without events: 24 of 10,468 pretokens (0.229%) get other ids than in event order; 12,391 tokens instead of 12,339 (+0.421%)
    """
    from ..formats.rank_merges import present_by_rank
    from .tokenizer import Tokenizer

    if sample is None or tok.vocabulary.order != "events":
        return None
    counts = _counts(tok, sample, progress)
    return cost(tok, Tokenizer(present_by_rank(tok.vocabulary)), counts)


def cost(tok: Tokenizer, other: Tokenizer, counts: WordCounts) -> Cost:
    """How often the pretokens of `counts` get other ids from `other`, and how many tokens that takes."""
    encode, encode_other = tok._encoder.kernel.encode_pretoken, other._encoder.kernel.encode_pretoken
    pretokens = differing = tokens = other_tokens = 0
    for pretoken, count in counts.items():
        ids, other_ids = encode(pretoken), encode_other(pretoken)
        pretokens += count
        differing += count * (ids != other_ids)
        tokens += count * len(ids)
        other_tokens += count * len(other_ids)
    return Cost(pretokens, differing, tokens, other_tokens)


def share_of(counts: WordCounts, most: int) -> WordCounts:
    """About `most` of the counted pretokens, each as often as its share of the text: every n-th, in the order they are stored.

    >>> dict(share_of(WordCounts.from_mapping({b"the": 600, b"low": 300, b"rare": 2}), 3).items())
    {b'the': 2, b'low': 1}
    """
    import numpy as np

    from ..counting import WordCounts

    total = int(counts.counts.sum(dtype=np.uint64))
    if total <= most:
        return counts
    step = total // most
    places = np.arange(step // 2, total, step, dtype=np.uint64)
    found = np.searchsorted(np.cumsum(counts.counts, dtype=np.uint64), places, "right")
    rows, times = np.unique(found, return_counts=True)
    ends = zip(counts.offsets[rows].tolist(), counts.offsets[rows + 1].tolist(), strict=True)
    pretokens = [counts.arena[start:end].tobytes() for start, end in ends]
    return WordCounts.from_mapping(dict(zip(pretokens, times.tolist(), strict=True)), counts.split_patterns)


def check_split(tok: Tokenizer, counts: WordCounts) -> None:
    """Refuse counts of pretokens that this tokenizer would cut otherwise."""
    theirs, ours = counts.split_patterns, tok.vocabulary.split_patterns
    if theirs and theirs != ours:
        raise UsageError(
            f"the word counts are cut by {' then '.join(theirs)!r}, but the tokenizer {tok.name} cuts by "
            f"{' then '.join(ours)!r}: give the text itself, or counts made with the tokenizer's pattern"
        )


def _counts(tok: Tokenizer, sample: Sample, progress: Progress | None) -> WordCounts:
    from ..counting import WordCounts, count

    if isinstance(sample, WordCounts):
        parts = [sample]
    else:
        sources = [sample] if isinstance(sample, (str, os.PathLike)) else list(sample)
        parts = [WordCounts.load(source) for source in sources if WordCounts.is_saved(source)]
        text = [source for source in sources if not WordCounts.is_saved(source)]
        if text or not parts:
            parts.append(count(text, split=tok.vocabulary.split_patterns, progress=progress))
    for part in parts:
        check_split(tok, part)
    return WordCounts.merge(parts) if len(parts) > 1 else parts[0]
