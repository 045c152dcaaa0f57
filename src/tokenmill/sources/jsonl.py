"""JSON: lines of objects, or one array of objects; the text is in one field of each.

A line or item that has no text there is skipped. If a key occurs twice, the last value counts. Lone surrogates
("\\ud800") become U+FFFD, which is counted and reported.
"""

from __future__ import annotations

import itertools
import json
import re
from array import array
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..errors import InputError, plural
from ._cut_cy import value_end
from ._json_cy import field_columns
from .blocks import BLOCK, FIELD_BREAK, Block, Damaged, Document, ReadOptions, Record, Span, decode, too_long
from .find import Skip, Source
from .text import CutSource

LONG_NUMBER = 4000  # digits; Python refuses to make an int of a few more
SCALAR = re.compile(rb'"(?:[^"\\]|\\.)*"|[^\s,\[\]{}"]+')
JSON_KINDS: dict[type, str] = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}
Column = tuple[Any, Any, Any]  # the bytes of values, their ends and kinds: see `field_columns`
MISSING = object()
SPACE = re.compile(rb"[ \t\r\n]*")


def document(record: Record, options: ReadOptions) -> Document:
    """The text of an object, of its fields that are neither null nor empty if there are several; with the values of "id" and
    "title" if it has them."""
    fields, line = options.fields, decode(record.data)
    try:
        try:
            value = json.loads(line)
        except json.JSONDecodeError:
            raise
        except ValueError:  # a number of more digits than Python reads
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
            raise Damaged(f"the field {field!r} {has}; the fields are {others}. Name the field of the text")
    text, replaced = without_surrogates(FIELD_BREAK.decode().join(filter(None, texts)))
    id, title = value.get("id"), value.get("title")
    id = without_surrogates(str(id))[0] if isinstance(id, (str, int)) else record.id
    title = without_surrogates(title)[0] if isinstance(title, str) else ""
    return Document(text, record.source, id, title, replaced)


def _why_not_json(line: str, error: ValueError) -> str:
    """Return the fault of a line, in the words of Python's json or better."""
    before = line[: error.pos] if isinstance(error, json.JSONDecodeError) else line
    # Python 3.13 and later stop at the comma, earlier versions behind it.
    comma = re.compile(r",\s*([]}]|\Z)").search(line, len(before.rstrip(" \t,")))
    if comma is not None and not line[len(before) : comma.start()].strip():
        return f"a comma after the last value, at {comma.start() + 1:,}. Remove it"
    if line.rstrip()[-1:] in ("{", "[", ","):
        return "the value goes on in the next line. Write each object on one line, or all in one array in a .json file"
    if str(error).startswith("Extra data"):
        return f"another value follows the first, at {len(before) + 1:,}. Write each object on a line of its own"
    return str(error)


class LinesSource(CutSource):
    """JSON lines: each line is a document."""

    format = "jsonl"

    def __init__(self, source: Source, options: ReadOptions, span: Span | None = None, ids: bool = False) -> None:
        super().__init__(source, replace(options, unit="line", separator=""), span)
        self._ids = ids

    def _fill(self, block: Block) -> None:
        super()._fill(block)
        block.parse = partial(_parse, options=self._options, ids=self._ids)


class ArraySource(LinesSource):
    """A JSON array: each item is a document. A place is after the comma that follows an item."""

    def __init__(self, source: Source, options: ReadOptions, ids: bool = False) -> None:
        super().__init__(source, options, ids=ids)
        self.label = "item #"

    def _fill(self, block: Block) -> None:
        block.label = self.label
        items: list[bytes] = []
        limit = self._options.max_document_bytes
        try:
            while not items and not self.done:
                length, self.done = self._read_on(block)
                at, ended = self._items(block.buffer, length, items)
                self._rest = bytes(memoryview(block.buffer)[at:length])
                if ended:
                    self._end_of_array()
                elif self.done:
                    raise InputError(f"{self.name}: the JSON array does not end. Fetch the file again.")
                elif not items and limit is not None and len(self._rest) > limit + BLOCK:
                    raise InputError(f"{self.name}: item {self._cutter.place:,} is {too_long(limit)}")
        finally:
            block.set_documents(items, range(self._cutter.place - len(items), self._cutter.place))
            block.leave_out_long(limit)
            block.parse = partial(_parse, options=self._options, ids=self._ids)

    def _items(self, buffer: bytearray, length: int, items: list[bytes]) -> tuple[int, bool]:
        """Take whole items; where the rest begins, and whether the array has ended."""
        at = 0
        if self._cutter.place == 1 and not self._position() - length + len(self._rest):
            at = _after_space(buffer, 0, length)
            if at == length:
                return 0, False
            at += 1  # the opening bracket
        while True:
            start = _after_space(buffer, at, length)
            if start < length and buffer[start] == 0x5D:
                if self._cutter.place > 1:
                    last = self._cutter.place - 1
                    raise InputError(
                        f"{self.name}: not JSON: a comma after item {last:,}, which is the last. Remove it."
                    )
                return start + 1, True
            end = self._item_end(buffer, start, length)
            after = _after_space(buffer, end, length) if end else length
            if after >= length:
                return at, False
            if buffer[after] not in b",]":
                raise InputError(
                    f"{self.name}: not a JSON array: no comma and no bracket after item {self._cutter.place:,}. "
                    "A .json file must be an array of objects or JSON lines."
                )
            items.append(bytes(memoryview(buffer)[start:end]))
            self._cutter.place += 1
            at = after + 1
            if buffer[after] == 0x5D:
                return at, True

    def _item_end(self, buffer: bytearray, start: int, length: int) -> int:
        """Return the end of the item; 0 if it is not known yet."""
        if start < length and buffer[start] in b"{[":
            return value_end(buffer, start, length)
        match = SCALAR.match(buffer, start, length)
        return 0 if match is None or match.end() == length else match.end()

    def _end_of_array(self) -> None:
        """Nothing but white space may follow."""
        rest = self._rest
        assert self._stream is not None
        while rest:
            if rest.strip(b" \t\r\n"):
                self._rest = b""
                raise InputError(f"{self.name}: there is more behind the end of the JSON array.")
            rest = self._stream.read(BLOCK)
        self._rest, self.done = b"", True


def columns_of(block: Block, *fields: str) -> tuple[dict[str, Column], list[int]]:
    """The columns of the fields of a block of objects, and the numbers of the objects that Python's json has to read."""
    fields = tuple(dict.fromkeys(fields))
    columns, odd = field_columns(block.data, block.ends, tuple(name.encode() for name in fields))
    return dict(zip(fields, columns, strict=True)), odd


def _parse(block: Block, options: ReadOptions, ids: bool) -> None:
    """Put the texts in place of the objects."""
    columns, odd = columns_of(block, *options.fields, *(["id"] if ids else []))
    texts = [columns[field] for field in options.fields]
    names = _names(*columns["id"]) if ids else None
    if odd or len(texts) > 1:
        _join_and_parse_odd(block, options, texts, names, odd)
    else:
        block.data, block.ends, _ = texts[0]
        block.names = names


def _names(data: bytes, ends: array, kinds: bytes) -> list[str | None]:
    return [
        data[start:end].decode() if kind else None for start, end, kind in zip([0, *ends], ends, kinds, strict=False)
    ]


def _join_and_parse_odd(
    block: Block, options: ReadOptions, columns: Sequence[Column], names: list[str | None] | None, odd: Sequence[int]
) -> None:
    """Put the texts and names in place of the objects, of which Python's json reads the odd ones, and those whose fields are
    not all strings."""
    values = [[bytes(data[a:b]) for a, b in itertools.pairwise([0, *ends])] for data, ends, _ in columns]
    texts = values[0]
    if len(columns) > 1:
        texts = [FIELD_BREAK.join(filter(None, row)) for row in zip(*values, strict=True)]
        odd = [i for i, kinds in enumerate(zip(*(kinds for *_, kinds in columns), strict=True)) if {*kinds} != {1}]
    changed, first, damaged = 0, "", set()
    for i in odd:
        try:
            read = document(block.record(i), options)
        except Damaged as error:
            block.skips.append(Skip(block.source, block.position(i), str(error)))
            damaged.add(i)
            continue
        texts[i] = read.text.encode()
        if names is not None:
            names[i] = read.id
        if read.replaced:
            changed += read.replaced
            first = first or block.position(i)
    block.set_documents(texts, block.numbers)
    block.names = names
    block.keep_others(damaged)
    if changed:
        reason = f"{plural(changed, 'lone surrogate')} in JSON became U+FFFD, from here on"
        block.skips.append(Skip(block.source, first, reason, left_out=False))


def without_surrogates(text: str) -> tuple[str, int]:
    """`text` with pairs of surrogates joined and lone ones replaced by U+FFFD, and how many those were."""
    try:
        text.encode()
        return text, 0
    except UnicodeEncodeError:
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return whole, whole.count("\ufffd") - text.count("\ufffd")


def _after_space(buffer: bytearray, at: int, length: int) -> int:
    match = SPACE.match(buffer, at, length)
    return match.end() if match else at
