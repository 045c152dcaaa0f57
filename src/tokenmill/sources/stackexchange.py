"""Posts.xml of a StackExchange dump, alone or inside its .7z: questions and answers, as HTML."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import InputError
from .documents import Damaged, Document, Drop, ReadOptions, Record, too_long
from .find import Skip
from .streams import SourceStream
from .xml import cut, parse

__all__ = ["document", "records"]


def records(stream: SourceStream, options: ReadOptions) -> Iterator[Record | Skip]:
    """Each row as it stands in the dump."""
    for number, (position, data) in enumerate(cut(stream, b"<row ", options.max_document_bytes)):
        if number == 0:
            continue
        if data is None:
            yield Skip(stream.source, f"byte {position}", too_long(options.max_document_bytes))
        elif (end := data.rfind(b"/>")) < 0:
            yield Skip(stream.source, f"byte {position}", "a row without its end")
        else:
            yield Record("stackexchange", stream.source, f"byte {position}", data[: end + 2])
    if number == 0:
        raise InputError(f"{stream.source}: there is no <row> in it, so it is no Posts.xml of StackExchange.")


def document(record: Record, options: ReadOptions) -> Document | Drop:
    """A post's body, which is HTML, with its id and its title; answers have none."""
    row = parse(record.data)
    body = row.get("Body")
    if body is None:
        found = ", ".join(list(row.attrib)[:5]) or "nothing"
        raise Damaged(f"a row without a Body, but with {found}: no post")
    if not body.strip():
        return Drop("no text")
    return Document(body, record.source, row.get("Id", ""), row.get("Title", ""))
