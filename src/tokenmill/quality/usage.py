"""The uses of tokens in a text: how often a tokenizer returns each, by encoding every distinct pretoken once."""

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
from ..tokenizer.normalization import repair
from ..tokenizer.offsets import text_sections
from ..vocabulary import Normalization, Vocabulary
from .tables import Token

SLICE = 1 << 18  # bytes of pretokens in a slice, about
BATCH = 64  # texts encoded at a time


@dataclass(frozen=True, eq=False)
class Usage:
    """The uses of tokens in a text.

    by_id: uint64 (n_ids,), the uses of each id, added tokens included.
    tokens, pretokens, bytes, characters: totals over the text. A character is counted at its first byte.
    words: runs of characters other than white space; None for word counts, which do not record them.
    counts: uint64, the count of each distinct pretoken.
    ids, tokens_by_pretoken: the result of `encode_pretokens`.
    dropped: characters that have no token and are dropped; see `Tokenizer.count_dropped`.
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
    dropped: int = 0

    def __add__(self, other: Usage) -> Usage:
        sums = ("by_id", "tokens", "pretokens", "bytes", "characters", "dropped")
        columns = ("counts", "ids", "tokens_by_pretoken")
        both: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in sums}
        both |= {name: np.concatenate([getattr(self, name), getattr(other, name)]) for name in columns}
        words = None if self.words is None or other.words is None else self.words + other.words
        return Usage(words=words, **both)


def measure_usage(tok: Tokenizer, counts: WordCounts, progress: Progress | None = None) -> Usage:
    """Encode every distinct pretoken of `counts`, which must be cut by the tokenizer's own split pattern."""
    require_same_split(tok, counts)
    ids, lengths = encode_pretokens(tok, counts, progress)
    by_id = np.zeros(n_ids(tok), np.uint64)
    np.add.at(by_id, ids, np.repeat(counts.counts, lengths))
    return Usage(
        by_id,
        tokens=dot(lengths, counts.counts),
        pretokens=int(counts.counts.sum()),
        bytes=counts.counted_bytes,
        characters=dot(characters_by_pretoken(counts), counts.counts),
        words=None,
        counts=counts.counts,
        ids=ids,
        tokens_by_pretoken=lengths,
    )


def measure_texts(tok: Tokenizer, texts: Iterable[str]) -> Usage:
    """Encode whole texts with a tokenizer that another library runs: it has no pretokens and no merges to replay."""
    by_id = np.zeros(n_ids(tok), np.uint64)
    nbytes = characters = dropped = 0
    texts = iter(texts)
    while batch := list(islice(texts, BATCH)):
        ids, _ = tok.encode_batch_to_numpy(batch, disallowed_special=())
        by_id += np.bincount(ids, minlength=len(by_id)).astype(np.uint64)
        nbytes += sum(len(text.encode("utf-8", "replace")) for text in batch)
        characters += sum(map(len, batch))
        dropped += sum(map(tok.count_dropped, batch))
    empty = np.zeros(0, np.int64)
    return Usage(by_id, int(by_id.sum()), 0, nbytes, characters, None, empty.astype(np.uint64), empty, empty, dropped)


def require_same_split(tok: Tokenizer, counts: WordCounts) -> None:
    """Raise UsageError for word counts of another split pattern."""
    theirs, ours = counts.split_patterns, tok.vocabulary.split_patterns
    if theirs and theirs != ours:
        raise UsageError(
            f"the word counts are cut by {' then '.join(theirs)!r}, but the tokenizer {tok.name} cuts by "
            f"{' then '.join(ours)!r}; give the text itself, or counts made with the tokenizer's pattern"
        )


def require_unchanged(tok: Tokenizer, counts: WordCounts) -> None:
    """Raise UsageError for word counts with a pretoken that the tokenizer normalizes, or that contains an added token."""
    vocabulary = tok.vocabulary
    # "Prepend" and "Strip" change the ends of texts, which word counts do not record.
    steps = tuple(step for step in vocabulary.normalization.other_steps if step[0] not in ("Prepend", "Strip"))
    if not steps and all(token.special for token in vocabulary.added_tokens):
        return
    core = Tokenizer(vocabulary.replace(normalization=Normalization(steps)))._core
    for pretoken, _ in counts.items():
        text = repair(pretoken)
        sections = [*text_sections(core, text)] or [b""]
        if sections != [text.encode()]:
            added = any(isinstance(section, int) for section in sections)
            change = "finds an added token in it" if added else "normalizes it"
            raise UsageError(
                f"the word counts contain {text!r:.40}, but the tokenizer {tok.name} {change}; give the text itself"
            )


def n_ids(tok: Tokenizer) -> int:
    """The number of ids, those of added tokens included."""
    return max(len(tok.vocabulary.tokens), tok.n_vocab)


@lru_cache(maxsize=2)
def one_pretoken(vocabulary: Vocabulary) -> Tokenizer:
    """Return the tokenizer for which any text is one pretoken: no split, no added tokens, no normalization.

    Text that begins with a dropped character is a dropped pretoken.
    """
    normalization = Normalization(space_mark=vocabulary.normalization.space_mark)
    changes: dict[str, Any] = {"split_patterns": (), "normalization": normalization}
    if vocabulary.has_superwords:
        superwords = {*vocabulary.superwords[:, 2].tolist()}
        tokens = (None if id in superwords else token for id, token in enumerate(vocabulary.tokens))
        changes |= {"tokens": tuple(tokens), "superwords": ()}
    return Tokenizer(without_added(vocabulary).replace(**changes))


def without_added(vocabulary: Vocabulary) -> Vocabulary:
    """Return the vocabulary without its added tokens, except the unknown token."""
    unknown = tuple(token for token in vocabulary.added_tokens if token.id == vocabulary.unknown)
    return vocabulary.replace(added_tokens=unknown)


def encode_pretokens(
    tok: Tokenizer, counts: WordCounts, progress: Progress | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ids of all pretokens one after the other (uint32), and the number of ids of each pretoken (int64)."""
    core = (tok if tok.vocabulary.has_superwords else one_pretoken(tok.vocabulary))._core
    plan = core.plan((), ())
    lengths = np.zeros(len(counts), np.int64)
    slices_of_ids = [np.zeros(0, np.uint32)]
    for rows, data, offsets in slices(counts):  # each pretoken is encoded as a document
        ids, ends = core.encode_documents(data.tobytes(), offsets[1:], plan)
        slices_of_ids.append(np.frombuffer(ids, np.uint32))
        lengths[rows] = np.diff(np.asarray(ends, np.int64), prepend=0)
        if progress is not None:
            progress("segment", rows.stop, len(counts))
    return np.concatenate(slices_of_ids), lengths


def slices(counts: WordCounts) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield pretokens of about SLICE bytes: their rows, their bytes, and their offsets in these (uint64, one more)."""
    first = 0
    while first < len(counts):
        stop = int(np.searchsorted(counts.offsets, counts.offsets[first] + np.uint64(SLICE), "right")) - 1
        stop = min(max(stop, first + 1), len(counts))
        offsets = counts.offsets[first : stop + 1]
        yield slice(first, stop), counts.arena[offsets[0] : offsets[-1]], offsets - offsets[0]
        first = stop


def characters_by_pretoken(counts: WordCounts) -> np.ndarray:
    """Return the number of characters of each pretoken (int64), counted at their first bytes."""
    characters = np.zeros(len(counts), np.int64)
    for rows, data, offsets in slices(counts):
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum((data & 0xC0) != 0x80)])
        characters[rows] = np.diff(before[offsets.astype(np.int64)])
    return characters


def unnormalized(tok: Tokenizer) -> Tokenizer:
    """Return the tokenizer without the steps that change characters; itself if it has none."""
    vocabulary = tok.vocabulary
    if vocabulary.library is not None or not (steps := vocabulary.normalization.other_steps):
        return tok
    others = tuple(step for step in vocabulary.normalization.normalizers if step not in steps)
    return Tokenizer(vocabulary.replace(normalization=vocabulary.normalization._replace(normalizers=others)))


@lru_cache(maxsize=4)
def ordinary_tokens(vocabulary: Vocabulary) -> dict[int, bytes]:
    """The bytes of the tokens that ordinary text can produce, neither added nor removed, by id in ascending order."""
    left_out = vocabulary.removed | {token.id for token in vocabulary.added_tokens}
    return {id: token for id, token in enumerate(vocabulary.tokens) if token is not None and id not in left_out}


def decode_only_ids(vocabulary: Vocabulary) -> list[int]:
    """The ids that are only decoded, in ascending order, without added tokens."""
    return sorted({id for id, _ in vocabulary.decode_only}.difference(token.id for token in vocabulary.added_tokens))


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


def used_tokens(tok: Tokenizer, usage: Usage) -> int:
    return int((usage.by_id[list(ordinary_tokens(tok.vocabulary))] > 0).sum())


def has_pretokens(vocabulary: Vocabulary) -> bool:
    """Return whether the split pattern alone cuts text into pretokens."""
    return bool(vocabulary.split_patterns) and not vocabulary.has_superwords


def ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or not below else above / below
