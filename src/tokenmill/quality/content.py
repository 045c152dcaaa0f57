"""The content of a report: a verdict, tables, charts and their provenance."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from ..counting import WordCounts
from ..sources.find import can_read_again, is_url
from ..tokenizer import Tokenizer
from .charts import Chart
from .evaluation_text import EvaluationText, Source
from .tables import Column, Table

Level = Literal["act", "look", "good", "ungraded"]
Tile = tuple[str, list[tuple[str, str, bool]]]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding of a verdict.

    level: "act" if the tokenizer is worse than all published vocabularies of its size, "look" if it is worse than most or if
        that depends on its use, "ungraded" if there is nothing to compare with or too little text, "good" otherwise.
    statement: the finding, with its figure. threshold: the criterion, in words. meaning: the reason why it matters.
    advice: the change to make; "" if none is needed.
    cost: a share of the tokens of a text or of the rows of an embedding table. Findings are sorted by it.
    """

    key: str
    level: Level
    statement: str
    threshold: str
    meaning: str
    advice: str
    cost: float = 0.0

    @property
    def details(self) -> str:
        """The sentences after the statement: threshold, meaning and advice."""
        return f"Threshold: {self.threshold}. {self.meaning} {self.advice}".rstrip()


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured text. nbytes: as stored. sha256: of its files, one after the other; "" if they cannot be read again."""

    name: str
    files: int
    nbytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """The provenance of a report, which others need to reproduce it.

    date: UTC; SOURCE_DATE_EPOCH in the environment sets it. command: empty for a report of Python code.
    tokenizers: fingerprints by name.
    """

    version: str
    date: str
    command: str
    tokenizers: Mapping[str, str]
    texts: tuple[Measured, ...]

    def tables(self) -> list[Table]:
        """The provenance as two tables: of the report, and of its texts."""
        facts = [("tokenmill", self.version), ("date", self.date), ("command", self.command or "from Python")]
        facts += [(f"tokenizer {name}", hash) for name, hash in self.tokenizers.items()]
        texts = [(text.name, text.files, text.nbytes, text.sha256 or "not read again") for text in self.texts]
        columns = (Column("text"), Column("files", "count"), Column("bytes as stored", "count"), Column("SHA-256"))
        note = "The SHA-256 is that of the files one after the other, as `cat FILES | sha256sum` prints it."
        return [
            Table("made", "This report", (Column("what"), Column("value", "figure")), facts),
            Table("texts", "The texts", columns, texts, note),
        ]


def provenance_of(tokenizers: Mapping[str, Tokenizer], text: EvaluationText | None) -> Provenance:
    """Return the provenance of a report on tokenizers, without a command. Reads the text once more."""
    from .. import __version__

    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    now = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    hashes = {name: tok.vocabulary.fingerprint() for name, tok in tokenizers.items()}
    texts = () if text is None else (_hashed(name, source) for name, source in text.sources.items())
    return Provenance(__version__, now.strftime("%Y-%m-%d %H:%M UTC"), "", hashes, tuple(texts))


def _hashed(name: str, source: Source) -> Measured:
    hash, nbytes = hashlib.sha256(), 0
    if isinstance(source, WordCounts):
        for column in (source.arena, source.offsets, source.counts):
            hash.update(column)  # type: ignore[arg-type]
            nbytes += column.nbytes
        return Measured(name, 1, nbytes, hash.hexdigest())
    with contextlib.suppress(OSError):
        if all(can_read_again(path) and not is_url(path) for path in source):
            for path in source:
                with open(path, "rb") as file:
                    hashlib.file_digest(file, lambda: hash)
                    nbytes += file.tell()
            return Measured(name, len(source), nbytes, hash.hexdigest())
    return Measured(name, len(source), 0, "")


@dataclass(eq=False, kw_only=True, repr=False)
class ReportContent:
    """The fields of a `Report`."""

    title: str
    lead: str
    about: dict[str, object]
    tables: list[Table]
    tiles: Sequence[Tile] = ()
    summary: str = ""
    findings: list[Finding] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    provenance: Provenance
