"""JSON lines: one object per line, the text in one of its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator

from .documents import Damaged, Document, ReadOptions, Record, decode, too_long
from .find import Skip
from .streams import SourceStream
from .text import lines

__all__ = ["document", "records"]


def records(stream: SourceStream, options: ReadOptions) -> Iterator[Record | Skip]:
    """The lines as they are: parsing them is the slow part, and is left to `document`."""
    for number, line in lines(stream, options.max_document_bytes):
        if line is None:
            yield Skip(stream.source, f"line {number}", too_long(options.max_document_bytes))
        elif line and not line.isspace():
            yield Record("jsonl", stream.source, f"line {number}", line, str(number))


def document(record: Record, options: ReadOptions) -> Document:
    """The text of a line, with the values of its fields "id" and "title" where it has them."""
    line = decode(record.data)
    try:
        value = json.loads(line)
    except RecursionError as error:
        raise Damaged("JSON that is nested too deeply") from error
    except ValueError as error:
        raise Damaged(f"no JSON: {error}") from error
    if not isinstance(value, dict):
        raise Damaged(f"a JSON {type(value).__name__}, where an object with the field {options.field!r} was expected")
    text = value.get(options.field)
    if not isinstance(text, str):
        has = "nothing" if options.field not in value else f"a {type(text).__name__}"
        others = ", ".join(repr(name[:30]) for name in list(value)[:8]) or "none"
        raise Damaged(f"the field {options.field!r} holds {has}, no text; the fields are {others}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Damaged(f"half a surrogate pair at character {error.start:,}: no Unicode text") from error
    id, title = value.get("id"), value.get("title")
    return Document(
        text,
        record.source,
        str(id) if isinstance(id, (str, int)) else record.id,
        title if isinstance(title, str) else "",
    )
