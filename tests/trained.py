"""Vocabularies trained on word counts, without a Tokenizer around them."""

import itertools
from typing import Any
from unittest import mock

import numpy as np

from naive_training import train_naive
from tokenmill import Vocabulary, WordCounts
from tokenmill.training import Options, Training, loops
from tokenmill.training.alphabet import BREAK


def train_from_counts(counts: WordCounts, vocab_size: int, *, progress: Any = None, **options: Any) -> Vocabulary:
    return Training(counts, Options(vocab_size=vocab_size, **options), progress).run()


def train_by_textbook(counts: WordCounts, vocab_size: int, **options: Any) -> Vocabulary:
    """Train by the loops of naive_training.py in place of the kernels."""
    with mock.patch.multiple(loops, load_corpus=_as_lists, merge=_textbook, refine=_textbook):
        return train_from_counts(counts, vocab_size, **options)


def _as_lists(start: Any, counts: np.ndarray, min_count: int, progress: Any) -> tuple[Any, int]:
    """The pretokens as lists of ids with their counts, cut at each BREAK."""
    pretokens = []
    for i in loops.by_falling_count(counts, min_count).tolist():
        ids = start.ids[int(start.offsets[i]) : int(start.offsets[i + 1])].tolist()
        parts = itertools.groupby(ids, BREAK.__eq__)
        pretokens += [([*part], int(counts[i])) for breaks, part in parts if not breaks]
    return pretokens, 0


def _textbook(
    pretokens: Any, tokens: list[bytes], options: Options, *more: Any, watch: Any = None
) -> loops.MergeResult:
    """What `loops.merge` and `loops.refine` return."""
    numbers: list[tuple[int, int]] = []
    limits = options.n_ordinary, options.refine, options.min_pair_count, options.max_bytes
    events, _ = train_naive(pretokens, tokens, *limits, step=lambda event, pair: numbers.append(pair))
    (watch or more[-1]).report(events, numbers)
    is_removed = {left if right < 0 else new: right < 0 for left, right, new in events}  # the last event counts
    removed = sorted(id for id, gone in is_removed.items() if gone)
    return np.array(events, np.int32).reshape(-1, 3), np.array(numbers, np.uint64).reshape(-1, 2), tokens, removed


def by_both_algorithms(counts: WordCounts, **options: Any) -> Vocabulary:
    """Train by the kernel and by the textbook loop. The vocabulary, once they are seen to give the same."""
    naive, heap = train_by_textbook(counts, **options), train_from_counts(counts, **options)
    assert heap.events.tolist() == naive.events.tolist()
    assert heap.tokens == naive.tokens
    assert heap.fingerprint() == naive.fingerprint()
    return heap
