"""Dumps of Wikipedia and StackExchange: a large XML file, cut into its elements by their tags, in constant memory.

A dump is one root with millions of small children. A parser of the whole file would stop at the first damage, and
expand the entities that the head declares. Here each child is located by its first tag and parsed separately. A damaged
child costs only itself, and no parser reads the head, which could declare an entity bomb. XML writes each "<" of a text
as an entity, so the tag cannot occur in a text.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError, require
from .blocks import HEAD, Block, Column, Damaged, Document, Drop, ReadOptions
from .find import Source
from .streams import ByteStream, Pause
from .text import CutSource

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

MOST_HEAD = 16 << 20
TITLE = re.compile(rb"<title>([^<]*)</title>")
NAMESPACE = re.compile(rb'<namespace key="(-?\d+)"[^>]*?(?:/>|>([^<]*)</namespace>)')
# Dumps before 2009 have no <redirect/>: there the first word of the text marks a redirect, in the wiki's language.
REDIRECT = re.compile(
    r"\s*[#＃]\s*(?:redirect|redirection|weiterleitung|redirección|redirecció|rinvia|rimando|redirecionamento|"
    r"doorverwijzing|patrz|przekieruj|tam|перенаправление|перенапр|перенаправлення|omdirigering|omdirigér|"
    r"ohjaus|uudelleenohjaus|yönlendirme|přesměruj|átirányítás|ανακατευθυνση|redirectare|пренасочване|преусмери|"
    r"転送|リダイレクト|重定向|넘겨주기|تحويل|تغییر[ _]?مسیر|הפניה|đổi|alih|lencong|เปลี่ยนทาง|अनुप्रेषित)"
    r"\s*:?\s*\[\[",
    re.IGNORECASE,
)


class DumpSource(CutSource):
    """A dump: each of the elements that begin with a tag is a record."""

    def __init__(self, source: Source, options: ReadOptions, format: str) -> None:
        self.format, self._dump = format, DUMPS[format]
        super().__init__(source, replace(options, unit="separator", separator=self._dump.tag.decode()))
        self._tag_size = len(self._dump.tag)

    def _open(self, pause: Pause) -> None:
        super()._open(pause)
        assert self.stream is not None
        if self.resume_at[0]:  # after the first element, which the head precedes
            with ByteStream(self.source, pause) as stream:
                head = self._head(stream)
        else:
            head = self._head(self.stream)
            self._cutter.number = len(head) + self._tag_size
            self.stream.seek(self._cutter.number, pause)
        self._context = self._dump.context(head)

    def _head(self, stream: ByteStream) -> bytes:
        """Return the text before the first element."""
        tag, size = self._dump.tag, HEAD
        while (end := (head := stream.peek(size)).find(tag)) < 0:
            if len(head) < size or size > MOST_HEAD:
                if stream.damaged:
                    stream.seek(stream.position + len(head) + 1)  # raises it
                name = tag.decode().strip(" >")
                raise InputError(f"{self.name}: there is no {name}> in it, so it is not {self._dump.content}.")
            size *= 2
        return head[:end]

    def _fill(self, block: Block) -> None:
        super()._fill(block)
        dump = self._dump
        texts: list[bytes] = []
        numbers: list[int] = []
        for tag_end, data in zip(block.numbers or (), block.texts(), strict=True):
            number = tag_end - self._tag_size
            if (end := data.rfind(dump.end)) < 0:
                title = TITLE.search(data)
                name = f" ({html.unescape(title[1].decode(errors='replace'))})" if title else ""
                block.skip(number, f"{dump.element} without its end{name}")
            else:
                texts.append(dump.tag + data[: end + len(dump.end)])
                numbers.append(number)
        block.set_documents(texts, numbers)
        block.context = self._context
        block.parse = partial(_parse, read=dump.document)


def _parse(block: Block, read: Callable[[Block, int], Document]) -> None:
    """Replace the elements of a block by their texts."""
    size = len(block.ends)
    block.names = block.titles = Column.empty(size)
    block.set_texts([b""] * size, range(size), read)


def _element(data: bytes) -> Element:
    """Parse one element. Raises Damaged if it is not well-formed or uses an entity that XML does not define."""
    etree, parser = _parser()
    try:
        return etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Damaged(f"not well-formed XML: {str(error).partition(', line ')[0]}") from error


@cache
def _parser() -> tuple[Any, Any]:
    """Return lxml.etree and a parser, cached: the import statement takes longer than a call."""
    etree = require("lxml.etree", "corpus", "reading XML")
    return etree, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)


def _post(block: Block, i: int) -> Document:
    """Return a post's body, which is HTML, with its id and its title. Answers have no title."""
    row = _element(block.data_of(i))
    body = row.get("Body")
    if body is None:
        attributes = ", ".join(list(row.attrib)[:5]) or "nothing"
        raise Damaged(f"a row without a Body, but with {attributes}: not a post")
    if not body.strip():
        raise Drop("no text")
    return Document(body, block.source, row.get("Id", ""), row.get("Title", ""))


def _page(block: Block, i: int) -> Document:
    """Return a page's wikitext with its id and title. Drop for other namespaces, redirects, scripts and styles."""
    page = _element(block.data_of(i))
    name = page.findtext("title")
    if name is None:
        raise Damaged("a page without a title")
    if _namespace(name, page.findtext("ns"), block.context) != 0:
        raise Drop("another namespace")
    revision = page.find("revision[last()]")
    text = (revision.findtext("text") if revision is not None else None) or ""
    if page.find("redirect") is not None or REDIRECT.match(text):
        raise Drop("redirect")
    if revision is not None and revision.findtext("model", "wikitext") != "wikitext":
        raise Drop("not wikitext")
    return Document(text, block.source, page.findtext("id", ""), name)


def _namespace(title: str, number: str | None, context: str) -> int:
    """Return the number of a page's namespace. Dumps before 2012 have it only as a prefix of the title."""
    if number is not None and number.strip().lstrip("-").isdecimal():
        return int(number)
    prefix, colon, _ = title.partition(":")
    prefix = prefix.strip().replace("_", " ").casefold()
    if not colon:
        return 0
    names = {name.casefold(): int(key) for key, name in json.loads(context).items() if name}
    return names.get(prefix, 0)


def _namespaces(head: bytes) -> str:
    """Return the names of a wiki's namespaces by number, as JSON, from the head of the dump."""
    names = {int(key): html.unescape(name.decode(errors="replace")) for key, name in NAMESPACE.findall(head)}
    return json.dumps(names)


class Dump(NamedTuple):
    """A format of dumps.

    tag, end: the first and last bytes of an element. element, content: names of an element and of the dump in messages.
    document: the `read` of `Block.set_texts`. context: converts the text before the first element to `Block.context`.
    """

    tag: bytes
    end: bytes
    element: str
    content: str
    document: Callable[[Block, int], Document]
    context: Callable[[bytes], str] = lambda head: ""


# Wikipedia's pages-articles, in every version of its schema: the pages of the main namespace, as wikitext; Posts.xml.
DUMPS = {
    "wikipedia": Dump(b"<page>", b"</page>", "a page", "a dump of Wikipedia's pages", _page, _namespaces),
    "stackexchange": Dump(b"<row ", b"/>", "a row", "a Posts.xml of StackExchange", _post),
}
