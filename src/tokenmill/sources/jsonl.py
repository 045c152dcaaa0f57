"""JSON: lines of objects, or one array of objects, with the text in one or several fields.

A line or item without that text is skipped. If a key occurs twice, the last value counts. Lone surrogates
("\\ud800") become U+FFFD, which is counted and reported.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace
from functools import partial

from ..errors import InputError
from ._cut_cy import ArrayLines
from ._json_cy import field_columns
from .blocks import BY_FIELD, FIELD_BREAK, Block, Column, Damaged, Document, ReadOptions, Span
from .find import Source
from .streams import Pause
from .text import CutSource

LONG_NUMBER = 4000  # digits; Python refuses to make an int of a few more
JSON_KINDS: dict[type, str] = {
    type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array",
    dict: "an object",
}  # fmt: skip
MISSING = object()


def document(block: Block, i: int, options: ReadOptions) -> Document:
    """Return the text of an object, with its "id" and "title". Of several fields, null and empty ones are left out."""
    fields, line = options.fields, block.data_of(i).decode()
    try:
        value = json.loads(line, parse_int=lambda digits: int(digits[:LONG_NUMBER]))
    except RecursionError as error:
        raise Damaged("JSON that is nested too deeply") from error
    except ValueError as error:
        raise Damaged(f"not JSON: {_why_not_json(line, error)}") from error
    if not isinstance(value, dict):
        raise Damaged(f"JSON, but {JSON_KINDS[type(value)]}; expected an object with the field {fields[0]!r}")
    texts = [value.get(field, MISSING) for field in fields]
    if len(fields) > 1 and any(isinstance(text, str) for text in texts):
        texts = ["" if text is None else text for text in texts]
    for field, text in zip(fields, texts, strict=True):
        if not isinstance(text, str):
            has = "is missing" if text is MISSING else f"is {JSON_KINDS[type(text)]}, not text"
            others = ", ".join(repr(name[:30]) for name in list(value)[:8]) or "none"
            raise Damaged(f"the field {field!r} {has}; the fields are {others}. Name the field of the text {BY_FIELD}")
    text, replaced = without_surrogates(FIELD_BREAK.decode().join(filter(None, texts)))
    id, title = value.get("id"), value.get("title")
    id = without_surrogates(str(id))[0] if isinstance(id, (str, int)) else block.name(i)
    title = without_surrogates(title)[0] if isinstance(title, str) else ""
    return Document(text, block.source, id, title, replaced)


def _why_not_json(line: str, error: ValueError) -> str:
    """Return the fault of a line, in the words of Python's json or better."""
    before = line[: error.pos] if isinstance(error, json.JSONDecodeError) else line
    # Python 3.13 and later stop at the comma, earlier versions behind it.
    comma = re.compile(r",\s*([]}]|\Z)").search(line, len(before.rstrip(" \t,")))
    another = str(error).startswith("Extra data")
    if comma is not None and (comma[1] or another) and not line[len(before) : comma.start()].strip():
        return f"a comma after the last value, at {comma.start() + 1:,}. Remove it"
    if line.rstrip()[-1:] in ("{", "[", ","):
        return "the value goes on in the next line. Write each object on one line, or all in one array in a .json file"
    if another:
        return f"another value follows the first, at {len(before) + 1:,}. Write each object on a line of its own, or commas between them in an array"
    return str(error)


class LinesSource(CutSource):
    """JSON lines: each line is a document."""

    format, has_fields = "jsonl", True

    def __init__(self, source: Source, options: ReadOptions, span: Span | None = None, ids: bool = False) -> None:
        super().__init__(source, replace(options, unit="line", separator=""), span)
        self._ids = ids

    def _fill(self, block: Block) -> None:
        super()._fill(block)
        block.parse = partial(_parse, options=self._options, ids=self._ids)


class ArraySource(LinesSource):
    """A JSON array, each item on a line by a kernel. `resume_at` is [offset, number of the next item, 1 at the end]."""

    def __init__(self, source: Source, options: ReadOptions, ids: bool = False) -> None:
        super().__init__(source, options, ids=ids)
        self.label = "item #"
        self._lines = ArrayLines()
        self._fault = ""
        self.resume_at = [0, 0, 0]  # the line before the bracket has the number 0

    def _open(self, pause: Pause) -> None:
        super()._open(pause)
        position, number, self._lines.ended = self.resume_at
        self._lines.depth, self._lines.items = int(position > 0), max(0, number - 1)

    def _fill(self, block: Block) -> None:
        super()._fill(block)
        self.resume_at = [*self.resume_at, int(self._lines.ended)]

    def _read_on(self, block: Block) -> tuple[int, bool]:
        """As in StreamSource. A fault of the array raises InputError at the next call, after the items before it."""
        if self._fault:
            raise InputError(f"{self.name}: {self._fault}")
        start = len(self._rest)
        length, done = super()._read_on(block)
        end = self._lines.turn(block.buffer, start, length) if start < length else length
        if self._lines.missing:
            self._fault = f"not JSON: a comma after item {self._lines.items:,}, and no item after it. Remove it."
        elif bytes(memoryview(block.buffer)[end:length]).strip(b" \t\r\n"):
            self._fault = "there is more behind the end of the JSON array."
        elif done and not self._lines.ended:
            self._fault = "the JSON array does not end. Fetch the file again."
        return end, done and not self._fault


def _parse(block: Block, options: ReadOptions, ids: bool) -> None:
    """Replace the objects of a block by their texts. Python's json reads those that the kernel cannot read."""
    fields = tuple(dict.fromkeys((*options.fields, *(("id", "title") if ids else ()))))
    values, odd = field_columns(block.data, block.ends, tuple(name.encode() for name in fields))
    columns = dict(zip(fields, itertools.starmap(Column, values), strict=True))
    texts = [columns[field] for field in options.fields]
    if ids:
        title = columns["title"]
        block.names, block.titles = columns["id"], title._replace(kinds=title.kinds.replace(b"\2", b"\0"))
    if not odd and len(texts) == 1:
        block.data, block.ends, _ = texts[0]
        return
    if len(texts) > 1:
        odd = [i for i, kinds in enumerate(zip(*(column.kinds for column in texts), strict=True)) if {*kinds} != {1}]
    rows = zip(*(column.cells() for column in texts), strict=True)
    block.set_texts([FIELD_BREAK.join(filter(None, row)) for row in rows], odd, partial(document, options=options))


def without_surrogates(text: str) -> tuple[str, int]:
    """Return `text` with pairs of surrogates joined and lone ones replaced by U+FFFD, and the number of lone ones."""
    try:
        text.encode()
        return text, 0
    except UnicodeEncodeError:
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole, whole.count("\ufffd") - text.count("\ufffd")
