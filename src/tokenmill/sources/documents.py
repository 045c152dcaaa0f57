"""Open a source with the reader of its format; read documents one by one as Python objects.

Only this module detects formats, so every command reads a file in the same way:

    .jsonl .ndjson      JSON lines
    .json               an array of objects if the first character is "[", else JSON lines
    .parquet .pq        Parquet
    everything else     by the first bytes: Parquet, a dump of Wikipedia or StackExchange, or else text

Each suffix may be followed by that of a compression: .gz, .bz2, .xz, .zst.
"""

from __future__ import annotations

import itertools
import os
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from ..errors import InputError, OptionName, UsageError, refuse_wrong_types, suggests_options
from .blocks import MAX_DOCUMENT_BYTES, Binary, Block, BlockSource, Cut, Document, ReadOptions, Span, StreamSource
from .dumps import DUMPS, DumpSource
from .find import OnSkip, Source, can_read_again, find_sources, is_url, report_skips, shown, size_of, suffix_of
from .jsonl import ArraySource, LinesSource
from .packed import COMPRESSIONS
from .parquet import ParquetSource
from .remote import RemoteError
from .streams import ByteStream, Pause
from .text import CutSource, FileSource

FORMATS = ("text", "jsonl", "json", "parquet", "wikipedia", "stackexchange")
SUFFIXES = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".parquet": "parquet", ".pq": "parquet"}
HEAD = 4096
SourceSpan = tuple[Source, int, Span | None]  # a source, its bytes as stored, and the span to read; None for all of it


def open_source(
    source: Source,
    options: ReadOptions,
    format: str | None = None,
    *,
    cut: Cut | None = None,
    whole: bool = False,
    binary: Binary = "error",
    span: Span | None = None,
    ids: bool = False,
    pause: Pause = lambda: None,
) -> BlockSource:
    """Open one source for reading blocks.

    Raises UsageError for a pipe without fields if `options` names a field. See `refuse_text` for files.

    format: one of FORMATS; None detects it from the name and the first bytes.
    cut, whole: for callers that read a text document in several blocks; see text.FileSource.
    binary: what to do with a text file that is not text; see blocks.StreamSource. "count" accepts all bytes.
    span: of the source, from `parts_of`.
    ids: whether to read the ids and titles that are stored with documents.
    """
    if format is not None and format not in FORMATS:
        raise UsageError(f"the format {format!r} is not known; known are {', '.join(FORMATS)}")
    format, stream = _format_of(source, format, pause)
    opened: BlockSource
    if format == "parquet":
        opened = ParquetSource(source, options, span, ids)
    elif format == "jsonl":
        opened = LinesSource(source, options, span, ids)
    elif format == "json":
        opened = ArraySource(source, options, ids)
    elif format in DUMPS:
        opened = DumpSource(source, options, format)
    elif options.unit == "file":
        opened = FileSource(source, options, span, binary, cut, whole)
    else:
        opened = CutSource(source, options, span, binary)
    opened.utf8 = binary != "count"
    if stream is not None:
        if isinstance(opened, StreamSource):
            opened.stream = stream
        else:
            stream.close()
    if format and not can_read_again(source) and not opened.has_fields and options.fields != (ReadOptions.field,):
        opened.close()
        raise _no_fields(source)
    return opened


class ResumePoint(NamedTuple):
    """A position between two blocks: the index of a source, and the `resume_at` of its reader; None for its start."""

    source: int = 0
    at: list[int] | None = None


def blocks_of(
    sources: Sequence[SourceSpan], start: ResumePoint, options: ReadOptions, format: str | None = None, **kwargs: Any
) -> Iterator[tuple[Block, ResumePoint, int]]:
    """Yield the blocks from `start` on, each with the point after it and the stored bytes read of its source.

    kwargs: see `open_source`.
    """
    for number in range(start.source, len(sources)):
        source, _, span = sources[number]
        buffer = bytearray()
        with closing(open_source(source, options, format, span=span, **kwargs)) as opened:
            if number == start.source and start.at is not None:
                opened.resume_at = start.at
            while opened.draw(block := Block(buffer)):
                buffer = block.keep_little()
                if opened.done:
                    yield block, ResumePoint(number + 1), 0
                else:
                    yield block, ResumePoint(number, block.resume_at), opened.stored


def refuse_text(sources: Sequence[Source], options: ReadOptions) -> None:
    """Raise UsageError if `options` names a field and no source has fields. Pipes are not opened."""
    if options.fields == (ReadOptions.field,) or not sources:
        return
    for source in sources:
        if not can_read_again(source):
            return
        with closing(open_source(source, options)) as opened:
            if opened.has_fields:
                return
    raise _no_fields(sources[0])


def refuse_dumps(sources: Sequence[Source]) -> None:
    """Raise UsageError for a dump among sources of text. Only .xml files are opened."""
    for source in sources:
        if suffix_of(source) == ".xml" and can_read_again(source):
            format, stream = _format_of(source)
            if stream is not None:
                stream.close()
            if format in DUMPS:
                raise UsageError(f"{shown(source)} is {DUMPS[format].content}: clean it as {format}")


def _no_fields(source: Source) -> UsageError:
    return UsageError(
        f"{shown(source)} has no fields: it is not Parquet, .jsonl, .ndjson or .json. Leave out ",
        OptionName("field"),
        ".",
    )


def _format_of(source: Source, format: str | None = None, pause: Pause = lambda: None) -> tuple[str, ByteStream | None]:
    """Return the format of a source, "" if it cannot be read; and the stream if its first bytes were needed."""
    format, stream = format or SUFFIXES.get(suffix_of(source)), None
    if format not in (None, "json"):
        return format, None
    try:
        stream = ByteStream(source, pause)
        head = stream.peek(HEAD)
    except RemoteError:
        raise
    except InputError:
        return "", stream
    dump = re.match(rb"\s*<", head)
    if format == "json":
        format = "json" if head.lstrip(b" \t\r\n").startswith(b"[") else "jsonl"
    elif head.startswith(b"PAR1"):
        format = "parquet"
    elif dump and b"<mediawiki" in head:
        format = "wikipedia"
    elif dump and b"<posts>" in head:
        format = "stackexchange"
    return format or "text", stream


def _divisions(source: Source, options: ReadOptions, size: int, cut: Cut | None) -> int:
    """Return the number of bytes or row groups by which a source may be divided, 0 if it may not: see `parts_of`."""
    if is_url(source) or os.fspath(source).lower().endswith(COMPRESSIONS):
        return 0
    format, stream = _format_of(source)
    with stream or ByteStream(source) as opened:
        if format == "parquet":
            return ParquetSource.groups(source)
        lines = format == "jsonl" or (format == "text" and options.unit == "line")
        may_cut = format == "text" and options.unit == "file" and cut is not None
        return size if opened.seekable and (lines or may_cut) else 0


def parts_of(
    sources: Sequence[Source],
    options: ReadOptions,
    numbers: Iterable[int],
    num_parts: int,
    *,
    cut: Cut | None = None,
    numbered: bool = False,
) -> Iterator[list[SourceSpan]]:
    """Divide sources into parts of about equal stored bytes, and yield those with the numbers `numbers`, from 1 on.

    All parts in order have the documents of all sources in order. Only plain files are divided: text in lines, JSON
    lines, Parquet by row groups, and documents that may be `cut`. Others belong to the part in which they begin.
    numbered: whether the numbers of lines must be those in the whole source, so that text is not divided.
    """
    sizes = [*map(size_of, sources)]
    starts = [0, *itertools.accumulate(max(1, size) for size in sizes)]
    for number in numbers:
        begin, end = (starts[-1] * n // num_parts for n in (number - 1, number))
        spans: list[SourceSpan] = []
        for i in range(bisect_right(starts, begin) - 1, bisect_left(starts, end)):
            source, size = sources[i], starts[i + 1] - starts[i]
            first, last = max(0, begin - starts[i]), min(size, end - starts[i])
            limit = 0 if last - first == size else _divisions(source, options, size, cut)
            if numbered and limit == size:
                limit = 0
            span = limit * first // size, limit * last // size
            if span[0] < span[1]:
                spans.append((source, size * span[1] // limit - size * span[0] // limit, span))
            elif not limit and not first:
                spans.append((source, sizes[i], None))
        yield spans


@suggests_options
def read_documents(
    sources: str | os.PathLike | Iterable[str | os.PathLike],
    *,
    format: str | None = None,
    unit: str = "file",
    separator: str = "",
    field: str | Sequence[str] = "text",
    max_document_bytes: int | None = MAX_DOCUMENT_BYTES,
    skip_damaged: bool = False,
    on_skip: OnSkip | None = None,
) -> Iterator[Document]:
    """Stream the documents of files, folders, globs and URLs, in order and in constant memory.

    format: text, jsonl, json, parquet, wikipedia or stackexchange; None detects it from each name and the first bytes.
    unit, separator, field, max_document_bytes, skip_damaged: see `ReadOptions`. A text file is one document by default.
    on_skip: called for each document that cannot be read. Without it or skip_damaged, the first one raises InputError.

    Wikipedia pages are those of the main namespace that are not redirects, as wikitext; posts are HTML. `clean` makes
    plain text of both.
    """
    # now, not at the first document
    refuse_wrong_types({"sources": sources}, read_documents.__annotations__, globals())
    options = ReadOptions(unit, separator, field, max_document_bytes, skip_damaged)  # type: ignore[arg-type]
    return documents_of(sources, options, format=format, on_skip=on_skip)


def documents_of(
    sources: str | os.PathLike | Iterable[str | os.PathLike],
    options: ReadOptions,
    read_on: Callable[[int], None] | None = None,
    *,
    format: str | None = None,
    on_skip: OnSkip | None = None,
    binary: Binary = "error",
) -> Iterator[Document]:
    """Yield the documents of `read_documents`. read_on: called with the stored bytes of the documents so far."""
    on_skip = options.skipper(on_skip)
    files = find_sources(sources, on_skip)
    refuse_text(files, options)
    starts = [0, *itertools.accumulate(map(size_of, files))]
    spans: list[SourceSpan] = [(file, 0, None) for file in files]
    for block, point, stored in blocks_of(spans, ResumePoint(), options, format, ids=True, binary=binary):
        block.finish()
        yield from (block.document(i, "replace" if binary == "count" else "strict") for i in range(len(block.ends)))
        report_skips(block.skips, on_skip)
        if read_on is not None:
            read_on(starts[point.source] + stored)
