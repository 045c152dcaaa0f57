"""Sources as counting reads them: long texts in parts, and files that are not text refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..sources.blocks import BlockSource, Cut, ReadOptions, Span
from ..sources.documents import open_source
from ..sources.find import Source
from ..sources.streams import Pause
from ..split import Splitter
from .options import Binary


def opener(cut: Cut | None, read: ReadOptions, binary: Binary, whole: bool = False) -> Callable[..., BlockSource]:
    """What opens a source: called with the source, and optionally with what waits for a pipe, and a span.

    cut: finds where a long text may be cut (see `cut_of`). whole: see text.FileSource.
    """
    check = None if binary == "count" else partial(why_binary, binary=binary)

    def open(source: Source, pause: Pause = lambda: None, span: Span | None = None) -> BlockSource:
        opened = open_source(source, read, cut=cut, whole=whole, check=check, span=span, pause=pause)
        opened.utf8 = binary != "count"
        return opened

    return open


def cut_of(splitter: Splitter) -> Cut | None:
    """What finds a place where a pretoken begins, whatever is around it. None: the pattern is not an automaton."""
    return None if splitter.scanner is None else splitter.certain_cut


def why_binary(head: bytes, binary: Binary = "error") -> str | None:
    """Why a file with this beginning is not text: "" to leave it out silently, None for text."""
    nul = head.find(0)
    if nul >= 0:
        found = f"a NUL byte at offset {nul}"
    else:
        bad = head.decode("utf-8", "replace").count("�")
        if 3 * bad <= len(head):
            return None
        found = f"{bad:,} of its first {len(head):,} bytes are not UTF-8; if it is text of another encoding, convert it"
    if binary == "skip":
        return ""
    return f"looks binary: {found}"
