"""verify: compares a token file with its metadata, its tokenizer and its sources."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FormatError, InputError, OptionName, UsageError, suggests_options
from ..jobs.progress import Meter, Progress, drawn
from ..sources.blocks import ReadOptions
from ..sources.documents import ResumePoint, parts_of
from ..sources.find import find_sources, ignore_skip, size_of
from ..tokenizer.tokenizer import Tokenizer
from .encoded_folder import encode_sources, names_schema
from .formats import FORMATS, summary_of
from .reading import TokenFile, check_tokenizer, load_tokens, open_parquet
from .settings import EncodeOptions, Metadata, Settings, metadata_path


@dataclass(frozen=True)
class Verified:
    """Result of verifying a token file.

    documents: None if their ends are not known. checks: the checks that passed, in words.
    """

    path: Path
    documents: int | None
    tokens: int
    checks: tuple[str, ...]


@suggests_options
def verify(
    path: str | os.PathLike[str],
    *,
    tok: Tokenizer | None = None,
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    dtype: str | type | np.dtype | None = None,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Verified:
    """Check a token file, from its first byte to its last: sizes, hashes, ids, and where its documents end.

    Raises FormatError for the first fault, with its position in the file.

    tok: the tokenizer that it must have been made with. Every id must be below its `n_vocab`.
    sources: the text that it was made from. It is encoded again, and each id is compared. Needs `tok`.
    dtype: see `load_tokens`.
    progress: called as progress("verify", bytes of ids done, bytes of all), then with "encode" and those of the sources.

    >>> verify("train.bin", tok=tok, sources="corpus/*.txt").checks
    ('sizes', 'SHA-256 of the ids and of the lengths', 'ids below 32,000', 'a token after each document', 'the sources')
    """
    sources = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    for source in map(Path, sources):
        if source.suffix in (".bin", ".idx") and metadata_path(source).exists():
            raise UsageError(f"{source} is a token file, not a source. Verify one at a time, or `join` them first.")
    if sources and tok is None:
        raise UsageError("to compare with the sources, name the tokenizer that encoded them")
    tokens = load_tokens(path, dtype=dtype)
    metadata = tokens.metadata
    if metadata and tok is not None:
        check_tokenizer(tokens.path, metadata, tok, can_skip=False)
    checks = ["sizes", *(["SHA-256 of the ids and of the lengths"] if metadata else [])]
    n_vocab = min([source.n_vocab for source in (tok, metadata) if source is not None], default=None)
    with drawn(progress) as show:
        _check_ids(tokens, n_vocab, show)
        if n_vocab is not None:
            checks.append(f"ids below {n_vocab:,}")
        if tokens._divided:
            for _ in tokens.length_blocks():
                pass
            checks += _check_ends(tokens)
        if metadata and tokens.format == "parquet":
            checks.append(_check_names(tokens.path))
        if metadata and "summary" in metadata.files:
            _check_summary(FORMATS[metadata.format].paths(tokens.path)[2], metadata)
        if sources:
            assert tok is not None
            _check_sources(tokens, tok, sources, num_threads, show)
            checks.append("the sources")
    return Verified(tokens.path, len(tokens) if tokens._divided else None, len(tokens.ids), tuple(checks))


def _check_ids(tokens: TokenFile, n_vocab: int | None, progress: Progress | None) -> None:
    """Check the hashes of all ids, and that each id is below `n_vocab`."""
    dtype = tokens.ids.dtype
    meter = Meter(progress and partial(progress, "verify"), [tokens.ids.nbytes])
    done = 0
    for block in tokens.id_blocks():
        ids = np.frombuffer(block, dtype)
        if n_vocab is not None and len(ids) and (wrong := (ids >= n_vocab) | (ids < 0)).any():
            first = done // dtype.itemsize + int(wrong.argmax())
            raise FormatError(
                f"{tokens.path}: id number {first:,} is {tokens.ids[first]}, and the tokenizer has the ids 0 to {n_vocab - 1:,}"
            )
        done += len(block)
        meter.set(0, done)


def _check_ends(tokens: TokenFile) -> list[str]:
    """Check the tokens before and after documents. Return the checks made."""
    metadata = tokens.metadata
    if metadata is None:
        return []
    shard, cut = metadata.shard, FORMATS[metadata.format].cut_documents
    checks = []
    for id, first, last, back, side in (
        (metadata.begin_of_text, int(bool(shard and shard["ids_before"])), len(tokens), 0, "before"),
        (metadata.end_of_text, 0, len(tokens) - int(bool(shard and cut)), 1, "after"),
    ):
        if id is None:
            continue
        start = first
        for bounds in tokens._offset_blocks(first, last):
            positions = bounds[1:] - 1 if back else bounds[:-1]
            wrong = (np.diff(bounds) == 0) | (tokens.ids[np.minimum(positions, len(tokens.ids) - 1)] != id)
            if wrong.any():
                number = start + int(wrong.argmax())
                raise FormatError(f"{tokens.path}: document {number:,} does not have the token {id} {side} it")
            start += len(wrong)
        checks.append(f"a token {side} each document")
    return checks


def _check_names(path: Path) -> str:
    """Check the other columns of Parquet: their types, rows and page checksums."""
    expected = names_schema()
    with open_parquet(path) as file:
        if file.schema_arrow.remove(0) != expected:
            raise FormatError(f"{path}: its columns are not ids, {', '.join(expected.names)}, which were written")
        for name in expected.names:
            rows = sum(len(batch) for batch in file.iter_batches(columns=[name]))
            if rows < file.metadata.num_rows:
                raise FormatError(
                    f"{path}: damaged: the column {name!r} has {rows:,} of {file.metadata.num_rows:,} rows"
                )
    return f"checksums of the columns {' and '.join(expected.names)}"


def _check_summary(path: Path, metadata: Metadata) -> None:
    """Check the third file of datatrove."""
    expected, summary = summary_of(metadata.tokenizer, metadata.dtype, metadata.tokens), path.read_bytes()
    if summary != expected:
        byte = next((i for i, (a, b) in enumerate(zip(summary, expected, strict=False)) if a != b), 0)
        raise FormatError(f"{path}: byte {byte:,} and those after it are not those that were written")


def _check_sources(
    tokens: TokenFile, tok: Tokenizer, sources: Any, num_threads: int | None, progress: Progress | None
) -> None:
    """Encode the sources again, and compare."""
    metadata = tokens.metadata
    if metadata is None or metadata.shard or not metadata.options or tokens.format == "parquet":
        raise UsageError(
            f"{tokens.path}: only a whole token file or a part with its metadata can be compared with its sources, not "
            "numbered files, Parquet, and files that were joined from different ones"
        )
    read_options = dict(metadata.options)
    try:
        options = EncodeOptions(special=read_options.pop("special"), read=ReadOptions(**read_options))
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{metadata_path(tokens.path)}: damaged metadata: its options ({error})") from error
    read, separators = options.read, (metadata.begin_of_text, metadata.end_of_text)
    settings = Settings(metadata.format, metadata.dtype, *separators, options)
    on_skip = ignore_skip if read.skip_damaged else None
    files = find_sources(sources, on_skip)
    if metadata.part:
        (spans,) = parts_of(files, read, [metadata.part["number"]], metadata.part["of"])
    else:
        spans = [(file, size_of(file), None) for file in files]
    show = progress and partial(progress, "encode")
    done = documents = 0
    try:
        with closing(encode_sources(tok, settings, spans, ResumePoint(), num_threads, on_skip, show)) as jobs:
            for encoded in chain.from_iterable(job.encoded for job in jobs):
                ids = np.frombuffer(encoded.ids, tokens.ids.dtype)
                in_file = tokens.ids[done : done + len(ids)]
                if (wrong := in_file != ids[: len(in_file)]).any():
                    raise _other_ids(tokens, done + int(wrong.argmax()))
                ends = np.frombuffer(encoded.ends, np.int64) + done
                bounds = tokens.offsets[documents + 1 : documents + len(ends) + 1]
                if not np.array_equal(bounds, ends):
                    number = documents + int(np.append(bounds != ends[: len(bounds)], True).argmax())
                    raise FormatError(f"{tokens.path}: document {number:,} has a different length in the sources")
                done += len(ids)
                documents += len(ends)
    except InputError as error:
        if OptionName("skip_damaged", True) not in error.args:
            raise
        raise FormatError(error.args[0], ". It could be read when the token file was made.") from error
    if done != len(tokens.ids):
        raise _other_ids(tokens, min(done, len(tokens.ids)))


def _other_ids(tokens: TokenFile, number: int) -> FormatError:
    """Return the error for a file whose id of this number differs from that of the sources, or is missing in one."""
    document = int(np.searchsorted(tokens.offsets, number, "right")) - 1
    where = number * tokens.ids.itemsize + getattr(tokens.ids, "offset", 0)
    return FormatError(
        f"{tokens.path}: from byte {where:,} on, in document {document:,}, its ids differ from those of the sources"
    )
