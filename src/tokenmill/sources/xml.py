"""Cut a large XML dump into its elements by their tags, in constant memory.

A dump is one root with millions of small children. A parser of the whole file stops at the first damage, and expands
the entities that the head declares. Here each child is found by its first tag and parsed alone. A damaged child costs
only itself, and the head, where an entity bomb would stand, never reaches a parser. XML writes each "<" of a text as an
entity, so the tag cannot occur in a text.
"""

from __future__ import annotations

import html
import re
from dataclasses import replace
from functools import cache, partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import InputError, require
from .blocks import HEAD, Block, Damaged, ReadOptions
from .find import Source
from .streams import ByteStream, Pause
from .text import CutSource

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

MOST_HEAD = 16 << 20
TITLE = re.compile(rb"<title>([^<]*)</title>")


class DumpSource(CutSource):
    """An XML dump: each of the elements that begin with a tag is a record.

    reader: the module of the format, with
        TAG, END: how an element begins and ends
        ELEMENT, CONTENT: what messages call an element and the whole dump
        context(head): what the elements need to know of the head
        document(record, options): see documents.py
    """

    def __init__(self, source: Source, options: ReadOptions, reader: ModuleType) -> None:
        super().__init__(source, replace(options, unit="separator", separator=reader.TAG.decode()))
        self.reader = reader
        self.format = reader.__name__.rpartition(".")[2]
        self._tag_size = len(reader.TAG)

    def _open(self, pause: Pause) -> None:
        super()._open(pause)
        assert self._stream is not None
        if self._start:  # reading goes on in the middle: what the head says is needed all the same
            with ByteStream(self.source, pause) as stream:
                head = self._head(stream)
        else:
            head = self._head(self._stream)
            self._start = self._cutter.place = len(head) + self._tag_size
            self._stream.seek(self._start, pause)
        self._context = self.reader.context(head)

    def _head(self, stream: ByteStream) -> bytes:
        """Return the text before the first element."""
        tag, size = self.reader.TAG, HEAD
        while (end := (head := stream.peek(size)).find(tag)) < 0:
            if len(head) < size or size > MOST_HEAD:
                if stream.damaged:
                    stream.seek(stream.position + len(head) + 1)  # raises it
                name = tag.decode().strip(" >")
                raise InputError(f"{self.name}: there is no {name}> in it, so it is not {self.reader.CONTENT}.")
            size *= 2
        return head[:end]

    def _fill(self, block: Block) -> None:
        super()._fill(block)
        reader = self.reader
        texts: list[bytes] = []
        numbers: list[int] = []
        for behind, data in zip(block.numbers or (), block.texts(), strict=True):
            number = behind - self._tag_size
            if (end := data.rfind(reader.END)) < 0:
                title = TITLE.search(data)
                name = f" ({html.unescape(title[1].decode(errors='replace'))})" if title else ""
                block.leave_out(number, f"{reader.ELEMENT} without its end{name}")
            else:
                texts.append(reader.TAG + data[: end + len(reader.END)])
                numbers.append(number)
        block.set_documents(texts, numbers)
        block.context = self._context
        block.parse = self._parse

    def _parse(self, block: Block) -> None:
        """Put the texts in place of the elements, without those that are left out on purpose."""
        n = len(block.ends)
        block.read([b""] * n, [None] * n, range(n), partial(self.reader.document, options=self._options))


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
