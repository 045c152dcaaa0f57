"""From a finished part to the files of the output: they are made in the working folder, then renamed into place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import OptionName, UsageError, require
from ..jobs.outputs import make_folder, open_output, sync
from .formats import FORMATS, Contents
from .parts import COPY, Counts, NamesReader, Part, names_of
from .settings import ROLES, Metadata, Settings, metadata_path, shard_path

if TYPE_CHECKING:
    import numpy as np

    from ..tokenizer.tokenizer import Tokenizer

ROW_GROUP_TOKENS = 1 << 22
ROW_GROUP_DOCUMENTS = 1 << 16


def build_files(whole: Part, tok: Tokenizer, settings: Settings, output: Path, folder: Path) -> list[list[list[str]]]:
    """Make the files of the output in the working folder. Returns what `build` does, for each of the numbered files."""
    if settings.shard_tokens is None:
        return [build(whole, tok, settings, output)]
    parts = list(_shards(whole, settings, folder))
    paths = [shard_path(output, settings.format, number, settings.val_shard) for number in range(len(parts))]
    return [
        build(part, tok, settings, paths[number], {"number": number, "of": len(parts), "ids_before": begun})
        for number, (part, begun) in enumerate(parts)
    ]


def build(
    part: Part, tok: Tokenizer, settings: Settings, output: Path, shard: dict[str, int] | None = None
) -> list[list[str]]:
    """Make a token file. Returns [name in the working folder, final name] of each, the metadata last."""
    folder, counts, format = part.folder, part.counts, FORMATS[settings.format]
    settings.check_tokens(counts.tokens)
    header = format.header(settings.dtype, counts.tokens)
    with open_output(folder / "ids", "r+b") as file:
        file.write(header)
        file.truncate(len(header) + counts.tokens * settings.width)  # a token to begin with follows the last document
    names = ["ids"]
    if settings.format == "parquet":
        names = ["rows"]
        _write_parquet(folder / "rows", part, settings)
    tokenizer = tok.vocabulary.fingerprint()
    contents = Contents(folder / "lengths", counts.documents, counts.tokens, settings.dtype, tokenizer)
    for suffix, write in format.beside:
        names.append(f"beside{suffix}")
        with open_output(folder / names[-1]) as file:
            write(file, contents)
    metadata = Metadata(
        settings.format,
        settings.dtype,
        tokenizer,
        tok.n_vocab,
        settings.begin_of_text,
        settings.end_of_text,
        counts.documents,
        counts.tokens,
        None if shard else counts.text_bytes,
        {role: (folder / name).stat().st_size for role, name in zip(ROLES, names, strict=False)},
        shard,
    )
    names.append("metadata")
    with open_output(folder / "metadata") as file:
        file.write(metadata.dumps().encode())
    sync(*(folder / name for name in names), folder)
    paths = [*format.paths(output), metadata_path(output)]
    return [[f"{folder.name}/{name}", path.name] for name, path in zip(names, paths, strict=True)]


def _shards(part: Part, settings: Settings, folder: Path) -> Iterator[tuple[Part, int]]:
    """Divide a part into parts of `settings.shard_tokens` tokens, in folders below `folder`.

    With each comes how many ids of its first document are in the parts before.
    """
    import numpy as np

    lengths = _mapped(part.folder / "lengths", np.int64, part.counts.documents)
    header = len(FORMATS[settings.format].header(settings.dtype, 0))
    with open(part.folder / "ids", "rb") as ids, open(part.folder / "names", "rb") as file:
        ids.seek(header)
        names = NamesReader(file)
        for number, (own, begun) in enumerate(_shard_lengths(lengths, settings)):
            shard = folder / f"shard-{number:06}"
            make_folder(shard)
            size = int(own.sum()) * settings.width
            with open_output(shard / "ids") as output:
                output.write(bytes(header))
                for start in range(0, size, COPY):
                    output.write(ids.read(min(size - start, COPY)))
            with open_output(shard / "lengths") as output:
                output.write(own)
            with open_output(shard / "names") as output:
                if settings.format == "parquet":
                    output.writelines(names_of(*each) for each in names.take(len(own)))
            yield Part(shard, Counts(len(own), int(own.sum()))), begun


def _shard_lengths(lengths: np.ndarray, settings: Settings) -> Iterator[tuple[np.ndarray, int]]:
    """The lengths of the documents of each shard, and how many ids of the first are in the shards before."""
    import numpy as np

    most, cut = settings.shard_tokens or 0, FORMATS[settings.format].cut_documents
    first = begun = 0
    while first < len(lengths) or not first:
        last, tokens = first, -begun  # the documents from `first` to `last` are in the shard, without the ids `begun`
        while last < len(lengths):
            ends = np.cumsum(lengths[last : last + ROW_GROUP_DOCUMENTS]) + tokens
            fits = int(np.searchsorted(ends, most, "right"))
            last, tokens = last + fits, int(ends[fits - 1]) if fits else tokens
            if fits < len(ends):
                break
        rest = most - tokens if cut and last < len(lengths) else 0  # ids of the next document
        own = np.array(lengths[first : max(last + (rest > 0), first + 1)])
        own[-1:] = rest or own[-1:]
        own[:1] -= begun
        yield own, begun
        first, begun = max(last, first + (rest == 0)), rest


def _write_parquet(path: Path, part: Part, settings: Settings) -> None:
    """A row for each document: ids, source, id. Row groups end by a rule that looks at the documents alone."""
    import numpy as np

    pa: Any = require("pyarrow", "corpus", "writing Parquet")
    import pyarrow.parquet as pq

    lengths = _mapped(part.folder / "lengths", np.int64, part.counts.documents)
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
        reader = NamesReader(names)
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
            for source, keys in reader.take(last - first):
                columns[0].append(pa.repeat(pa.scalar(source, pa.string()), len(keys)))
                columns[1].append(keys)
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
