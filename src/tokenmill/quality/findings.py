"""The findings of a report, and its provenance: how it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .tables import Column, Table

Level = Literal["act", "look", "good"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence of a verdict.

    level: "act" where it is worse than all published vocabularies of its size, "look" where it is worse than most or
        depends on the use, "good" otherwise.
    statement: what was found, with its number. threshold: from where on it counts. meaning: why it matters.
    advice: what to do; "" where nothing needs to be done.
    cost: as a share of the tokens of a text or of the rows of an embedding table; findings are in this order.
    """

    key: str
    level: Level
    statement: str
    threshold: str
    meaning: str
    advice: str
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Measured:
    """A text that was measured. nbytes: as stored. sha256: of its files, one after the other; "" where they cannot be read again."""

    name: str
    files: int
    nbytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a report was made, so that others can make it again.

    date: UTC; SOURCE_DATE_EPOCH in the environment sets it. command: empty from Python.
    tokenizers: fingerprints by name.
    """

    version: str
    date: str
    command: str
    tokenizers: Mapping[str, str]
    texts: tuple[Measured, ...]

    def tables(self) -> list[Table]:
        """The same as tables."""
        facts = [("tokenmill", self.version), ("date", self.date), ("command", self.command or "from Python")]
        facts += [(f"tokenizer {name}", hash) for name, hash in self.tokenizers.items()]
        texts = [(of.name, of.files, of.nbytes, of.sha256 or "not read again") for of in self.texts]
        columns = (Column("text"), Column("files", "count"), Column("bytes as stored", "count"), Column("SHA-256"))
        note = "The SHA-256 is that of the files one after the other, as `cat FILES | sha256sum` prints it."
        return [
            Table("made", "This report", (Column("what"), Column("value", "figure")), list(facts)),
            Table("texts", "The texts", columns, list(texts), note),
        ]
