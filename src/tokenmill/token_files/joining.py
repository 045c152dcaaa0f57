"""join: several token files to one, or to numbered ones, without encoding again."""

from __future__ import annotations

import glob
import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import FormatError, OptionName, UsageError, refuse_wrong_types
from ..jobs.in_order import map_in_order
from ..jobs.outputs import open_output, sync
from ..jobs.progress import Meter, Progress
from ..jobs.work import Overwrite
from ..jobs.working_folder import fingerprint, path_beside, working_folder
from ..options import Argument, Option, Options
from .encoded_folder import EncodedFolder, EncodedFolderWriter
from .formats import AHEAD, FORMATS
from .settings import EncodeOptions, EncodeSummary, IdType, Metadata, Settings, ShardTokens, ValShard, metadata_path

if TYPE_CHECKING:
    import numpy as np

    from .reading import TokenFile

SHARED = {  # the properties that joined files must share
    "format": "formats",
    "dtype": "types of ids",
    "tokenizer": "tokenizers",
    "begin_of_text": "tokens before each document",
    "end_of_text": "tokens after each document",
}
FLUSH = 1 << 26  # bytes between two flushes to the disk
ONE_ENCODING = {**SHARED, "sources": "sources", "options": "options", "parts": "numbers of parts"}


@dataclass(frozen=True, kw_only=True)
class Join(Options):
    """Join token files, such as the parts of one encoding, without encoding again.

    The files of `encode --part`, and numbered files, are put in their order and must be complete. Others are joined in the
    order given. Every hash in their metadata is checked on the way.

    tokenmill join train-*.bin -o train.bin
    """

    files: Annotated[Sequence[str | Path], Argument("Token files, or globs of them.")]
    output: Annotated[str | Path, Option("The token file to write.", "-o", "--output", metavar="PATH")]
    dtype: IdType = None
    shard_tokens: ShardTokens = None
    val_shard: ValShard = False
    overwrite: Overwrite = False

    def __post_init__(self) -> None:
        super().__post_init__()
        files = [self.files] if isinstance(self.files, str | Path) else list(self.files)
        refuse_wrong_types({"files": files}, {"files": Sequence[str | Path]}, {})
        object.__setattr__(self, "files", files)
        EncodeOptions(shard_tokens=self.shard_tokens, val_shard=self.val_shard)  # which checks them

    def run(self, *, progress: Progress | None = None) -> EncodeSummary:
        """Join the files. progress: called as progress("join", bytes done, bytes of all)."""
        from .output import checked_output, publish_files, target_of
        from .reading import load_tokens

        start = time.perf_counter()
        files = _in_order([load_tokens(path, dtype=self.dtype) for path in named_files(self.files)])
        settings = self._settings(files)
        path = checked_output(self.output, settings, [tokens.path for tokens in files], self.overwrite)
        documents = sum(map(len, files)) if _divided(files) else 0
        tokens = sum(len(file.ids) for file in files)
        metadata = [file.metadata for file in files if file.metadata]
        settings.check_tokens(tokens)
        key = {"files": fingerprint([file.path for file in files]), "options": [self.shard_tokens, self.val_shard]}
        with target_of(path, settings) as target, working_folder(path_beside(target), path, key) as folder:
            join = partial(_join, files, folder.path / "joined", settings, progress)
            paths = publish_files(folder, target, settings, self.overwrite, join, _metadata(files))
        documents -= sum(bool(each.shard and each.shard["ids_before"]) for each in metadata)
        text_bytes = sum(each.text_bytes or 0 for each in metadata)
        num_files, seconds = len(paths) if self.shard_tokens else 0, time.perf_counter() - start
        totals = documents, tokens, text_bytes
        output_path = paths[0] if self.shard_tokens else path
        return EncodeSummary(output_path, settings.dtype, *totals, files=num_files, seconds=seconds)

    def _settings(self, files: Sequence[TokenFile]) -> Settings:
        first = files[0]
        _refuse_different(files, SHARED)
        dtype = {"int32": "uint32"}.get(first.ids.dtype.name, first.ids.dtype.name)  # Megatron's, with the same bytes
        if first.format == "parquet":
            raise UsageError("Parquet files are not joined: readers take a folder of them as one table.")
        if dtype not in ("uint16", "uint32"):
            raise UsageError(f"{first.path}: ids of {first.ids.dtype} are not joined, only uint16 and uint32")
        options = EncodeOptions(shard_tokens=self.shard_tokens, val_shard=self.val_shard)
        return Settings(first.format, dtype, options=options)


def named_files(names: Sequence[str | Path]) -> list[Path]:
    """Return the token files, with globs expanded and without indexes and metadata. A file named twice stays twice."""
    if not names:
        raise UsageError("name the token files to join")
    paths: list[Path] = []
    for name in names:
        matches = [str(name)] if Path(name).exists() else sorted(glob.glob(str(name)))
        paths += map(Path, matches or [str(name)])
    others = {
        file
        for path in paths
        for format in (FORMATS.values() if path.name else ())  # the current folder has no name
        for file in (*format.paths(path)[1:], metadata_path(path))
    }
    return [path for path in paths if path not in others]


def _in_order(files: list[TokenFile]) -> list[TokenFile]:
    """Sort the parts and numbered files of one encoding; UsageError if one is missing. Other files keep their order."""
    numbered: dict[tuple[int, int], TokenFile] = {}
    parts = [tokens for tokens in files if tokens.metadata and (tokens.metadata.part or tokens.metadata.shard)]
    if not parts:
        return files
    for tokens in files:
        metadata = tokens.metadata
        if metadata is None:
            name = metadata_path(tokens.path).name
            raise UsageError(
                f"{tokens.path}: its metadata ({name}) is missing, and {parts[0].path} is a part. Encode it again."
            )
        if not (metadata.part or metadata.shard):
            raise UsageError(
                f"{tokens.path} is a whole token file, and {parts[0].path} is a part. Join the parts first."
            )
        numbers = metadata.part["number"] if metadata.part else 1, metadata.shard["number"] if metadata.shard else 0
        if (other := numbered.get(numbers)) is not None:
            raise UsageError(f"{other.path} and {tokens.path} contain the same part. Name each once.")
        numbered[numbers] = tokens
    ordered = [numbered[numbers] for numbers in sorted(numbered)]
    _refuse_different(ordered, ONE_ENCODING, "are not parts of one encoding: they ")
    all_metadata = [tokens.metadata for tokens in ordered if tokens.metadata]
    first_part = all_metadata[0].part
    shards = {each.part["number"] if each.part else 1: each.shard["of"] for each in all_metadata if each.shard}
    num_parts = first_part["of"] if first_part else 1
    needed = {(part, shard) for part in range(1, num_parts + 1) for shard in range(shards.get(part, 1))}
    if missing := sorted(needed - set(numbered)):
        names = ", ".join(
            " ".join([f"{part}/{num_parts}"] * bool(first_part) + [f"number {shard}"] * bool(shards))
            for part, shard in missing[:20]
        )
        more = f" and {len(missing) - 20:,} more" if len(missing) > 20 else ""
        raise UsageError(f"{len(missing):,} of {len(needed):,} parts are missing: {names}{more}")
    return ordered


def _refuse_different(files: Sequence[TokenFile], names: Mapping[str, str], why: str = "") -> None:
    """Raise UsageError for two files that differ in a property known of both. names: the words of the message."""
    for one, other in pairwise(files):
        a, b = _properties(one), _properties(other)
        for name, words in names.items():
            if name in a and name in b and a[name] != b[name]:
                values = "" if why else f": {a[name]} and {b[name]}"
                raise UsageError(f"{one.path} and {other.path} {why}have different {words}{values}")


def _properties(tokens: TokenFile) -> dict[str, Any]:
    """Return the properties of a file by the names of ONE_ENCODING."""
    properties = {} if tokens.metadata is None else vars(tokens.metadata)
    parts = properties and ((properties["part"] or {}).get("of"), bool(properties["shard"]))
    return {**properties, "parts": parts, "format": tokens.format, "dtype": tokens.ids.dtype}


def _divided(files: Sequence[TokenFile]) -> bool:
    """Return whether the ends of the documents are known; UsageError if only some files have them."""
    divided = [tokens for tokens in files if tokens._divided]
    if divided and len(divided) < len(files):
        other = next(tokens for tokens in files if not tokens._divided)
        raise UsageError(
            f"nothing says where the documents of {other.path} end, but they are known for {divided[0].path}"
        )
    return bool(divided)


def _join(files: Sequence[TokenFile], folder: Path, settings: Settings, progress: Progress | None) -> EncodedFolder:
    """Write the ids and the lengths, and for Megatron the first sequences, of all documents into a folder."""
    meter = Meter(progress and partial(progress, "join"), [tokens.ids.nbytes for tokens in files])
    with EncodedFolderWriter(folder, settings.header) as writer:
        _copy_ids(files, writer, meter)
        counts = writer.counts
        counts.tokens = sum(len(tokens.ids) for tokens in files)
        counts.text_bytes = sum(tokens.metadata.text_bytes or 0 for tokens in files if tokens.metadata)
        for lengths in _sequences(files, folder, settings) or _lengths(files):
            writer.write("lengths", lengths)
            counts.documents += len(lengths)
    rows = [row for tokens in files if tokens.metadata for row in tokens.metadata.hashes["ids"]]
    return replace(writer.folder(), divided=_divided(files), hashes={**writer.folder().hashes, "ids": rows})


def _copy_ids(files: Sequence[TokenFile], writer: EncodedFolderWriter, meter: Meter) -> None:
    """Write the ids of all files, with one thread each for checking the hashes, writing, and flushing to the disk."""
    write = partial(writer.write, "ids", hashed=True)
    flushes: list[Future[None]] = []
    not_flushed = 0
    with ThreadPoolExecutor(1, "tokenmill-write") as pool, ThreadPoolExecutor(1, "tokenmill-flush") as flush_pool:
        for number, tokens in enumerate(files):
            done = 0
            for size in map_in_order(pool, write, tokens.id_blocks(), AHEAD):
                done += size
                not_flushed += size
                meter.set(number, done)
                if not_flushed >= FLUSH and all(flush.done() for flush in flushes[-1:]):
                    flushes.append(flush_pool.submit(sync, writer.path / "ids"))
                    not_flushed = 0
        for flush in flushes:
            flush.result()


def _lengths(files: Sequence[TokenFile]) -> Iterator[np.ndarray]:
    """Yield the lengths of all documents, in blocks. A document in two numbered files is counted once."""
    import numpy as np

    last: Any = None
    for tokens in files:
        shard = tokens.metadata.shard if tokens.metadata else None
        ids_before = shard["ids_before"] if shard else 0
        for block in tokens.length_blocks():
            if ids_before:
                if last is None or last[0] != ids_before:
                    raise FormatError(f"{tokens.path}: it begins within a document that the file before does not have")
                block = np.concatenate([block[:1] + ids_before, block[1:]])
            elif last is not None:
                yield last
            yield block[:-1]
            last, ids_before = block[-1:], 0
    if last is not None:
        yield last


def _sequences(files: Sequence[TokenFile], folder: Path, settings: Settings) -> list[np.ndarray] | None:
    """Return the lengths of Megatron's sequences if a document has several. Write the documents' first sequences."""
    import numpy as np

    indexes = [tokens._contents[1] for tokens in files]
    if settings.format != "megatron" or all(index is None or index.documents is None for index in indexes):
        return None
    if settings.options.shard_tokens:
        raise UsageError(OptionName("shard_tokens"), " needs files in which each document is one sequence")
    lengths, first = [], 0
    with open_output(EncodedFolder(folder).starts) as file:
        for number, index in enumerate(filter(None, indexes)):
            sequences = index.offsets if index.sequences is None else index.sequences
            documents = np.arange(len(sequences)) if index.documents is None else index.documents
            file.write((documents[number > 0 :] + first).astype("<i8").tobytes())
            first += len(sequences) - 1
            lengths.append(np.diff(sequences))
    return lengths


def _metadata(files: Sequence[TokenFile]) -> Metadata | None:
    """Return the metadata without counts: of the encoding if the files are its parts, else of all files together."""
    metadata = [tokens.metadata for tokens in files if tokens.metadata]
    if len(metadata) < len(files):
        return None
    first, text_bytes = metadata[0], None if any(each.text_bytes is None for each in metadata) else 0
    if first.part or first.shard:
        return replace(first, part=None, shard=None, text_bytes=text_bytes)
    digest = hashlib.sha256("".join(str(each.sources["hash"]) for each in metadata).encode()).hexdigest()
    totals = {name: sum(each.sources[name] for each in metadata) for name in ("number", "bytes")}
    options = first.options if all(each.options == first.options for each in metadata) else {}
    return replace(first, sources={**totals, "hash": digest}, options=options, text_bytes=text_bytes)
