"""The four functions most people need: train, train_from_iterator, train_from_counts, load."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .counting import WordCounts, count, count_iterator
from .errors import UsageError, suggests_options
from .jobs.progress import Progress
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    from typing import Unpack

    from .superwords import Text
    from .training import Options

Sources = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class MergeOptions(TypedDict, total=False):
    """Which merges to make; for training and for `extend`.

    min_count: leave out pretokens with a lower count.
    min_pair_count: stop when the count of the best pair is lower.
    max_token_bytes: never make a longer token.
    refine: the threshold T of Picky BPE, above 0 and at most 1; None trains plain BPE.
    """

    min_count: int
    min_pair_count: int
    max_token_bytes: int | None
    refine: float | None


class TrainingOptions(MergeOptions, total=False):
    """The options of `train`, `train_from_iterator` and `train_from_counts`.

    alphabet: "bytes", or "characters" with `coverage` and `unknown_token`.
    coverage: the share of all characters to keep in the alphabet.
    unknown_token: the token that stands for the other characters.
    algorithm: "heap", or "naive" for the textbook loop.
    superwords: "superbpe" for tokens that span words, trained in a second stage; None for none.
    stage1_size: the number of tokens after stage 1, including the 256 bytes and the special tokens.
    stage2_split: the split pattern of stage 2, and of the tokenizer.
    max_words: the most words in a token of stage 2 (default 4); 0 for no limit.
    colon_veto: make no token that contains a colon and a space after it (default).
    """

    alphabet: Literal["bytes", "characters"]
    coverage: float
    unknown_token: str | None
    algorithm: Literal["heap", "naive"]
    superwords: Literal["superbpe"] | None
    stage1_size: int
    stage2_split: str
    max_words: int
    colon_veto: bool


OPTIONS = TrainingOptions.__optional_keys__
SUPERWORD_OPTIONS = ("stage1_size", "stage2_split", "max_words", "colon_veto")


@suggests_options(*OPTIONS)
def train(
    sources: Sources,
    vocab_size: int,
    *,
    split: str = "cl100k",
    special_tokens: Iterable[str] = (),
    num_threads: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[TrainingOptions],
) -> Tokenizer:
    """Train a tokenizer on files: paths, folders and globs of text, plain or compressed.

    The text is streamed once into word counts. Only the table of distinct pretokens is held in memory.

    vocab_size: the number of tokens, including the 256 bytes and the special tokens.
    split: the name of a split pattern (gpt2, cl100k, o200k, llama3, qwen2, nanochat, whitespace) or a regular
        expression.
    options: see TrainingOptions.
    Raises UsageError for invalid options, InputError for a source that cannot be read.
    """
    checked = _options(vocab_size, special_tokens, num_threads, options)
    text = _file_text(sources) if checked.superwords else None
    return _train(count(sources, split=split, num_threads=num_threads, progress=progress), checked, progress, text)


@suggests_options(*OPTIONS)
def train_from_iterator(
    texts: Iterable[str | bytes],
    vocab_size: int,
    *,
    split: str = "cl100k",
    special_tokens: Iterable[str] = (),
    num_threads: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[TrainingOptions],
) -> Tokenizer:
    """Train a tokenizer on the texts of an iterator; each text is one document. Options as for `train`.

    An exception of the iterator is passed on; a tokenizer is never trained on half a corpus.
    """
    checked = _options(vocab_size, special_tokens, num_threads, options)
    text = _memory_text(texts) if checked.superwords else None
    counts = count_iterator(texts, split=split, num_threads=num_threads, progress=progress)
    return _train(counts, checked, progress, text)


@suggests_options(*OPTIONS)
def train_from_counts(
    counts: WordCounts,
    vocab_size: int,
    *,
    text: Sources | None = None,
    special_tokens: Iterable[str] = (),
    num_threads: int | None = None,
    progress: Progress | None = None,
    **options: Unpack[TrainingOptions],
) -> Tokenizer:
    """Train a tokenizer on word counts. Options as for `train`, without `split`.

    text: the files that were counted, for `superwords`, whose second stage reads them.
    """
    checked = _options(vocab_size, special_tokens, num_threads, options)
    if (text is not None) != (checked.superwords is not None):
        raise UsageError("text and superwords go together: stage 2 of superwords reads the text, and nothing else does")
    return _train(counts, checked, progress, None if text is None else _file_text(text))


@suggests_options()
def load(
    path: str | os.PathLike[str],
    *,
    split: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    download: bool = False,
) -> Tokenizer:
    """Load a tokenizer from a file or folder. The content tells the format, which is any that tokenmill writes.

    path: a file, a folder, or the name of a published encoding ("cl100k_base"), which is looked up in local caches.
    split: the split pattern, for a format that does not hold it (an unknown .tiktoken file). It is never guessed.
    special_tokens: text -> id, for a file that does not hold them.
    download: whether a published encoding may be downloaded.
    """
    return Tokenizer.from_file(path, split=split, special_tokens=special_tokens, download=download)


def _options(
    vocab_size: int, special_tokens: Iterable[str], num_threads: int | None, options: TrainingOptions
) -> Options:
    """The options, checked before any text is read."""
    from .training import Options, superwords_of

    named: dict[str, Any] = {**options}
    named["superwords"] = superwords_of(
        named.pop("superwords", None), {name: named.pop(name) for name in SUPERWORD_OPTIONS if name in named}
    )
    return Options(vocab_size=vocab_size, special_tokens=special_tokens, num_threads=num_threads, **named)


def _file_text(sources: Sources) -> Text:
    from .superwords import FileText

    return FileText(sources)


def _memory_text(texts: Iterable[str | bytes]) -> Text:
    from .superwords import MemoryText

    return MemoryText(texts)


def _train(counts: WordCounts, options: Options, progress: Progress | None, text: Text | None = None) -> Tokenizer:
    """text: what was counted, for superwords."""
    from .training import Training

    if text is not None:
        from .superwords import train_superbpe

        return Tokenizer(train_superbpe(counts, text, options, progress=progress))
    training = Training(counts, options, progress)
    del counts  # the training holds what it needs of them
    return Tokenizer(training.run())
