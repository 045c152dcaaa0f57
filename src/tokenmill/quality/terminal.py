"""Tables for a terminal of any width. Figures are never cut or wrapped.

Each column is as wide as its contents. If the table is too wide, headings wrap between words, then text folds. If it is still
too wide, the table is turned: a line for each cell, and an empty line after each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from .tables import NUMERIC, Column, Table, Token, cell_text

GAP = 2  # between columns
NARROWEST = 10  # the least width of a column of text
NAMES = 16  # the least width of the first column, which names the rows


def lines_of(table: Table, width: int) -> list[Text]:
    """Return the title and the table in lines of at most `width`. Long cells of a turned table need more."""
    title = Text(table.title, "bold")
    if not table.rows:
        return [title + Text(": none")]
    if table.shown:
        title += Text(f", the {table.shown}", "not bold")
    rows = [[_cell(value, column) for value, column in zip(row, table.columns, strict=True)] for row in table.rows]
    heads = [Text("" if table.is_overview else column.name) for column in table.columns]
    widths, lines = _widths(table.columns, heads, rows, width), [title]
    if widths is None:
        for row in rows:
            named = zip(table.columns, row, strict=True)
            lines += [Text.assemble((f"{column.name}: ", "dim"), cell) for column, cell in named] + [Text()]
        return lines
    shown = rows if table.is_overview else [heads, *rows]
    return lines + [line for row in shown for line in _row(table.columns, row, widths)]


def _cell(value: object, column: Column) -> Text:
    cell = Text(cell_text(value, column))
    return cell + Text(f" {value.id}", "dim") if isinstance(value, Token) else cell


def _widths(
    columns: Sequence[Column], heads: Sequence[Text], rows: Sequence[Sequence[Text]], width: int
) -> list[int] | None:
    """Return the width of each column; None if they do not fit."""
    widths, wanted = [], []
    for i, column in enumerate(columns):
        cells = max(cell_len(row[i].plain) for row in rows)
        words = max(map(cell_len, heads[i].plain.split()), default=0)
        widths.append(max(words, cells if column.kind in NUMERIC else min(cells, NARROWEST if i else NAMES)))
        wanted.append(max(cells, cell_len(heads[i].plain), 1))
    room = width - GAP * (len(columns) - 1) - sum(widths)
    if room < 0:
        return None
    while room and widths != wanted:  # widen the column that is the narrowest in relation to its contents
        i = max(range(len(widths)), key=lambda i: (wanted[i] > widths[i], wanted[i] / widths[i]))
        widths[i] += 1
        room -= 1
    return widths


def _row(columns: Sequence[Column], row: Sequence[Text], widths: Sequence[int]) -> Iterator[Text]:
    console = Console(width=max(widths))
    cells = [list(cell.wrap(console, width, overflow="fold")) for cell, width in zip(row, widths, strict=True)]
    for number in range(max(map(len, cells))):
        line = Text()
        for column, cell, width in zip(columns, cells, widths, strict=True):
            text = cell[number] if number < len(cell) else Text()
            text.rstrip()
            room = Text(" " * max(0, width - text.cell_len))
            line += (room + text if column.kind in NUMERIC else text + room) + Text(" " * GAP)
        line.rstrip()
        yield line
