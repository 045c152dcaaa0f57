"""The options and the result of a count into a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..errors import OptionName, UsageError
from ..jobs.work import EXECUTION
from ..kernels.machine import free_memory
from ..options import Argument, Option, Options, whole_number
from ..sources.blocks import INPUT, ReadOptions
from .weights import Weight, checked_weights, shares

if TYPE_CHECKING:
    from ..split import Splitter
    from .store import CountsMetadata, WrittenTotals

LEAST_MEMORY = 100_000_000  # bytes; Python and its libraries alone take about 70 MB
TRAINING = "Training"  # the heading of its options in help texts


def _weighted(text: str) -> tuple[str, str]:
    """The source and the weight in "SRC=N"."""
    source, sign, weight = text.rpartition("=")
    if not sign:
        raise UsageError(f"{text!r} names no weight; write it like SRC=3/2")
    return source, weight


def known_splits() -> Iterable[str]:
    """The names of the split patterns, for shells."""
    from ..split.names import pattern_names  # late: --help does not need it

    return pattern_names()


Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
# fmt: off
Sources = Annotated[Sequence[str | os.PathLike[str]], Argument("Files, folders, globs, URLs, plain or compressed; - is standard input.")]
Split = Annotated[Sequence[str], Option("Split pattern: llama3 (default), cl100k, o200k, ..., the name of an encoding or model that uses it, or a regular expression. If repeated, each cuts the pretokens of the one before.", section=TRAINING, known=known_splits)]
Binary = Annotated[Literal["error", "skip", "count"], Option("For a file that is not text: error, skip, or count its bytes.", section=INPUT)]
MemoryLimit = Annotated[str | int | None, Option("Memory for counting, e.g. 4GB; larger tables spill to disk. [default: half of what is free]", section=EXECUTION)]
MinCount = Annotated[int, Option("Leave out pretokens with a lower total count.", min=1, section=TRAINING)]
Weights = Annotated[Mapping[str, Weight] | Iterable[tuple[str, Weight]], Option("How much the text of a source counts, e.g. code/=1/2 (others: 1). Repeatable.", "--weight", metavar="SRC=N", parse=_weighted, many=True, section=INPUT)]
SpecialTokens = Annotated[Iterable[str], Option("A special token, cut out of the text. Repeatable.", "--special-token", section=TRAINING)]
# fmt: on


@dataclass(frozen=True)
class CountOptions(Options):
    """Options of counting.

    min_count: leave out pretokens with a lower count. It applies at the end, so the result is exact.
    memory_limit: memory for the tables, in bytes or as text such as "4GB". None is half of the free memory, or 1 GB for
        each task on Ray. Larger tables spill to disk. The result does not depend on it.
    binary: the reaction to a file that has NUL bytes in its first 64 KiB, or more than a third of them not UTF-8:
        "error" raises InputError, "skip" leaves it out, "count" counts its bytes.
    weights: the weight of each occurrence, by source: a mapping of files, folders or globs to numbers or text such as "3/2".
        Sources without a weight count once. The counts are multiplied by the common denominator, so they are exact
        integers; `WordCounts.scale` is that denominator. min_count is compared with the weighted count; 1 keeps all.
    """

    min_count: MinCount = 1
    memory_limit: MemoryLimit = None
    read: ReadOptions = field(default_factory=ReadOptions)
    binary: Binary = "error"
    weights: Weights = ()  # a mapping; afterwards a tuple of (source, "3/2")

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "weights", checked_weights(self.weights or ()))


@dataclass(frozen=True)
class CountSummary:
    """Result of a count into a folder.

    pretokens: the sum of the counts, as weighted.
    spills: the number of times that the tables were spilled to disk.
    resumed_bytes: the bytes of text that an earlier, interrupted call had counted.
    skipped: the number of files, documents and folders that could not be read and were left out (see on_skip).
    pruned: the number of distinct pretokens that `min_count` left out.
    shares: with weights, a row for each source: "source", "weight", "bytes" before weighting, and "share" of the weighted text.
    """

    documents: int
    total_bytes: int
    pretokens: int
    distinct: int
    spills: int = 0
    resumed_bytes: int = 0
    skipped: int = 0
    shares: Sequence[dict[str, Any]] = ()
    pruned: int = 0
    seconds: float = 0.0


def summary_of(metadata: CountsMetadata, totals: WrittenTotals, **more: Any) -> CountSummary:
    """The result of a count, from the metadata of its files and the totals of their rows."""
    return CountSummary(
        metadata.documents,
        metadata.total_bytes,
        totals.pretokens // metadata.scale,
        totals.distinct,
        shares=shares(metadata.mixture),
        pruned=totals.pruned,
        **more,
    )


def make_splitter(split: str | Iterable[str] | Splitter) -> Splitter:
    """A Splitter for the name of a split pattern or a regular expression, or for several of them."""
    from ..split import Splitter

    if isinstance(split, Splitter):
        return split
    return Splitter(split) if isinstance(split, str) else Splitter(*split)


def memory_limit_of(limit: str | int | None) -> int:
    """The memory for counting in bytes: the limit, or by default half of the free memory."""
    if limit is None:
        return max(LEAST_MEMORY, free_memory() // 2)
    try:
        size = whole_number(limit)
    except UsageError as error:
        raise UsageError(OptionName("memory_limit"), f": {error}") from None
    if size < LEAST_MEMORY:
        raise UsageError(OptionName("memory_limit"), f" is {limit}; it must be at least {LEAST_MEMORY // 10**6}MB")
    return size
