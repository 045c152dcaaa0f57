"""Tables on stdout: for the terminal, as Markdown, as JSON."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    from ..quality import Comparison, Inspection, Table


def check_forms(as_json: bool, as_markdown: bool) -> None:
    if as_json and as_markdown:
        raise UsageError("--json and --markdown exclude each other: choose one")


def show(found: Inspection | Comparison, top: int, as_json: bool, as_markdown: bool) -> None:
    """Print the tables; lists are cut to `top` rows, 0 for all."""
    length = top or None
    if as_json:
        import json

        json.dump(found.to_json(length), sys.stdout, ensure_ascii=False, indent=1)
        print()
    elif as_markdown:
        print(found.to_markdown(length), end="")
    else:
        for table in found.tables:
            _print_table(table.head(length))


def _print_table(table: Table) -> None:
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
    for column in table.columns:
        if column.kind in NUMERIC:
            widest = max(len(cell_text(row[len(drawn.columns)], column)) for row in table.rows)
            width = max(widest, *map(len, column.name.split()))
            drawn.add_column(Text(column.name), justify="right", min_width=width)
        else:
            drawn.add_column(Text(column.name), overflow="fold")
    for row in table.rows:
        cells = []
        for value, column in zip(row, table.columns, strict=True):
            cell = Text(cell_text(value, column))
            if isinstance(value, Token):
                cell += Text(f" {value.id}", "dim")
            cells.append(cell)
        drawn.add_row(*cells)
    console.print(drawn)
