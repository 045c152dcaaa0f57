"""What a tokenizer makes of counted text: how often each token is used, and the sums that ratios are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..counting import WordCounts
from ..errors import UsageError
from ..tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Usage", "bare", "check_split", "measure_usage", "ordinary_ids", "segment"]

Progress = Callable[[str, int, "int | None"], None]


@dataclass(frozen=True, eq=False)
class Usage:
    """How a tokenizer cuts counted text.

    by_id: uint64, how often each id is used; as long as the vocabulary has ids.
    tokens, pieces, bytes, characters: sums over the text. A character is counted at its first byte.
    words: runs of anything but white space; None where only counts of pieces were given, which do not tell.
    tokens_by_piece: int64, tokens of each distinct piece, in the order of the counts.
    """

    by_id: np.ndarray
    tokens: int
    pieces: int
    bytes: int
    characters: int
    words: int | None
    tokens_by_piece: np.ndarray

    def __add__(self, other: Usage) -> Usage:
        """The usage of both texts together."""
        import numpy as np

        return Usage(
            self.by_id + other.by_id,
            self.tokens + other.tokens,
            self.pieces + other.pieces,
            self.bytes + other.bytes,
            self.characters + other.characters,
            None if self.words is None or other.words is None else self.words + other.words,
            np.concatenate([self.tokens_by_piece, other.tokens_by_piece]),
        )


def measure_usage(
    tok: Tokenizer, counts: WordCounts, words: int | None = None, progress: Progress | None = None
) -> Usage:
    """Encode every distinct piece of `counts`, which must be cut by the tokenizer's own split pattern.

    Added tokens are ordinary text here, as in `encode_ordinary`; `words` is passed on.

    >>> usage = measure_usage(tok, WordCounts.from_mapping({b"low": 5, b" lower": 2}))
    >>> usage.tokens, usage.bytes
    (7, 27)
    """
    import numpy as np

    check_split(tok, counts)
    ids, ends = segment(tok, counts, progress)
    lengths = np.diff(ends, prepend=0)
    by_id = np.zeros(len(tok.vocabulary.tokens), np.uint64)
    np.add.at(by_id, ids, np.repeat(counts.counts, lengths))
    return Usage(
        by_id,
        tokens=_dot(lengths, counts.counts),
        pieces=_dot(np.ones(len(counts), np.int64), counts.counts),
        bytes=_dot(np.diff(counts.offsets), counts.counts),
        characters=_dot(characters_by_piece(counts), counts.counts),
        words=words,
        tokens_by_piece=lengths,
    )


def bare(tok: Tokenizer, **changes: Any) -> Tokenizer:
    """The tokenizer that takes any text as one piece as it is: no split, no added tokens, no normalisation."""
    plain = replace(
        tok.vocabulary, split_patterns=(), added_tokens=(), normalizers=(), add_prefix_space=False, **changes
    )
    return Tokenizer(plain)


def segment(tok: Tokenizer, counts: WordCounts, progress: Progress | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The ids of every piece, one after the other (uint32), and the end of each piece's ids among them (int64)."""
    import numpy as np

    encode = bare(tok).encode_bytes
    ids: list[int] = []
    ends = np.zeros(len(counts), np.int64)
    for i, (piece, _) in enumerate(counts.items()):
        ids += encode(piece)
        ends[i] = len(ids)
        if progress is not None and i % 10_000 == 9_999:
            progress("encode", i + 1, len(counts))
    return np.array(ids, np.uint32), ends


def characters_by_piece(counts: WordCounts) -> np.ndarray:
    """int64: the characters of each piece, counted at their first bytes."""
    import numpy as np

    before = np.zeros(len(counts.arena) + 1, np.int64)
    np.cumsum((counts.arena & 0xC0) != 0x80, out=before[1:])
    return np.diff(before[counts.offsets.astype(np.int64)])


def ordinary_ids(tok: Tokenizer) -> list[int]:
    """The ids that ordinary text may get: neither added nor removed."""
    vocabulary = tok.vocabulary
    added = {token.id for token in vocabulary.added_tokens}
    return [
        id
        for id, token in enumerate(vocabulary.tokens)
        if token is not None and id not in vocabulary.removed and id not in added
    ]


def check_split(tok: Tokenizer, counts: WordCounts) -> None:
    """Refuse counts of pieces that this tokenizer would cut otherwise."""
    theirs, ours = counts.split_patterns, tok.vocabulary.split_patterns
    if theirs and theirs != ours:
        raise UsageError(
            f"the word counts are cut by {' then '.join(theirs)!r}, but the tokenizer {tok.name} cuts by "
            f"{' then '.join(ours)!r}: give the text itself, or counts made with the tokenizer's pattern"
        )


def _dot(values: np.ndarray, counts: np.ndarray) -> int:
    """The sum of values x counts, exact wherever it is below 2**64."""
    import numpy as np

    return int((values.astype(np.uint64) * counts).sum(dtype=np.uint64))
