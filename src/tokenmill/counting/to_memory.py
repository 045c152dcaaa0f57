"""Count the pretokens of files into memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

from ..jobs.progress import Meter, Progress
from ..jobs.work import JobOptions
from ..sources.find import OnSkip
from ..split import Splitter
from ..split.patterns import DEFAULT
from .memory import memory_limit_of
from .options import CountOptions, make_splitter
from .reading import cut_of
from .spill import temporary_spill
from .threads import Counter, Threads
from .weights import scaled
from .word_counts import WordCounts
from .workers import FileCount, Paths, found_sources, stored_size


def count_each(
    texts: Mapping[str, Paths | WordCounts],
    split: str | Iterable[str] | Splitter,
    options: CountOptions | None = None,
    *,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> dict[str, WordCounts]:
    """The word counts of several texts by name, each given as for `count`, as saved word counts or as WordCounts."""
    counts = {}
    for name, text in texts.items():
        if isinstance(text, WordCounts):
            counts[name] = text
            continue
        paths = [text] if isinstance(text, (str, os.PathLike)) else list(text)
        if len(paths) == 1 and WordCounts.is_saved(paths[0]):
            counts[name] = WordCounts.load(paths[0])
        else:
            counts[name] = count(paths, split, options, num_threads=num_threads, progress=progress)
    return counts


def count(
    sources: Paths,
    split: str | Iterable[str] | Splitter = DEFAULT,
    options: CountOptions | None = None,
    *,
    memory_limit: str | int | None = None,
    num_threads: int | None = None,
    on_skip: OnSkip | None = None,
    engine: Literal["local", "ray"] = "local",
    spill_folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> WordCounts:
    """Count the pretokens of files: paths, folders and globs of text, plain or compressed (.gz, .bz2, .xz, .zst).

    A text file is one document, unless `options.read` says otherwise. In .jsonl each line is one, in .parquet each row.

    split: the name of a split pattern or a regular expression, several of either, or a Splitter.
    options: what is counted, and how. The result is in memory whole, at about 30 bytes for each distinct pretoken;
        `count_to_folder` does not need that.
    memory_limit: in place of that of the options.
    num_threads: None is all cores.
    on_skip: called for each JSON line that cannot be read and each file that turns out to be damaged. The line is left
        out, and the file from there on. None raises an InputError instead, unless the options have skip_damaged.
    engine: "ray" counts on a Ray cluster, through `spill_folder`. See `count_to_folder`.
    spill_folder: where tables beyond the memory limit go. None is the folder that TMPDIR names, or else the current folder.
    progress: called as progress("count", bytes read, bytes of all files, or None with a pipe among them).
    Raises InputError for a source that is missing, cannot be read, or is damaged.
    """
    splitter = make_splitter(split)
    options = options or CountOptions()
    if memory_limit is not None:
        options = replace(options, memory_limit=memory_limit)
    job, on_skip = JobOptions(engine), options.read.skipper(on_skip)
    if engine == "ray":
        from .to_folder import count_to_folder

        with temporary_spill(spill_folder) as spill:
            output = spill.folder / "counts"
            count_to_folder(sources, output, splitter, options, on_skip=on_skip, job=job, progress=progress)
            return WordCounts.load(output)
    found, _ = found_sources(sources, on_skip)
    size = stored_size(found)
    meter = Meter(progress and partial(progress, "count"), [size])
    with (
        temporary_spill(spill_folder) as spill,
        Threads(
            partial(Counter, splitter), num_threads, memory_limit_of(options.memory_limit), spill, size=size
        ) as threads,
    ):
        files = FileCount(found, cut_of(splitter), options, on_skip)
        files.run(threads, partial(meter.set, 0))
        meter.at(1)
        about = splitter.patterns, threads.documents, threads.total_bytes, files.weighing.parts(threads.bytes_of())
        return WordCounts(*threads.rows(scaled(options.min_count, files.weighing.scale)), *about)  # type: ignore[arg-type]
