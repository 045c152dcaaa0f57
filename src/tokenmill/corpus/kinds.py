"""What each kind of corpus is: which reader it has, and how one of its records becomes a line of the output."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from ..errors import UsageError, require
from ..sources.documents import Damaged, Document, Drop, ReadOptions, Record, document_of
from .filters import chosen_filters, clean_segments
from .wikitext import Segment

__all__ = ["KINDS", "OUTPUT_FORMATS", "CleanOptions", "Cleaner", "check_modules"]

# The kinds, and the format in which their sources are read; None tells it from each source.
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
OUTPUT_FORMATS = {"jsonl": ".jsonl.zst", "text": ".txt"}
# The set of filters for each kind where the user names none.
DEFAULT_FILTERS = {"wikipedia": "careful", "stackexchange": "careful", "fineweb": "minimal", "text": "minimal"}
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){2,}")


@dataclass(frozen=True)
class CleanOptions:
    """How documents are cleaned and written.

    kind: wikipedia, stackexchange, fineweb or text.
    format: "jsonl" (lines of JSON, zstandard), or "text" (plain text, two blank lines after each document).
    filters: the names of the filters, in the order in which they are applied.
    min_chars: documents that are shorter after cleaning are dropped.
    keep_code: whether code blocks stay, as they are, or go.
    """

    kind: str
    format: str = "jsonl"
    filters: tuple[str, ...] = ()
    min_chars: int = 100
    keep_code: bool = True
    read: ReadOptions = field(default_factory=ReadOptions)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"the kind {self.kind!r} is not known; known are {', '.join(KINDS)}")
        if self.format not in OUTPUT_FORMATS:
            raise UsageError(f"the output format {self.format!r} is not known; known are {', '.join(OUTPUT_FORMATS)}")
        if self.min_chars < 0:
            raise UsageError(f"min_chars is {self.min_chars}; it must not be negative")

    @classmethod
    def of(cls, kind: str, filters: Iterable[str] | None, **others: Any) -> CleanOptions:
        names = [DEFAULT_FILTERS.get(kind, "minimal")] if filters is None else filters
        return cls(kind, filters=chosen_filters(names), **others)

    @property
    def reader(self) -> str | None:
        """The format in which the sources are read; None tells it from each."""
        return KINDS[self.kind]

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"filters": list(self.filters)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> CleanOptions:
        return cls(**values | {"read": ReadOptions(**values["read"]), "filters": tuple(values["filters"])})


class Cleaner:
    """The task of a cleaning worker: one record to what becomes of it, and the count of what was removed.

    A record becomes ("kept", its line, bytes of its text), ("dropped", reason) or ("damaged", why).
    """

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = CleanOptions.from_json(options)
        self._removed: Counter = Counter()
        _load_parsers(self._options.kind)  # before time and memory are limited

    def __call__(self, values: tuple) -> tuple:
        record, options = Record(*values), self._options
        try:
            document = document_of(record, options.read)
        except Damaged as error:
            return "damaged", str(error)
        if isinstance(document, Drop):
            return "dropped", document.reason
        removed: Counter = Counter()
        text = clean_segments(_segments(document, record, options, removed), options.filters, removed)
        if not text.strip():
            return "dropped", "no text left"
        if len(text) < options.min_chars:
            return "dropped", f"under {options.min_chars} characters"
        self._removed.update(removed)
        return "kept", _line(document, text, options.format), len(text.encode())

    def summary(self) -> dict[str, int]:
        """What was removed from the documents kept since the last summary."""
        removed, self._removed = self._removed, Counter()
        return dict(removed)


def check_modules(options: CleanOptions) -> None:
    """Raise a MissingExtraError now for what a worker would miss later."""
    for module in MODULES[options.kind]:
        require(module, "corpus", f"cleaning {options.kind}")
    if options.format == "jsonl":
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


def _segments(document: Document, record: Record, options: CleanOptions, removed: Counter) -> list[Segment]:
    if options.kind == "wikipedia":
        from .wikis import wiki_of
        from .wikitext import wikitext_to_text

        return wikitext_to_text(document.text, wiki_of(record.context), removed, options.keep_code)
    if options.kind == "stackexchange":
        from .html import html_to_text

        title = [Segment(document.title)] if document.title else []
        return title + html_to_text(document.text, removed, options.keep_code)
    return [Segment(document.text)]


def _line(document: Document, text: str, format: str) -> bytes:
    """The bytes of a document in a shard."""
    if format == "text":  # two blank lines end a document, so there is at most one in a row inside of one
        return (_BLANK_LINES.sub("\n\n", text.strip("\n")) + "\n\n\n").encode()
    values = {"id": document.id, "source": document.source, "title": document.title, "text": text}
    if not document.title:
        del values["title"]
    return json.dumps(values, ensure_ascii=False).encode() + b"\n"
