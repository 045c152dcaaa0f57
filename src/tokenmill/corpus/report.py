"""What a cleaning run did: documents in, kept and dropped by reason, bytes, and what was removed most often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from ..sources.find import Skip

LISTED_SKIPS = 1_000  # of a report; all are counted
# How many different things removed are told apart in one shard; beyond, the rarest are forgotten.
LISTED_REMOVALS = 10_000


@dataclass
class Tally:
    """The numbers of one batch, shard or run. They add up in order: the same documents give the same tally."""

    documents_in: int = 0
    documents_kept: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    dropped: Counter = field(default_factory=Counter)
    removed: Counter = field(default_factory=Counter)
    skipped_count: int = 0
    skipped: list[Skip] = field(default_factory=list)

    def skip(self, skip: Skip) -> None:
        """Count a document that could not be read."""
        self.documents_in += 1
        self.skipped_count += 1
        if len(self.skipped) < LISTED_SKIPS:
            self.skipped.append(skip)

    def drop(self, reason: str) -> None:
        """Count a document that was left out on purpose."""
        self.documents_in += 1
        self.dropped[reason] += 1

    def add(self, other: Tally) -> None:
        """Count all that the other counted."""
        for name in ("documents_in", "documents_kept", "bytes_in", "bytes_out", "skipped_count"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.dropped.update(other.dropped)
        self.removed.update(other.removed)
        if len(self.removed) > 2 * LISTED_REMOVALS:
            self.removed = Counter(dict(most_frequent(self.removed, LISTED_REMOVALS)))
        self.skipped += other.skipped[: LISTED_SKIPS - len(self.skipped)]

    def to_json(self) -> dict[str, Any]:
        """The tally as JSON can hold it."""
        values = asdict(self)
        values["dropped"] = dict(sorted(self.dropped.items()))
        values["removed"] = dict(most_frequent(self.removed, LISTED_REMOVALS))
        return values

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Tally:
        """The tally that `to_json` wrote."""
        values = dict(values)
        values["dropped"], values["removed"] = Counter(values["dropped"]), Counter(values["removed"])
        values["skipped"] = [Skip(**skip) for skip in values["skipped"]]
        return cls(**values)


@dataclass(frozen=True)
class CleaningReport:
    """What `clean` did.

    documents_in: all documents met; the sum of those kept, dropped and skipped.
    dropped: how many were left out on purpose, by reason.
    skipped: the first 1,000 that could not be read, with their place; skipped_count: how many there are.
    bytes_in: of the documents as they stand in their sources, decompressed; bytes_out: of the texts kept, as UTF-8.
    most_removed: the ten things most often taken out of documents, with how often.
    removed_by_kind: how often each kind of thing was taken out.
    shards: the files written, each with its documents and its bytes, of text and as stored.
    settings: what the run was told, and the sources.
    """

    kind: str
    documents_in: int
    documents_kept: int
    dropped: dict[str, int]
    skipped_count: int
    skipped: list[Skip]
    bytes_in: int
    bytes_out: int
    most_removed: list[tuple[str, int]]
    removed_by_kind: dict[str, int]
    shards: list[dict[str, Any]]
    settings: dict[str, Any]

    @classmethod
    def of(cls, kind: str, tally: Tally, shards: Iterable[dict], settings: dict[str, Any]) -> CleaningReport:
        kinds: Counter = Counter()
        for what, count in tally.removed.items():
            kinds[what.partition(":")[0]] += count
        values = vars(tally) | {"kind": kind, "dropped": dict(most_frequent(tally.dropped))}
        del values["removed"]
        removed = {"most_removed": most_frequent(tally.removed, 10), "removed_by_kind": dict(most_frequent(kinds))}
        return cls(**values, **removed, shards=list(shards), settings=settings)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> CleaningReport:
        """The report that `to_json` wrote."""
        values = dict(values)
        values["skipped"] = [Skip(**skip) for skip in values["skipped"]]
        values["most_removed"] = [(what, count) for what, count in values["most_removed"]]
        return cls(**values)


def most_frequent(counter: Counter, limit: int | None = None) -> list[tuple[str, int]]:
    """The items of `counter`, the highest count first, then by name: an order that is the same on every machine."""
    return sorted(counter.items(), key=lambda item: (-item[1], item[0]))[:limit]
