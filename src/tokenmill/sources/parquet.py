"""Parquet: the text in one column, a row group at a time. FineWeb's columns `text` and `id` are the defaults.

The strings are taken from Arrow's buffers as they are. A null is no document. A place is [row group, row].
"""

from __future__ import annotations

import itertools
import os
import re
from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import InputError, OptionName, require
from ._cut_cy import arrow_ends
from .blocks import BLOCK, Block, BlockSource, ReadOptions, Span
from .find import STDIN, Source, can_read_again, is_url, open_url, reason_of, size_of
from .streams import Pause
from .text import document  # noqa: F401  a record of Parquet is a text

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 1 << 16
MOST_BYTES = 64 << 20  # plain bytes of the rows that are read at a time, where each is one that the file stores once
MOST_DICTIONARY = 64 << 20  # plain bytes; programs write 1 MiB
HEADER_BYTES = 32  # as many of a page's header as say how large it is
STORED_STEP = 1 << 18  # bytes of a column that are read at a time; without it, those of a row group, which may be many


class ParquetSource(BlockSource):
    """A Parquet file with one document per row. A span is a range of row groups."""

    format = "parquet"
    label = "row #"

    def __init__(self, source: Source, options: ReadOptions, span: Span | None = None, ids: bool = False) -> None:
        super().__init__(source, options, span, ids)
        self._group, self._row = (span[0] if span else 0), 0  # the next to be given out
        self._before = 0  # rows in the groups before
        self._file: Any = None
        self._url: Any = None
        self._batches: Iterator[Any] | None = None
        self._given = 0  # rows
        self._was_read = 0

    @staticmethod
    def groups(source: Source) -> int:
        """How many row groups a file has."""
        opened = ParquetSource(source, ReadOptions())
        opened._open_file()
        groups = opened._file.num_row_groups
        opened.close()
        return groups

    def stored_position(self) -> int:
        return self._was_read

    def place(self) -> list[int]:
        return [self._group, self._row]

    def resume(self, place: list[int]) -> None:
        self._group, self._row = place

    def close(self) -> None:
        self.done = True
        self._batches = None
        for file in (self._file, self._url):
            if file is not None:
                file.close()
        self._file = self._url = None

    def _open_file(self) -> None:
        self._parquet = require("pyarrow.parquet", "corpus", "reading Parquet")
        if self.source != STDIN and not is_url(self.source) and not os.path.exists(self.source):
            raise InputError(f"{self.name}: cannot be read: no such file")
        if not can_read_again(self.source):
            raise InputError(f"{self.name}: Parquet cannot be read from a pipe. Save it as a file.")
        try:
            self._url = open_url(self.name) if is_url(self.source) else None
            self._file = self._parquet.ParquetFile(self._url or self.source, pre_buffer=False, buffer_size=STORED_STEP)
        except PermissionError as error:
            raise InputError(f"{self.name}: cannot be read: {reason_of(error)}") from error
        except (OSError, ValueError) as error:
            raise InputError(
                f"{self.name}: not a readable Parquet file ({_first_line(error)}). Fetch it again."
            ) from error

    def _open(self, pause: Pause) -> None:
        self._open_file()
        _check_column(self.name, self._file.schema_arrow, self._options.field)
        self._before = sum(self._rows(group) for group in range(self._group))

    def _rows(self, group: int) -> int:
        return self._file.metadata.row_group(group).num_rows

    def _fill(self, block: Block) -> None:
        groups = self._file.num_row_groups
        last = min(self._span[1], groups) if self._span else groups
        while self._group < last:
            try:
                batch = self._next_batch()
            except (OSError, ValueError) as error:
                row, rows = self._before + self._row + 1, self._before + self._rows(self._group)
                label, block.label = block.label, f"row # to row {rows}"
                block.leave_out(row, f"row group {self._group} cannot be read: {_first_line(error)}")
                block.label = label
                batch = None
            if batch is not None:
                first = self._before + self._row + 1
                self._row += len(batch)
                self._given += len(batch)
                self._was_read = size_of(self.source) * self._given // max(1, self._file.metadata.num_rows)
                self._put(block, batch, first)
                return
            self._before += self._rows(self._group)
            self._group, self._row, self._batches = self._group + 1, 0, None
        self.done = True

    def _next_batch(self) -> Any:
        """The next rows of the row group, None at its end."""
        skip = 0
        if self._batches is None:
            group = self._file.metadata.row_group(self._group)
            if (dictionary := self._dictionary_bytes(group)) > MOST_DICTIONARY:
                raise ValueError(f"its dictionary takes {dictionary:,} bytes, and at most {MOST_DICTIONARY:,} are read")
            names = self._file.schema_arrow.names
            columns = [self._options.field, *(["id"] if self._ids and names.count("id") == 1 else [])]
            # Half a block: Arrow's buffers may be twice as large as the strings.
            rows = max(1, min(MOST_ROWS, group.num_rows * BLOCK // 2 // max(1, group.total_byte_size)))
            if rows * group.total_byte_size > MOST_BYTES:
                rows = min(rows, max(1, MOST_BYTES // self._longest_repeated()))
            self._batches = self._file.iter_batches(
                rows, row_groups=[self._group], columns=list(dict.fromkeys(columns)), use_threads=False
            )
            skip = self._row  # where reading was interrupted
        while (batch := next(self._batches, None)) is not None and skip >= len(batch):
            skip -= len(batch)
        return batch if batch is None or not skip else batch.slice(skip)

    def _dictionary_bytes(self, group: Any) -> int:
        """The plain bytes of the column's dictionary, which Arrow decodes whole; 0 without one."""
        columns = map(group.column, range(group.num_columns))
        column = next(column for column in columns if column.path_in_schema == self._options.field)
        if not column.has_dictionary_page:
            return 0
        if self._url is not None:
            self._url.seek(column.dictionary_page_offset)
            return page_bytes(self._url.read(HEADER_BYTES))
        with open(self.source, "rb") as file:
            file.seek(column.dictionary_page_offset)
            return page_bytes(file.read(HEADER_BYTES))

    def _longest_repeated(self) -> int:
        """The bytes of the longest string in the row group's dictionary, at least 1: each row may repeat it."""
        with self._parquet.ParquetFile(
            self._url or self.source,
            metadata=self._file.metadata,
            read_dictionary=[self._options.field],
            buffer_size=STORED_STEP,
        ) as file:
            batch = next(file.iter_batches(1, [self._group], [self._options.field], use_threads=False), None)
            strings = getattr(batch and batch.column(0), "dictionary", ())
            return max(1, _layout(strings)[3]) if len(strings) else 1

    def _put(self, block: Block, batch: pa.RecordBatch, first: int) -> None:
        """Give a block the strings of a batch, without a copy of them."""
        import pyarrow as pa

        texts: Any = batch.column(self._options.field)
        if pa.types.is_dictionary(texts.type):
            texts = texts.dictionary_decode()
        block.numbers = range(first, first + len(texts))
        if self._ids and "id" in batch.schema.names:
            block.names = batch.column("id").to_pylist()
        if texts.null_count:
            block.nulls, valid = texts.null_count, texts.is_valid()
            block.numbers = list(itertools.compress(block.numbers, valid.to_pylist()))
            block.names = block.names and list(itertools.compress(block.names, valid.to_pylist()))
            texts = texts.cast(pa.large_binary()).filter(valid)
        block.ends, data, start, longest = _layout(texts)
        block.data = memoryview(data).cast("B")[start : start + block.nbytes] if data is not None else b""
        limit = self._options.max_document_bytes
        if limit is not None and longest > limit:
            block.leave_out_long(limit)


def page_bytes(header: bytes) -> int:
    """The size of a page before compression: the second field of its header, an i32 in Thrift's compact protocol.

    A header begins with the kind of page and this size, each as 0x15 and a zigzag varint; 0 if it does not.
    """
    varint = rb"[\x80-\xff]{0,4}[\x00-\x7f]"
    fields = re.match(rb"\x15" + varint + rb"\x15(" + varint + rb")", header)
    zigzag = sum((byte & 127) << 7 * i for i, byte in enumerate(fields[1])) if fields else 0
    return zigzag >> 1


def _layout(strings: Any) -> tuple[array, Any, int, int]:
    """The ends of Arrow's strings, their buffer, where they begin in it, and the bytes of the longest."""
    import pyarrow as pa

    if strings.null_count or strings.type not in (pa.string(), pa.binary()):  # the cast imports pyarrow.compute
        strings = strings.cast(pa.large_binary()).fill_null(b"")
    _, offsets, data = strings.buffers()
    ends = array("Q", bytes(8 * len(strings)))
    wide = strings.type not in (pa.string(), pa.binary())
    return ends, data, *arrow_ends(memoryview(offsets).cast("B"), strings.offset, ends, wide)


def _check_column(source: str, schema: pa.Schema, column: str) -> None:
    import pyarrow.types as kinds

    if column not in schema.names:
        raise InputError(
            f"{source}: no column {column!r}; the columns are {', '.join(schema.names[:20])}. "
            "Name the column of the text: ",
            OptionName("field", ...),
        )
    if schema.names.count(column) > 1:
        raise InputError(
            f"{source}: {schema.names.count(column)} columns are called {column!r}. Rename all but one, or name another: ",
            OptionName("field", ...),
        )
    kind = schema.field(column).type
    plain = kind.value_type if kinds.is_dictionary(kind) else kind
    text = (kinds.is_string, kinds.is_large_string, kinds.is_string_view)
    binary = (kinds.is_binary, kinds.is_large_binary, kinds.is_binary_view)
    if not any(test(plain) for test in text + binary):
        raise InputError(
            f"{source}: the column {column!r} holds {kind}, not text. Name one of strings: ", OptionName("field", ...)
        )


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
