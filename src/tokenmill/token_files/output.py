"""Writes the files of the output from the encoded documents: in the working folder, from which they are renamed."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ..errors import FormatError, OptionName, UsageError, require
from ..jobs.outputs import is_device, open_output, refuse_devices, refuse_existing, remove, sync, temporary_folder
from ..jobs.working_folder import FILES, WorkingFolder, publishing
from .encoded_folder import Counts, EncodedFolder, EncodedFolderWriter, NamesReader, names_schema
from .formats import BLOCK, FORMATS, MEGATRON, MEGATRON_MAGIC, mapped, npy_header, refuse_long, summary_of
from .settings import COPY, ROLES, Metadata, Settings, metadata_path, output_path, shard_path, shards_of

if TYPE_CHECKING:
    import numpy as np

ROW_GROUP_TOKENS = 1 << 22
ROW_GROUP_DOCUMENTS = 1 << 16


def checked_output(
    output: str | os.PathLike[str], settings: Settings, sources: Iterable[Any], overwrite: bool, resume: bool = True
) -> Path:
    """Return the path of the output. An error if it is a source, or exists and is neither overwritten nor resumed."""
    path = output_path(output, settings.format, settings.options.part_number)
    _refuse_existing(path, settings, overwrite or (resume and publishing(path)), sources)
    return path


def _refuse_existing(path: Path, settings: Settings, overwrite: bool, sources: Iterable[Any] = ()) -> None:
    """Raise an error if a file of the output `path` exists: see `refuse_existing`."""
    existing = _outputs(path, settings)
    if not is_device(path):
        existing = [file for ids in existing for file in (*FORMATS[settings.format].paths(ids), metadata_path(ids))]
        refuse_devices(*existing)
    refuse_existing(*existing, overwrite=overwrite, sources=sources)


@contextmanager
def target_of(output: Path, settings: Settings) -> Iterator[Path]:
    """Yield the path to write the output to. For a device, it is a temporary file, whose ids are copied at the end."""
    if not is_device(output):
        yield output
        return
    if settings.options.shard_tokens:
        raise UsageError(OptionName("shard_tokens"), f" makes several files, and {output} is one")
    with temporary_folder(Path.cwd()) as folder:
        yield (path := folder / f"ids{FORMATS[settings.format].suffix}")
        with open(path, "rb") as source, open_output(output) as device:
            shutil.copyfileobj(source, device, COPY)


def publish_files(
    folder: WorkingFolder,
    output: Path,
    settings: Settings,
    overwrite: bool,
    join: Callable[[], EncodedFolder],
    metadata: Metadata | None,
) -> list[Path]:
    """Write the files of the output in the working folder, and rename them to their targets. Return those with ids.

    join: returns all ids. Called unless an earlier run has written the files. metadata: without counts.
    """
    state = folder.load(FILES)
    if state is None:
        outputs = _build_files(join(), metadata, settings, output, folder.path)
        _refuse_existing(output, settings, overwrite)
        new = {final for files in outputs for _, final in files}
        old = [path.name for path in _files_before(output, settings) if path.name not in new]
        state = {"outputs": outputs, "old": old}
        folder.save(FILES, state)
    for name in state["old"]:
        remove(output.parent / name)
    for files in state["outputs"]:
        folder.publish((name, output.parent / final) for name, final in files)
    return [output.parent / files[0][1] for files in state["outputs"]]


def _files_before(output: Path, settings: Settings) -> Iterator[Path]:
    """Yield the files of an earlier output of this name, the metadata first. Files without metadata are left."""
    for path in _outputs(output, settings):
        if metadata_path(path).exists():
            with suppress(FormatError):
                format = Metadata.load(metadata_path(path)).format
                yield from (metadata_path(path), *FORMATS[format].paths(path))


def _outputs(output: Path, settings: Settings) -> list[Path]:
    """Return the files with ids that the output may replace: itself, or the numbered files that exist."""
    options = settings.options
    return shards_of(output, settings.format, options.val_shard) if options.shard_tokens else [output]


def _build_files(
    encoded: EncodedFolder, metadata: Metadata | None, settings: Settings, output: Path, folder: Path
) -> list[list[list[str]]]:
    """Write the files of the output in the working folder. Return the value of `_build` for each numbered file."""
    if settings.options.shard_tokens is None:
        return [_build(encoded, metadata, settings, output)]
    shards = list(_shards(encoded, settings, folder))
    files, documents = [], 0
    for number, (shard, ids_before) in enumerate(shards):
        first_document = documents - (ids_before > 0)
        numbers = {"number": number, "of": len(shards), "first_document": first_document, "ids_before": ids_before}
        path = shard_path(output, settings.format, number, settings.options.val_shard)
        files.append(_build(shard, metadata and replace(metadata, shard=numbers), settings, path))
        documents = first_document + shard.counts.documents
    return files


def _build(encoded: EncodedFolder, metadata: Metadata | None, settings: Settings, output: Path) -> list[list[str]]:
    """Write a token file. Return [name in the working folder, final name] of each of its files, the metadata last."""
    folder, counts, format = encoded.path, encoded.counts, FORMATS[settings.format]
    settings.check_tokens(counts.tokens)
    header = format.header(settings.dtype, counts.tokens)
    with open_output(folder / "ids", "r+b") as file:
        file.write(header)
    names = ["ids"]
    if settings.format == "parquet":
        names = ["rows"]
        _write_parquet(folder / "rows", encoded, settings)
    for suffix in format.other_files if encoded.divided else ():
        names.append(f"beside{suffix}")
        with open_output(folder / names[-1]) as file:
            WRITERS[suffix](file, encoded, settings.dtype, metadata.tokenizer if metadata else "")
    if metadata is not None:
        metadata = replace(
            metadata,
            documents=counts.documents,
            tokens=counts.tokens,
            text_bytes=None if metadata.shard or metadata.text_bytes is None else counts.text_bytes,
            files={role: (folder / name).stat().st_size for role, name in zip(ROLES, names, strict=False)},
            hashes=encoded.hashes,
        )
        names.append("metadata")
        with open_output(folder / "metadata") as file:
            file.write(metadata.dumps().encode())
    sync(*(folder / name for name in names), folder)
    paths = [*format.paths(output), metadata_path(output)]
    if not encoded.divided:
        paths = paths[:1]
    return [[f"{folder.name}/{name}", path.name] for name, path in zip(names, paths, strict=metadata is not None)]


def _shards(encoded: EncodedFolder, settings: Settings, folder: Path) -> Iterator[tuple[EncodedFolder, int]]:
    """Divide the documents into shards of `settings.options.shard_tokens` tokens, in folders below `folder`.

    Yields each shard with the number of ids of its first document that are in the shards before.
    """
    import numpy as np

    lengths = mapped(encoded.path / "lengths", np.int64, encoded.counts.documents)
    with open(encoded.path / "ids", "rb") as ids, open(encoded.path / "names", "rb") as file:
        ids.seek(settings.header)
        names = NamesReader(file)
        cut = FORMATS[settings.format].cut_documents or not encoded.divided
        shards = _shard_lengths(lengths, settings.options.shard_tokens or 0, cut)
        for number, (shard_lengths, ids_before) in enumerate(shards):
            with EncodedFolderWriter(folder / f"shard-{number:06}", settings.header) as writer:
                writer.counts = Counts(len(shard_lengths), int(shard_lengths.sum()))
                size = writer.counts.tokens * settings.width
                for start in range(0, size, COPY):
                    writer.write("ids", ids.read(min(size - start, COPY)))
                writer.write("lengths", shard_lengths)
                for batch in names.take(len(shard_lengths)) if settings.format == "parquet" else ():
                    writer.write("names", batch.serialize())
            yield replace(writer.folder(), divided=encoded.divided), ids_before


def _shard_lengths(lengths: np.ndarray, most: int, cut: bool) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the lengths of the documents of each shard, and the ids of the first that are in the shards before.

    most: the tokens of a shard. cut: whether a shard may end inside a document, so that it has exactly `most` tokens.
    """
    import numpy as np

    first = ids_before = 0
    while first < len(lengths) or not first:
        last, tokens = first, -ids_before  # of the shard: the documents from `first` up to `last`
        while last < len(lengths):
            ends = np.cumsum(lengths[last : last + ROW_GROUP_DOCUMENTS]) + tokens
            fits = int(np.searchsorted(ends, most, "right"))
            last, tokens = last + fits, int(ends[fits - 1]) if fits else tokens
            if fits < len(ends):
                break
        rest = most - tokens if cut and last < len(lengths) else 0  # ids of the next document
        shard_lengths = np.array(lengths[first : max(last + (rest > 0), first + 1)])
        shard_lengths[-1:] = rest or shard_lengths[-1:]
        shard_lengths[:1] -= ids_before
        yield shard_lengths, ids_before
        first, ids_before = max(last, first + (rest == 0)), rest


def _write_parquet(path: Path, encoded: EncodedFolder, settings: Settings) -> None:
    """Write a row for each document: ids, source, id. The row groups depend only on the documents."""
    import numpy as np

    pa: Any = require("pyarrow", "corpus", "writing Parquet")
    import pyarrow.parquet as pq

    lengths = mapped(encoded.path / "lengths", np.int64, encoded.counts.documents)
    ids = mapped(encoded.path / "ids", settings.dtype, encoded.counts.tokens)
    element = pa.field("element", pa.type_for_alias(settings.dtype), nullable=False)
    schema = pa.schema([pa.field("ids", pa.list_(element)), *names_schema()])
    first = begin = 0
    with (
        open(encoded.path / "names", "rb") as names,
        open_output(path) as file,
        pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        reader = NamesReader(names)
        while first < len(lengths):
            tokens = np.cumsum(lengths[first : first + ROW_GROUP_DOCUMENTS])
            last = first + max(1, int(np.searchsorted(tokens, ROW_GROUP_TOKENS, "right")))
            offsets = np.append(0, tokens[: last - first])
            refuse_long(lengths[first:last].tolist(), first, "a row of Parquet")
            values = pa.array(ids[begin : begin + int(offsets[-1])])
            begin += int(offsets[-1])
            lists = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values).cast(schema.field("ids").type)
            columns = pa.Table.from_batches(reader.take(last - first), names_schema()).combine_chunks().columns
            writer.write_table(pa.Table.from_arrays([lists, *columns], schema=schema), row_group_size=last - first)
            first = last


# The other files of a format. dtype: of the ids; tokenizer: the fingerprint of the vocabulary.


def _write_offsets(file: IO[bytes], encoded: EncodedFolder, dtype: str, tokenizer: str) -> None:
    file.write(npy_header("<i8", encoded.counts.documents + 1) + bytes(8))
    _write_ends(file, encoded, dtype, tokenizer)


def _write_spans(file: IO[bytes], encoded: EncodedFolder, dtype: str, tokenizer: str) -> None:
    with gzip.GzipFile("", "wb", 3, file, 0) as packed:
        for bounds in encoded.bounds():
            packed.write("".join(f"{a},{b}\n" for a, b in pairwise(bounds)).encode())


def _write_ends(file: IO[bytes], encoded: EncodedFolder, dtype: str, tokenizer: str) -> None:
    for bounds in encoded.bounds():
        file.write(bounds[1:])


def _write_summary(file: IO[bytes], encoded: EncodedFolder, dtype: str, tokenizer: str) -> None:
    file.write(summary_of(tokenizer, dtype, encoded.counts.tokens))


def _write_megatron(file: IO[bytes], encoded: EncodedFolder, dtype: str, tokenizer: str) -> None:
    """Ids of 32 bits are int32, whose bytes are the same below 2**31."""
    import numpy as np

    size, sequences = np.dtype(dtype).itemsize, encoded.counts.documents
    boundaries = encoded.starts.stat().st_size // 8 if encoded.starts.exists() else sequences + 1
    file.write(MEGATRON.pack(MEGATRON_MAGIC, 1, {"uint16": 8, "uint32": 4}[dtype], sequences, boundaries))
    first = 0
    for lengths in encoded.lengths():
        refuse_long(lengths, first, "Megatron's index")
        file.write(np.array(lengths, "<i4").tobytes())
        first += len(lengths)
    for bounds in encoded.bounds():
        file.write((size * np.array(bounds[:-1], "<i8")).tobytes())
    if encoded.starts.exists():
        with open(encoded.starts, "rb") as numbers:
            shutil.copyfileobj(numbers, file, 8 * BLOCK)
        return
    for first in range(0, sequences + 1, BLOCK):
        file.write(np.arange(first, min(first + BLOCK, sequences + 1), dtype="<i8").tobytes())


WRITERS = {
    ".offsets.npy": _write_offsets,
    ".idx": _write_megatron,
    ".csv.gz": _write_spans,
    ".ds.index": _write_ends,
    ".ds.metadata": _write_summary,
}  # by the suffix of the file
