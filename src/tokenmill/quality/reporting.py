"""The base of all reports: a verdict, tables, charts and their provenance, as a page, Markdown, JSON and in notebooks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from pathlib import Path
from typing import TypeVar

from ..errors import UsageError, checks_methods, plural
from ..jobs.outputs import atomic_file
from .charts import Chart
from .content import ReportContent
from .page import render
from .tables import Table, escape_markdown

PAGE_ROWS, NOTEBOOK_ROWS, MARKDOWN_ROWS = 200, 10, 20  # of each list
LARGEST_PAGE = 1_000_000  # bytes

Item = TypeVar("Item", Table, Chart)


@checks_methods
@dataclass(eq=False, kw_only=True, repr=False)
class Report(ReportContent):
    """A verdict, tables and charts.

    title, lead: the heading of the page, and the line under it. about: the fields of the JSON before the tables.
    summary: the verdict in one sentence.
    tiles: the figures at the top of the page. A tile: a label, and for each tokenizer (name, figure, whether it is the best).
    """

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
