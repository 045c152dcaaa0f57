"""One more pass over text files: the number of words, and an even sample of documents for what needs single documents.

The sample serves the bootstrap (Efron 1979): documents are drawn from it with replacement, again and again, and a figure's
spread over the draws says how much it depends on which documents happened to be in the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..sources.blocks import Block, ReadOptions
from ..sources.documents import Place, blocks_of
from ..sources.find import Source, report_skips
from ..split import Splitter
from ..tokenizer import Tokenizer
from ..tokenizer.normalization import STRIPPED

MOST, MOST_BYTES = 4096, 16 << 20  # units in a sample, and their bytes
PART = 1 << 14  # bytes; of a longer document each part of this size, up to a line's end, is a unit
FEWEST = 20  # units; fewer say nothing about their spread
DRAWS = 1000
_WORDS = r"\S++\s*+|\s++"  # a word and the white space after it
_SPACES = tuple(character.encode() for character in STRIPPED)


@dataclass
class Sample:
    """Every n-th document of a text, with n so that at most MOST are kept; of long documents, parts.

    total: how many there are in the text. step: n.
    """

    units: list[bytes] = field(default_factory=list)
    total: int = 0
    step: int = 1
    nbytes: int = 0

    def add(self, data: memoryview, ends: np.ndarray) -> None:
        """Take the documents of a block into account."""
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        if len(ends) and int((ends - starts).max()) > PART:
            starts, ends = _parts(data, starts, ends)
        for place in range(-self.total % self.step, len(ends), self.step):
            if (unit := bytes(data[starts[place] : ends[place]])).strip():
                self.units.append(unit)
                self.nbytes += len(unit)
        self.total += len(ends)
        while len(self.units) > MOST or self.nbytes > MOST_BYTES:
            self.units = self.units[::2]
            self.nbytes = sum(map(len, self.units))
            self.step *= 2

    def tokens(self, tok: Tokenizer) -> np.ndarray:
        """int64: the tokens of each unit."""
        texts = [unit.decode("utf-8", "replace") for unit in self.units]
        return np.diff(tok.encode_batch_to_numpy(texts, disallowed_special=())[1])

    def density(self, tok: Tokenizer) -> float | None:
        """Bytes per token; None if there is no text."""
        return self.nbytes / int(self.tokens(tok).sum()) if self.nbytes else None


def _parts(data: memoryview, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places where documents begin and end, with long ones cut at the ends of lines."""
    cut: list[tuple[int, int]] = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        while end - start > PART:
            line = bytes(data[start : start + PART]).rfind(b"\n")
            size = line + 1 or PART
            cut.append((start, start + size))
            start += size
        cut.append((start, end))
    return tuple(np.array(cut, np.int64).reshape(-1, 2).T)  # type: ignore[return-value]


def count_words(data: bytes | memoryview, ends: np.ndarray) -> int:
    """The number of words in the documents of `data`; a word is a run of anything but white space.

    ends: where each document ends. A word ends there too.

    >>> count_words(b"low  lower", np.array([3, 10]))
    2
    """
    size = int(ends[-1]) if len(ends) else 0
    if size == 0:
        return 0
    borders = np.frombuffer(Splitter(_WORDS).ends(data[:size]), np.uint64)

    def is_space(place: int) -> bool:
        return bytes(data[place : place + 3]).startswith(_SPACES)

    starts = np.unique(ends[:-1])
    starts = starts[borders[np.searchsorted(borders, starts)] != starts]  # inside of parts
    cut = sum(not is_space(place) for place in starts.tolist() if place)
    return len(borders) - is_space(0) + cut  # white space at the front is a part without a word


def text_blocks(sources: Sequence[Source], read: ReadOptions, **how: Any) -> Iterator[Block]:
    """The blocks of some files. A file that is one document comes in parts that end at lines.

    how: see `open_source`.
    """

    def cut(buffer: bytearray, start: int, length: int) -> int:
        return buffer.rfind(b"\n", start, length) + 1

    for block, _, _ in blocks_of([(source, 0, None) for source in sources], Place(), read, cut=cut, **how):
        block.finish()
        yield block


def survey(sources: Sequence[Source], read: ReadOptions, sample: Sample) -> int:
    """The number of words of some files, whose documents are added to `sample`."""
    words = 0
    on_skip = (lambda skip: None) if read.skip_damaged else None  # the count of the same text warns
    for block in text_blocks(sources, read):
        report_skips(block.skips, on_skip)
        ends = np.asarray(block.ends, np.uint64)
        data = memoryview(block.data)[: block.nbytes]
        words += count_words(data, ends)
        sample.add(data, ends.astype(np.int64))
    return words


class Interval(NamedTuple):
    """A ratio, and the limits between which 95% of the draws lie."""

    ratio: float
    low: float
    high: float


Differences = Mapping[str, Interval | None]  # tokens relative to those of the first tokenizer, by name


def bootstrap(above: np.ndarray, below: np.ndarray) -> Interval | None:
    """sum(above) / sum(below) of the units, with its 95% interval; None for fewer than FEWEST units.

    The draws come from a fixed seed, so that the same text gives the same interval.

    >>> bootstrap(np.arange(1, 101), np.arange(1, 101))
    Interval(ratio=1.0, low=1.0, high=1.0)
    """
    n = len(above)
    if n < FEWEST or not below.sum():
        return None
    drawn = np.random.default_rng(0).integers(0, n, (DRAWS, n))
    ratios = above[drawn].sum(1) / np.maximum(1, below[drawn].sum(1))
    low, high = np.quantile(ratios, (0.025, 0.975)).tolist()
    return Interval(float(above.sum() / below.sum()), low, high)
