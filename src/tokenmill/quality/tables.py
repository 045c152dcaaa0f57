"""Tables: what every judgement is given as. Plain rows, and their forms as JSON and Markdown.

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
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

__all__ = ["Column", "Figure", "Table", "Token", "cell_text", "quoted", "visible"]

Kind = Literal["text", "sample", "figure", "token", "tokens", "id", "count", "number", "share", "ios"]
NUMERIC = frozenset(("id", "count", "number", "share", "ios"))


@dataclass(frozen=True, slots=True)
class Token:
    """A token in a table cell: its id and its bytes."""

    id: int
    content: bytes

    def __str__(self) -> str:
        return quoted(self.content)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure in a table whose rows are of several kinds: the value for programs, the text for people."""

    value: Any
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Column:
    """The name of a column and what its cells are.

    kind: "text" str; "sample" str of a text, shown with its white space; "figure" Figure or str; "token" Token; "tokens" a tuple of them; "id" and "count" int; "number" float; "share" float from 0 to 1, shown in per
        cent; "ios" float from 0 to 1, shown as it is. Any cell may be None: nothing to tell.
    help: one line on what the column means.
    """

    name: str
    kind: Kind = "text"
    help: str = ""
    digits: int = 2


@dataclass(slots=True)
class Table:
    """Rows under named columns.

    key: a name for programs. note: what a reader must know to read the rows rightly.
    listing: whether this is a list of tokens that may be long, and is cut to its first rows where it is shown.
    total: how many rows there were before it was cut; None if it was not.
    """

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: list[tuple[Any, ...]]
    note: str = ""
    listing: bool = False
    total: int | None = None

    def column(self, name: str) -> list[Any]:
        """The cells of one column, from top to bottom."""
        place = [column.name for column in self.columns].index(name)
        return [row[place] for row in self.rows]

    def head(self, length: int | None) -> Table:
        """This table, if it is a list, cut to its first `length` rows (None: not cut)."""
        if length is None or not self.listing or len(self.rows) <= length:
            return self
        return replace(self, rows=self.rows[:length], total=len(self.rows) if self.total is None else self.total)

    def to_json(self) -> dict[str, Any]:
        """The table as values for json.dumps: tokens as {"id", "text", "hex"}."""
        names = [column.name for column in self.columns]
        return {
            "key": self.key,
            "title": self.title,
            "note": self.note,
            "total": len(self.rows) if self.total is None else self.total,
            "rows": [dict(zip(names, map(_json_cell, row), strict=True)) for row in self.rows],
        }

    def to_markdown(self, level: int = 3) -> str:
        """The table as GitHub-flavoured Markdown under a heading of `level`."""
        lines = [f"{'#' * level} {_escape(self.title)}", ""]
        if self.note:
            lines += [_escape(self.note), ""]
        lines.append(_markdown_row(_escape(column.name) for column in self.columns))
        lines.append(_markdown_row("--:" if column.kind in NUMERIC else ":--" for column in self.columns))
        for row in self.rows:
            lines.append(_markdown_row(map(_markdown_cell, row, self.columns)))
        if self.total is not None and self.total > len(self.rows):
            lines += ["", f"The first {len(self.rows):,} of {self.total:,} rows."]
        return "\n".join(lines)


def cell_text(value: Any, column: Column) -> str:
    """One cell as plain text, as the terminal and the page show it."""
    if value is None:
        return ""
    if column.kind == "sample":
        return quoted(value.encode())
    if column.kind == "tokens":
        return " ".join(map(str, value))
    if column.kind == "count":
        return f"{value:,}"
    if column.kind == "number":
        return f"{value:,.{column.digits}f}"
    if column.kind == "share":
        return f"{100 * value:.{column.digits}f} %"
    if column.kind == "ios":
        # Cut, not rounded: 0.9996 must not read as 1, which means that the token never stands alone.
        return f"{int(value * 1000) / 1000:.3f}"
    return str(value)


def visible(data: bytes) -> list[tuple[str, str]]:
    """`data` in runs of (kind, text) with nothing invisible in it.

    kind: "text" as it is; "space" white space, the text being its sign; "escape" what has no form of its own
    (control and format characters, bytes that are no character), the text being its code.

    >>> visible(b" a\\n\\xff")
    [('space', '·'), ('text', 'a'), ('space', '⏎'), ('escape', 'FF')]
    """
    runs: list[tuple[str, str]] = []
    for character in data.decode("utf-8", "surrogateescape"):
        kind, text = _sign(character)
        if not runs and kind == "text" and unicodedata.combining(character):
            text = "\u25cc" + character  # a mark alone would sit on whatever stands before it
        if runs and kind == "text" and runs[-1][0] == "text":
            runs[-1] = ("text", runs[-1][1] + text)
        else:
            runs.append((kind, text))
    return runs


def quoted(data: bytes) -> str:
    r"""`data` between quotation marks, as Python would write it; \xHH is a byte that is no character.

    >>> print(quoted(b' "\n\xff'))
    " \"\n\xff"
    """
    out = []
    for character in data.decode("utf-8", "surrogateescape"):
        code = ord(character)
        if 0xDC80 <= code <= 0xDCFF:
            out.append(f"\\x{code - 0xDC00:02x}")
        elif character in '"\\':
            out.append("\\" + character)
        elif character.isprintable():
            out.append(character)
        elif 0x80 <= code <= 0xFF:
            out.append(f"\\u{code:04x}")  # \xHH is for bytes
        else:
            out.append(repr(character)[1:-1])
    return '"' + "".join(out) + '"'


_SIGNS = {" ": "·", "\t": "⇥", "\n": "⏎", "\r": "␍", "\u00a0": "⍽", "\u3000": "□"}


def _sign(character: str) -> tuple[str, str]:
    code = ord(character)
    if character in _SIGNS:
        return "space", _SIGNS[character]
    if 0xDC80 <= code <= 0xDCFF:
        return "escape", f"{code - 0xDC00:02X}"
    if character.isprintable():
        return "text", character
    return "space" if character.isspace() else "escape", f"U+{code:04X}"


def _json_cell(value: Any) -> Any:
    if isinstance(value, Token):
        return {"id": value.id, "text": value.content.decode("utf-8", "replace"), "hex": value.content.hex()}
    if isinstance(value, Figure):
        return value.value
    if isinstance(value, tuple):
        return [_json_cell(item) for item in value]
    return value


def _markdown_row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _markdown_cell(value: Any, column: Column) -> str:
    if isinstance(value, Token):
        return f"{_code(quoted(value.content))} {value.id}"
    if isinstance(value, tuple):
        return " ".join(_markdown_cell(item, column) for item in value)
    if column.kind == "sample" and value is not None:
        return _code(cell_text(value, column))
    return _escape(cell_text(value, column))


def _code(text: str) -> str:
    text = text.replace("|", "\\|")
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{text}{fence}"


def _escape(text: str) -> str:
    for sign in "\\`*_<>|":
        text = text.replace(sign, "\\" + sign)
    return text


def tables_to_markdown(title: str, tables: Sequence[Table]) -> str:
    """All `tables` under one heading."""
    return "\n\n".join([f"# {_escape(title)}", *(table.to_markdown(2) for table in tables)]) + "\n"
