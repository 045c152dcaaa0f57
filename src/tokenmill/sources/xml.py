"""Cut a large XML dump into its elements by their tags, in constant memory.

A dump is one root with millions of small children. A parser of the whole file stops at the first damage, and expands
the entities that the head declares. Here each child is found by its first tag and parsed alone. A damaged child costs
only itself, and the head, where an entity bomb would stand, never reaches a parser. XML writes each "<" of a text as an
entity, so the tag cannot occur in a text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import InputError, require
from .blocks import BLOCK, Block, Damaged, Document, ReadOptions, StreamSource, too_long
from .find import Skip, Source
from .streams import ByteStream, Pause

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

CHUNK_BYTES = 1 << 18
TITLE = re.compile(rb"<title>([^<]*)</title>")


class DumpSource(StreamSource):
    """An XML dump: each of the elements that begin with a tag is a record.

    reader: the module of the format, with
        TAG, END: how an element begins and ends
        ELEMENT, CONTENT: what messages call an element and the whole dump
        context(head): what the elements need to know of the head
        document(record, options): see documents.py
    """

    label = "byte #"

    def __init__(self, source: Source, options: ReadOptions, reader: ModuleType, ids: bool = False) -> None:
        super().__init__(source, options, ids=ids)
        self.reader = reader
        self.format = reader.__name__.rpartition(".")[2]
        self._next = 0  # where the next element begins

    def _open(self, pause: Pause) -> None:
        super()._open(pause)
        assert self._stream is not None
        if self._start:  # reading goes on in the middle: what the head says is needed all the same
            with ByteStream(self.source, pause) as stream:
                head = next(_cut(stream, self.reader.TAG, self._options.max_document_bytes))[1]
        self._elements = _cut(self._stream, self.reader.TAG, self._options.max_document_bytes)
        first = next(self._elements)[1]  # nothing, where reading goes on
        self._context = self.reader.context((head if self._start else first) or b"")
        self._next = self._start

    def _position(self) -> int:
        return self._next or self._start

    def _fill(self, block: Block) -> None:
        reader, limit = self.reader, self._options.max_document_bytes
        texts: list[bytes] = []
        numbers: list[int] = []
        size = 0
        block.context = self._context
        block.parse = self._parse
        try:
            for position, data in self._elements:
                self._next = position + (len(data) if data is not None else 0)
                if data is None:
                    block.leave_out(position, too_long(limit))
                elif (end := data.rfind(reader.END)) < 0:
                    title = TITLE.search(data)
                    name = f" ({html.unescape(title[1].decode(errors='replace'))})" if title else ""
                    block.leave_out(position, f"{reader.ELEMENT} without its end{name}")
                else:
                    texts.append(data[: end + len(reader.END)])
                    numbers.append(position)
                    size += len(texts[-1])
                if size >= BLOCK:
                    return
            if not self._next:
                tag = reader.TAG.decode().strip(" >")
                raise InputError(f"{self.name}: there is no {tag}> in it, so it is not {reader.CONTENT}.")
            self.done = True
        finally:
            block.set_documents(texts, numbers)

    def _parse(self, block: Block) -> None:
        """Put the texts in place of the elements, without those that are left out on purpose."""
        texts: list[bytes] = []
        numbers: list[int] = []
        names: list[str] = []
        for record, number in zip(block.records(), block.numbers or (), strict=True):
            try:
                document = self.reader.document(record, self._options)
            except Damaged as error:
                block.skips.append(Skip(self.name, record.position, str(error)))
                continue
            if isinstance(document, Document):
                texts.append(document.text.encode())
                numbers.append(number)
                names.append(document.id)
        block.set_documents(texts, numbers)
        block.names = names


def _cut(stream: ByteStream, tag: bytes, limit: int | None) -> Iterator[tuple[int, bytes | None]]:
    """The bytes from each `tag` to the next, with the position where they begin; None if they are more than `limit`.

    First comes what is before the first tag: the head, or nothing. After the last element comes the tail.
    """
    buffer = bytearray()
    start = stream.position
    cut_off = 0  # how many bytes of the element were dropped, since they were too many
    searched = 0
    while True:
        at = buffer.find(tag, searched)
        if at < 0:
            searched = max(searched, len(buffer) - len(tag) + 1)
            if limit is not None and searched > limit + len(tag):
                del buffer[:searched]
                cut_off, searched = cut_off + searched, 0
            if chunk := stream.read(CHUNK_BYTES):
                buffer += chunk
                continue
        size = at if at >= 0 else len(buffer)
        long = cut_off or (limit is not None and size > limit)
        yield start, None if long else bytes(buffer[:size])
        if at < 0:
            return
        del buffer[:size]
        start, cut_off, searched = start + cut_off + size, 0, len(tag)


def parse(data: bytes) -> Element:
    """The element in `data`; raises Damaged if it is not well-formed or uses an entity that XML does not define."""
    etree, parser = _parser()
    try:
        return etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Damaged(f"not well-formed XML: {str(error).partition(', line ')[0]}") from error


@cache
def _parser() -> tuple[Any, Any]:
    """The module of lxml, and a parser, made once: importing it for each document takes longer than finding it."""
    etree = require("lxml.etree", "corpus", "reading XML")
    return etree, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
