"""Documents: one text with its source and id; and which reader a source gets.

A reader works in two steps, so that the second can run in other processes:

- `records(stream, options)` cuts a stream into records, the raw bytes of one document each, in constant memory. What
  it cannot cut it yields as a Skip.
- `document(record, options)` makes a Document of a record, or a Drop where the record is of a kind that is left out (a
  redirect). It raises Damaged where the record is no document at all.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, Protocol, cast

from ..errors import InputError, UsageError
from .find import OnSkip, Skip, Source, find_sources, open_source, suffix_of
from .streams import SourceStream

__all__ = [
    "FORMATS",
    "Damaged",
    "Document",
    "Drop",
    "ReadOptions",
    "Reader",
    "Record",
    "decode",
    "document_of",
    "read_documents",
    "read_records",
    "too_long",
]

FORMATS = ("text", "jsonl", "parquet", "wikipedia", "stackexchange")
UNITS = ("line", "blank", "separator", "file")
MAX_DOCUMENT_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Document:
    """One text, where it comes from, and what it is called there.

    source: the file or URL it was read from.
    id: its name in that source: a page's id, a line's number, the value of a column.
    title: a page's title; "" where there is none.
    """

    text: str
    source: str
    id: str
    title: str = ""


class Record(NamedTuple):
    """The raw bytes of one document.

    format: the reader that made it.
    position: where it stands in its source, for messages: "line 7".
    context: what the reader found out about the whole source and needs for each of its records.
    """

    format: str
    source: str
    position: str
    data: bytes
    id: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class Drop:
    """A record that is left out on purpose: reason is one of a few words that a report can count."""

    reason: str


class Damaged(Exception):
    """A record that cannot be read as a document; the message says why."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How sources are cut into documents.

    unit: what a document is in text files: "line", "blank" (blank lines separate them), "separator", or "file".
    separator: the text between two documents, for unit "separator".
    field: the field of JSON lines that holds the text.
    column: the column of Parquet that holds the text.
    max_document_bytes: longer documents are skipped, which bounds the memory; None for no bound.

    >>> ReadOptions(unit="page")
    Traceback (most recent call last):
    tokenmill.errors.UsageError: unit is 'page'; known are line, blank, separator, file
    """

    unit: str = "line"
    separator: str = ""
    field: str = "text"
    column: str = "text"
    max_document_bytes: int | None = MAX_DOCUMENT_BYTES

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise UsageError(f"unit is {self.unit!r}; known are {', '.join(UNITS)}")
        if (self.unit == "separator") != bool(self.separator):
            raise UsageError("a separator and the unit 'separator' go together: give both or neither")
        if self.max_document_bytes is not None and self.max_document_bytes < 1:
            raise UsageError(f"max_document_bytes is {self.max_document_bytes}; it must be at least 1, or None")


class Reader(Protocol):
    """What each reader module has."""

    def records(self, stream: SourceStream, options: ReadOptions) -> Iterator[Record | Skip]: ...

    def document(self, record: Record, options: ReadOptions) -> Document | Drop: ...


def read_documents(
    sources: str | os.PathLike | Iterable[str | os.PathLike],
    format: str | None = None,
    *,
    unit: str = "line",
    separator: str = "",
    field: str = "text",
    column: str = "text",
    max_document_bytes: int | None = MAX_DOCUMENT_BYTES,
    on_skip: OnSkip | None = None,
) -> Iterator[Document]:
    """Stream the documents of files, folders, globs and URLs, in order and in constant memory.

    format: text, jsonl, parquet, wikipedia or stackexchange; None tells it from each source's name and first bytes.
    unit, separator, field, column, max_document_bytes: see ReadOptions.
    on_skip: called for everything that could not be read; without it the first such thing is an InputError.

    Wikipedia pages are those of the main namespace that are no redirects, as wikitext; posts are HTML. The cleaners
    make plain text of both.
    """
    options = ReadOptions(unit, separator, field, column, max_document_bytes)
    for source in find_sources(sources, on_skip):
        for record in read_records(source, format, options):
            try:
                if isinstance(record, Skip):
                    raise Damaged(record.reason)
                document = document_of(record, options)
            except Damaged as error:
                skip = Skip(record.source, record.position, str(error))
                if on_skip is None:
                    raise InputError(str(skip)) from error
                on_skip(skip)
                continue
            if isinstance(document, Document):
                yield document


def read_records(
    source: Source,
    format: str | None,
    options: ReadOptions,
    opened: Callable[[SourceStream], object] | None = None,
) -> Iterator[Record | Skip]:
    """The records of one source. Damage that ends its reading is the last thing yielded, as a Skip.

    opened: called with the stream once it is open, for those who want to know how far it is read.
    """
    name = os.fspath(source)
    try:
        with open_source(source) as stream:
            if opened is not None:
                opened(stream)
            yield from _reader(format or _format_of(stream)).records(stream, options)
    except InputError as error:
        yield Skip(name, "", str(error).removeprefix(f"{name}: "))


def document_of(record: Record, options: ReadOptions) -> Document | Drop:
    """The document in a record, or why it is left out; raises Damaged where it is none."""
    return _reader(record.format).document(record, options)


def decode(data: bytes) -> str:
    """The text of UTF-8 `data`, which is the only encoding of text here; raises Damaged where it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Damaged(f"not UTF-8: the byte 0x{data[error.start]:02x} at {error.start:,} ({error.reason})") from error


def too_long(limit: int | None) -> str:
    """Why a document of more than `limit` bytes is skipped."""
    return f"longer than {limit:,} bytes. If it is one document, raise max_document_bytes"


@cache
def _reader(format: str) -> Reader:
    if format not in FORMATS:
        raise UsageError(f"the format {format!r} is not known; known are {', '.join(FORMATS)}")
    return cast(Reader, importlib.import_module(f".{format}", __package__))


def _format_of(stream: SourceStream) -> str:
    """The format that a source's name tells, or else its first bytes; text where neither does."""
    suffix = suffix_of(stream.source)
    if suffix in (".jsonl", ".ndjson", ".json"):
        return "jsonl"
    if suffix in (".parquet", ".pq"):
        return "parquet"
    if suffix == ".7z":
        return "stackexchange"
    head = stream.peek(4096)[:4096]
    if head.startswith(b"PAR1"):
        return "parquet"
    if re.match(rb"(\xef\xbb\xbf)?\s*<", head):
        if b"<mediawiki" in head:
            return "wikipedia"
        if b"<posts>" in head:
            return "stackexchange"
    return "text"
