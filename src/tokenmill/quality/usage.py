"""The encoding of counted text: the uses of each token, and the totals that ratios are computed from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np

from ..counting import WordCounts
from ..errors import UsageError
from ..jobs.progress import Progress
from ..tokenizer import Tokenizer
from ..vocabulary import Normalization, Vocabulary
from .tables import Token

SLICE = 1 << 18  # about how many bytes of pretokens are taken at a time
TOGETHER = 64  # texts encoded at a time


@dataclass(frozen=True, eq=False)
class Usage:
    """The tokens that a tokenizer makes of counted text.

    by_id: uint64, how often each id is used, including added tokens; one number per id.
    tokens, pretokens, bytes, characters: totals over the text. A character is counted at its first byte.
    words: runs of non-white-space; None if only word counts were given, which do not tell.
    counts: uint64, how often each distinct pretoken occurs.
    ids, tokens_by_pretoken: what `segment` gives for these pretokens.
    """

    by_id: np.ndarray = field(repr=False)
    tokens: int
    pretokens: int
    bytes: int
    characters: int
    words: int | None
    counts: np.ndarray = field(repr=False)
    ids: np.ndarray = field(repr=False)
    tokens_by_pretoken: np.ndarray = field(repr=False)

    def __add__(self, other: Usage) -> Usage:
        """The usage of both texts together."""
        sums, rows = ("by_id", "tokens", "pretokens", "bytes", "characters"), ("counts", "ids", "tokens_by_pretoken")
        both: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in sums}
        both |= {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in rows}
        words = None if self.words is None or other.words is None else self.words + other.words
        return Usage(words=words, **both)


def measure_usage(tok: Tokenizer, counts: WordCounts, progress: Progress | None = None) -> Usage:
    """Encode every distinct pretoken of `counts`, which must be cut by the tokenizer's own split pattern.

    >>> usage = measure_usage(tok, WordCounts.from_mapping({b"low": 5, b" lower": 2}))
    >>> usage.tokens, usage.bytes
    (7, 27)
    """
    require_same_split(tok, counts)
    ids, lengths = segment(tok, counts, progress)
    by_id = np.zeros(ids_of(tok), np.uint64)
    np.add.at(by_id, ids, np.repeat(counts.counts, lengths))
    return Usage(
        by_id,
        tokens=dot(lengths, counts.counts),
        pretokens=dot(np.ones(len(counts), np.int64), counts.counts),
        bytes=counts.counted_bytes,
        characters=dot(characters_by_pretoken(counts), counts.counts),
        words=None,
        counts=counts.counts,
        ids=ids,
        tokens_by_pretoken=lengths,
    )


def measure_texts(tok: Tokenizer, texts: Iterable[str]) -> Usage:
    """Encode whole texts, for a tokenizer that another library runs: it has no merges to replay and no pretokens to count."""
    by_id = np.zeros(ids_of(tok), np.uint64)
    nbytes = characters = 0
    texts = iter(texts)
    while some := list(islice(texts, TOGETHER)):
        ids, _ = tok.encode_batch_to_numpy(some, disallowed_special=())
        by_id += np.bincount(ids, minlength=len(by_id)).astype(np.uint64)
        nbytes += sum(len(text.encode("utf-8", "replace")) for text in some)
        characters += sum(map(len, some))
    none = np.zeros(0, np.int64)
    return Usage(by_id, int(by_id.sum()), 0, nbytes, characters, None, none.astype(np.uint64), none, none)


def require_same_split(tok: Tokenizer, counts: WordCounts) -> None:
    """Raise UsageError for counts of pretokens that another split pattern made."""
    theirs, ours = counts.split_patterns, tok.vocabulary.split_patterns
    if theirs and theirs != ours:
        raise UsageError(
            f"the word counts are cut by {' then '.join(theirs)!r}, but the tokenizer {tok.name} cuts by "
            f"{' then '.join(ours)!r}; give the text itself, or counts made with the tokenizer's pattern"
        )


def ids_of(tok: Tokenizer) -> int:
    """The number of ids, those of added tokens included."""
    return max(len(tok.vocabulary.tokens), tok.n_vocab)


@lru_cache(maxsize=2)
def one_pretoken(vocabulary: Vocabulary) -> Tokenizer:
    """The tokenizer that takes any text as one pretoken: no split, no added tokens, no normalization."""
    kept = Normalization(space_mark=vocabulary.normalization.space_mark)
    changes: dict[str, Any] = {"split_patterns": (), "normalization": kept}
    if vocabulary.has_superwords:
        made = {*vocabulary.superwords[:, 2].tolist()}
        tokens = (None if id in made else token for id, token in enumerate(vocabulary.tokens))
        changes |= {"tokens": tuple(tokens), "superwords": ()}
    return Tokenizer(without_added(vocabulary).replace(**changes))


def without_added(vocabulary: Vocabulary) -> Vocabulary:
    """The vocabulary with none of its added tokens but the unknown token."""
    kept = tuple(token for token in vocabulary.added_tokens if token.id == vocabulary.unknown)
    return vocabulary.replace(added_tokens=kept)


def segment(tok: Tokenizer, counts: WordCounts, progress: Progress | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The ids of every pretoken in sequence (uint32), and the number of ids of each pretoken (int64)."""
    core = (tok if tok.vocabulary.has_superwords else one_pretoken(tok.vocabulary))._core
    plan = core.plan((), ())
    numbers = np.zeros(len(counts), np.int64)
    segments = [np.zeros(0, np.uint32)]
    for rows, data, offsets in slices(counts):  # each pretoken is a document
        ids, ends = core.encode_documents(data.tobytes(), offsets[1:], plan)
        segments.append(np.frombuffer(ids, np.uint32))
        numbers[rows] = np.diff(np.asarray(ends, np.int64), prepend=0)
        if progress is not None:
            progress("segment", rows.stop, len(counts))
    return np.concatenate(segments), numbers


def slices(counts: WordCounts) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Consecutive pretokens of about SLICE bytes: their rows, their bytes, and the offsets in these (uint64, one more)."""
    first = 0
    while first < len(counts):
        stop = int(np.searchsorted(counts.offsets, counts.offsets[first] + np.uint64(SLICE), "right")) - 1
        stop = min(max(stop, first + 1), len(counts))
        offsets = counts.offsets[first : stop + 1]
        yield slice(first, stop), counts.arena[offsets[0] : offsets[-1]], offsets - offsets[0]
        first = stop


def characters_by_pretoken(counts: WordCounts) -> np.ndarray:
    """int64: the number of characters of each pretoken, counted at their first bytes."""
    characters = np.zeros(len(counts), np.int64)
    for rows, data, offsets in slices(counts):
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum((data & 0xC0) != 0x80)])
        characters[rows] = np.diff(before[offsets.astype(np.int64)])
    return characters


@lru_cache(maxsize=4)
def ordinary_tokens(vocabulary: Vocabulary) -> dict[int, bytes]:
    """The tokens that ordinary text can produce, neither added nor removed: bytes by id, in ascending order."""
    left_out = vocabulary.removed | {token.id for token in vocabulary.added_tokens}
    return {id: token for id, token in enumerate(vocabulary.tokens) if token is not None and id not in left_out}


def unknown_ids(vocabulary: Vocabulary) -> set[int]:
    """The ids that stand for text without a token, where special tokens in text are ordinary text."""
    return {token.id for token in vocabulary.added_tokens if token.special or token.id == vocabulary.unknown}


@lru_cache(maxsize=4)
def token_cells(vocabulary: Vocabulary) -> list[Token]:
    """The ordinary tokens as cells of a table, by id."""
    return [Token(id, content) for id, content in ordinary_tokens(vocabulary).items()]


@lru_cache(maxsize=4)
def texts_of_tokens(vocabulary: Vocabulary) -> dict[int, str]:
    """The text of the ordinary tokens that are text, by id, in ascending order."""
    texts = {}
    for id, token in ordinary_tokens(vocabulary).items():
        try:
            texts[id] = token.decode()
        except UnicodeDecodeError:
            continue
    return texts


def dot(values: np.ndarray, counts: np.ndarray) -> int:
    """The sum of values * counts, exact below 2**64."""
    return int((values.astype(np.uint64) * counts).sum(dtype=np.uint64))
