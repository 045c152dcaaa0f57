"""The options and the result of a count into a folder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError
from ..sources.blocks import ReadOptions
from ..split import Splitter
from .text_sources import Binary
from .weights import checked_weights


@dataclass(frozen=True)
class CountOptions:
    """What is counted, and how.

    min_count: leave out pretokens that were seen fewer times. That is exact: it is done at the end.
    memory_limit: bytes, or text such as "4GB", that the tables may take. None is half of the free memory, or 1 GB for
        each task on Ray. Beyond it the tables go to disk. The result does not depend on it.
    approximate_prune: when the tables go to disk, drop the pretokens seen once since the last time. That saves disk.
        Then counts may be too low by at most `Summary.possible_error`, and depend on the memory limit.
    read: how sources are cut into documents; by default a text file is one document.
    binary: what to do with a file that has NUL bytes in its first 64 KiB, or more than a third of them not UTF-8:
        "error" raises InputError, "skip" leaves it out, "count" counts its bytes.
    weights: how much each occurrence counts, by source: a mapping of files, folders or globs to numbers or text such as "3/2".
        Sources without a weight count once. The counts are multiplied by the common denominator, so they are exact
        integers; `WordCounts.scale` is that denominator. min_count is compared with the weighted count; 1 keeps all.
    """

    min_count: int = 1
    memory_limit: str | int | None = None
    approximate_prune: bool = False
    read: ReadOptions = field(default_factory=ReadOptions)
    binary: Binary = "error"
    weights: Any = ()  # a mapping; afterwards a tuple of (source, "3/2")

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", checked_weights(self.weights))
        if self.weights and self.approximate_prune:
            raise UsageError(
                "approximate_prune drops what was seen once, and weights change that; leave one of them out"
            )
        if self.binary not in ("error", "skip", "count"):
            raise UsageError(f"binary is {self.binary!r}; it must be 'error', 'skip' or 'count'")


@dataclass(frozen=True)
class Summary:
    """What was counted into a folder.

    spills: how often the tables went to disk.
    resumed_bytes: how much of the text had been counted by an earlier, interrupted call.
    skipped: how many things could not be read and were left out (see on_skip).
    dropped, possible_error: with approximate_prune, how many pretokens were dropped that had been seen once since the
        last spill, and by how much the count of a pretoken may be too low at most.
    shares: with weights, what each source is of the text: "source", "weight", "bytes" before weighting, and "share" of the
        weighted text.
    """

    documents: int
    total_bytes: int
    pretokens: int
    distinct: int
    spills: int = 0
    resumed_bytes: int = 0
    skipped: int = 0
    dropped: int = 0
    possible_error: int = 0
    shares: Sequence[dict[str, Any]] = ()


def make_splitter(split: str | Iterable[str] | Splitter) -> Splitter:
    """A Splitter for the name of a split pattern or a regular expression, or for several of them."""
    if isinstance(split, Splitter):
        return split
    return Splitter(split) if isinstance(split, str) else Splitter(*split)
