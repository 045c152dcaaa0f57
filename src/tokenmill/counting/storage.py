"""Word counts on disk: a folder of Parquet files with the columns `piece` (binary) and `count` (uint64).

The files are counts-00000-of-00004.parquet and so on. Each holds an equal range of the pieces' 64-bit hashes and all of
them together are in canonical order, so what is written depends on nothing but the counts: not on threads, on spills
to disk, or on the machines that did the work. The number of files is one for each GiB of counted text, rounded up to a
power of two.

The schema's metadata has, under the key `tokenmill.word_counts`, a JSON object: `version` (1), `split_patterns` (the
regular expressions, outermost first), `documents` and `bytes` (how much text was counted).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FormatError, OutputError, require
from ..writing import atomic_folder
from .tables import concatenate, merge_rows
from .word_counts import WordCounts

if TYPE_CHECKING:
    import numpy as np

    from .tables import Rows

__all__ = ["CountsWriter", "files_for", "is_canonical", "is_saved", "load", "read_rows", "save"]

KEY = b"tokenmill.word_counts"
VERSION = 1
GROUP_ROWS = 1 << 18  # a row group ends after this many rows
GROUP_BYTES = 1 << 24  # or after this many bytes of pieces, whichever comes first
MAX_FILES = 4096


def files_for(total_bytes: int) -> int:
    """How many files the counts of so much text are written to.

    >>> files_for(0), files_for(2**30), files_for(2**30 + 1), files_for(5 * 2**30)
    (1, 1, 2, 8)
    """
    return min(MAX_FILES, 1 << max(0, -(-total_bytes // 2**30) - 1).bit_length())


class CountsWriter:
    """Writes rows that come in canonical order to the files of a folder.

    What is in a file, its row groups included, depends on the rows alone, not on how they were handed over.
    """

    def __init__(self, folder: Path, split_patterns: tuple[str, ...], documents: int, total_bytes: int):
        self._pa = require("pyarrow", "corpus", "writing word counts")
        self._parquet = require("pyarrow.parquet", "corpus", "writing word counts")
        about = {
            "version": VERSION,
            "split_patterns": list(split_patterns),
            "documents": documents,
            "bytes": total_bytes,
        }
        columns = [("piece", self._pa.binary(), False), ("count", self._pa.uint64(), False)]
        self._schema = self._pa.schema(
            [self._pa.field(name, kind, nullable=nullable) for name, kind, nullable in columns],
            metadata={KEY: json.dumps(about, ensure_ascii=False).encode()},
        )
        self._folder = folder
        self._files = files_for(total_bytes)
        self._current = -1
        self._writer: Any = None
        self._pending: list[Rows] = []
        self._pending_rows = self._pending_bytes = 0

    def write(self, rows: Rows) -> None:
        """The next rows, in canonical order."""
        import numpy as np

        arena, offsets, counts = rows
        if len(counts) == 0:
            return
        if self._files == 1:
            self._write_to(0, rows)
            return
        bits = self._files.bit_length() - 1
        part = (hashes_of(rows) >> np.uint64(64 - bits)).astype(np.int64)
        for file in range(int(part[0]), int(part[-1]) + 1):
            first, last = np.searchsorted(part, [file, file + 1])
            self._write_to(file, (arena, offsets[first : last + 1], counts[first:last]))

    def close(self) -> None:
        """Finish the last file; files for which no rows came are written empty."""
        self._go_to(self._files)

    def _write_to(self, file: int, rows: Rows) -> None:
        import numpy as np

        self._go_to(file)
        arena, offsets, counts = rows
        while len(counts):
            room = GROUP_ROWS - self._pending_rows
            end = min(room, len(counts))
            # The row with which the bytes of the group reach their limit is the last of the group.
            limit = int(offsets[0]) + GROUP_BYTES - self._pending_bytes
            end = min(end, int(np.searchsorted(offsets[1 : end + 1], limit)) + 1)
            first, last = int(offsets[0]), int(offsets[end])
            self._pending.append((arena[first:last], offsets[: end + 1] - offsets[0], counts[:end]))
            self._pending_rows += end
            self._pending_bytes += last - first
            if self._pending_rows == GROUP_ROWS or self._pending_bytes >= GROUP_BYTES:
                self._flush()
            offsets, counts = offsets[end:], counts[end:]

    def _flush(self) -> None:
        import numpy as np

        if self._pending_rows == 0:
            return
        pa = self._pa
        if self._pending_bytes >= 2**31:
            raise OutputError(
                "cannot write word counts with a piece of 2 GiB or more: Parquet cannot hold it. "
                "Choose a split pattern that cuts such text."
            )
        arena, offsets, counts = concatenate(self._pending)
        buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(arena)]
        pieces = pa.Array.from_buffers(pa.binary(), len(counts), buffers)
        batch = pa.record_batch([pieces, pa.array(counts, pa.uint64())], schema=self._schema)
        self._writer.write_batch(batch, row_group_size=len(counts))
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0

    def _go_to(self, file: int) -> None:
        """Finish the files before `file`, and open it."""
        while self._current < file:
            if self._writer is not None:
                self._flush()
                self._writer.close()
                self._writer = None
            self._current += 1
            if self._current < self._files:
                path = self._folder / f"counts-{self._current:05d}-of-{self._files:05d}.parquet"
                self._writer = self._parquet.ParquetWriter(
                    path,
                    self._schema,
                    compression="zstd",
                    use_dictionary=False,  # no piece comes twice
                    column_encoding={"piece": "DELTA_LENGTH_BYTE_ARRAY", "count": "DELTA_BINARY_PACKED"},
                    write_statistics=False,
                    write_page_checksum=True,
                )


def save(counts: WordCounts, folder: str | os.PathLike) -> None:
    """Write `counts` to `folder`, which appears whole or not at all."""
    require("pyarrow", "corpus", "writing word counts")
    counts = counts.canonical()
    with atomic_folder(folder) as beside:
        writer = CountsWriter(beside, counts.split_patterns, counts.documents, counts.total_bytes)
        writer.write((counts.arena, counts.offsets, counts.counts))
        writer.close()


def load(folder: str | os.PathLike) -> WordCounts:
    """Read the word counts in `folder`. A piece that stands in several foreign files is added up."""
    folder = Path(folder)
    about: dict | None = None
    groups: list[Rows] = []
    for path in _files_in(folder):
        schema, batches = read_rows(path)
        groups += batches
        found = _about(schema, path)
        if about is not None and found != about:
            raise FormatError(f"{path} does not belong to the other files in {folder}: it says {found}, they {about}")
        about = found
    about = about or {}
    rows = concatenate(groups)
    if not is_canonical(rows):
        if about:
            raise FormatError(f"{folder} is damaged: its pieces are not in the order in which tokenmill writes them")
        rows = merge_rows([rows])
    patterns = tuple(about.get("split_patterns", ()))
    return WordCounts(*rows, patterns, about.get("documents", 0), about.get("bytes", 0))


def is_saved(path: str | os.PathLike) -> bool:
    """Whether `path` is a folder of word counts: Parquet files with the columns `piece` and `count`."""
    path = Path(path)
    files = sorted(path.glob("*.parquet")) if path.is_dir() else []
    if not files:
        return False
    parquet = require("pyarrow.parquet", "corpus", "reading word counts")
    try:
        return {"piece", "count"} <= set(parquet.read_schema(files[0]).names)
    except (OSError, ValueError):
        return files[0].name.startswith("counts-")  # damaged counts are for `load` to complain of


def read_rows(path: Path) -> tuple[Any, Iterator[Rows]]:
    """The schema of one Parquet file of word counts, and its rows, one row group at a time."""
    pa = require("pyarrow", "corpus", "reading word counts")
    parquet = require("pyarrow.parquet", "corpus", "reading word counts")
    try:
        file = parquet.ParquetFile(path, page_checksum_verification=True)
        schema = file.schema_arrow
    except (OSError, ValueError) as error:
        raise FormatError(f"{path} is not a readable Parquet file: {error}") from error
    names = set(schema.names)
    if not {"piece", "count"} <= names:
        raise FormatError(f"{path} has no columns 'piece' and 'count', so it holds no word counts; it has {sorted(names)}")

    def groups() -> Iterator[Rows]:
        try:
            with file:
                for i in range(file.num_row_groups):
                    table = file.read_row_group(i, columns=["piece", "count"])
                    pieces = table.column("piece").cast(pa.large_binary()).combine_chunks()
                    numbers = table.column("count").cast(pa.uint64()).combine_chunks()
                    if pieces.null_count or numbers.null_count:
                        raise FormatError(f"{path} has empty cells in row group {i}; pieces and counts are all needed")
                    yield _rows_of(pieces, numbers)
        except (OSError, ValueError) as error:
            raise FormatError(f"{path} is damaged: {error}. Count again, or restore it from a copy.") from error

    return schema, groups()


def is_canonical(rows: Rows) -> bool:
    """Whether rows are in canonical order, which also says that no piece stands in them twice."""
    import numpy as np

    hashes = hashes_of(rows)
    if bool(np.all(hashes[1:] > hashes[:-1])):
        return True
    if not bool(np.all(hashes[1:] >= hashes[:-1])):
        return False
    arena, offsets, _ = rows
    for i in np.flatnonzero(hashes[1:] == hashes[:-1]).tolist():
        if arena[offsets[i] : offsets[i + 1]].tobytes() >= arena[offsets[i + 1] : offsets[i + 2]].tobytes():
            return False
    return True


def hashes_of(rows: Rows) -> np.ndarray:
    import numpy as np

    from ._count_cy import hashes

    arena, offsets, counts = rows
    out = np.empty(len(counts), np.uint64)
    hashes(arena, offsets, out)
    return out


def _files_in(folder: Path) -> list[Path]:
    files = sorted(folder.glob("*.parquet")) if folder.is_dir() else []
    if not files:
        raise FormatError(f"{folder} holds no word counts: there is no folder with Parquet files of that name")
    if files[0].stem.startswith("counts-") and "-of-" in files[0].stem:
        total = files[0].stem.rpartition("-of-")[2]
        if not total.isdecimal() or len(files) != int(total):
            raise FormatError(f"{folder} should have {total} files of word counts, but has {len(files)}")
    return files


def _about(schema: Any, path: Path) -> dict:
    text = (schema.metadata or {}).get(KEY)
    if text is None:
        return {}
    try:
        about = json.loads(text)
        version = about["version"]
        patterns = about["split_patterns"]
        numbers = (about["documents"], about["bytes"])
        if not all(isinstance(p, str) for p in patterns) or not all(isinstance(n, int) for n in numbers):
            raise ValueError("its values are of the wrong kinds")
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path} has metadata that cannot be read: {error}") from error
    if version != VERSION:
        raise FormatError(f"{path} is of version {version}, but this tokenmill reads version {VERSION}. Update tokenmill.")
    return about


def _rows_of(pieces: Any, numbers: Any) -> Rows:
    """Arrow arrays as rows."""
    import numpy as np

    n = len(pieces)
    if n == 0:
        return np.empty(0, np.uint8), np.zeros(1, np.uint64), np.empty(0, np.uint64)
    _, ends, data = pieces.buffers()
    offsets = np.frombuffer(ends, np.int64)[pieces.offset : pieces.offset + n + 1].astype(np.uint64)
    arena = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    first, last = int(offsets[0]), int(offsets[-1])
    return arena[first:last], offsets - offsets[0], numbers.to_numpy(zero_copy_only=False)
