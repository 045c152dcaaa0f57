"""Sources with many documents: JSON lines and Parquet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ..errors import InputError, require
from ..sources.find import OnSkip, Skip, is_url, open_source, size_of
from .decompress import ByteStream
from .reading import Block, Source, Span, StreamSource, encode

__all__ = ["JsonLinesSource", "ParquetSource"]

ROWS = 256  # documents of a Parquet file in one block


class JsonLinesSource(StreamSource):
    """A file with one document per line: the string in `field` of the JSON object there. Empty lines are passed over."""

    def __init__(self, path: Path | str, field: str, span: Span | None = None, on_skip: OnSkip | None = None):
        super().__init__(path, span, on_skip)
        self._field = field
        self._line = 0  # how many have been given out

    def place(self) -> list[int]:
        return [self._position(), self._line]

    def resume(self, place: list[int]) -> None:
        self._skip, self._line = place

    def _boundary(self, offset: int) -> int:
        """After the newline at or behind the byte before `offset`."""
        if offset == 0:
            return 0
        stream = ByteStream(self.path)
        try:
            stream.skip(offset - 1, lambda: None)
            window = bytearray(1 << 16)
            while n := stream.readinto(memoryview(window)):
                if (place := window.find(b"\n", 0, n)) >= 0:
                    return stream.position - n + place + 1
            return stream.position
        finally:
            stream.close()

    def _fill(self, block: Block) -> None:
        parts = [self._rest]
        end = 0
        while not end and not self.done:
            with memoryview(block.buffer) as view:
                got, self.done = self._read(view)
            end = got if self.done else block.buffer.rfind(b"\n", 0, got) + 1
            parts.append(bytes(memoryview(block.buffer)[: end or got]))
        self._rest = bytes(memoryview(block.buffer)[end:got])
        block.data = b"".join(parts)
        block.first_line = self._line + 1
        self._line += block.data.count(b"\n")

    def _finish(self, block: Block) -> None:
        block.set_documents([encode(text) for text in self._texts(bytes(block.data).split(b"\n"), block.first_line)])

    def _texts(self, lines: Iterable[bytes], first: int) -> Iterator[str]:
        for number, line in enumerate(lines, first):
            if not line.strip():
                continue
            where = f"line {number}" + (f" after byte {self._skip:,}" if self._span and self._skip else "")
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:  # ValueError is JSONDecodeError and UnicodeDecodeError
                self._leave_out(where, f"this is no JSON: {error}")
                continue
            text = record.get(self._field) if isinstance(record, dict) else None
            if isinstance(text, str):
                yield text
                continue
            found = f"only {', '.join(map(repr, record))}" if isinstance(record, dict) else "and is no JSON object"
            self._leave_out(
                where,
                f"it has no string in the field {self._field!r}, {found}. "
                "Name the field that holds the text (field=..., --field).",
            )

    def _leave_out(self, where: str, why: str) -> None:
        if self._on_skip is None:
            raise InputError(f"{self.path}, {where}: {why}")
        self._on_skip(Skip(str(self.path), where, why))


class ParquetSource(Source):
    """A Parquet file with one document per row, in the column `field`; rows without a value are passed over.

    A span is a range of row groups.
    """

    def __init__(self, path: Path | str, field: str, span: Span | None = None, on_skip: OnSkip | None = None):
        super().__init__(path, span, on_skip)
        self._field = field
        self._group, self._row = (span[0] if span else 0), 0  # the next to be given out
        self._file: Any = None
        self._stream: Any = None
        self._batches: Iterator[Any] | None = None
        self._given = 0  # rows
        self._was_read = 0

    @staticmethod
    def groups(path: Path | str) -> int:
        """How many row groups a file has."""
        source = ParquetSource(path, "")
        source._open_file()
        groups = source._file.num_row_groups
        source.close()
        return groups

    def bytes_read(self) -> int:
        return self._was_read

    def place(self) -> list[int]:
        return [self._group, self._row]

    def resume(self, place: list[int]) -> None:
        self._group, self._row = place

    def close(self) -> None:
        self.done = True
        self._batches = None
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _open_file(self) -> None:
        parquet = require("pyarrow.parquet", "corpus", "reading Parquet files")
        try:
            self._stream = open_source(self.path) if is_url(self.path) else None
            self._file = parquet.ParquetFile(self._stream or self.path, pre_buffer=False)
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path} is no readable Parquet file: {_first_line(error)}") from error

    def _open(self, pause: Callable[[], None]) -> None:
        import pyarrow.types as kinds

        self._open_file()
        schema = self._file.schema_arrow
        if self._field not in schema.names:
            names = ", ".join(map(repr, schema.names[:20]))
            raise InputError(
                f"{self.path} has no column {self._field!r}, only {names}. "
                "Name the column that holds the text (field=..., --field)."
            )
        kind = schema.field(self._field).type
        kind = kind.value_type if kinds.is_dictionary(kind) else kind
        if not any(
            test(kind)
            for test in (
                kinds.is_string,
                kinds.is_large_string,
                kinds.is_string_view,
                kinds.is_binary,
                kinds.is_large_binary,
                kinds.is_binary_view,
            )
        ):
            raise InputError(
                f"{self.path}: the column {self._field!r} holds {kind}, no text. Name a column of strings."
            )

    def _fill(self, block: Block) -> None:
        last = min(self._span[1], self._file.num_row_groups) if self._span else self._file.num_row_groups
        block.set_documents([])
        while self._group < last:
            try:
                if self._batches is None:
                    self._batches = self._file.iter_batches(ROWS, row_groups=[self._group], columns=[self._field])
                    self._row, skip = 0, self._row  # where the count was interrupted
                    while self._row < skip:
                        self._row += len(next(self._batches))
                batch = next(self._batches)
                self._row += len(batch)
                self._given += len(batch)
                self._was_read = size_of(self.path) * self._given // max(1, self._file.metadata.num_rows)
                _set_texts(block, batch.column(0))
                return
            except StopIteration:
                pass
            except (OSError, ValueError) as error:
                rest = self._file.metadata.row_group(self._group).num_rows - self._row
                where, why = f"row group {self._group}", f"{rest:,} rows are damaged: {_first_line(error)}"
                if self._on_skip is None:
                    raise InputError(f"{self.path}, {where}: {why}") from error
                self._on_skip(Skip(str(self.path), where, why))
            self._group, self._row, self._batches = self._group + 1, 0, None
        self.done = True


def _set_texts(block: Block, texts: Any) -> None:
    """Give a block the texts of an Arrow array, without a copy of them."""
    import numpy as np
    import pyarrow as pa

    if pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    texts = texts.drop_null().cast(pa.large_binary())
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1].astype(np.uint64)
    block.data = memoryview(data).cast("B")[int(ends[0]) : int(ends[-1])] if data is not None else b""
    block.document_ends = ends[1:] - ends[0]
    block.documents, block.nbytes = len(texts), len(block.data)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
