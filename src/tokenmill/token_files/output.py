"""From a finished part to the files of the output: they are made in the working folder, then renamed into place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import OptionName, UsageError, require
from ..jobs.outputs import open_output, sync
from ..tokenizer.encoding._documents_cy import ends_of
from .megatron import write_index
from .parts import Part, read_names
from .settings import ROLES, Metadata, Settings, index_path, metadata_path, offsets_path

if TYPE_CHECKING:
    import numpy as np

    from ..tokenizer.tokenizer import Tokenizer

HEADERS = {"bin": 0, "npy": 128, "megatron": 0, "parquet": 0}  # bytes before the first id
ROW_GROUP_TOKENS = 1 << 22
ROW_GROUP_DOCUMENTS = 1 << 16
BLOCK = 1 << 18


def build(part: Part, tok: Tokenizer, settings: Settings, output: Path) -> list[list[str]]:
    """Make the files of the output. Returns [name in the working folder, final name] of each, the metadata last."""
    folder, counts = part.folder, part.counts
    ids, beside = "ids", ""
    if settings.format == "parquet":
        ids = "rows"
        _write_parquet(folder / ids, part, settings)
    elif settings.format == "megatron":
        beside = index_path(output).name
        with open_output(folder / "beside") as file:
            write_index(file, _lengths(part), settings.dtype)
    else:
        beside = offsets_path(output).name
        with open_output(folder / "beside") as file, open(folder / "lengths", "rb") as lengths:
            file.write(_npy_header("<i8", counts.documents + 1) + bytes(8))
            end = 0
            while data := lengths.read(8 * BLOCK):
                ends = ends_of(memoryview(data).cast("q"), end)
                file.write(ends)
                end = ends[-1]
    if settings.format == "npy":
        with open_output(folder / ids, "r+b") as file:
            file.write(_npy_header({"uint16": "<u2", "uint32": "<u4"}[settings.dtype], counts.tokens))
    files = [[ids, output.name]] + ([["beside", beside]] if beside else [])
    metadata = Metadata(
        settings.format,
        settings.dtype,
        tok.vocabulary.fingerprint(),
        tok.n_vocab,
        settings.end_of_text,
        counts.documents,
        counts.tokens,
        counts.text_bytes,
        {role: (folder / name).stat().st_size for role, (name, _) in zip(ROLES, files, strict=False)},
    )
    with open_output(folder / "metadata") as file:
        file.write(metadata.dumps().encode())
    files.append(["metadata", metadata_path(output).name])
    sync(*(folder / name for name, _ in files), folder)
    return [[f"{folder.name}/{name}", final] for name, final in files]


def _npy_header(kind: str, n: int) -> bytes:
    """The 128 bytes before an array of n numbers: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html"""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({n},), }}"
    return b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little") + text.ljust(117).encode() + b"\n"


def _lengths(part: Part) -> np.ndarray:
    import numpy as np

    return _mapped(part.folder / "lengths", np.int64, part.counts.documents)


def _write_parquet(path: Path, part: Part, settings: Settings) -> None:
    """A row for each document: ids, source, id. Row groups end by a rule that looks at the documents alone."""
    import numpy as np

    pa: Any = require("pyarrow", "corpus", "writing Parquet")
    import pyarrow.parquet as pq

    lengths = _lengths(part)
    ids = _mapped(part.folder / "ids", settings.dtype, part.counts.tokens)
    schema = pa.schema(
        [
            ("ids", pa.list_(pa.field("element", pa.type_for_alias(settings.dtype), nullable=False))),
            ("source", pa.string()),
            ("id", pa.string()),
        ]
    )
    begin = 0
    with (
        open(part.folder / "names", "rb") as names,
        open_output(path) as file,
        pq.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        blocks = read_names(names)
        source, keys = "", pa.array([], pa.string())
        for first, last in _row_groups(lengths):
            offsets = np.zeros(last - first + 1, np.int64)
            np.cumsum(lengths[first:last], out=offsets[1:])
            if offsets[-1] >= 1 << 31:
                raise UsageError(
                    f"document {last - 1:,} has {int(lengths[last - 1]):,} tokens, more than a row of Parquet takes. "
                    "Cut it (",
                    OptionName("unit"),
                    "), or choose another format.",
                )
            values = pa.array(ids[begin : begin + int(offsets[-1])])
            begin += int(offsets[-1])
            lists = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values).cast(schema.field("ids").type)
            columns: tuple[list, list] = [], []
            missing = last - first
            while missing:
                if not len(keys):
                    source, keys = next(blocks)
                n = min(missing, len(keys))
                columns[0].append(pa.repeat(pa.scalar(source, pa.string()), n))
                columns[1].append(keys[:n])
                keys, missing = keys[n:], missing - n
            batch = pa.record_batch([lists, *map(pa.concat_arrays, columns)], schema=schema)
            writer.write_batch(batch, row_group_size=last - first)


def _row_groups(lengths: np.ndarray) -> Iterator[tuple[int, int]]:
    import numpy as np

    first = 0
    while first < len(lengths):
        tokens = np.cumsum(lengths[first : first + ROW_GROUP_DOCUMENTS])
        last = first + max(1, int(np.searchsorted(tokens, ROW_GROUP_TOKENS, "right")))
        yield first, last
        first = last


def _mapped(path: Path, dtype: Any, length: int) -> np.ndarray:
    import numpy as np

    return np.memmap(path, dtype, "r", shape=(length,)) if length else np.zeros(0, dtype)
