"""Tables for a terminal of any width. No figure is ever cut or wrapped.

Each column gets as much as its contents need. Where that is too much, headings wrap between their words, then text folds. Where
even that is too wide, the table is turned: a line for each cell, and an empty line after each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from .tables import NUMERIC, Column, Table, Token, cell_text

GAP = 2  # between columns
NARROWEST = 10  # a column of text is never folded to less,
NAMES = 16  # and the first, which names the rows, not to less than this


def lines_of(table: Table, width: int) -> list[Text]:
    """The table under its title, in lines of at most `width`; where the table is turned, long cells take more."""
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
    """The width of each column; None if they do not fit."""
    least, wanted = [], []
    for place, column in enumerate(columns):
        cells = max(cell_len(row[place].plain) for row in rows)
        words = max(map(cell_len, heads[place].plain.split()), default=0)
        least.append(max(words, cells if column.kind in NUMERIC else min(cells, NARROWEST if place else NAMES)))
        wanted.append(max(cells, cell_len(heads[place].plain), 1))
    room = width - GAP * (len(columns) - 1) - sum(least)
    if room < 0:
        return None
    while room and least != wanted:  # a column at a time, the one with the least room for what it wants
        place = max(range(len(least)), key=lambda place: (wanted[place] > least[place], wanted[place] / least[place]))
        least[place] += 1
        room -= 1
    return least


def _row(columns: Sequence[Column], row: Sequence[Text], widths: Sequence[int]) -> Iterator[Text]:
    console = Console(width=max(widths))
    cells = [list(cell.wrap(console, width, overflow="fold")) for cell, width in zip(row, widths, strict=True)]
    for number in range(max(map(len, cells))):
        line = Text()
        for column, cell, width in zip(columns, cells, widths, strict=True):
            part = cell[number] if number < len(cell) else Text()
            part.rstrip()
            room = Text(" " * max(0, width - part.cell_len))
            line += (room + part if column.kind in NUMERIC else part + room) + Text(" " * GAP)
        line.rstrip()
        yield line
