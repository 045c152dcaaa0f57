"""WordCounts: the distinct pretokens of a corpus with their 64-bit counts, which is all that training needs."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError, checks_methods, plural, require
from ..jobs.outputs import atomic_folder, refuse_folder
from . import store
from .ddfreq import is_counts_file, read_ddfreq
from .rows import duplicate_in, filter_rows, merge_rows, select_rows, sort_rows, text_bytes
from .weights import OTHERS, WeightedSource, scale_of, scaled

if TYPE_CHECKING:
    import numpy as np

    from .rows import Rows


@checks_methods
@dataclass(frozen=True, eq=False)
class WordCounts:
    """Distinct pretokens with their counts. Immutable. No pretoken occurs twice.

    arena: uint8 array, the bytes of all pretokens one after the other.
    offsets: uint64 array of n + 1: pretoken i is arena[offsets[i]:offsets[i + 1]].
    counts: uint64 array of n.
    split_patterns: the regular expressions that split the text; () where unknown.
    documents, total_bytes: of the counted text; 0 where unknown.
    mixture: if sources had weights, the name, the weight and the bytes of each. Then each count is the weighted one times
        `scale`, the common denominator of the weights.
    Raises UsageError for arrays that do not fit together.

    Counting returns the pretokens in canonical order: ascending by a fixed 64-bit hash, equal hashes by their bytes. It does
    not depend on the division of the work.

    >>> counts = WordCounts.from_mapping({"low": 5, " lower": 2})
    >>> sorted(counts.items())
    [(b' lower', 2), (b'low', 5)]
    """

    arena: np.ndarray
    offsets: np.ndarray
    counts: np.ndarray
    split_patterns: tuple[str, ...] = ()
    documents: int = 0
    total_bytes: int = 0
    mixture: tuple[WeightedSource, ...] = ()

    def __post_init__(self) -> None:
        import numpy as np

        for name, kind in (("arena", np.uint8), ("offsets", np.uint64), ("counts", np.uint64)):
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype != kind or array.ndim != 1:
                actual = type(array).__name__
                if isinstance(array, np.ndarray):
                    actual = f"{array.dtype} of {array.ndim} dimensions"
                raise UsageError(f"{name} must be a one-dimensional array of {np.dtype(kind).name}, not {actual}")
            array = np.ascontiguousarray(array).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        n, size = len(self.counts), len(self.arena)
        if len(self.offsets) != n + 1:
            raise UsageError(f"offsets must have {n + 1:,} entries for {n:,} counts, but has {len(self.offsets):,}")
        first, last = int(self.offsets[0]), int(self.offsets[-1])
        if first != 0 or last != size or bool((self.offsets[1:] < self.offsets[:-1]).any()):
            raise UsageError(f"offsets must ascend from 0 to {size:,}, the length of arena")
        if not isinstance(self.split_patterns, tuple) or not all(
            isinstance(pattern, str) for pattern in self.split_patterns
        ):
            raise UsageError(f"split_patterns must be a tuple of str, not {self.split_patterns!r}")
        for name in ("documents", "total_bytes"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 0:
                raise UsageError(f"{name} must be an int of 0 or more, not {getattr(self, name)!r}")
        if (twice := duplicate_in(self._rows)) is not None:
            raise UsageError(f"the pretoken {twice!r} is there twice; WordCounts.merge adds counts up")

    @classmethod
    def from_mapping(
        cls, mapping: Mapping[bytes, int] | Mapping[str, int], *, split_patterns: tuple[str, ...] = ()
    ) -> WordCounts:
        """Word counts from a mapping of pretoken -> count, such as a Counter of words; a str stands for its UTF-8."""
        import numpy as np

        for pretoken, count in mapping.items():
            if not isinstance(pretoken, bytes | str):
                raise UsageError(f"pretokens are bytes or str, but {pretoken!r} is {type(pretoken).__name__}")
            if not isinstance(count, Integral) or not 0 <= count < 2**64:
                raise UsageError(
                    f"the count of {pretoken!r} is {count!r}; counts are whole numbers from 0 to 2**64 - 1"
                )
        try:
            pretokens = [text.encode() if isinstance(text, str) else text for text in mapping]
        except UnicodeEncodeError as error:
            raise UsageError(f"the pretoken {error.object!r} has a lone surrogate, which no UTF-8 spells") from None
        offsets = np.zeros(len(mapping) + 1, np.uint64)
        np.cumsum([len(pretoken) for pretoken in pretokens], out=offsets[1:])
        arena = np.frombuffer(b"".join(pretokens), np.uint8)
        counts = np.fromiter(mapping.values(), np.uint64, len(mapping))
        total_bytes = sum(len(text) * int(count) for text, count in zip(pretokens, mapping.values(), strict=True))
        return cls(arena, offsets, counts, split_patterns, total_bytes=total_bytes)

    def cut_out(self, texts: Iterable[bytes], *, least: int = 0) -> WordCounts:
        """The counts with `texts` cut out of all pretokens that contain them, so that no merge can spell one of them.

        least: if a text is cut out, first leave out all pretokens with a lower count.

        >>> sorted(WordCounts.from_mapping({b"low<end>er": 2, b"low": 1}).cut_out([b"<end>"]).items())
        [(b'er', 2), (b'low', 3)]
        """
        import numpy as np

        longest_first = sorted(texts, key=len, reverse=True)
        if not longest_first:
            return self
        pattern = re.compile(b"|".join(map(re.escape, longest_first)))
        data, position = self.arena.tobytes(), 0
        matching: list[int] = []
        while match := pattern.search(data, position):
            row = int(np.searchsorted(self.offsets, match.start(), side="right")) - 1
            position = int(self.offsets[row + 1])
            if pattern.search(data, match.start(), position):  # the first match may span two pretokens
                matching.append(row)
        if not matching:
            return self
        pieces: Counter[bytes] = Counter()
        keep = self.counts >= least
        for row in filter(keep.__getitem__, matching):
            for piece in filter(None, pattern.split(data[int(self.offsets[row]) : int(self.offsets[row + 1])])):
                pieces[piece] += int(self.counts[row])
        keep[matching] = False
        arena, offsets, counts = merge_rows([select_rows(self._rows, keep), WordCounts.from_mapping(pieces)._rows])
        return replace(self, arena=arena, offsets=offsets, counts=counts)

    @classmethod
    def merge(cls, many: Iterable[WordCounts]) -> WordCounts:
        """The sum of several word counts, in canonical order. They must have the same split patterns.

        >>> both = WordCounts.merge([WordCounts.from_mapping({b"a": 1}), WordCounts.from_mapping({b"a": 2})])
        >>> dict(both.items())
        {b'a': 3}
        """
        many = list(many)
        metadata = sum_of(many)
        rows = merge_rows([counts._rows for counts in many])
        return cls(*rows, *metadata)  # type: ignore[arg-type]

    def __add__(self, other: WordCounts) -> WordCounts:
        return WordCounts.merge([self, other]) if isinstance(other, WordCounts) else NotImplemented

    @property
    def _rows(self) -> Rows:
        return self.arena, self.offsets, self.counts

    def __repr__(self) -> str:
        return f"<WordCounts of {plural(len(self), 'pretoken')}, {plural(self.total_bytes, 'byte')} in {plural(self.documents, 'document')}>"

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def scale(self) -> int:
        """The factor that makes weighted counts integers; 1 without weights."""
        return scale_of(source.weight for source in self.mixture)

    @property
    def counted_bytes(self) -> int:
        """The bytes of all counted pretokens: fewer than those of the text, if rare ones were left out. Exact below 2**64."""
        return text_bytes(self._rows)

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Yield each pretoken with its count, in stored order."""
        data, offsets = self.arena.tobytes(), self.offsets.tolist()
        for i, count in enumerate(self.counts.tolist()):
            yield data[offsets[i] : offsets[i + 1]], count

    def most_common(self, n: int | None = None) -> list[tuple[bytes, int]]:
        """The `n` most frequent pretokens (all, if None) with their counts; equal counts in the order of the bytes."""
        import numpy as np

        n = len(self) if n is None else max(0, min(n, len(self)))
        if n == 0:
            return []
        least = np.partition(self.counts, len(self) - n)[len(self) - n]
        rows = np.flatnonzero(self.counts >= least)
        offsets = self.offsets
        pairs = [(self.arena[offsets[i] : offsets[i + 1]].tobytes(), int(self.counts[i])) for i in rows]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:n]

    def prune(self, min_count: int) -> WordCounts:
        """The same counts without the pretokens whose weighted count is below `min_count`."""
        arena, offsets, counts = filter_rows(self._rows, scaled(min_count, self.scale))
        return replace(self, arena=arena, offsets=offsets, counts=counts)

    def save(self, folder: str | os.PathLike, *, overwrite: bool = False) -> None:
        """Write a folder of Parquet files with the columns "pretoken" and "count". Needs the extra `corpus`.

        overwrite: replace an existing folder. Without it that is an OutputError.
        """
        refuse_folder(folder, store.is_own, overwrite=overwrite)
        metadata = store.CountsMetadata(self.split_patterns, self.documents, self.total_bytes, self.mixture)
        require("pyarrow", "corpus", "writing word counts")
        with atomic_folder(folder, store.is_own, overwrite=overwrite) as beside:
            store.write_counts(beside, metadata, sort_rows(self._rows))

    @classmethod
    def load(cls, path: str | os.PathLike, *, min_count: int = 0) -> WordCounts:
        """Read a folder that `save` or `tokenmill count` wrote, or a .ddfreq file.

        Damage raises a FormatError that names the file. A .ddfreq file does not contain the split pattern.

        min_count: leave out pretokens with a lower count. A folder is filtered while it is read, so that the rare ones are
            never all in memory.
        """
        if not os.path.isfile(path):
            rows, metadata = store.load_rows(path, min_count)
            return cls(*rows, *metadata)  # type: ignore[arg-type]
        merged = merge_rows(read_ddfreq(Path(path)))
        total_bytes = text_bytes(merged)
        return cls(*filter_rows(merged, min_count), total_bytes=total_bytes)

    @staticmethod
    def is_saved(path: str | os.PathLike) -> bool:
        """Return whether `path` is a folder or file of word counts rather than of text."""
        return store.is_saved(path) or is_counts_file(Path(path))


def sum_of(many: Sequence[WordCounts | store.CountsMetadata]) -> store.CountsMetadata:
    """The metadata of the sum. UsageError for counts with different patterns, or different common denominators of weights."""
    patterns = shared_patterns(each.split_patterns for each in many)
    if len(scales := {each.scale for each in many}) > 1:
        raise UsageError(
            f"word counts whose weights have different common denominators, {' and '.join(map(str, sorted(scales)))}, cannot be "
            "added up. Count again with all weights at once"
        )
    documents, total_bytes = sum(each.documents for each in many), sum(each.total_bytes for each in many)
    sizes: Counter[tuple[str, str]] = Counter()
    for each in many if any(each.mixture for each in many) else ():
        for source, weight, size in each.mixture or [WeightedSource(OTHERS, "1", each.total_bytes)]:
            sizes[source, weight] += size
    mixture = tuple(WeightedSource(source, weight, size) for (source, weight), size in sizes.items())
    return store.CountsMetadata(patterns, documents, total_bytes, mixture)


def shared_patterns(many: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The split patterns of counts to add up, () if unknown. UsageError for different patterns."""
    known = sorted({patterns for patterns in many if patterns})
    if len(known) > 1:
        shown = "\n  ".join(" then ".join(patterns) for patterns in known)
        raise UsageError(
            f"word counts that were split by different patterns cannot be added up:\n  {shown}\nCount again with one pattern."
        )
    return known[0] if known else ()
