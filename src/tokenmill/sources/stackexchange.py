"""Posts.xml of a StackExchange dump: questions and answers, as HTML."""

from __future__ import annotations

from .blocks import Damaged, Document, Drop, ReadOptions, Record
from .xml import parse

TAG, END, ELEMENT, CONTENT = b"<row ", b"/>", "a row", "a Posts.xml of StackExchange"


def context(head: bytes) -> str:
    return ""


def document(record: Record, options: ReadOptions) -> Document | Drop:
    """A post's body, which is HTML, with its id and its title; answers have none."""
    row = parse(record.data)
    body = row.get("Body")
    if body is None:
        attributes = ", ".join(list(row.attrib)[:5]) or "nothing"
        raise Damaged(f"a row without a Body, but with {attributes}: not a post")
    if not body.strip():
        return Drop("no text")
    return Document(body, record.source, row.get("Id", ""), row.get("Title", ""))
