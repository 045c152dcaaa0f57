"""The report of a cleaning run: documents read, kept and dropped by reason, bytes, and removals and changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from ..sources.find import Skip

EXAMPLES = 5  # of the changes of one filter
LISTED_SKIPS = 1_000  # of a report; all are counted
LISTED_REMOVALS = 10_000  # different names of removals in a shard; of more, the rarest are left out
COUNTERS = ("dropped", "removed", "characters")


@dataclass
class Tally:
    """The totals of one document, block, shard or run. Added in order, the same documents have the same tally.

    removed: the number of removals by name, such as "tag: ref" or "urls: example.org".
    characters: for each filter, the number of characters that it removed or replaced.
    examples: for each filter, its first changes: the text before and after.
    """

    documents_in: int = 0
    documents_kept: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    removed: Counter[str] = field(default_factory=Counter)
    characters: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[list[str]]] = field(default_factory=dict)
    skipped_count: int = 0
    skipped: list[Skip] = field(default_factory=list)

    def skip(self, skip: Skip) -> None:
        """Add a skip, and count the document unless it was only changed."""
        self.documents_in += skip.left_out
        self.skipped_count += skip.left_out
        if len(self.skipped) < LISTED_SKIPS:
            self.skipped.append(skip)

    def drop(self, reason: str) -> None:
        """Count a document that was left out on purpose."""
        self.documents_in += 1
        self.dropped[reason] += 1

    def add(self, other: Tally) -> None:
        """Add the numbers of another tally."""
        for name in ("documents_in", "documents_kept", "bytes_in", "bytes_out", "skipped_count"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in COUNTERS:
            if counts := getattr(other, name):  # for most documents empty
                getattr(self, name).update(counts)
        if len(self.removed) > 2 * LISTED_REMOVALS:
            self.removed = Counter(dict(most_frequent(self.removed, LISTED_REMOVALS)))
        for name, examples in other.examples.items():
            known = self.examples.setdefault(name, [])
            known += examples[: EXAMPLES - len(known)]
        self.skipped += other.skipped[: LISTED_SKIPS - len(self.skipped)]

    def to_json(self) -> dict[str, Any]:
        """Return the tally as values for json.dumps."""
        counters = {name: dict(most_frequent(getattr(self, name), LISTED_REMOVALS)) for name in COUNTERS}
        return vars(self) | counters | {"skipped": [asdict(skip) for skip in self.skipped]}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Tally:
        """Return the tally of the values of `to_json`."""
        counters = {name: Counter(values[name]) for name in COUNTERS}
        return cls(**values | counters | {"skipped": [Skip(**skip) for skip in values["skipped"]]})


@dataclass(frozen=True)
class CleaningReport:
    """Result of `clean`.

    documents_in: the number of documents read: kept, dropped and skipped.
    dropped: the numbers of documents left out on purpose, by reason.
    skipped: the first 1,000 documents that could not be read or were changed; skipped_count: all not read.
    bytes_in: the bytes of all documents in their sources, after decompression; bytes_out: the bytes of the kept texts.
    most_removed: the ten most frequent removals, with their counts.
    removed_by_kind: the number of removals by kind.
    changed: for each filter, the number of "characters" that it removed or replaced in the documents kept, and its
        first "examples": the text before and after.
    shards: the files written, each with its number of documents, its bytes of text and its bytes on disk.
    settings: the options of the run, and the sources.
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
    changed: dict[str, dict[str, Any]]
    shards: list[dict[str, Any]]
    settings: dict[str, Any]

    @property
    def documents_lost(self) -> dict[str, int]:
        """The numbers of documents with text that were dropped or skipped, by reason; redirects do not count."""
        dropped = {reason: n for reason, n in self.dropped.items() if reason.startswith(("no text left", "under "))}
        return dropped | ({"could not be read": self.skipped_count} if self.skipped_count else {})

    @classmethod
    def of(cls, kind: str, tally: Tally, shards: Iterable[dict], settings: dict[str, Any]) -> CleaningReport:
        kinds: Counter[str] = Counter()
        for name, count in tally.removed.items():
            kinds[name.partition(":")[0]] += count
        values = vars(tally) | {
            "dropped": dict(most_frequent(tally.dropped)),
            "most_removed": most_frequent(tally.removed, 10),
            "removed_by_kind": dict(most_frequent(kinds)),
            "changed": {
                name: {"characters": count, "examples": tally.examples[name]}
                for name, count in most_frequent(tally.characters)
            },
        }
        for name in ("removed", "characters", "examples"):
            del values[name]
        return cls(kind, **values, shards=list(shards), settings=settings)

    def to_json(self) -> dict[str, Any]:
        """Return the report as values for json.dumps."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> CleaningReport:
        """Return the report of the values of `to_json`."""
        skipped = [Skip(**skip) for skip in values["skipped"]]
        return cls(**values | {"skipped": skipped, "most_removed": [*map(tuple, values["most_removed"])]})


def most_frequent(counter: Counter[str], limit: int | None = None) -> list[tuple[str, int]]:
    """Return the items of `counter`, the highest count first, then by name: in the same order on every machine."""
    return sorted(counter.items(), key=lambda item: (-item[1], item[0]))[:limit]
