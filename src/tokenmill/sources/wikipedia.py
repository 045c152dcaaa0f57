"""Wikipedia's pages-articles XML, of every version of its schema: the pages of the main namespace, as wikitext."""

from __future__ import annotations

import html
import json
import re

from .blocks import Damaged, Document, Drop, ReadOptions, Record
from .xml import parse

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

TAG, END, ELEMENT, CONTENT = b"<page>", b"</page>", "a page", "a dump of Wikipedia's pages"


def context(head: bytes) -> str:
    """The language of the wiki and its namespaces, from the head of the dump, as JSON."""
    names = {int(key): html.unescape(name.decode(errors="replace")) for key, name in NAMESPACE.findall(head)}
    language = LANGUAGE.search(head)
    return json.dumps({"language": language[1].decode(errors="replace") if language else "", "namespaces": names})


def document(record: Record, options: ReadOptions) -> Document | Drop:
    """A page's wikitext, its id and title; a Drop for pages of other namespaces, redirects, and scripts or styles."""
    page = parse(record.data)
    name = page.findtext("title")
    if name is None:
        raise Damaged("a page without a title")
    if _namespace(name, page.findtext("ns"), record.context) != 0:
        return Drop("another namespace")
    revision = page.find("revision[last()]")
    text = (revision.findtext("text") if revision is not None else None) or ""
    if page.find("redirect") is not None or REDIRECT.match(text):
        return Drop("redirect")
    if revision is not None and revision.findtext("model", "wikitext") != "wikitext":
        return Drop("not wikitext")
    return Document(text, record.source, page.findtext("id", ""), name)


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
