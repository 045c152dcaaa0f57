"""The four functions most people need: train, train_from_iterator, train_from_counts, load."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .counting import WordCounts, count, count_iterator
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    from .training import Options

__all__ = ["load", "train", "train_from_counts", "train_from_iterator"]

Progress = Callable[[str, int, "int | None"], None]
Sources = str | os.PathLike | Iterable[str | os.PathLike]


def train(
    sources: Sources,
    vocab_size: int,
    *,
    split: str = "cl100k",
    special_tokens: Iterable[str] = (),
    num_threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Tokenizer:
    """Train a tokenizer on files: paths, folders and globs of text, plain or compressed.

    The text is streamed once into word counts; only the table of distinct pretokens is held in memory.

    vocab_size: how many tokens in all; the 256 bytes and the special tokens count.
    split: the name of a split pattern (gpt2, cl100k, o200k, llama3, qwen2, nanochat, whitespace) or a regular
        expression.
    options: as for `train_from_counts`: min_count, min_pair_count, max_token_bytes, alphabet, coverage,
        unknown_token, refine, algorithm.
    Raises UsageError for options that cannot be right, InputError for a source that cannot be read.
    """
    wanted = _options(vocab_size, special_tokens=special_tokens, num_threads=num_threads, **options)
    return _train(count(sources, split=split, num_threads=num_threads, progress=progress), wanted, progress)


def train_from_iterator(
    texts: Iterable[str | bytes],
    vocab_size: int,
    *,
    split: str = "cl100k",
    special_tokens: Iterable[str] = (),
    num_threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Tokenizer:
    """Train a tokenizer on the texts that an iterator yields, each one document. Options as for `train`.

    An exception of the iterator is passed on; nothing is ever trained on half a corpus.
    """
    wanted = _options(vocab_size, special_tokens=special_tokens, num_threads=num_threads, **options)
    return _train(count_iterator(texts, split=split, num_threads=num_threads, progress=progress), wanted, progress)


def train_from_counts(
    counts: WordCounts,
    vocab_size: int,
    *,
    special_tokens: Iterable[str] = (),
    num_threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Tokenizer:
    """Train a tokenizer on word counts.

    min_count: leave out pretokens seen fewer times.
    min_pair_count: stop when the best pair is rarer.
    max_token_bytes: never make a token longer than this.
    alphabet: "bytes", or "characters" with `coverage` (the share of all characters to keep) and `unknown_token`.
    refine: the threshold T of Picky BPE, above 0 and at most 1; None trains plain BPE.
    algorithm: "heap", or "naive" for the textbook loop.
    """
    wanted = _options(vocab_size, special_tokens=special_tokens, num_threads=num_threads, **options)
    return _train(counts, wanted, progress)


def load(path: str | os.PathLike, *, split: str | None = None, **options: Any) -> Tokenizer:
    """Load a tokenizer from a file or folder of any format that tokenmill writes, told by content.

    split: the split pattern, for formats that do not hold it (an unknown .tiktoken file). Never guessed.
    A name of a published encoding ("cl100k_base") is looked up in the local caches; `download=True` allows a download.
    """
    return Tokenizer.from_file(path, split=split, **options)


def _options(vocab_size: int, **options: Any) -> Options:
    """The options, checked before any text is read."""
    from .training import Options

    return Options(vocab_size=vocab_size, **options)


def _train(counts: WordCounts, options: Options, progress: Progress | None) -> Tokenizer:
    from .training import Training

    training = Training(counts, options, progress)
    del counts  # the training holds what it needs of them
    return Tokenizer(training.run())
