"""Count the pretokens of files into a folder of Parquet files.

The local engine has one task: the threads count all sources, and write the output. On Ray there are three kinds of tasks:
count some of the sources into a sorted run in the working folder; if there are many runs, merge some of them into one; and
write a file of the output from its partition of the hash range of all runs. Both engines use the same merge, so the files are
the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from ..errors import require, suggests_options
from ..jobs.outputs import atomic_file, make_folder, named, refuse_folder, remove, sync_tree
from ..jobs.progress import Progress, drawn
from ..jobs.work import JobOptions, Task, do_tasks
from ..jobs.working_folder import FILES, WorkingFolder, fingerprint, path_beside, working_folder
from ..sources.blocks import Cut, ReadOptions
from ..sources.documents import SourceSpan, parts_of
from ..sources.find import OnSkip, Source, size_of
from ..split import Splitter
from ..split.patterns import DEFAULT
from .options import CountOptions, CountSummary, Paths, make_splitter, memory_limit_of, summary_of
from .reading import FileCount, cut_of, stored_size, text_sources
from .rows import merge_partition
from .spill import Run, Spill, temporary_spill, write_run
from .store import CountsMetadata, WrittenTotals, files_for, is_own, name_of_file, write_counts, write_file
from .threads import Counter, Threads
from .weights import Weighing, scaled

CHECKPOINT = 60.0  # seconds between two checkpoints
RAY_MEMORY = 10**9  # bytes for the tables of a task on Ray
SHARD = 256 << 20  # bytes of the sources on disk for one task on Ray, at least
MAX_SHARDS = 4096  # about


@suggests_options
def count_to_folder(
    sources: Paths,
    output: str | os.PathLike,
    *,
    split: str | Iterable[str] | Splitter = DEFAULT,
    options: CountOptions | None = None,
    on_skip: OnSkip | None = None,
    job: JobOptions | None = None,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> CountSummary:
    """Count into a folder of Parquet files, as `count` does, but never with the whole result in memory.

    The files are the same for any memory limit, number of threads, engine and interruptions. A call with the same sources and
    options resumes an interrupted one.

    num_threads: overrides `num_threads` of `job`.
    """
    options, job, output = options or CountOptions(), JobOptions.of(job, num_threads), named(output)
    on_skip = options.read.skipper(on_skip)
    require("pyarrow", "corpus", "writing word counts")
    splitter = make_splitter(split)
    paths, skipped_folders = text_sources(sources, options.read, on_skip)
    job.check_output(output, is_own, paths)
    options_key = asdict(replace(options, memory_limit=None))
    options_key |= {"split_patterns": splitter.patterns, "special_tokens": splitter.special_tokens}
    options_key |= {"skip": on_skip is not None, "engine": job.engine}
    key = {"sources": fingerprint(paths), "options": options_key}
    with working_folder(path_beside(output), output, key, job.resumes(paths)) as folder, drawn(progress) as show:
        if job.engine == "ray":
            summary = count_in_shards(paths, folder, splitter, options, job, on_skip, show)
        else:
            count_all = partial(_count_all, paths, splitter, options, job)
            ((values, resumed),) = do_tasks("count", [stored_size(paths)], count_all, folder, job, on_skip, show)
            summary = CountSummary(**values)
            if resumed:
                summary = replace(summary, resumed_bytes=summary.total_bytes)
        folder.refuse_nothing(summary.documents, summary.skipped)
        refuse_folder(output, is_own, overwrite=job.overwrite or folder.is_publishing())
        folder.save(FILES, ["output"])
        folder.publish([("output", output)])
    return replace(summary, skipped=summary.skipped + skipped_folders)


def _count_all(
    paths: Sequence[Source], splitter: Splitter, options: CountOptions, job: JobOptions, task: Task
) -> dict[str, Any]:
    """Count all sources, with checkpoints. Then write the files of the output to the folder `output`."""
    spill = Spill(task.folder, durable=True)
    files = FileCount(paths, cut_of(splitter), options, task.on_skip)
    resumed_bytes = _resume(task, spill, files)

    def checkpoint() -> None:
        task.save({"runs": [run.to_json() for run in spill.runs], "files": files.state()})

    size, every = stored_size(paths), CHECKPOINT if job.checkpoint_every is None else job.checkpoint_every
    can_resume = size is not None
    with Threads(
        partial(Counter, splitter),
        job.num_threads,
        memory_limit_of(options.memory_limit),
        spill,
        checkpoint if can_resume else lambda: None,
        every if can_resume else None,
        size,
    ) as threads:
        files.run(threads, task.show)
        spills = len(spill.runs)
        at_once = threads.prepare_merge()
        metadata, output = files.metadata(splitter), task.folder / "output"
        least = scaled(options.min_count, metadata.scale)
        make_folder(output)
        sources = spill.sources(threads.tables())
        totals = write_counts(output, metadata, sources, threads.pool, at_once, task.progress, least, threads.pause)
        sync_tree(output)
    return asdict(summary_of(metadata, totals, spills=spills, resumed_bytes=resumed_bytes, skipped=files.skipped))


def _resume(task: Task, spill: Spill, files: FileCount) -> int:
    """Restore the last checkpoint, and delete files written after it. Return the bytes of text that were counted."""
    state = task.load() or {"runs": [], "files": None}
    runs = [Run.from_json(task.folder, run) for run in state["runs"]]
    for run in runs:
        if not run.path.is_file():
            raise task.working_folder.missing(run.path)
    for path in {task.folder / "output", *task.folder.glob("*run-*")} - {run.path for run in runs}:
        remove(path)
    spill.runs = runs
    if state["files"] is None:
        return 0
    files.resume(state["files"])
    return sum(state["files"]["bytes_of"])


def count_in_shards(
    sources: Sequence[Source],
    folder: WorkingFolder,
    splitter: Splitter,
    options: CountOptions,
    job: JobOptions,
    on_skip: OnSkip | None,
    progress: Progress | None,
) -> CountSummary:
    """Count `sources` in three steps of independent tasks, to the folder `output` in the working folder."""
    limit = memory_limit_of(options.memory_limit or RAY_MEMORY)
    total = sum(map(size_of, sources))
    cut = cut_of(splitter) if on_skip is None else None  # a damaged document is left out whole
    shards = plan_shards(sources, options.read, cut, max(SHARD, total // MAX_SHARDS))
    weighing = Weighing(sources, options.weights)
    sizes = [sum(size for _, size, _ in shard) for shard in shards]
    count = partial(_count_shard, shards, splitter, options, job.num_threads or 1, limit, weighing)
    counted = do_tasks("count", sizes, count, folder, job, on_skip, progress)
    values = [value for value, _ in counted]
    runs = [Run.from_json(folder.path, value["run"]) for value in values]
    if len(runs) > Spill.MANY:
        groups = [runs[first : first + Spill.MANY] for first in range(0, len(runs), Spill.MANY)]
        sizes = [sum(run.nbytes for run in group) for group in groups]
        merged = do_tasks("combine", sizes, partial(_merge_runs, groups), folder, job, progress=progress)
        runs = [Run.from_json(folder.path, run) for run, _ in merged]
    bytes_of = [sum(sizes) for sizes in zip(*(value["bytes_of"] for value in values), strict=True)]
    documents = sum(value["documents"] for value in values)
    metadata = CountsMetadata(splitter.patterns, documents, sum(bytes_of), weighing.mixture(bytes_of))
    make_folder(folder.path / "output")
    n = files_for(metadata.total_bytes)
    write = partial(_write_file, runs, metadata, n, options.min_count)
    totals = WrittenTotals.sum(value for value, _ in do_tasks("merge", [1] * n, write, folder, job, progress=progress))
    for path in (folder.path / "output").glob(".*.part"):  # of a task whose machine was lost
        remove(path)
    resumed_bytes = sum(sum(value["bytes_of"]) for value, resumed in counted if resumed)
    return summary_of(metadata, totals, resumed_bytes=resumed_bytes, skipped=sum(value["skipped"] for value in values))


def _count_shard(
    shards: Sequence[list[SourceSpan]],
    splitter: Splitter,
    options: CountOptions,
    num_threads: int,
    memory_limit: int,
    weighing: Weighing,
    task: Task,
) -> dict[str, Any]:
    """Count a shard, within the memory limit, into a sorted run."""
    paths, spans = [path for path, _, _ in shards[task.number]], [span for *_, span in shards[task.number]]
    files = FileCount(paths, cut_of(splitter), options, task.on_skip, weighing, spans)
    new = partial(Counter, splitter)
    with temporary_spill(task.folder) as spill, Threads(new, num_threads, memory_limit, spill) as threads:
        files.run(threads, task.show)
        spill.compact()
        run = write_run(task.folder / f"run-{task.number:05}.arrow", spill.sources(threads.tables()), durable=True)
        numbers = {"documents": files.documents, "bytes_of": files.bytes_of, "skipped": files.skipped}
        return numbers | {"run": run.to_json()}


def _merge_runs(groups: Sequence[Sequence[Run]], task: Task) -> list[Any]:
    """Merge some runs into one, so that no later task reads too many."""
    return write_run(task.folder / f"merged-{task.number:05}.arrow", groups[task.number], durable=True).to_json()


def _write_file(
    runs: Sequence[Run], metadata: CountsMetadata, files: int, min_count: int, task: Task
) -> tuple[int, int, int]:
    """Write one of the files of the output."""
    with atomic_file(task.folder / "output" / name_of_file(task.number, files)) as file:
        rows = merge_partition(runs, task.number, files.bit_length() - 1)
        return write_file(file, metadata, rows, scaled(min_count, metadata.scale))


def plan_shards(sources: Sequence[Source], read: ReadOptions, cut: Cut | None, nbytes: int) -> list[list[SourceSpan]]:
    """Divide sources into shards of about `nbytes` on disk: small files together, large ones in spans."""
    n = 1 + sum(map(size_of, sources)) // nbytes
    return [*filter(None, parts_of(sources, read, range(1, n + 1), n, cut=cut))]
