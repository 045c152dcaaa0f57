"""Vocabularies trained on word counts, without a Tokenizer around them."""

from typing import Any

from tokenmill import Vocabulary, WordCounts
from tokenmill.training import Options, Training


def train_from_counts(counts: WordCounts, vocab_size: int, *, progress: Any = None, **options: Any) -> Vocabulary:
    return Training(counts, Options(vocab_size=vocab_size, **options), progress).run()


def by_both_algorithms(counts: WordCounts, **options: Any) -> Vocabulary:
    """Train by the kernel and by the textbook loop. The vocabulary, once they are seen to give the same."""
    naive, heap = train_from_counts(counts, algorithm="naive", **options), train_from_counts(counts, **options)
    assert heap.events.tolist() == naive.events.tolist()
    assert heap.tokens == naive.tokens
    assert heap.fingerprint() == naive.fingerprint()
    return heap
