"""WordCounts: the distinct pieces of a corpus with their 64-bit counts, all that training needs to know of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["WordCounts"]


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Distinct pieces and how often each was seen. Immutable.

    arena: uint8 array, the bytes of all pieces one after the other.
    offsets: uint64 array of n + 1: piece i is arena[offsets[i]:offsets[i + 1]].
    counts: uint64 array of n.
    split_patterns: the regular expressions the pieces were cut with; () where unknown.
    documents, total_bytes: how much text was counted; 0 where unknown.

    >>> counts = WordCounts.from_mapping({b"low": 5, b" lower": 2})
    >>> sorted(counts.items())
    [(b' lower', 2), (b'low', 5)]
    """

    arena: np.ndarray
    offsets: np.ndarray
    counts: np.ndarray
    split_patterns: tuple[str, ...] = ()
    documents: int = 0
    total_bytes: int = 0

    @classmethod
    def from_mapping(cls, mapping: Mapping[bytes, int], split_patterns: tuple[str, ...] = ()) -> WordCounts:
        """Word counts from a mapping of piece -> count, such as a Counter of bytes."""
        import numpy as np

        for piece, count in mapping.items():
            if not isinstance(piece, bytes):
                raise UsageError(f"pieces are bytes, but {piece!r} is {type(piece).__name__}; encode it as UTF-8 first")
            if not 0 <= count < 2**64:
                raise UsageError(f"the count of {piece!r} is {count}; counts are from 0 to 2**64 - 1")
        offsets = np.zeros(len(mapping) + 1, np.uint64)
        np.cumsum([len(piece) for piece in mapping], out=offsets[1:])
        arena = np.frombuffer(b"".join(mapping), np.uint8)
        counts = np.fromiter(mapping.values(), np.uint64, len(mapping))
        return cls(arena, offsets, counts, split_patterns, total_bytes=sum(len(p) * c for p, c in mapping.items()))

    def __len__(self) -> int:
        return len(self.counts)

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Each piece with its count, in the order they are stored."""
        data, offsets = self.arena.tobytes(), self.offsets.tolist()
        for i, count in enumerate(self.counts.tolist()):
            yield data[offsets[i] : offsets[i + 1]], count
