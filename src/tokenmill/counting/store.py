"""Word counts on disk: a folder of Parquet files with the columns `pretoken` (binary) and `count` (uint64).

The files are counts-00000-of-00004.parquet and so on. Each contains an equal range of the pretokens' 64-bit hashes, and all of
them together are in canonical order, so the files depend only on the counts, not on threads, spills to disk or machines.
There is one file for each GiB of counted text, rounded up to a power of two.

The schema's metadata has, under the key `tokenmill.word_counts`, a JSON object: `version` (1), `split_patterns` (the
regular expressions, outermost first), and `documents` and `bytes` of the counted text. The file's metadata has, under the key
`tokenmill.rows`, the number of rows and the CRC-32 of that JSON and of the lengths, bytes and counts of each row group.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ..errors import FormatError, OutputError, require
from ..jobs.in_order import map_in_order
from ..jobs.outputs import open_output
from ..jobs.progress import Progress
from .rows import (
    ArrayRows,
    Pause,
    RowSource,
    bits_for,
    collect,
    concatenate,
    filter_rows,
    is_canonical,
    merge_partition,
    merge_partitions,
    merge_rows,
    sort_key,
    times,
)
from .weights import WeightedSource, checked_weights, scale_of, scaled

if TYPE_CHECKING:
    from .rows import Rows

KEY = b"tokenmill.word_counts"
ROWS_KEY = b"tokenmill.rows"
VERSION = 1
GROUP_ROWS = 1 << 17  # a row group ends after this many rows
GROUP_BYTES = 1 << 22  # or after this many bytes of pretokens, whichever comes first
MAX_FILES = 4096


class CountsMetadata(NamedTuple):
    """The metadata of each file."""

    split_patterns: tuple[str, ...] = ()
    documents: int = 0
    total_bytes: int = 0
    mixture: tuple[WeightedSource, ...] = ()  # of weighted sources

    @property
    def scale(self) -> int:
        """The factor of weighted counts."""
        return scale_of(source.weight for source in self.mixture)

    def to_json(self) -> bytes:
        values = {
            "version": VERSION,
            "split_patterns": self.split_patterns,
            "documents": self.documents,
            "bytes": self.total_bytes,
            **({"mixture": self.mixture} if self.mixture else {}),
        }
        return json.dumps(values, ensure_ascii=False).encode()

    @classmethod
    def from_schema(cls, schema: Any, path: Path) -> CountsMetadata | None:
        """The metadata in the schema of a Parquet file; None if tokenmill did not write the file. FormatError for damage."""
        text = (schema.metadata or {}).get(KEY)
        if text is None:
            return None
        try:
            values = json.loads(text)
            version = values["version"]
            if isinstance(version, int) and version > VERSION:  # before other keys are read
                raise FormatError(
                    f"{path} was made by a newer version of tokenmill (format {version}; this one reads {VERSION}). Update tokenmill."
                )
            patterns = values["split_patterns"]
            numbers = (values["documents"], values["bytes"])
            mixture = tuple(
                WeightedSource(str(name), str(weight), int(size)) for name, weight, size in values.get("mixture", ())
            )
            scale_of(weight for _, weight in checked_weights(source[:2] for source in mixture))
            if not all(isinstance(p, str) for p in patterns) or not all(isinstance(n, int) for n in numbers):
                raise ValueError("its values have the wrong kinds")
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(f"{path} has metadata that cannot be read: {error}") from error
        if version != VERSION:
            raise FormatError(f"{path} has metadata of format {version!r}; tokenmill reads format {VERSION}")
        return cls(tuple(patterns), *numbers, mixture)


def files_for(total_bytes: int) -> int:
    """The number of files for the counts of a text.

    >>> files_for(0), files_for(2**30), files_for(2**30 + 1), files_for(5 * 2**30)
    (1, 1, 2, 8)
    """
    return min(MAX_FILES, 1 << max(0, -(-total_bytes // 2**30) - 1).bit_length())


class _Checksum:
    """The number of rows of a file, and the CRC-32 of its metadata and rows. Parquet's own checksums cover only pages."""

    def __init__(self, metadata: bytes) -> None:
        self._rows = 0
        self._crc = zlib.crc32(metadata)

    def add(self, rows: Rows) -> None:
        """Add the next row group."""
        import numpy as np

        self._rows += len(rows[2])
        for array in (np.diff(rows[1]), rows[0], rows[2]):
            self._crc = zlib.crc32(np.ascontiguousarray(array), self._crc)  # type: ignore[arg-type]

    def text(self) -> str:
        return f"{self._rows} {self._crc:08x}"


@dataclass
class WrittenTotals:
    """The totals of written files: distinct pretokens, the sum of their counts, and the number of pruned pretokens."""

    distinct: int = 0
    pretokens: int = 0
    pruned: int = 0

    def frequent(self, batches: Iterable[Rows], min_count: int) -> Iterator[Rows]:
        """Yield the rows with a count of at least `min_count`, which the caller writes, and add up the totals."""
        for rows in batches:
            kept = filter_rows(rows, min_count)
            self.distinct += len(kept[2])
            self.pretokens += int(kept[2].sum())
            self.pruned += len(rows[2]) - len(kept[2])
            yield kept

    @classmethod
    def sum(cls, many: Iterable[Sequence[int]]) -> WrittenTotals:
        return cls(*map(sum, zip(*many, strict=True)))


def write_counts(
    folder: Path,
    metadata: CountsMetadata,
    sources: Sequence[RowSource],
    pool: Executor | None = None,
    at_once: int = 1,
    progress: Progress | None = None,
    min_count: int = 0,
    pause: Pause = lambda: None,
) -> WrittenTotals:
    """Write the sum of `sources`, without pretokens rarer than `min_count`, as files into a folder.

    Without a pool, each source is read once. With a pool, each file is a task that reads its range of all sources.
    """
    files = files_for(metadata.total_bytes)
    bits = max(files.bit_length() - 1, bits_for(sources))
    partitions = (1 << bits) // files  # of each file
    whole = merge_partitions(sources, bits, range(1 << bits), pause)

    def write(number: int) -> tuple[int, int, int]:
        rows = (
            islice(whole, partitions)
            if pool is None
            else merge_partition(sources, number, files.bit_length() - 1, pause)
        )
        with open_output(folder / name_of_file(number, files)) as file:
            return write_file(file, metadata, rows, min_count)

    totals: list[tuple[int, int, int]] = []
    for file_totals in map_in_order(pool, write, range(files), at_once):
        totals.append(file_totals)
        if progress is not None:
            progress("merge", len(totals), files)
    return WrittenTotals.sum(totals)


def name_of_file(number: int, files: int) -> str:
    """The name of one file of a folder of word counts."""
    return f"counts-{number:05d}-of-{files:05d}.parquet"


def is_own(path: Path) -> bool:
    """Return whether `path` has the name of a file of `write_counts`."""
    return re.fullmatch(r"counts-\d{5}-of-\d{5}\.parquet", path.name) is not None and path.is_file()


def write_file(
    file: IO[bytes], metadata: CountsMetadata, batches: Iterable[Rows], min_count: int = 0
) -> tuple[int, int, int]:
    """Write one file: rows in canonical order, without pretokens rarer than `min_count`. Return the values of WrittenTotals.

    The file, with its row groups, depends only on the rows, not on the batches.
    """
    pa = require("pyarrow", "corpus", "writing word counts")
    parquet = require("pyarrow.parquet", "corpus", "writing word counts")
    columns = [pa.field("pretoken", pa.binary(), nullable=False), pa.field("count", pa.uint64(), nullable=False)]
    schema = pa.schema(columns, metadata={KEY: metadata.to_json()})
    checksum, totals = _Checksum(metadata.to_json()), WrittenTotals()
    with parquet.ParquetWriter(
        file,
        schema,
        compression="zstd",
        use_dictionary=False,  # each pretoken comes once
        column_encoding={"pretoken": "DELTA_LENGTH_BYTE_ARRAY", "count": "DELTA_BINARY_PACKED"},
        write_statistics=False,
        write_page_checksum=True,
    ) as writer:
        for rows in _row_groups(totals.frequent(batches, min_count)):
            checksum.add(rows)
            writer.write_batch(to_batch(rows, schema), row_group_size=len(rows[2]))
        writer.add_key_value_metadata({ROWS_KEY: checksum.text()})
    return astuple(totals)


def _row_groups(batches: Iterable[Rows]) -> Iterator[Rows]:
    """Cut batches of rows into row groups."""
    import numpy as np

    pending: list[Rows] = []
    n = nbytes = 0
    for arena, offsets, counts in batches:
        while len(counts):
            end = min(GROUP_ROWS - n, len(counts))
            # The row with which the group reaches GROUP_BYTES is its last.
            limit = int(offsets[0]) + GROUP_BYTES - nbytes
            end = min(end, int(np.searchsorted(offsets[1 : end + 1], limit)) + 1)
            first, last = int(offsets[0]), int(offsets[end])
            pending.append((arena[first:last], offsets[: end + 1] - offsets[0], counts[:end]))
            n += end
            nbytes += last - first
            if nbytes >= 2**31:
                raise OutputError(
                    "cannot write word counts with a pretoken of 2 GiB or more: Parquet cannot represent it. "
                    "Choose a split pattern that cuts such text."
                )
            if n == GROUP_ROWS or nbytes >= GROUP_BYTES:
                yield concatenate(pending)
                pending, n, nbytes = [], 0, 0
            offsets, counts = offsets[end:], counts[end:]
    if pending:
        yield concatenate(pending)


def load_rows(folder: str | os.PathLike, min_count: int = 0) -> tuple[Rows, CountsMetadata]:
    """Read the word counts in `folder`. In files of other programs, a pretoken may occur several times."""
    saved = SavedCounts(Path(folder))
    if saved.metadata is None:
        return filter_rows(merge_rows(saved.row_groups()), min_count), CountsMetadata()
    least = scaled(min_count, saved.metadata.scale)
    try:
        rows = collect((filter_rows(batch, least) for batch in saved.row_groups()), saved.rows, saved.nbytes)
    except ValueError as error:
        raise FormatError(f"{folder} is damaged: it has more rows than its metadata says") from error
    return rows, saved.metadata


class SavedCounts:
    """A folder of word counts, which are multiplied by `factor`.

    metadata: None if tokenmill did not write the folder. nbytes: the bytes of the pretokens, about.
    """

    def __init__(self, folder: Path, factor: int = 1) -> None:
        self._folder, self._factor = folder, factor
        self._files = _files_in(folder)
        self.rows = self.nbytes = 0
        for path in self._files:
            with _open_file(path) as file:
                schema, footer = file.schema_arrow, file.metadata
            _check_columns(path, schema)
            metadata = CountsMetadata.from_schema(schema, path)
            if path == self._files[0]:
                self.metadata = metadata
            elif metadata != self.metadata:
                raise FormatError(f"{path} does not belong with the other files in {folder}: their metadata differs")
            self.rows += footer.num_rows
            self.nbytes += sum(
                footer.row_group(i).column(0).total_uncompressed_size for i in range(footer.num_row_groups)
            )

    def batches(self, partition: int, bits: int) -> Iterator[ArrayRows]:
        return map(ArrayRows, self.row_groups())

    def row_groups(self) -> Iterator[Rows]:
        """Yield all rows, in canonical order if tokenmill wrote them."""
        last = -1, b""
        for path in self._files:
            for rows in _read_rows(path):
                if self.metadata is not None and len(rows[2]):
                    begin, end = sort_key(rows, 0), sort_key(rows, len(rows[2]) - 1)
                    if begin <= last or not is_canonical(rows):
                        raise FormatError(
                            f"{self._folder} is damaged: its pretokens are not in the order of word counts"
                        )
                    last = end
                yield times(rows, self._factor)


@contextmanager
def _open_file(path: Path) -> Iterator[Any]:
    pa = require("pyarrow", "corpus", "reading Parquet")
    parquet = require("pyarrow.parquet", "corpus", "reading Parquet")
    with ExitStack() as stack:
        try:
            stored = stack.enter_context(pa.OSFile(os.fsencode(path)))  # a str must be UTF-8
            file = stack.enter_context(parquet.ParquetFile(stored, page_checksum_verification=True))
        except (OSError, ValueError, pa.ArrowException) as error:
            raise FormatError(f"{path} is not a readable Parquet file: {error}") from error
        yield file


def is_saved(path: str | os.PathLike) -> bool:
    """Return whether `path` is a folder of word counts: Parquet files with the columns `pretoken` and `count`."""
    path = Path(path)
    files = sorted(path.glob("*.parquet")) if path.is_dir() else []
    if not files:
        return False
    try:
        with _open_file(files[0]) as file:
            return {"pretoken", "count"} <= set(file.schema_arrow.names)
    except FormatError:
        return files[0].name.startswith("counts-")  # `load_rows` reports damaged counts


def _read_rows(path: Path) -> Iterator[Rows]:
    """Yield the rows of one Parquet file of word counts, one row group at a time."""
    import pyarrow as pa

    try:
        with _open_file(path) as file:
            expected = (file.metadata.metadata or {}).get(ROWS_KEY)
            metadata = (file.schema_arrow.metadata or {}).get(KEY)
            if (expected is None) != (metadata is None):
                raise ValueError("part of its metadata is missing")
            checksum = _Checksum(metadata or b"")
            for i in range(file.num_row_groups):
                table = file.read_row_group(i, columns=["pretoken", "count"])
                pretokens = table.column("pretoken").cast(pa.large_binary()).combine_chunks()
                numbers = table.column("count").cast(pa.uint64()).combine_chunks()
                if pretokens.null_count or numbers.null_count:
                    raise FormatError(f"{path} has empty cells in row group {i}; pretokens and counts are all needed")
                rows = from_arrow(pretokens, numbers)
                checksum.add(rows)
                yield rows
        if expected is not None and checksum.text() != (wanted := expected.decode("ascii", "replace")):
            raise ValueError(f"its number of rows and checksum are {checksum.text()}, but should be {wanted}")
    except (OSError, ValueError, pa.ArrowException) as error:
        raise FormatError(f"{path} is damaged: {error}. Count again, or restore it from a copy.") from error


def _check_columns(path: Path, schema: Any) -> None:
    import pyarrow as pa

    names = set(schema.names)
    if not {"pretoken", "count"} <= names:
        raise FormatError(
            f"{path} does not contain word counts: it has no columns 'pretoken' and 'count', but {sorted(names)}"
        )
    pretoken, count = schema.field("pretoken").type, schema.field("count").type
    if pretoken not in (pa.binary(), pa.large_binary(), pa.string(), pa.large_string()):
        raise FormatError(f"the column 'pretoken' of {path} has the type {pretoken}; it must be binary or string")
    if not pa.types.is_integer(count):
        raise FormatError(f"the column 'count' of {path} has the type {count}; it must be an integer type")


def _files_in(folder: Path) -> list[Path]:
    """The Parquet files in a folder of word counts, in order. FormatError if some are missing."""
    files = sorted(folder.glob("*.parquet")) if folder.is_dir() else []
    if not files:
        reason = "it is not a folder with Parquet files" if folder.exists() else "there is no such file or folder"
        raise FormatError(f"{folder} does not contain word counts: {reason}")
    if files[0].stem.startswith("counts-") and "-of-" in files[0].stem:
        total = files[0].stem.rpartition("-of-")[2]
        if not total.isdecimal() or len(files) != int(total):
            raise FormatError(f"{folder} should have {total} files of word counts, but has {len(files)}")
    return files


def to_batch(rows: Rows, schema: Any) -> Any:
    """Rows as an Arrow record batch; `schema` has 32-bit or 64-bit offsets."""
    import numpy as np
    import pyarrow as pa

    arena, offsets, counts = rows
    kind = schema.field("pretoken").type
    ends = offsets.astype(np.int64 if kind == pa.large_binary() else np.int32)
    pretokens = pa.Array.from_buffers(kind, len(counts), [None, pa.py_buffer(ends), pa.py_buffer(arena)])
    return pa.record_batch([pretokens, pa.array(counts, pa.uint64())], schema=schema)


def from_arrow(pretokens: Any, numbers: Any) -> Rows:
    """Arrow arrays as rows."""
    import numpy as np

    from ..sources.parquet import strings_of

    offsets, data = strings_of(pretokens)
    arena = np.frombuffer(data[offsets[0] : offsets[-1]], np.uint8)
    return arena, (offsets - offsets[0]).astype(np.uint64), numbers.to_numpy(zero_copy_only=False)
