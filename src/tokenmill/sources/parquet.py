"""Parquet: the text in one column, a row group at a time. FineWeb's columns `text` and `id` are the defaults.

The strings stay in Arrow's buffers, without a copy. A null is not a document. `resume_at` is [row group, row].
"""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from ..errors import InputError, plural, require
from .blocks import BLOCK, BY_FIELD, FIELD_BREAK, Block, BlockSource, Column, ReadOptions, Span, too_long
from .find import Skip, Source, can_read_again, is_url, size_of
from .remote import RemoteFile
from .streams import LocalFile, Pause, open_stored

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

MOST_ROWS = 1 << 16
MOST_BYTES = 64 << 20  # plain bytes of the rows that are read at a time, if all repeat the longest string
MOST_PAGE = 64 << 20  # plain bytes of a dictionary, or of a page that compresses very well; programs write 1 MiB
MOST_RATIO = 50  # of plain to stored bytes; text has 2 to 10
FIXED = {1: 0, 2: 0, 3: 1, 7: 8}  # bytes of Thrift's true, false, byte and float
HEADER_BYTES = 1 << 16  # at most, of a page header, which contains the smallest and the largest value
STORED_STEP = 1 << 18  # bytes of a column to read at a time; by default Arrow reads all of a row group


class ParquetSource(BlockSource):
    """A Parquet file with one document per row. A span is a range of row groups."""

    format, label, has_fields = "parquet", "row #", True

    def __init__(self, source: Source, options: ReadOptions, span: Span | None = None, ids: bool = False) -> None:
        super().__init__(source, options, span, ids)
        self.resume_at = [span[0] if span else 0, 0]
        self._rows_before = 0  # in the groups before
        self._file: Any = None
        self._stored: Any = None  # the bytes of the file
        self._batches: Iterator[Any] | None = None
        self._rows_read = 0
        self._nulls = 0  # rows without a text
        self._named: list[str] = []  # the columns of ids and titles to read

    @staticmethod
    def groups(source: Source) -> int:
        """Return the number of row groups of a file."""
        with closing(ParquetSource(source, ReadOptions())) as opened:
            opened._open_file()
            return opened._file.num_row_groups

    def close(self) -> None:
        self.done = True
        self._batches = None
        for file in (self._file, self._stored):
            if file is not None:
                file.close()
        self._file = self._stored = None

    def _open_file(self) -> None:
        self._parquet = require("pyarrow.parquet", "corpus", "reading Parquet")
        self._size = size_of(self.source)
        self._stored = open_stored(self.source)
        if not can_read_again(self.source):
            raise InputError(f"{self.name}: Parquet cannot be read from a pipe. Save it as a file.")
        try:
            self._file = self._parquet.ParquetFile(self._for_arrow(), pre_buffer=False, buffer_size=STORED_STEP)
        except (OSError, ValueError) as error:
            raise InputError(
                f"{self.name}: not a readable Parquet file ({_first_line(error)}). Fetch it again."
            ) from error

    def _for_arrow(self) -> Any:
        """Return the file, or its path on this machine, which Arrow reads faster, if the path is UTF-8."""
        return self._stored if is_url(self.source) or self.name != str(self.source) else self.source

    def _open(self, pause: Pause) -> None:
        self._open_file()
        schema = self._file.schema_arrow
        for field in self._options.fields:
            _check_column(self.name, schema, field)
        known = [name for name in ("id", "title") if self._ids and schema.names.count(name) == 1]
        self._named = [name for name in known if name == "id" or _is_text(schema.field(name).type)]
        self._rows_before = sum(self._rows(group) for group in range(self.resume_at[0]))

    def _rows(self, group: int) -> int:
        return self._file.metadata.row_group(group).num_rows

    def _fill(self, block: Block) -> None:
        groups = self._file.num_row_groups
        last = min(self._span[1], groups) if self._span else groups
        while self.resume_at[0] < last:
            group, row = self.resume_at
            first, end = self._rows_before + row + 1, self._rows_before + self._rows(group)
            try:
                batch = self._next_batch(group, row)
            except (OSError, ValueError) as error:
                reason = f"row group {group} cannot be read: {_first_line(error)}"
                block.skip(first, reason, position=f"row {first} to row {end}")
                batch = None
            if batch is not None:
                self.resume_at = [group, row + len(batch)]
                self._rows_read += len(batch)
                self.stored = self._size * self._rows_read // max(1, self._file.metadata.num_rows)
                self._put(block, batch, first)
                return
            self._rows_before, self.resume_at, self._batches = end, [group + 1, 0], None
        if isinstance(file := getattr(self._stored, "raw", self._stored), RemoteFile | LocalFile):
            file.check()
        if self._nulls:
            reason = f"left out {plural(self._nulls, 'row')} without a text (null)"
            position = f"row groups {self._span[0]} to {last - 1}" if self._span else ""
            block.skips.append(Skip(self.name, position, reason, left_out=False))
        self.done = True

    def _next_batch(self, number: int, row: int) -> Any:
        """Return the next rows of a row group, from `row` on at the first call; None at its end."""
        skip = 0
        if self._batches is None:
            group = self._file.metadata.row_group(number)
            self._refuse_bombs(group)
            # Half a block: Arrow's buffers may be twice as large as the strings.
            rows = max(1, min(MOST_ROWS, group.num_rows * BLOCK // 2 // max(1, group.total_byte_size)))
            if rows * group.total_byte_size > MOST_BYTES:
                rows = min(rows, max(1, MOST_BYTES // self._longest_repeated()))
            self._batches = self._file.iter_batches(
                rows, row_groups=[number], columns=[*{*self._options.fields, *self._named}], use_threads=False
            )
            skip = row
        while (batch := next(self._batches, None)) is not None and skip >= len(batch):
            skip -= len(batch)
        return batch if batch is None or not skip else batch.slice(skip)

    def _refuse_bombs(self, group: Any) -> None:
        """Refuse a column of small pages that become large. Arrow decodes a dictionary, and each page, whole."""
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema not in {*self._options.fields, *self._named}:
                continue
            is_bomb = column.total_uncompressed_size > max(MOST_PAGE, MOST_RATIO * column.total_compressed_size)
            start = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
            size = column.total_compressed_size if is_bomb else int(column.has_dictionary_page)
            for nbytes in page_sizes(self._stored, start, start + size):
                if nbytes > MOST_PAGE:
                    raise ValueError(f"a page of it takes {nbytes:,} bytes, and at most {MOST_PAGE:,} are read")

    def _longest_repeated(self) -> int:
        """Return the bytes of the longest strings in the row group's dictionaries, at least 1: rows may repeat them."""
        with self._parquet.ParquetFile(
            self._for_arrow(),
            metadata=self._file.metadata,
            read_dictionary=[*self._options.fields],
            buffer_size=STORED_STEP,
        ) as file:
            batch = next(file.iter_batches(1, [self.resume_at[0]], [*self._options.fields], use_threads=False), None)
            dictionaries = [getattr(column, "dictionary", ()) for column in (batch.columns if batch else ())]
            bounds = [strings_of(strings)[0] for strings in dictionaries if len(strings)]
            return max(1, sum(int((offsets[1:] - offsets[:-1]).max()) for offsets in bounds))

    def _put(self, block: Block, batch: pa.RecordBatch, first: int) -> None:
        """Put the strings of a batch into a block, without a copy."""
        import pyarrow as pa

        columns = [_decoded(batch.column(field)) for field in self._options.fields]
        texts: Any = columns[0] if len(columns) == 1 else _joined(columns)
        block.numbers = range(first, first + len(texts))
        names = {name: batch.column(name) for name in self._named}
        if texts.null_count:
            valid = texts.is_valid()
            self._nulls += texts.null_count
            block.numbers = list(itertools.compress(block.numbers, valid.to_pylist()))
            names = {name: column.filter(valid) for name, column in names.items()}
            texts = texts.cast(pa.large_binary()).filter(valid)
        block.names, block.titles = (_cells(names[name]) if name in names else None for name in ("id", "title"))
        offsets, data = strings_of(texts)
        block.ends = array("Q", (offsets[1:] - offsets[0]).astype("uint64").tobytes())
        block.data = data[offsets[0] : offsets[-1]]
        limit = self._options.max_document_bytes
        if limit is not None and (long := (offsets[1:] - offsets[:-1] > limit).nonzero()[0].tolist()):
            for i in long:
                block.leave_out(i, too_long(limit))
            block.keep_others(long)


def _decoded(column: Any) -> Any:
    import pyarrow as pa

    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _cells(column: Any) -> Column:
    """Return the ids or titles of rows, as text."""
    import pyarrow as pa

    column = _decoded(column)
    raw = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}.get(column.type)
    values = (column.view(raw) if raw else column).to_pylist()  # a cast imports pyarrow.compute
    texts = (value.decode(errors="backslashreplace") if isinstance(value, bytes) else value for value in values)
    return Column.of([None if text is None else str(text).encode() for text in texts])


def page_sizes(file: Any, start: int, end: int) -> Iterator[int]:
    """Yield the plain bytes of each page between two offsets of the file, from the page headers.

    A header is a struct of Thrift's compact protocol: field 2 has the plain bytes, field 3 the bytes that follow it
    (parquet-format, PageHeader).
    """
    while start < end:
        file.seek(start)
        header = file.read(HEADER_BYTES)
        try:
            fields, length = _thrift_struct(header, 0)
        except IndexError:
            raise ValueError("the header of a page cannot be read") from None
        yield fields.get(2, 0)
        start += length + max(0, fields.get(3, 0))


def _thrift_struct(data: bytes, at: int) -> tuple[dict[int, int], int]:
    """Return the integers of a struct by field, and its end. Raises IndexError if the data end before."""

    def varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    fields: dict[int, int] = {}
    field = 0
    while head := data[at]:
        at += 1
        field = field + (head >> 4) if head >> 4 else varint() >> 1
        kind = head & 15
        if kind in FIXED:
            at += FIXED[kind]
        elif kind in (4, 5, 6):  # integers, in zigzag
            number = varint()
            fields[field] = number >> 1 ^ -(number & 1)
        elif kind == 8:  # bytes
            length = varint()  # moves `at`
            at += length
        elif kind == 12:
            at = _thrift_struct(data, at)[1]
        else:  # a page's header has no lists
            raise IndexError
    return fields, at + 1


def _joined(columns: Sequence[Any]) -> Any:
    """Join the texts of each row, without those that are null or empty; null where all are null."""
    import pyarrow as pa

    rows = zip(*(column.cast(pa.large_binary()).to_pylist() for column in columns), strict=True)
    texts = (None if all(text is None for text in row) else FIELD_BREAK.join(filter(None, row)) for row in rows)
    return pa.array(texts, pa.large_binary())


def strings_of(strings: Any) -> tuple[np.ndarray, memoryview]:
    """Return the offsets of Arrow's strings, one more than there are strings, and the bytes that they point into."""
    import numpy as np
    import pyarrow as pa

    if not len(strings):
        return np.zeros(1, np.int64), memoryview(b"")
    if strings.null_count or strings.type not in (pa.string(), pa.binary()):  # the cast imports pyarrow.compute
        strings = strings.cast(pa.large_binary()).fill_null(b"")
    _, offsets, data = strings.buffers()
    dtype = np.int32 if strings.type in (pa.string(), pa.binary()) else np.int64
    return np.frombuffer(offsets, dtype)[strings.offset :][: len(strings) + 1], memoryview(data or b"").cast("B")


def _check_column(source: str, schema: pa.Schema, column: str) -> None:
    import pyarrow.types as types

    if column not in schema.names and schema.names == ["pretoken", "count"]:
        raise InputError(
            f"{source}: contains word counts, not text. Train on their folder alone, or add it to other counts with tokenmill count --merge"
        )
    if column not in schema.names:
        raise InputError(
            f"{source}: no column {column!r}; the columns are {', '.join(schema.names[:20])}. "
            f"Name the column of the text {BY_FIELD}"
        )
    if schema.names.count(column) > 1:
        raise InputError(
            f"{source}: {schema.names.count(column)} columns are called {column!r}. Rename all but one, or name another {BY_FIELD}"
        )
    dtype = schema.field(column).type
    if not _is_text(dtype) and not types.is_null(dtype):  # null: no row of the file has a text
        raise InputError(
            f"{source}: the column {column!r} contains {dtype}, not text. Name a column of text {BY_FIELD}"
        )


def _is_text(dtype: Any) -> bool:
    """Return whether a column of this type has strings or bytes."""
    plain = str(getattr(dtype, "value_type", dtype)) if str(dtype).startswith("dictionary") else str(dtype)
    return plain.removeprefix("large_").removesuffix("_view") in ("string", "binary")


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
