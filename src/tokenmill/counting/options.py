"""The options and the result of a count into a folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..errors import UsageError
from ..sources.blocks import ReadOptions
from ..split import Splitter
from .text_sources import Binary


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
    """

    min_count: int = 1
    memory_limit: str | int | None = None
    approximate_prune: bool = False
    read: ReadOptions = field(default_factory=ReadOptions)
    binary: Binary = "error"

    def __post_init__(self) -> None:
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


def make_splitter(split: str | Iterable[str] | Splitter) -> Splitter:
    """A Splitter for the name of a split pattern or a regular expression, or for several of them."""
    if isinstance(split, Splitter):
        return split
    return Splitter(split) if isinstance(split, str) else Splitter(*split)
