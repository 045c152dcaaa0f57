"""Wikipedia's pages-articles XML, of every version of its schema: the pages of the main namespace, as wikitext."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator

from ..errors import InputError
from .documents import Damaged, Document, Drop, ReadOptions, Record, too_long
from .find import Skip
from .streams import SourceStream
from .xml import cut, parse

__all__ = ["document", "records"]

NAMESPACE = re.compile(rb'<namespace key="(-?\d+)"[^>]*?(?:/>|>([^<]*)</namespace>)')
LANGUAGE = re.compile(rb'xml:lang="([^"]*)"')
# Dumps before 2009 have no <redirect/>: there a redirect is told by the first word of its text, in the wiki's language.
REDIRECT = re.compile(
    r"\s*[#＃]\s*(?:redirect|redirection|weiterleitung|redirección|redirecció|rinvia|rimando|redirecionamento|"
    r"doorverwijzing|patrz|przekieruj|tam|перенаправление|перенапр|перенаправлення|omdirigering|omdirigér|"
    r"ohjaus|uudelleenohjaus|yönlendirme|přesměruj|átirányítás|ανακατευθυνση|redirectare|пренасочване|преусмери|"
    r"転送|リダイレクト|重定向|넘겨주기|تحويل|تغییر[ _]?مسیر|הפניה|đổi|alih|lencong|เปลี่ยนทาง|अनुप्रेषित)"
    r"\s*:?\s*\[\[",
    re.IGNORECASE,
)


def records(stream: SourceStream, options: ReadOptions) -> Iterator[Record | Skip]:
    """Each page as it stands in the dump. What the head says of the wiki goes with each of them."""
    context = ""
    for number, (position, data) in enumerate(cut(stream, b"<page>", options.max_document_bytes)):
        if number == 0:
            context = _site(data or b"")
        elif data is None:
            yield Skip(stream.source, f"byte {position}", too_long(options.max_document_bytes))
        elif (end := data.find(b"</page>")) < 0:
            yield Skip(stream.source, f"byte {position}", f"a page without its end{_title(data)}")
        else:
            yield Record("wikipedia", stream.source, f"byte {position}", data[: end + 7], "", context)
    if number == 0:
        raise InputError(f"{stream.source}: there is no <page> in it, so it is no dump of Wikipedia's pages.")


def document(record: Record, options: ReadOptions) -> Document | Drop:
    """A page's wikitext, its id and title; a Drop for pages of other namespaces, redirects, and scripts or styles."""
    page = parse(record.data)
    title = page.findtext("title")
    if title is None:
        raise Damaged("a page without a title")
    if _namespace(title, page.findtext("ns"), record.context) != 0:
        return Drop("another namespace")
    revision = page.find("revision[last()]")
    text = (revision.findtext("text") if revision is not None else None) or ""
    if page.find("redirect") is not None or REDIRECT.match(text):
        return Drop("redirect")
    if revision is not None and revision.findtext("model", "wikitext") != "wikitext":
        return Drop("no wikitext")
    return Document(text, record.source, page.findtext("id", ""), title)


def _site(head: bytes) -> str:
    """What the cleaner needs to know of the wiki, from the head of its dump, as JSON: its language, its namespaces."""
    names = {int(key): html.unescape(name.decode(errors="replace")) for key, name in NAMESPACE.findall(head)}
    language = LANGUAGE.search(head)
    return json.dumps({"language": language[1].decode(errors="replace") if language else "", "namespaces": names})


def _namespace(title: str, number: str | None, context: str) -> int:
    """The number of a page's namespace; dumps before 2012 have it only as a prefix of the title."""
    if number is not None and number.strip().lstrip("-").isdecimal():
        return int(number)
    prefix, colon, _ = title.partition(":")
    if not colon:
        return 0
    prefix = prefix.strip().replace("_", " ").casefold()
    for key, name in json.loads(context)["namespaces"].items():
        if name and name.casefold() == prefix:
            return int(key)
    return 0


def _title(data: bytes) -> str:
    found = re.search(rb"<title>([^<]*)</title>", data)
    return f" ({html.unescape(found[1].decode(errors='replace'))})" if found else ""
