"""What is lost when a tokenizer with events, Picky or of superwords, is exported to a library that knows only merges.

Such a library merges the present tokens by rank: the same tokens and ids, but not always the same choice between them.
How often the ids differ, and how many more tokens that takes, is measured on a sample.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..jobs.progress import Progress
from .core import Core

if TYPE_CHECKING:
    from ..counting import WordCounts
    from ..sources.blocks import ReadOptions
    from .tokenizer import Tokenizer

    Sample = str | os.PathLike | Iterable[str | os.PathLike] | WordCounts


@dataclass(frozen=True)
class ExportLoss:
    """How two encodings of the same text compare.

    pretokens, differing: the number of pretokens, and of those with different ids.
    tokens, other_tokens: the number of tokens by events, and by rank.
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


def export_loss(
    tok: Tokenizer, sample: Sample, progress: Progress | None = None, read: ReadOptions | None = None
) -> ExportLoss | None:
    """Measure on `sample` how encoding by rank differs from encoding by events.

    sample: files, folders, globs or saved word counts, or WordCounts (`count_iterator` makes them from texts).
    read: how text files are cut into documents, and which field or column holds the text.
    None for a tokenizer without events: its exports give the same ids.

    >>> print(export_loss(tok, "held-out.txt"))
    without events: 24 of 10,468 pretokens (0.229%) get other ids than in event order; 12,391 tokens instead of 12,339 (+0.421%)
    """
    from ..counting import WordCounts
    from ..formats.rank_merges import present_by_rank

    if tok.vocabulary.order != "events":
        return None
    if len(tok.vocabulary.superwords) and (
        isinstance(sample, WordCounts) or any(map(WordCounts.is_saved, _listed(sample)))
    ):
        raise UsageError("word counts do not tell where superwords are; measure the export on text")
    counts = _counts(tok, sample, progress, read)
    return compare_on_counts(tok.core, Core(present_by_rank(tok.vocabulary), 64 << 20), counts)


def compare_on_counts(core: Core, other: Core, counts: WordCounts) -> ExportLoss:
    """Encode the pretokens of `counts` both ways. Each counts as often as it was seen."""
    # Pretokens that superwords join are one here, which the export splits in its own way.
    encode = Core.encode_section if len(core.vocabulary.superwords) else Core.encode_pretoken
    pretokens = differing = tokens = other_tokens = 0
    for pretoken, count in counts.items():
        ids, other_ids = encode(core, pretoken), encode(other, pretoken)
        pretokens += count
        differing += count * (ids != other_ids)
        tokens += count * len(ids)
        other_tokens += count * len(other_ids)
    return ExportLoss(pretokens, differing, tokens, other_tokens)


def sample_counts(counts: WordCounts, size: int) -> WordCounts:
    """A sample of about `size` pretokens, each in proportion to its count: every n-th, in the order they are stored.

    >>> dict(sample_counts(WordCounts.from_mapping({b"the": 600, b"low": 300, b"rare": 2}), 3).items())
    {b'the': 2, b'low': 1}
    """
    import numpy as np

    from ..counting import WordCounts

    total = int(counts.counts.sum(dtype=np.uint64))
    if total <= size:
        return counts
    step = total // size
    places = np.arange(step // 2, total, step, dtype=np.uint64)
    found = np.searchsorted(np.cumsum(counts.counts, dtype=np.uint64), places, "right")
    rows, times = np.unique(found, return_counts=True)
    ends = zip(counts.offsets[rows].tolist(), counts.offsets[rows + 1].tolist(), strict=True)
    pretokens = [counts.arena[start:end].tobytes() for start, end in ends]
    return WordCounts.from_mapping(dict(zip(pretokens, times.tolist(), strict=True)), counts.split_patterns)


def require_same_split(tok: Tokenizer, counts: WordCounts) -> None:
    """Raise UsageError for counts of pretokens that another split pattern made."""
    theirs, ours = counts.split_patterns, tok.vocabulary.split_patterns
    if theirs and theirs != ours:
        raise UsageError(
            f"the word counts are cut by {' then '.join(theirs)!r}, but the tokenizer {tok.name} cuts by "
            f"{' then '.join(ours)!r}; give the text itself, or counts made with the tokenizer's pattern"
        )


def _listed(sample: Any) -> list[Any]:
    return [sample] if isinstance(sample, (str, os.PathLike)) else list(sample)


def _counts(tok: Tokenizer, sample: Sample, progress: Progress | None, read: ReadOptions | None) -> WordCounts:
    from ..counting import CountOptions, WordCounts, count
    from ..sources.blocks import ReadOptions

    if isinstance(sample, WordCounts):
        parts = [sample]
    else:
        sources = _listed(sample)
        parts = [WordCounts.load(source) for source in sources if WordCounts.is_saved(source)]
        text = [source for source in sources if not WordCounts.is_saved(source)]
        if text or not parts:
            options = CountOptions(read=read or ReadOptions())
            parts.append(count(text, tok.core.splitter, options, progress=progress))
    for part in parts:
        require_same_split(tok, part)
    return WordCounts.merge(parts) if len(parts) > 1 else parts[0]
