"""Plain text: a document is a line, a run of lines between blank ones, what stands between separators, or a file."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator

from .documents import Document, ReadOptions, Record, decode, too_long
from .find import Skip
from .streams import SourceStream

__all__ = ["document", "lines", "records"]

CHUNK_BYTES = 1 << 16


def records(stream: SourceStream, options: ReadOptions) -> Iterator[Record | Skip]:
    """The documents of a text stream as bytes. Line ends and separators are not part of any document."""
    cut = {"line": _by_line, "blank": _by_blank_line, "separator": _by_separator, "file": _by_file}[options.unit]
    for position, data in cut(stream, options):
        if data is None:
            yield Skip(stream.source, position, too_long(options.max_document_bytes))
        else:
            id = position.rpartition(" ")[2] or os.path.basename(stream.source)
            yield Record("text", stream.source, position, data, id)


def document(record: Record, options: ReadOptions) -> Document:
    return Document(decode(record.data), record.source, record.id)


def lines(stream: SourceStream, limit: int | None) -> Iterator[tuple[int, bytes | None]]:
    """Each line with its number from 1, without its end; None for a line of more than `limit` bytes.

    A byte order mark at the begin is left out.
    """
    size = -1 if limit is None else limit + 2  # room for the line's end
    number = 0
    while line := stream.readline(size):
        number += 1
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        ended = line.endswith(b"\n")
        line = line.rstrip(b"\r\n") if ended else line
        if limit is not None and len(line) > limit:
            while not ended and (rest := stream.readline(CHUNK_BYTES)):
                ended = rest.endswith(b"\n")
            yield number, None
        else:
            yield number, line


def _by_line(stream: SourceStream, options: ReadOptions) -> Iterator[tuple[str, bytes | None]]:
    for number, line in lines(stream, options.max_document_bytes):
        if line or line is None:
            yield f"line {number}", line


def _by_blank_line(stream: SourceStream, options: ReadOptions) -> Iterator[tuple[str, bytes | None]]:
    limit = options.max_document_bytes
    block: list[bytes] = []
    first, size = 0, 0
    for number, line in lines(stream, limit):
        if line is not None and not line.strip():
            if first:
                yield f"line {first}", _joined(block, size, limit)
            block, first, size = [], 0, 0
            continue
        first = first or number
        size += 1 + (limit + 1 if line is None and limit is not None else len(line or b""))
        if limit is None or size - 1 <= limit:
            block.append(line or b"")
        else:
            block.clear()
    if first:
        yield f"line {first}", _joined(block, size, limit)


def _joined(block: list[bytes], size: int, limit: int | None) -> bytes | None:
    return b"\n".join(block) if limit is None or size - 1 <= limit else None


def _by_separator(stream: SourceStream, options: ReadOptions) -> Iterator[tuple[str, bytes | None]]:
    separator, limit = options.separator.encode(), options.max_document_bytes
    rest = bytearray(stream.read(3).removeprefix(codecs.BOM_UTF8))
    start = cut = searched = 0  # where the document begins; how much of it was let go; how far `rest` was searched
    while True:
        at = rest.find(separator, searched)
        if at >= 0:
            yield from _separated(start, None if cut or _beyond(at, limit) else bytes(rest[:at]))
            del rest[: at + len(separator)]
            start, cut, searched = start + cut + at + len(separator), 0, 0
            continue
        searched = max(0, len(rest) - len(separator) + 1)
        if _beyond(searched, limit):  # it is no document any more: keep only what may begin a separator
            del rest[:searched]
            cut, searched = cut + searched, 0
        chunk = stream.read1(CHUNK_BYTES)
        if not chunk:
            yield from _separated(start, None if cut or _beyond(len(rest), limit) else bytes(rest))
            return
        rest += chunk


def _separated(start: int, data: bytes | None) -> Iterator[tuple[str, bytes | None]]:
    if data is None or data.strip():
        yield f"byte {start}", data


def _beyond(size: int, limit: int | None) -> bool:
    return limit is not None and size > limit


def _by_file(stream: SourceStream, options: ReadOptions) -> Iterator[tuple[str, bytes | None]]:
    limit = options.max_document_bytes
    chunks, size = [], 0
    while chunk := stream.read1(CHUNK_BYTES):
        chunks.append(chunk)
        size += len(chunk)
        if _beyond(size, limit):
            yield "", None
            return
    data = b"".join(chunks).removeprefix(codecs.BOM_UTF8)
    if data:
        yield "", data
