"""Extend: a larger vocabulary from an existing one, with every old id fixed.

Training goes on where the vocabulary stands: the text is encoded with it, and the most frequent pair of neighbouring
tokens is merged, again and again. A model keeps the rows of its embedding table and gets new ones after them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..counting import WordCounts
from ..tokenizer import Tokenizer
from ..training import train_further
from .domains import Domains, Text
from .usage import segment

__all__ = ["extend"]

Progress = Callable[[str, int, "int | None"], None]


def extend(
    tok: Tokenizer,
    text: Text,
    vocab_size: int,
    *,
    special_tokens: Iterable[str] = (),
    min_count: int = 1,
    min_pair_count: int = 1,
    max_token_bytes: int | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> Tokenizer:
    """Train a tokenizer further on `text`: files, folders, globs, or word counts cut by its own split pattern.

    vocab_size: how many ids the result has, old and new, special tokens included. New tokens follow the old ids, new
        special tokens come last. If the text runs out of pairs first, there are fewer.
    min_count, min_pair_count, max_token_bytes: as in training.
    Raises UsageError for Picky BPE and for an alphabet of characters, which cannot be trained further.

    >>> larger = extend(tok, "medicine/*.txt", 40_000)
    >>> larger.n_vocab, larger.decode([300]) == tok.decode([300])
    (40000, True)
    """
    import numpy as np

    domains = Domains(text, num_threads)
    counts = WordCounts.merge([domains.counts(name, tok, progress) for name in domains.names])
    ids, numbers = segment(tok, counts, progress)
    offsets = np.zeros(len(counts) + 1, np.uint64)
    np.cumsum(numbers, out=offsets[1:])
    vocabulary = train_further(
        counts,
        vocab_size,
        tok.vocabulary,
        ids,
        offsets,
        special_tokens=special_tokens,
        min_count=min_count,
        min_pair_count=min_pair_count,
        max_token_bytes=max_token_bytes,
        progress=progress,
    )
    return Tokenizer(vocabulary, name=tok.name)
