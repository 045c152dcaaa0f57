"""The cleaner: converts the documents of each kind of corpus to lines of the output."""

from __future__ import annotations

import json
import re
from array import array
from collections import Counter
from collections.abc import Iterator

from ..errors import UsageError, require
from ..sources.blocks import Block, Column, Document, why_not_utf8
from ..sources.find import Skip
from ._lines_cy import json_lines
from .filters import FILTER_SETS, clean_segments
from .html import html_to_text
from .options import OUTPUT_FORMATS, CleanOptions
from .report import Tally
from .wikis import wiki_of
from .wikitext import Segment, wikitext_to_text

# The kinds of corpus, with the format of their sources (None: detected for each source) and the modules they need.
KINDS: dict[str, tuple[str | None, tuple[str, ...]]] = {
    "wikipedia": ("wikipedia", ("lxml.etree",)),
    "stackexchange": ("stackexchange", ("lxml.etree", "selectolax.lexbor")),
    "fineweb": (None, ()),
    "text": (None, ()),
}
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n){2,}")
_as_json = json.JSONEncoder(ensure_ascii=False).encode


class Cleaner:
    """The task of a cleaning worker: a block to the lines of its documents and a tally."""

    def __init__(self, kind: str, options: CleanOptions) -> None:
        self._kind, self._options = kind, options
        check_kind(kind, "text")  # imports modules before time and memory are limited
        self._segments(Document("<p>", "", ""), "", Counter())

    def __call__(self, block: Block) -> tuple[bytes, Tally]:
        tally, options = Tally(bytes_in=block.nbytes), self._options
        minimal = {*(options.filters or ())} <= {*FILTER_SETS["minimal"]}
        plain = minimal and self._kind in ("text", "fineweb") and options.format != "text"
        block.utf8 = not plain  # the kernel of plain lines checks for UTF-8 too
        block.finish()
        for skip in block.skips:
            tally.skip(skip)
        for reason in block.drops:
            tally.drop(reason)
        if block.replaced:
            tally.removed["lone surrogate"] += sum(block.replaced.values())
        each = (self._line(block, i, tally) for i in range(len(block.ends)))
        return b"".join(self._plain_lines(block, tally) if plain else each), tally

    def _plain_lines(self, block: Block, tally: Tally) -> Iterator[bytes]:
        """Yield the lines of a block. The kernel writes those of texts that no filter of the minimal set changes."""
        min_chars, first, size = self._options.min_chars or 0, 0, len(block.ends)
        no_values = Column.empty(size)
        ids, numbers = block.names or no_values, array("Q", block.numbers or ())
        if block.names is None and block.numbers is None:
            ids = Column.of([block.name(i).encode() for i in range(size)])
        source = _as_json(block.source).encode()
        while first < size:
            lines, end, kept, text_bytes, short = json_lines(
                block.data, block.ends, numbers, ids, block.titles or no_values, source, first, min_chars
            )
            yield lines
            dropped = Counter({f"under {min_chars:,} characters": short} if short else {})
            tally.add(Tally(end - first, kept, bytes_out=text_bytes, dropped=dropped))
            if end < size:
                yield self._line(block, end, tally)
            first = end + 1

    def _line(self, block: Block, i: int, tally: Tally) -> bytes:
        """Return the line of document i, b"" if it is left out, and count it in the tally."""
        options, kept = self._options, Tally(documents_in=1, documents_kept=1)
        try:
            document = block.document(i)
        except UnicodeDecodeError as error:
            tally.skip(Skip(block.source, block.position(i), why_not_utf8(error.object)))
            return b""
        text = clean_segments(self._segments(document, block.context, kept.removed), options.filters or (), kept)
        if not text.strip():
            tally.drop("no text left")
            return b""
        if len(text) < (options.min_chars or 0):
            tally.drop(f"under {options.min_chars:,} characters")
            return b""
        kept.bytes_out = len(text.encode())
        tally.add(kept)
        return _line(document, text, options.format)

    def _segments(self, document: Document, context: str, removed: Counter[str]) -> list[Segment]:
        if self._kind == "wikipedia":
            return wikitext_to_text(document.text, wiki_of(context), removed, self._options.keep_code)
        if self._kind == "stackexchange":
            title = [Segment(document.title)] if document.title else []
            return title + html_to_text(document.text, removed, self._options.keep_code)
        return [Segment(document.text)]


def check_kind(kind: str, format: str) -> None:
    """Raise UsageError for an unknown kind of corpus, and MissingExtraError for a package that workers need."""
    if kind not in KINDS:
        raise UsageError(f"the kind {kind!r} is not known; known are {', '.join(KINDS)}")
    for module in KINDS[kind][1]:
        require(module, "corpus", f"cleaning {kind}")
    if format != "text":
        require({"jsonl": "zstandard"}.get(format, "pyarrow.parquet"), "corpus", f"writing {OUTPUT_FORMATS[format]}")


def _line(document: Document, text: str, format: str) -> bytes:
    """Return the bytes of a document in a shard; for Parquet the line of JSON that its writer converts to a row."""
    if format == "text":  # two blank lines end a document, so inside a document there is at most one
        return (_BLANK_LINES.sub("\n\n", text.strip("\n")) + "\n\n\n").encode()
    title = {"title": document.title} if document.title else {}
    return _as_json({"id": document.id, "source": document.source, **title, "text": text}).encode() + b"\n"
