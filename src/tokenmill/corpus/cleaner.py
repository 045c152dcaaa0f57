"""The cleaner: how a record of each kind of corpus becomes a line of the output."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from ..errors import UsageError, require
from ..sources.blocks import Damaged, Document, Drop, ReadOptions, Record
from ..sources.documents import document_of
from .filters import clean_segments
from .options import CleanOptions
from .wikitext import Segment

# The kinds, and the format in which their sources are read. None: it is told from each source.
KINDS: dict[str, str | None] = {
    "wikipedia": "wikipedia",
    "stackexchange": "stackexchange",
    "fineweb": None,
    "text": None,
}
MODULES = {
    "wikipedia": ("lxml.etree", "mwparserfromhell"),
    "stackexchange": ("lxml.etree", "selectolax.lexbor"),
    "fineweb": (),
    "text": (),
}
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){2,}")


class Cleaner:
    """The task of a cleaning worker: one record to what becomes of it, and the count of what was removed.

    A record becomes ("kept", its line, bytes of its text), ("dropped", reason) or ("damaged", why).
    """

    def __init__(self, settings: tuple[str, dict[str, Any]]) -> None:
        self._kind, options = settings
        self._options = CleanOptions.from_json(options)
        self._removed: Counter = Counter()
        _load_parsers(self._kind)  # before time and memory are limited

    def __call__(self, values: tuple) -> tuple:
        record, options = Record(*values), self._options
        try:
            document = document_of(record, options.read)
        except Damaged as error:
            return "damaged", str(error)
        if isinstance(document, Drop):
            return "dropped", document.reason
        removed: Counter = Counter()
        segments = self._segments(document, record, removed)
        text = clean_segments(segments, options.filters or (), removed)
        if not text.strip():
            return "dropped", "no text left"
        if len(text) < (options.min_chars or 0):
            return "dropped", f"under {options.min_chars} characters"
        if document.replaced:
            removed["lone surrogate"] += document.replaced
        self._removed.update(removed)
        return "kept", _line(document, text, options.format), len(text.encode())

    def _segments(self, document: Document, record: Record, removed: Counter) -> list[Segment]:
        if self._kind == "wikipedia":
            from .wikis import wiki_of
            from .wikitext import wikitext_to_text

            return wikitext_to_text(document.text, wiki_of(record.context), removed, self._options.keep_code)
        if self._kind == "stackexchange":
            from .html import html_to_text

            title = [Segment(document.title)] if document.title else []
            return title + html_to_text(document.text, removed, self._options.keep_code)
        return [Segment(document.text)]

    def summary(self) -> dict[str, int]:
        """What was removed from the documents kept since the last summary."""
        removed, self._removed = self._removed, Counter()
        return dict(removed)


def check_kind(kind: str, format: str) -> None:
    """Raise a UsageError for a kind that is not known, and a MissingExtraError for what a worker would miss later."""
    if kind not in KINDS:
        raise UsageError(f"the kind {kind!r} is not known; known are {', '.join(KINDS)}")
    for module in MODULES[kind]:
        require(module, "corpus", f"cleaning {kind}")
    if format == "jsonl":
        require("zstandard", "corpus", "writing .jsonl.zst")


def _load_parsers(kind: str) -> None:
    """Import what the records of this kind need, by reading the smallest of them."""
    document_of(Record("jsonl", "", "", b'{"text": ""}'), ReadOptions())
    if kind in ("wikipedia", "stackexchange"):
        from ..sources.xml import parse

        parse(b"<row/>")
    if kind == "wikipedia":
        from .wikitext import wikitext_to_text

        wikitext_to_text("{{lang|fr|[[mot]]}}")
    if kind == "stackexchange":
        from .html import html_to_text

        html_to_text("<p>")


def _line(document: Document, text: str, format: str) -> bytes:
    """The bytes of a document in a shard."""
    if format == "text":  # two blank lines end a document, so there is at most one in a row inside of one
        return (_BLANK_LINES.sub("\n\n", text.strip("\n")) + "\n\n\n").encode()
    values = {"id": document.id, "source": document.source, "title": document.title, "text": text}
    if not document.title:
        del values["title"]
    return json.dumps(values, ensure_ascii=False).encode() + b"\n"
