"""Count on a Ray cluster: map tasks count shards of the sources, reduce tasks merge a part of the hash range each.

A map task counts its shard as a thread of the local engine does, within the same memory limit, and yields one Arrow
table for each part of the hash range. A reduce task merges one output file's tables with the same merge as everywhere
and writes it, so the bytes are those of the local engine. Ray places the tasks, moves the tables, puts them to disk
where memory is short, and does again what was lost with a machine. All machines must see the sources under the same
names, and the output's folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..corpus.sources import is_url, size_of, suffix_of
from ..corpus.streams import COMPRESSIONS
from ..errors import TokenmillError, require
from .local import Summary, temporary_spill
from .reading import Binary, Block, Span
from .records import ParquetSource
from .sources import open_source
from .storage import About, CountsFile, files_for, from_arrow, to_batch
from .tables import SortedRows, bits_for, filter_rows, merged
from .threads import Threads

if TYPE_CHECKING:
    from ..corpus.sources import Skip
    from ..split import Splitter

__all__ = ["count_with_ray"]

SHARD = 256 << 20  # bytes on disk for one map task, but no more tasks than
MAX_SHARDS = 1024
MAX_PARTS = 128
RETRIES = 10  # of a task whose machine or process was lost


class Shard(NamedTuple):
    """What one map task counts: sources with the span of each, None for all of it."""

    sources: list[tuple[Path | str, Span | None]]
    nbytes: int


class Options(NamedTuple):
    """What every task must know."""

    splitter: Splitter
    field: str
    binary: Binary
    skip: bool
    memory_limit: int
    bits: int  # the map tasks' tables are divided into 2**bits parts


class Counted(NamedTuple):
    """What a map task says of its shard besides the tables."""

    documents: int
    total_bytes: int
    skips: list[Skip]


def count_with_ray(
    sources: Sequence[Path | str],
    folder: Path,
    splitter: Splitter,
    *,
    field: str = "text",
    binary: Binary = "error",
    min_count: int = 1,
    memory_limit: int = 1 << 30,
    on_skip: Callable[[Skip], None] | None = None,
    address: str | None = None,
    progress: Callable[[str, int, int | None], None] | None = None,
    shard_bytes: int | None = None,
) -> Summary:
    """Count `sources` into the existing, empty `folder` on the cluster at `address`.

    Without an address, on the Ray that this process is connected to, or on one started on this machine.
    memory_limit: for the tables of each map task; every task has one core.
    """
    ray = require("ray", "ray", "the engine ray")
    total = sum(size_of(path) for path in sources)
    shards = plan_shards(sources, splitter, shard_bytes or max(SHARD, total // MAX_SHARDS))
    bits = min(MAX_PARTS, 2 * len(shards) - 1).bit_length()
    options = Options(splitter, field, binary, on_skip is not None, memory_limit, bits)
    started = not ray.is_initialized()
    if started:
        ray.init(address=address, log_to_driver=False, include_dashboard=False)
    try:
        map_task = ray.remote(num_cpus=1, max_retries=RETRIES, num_returns=(1 << bits) + 1)(_map)
        reduce_task = ray.remote(num_cpus=1, max_retries=RETRIES)(_reduce)
        handle = ray.put(options)
        mapped = [map_task.remote(handle, shard.sources) for shard in shards]
        counted = _wait(ray, [refs[-1] for refs in mapped], [shard.nbytes for shard in shards], "count", progress)
        for skip in (skip for each in counted for skip in each.skips):
            if on_skip is not None:
                on_skip(skip)
        documents, total_bytes = sum(each.documents for each in counted), sum(each.total_bytes for each in counted)
        about = About(splitter.patterns, documents, total_bytes)
        files = files_for(total_bytes)
        written = [
            reduce_task.remote(str(folder.absolute()), about, file, files, min_count, len(mapped), *tables)
            for file, tables in enumerate(_tables_of(mapped, bits, files))
        ]
        del mapped
        sums = _wait(ray, written, [1] * len(written), "merge", progress)
    finally:
        if started:
            ray.shutdown()
    skipped = sum(len(each.skips) for each in counted)
    distinct, pieces = sum(n for n, _ in sums), sum(n for _, n in sums)
    return Summary(documents, total_bytes, pieces, distinct, skipped=skipped)


def plan_shards(sources: Sequence[Path | str], splitter: Splitter, shard_bytes: int = SHARD) -> list[Shard]:
    """Divide sources into shards of about `shard_bytes` on disk: small files together, large ones in spans."""
    shards: list[Shard] = []
    waiting: list[tuple[Path | str, Span | None]] = []
    held = 0
    for path in sources:
        where = path if is_url(path) else Path(path).absolute()  # tasks have working directories of their own
        for span, size in _spans(path, splitter, shard_bytes):
            waiting.append((where, span))
            held += size
            if held >= shard_bytes:
                shards.append(Shard(waiting, held))
                waiting, held = [], 0
    if waiting:
        shards.append(Shard(waiting, held))
    return shards


def _spans(path: Path | str, splitter: Splitter, shard_bytes: int) -> Iterator[tuple[Span | None, int]]:
    size = size_of(path)
    suffix = Path(path).suffix.lower()
    whole_lines = suffix_of(path) in (".jsonl", ".ndjson")
    if size <= shard_bytes or suffix in COMPRESSIONS or (splitter.scanner is None and not whole_lines):
        yield None, size
    elif suffix == ".parquet":
        groups = ParquetSource.groups(path)
        step = max(1, groups * shard_bytes // size)
        for first in range(0, groups, step):
            last = min(groups, first + step)
            yield (first, last), size * last // groups - size * first // groups
    else:
        for begin in range(0, size, shard_bytes):
            end = min(size, begin + shard_bytes)
            yield (begin, end), end - begin


def _map(options: Options, sources: list[tuple[Path | str, Span | None]]) -> Iterator[Any]:
    """Count one shard; yields its tables, one for each part of the hash range, and then what it was."""
    import pyarrow as pa

    schema = pa.schema([("piece", pa.large_binary()), ("count", pa.uint64())])
    skips: list[Skip] = []
    with temporary_spill() as spill, Threads(options.splitter, 1, options.memory_limit, spill) as threads:
        counter = threads.counters[0]
        block = Block()
        for path, span in sources:
            source = open_source(
                path, options.splitter, options.field, options.binary, span, skips.append if options.skip else None
            )
            try:
                while source.draw(block):
                    counter.count(block)
                    if counter.wants_pause():
                        threads.spill_all()
            finally:
                source.close()
        spill.compact()
        for part in range(1 << options.bits):
            batches = [to_batch(rows, schema) for rows in threads.part_of(part, options.bits)]
            yield pa.Table.from_batches(batches, schema)
        yield Counted(threads.documents, threads.total_bytes, skips)


def _tables_of(mapped: list[list[Any]], bits: int, files: int) -> Iterator[list[Any]]:
    """For each output file the references of the tables that have its part of the hash range, map task by map task."""
    parts = 1 << bits
    for file in range(files):
        first, last = file * parts // files, max(file * parts // files + 1, (file + 1) * parts // files)
        yield [table for refs in mapped for table in refs[first:last]]


def _reduce(
    folder: str, about: About, file: int, files: int, min_count: int, shards: int, *tables: Any
) -> tuple[int, int]:
    """Merge and write one output file. `tables` has as many in a row for each shard, in ascending order of their parts."""
    each = len(tables) // shards
    sources = [
        SortedRows(_rows(tables[i : i + each]), *_size(tables[i : i + each])) for i in range(0, len(tables), each)
    ]
    bits = files.bit_length() - 1
    more = max(0, bits_for(sum(source.rows for source in sources), sum(source.nbytes for source in sources)))
    path = Path(folder) / f"counts-{file:05d}-of-{files:05d}.parquet"
    beside = path.with_name(f".{path.name}.{os.getpid()}")  # a task that is tried again does not meet the first try
    writer = CountsFile(beside, about)
    distinct = total = 0
    try:
        for rows in merged(sources, bits + more, range(file << more, (file + 1) << more)):
            kept = filter_rows(rows, min_count)
            writer.write(kept)
            distinct += len(kept[2])
            total += int(kept[2].sum())
        writer.close()
        os.replace(beside, path)
    except BaseException:
        writer.abandon()
        beside.unlink(missing_ok=True)
        raise
    return distinct, total


def _rows(tables: Sequence[Any]) -> Iterator[Any]:
    for table in tables:
        for batch in table.to_batches():
            yield from_arrow(batch.column(0), batch.column(1))


def _size(tables: Sequence[Any]) -> tuple[int, int]:
    return sum(table.num_rows for table in tables), sum(table.nbytes - 16 * table.num_rows for table in tables)


def _wait(
    ray: Any,
    refs: list[Any],
    sizes: list[int],
    stage: str,
    progress: Callable[[str, int, int | None], None] | None,
) -> list[Any]:
    """The results of all tasks; the first failure is raised as what it was."""
    size_by_ref = dict(zip(refs, sizes, strict=True))
    waiting, done_bytes = list(refs), 0
    try:
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=1, timeout=1.0, fetch_local=False)
            for ref in done:
                ray.get(ref)
                done_bytes += size_by_ref[ref]
            if progress is not None:
                progress(stage, done_bytes, sum(sizes))
        return ray.get(refs)
    except ray.exceptions.RayTaskError as error:
        raise error.cause if isinstance(error.cause, TokenmillError) else error from None
    finally:
        for ref in waiting:
            ray.cancel(ref, force=False)
