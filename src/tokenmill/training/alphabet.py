"""The alphabet of a training: the 256 bytes, or the characters of the corpus.

`characters` is the alphabet of Sennrich et al. (ACL 2016): the most frequent characters that together are the share `coverage`
of all occurrences. Every other character is the unknown token, which never merges and so splits its pretoken. Ids: the unknown
token, if there is one, is 0; then the characters in code point order, as in Hugging Face tokenizers, so that ties between pairs
are resolved in the same way.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ..errors import OptionName, UsageError

if TYPE_CHECKING:
    from ..counting import WordCounts

BREAK = 0x3FFFFFFF  # the id of a symbol that never merges; above all token ids, as TOKEN in _corpus_cy.pxd
_BATCH = 1 << 16  # pretokens decoded in one step


@dataclass(frozen=True, eq=False)
class Alphabet:
    """The first tokens and the pretokens as their ids.

    tokens: the bytes of each token by id; None for the unknown token.
    ids: uint8, uint16 or uint32 array, the pretokens one after the other as token ids or BREAK.
    offsets: uint64 array: pretoken i is ids[offsets[i]:offsets[i + 1]].
    spans: the number of nodes of each token; None if each has one.
    """

    tokens: tuple[bytes | None, ...]
    ids: np.ndarray
    offsets: np.ndarray
    unknown: int | None = None
    spans: list[int] | None = None


def byte_alphabet(counts: WordCounts) -> Alphabet:
    """The 256 bytes; the id of a byte is its value."""
    return Alphabet(tuple(bytes([byte]) for byte in range(256)), counts.arena, counts.offsets)


def character_alphabet(
    counts: WordCounts,
    kept: np.ndarray,
    coverage: float,
    unknown: bool,
    characters: str | None = None,
    needed: str = "",
) -> Alphabet:
    """The characters of the pretokens `kept` (bool array) by falling count, until they cover the share `coverage`.

    characters: the whole alphabet, in place of those that occur. needed: characters to add in any case.
    A byte outside of well-formed UTF-8 is a character of its own.
    """
    # The decoder turns each ill-formed byte into a surrogate, U+DC00 + byte.
    data, offsets = counts.arena.tobytes(), counts.offsets.tolist()
    sizes = np.empty(len(counts), np.uint64)
    batches = []
    total = np.zeros(0x110000, np.uint64)
    for first in range(0, len(counts), _BATCH):
        last = min(first + _BATCH, len(counts))
        texts = [data[offsets[i] : offsets[i + 1]].decode("utf-8", "surrogateescape") for i in range(first, last)]
        points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
        sizes[first:last] = [len(text) for text in texts]
        weights = np.where(kept[first:last], counts.counts[first:last], np.uint64(0))
        np.add.at(total, points, np.repeat(weights, sizes[first:last].astype(np.int64)))
        batches.append(points)
    ends = np.zeros(len(counts) + 1, np.uint64)
    np.cumsum(sizes, out=ends[1:])

    seen = np.flatnonzero(total)
    ranked = sorted(zip((-total[seen].astype(object)).tolist(), seen.tolist(), strict=True))
    if characters is None:
        covered = itertools.accumulate((-count for count, _ in ranked), initial=0)  # by the more frequent ones
        wanted = Fraction(str(coverage)) * sum(-count for count, _ in ranked)
        alphabet = {point for before, (_, point) in zip(covered, ranked, strict=False) if before < wanted}
    else:
        alphabet = {*map(ord, characters)}
    alphabet |= {*map(ord, needed)}
    left_out = [point for _, point in ranked if point not in alphabet]
    if left_out and not unknown:
        some = ", ".join(repr(chr(point)) for point in left_out[:5])
        raise UsageError(
            f"the alphabet leaves out {len(left_out)} of {len(ranked)} characters of the text ({some}"
            f"{', ...' if len(left_out) > 5 else ''}), so it needs ",
            OptionName("unknown_token"),
        )

    id_of = np.full(0x110000, BREAK, np.uint32)
    tokens: list[bytes | None] = [None] if unknown else []
    for token, point in sorted((chr(point).encode("utf-8", "surrogateescape"), point) for point in alphabet):
        id_of[point] = len(tokens)
        tokens.append(token)
    ids = np.concatenate([id_of[points] for points in batches]) if batches else np.zeros(0, np.uint32)
    return Alphabet(tuple(tokens), ids, ends, 0 if unknown else None)
