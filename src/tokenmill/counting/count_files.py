"""Count the pretokens of files: into memory (`count`), or into a folder of Parquet files (`count_to_folder`)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from ..errors import UsageError, require
from ..jobs.outputs import check_folder
from ..jobs.progress import Meter, Progress
from ..jobs.work import JobOptions, do_parts
from ..jobs.working_folder import fingerprint, path_beside, working_folder
from ..sources.blocks import ReadOptions
from ..sources.find import OnSkip, Skip, Source, find_sources, report_skips
from ..split import Splitter
from .count_jobs import CountWhole, FileCount, count_in_shards, stored_size
from .memory import memory_limit_of
from .options import CountOptions, Summary, make_splitter
from .spill import temporary_spill
from .text_sources import Binary, cut_of, opener
from .threads import Counter, Threads
from .word_counts import WordCounts

Paths = str | os.PathLike | Iterable[str | os.PathLike]


def count(
    sources: Paths,
    split: str | Iterable[str] | Splitter = "cl100k",
    *,
    num_threads: int | None = None,
    memory_limit: str | int | None = None,
    read: ReadOptions | None = None,
    binary: Binary = "error",
    on_skip: OnSkip | None = None,
    engine: str = "local",
    progress: Progress | None = None,
) -> WordCounts:
    """Count the pretokens of files: paths, folders and globs of text, plain or compressed (.gz, .bz2, .xz, .zst).

    A text file is one document, unless `read` says otherwise. In .jsonl each line is one, in .parquet each row. Bytes
    that are not UTF-8 are counted like any others, never dropped.

    split: the name of a split pattern or a regular expression, several of either, or a Splitter.
    num_threads: None is all cores.
    memory_limit, read, binary: see `CountOptions`. The result is in memory whole, at about 30 bytes for each distinct
        pretoken; `count_to_folder` does not need that.
    on_skip: called for each JSON line that cannot be read and each file that turns out to be damaged. The line is left
        out, and the file from there on. None raises an InputError instead.
    engine: "ray" counts on a Ray cluster, through a folder in the working directory. See `count_to_folder`.
    progress: called as progress("count", bytes read, bytes of all files, or None with a pipe among them).
    Raises InputError for a source that is missing, cannot be read, or is damaged.
    """
    splitter = make_splitter(split)
    options = CountOptions(memory_limit=memory_limit, read=read or ReadOptions(), binary=binary)
    job = JobOptions(engine)
    if engine == "ray":
        with tempfile.TemporaryDirectory(prefix=".tokenmill-count-", dir=Path.cwd()) as folder:
            output = Path(folder) / "counts"
            count_to_folder(sources, output, splitter, options, on_skip=on_skip, job=job, progress=progress)
            return WordCounts.load(output)
    found, _ = _find(sources, on_skip)
    size = stored_size(found)
    meter = Meter(progress and partial(progress, "count"), [size])
    with (
        temporary_spill() as spill,
        Threads(partial(Counter, splitter), num_threads, memory_limit_of(memory_limit), spill, size=size) as threads,
    ):
        FileCount(found, opener(cut_of(splitter), options.read, binary), on_skip).run(threads, partial(meter.set, 0))
        meter.at(1)
        return WordCounts(*threads.rows(), splitter.patterns, threads.documents, threads.total_bytes)


def count_to_folder(
    sources: Paths,
    output: str | os.PathLike,
    split: str | Iterable[str] | Splitter = "cl100k",
    options: CountOptions | None = None,
    *,
    on_skip: OnSkip | None = None,
    job: JobOptions | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Count into a folder of Parquet files, as `count` does, but the result is never in memory whole.

    The bytes written are the same for any memory limit, number of threads and engine, and however often the work was
    interrupted: a call with the same sources and options resumes an interrupted one.
    """
    options, job, output = options or CountOptions(), job or JobOptions(), Path(output)
    require("pyarrow", "corpus", "writing word counts")
    check_folder(output)
    splitter = make_splitter(split)
    if job.engine == "ray" and options.approximate_prune:
        raise UsageError("approximate_prune needs the local engine: what it drops would depend on the tasks")
    found, left_out = _find(sources, on_skip)
    told = asdict(replace(options, memory_limit=None))
    told |= {"split_patterns": splitter.patterns, "skip": on_skip is not None, "engine": job.engine}
    key = {"sources": fingerprint(found), "options": told}
    with working_folder(path_beside(output), output, key, job.resumes(found)) as folder:
        if job.engine == "ray":
            summary = count_in_shards(found, folder, splitter, options, job, on_skip, progress)
        else:
            work = CountWhole(found, splitter, options, job)
            ((values, resumed),) = do_parts(work, folder, job, on_skip, progress)
            summary = Summary(**values)
            if resumed:
                summary = replace(summary, resumed_bytes=summary.total_bytes)
        folder.publish([("output", output)])
    return replace(summary, skipped=summary.skipped + left_out)


def _find(sources: Paths, on_skip: OnSkip | None) -> tuple[list[Source], int]:
    """The files that `sources` name, and how many folders could not be read."""
    skips: list[Skip] = []
    found = find_sources(sources, None if on_skip is None else skips.append)
    report_skips(skips, on_skip)
    return found, len(skips)
