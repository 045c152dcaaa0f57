"""Tables: on stdout for the terminal, as Markdown or JSON, and as a page."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from ..errors import UsageError
from ..jobs.work import OUTPUT, Overwrite
from ..options import Option, Options
from . import _options as opt
from ._console import say

if TYPE_CHECKING:
    from ..quality import Report, Table


NARROWEST = 10  # a column of text may be folded to this width


@dataclass(frozen=True, kw_only=True)
class Forms(Options):
    """The forms in which the report is wanted."""

    html: opt.Html = None
    json: Annotated[bool, Option("Print the tables as JSON.", "--json", section=OUTPUT)] = False
    markdown: Annotated[bool, Option("Print the tables as Markdown.", "--markdown", section=OUTPUT)] = False
    overwrite: Overwrite = False

    def check(self) -> None:
        """Raise an error now, not after an hour of counting, for forms that cannot be made."""
        from ..jobs.outputs import refuse_existing

        if self.json and self.markdown:
            raise UsageError("--json and --markdown exclude each other: choose one")
        if self.html is not None:
            refuse_existing(self.html, overwrite=self.overwrite)

    def show(self, found: Report, top: int | None = None) -> None:
        """Write the page or print the report. top: rows of each list, by default 10, in the page 200; 0 for all."""
        found.provenance = replace(found.provenance, command=shlex.join(["tokenmill", *sys.argv[1:]]))
        if self.html is not None:
            from ..jobs.outputs import atomic_file

            with atomic_file(self.html, "w") as file:
                file.write(found.to_html((200 if top is None else top) or None))
            say(f"wrote {self.html}")
        length = (10 if top is None else top) or None
        if self.json:
            import json

            json.dump(found.to_json(length), sys.stdout, ensure_ascii=False, indent=1)
            print()
        elif self.markdown:
            print(found.to_markdown(length), end="")
        elif self.html is None:
            _print_verdict(found)
            for table in found.tables:
                print_table(table.head(length))


def _print_verdict(found: Report) -> None:
    if not found.findings:
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=120)
    console.print(Text("Verdict", "bold"))
    for finding in found.findings:
        console.print(Text.assemble(f"- {finding.statement} ", (f"{finding.meaning} {finding.advice}", "dim")))


def print_table(table: Table) -> None:
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    from ..quality.tables import NUMERIC, Token, cell_text

    console = Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=180)
    console.print()
    if not table.rows:
        console.print(Text(table.title, "bold") + Text(": none"))
        return
    title = Text(table.title, "bold")
    if table.total is not None and table.total > len(table.rows):
        title += Text(f", the first {len(table.rows):,} of {table.total:,}", "not bold")
    console.print(title)
    drawn = Drawn(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    overview = any(column.kind == "figure" for column in table.columns)
    drawn.show_header = not overview
    needed = 0
    for column in table.columns:
        widest = max(len(cell_text(row[len(drawn.columns)], column)) for row in table.rows)
        if column.kind in NUMERIC:
            widest = max(widest, *map(len, column.name.split()))
            drawn.add_column(Text(column.name), justify="right", min_width=widest)
        else:
            drawn.add_column(Text(column.name), overflow="fold")
            widest = min(widest, NARROWEST)
        needed += widest + 2
    rows = []
    for row in table.rows:
        cells = [Text(cell_text(value, column)) for value, column in zip(row, table.columns, strict=True)]
        ids = [Text(f" {value.id}" if isinstance(value, Token) else "", "dim") for value in row]
        rows.append([cell + id for cell, id in zip(cells, ids, strict=True)])
        drawn.add_row(*rows[-1])
    if needed <= console.width:
        console.print(drawn)
        return
    for cells in rows:  # too wide, and nothing may be cut: a line for each cell
        for column, cell in zip(table.columns, cells, strict=True):
            console.print(Text.assemble((f"{column.name}: ", "dim"), cell), soft_wrap=True)
        console.print()
