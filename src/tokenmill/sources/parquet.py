"""Parquet: the text in one column, read by row group; FineWeb's columns `text` and `id` are the defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import InputError, require
from .documents import Document, ReadOptions, Record, decode, too_long
from .find import Skip
from .streams import SourceStream

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["document", "records"]

BATCH_ROWS = 256


def records(stream: SourceStream, options: ReadOptions) -> Iterator[Record | Skip]:
    """The values of the column, and of the column `id` where there is one. A damaged row group is skipped whole."""
    require("pyarrow", "corpus", "reading Parquet")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(stream, pre_buffer=False)
        schema = file.schema_arrow
        groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(
            f"{stream.source}: no readable Parquet file ({_first_line(error)}). Fetch it again."
        ) from error
    columns = [options.column, *(["id"] if "id" in schema.names and options.column != "id" else [])]
    _check_column(stream.source, schema, options.column)
    first = 1
    for group, rows in enumerate(groups):
        row = first
        try:
            for batch in file.iter_batches(BATCH_ROWS, row_groups=[group], columns=columns):
                for data, id in _values(batch, options.column):
                    if options.max_document_bytes is not None and len(data) > options.max_document_bytes:
                        yield Skip(stream.source, f"row {row}", too_long(options.max_document_bytes))
                    else:
                        yield Record("parquet", stream.source, f"row {row}", data, id or str(row))
                    row += 1
        except (pa.ArrowException, OSError, ValueError) as error:
            where = f"row {row} to row {first + rows - 1}"
            yield Skip(stream.source, where, f"row group {group} is damaged: {_first_line(error)}")
        first += rows


def document(record: Record, options: ReadOptions) -> Document:
    return Document(decode(record.data), record.source, record.id)


def _check_column(source: str, schema: pa.Schema, column: str) -> None:
    import pyarrow.types as kinds

    if column not in schema.names:
        raise InputError(f"{source}: no column {column!r}; the columns are {', '.join(schema.names[:20])}. Name one.")
    kind = schema.field(column).type
    plain = kind.value_type if kinds.is_dictionary(kind) else kind
    text = (kinds.is_string, kinds.is_large_string, kinds.is_string_view)
    binary = (kinds.is_binary, kinds.is_large_binary, kinds.is_binary_view)
    if not any(test(plain) for test in text + binary):
        raise InputError(f"{source}: the column {column!r} holds {kind}, no text. Name a column of strings.")


def _values(batch: pa.RecordBatch, column: str) -> Iterator[tuple[bytes, str]]:
    """Each text as bytes, so that one which is not UTF-8 is a damaged document and not a damaged file; and its id."""
    import pyarrow as pa

    texts: Any = batch.column(column)
    if pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    texts = texts.cast(pa.large_binary())
    ids = batch.column("id").to_pylist() if "id" in batch.schema.names else [None] * len(texts)
    for text, id in zip(texts, ids, strict=True):
        value = text.as_py()
        yield value or b"", "" if id is None else str(id)


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
