"""Cut a large XML dump into its elements by their tags, in constant memory.

A dump is one root with millions of small children. A parser of the whole stops for good at the first damage, and obeys
the entities that the head declares. Here each child is cut out by its first tag and parsed alone: a damaged one costs
only itself, and the head, where an entity bomb would stand, never reaches a parser. A "<" that is no markup is always
written as an entity in XML, so the tag cannot be met inside of text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import require
from .documents import Damaged
from .streams import SourceStream

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

__all__ = ["cut", "parse"]

CHUNK_BYTES = 1 << 18


def cut(stream: SourceStream, tag: bytes, limit: int | None) -> Iterator[tuple[int, bytes | None]]:
    """The bytes from each `tag` to the next, with the byte where they begin; None where they are more than `limit`.

    First comes the head, everything before the first tag. After the last element stands the tail of the dump.
    """
    buffer = bytearray()
    start = cut_off = 0  # where the element begins; how many of its bytes were let go, once they were too many
    searched = 0
    while True:
        at = buffer.find(tag, searched)
        if at < 0:
            searched = max(searched, len(buffer) - len(tag) + 1)
            if limit is not None and searched > limit + len(tag):
                del buffer[:searched]
                cut_off, searched = cut_off + searched, 0
            chunk = stream.read1(CHUNK_BYTES)
            if chunk:
                buffer += chunk
                continue
        size = at if at >= 0 else len(buffer)
        too_long = cut_off or (limit is not None and size > limit)
        yield start, None if too_long else bytes(buffer[:size])
        if at < 0:
            return
        del buffer[:size]
        start, cut_off, searched = start + cut_off + size, 0, len(tag)


def parse(data: bytes) -> Element:
    """The element in `data`; raises Damaged where it is no well-formed XML or uses an entity that XML does not define."""
    etree = require("lxml.etree", "corpus", "reading XML")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    try:
        return etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Damaged(f"no well-formed XML: {str(error).partition(', line ')[0]}") from error
