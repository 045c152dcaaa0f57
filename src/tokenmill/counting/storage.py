"""Word counts on disk: a folder of Parquet files with the columns `pretoken` (binary) and `count` (uint64).

The files are counts-00000-of-00004.parquet and so on. Each holds an equal range of the pretokens' 64-bit hashes and all of
them together are in canonical order, so what is written depends on nothing but the counts: not on threads, on spills
to disk, or on the machines that did the work. The number of files is one for each GiB of counted text, rounded up to a
power of two.

The schema's metadata has, under the key `tokenmill.word_counts`, a JSON object: `version` (1), `split_patterns` (the
regular expressions, outermost first), `documents` and `bytes` (how much text was counted).
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ..errors import FormatError, OutputError, require
from ..jobs.outputs import atomic_folder
from ..jobs.progress import Progress
from .tables import concatenate, filter_rows, hashes_of, merge_rows, ordered_map, part_of_rows
from .word_counts import WordCounts

if TYPE_CHECKING:
    import numpy as np

    from .tables import Rows

__all__ = [
    "About",
    "CountsFile",
    "files_for",
    "files_in",
    "from_arrow",
    "is_canonical",
    "is_saved",
    "load",
    "name_of_file",
    "open_folder",
    "read_rows",
    "save",
    "size_of",
    "to_batch",
    "write_counts",
    "write_file",
]

KEY = b"tokenmill.word_counts"
VERSION = 1
GROUP_ROWS = 1 << 17  # a row group ends after this many rows
GROUP_BYTES = 1 << 22  # or after this many bytes of pretokens, whichever comes first
MAX_FILES = 4096


class About(NamedTuple):
    """What the metadata of each file says."""

    split_patterns: tuple[str, ...] = ()
    documents: int = 0
    total_bytes: int = 0

    def to_json(self) -> bytes:
        about = {
            "version": VERSION,
            "split_patterns": self.split_patterns,
            "documents": self.documents,
            "bytes": self.total_bytes,
        }
        return json.dumps(about, ensure_ascii=False).encode()

    @classmethod
    def from_schema(cls, schema: Any, path: Path) -> About | None:
        """From the schema of a Parquet file; None where tokenmill did not write it."""
        text = (schema.metadata or {}).get(KEY)
        if text is None:
            return None
        try:
            about = json.loads(text)
            version, patterns = about["version"], about["split_patterns"]
            numbers = (about["documents"], about["bytes"])
            if not all(isinstance(p, str) for p in patterns) or not all(isinstance(n, int) for n in numbers):
                raise ValueError("its values are of the wrong kinds")
        except (ValueError, KeyError, TypeError) as error:
            raise FormatError(f"{path} has metadata that cannot be read: {error}") from error
        if version != VERSION:
            raise FormatError(
                f"{path} is of version {version}, but this tokenmill reads version {VERSION}. Update tokenmill."
            )
        return cls(tuple(patterns), *numbers)


def files_for(total_bytes: int) -> int:
    """How many files the counts of so much text are written to.

    >>> files_for(0), files_for(2**30), files_for(2**30 + 1), files_for(5 * 2**30)
    (1, 1, 2, 8)
    """
    return min(MAX_FILES, 1 << max(0, -(-total_bytes // 2**30) - 1).bit_length())


class CountsFile:
    """Writes one file. Rows come in canonical order; what is in the file, its row groups included, depends on the rows
    alone, not on how they are handed over."""

    def __init__(self, file: Path | IO[bytes], about: About):
        self._pa = require("pyarrow", "corpus", "writing word counts")
        parquet = require("pyarrow.parquet", "corpus", "writing word counts")
        columns = [("pretoken", self._pa.binary()), ("count", self._pa.uint64())]
        self._schema = self._pa.schema(
            [self._pa.field(name, kind, nullable=False) for name, kind in columns], metadata={KEY: about.to_json()}
        )
        self._writer = parquet.ParquetWriter(
            file,
            self._schema,
            compression="zstd",
            use_dictionary=False,  # no pretoken comes twice
            column_encoding={"pretoken": "DELTA_LENGTH_BYTE_ARRAY", "count": "DELTA_BINARY_PACKED"},
            write_statistics=False,
            write_page_checksum=True,
        )
        self._pending: list[Rows] = []
        self._pending_rows = self._pending_bytes = 0

    def write(self, rows: Rows) -> None:
        """The next rows, in canonical order."""
        import numpy as np

        arena, offsets, counts = rows
        while len(counts):
            end = min(GROUP_ROWS - self._pending_rows, len(counts))
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

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Close the file as it is; it is no Parquet file then."""
        self._pending, self._pending_rows = [], 0
        with contextlib.suppress(OSError):
            self._writer.close()

    def _flush(self) -> None:
        if self._pending_rows == 0:
            return
        if self._pending_bytes >= 2**31:
            raise OutputError(
                "cannot write word counts with a pretoken of 2 GiB or more: Parquet cannot hold it. "
                "Choose a split pattern that cuts such text."
            )
        rows = concatenate(self._pending)
        self._writer.write_batch(to_batch(rows, self._schema), row_group_size=len(rows[2]))
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0


def write_counts(
    folder: Path,
    about: About,
    part_of: Callable[[int, int], Iterable[Rows]],
    pool: Executor | None = None,
    at_once: int = 1,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Write the files of word counts into an existing folder.

    part_of(file, bits): the rows whose hash begins with the `bits` bits `file`, in canonical order.
    pool: writes `at_once` files at once.
    progress: called as progress("merge", thousandths of the hash range done, 1000).
    Returns how many distinct pretokens there were, and the sum of their counts.
    """
    files = files_for(about.total_bytes)
    bits = files.bit_length() - 1
    shares = [0.0] * files  # how much of each file's range of hashes is done

    def write(number: int) -> tuple[int, int]:
        def watch(rows: Rows) -> None:
            last = int(hashes_of((rows[0], rows[1][-2:], rows[2][-1:]))[0])
            shares[number] = last * files / 2**64 - number

        path = folder / name_of_file(number, files)
        sums = write_file(path, about, part_of(number, bits), watch if progress is not None else None)
        shares[number] = 1.0
        return sums

    def watch() -> None:
        if progress is not None:
            progress("merge", int(1000 * sum(shares) / files), 1000)

    written = list(ordered_map(pool, write, range(files), at_once, watch))
    watch()
    return sum(distinct for distinct, _ in written), sum(total for _, total in written)


def name_of_file(number: int, files: int) -> str:
    """The name of one file of a folder of word counts."""
    return f"counts-{number:05d}-of-{files:05d}.parquet"


def write_file(
    place: Path | IO[bytes], about: About, parts: Iterable[Rows], watch: Callable[[Rows], None] | None = None
) -> tuple[int, int]:
    """Write one file of word counts; how many distinct pretokens it has, and the sum of their counts.

    watch: called with each rows that were written.
    """
    file = CountsFile(place, about)
    distinct = total = 0
    try:
        for rows in parts:
            file.write(rows)
            distinct += len(rows[2])
            total += int(rows[2].sum())
            if watch is not None and len(rows[2]):
                watch(rows)
        file.close()
    except BaseException:
        file.abandon()
        raise
    return distinct, total


def save(counts: WordCounts, folder: str | os.PathLike) -> None:
    """Write `counts` to `folder`, which appears whole or not at all."""
    require("pyarrow", "corpus", "writing word counts")
    counts = counts.canonical()
    rows = (counts.arena, counts.offsets, counts.counts)
    hashes = hashes_of(rows)
    about = About(counts.split_patterns, counts.documents, counts.total_bytes)
    with atomic_folder(folder) as beside:
        write_counts(beside, about, lambda part, bits: [part_of_rows(rows, hashes, part, bits)])


def load(folder: str | os.PathLike, min_count: int = 0) -> WordCounts:
    """Read the word counts in `folder`. A pretoken that stands in several foreign files is added up."""
    about, files = open_folder(Path(folder))
    least = min_count if about is not None else 0  # of a foreign folder the sums are not known yet
    rows = concatenate([filter_rows(batch, least) for file in files for batch in file])
    if not is_canonical(rows):
        if about is not None:
            raise FormatError(f"{folder} is damaged: its pretokens are not in the order in which tokenmill writes them")
        rows = merge_rows([rows])
    return WordCounts(*filter_rows(rows, min_count), *(about or About()))


def open_folder(folder: Path) -> tuple[About | None, list[Iterator[Rows]]]:
    """What the metadata of a folder of word counts says (None if it is foreign), and the rows of each file."""
    files, found = [], []
    for path in files_in(folder):
        schema, rows = read_rows(path)
        found.append(About.from_schema(schema, path))
        files.append(rows)
        if found[-1] != found[0]:
            raise FormatError(f"{path} does not belong to the other files in {folder}: their metadata differ")
    return found[0], files


def size_of(files: Iterable[Path]) -> tuple[int, int]:
    """How many rows files of word counts have, and about how many bytes of pretokens."""
    parquet = require("pyarrow.parquet", "corpus", "reading word counts")
    rows = nbytes = 0
    for path in files:
        metadata = parquet.read_metadata(path)
        rows += metadata.num_rows
        nbytes += sum(metadata.row_group(i).column(0).total_uncompressed_size for i in range(metadata.num_row_groups))
    return rows, nbytes


def is_saved(path: str | os.PathLike) -> bool:
    """Whether `path` is a folder of word counts: Parquet files with the columns `pretoken` and `count`."""
    path = Path(path)
    files = sorted(path.glob("*.parquet")) if path.is_dir() else []
    if not files:
        return False
    parquet = require("pyarrow.parquet", "corpus", "reading word counts")
    try:
        return {"pretoken", "count"} <= set(parquet.read_schema(files[0]).names)
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
    if not {"pretoken", "count"} <= names:
        raise FormatError(
            f"{path} has no columns 'pretoken' and 'count', so it holds no word counts; it has {sorted(names)}"
        )

    def groups() -> Iterator[Rows]:
        try:
            with file:
                for i in range(file.num_row_groups):
                    table = file.read_row_group(i, columns=["pretoken", "count"])
                    pretokens = table.column("pretoken").cast(pa.large_binary()).combine_chunks()
                    numbers = table.column("count").cast(pa.uint64()).combine_chunks()
                    if pretokens.null_count or numbers.null_count:
                        raise FormatError(
                            f"{path} has empty cells in row group {i}; pretokens and counts are all needed"
                        )
                    yield from_arrow(pretokens, numbers)
        except (OSError, ValueError) as error:
            raise FormatError(f"{path} is damaged: {error}. Count again, or restore it from a copy.") from error

    return schema, groups()


def is_canonical(rows: Rows, hashes: np.ndarray | None = None) -> bool:
    """Whether rows are in canonical order, which also says that no pretoken stands in them twice."""
    import numpy as np

    hashes = hashes_of(rows) if hashes is None else hashes
    if bool(np.all(hashes[1:] > hashes[:-1])):
        return True
    if not bool(np.all(hashes[1:] >= hashes[:-1])):
        return False
    arena, offsets, _ = rows
    for i in np.flatnonzero(hashes[1:] == hashes[:-1]).tolist():
        if arena[offsets[i] : offsets[i + 1]].tobytes() >= arena[offsets[i + 1] : offsets[i + 2]].tobytes():
            return False
    return True


def files_in(folder: Path) -> list[Path]:
    """The Parquet files in a folder of word counts, in order."""
    files = sorted(folder.glob("*.parquet")) if folder.is_dir() else []
    if not files:
        raise FormatError(f"{folder} holds no word counts: there is no folder with Parquet files of that name")
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

    n = len(pretokens)
    if n == 0:
        return np.empty(0, np.uint8), np.zeros(1, np.uint64), np.empty(0, np.uint64)
    _, ends, data = pretokens.buffers()
    offsets = np.frombuffer(ends, np.int64)[pretokens.offset : pretokens.offset + n + 1].astype(np.uint64)
    arena = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    first, last = int(offsets[0]), int(offsets[-1])
    return arena[first:last], offsets - offsets[0], numbers.to_numpy(zero_copy_only=False)
