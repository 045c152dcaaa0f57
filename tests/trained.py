"""Vocabularies trained on word counts, without a Tokenizer around them."""

from typing import Any

from tokenmill import Vocabulary, WordCounts
from tokenmill.training import Options, Training


def train_from_counts(counts: WordCounts, vocab_size: int, *, progress: Any = None, **options: Any) -> Vocabulary:
    return Training(counts, Options(vocab_size=vocab_size, **options), progress).run()
