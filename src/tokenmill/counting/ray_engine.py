"""Count on a Ray cluster: map tasks count shards of the sources, reduce tasks merge a part of the hash range each.

A map task counts its shard as a thread of the local engine does, within the same memory limit, and yields one Arrow
table for each part of the hash range. A reduce task merges the tables of one part with the same merge as everywhere and
writes the output files of that part, so the bytes are those of the local engine. Ray places the tasks, moves the tables,
puts them to disk where memory is short, and does again what was lost with a machine. All machines must see the sources
under the same names, and the output's folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..jobs.outputs import atomic_file
from ..jobs.ray import RETRIES, connected, finished
from ..sources.find import is_url, size_of, suffix_of
from ..sources.streams import COMPRESSIONS
from .local import Summary, temporary_spill
from .reading import Binary, Block, Span
from .records import ParquetSource
from .sources import open_source
from .storage import About, CountsFile, files_for, from_arrow, to_batch
from .tables import SortedRows, bits_for, filter_rows, merged
from .threads import Threads

if TYPE_CHECKING:
    from ..sources.find import Skip
    from ..split import Splitter

__all__ = ["count_with_ray"]

SHARD = 256 << 20  # bytes on disk for one map task, but no more tasks than
MAX_SHARDS = 4096  # Ray is made for some 10,000 arguments of one task
MAX_PARTS = 128


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

    memory_limit: for the tables of each map task; every task has one core.
    """
    total = sum(size_of(path) for path in sources)
    shards = plan_shards(sources, splitter, shard_bytes or max(SHARD, total // MAX_SHARDS))
    bits = parts_for(shards).bit_length() - 1
    options = Options(splitter, field, binary, on_skip is not None, memory_limit, bits)
    with connected(address) as ray:
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
            reduce_task.remote(str(folder.absolute()), about, first, last, files, min_count, len(mapped), *tables)
            for first, last, tables in _tables_of(mapped, bits, files)
        ]
        del mapped
        sums = _wait(ray, written, [1] * len(written), "merge", progress)
    for rest in folder.glob(".*.part"):  # of a task whose machine was lost while it wrote
        rest.unlink(missing_ok=True)
    skipped = sum(len(each.skips) for each in counted)
    distinct, pretokens = sum(n for n, _ in sums), sum(n for _, n in sums)
    return Summary(documents, total_bytes, pretokens, distinct, skipped=skipped)


def parts_for(shards: Sequence[Shard]) -> int:
    """Into how many parts of the hash range each map task divides its table, a power of two.

    Many parts make small reduce tasks. But what is below 100 kB, Ray keeps in the memory of the process that began all,
    and from thousands of tasks that adds up: the tables of 256 MB of English text have 11 MB. The distinct pretokens grow
    about with the root of the text.

    >>> [parts_for([Shard([], nbytes)] * 1000) for nbytes in (SHARD // 9, SHARD, 4 * SHARD, 10**6 * SHARD)]
    [8, 32, 64, 128]
    """
    size = max((shard.nbytes for shard in shards), default=0)
    wanted = min(MAX_PARTS, len(shards), int(32 * (size / SHARD) ** 0.5))
    return 1 << max(0, wanted.bit_length() - 1)


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

    schema = pa.schema([("pretoken", pa.large_binary()), ("count", pa.uint64())])
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


def _tables_of(mapped: list[list[Any]], bits: int, files: int) -> Iterator[tuple[int, int, list[Any]]]:
    """For each reduce task the output files first..last that it writes, and the references of the tables with their
    part of the hash range, map task by map task."""
    parts = 1 << bits
    tasks = min(parts, files)
    for task in range(tasks):
        tables = [table for refs in mapped for table in refs[task * parts // tasks : (task + 1) * parts // tasks]]
        yield task * files // tasks, (task + 1) * files // tasks, tables


def _reduce(
    folder: str, about: About, first: int, last: int, files: int, min_count: int, shards: int, *tables: Any
) -> tuple[int, int]:
    """Merge, and write the output files first..last. `tables` has as many in a row for each shard, in ascending order."""
    each = len(tables) // shards
    share = files // (last - first)  # `merged` expects to be told of the whole hash range
    sources = [
        SortedRows(_rows(tables[i : i + each]), *_size(tables[i : i + each], share))
        for i in range(0, len(tables), each)
    ]
    rows, nbytes = sum(source.rows for source in sources), sum(source.nbytes for source in sources)
    file_bits = files.bit_length() - 1
    bits = max(file_bits, bits_for(rows, nbytes))
    more = bits - file_bits
    parts = merged(sources, bits, range(first << more, last << more))
    sums = [
        _write_file(
            Path(folder) / f"counts-{file:05d}-of-{files:05d}.parquet", about, islice(parts, 1 << more), min_count
        )
        for file in range(first, last)
    ]
    return sum(distinct for distinct, _ in sums), sum(total for _, total in sums)


def _write_file(path: Path, about: About, parts: Iterable[Any], min_count: int) -> tuple[int, int]:
    """Write one output file; how many distinct pretokens it has, and the sum of their counts."""
    with atomic_file(path) as file:  # a task that is tried again does not meet the first try
        writer = CountsFile(file, about)
        distinct = total = 0
        try:
            for rows in parts:
                kept = filter_rows(rows, min_count)
                writer.write(kept)
                distinct += len(kept[2])
                total += int(kept[2].sum())
            writer.close()
        except BaseException:
            writer.abandon()
            raise
    return distinct, total


def _rows(tables: Sequence[Any]) -> Iterator[Any]:
    for table in tables:
        for batch in table.to_batches():
            yield from_arrow(batch.column(0), batch.column(1))


def _size(tables: Sequence[Any], share: int) -> tuple[int, int]:
    rows = sum(table.num_rows for table in tables)
    return share * rows, share * (sum(table.nbytes for table in tables) - 16 * rows)


def _wait(
    ray: Any,
    refs: list[Any],
    sizes: list[int],
    stage: str,
    progress: Callable[[str, int, int | None], None] | None,
) -> list[Any]:
    """The results of all tasks."""
    total, done = sum(sizes), 0
    for size in finished(ray, dict(zip(refs, sizes, strict=True))):
        done += size or 0
        if progress is not None:
            progress(stage, done, total)
    return ray.get(refs)
