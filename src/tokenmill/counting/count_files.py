"""Count the pretokens of files into memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..jobs.progress import Meter, Progress
from ..jobs.work import JobOptions
from ..sources.blocks import Block
from ..sources.find import OnSkip, Skip, Source, can_read_again, find_sources, is_url, report_skips, size_of
from ..sources.shared import SharedSources
from ..split import Splitter
from .ddfreq_tsv import is_counts_file
from .memory import memory_limit_of
from .options import CountOptions, make_splitter
from .spill import temporary_spill
from .text_sources import opener
from .threads import Counter, Threads
from .word_counts import WordCounts

Paths = str | os.PathLike | Iterable[str | os.PathLike]


def count(
    sources: Paths,
    split: str | Iterable[str] | Splitter = "cl100k",
    options: CountOptions | None = None,
    *,
    memory_limit: str | int | None = None,
    num_threads: int | None = None,
    on_skip: OnSkip | None = None,
    engine: str = "local",
    progress: Progress | None = None,
) -> WordCounts:
    """Count the pretokens of files: paths, folders and globs of text, plain or compressed (.gz, .bz2, .xz, .zst).

    A text file is one document, unless `options.read` says otherwise. In .jsonl each line is one, in .parquet each row. Bytes
    that are not UTF-8 are counted like any others, never dropped.

    split: the name of a split pattern or a regular expression, several of either, or a Splitter.
    options: what is counted, and how. The result is in memory whole, at about 30 bytes for each distinct pretoken;
        `count_to_folder` does not need that.
    memory_limit: in place of that of the options.
    num_threads: None is all cores.
    on_skip: called for each JSON line that cannot be read and each file that turns out to be damaged. The line is left
        out, and the file from there on. None raises an InputError instead.
    engine: "ray" counts on a Ray cluster, through a folder in the working directory. See `count_to_folder`.
    progress: called as progress("count", bytes read, bytes of all files, or None with a pipe among them).
    Raises InputError for a source that is missing, cannot be read, or is damaged.
    """
    splitter = make_splitter(split)
    options = options or CountOptions()
    if memory_limit is not None:
        options = replace(options, memory_limit=memory_limit)
    job = JobOptions(engine)
    if engine == "ray":
        import tempfile

        from .count_jobs import count_to_folder

        with tempfile.TemporaryDirectory(prefix=".tokenmill-count-", dir=Path.cwd()) as folder:
            output = Path(folder) / "counts"
            count_to_folder(sources, output, splitter, options, on_skip=on_skip, job=job, progress=progress)
            return WordCounts.load(output)
    found, _ = found_sources(sources, on_skip)
    size = stored_size(found)
    meter = Meter(progress and partial(progress, "count"), [size])
    with (
        temporary_spill() as spill,
        Threads(splitter, num_threads, memory_limit_of(options.memory_limit), spill, size=size) as threads,
    ):
        FileCount(found, splitter, options, on_skip).run(threads, partial(meter.set, 0))
        meter.at(1)
        return WordCounts(*threads.rows(options.min_count), splitter.patterns, threads.documents, threads.total_bytes)


def found_sources(sources: Paths, on_skip: OnSkip | None) -> tuple[list[Source], int]:
    """The files that `sources` name, and how many folders could not be read."""
    skips: list[Skip] = []
    found = find_sources(sources, None if on_skip is None else skips.append)
    report_skips(skips, on_skip)
    for path in found:
        if not is_url(path) and is_counts_file(Path(path)):
            raise UsageError(
                f"{path} holds word counts, not text. Train on it alone (tokenmill train {path}, or WordCounts.load), or "
                "add it to other counts with tokenmill count --merge"
            )
    return found, len(skips)


def stored_size(sources: Sequence[Source]) -> int | None:
    """The bytes of all sources as they are stored; None with a pipe among them, which can be read only once."""
    if not all(map(can_read_again, sources)):
        return None
    return sum(map(size_of, sources))


class FileCount:
    """The sources of one count, which its threads draw from, and what of them was counted before an interruption."""

    def __init__(
        self, paths: Sequence[Source], splitter: Splitter, options: CountOptions, on_skip: OnSkip | None
    ) -> None:
        self.documents = 0
        self.total_bytes = 0
        self.skipped = 0
        self._on_skip = on_skip
        self._skipping = threading.Lock()
        self._sources = SharedSources(paths, opener(splitter, options.read, options.binary))

    def run(self, threads: Threads, show: Callable[[int], None]) -> None:
        """Count all that is left of the sources. show: called with the bytes read so far."""

        def work(counter: Counter) -> None:
            block = Block()
            while source := self._sources.next(counter.pause):
                while source.draw(block, counter.pause):
                    block.finish()
                    counter.count(block)
                    if block.skips:
                        self._report(block.skips)
                    threads.between_blocks(counter)

        try:
            threads.start(work)
            threads.join(lambda: show(self._sources.stored_position()))
        except BaseException:
            threads.halt()
            raise
        finally:
            self._sources.close()

    def state(self, threads: Threads) -> dict[str, Any]:
        """For `resume`, while all threads stand between two blocks."""
        return {
            "documents": self.documents + threads.documents,
            "total_bytes": self.total_bytes + threads.total_bytes,
            "skipped": self.skipped,
            "places": self._sources.places(),
        }

    def resume(self, state: dict[str, Any]) -> None:
        self.documents, self.total_bytes, self.skipped = state["documents"], state["total_bytes"], state["skipped"]
        self._sources.resume(state["places"])

    def _report(self, skips: list[Skip]) -> None:
        with self._skipping:
            report_skips(skips, self._on_skip)
            self.skipped += sum(skip.left_out for skip in skips)
