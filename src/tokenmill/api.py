"""The four functions most people need: train, train_from_iterator, train_from_counts, load."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .errors import UsageError, suggests_options
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    from typing import Unpack

    from .counting import WordCounts
    from .counting.weights import Weight
    from .jobs.progress import Progress
    from .superwords import Text

Sources = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class MergeOptions(TypedDict, total=False):
    """The options of all functions that train, and of `extend`.

    special_tokens: control tokens. They get the last ids. Training cuts them out of the text, where each ends a document.
    min_count: leave out pretokens with a lower count.
    min_pair_count: stop when the count of the best pair is lower.
    max_token_bytes: never make a longer token.
    refine: the threshold T of Picky BPE, above 0 and at most 1; None trains plain BPE.
    num_threads: None is all cores. The result does not depend on it.
    progress: called as progress(stage, done, total). If it has a method `event`, that gets each merge and removal as it
        happens, a TrainingEvent: rank, left, right, token, count, ios.
    """

    special_tokens: Iterable[str]
    min_count: int
    min_pair_count: int
    max_token_bytes: int | None
    refine: float | None
    num_threads: int | None
    progress: Progress | None


class TrainingOptions(MergeOptions, total=False):
    """The options of `train`, `train_from_iterator` and `train_from_counts`.

    alphabet: "bytes", or "characters" with `coverage` and `unknown_token`.
    coverage: the share of all characters to keep in the alphabet.
    unknown_token: the token that stands for the other characters.
    special_tokens_as_text: learn the texts of special tokens like other text, but never a token that is one of them.
    algorithm: "heap", or "naive" for the textbook loop.
    superwords: "superbpe" for tokens that span words, trained in a second stage, or "boundless" for tokens of whole pretokens;
        None for neither.
    stage1_size: the number of tokens after stage 1, including the 256 bytes and the special tokens.
    stage2_split: the split pattern of stage 2, and of the tokenizer.
    max_words: the most words in a token of stage 2 (default 4); 0 for no limit.
    colon_veto: make no token of stage 2 that contains a colon and a space after it (default).
    """

    alphabet: Literal["bytes", "characters"]
    coverage: float
    unknown_token: str | None
    special_tokens_as_text: bool
    algorithm: Literal["heap", "naive"]
    superwords: Literal["superbpe", "boundless"] | None
    stage1_size: int
    stage2_split: str
    max_words: int
    colon_veto: bool


OPTIONS = TrainingOptions.__optional_keys__


@suggests_options("weights", *OPTIONS)
def train(
    sources: Sources,
    vocab_size: int,
    *,
    split: str | Iterable[str] = (),
    weights: Mapping[str, Weight] | None = None,
    **options: Unpack[TrainingOptions],
) -> Tokenizer:
    """Train a tokenizer on files: paths, folders and globs of text, plain or compressed.

    The text is streamed once into word counts. Only the table of distinct pretokens is held in memory.

    vocab_size: the number of tokens, including the 256 bytes and the special tokens.
    split: the name of a split pattern ("cl100k"), of an encoding or a model that uses it ("gpt-4o"), a regular expression,
        or several of these, each of which cuts the pretokens of the one before.
    weights: how much each occurrence counts, by source: {"code/": "1/2"}. See `CountOptions`.
    options: see TrainingOptions.
    Raises UsageError for invalid options, InputError for a source that cannot be read.
    """
    from .train_job import Train

    given: dict[str, Any] = {**options}
    progress = given.pop("progress", None)
    paths = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    patterns = [split] if isinstance(split, str) else list(split)
    job = Train(sources=paths, vocab_size=vocab_size, split=patterns, weights=weights or (), **given)
    return job.run(progress).tok


@suggests_options(*OPTIONS)
def train_from_iterator(
    texts: Iterable[str | bytes],
    vocab_size: int,
    *,
    split: str | Iterable[str] = "cl100k",
    **options: Unpack[TrainingOptions],
) -> Tokenizer:
    """Train a tokenizer on the texts of an iterator; each text is one document. Options as for `train`.

    An exception of the iterator is passed on; a tokenizer is never trained on half a corpus.
    """
    from .counting import count_iterator

    again = partial(_memory_text, texts)
    counted = lambda splitter, **run: count_iterator(texts, split=splitter, **run)  # noqa: E731
    return _train(counted, split, vocab_size, options, again)


@suggests_options(*OPTIONS)
def train_from_counts(
    counts: WordCounts, vocab_size: int, *, text: Sources | None = None, **options: Unpack[TrainingOptions]
) -> Tokenizer:
    """Train a tokenizer on word counts. Options as for `train`, without `split`.

    text: the files that were counted, for `superwords`, whose second stage reads them.
    """
    if (text is not None) != (options.get("superwords") is not None):
        raise UsageError("text and superwords go together: stage 2 of superwords reads the text, and nothing else does")
    return _train(lambda splitter, **run: counts, (), vocab_size, options, partial(_file_text, text or ()))


@suggests_options("development", "ratios", "window", "alpha", "global_merges", *MergeOptions.__optional_keys__)
def train_parity(
    languages: Mapping[str, Sources | WordCounts],
    vocab_size: int,
    *,
    development: Mapping[str, Sources | WordCounts] | None = None,
    ratios: Mapping[str, Weight] | None = None,
    window: int | None = None,
    alpha: Weight = 2,
    global_merges: int = 0,
    split: str | Iterable[str] | None = None,
    **options: Unpack[MergeOptions],
) -> Tokenizer:
    """Train by parity-aware BPE: at each step, the language that is compressed worst chooses the merge.

    The result is an ordinary tokenizer. Source: Foroutan et al. 2025 (arXiv 2508.04796).

    languages: the training text of each language by name: sources as for `train`, saved word counts, or WordCounts.
    development: a text of each language, best the same text in each; the language with the most tokens chooses.
    ratios: in place of development texts, the bytes per token that each language should have, relative to the others.
    window, alpha: a language chooses at most alpha / n of any `window` merges, n being the number of languages.
    global_merges: how many merges of plain BPE on all languages together come first.
    split: as for `train`; by default that of saved word counts, or "cl100k".
    Raises UsageError for invalid options, InputError for a source that cannot be read.
    """
    from .training import Options
    from .training.options import Parity
    from .training.parity import train_parity as counted

    given: dict[str, Any] = {**options}
    progress = given.pop("progress", None)
    parity = Parity(ratios=ratios, window=window, alpha=alpha, global_merges=global_merges)
    made = counted(languages, development, Options(vocab_size=vocab_size, **given), parity, split, progress=progress)
    return Tokenizer(made.run())


@suggests_options()
def load(
    path: str | os.PathLike[str],
    *,
    split: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    download: bool = False,
) -> Tokenizer:
    """Load a tokenizer from a file or folder. The content tells the format, which is any that tokenmill writes.

    path: a file, a folder, or the name of a published encoding ("cl100k_base") or of a model that uses one
        ("gpt-4o"), which is looked up in local caches. Or a name on the Hugging Face hub, "org/name" or "org/name@revision",
        which is looked up in the hub's cache on this machine.
    split: the split pattern, for a format that does not hold it (an unknown .tiktoken file). It is never guessed.
    special_tokens: text -> id, for a file that does not hold them.
    download: whether a published encoding, or a tokenizer on the hub, may be downloaded. The hub needs huggingface_hub.
    `tok.source` tells the file, its revision on the hub and its SHA-256.
    """
    return Tokenizer.from_file(path, split=split, special_tokens=special_tokens, download=download)


@suggests_options()
def encoding_for_model(model: str, *, download: bool = False) -> Tokenizer:
    """Load the published encoding of a model ("gpt-4o"), as tiktoken's function of this name. Options as for `load`."""
    from .split.names import encoding_name, nearest

    name = encoding_name(model)
    if name is None:
        raise UsageError(f"no published encoding is known for the model {model!r}.{nearest(model, encodings=True)}")
    return load(name, download=download)


@suggests_options()
def get_encoding(name: str, *, download: bool = False) -> Tokenizer:
    """Load a published encoding ("cl100k_base"), as tiktoken's function of this name. Options as for `load`."""
    from .split.names import encoding_name, nearest

    if encoding_name(name) is None:
        raise UsageError(f"no published encoding is known by the name {name!r}.{nearest(name, encodings=True)}")
    return load(name, download=download)


def list_encoding_names() -> list[str]:
    """The names of the published encodings, which `load` takes."""
    from .formats import PUBLISHED

    return list(PUBLISHED)


def _file_text(sources: Sources) -> Text:
    from .superwords import FileText

    return FileText(sources)


def _memory_text(texts: Iterable[str | bytes]) -> Text:
    from .superwords import MemoryText

    return MemoryText(texts)


def _train(
    counted: Callable[..., WordCounts],
    split: str | Iterable[str],
    vocab_size: int,
    options: TrainingOptions,
    text: Callable[[], Text],
) -> Tokenizer:
    """Train on the word counts that `counted` returns. The options are checked before any text is read.

    text: opens what is counted, for superwords.
    """
    from .training import Options, Training

    given: dict[str, Any] = {**options}
    progress = given.pop("progress", None)
    checked = Options(vocab_size=vocab_size, **given)
    splitter, run = checked.splitter(split), {"num_threads": checked.num_threads, "progress": progress}
    if checked.superwords is not None:
        from .superwords import SuperwordTraining

        again = text()
        return Tokenizer(SuperwordTraining(counted(splitter, **run), again, checked, None, progress).run())
    # The constructor copies what training needs, so the word counts are freed before training begins.
    training = Training(counted(splitter, **run), checked, progress)
    return Tokenizer(training.run())
