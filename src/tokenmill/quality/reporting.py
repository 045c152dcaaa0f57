"""The base of all reports: a verdict, tables, charts and their provenance, as a page, Markdown, JSON and in notebooks."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Literal, TypeVar

from ..counting import WordCounts
from ..errors import UsageError, checks_methods, plural
from ..jobs.outputs import atomic_file
from ..sources.find import can_read_again, is_url
from ..tokenizer import Tokenizer
from .charts import Chart
from .evaluation_text import EvaluationText, Source
from .page import render
from .tables import Column, Table, escape_markdown

PAGE_ROWS, NOTEBOOK_ROWS, MARKDOWN_ROWS = 200, 10, 20  # of each list
LARGEST_PAGE = 1_000_000  # bytes

Level = Literal["act", "look", "good", "ungraded"]
Tile = tuple[str, list[tuple[str, str, bool]]]
Item = TypeVar("Item", Table, Chart)


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


@checks_methods
@dataclass(eq=False, kw_only=True, repr=False)
class Report:
    """A verdict, tables and charts.

    title, lead: the heading of the page, and the line under it. about: the fields of the JSON before the tables.
    summary: the verdict in one sentence.
    tiles: the figures at the top of the page. A tile: a label, and for each tokenizer (name, figure, whether it is the best).
    """

    title: str
    lead: str
    about: dict[str, object]
    tables: list[Table]
    tiles: Sequence[Tile] = ()
    summary: str = ""
    findings: list[Finding] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)
    provenance: Provenance

    def table(self, key: str) -> Table:
        """Return the table named `key`. Raises UsageError if there is none."""
        return _by_key(self.tables, key, "table")

    def chart(self, key: str) -> Chart:
        """Return the chart named `key`. Raises UsageError if there is none."""
        return _by_key(self.charts, key, "chart")

    def svg(self, key: str) -> str:
        """Return the chart named `key` as a self-contained SVG file.

        >>> Path("ios.svg").write_text(inspection.svg("ios"))
        """
        return self.chart(key)._repr_svg_()

    def to_json(self, *, top: int | None = None) -> dict[str, object]:
        """Return everything as values for json.dumps, lists cut to `top` rows."""
        return {
            **self.about,
            "provenance": asdict(self.provenance),
            "summary": self.summary,
            "findings": [asdict(finding) for finding in self.findings],
            "tables": [table.head(top).to_json() for table in self.tables],
            "charts": [asdict(chart) for chart in self.charts],
        }

    def to_markdown(self, *, top: int | None = MARKDOWN_ROWS) -> str:
        """Return everything except the charts as one Markdown page, lists cut to `top` rows."""
        verdict = []
        for finding in self.findings:
            statement = escape_markdown(f"{finding.level.capitalize()}: {finding.statement}")
            verdict.append(f"- **{statement}** {_escape_but_code(finding.details)}")
        pages = [table.head(top).to_markdown(level=2) for table in [*self.tables, *self.provenance.tables()]]
        if verdict:
            first = [escape_markdown(self.summary)] if self.summary else []
            pages = ["## Verdict", *first, "\n".join(verdict), *pages]
        return "\n\n".join([f"# {escape_markdown(self.title)}", *pages]) + "\n"

    def to_html(self, *, top: int | None = PAGE_ROWS) -> str:
        """Return everything as one self-contained page, lists cut to `top` rows, or to fewer if it would exceed 1 MB.

        A `top` above 200, or None for all rows, is never reduced.
        """
        page = render(self, top)
        while top is not None and 1 < top <= PAGE_ROWS and len(page.encode()) > LARGEST_PAGE:
            top //= 2
            page = render(self, top)
        return page

    def save(self, path: str | os.PathLike[str], *, top: int | None = PAGE_ROWS, overwrite: bool = False) -> None:
        """Write the page to an .html file, or the Markdown to an .md file; an existing file is an OutputError."""
        forms = {".html": self.to_html, ".htm": self.to_html, ".md": self.to_markdown}
        form = forms.get(Path(path).suffix.lower())
        if form is None:
            raise UsageError(f"{path} does not end in .html or .md, so the form of the report is not known")
        with atomic_file(path, "w", overwrite=overwrite) as file:
            file.write(form(top=top))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.title}; {plural(len(self.findings), 'finding')}, {plural(len(self.tables), 'table')}>"

    def _repr_html_(self) -> str:
        """Return the page for a notebook, in a frame that keeps its style and script apart from the notebook's."""
        page = escape(self.to_html(top=NOTEBOOK_ROWS))
        return (
            f'<iframe sandbox="allow-scripts" title="{escape(self.title)}" srcdoc="{page}" '
            'style="width: 100%; height: 40rem; border: 1px solid #8888"></iframe>'
        )


def _escape_but_code(text: str) -> str:
    return "`".join(part if i % 2 else escape_markdown(part) for i, part in enumerate(text.split("`")))


def _by_key(items: Sequence[Item], key: str, kind: str) -> Item:
    for item in items:
        if item.key == key:
            return item
    raise UsageError(f"no {kind} {key!r}; there are {', '.join(item.key for item in items)}")
