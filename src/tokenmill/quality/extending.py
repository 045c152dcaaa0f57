"""Extend: a larger vocabulary from an existing one, with every old id fixed.

Training goes on where the vocabulary stands: the text is encoded with it, and the most frequent pair of neighbouring
tokens is merged, again and again. A model keeps the rows of its embedding table and gets new ones after them.

A Picky tokenizer goes on as Picky BPE: its events are replayed over the text, which is what encoding does, and new ones
follow. A plain tokenizer goes on as Picky BPE if it is told a threshold: its merges become the first events, if
replaying them in order gives the very ids that it gives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..formats.rank_merges import merges_of_ranks
from ..tokenizer import Tokenizer
from ..training import extend_vocabulary
from .domains import Domains, Text
from .usage import bare, ordinary_tokens, segment

if TYPE_CHECKING:
    from ..vocabulary import Vocabulary

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
    refine: float | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> Tokenizer:
    """Train a tokenizer further on `text`: files, folders, globs, or word counts cut by its own split pattern.

    vocab_size: how many ids the result has, old and new, special tokens included. New tokens follow the old ids, new
        special tokens come last. If the text runs out of pairs first, there are fewer.
    min_count, min_pair_count, max_token_bytes: as in training.
    refine: the threshold T of Picky BPE. Unless told, a Picky tokenizer goes on with the one it was trained with, and a
        plain one stays plain. Tokens that `tok` has are never removed; new ones are, and what `tok` had removed may come
        back, under a new id.
    Raises UsageError for an alphabet of characters, and for a plain tokenizer whose merges are no list of events.

    >>> larger = extend(tok, "medicine/*.txt", 40_000)
    >>> larger.n_vocab, larger.decode([300]) == tok.decode([300])
    (40000, True)
    """
    import numpy as np

    if refine is not None and tok.vocabulary.order != "events":
        tok = _by_events(tok)
    counts = Domains(text, num_threads).together(tok, progress)
    ids, numbers = segment(tok, counts, progress)
    offsets = np.zeros(len(counts) + 1, np.uint64)
    np.cumsum(numbers, out=offsets[1:])
    vocabulary = extend_vocabulary(
        counts,
        vocab_size,
        tok.vocabulary,
        ids,
        offsets,
        special_tokens=special_tokens,
        min_count=min_count,
        min_pair_count=min_pair_count,
        max_token_bytes=max_token_bytes,
        refine=refine,
        progress=progress,
    )
    return Tokenizer(vocabulary, name=tok.name)


def _by_events(tok: Tokenizer) -> Tokenizer:
    """A plain tokenizer as one of events, all merges, which gives the same ids; UsageError where it would not.

    Where each merge comes after those that make its parts, and each token is made once, no merge ever makes an earlier
    one possible again. So the earliest that applies is always a later one, as it is with events.
    """
    vocabulary = tok.vocabulary
    merges, stray = vocabulary.events, _out_of_order(vocabulary)
    if vocabulary.order == "ranks":
        merges, unbuilt = merges_of_ranks(vocabulary.tokens)
        stray = unbuilt[0] if unbuilt else None
    if stray is None:
        found = Tokenizer(replace(vocabulary, order="events", events=merges, whole_pretokens=False), name=tok.name)
        if not vocabulary.whole_pretokens:
            return found
        encode = bare(found).encode_bytes
        stray = next((id for id, token in ordinary_tokens(tok).items() if encode(token) != [id]), None)
        if stray is None:
            return found
    raise UsageError(
        f"this tokenizer cannot go on as Picky BPE: no replay of its merges in order gives the token {stray}, "
        f"{vocabulary.tokens[stray]!r}. Leave refine out to extend it as plain BPE"
    )


def _out_of_order(vocabulary: Vocabulary) -> int | None:
    """The first token that is made twice, or made after it is a part of another; None if there is none."""
    made: set[int] = set()
    parts: set[int] = set()
    for left, right, new in vocabulary.events.tolist():
        parts.update((left, right))
        if new in made or new in parts:
            return new
        made.add(new)
    return None
