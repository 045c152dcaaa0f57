"""Tables of results: plain rows, written as JSON and Markdown.

>>> table = Table("sizes", "Sizes", (Column("token", "token"), Column("count", "count")), [(Token(5, b" a"), 1200)])
>>> print(table.to_markdown())
### Sizes
<BLANKLINE>
| token | count |
| :-- | --: |
| `" a"` 5 | 1,200 |
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal

from ..errors import UsageError, checks_methods

if TYPE_CHECKING:
    import pandas

Best = Literal["", "min", "max"]
Kind = Literal["text", "sample", "figure", "token", "count", "number", "share", "ios"]
NOTEBOOK_ROWS = 20  # of a list in a notebook
NUMERIC = frozenset(("count", "number", "share", "ios"))


@dataclass(frozen=True, slots=True)
class Token:
    """A token in a table cell: its id and its bytes."""

    id: int
    content: bytes

    def __str__(self) -> str:
        return quoted(self.content)


@dataclass(frozen=True, slots=True)
class Column:
    """The name of a column and the type of its cells, each of which may be None.

    kind: the type of the cells and their form.
        "text": str.
        "sample": str, shown with its white space.
        "figure": Figure or str.
        "token": `Token`.
        "count": int, shown with commas.
        "number": float.
        "share": float from 0 to 1, shown as a percentage.
        "ios": float from 0 to 1, shown as it is.
    help: the meaning of the column, in one line.
    json_key: the name in JSON; by default `name` in snake_case, with "_share" for a share.
    best: "min" or "max" if the best figure of the column is marked.
    """

    name: str
    kind: Kind = "text"
    help: str = ""
    digits: int = 2
    json_key: str = ""
    best: Best = ""

    @property
    def key(self) -> str:
        """The name of the column in JSON."""
        plain = re.sub(r"\W+", "_", self.name.lower().replace("é", "e")).strip("_")
        share = self.kind == "share" and not plain.endswith("share")
        return self.json_key or plain + "_share" * share


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure in a table whose rows differ in kind. column: its form."""

    value: int | float | None
    column: Column

    def __str__(self) -> str:
        return "unknown" if self.value is None else cell_text(self.value, self.column)


Cell = str | int | float | Token | Figure | None


@checks_methods
@dataclass(slots=True, repr=False)
class Table:
    """Rows under named columns.

    key: a name for programs. note: an explanation of the rows.
    listing: whether this is a list of tokens that may be long, of which only the first rows are shown.
    total: the number of rows before the table was cut; None if it was not.
    best_in_rows: "min" or "max" if the best figure of each row is marked, where the columns are tokenizers.
    """

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: Sequence[tuple[Cell, ...]]
    note: str = ""
    listing: bool = False
    total: int | None = None
    best_in_rows: Best = ""

    @property
    def is_overview(self) -> bool:
        """True if the table lists names and values and has no headings."""
        return any(column.kind == "figure" for column in self.columns)

    @property
    def shown(self) -> str:
        """The rows of a table that was cut, as "first 20 of 300"; "" for a whole table."""
        cut = self.total is not None and self.total > len(self.rows)
        return f"first {len(self.rows):,} of {self.total:,}" if cut else ""

    def column(self, name: str) -> list[Cell]:
        """Return the cells of a column, from top to bottom. Raises UsageError if there is no such column."""
        names = [column.name for column in self.columns]
        if name not in names:
            raise UsageError(f"no column {name!r}; there are {', '.join(names)}")
        i = names.index(name)
        return [row[i] for row in self.rows]

    def pairs(self, key: str, value: str) -> dict[Cell, Cell]:
        """Return the cells of two columns, `value` by `key`."""
        return dict(zip(self.column(key), self.column(value), strict=True))

    def head(self, length: int | None) -> Table:
        """Return this table, cut to its first `length` rows if it is a list (None: not cut)."""
        if length is None or not self.listing or len(self.rows) <= length:
            return self
        return replace(self, rows=self.rows[:length], total=len(self.rows) if self.total is None else self.total)

    def best(self) -> set[tuple[int, int]]:
        """Return the (row, column) of the best figures of each column or row that has a best one. Figures of equal text are equal."""
        rows, columns = range(len(self.rows)), range(len(self.columns))
        lines = [(column.best, [(row, i) for row in rows]) for i, column in enumerate(self.columns)]
        lines += [(self.best_in_rows, [(row, i) for i in columns[1:]]) for row in rows]
        marked = set()
        for best, cells in lines:
            figures = {(row, i): cell for row, i in cells if isinstance(cell := self.rows[row][i], (int, float))}
            texts = {(row, i): cell_text(cell, self.columns[i]) for (row, i), cell in figures.items()}
            if best and len(set(texts.values())) > 1:
                first = (max if best == "max" else min)(figures, key=figures.__getitem__)
                marked |= {cell for cell, text in texts.items() if text == texts[first]}
        return marked

    def __repr__(self) -> str:
        return f"<Table {self.key!r}: {self.title}, {len(self.rows):,} rows of {len(self.columns)}>"

    def _repr_html_(self) -> str:
        """Return the table for a notebook, lists cut to NOTEBOOK_ROWS."""
        table = self.head(NOTEBOOK_ROWS)
        head = "".join(f"<th>{escape(column.name)}</th>" for column in table.columns)
        rows = (map(cell_text, row, table.columns) for row in table.rows)
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        more = f"<p>The {table.shown} rows.</p>" if table.shown else ""
        return f"<table><caption>{escape(self.title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a pandas DataFrame: figures as numbers, tokens as their bytes."""
        import pandas

        rows = [[cell.content if isinstance(cell, Token) else _json_cell(cell) for cell in row] for row in self.rows]
        return pandas.DataFrame(rows, columns=[column.name for column in self.columns])

    def to_json(self) -> dict[str, object]:
        """Return the table as values for json.dumps: tokens as {"id", "text", "hex"}."""
        names = [column.key for column in self.columns]
        return {
            "key": self.key,
            "title": self.title,
            "note": self.note,
            "total": len(self.rows) if self.total is None else self.total,
            "rows": [dict(zip(names, map(_json_cell, row), strict=True)) for row in self.rows],
        }

    def to_markdown(self, *, level: int = 3) -> str:
        """Return the table as GitHub-flavoured Markdown under a heading of `level`."""
        lines = [f"{'#' * level} {escape_markdown(self.title)}", ""]
        if self.note:
            lines += [escape_markdown(self.note), ""]
        lines.append(_markdown_row(escape_markdown(column.name) for column in self.columns))
        lines.append(_markdown_row("--:" if column.kind in NUMERIC else ":--" for column in self.columns))
        best = self.best()
        for number, row in enumerate(self.rows):
            cells = map(_markdown_cell, row, self.columns)
            lines.append(_markdown_row(f"**{cell}**" if (number, i) in best else cell for i, cell in enumerate(cells)))
        if self.shown:
            lines += ["", f"The {self.shown} rows."]
        return "\n".join(lines)


def cell_text(value: Any, column: Column) -> str:
    """Return a cell as plain text, for the terminal and the page."""
    if value is None:
        return ""
    if column.kind == "sample":
        return quoted(value.encode())
    if column.kind == "count":
        return f"{value:,}"
    if column.kind == "number":
        return f"{value:,.{column.digits}f}"
    if column.kind == "share":
        return f"{100 * value:.{column.digits}f}%"
    if column.kind == "ios":
        # Truncated, not rounded: 0.9996 must not read as 1, which means that the token never occurs alone.
        return f"{int(value * 1000) / 1000:.3f}"
    return str(value)


def quoted(data: bytes) -> str:
    r"""Return `data` between quotation marks, with the escapes of Python; \xHH is a byte that is not part of a character.

    >>> print(quoted(b' "\n\xff'))
    " \"\n\xff"
    """

    def shown(character: str) -> str:
        code = ord(character)
        if character.isprintable():
            return "\\" + character if character in '"\\' else character
        if 0xDC80 <= code <= 0xDCFF:  # a byte
            return f"\\x{code - 0xDC00:02x}"
        return f"\\u{code:04x}" if 0x80 <= code <= 0xFF else repr(character)[1:-1]

    return f'"{"".join(map(shown, data.decode("utf-8", "surrogateescape")))}"'


def _json_cell(value: Any) -> Any:
    if isinstance(value, Token):
        return {"id": value.id, "text": value.content.decode("utf-8", "replace"), "hex": value.content.hex()}
    return value.value if isinstance(value, Figure) else value


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _markdown_cell(value: Any, column: Column) -> str:
    if isinstance(value, Token):
        return f"{_code(quoted(value.content))} {value.id}"
    if column.kind == "sample" and value is not None:
        return _code(cell_text(value, column))
    return escape_markdown(cell_text(value, column))


def _code(text: str) -> str:
    text = text.replace("|", "\\|")
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{text}{fence}"


def escape_markdown(text: str) -> str:
    for sign in "\\`*_<>|":
        text = text.replace(sign, "\\" + sign)
    return text
