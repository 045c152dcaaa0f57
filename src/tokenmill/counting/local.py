"""Count on this machine: `count` and `count_to_folder` for files, `count_iterator` for Python's iterators.

Every thread draws blocks of text and counts them in a table of its own, without the GIL. Only the distinct pretokens are
in memory, and no more of them than the memory limit allows: the tables go to disk then (spill.py). At the end all is
merged, part by part of the hash range.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import OutputError, UsageError, require
from ..jobs.outputs import output_errors, replace_folder
from ..jobs.ray import check_engine
from ..sources.find import OnSkip, Skip, find_sources, is_url, size_of
from ..split import Splitter
from .manifest import Manifest, working_folder
from .memory import memory_limit_of
from .reading import BLOCK, Binary, Block, encode
from .sources import Sources, open_source
from .spill import Spill
from .storage import About, write_counts
from .threads import POLL, Counter, Threads, cores
from .word_counts import WordCounts

if TYPE_CHECKING:
    Progress = Callable[[str, int, "int | None"], None]
    Paths = str | os.PathLike | Iterable[str | os.PathLike]

__all__ = ["Summary", "count", "count_iterator", "count_to_folder", "make_splitter", "temporary_spill"]

CHECKPOINT = 60.0  # seconds between two checkpoints of a count into a folder
RAY_MEMORY = 10**9  # bytes for the tables of a Ray task
Engine = Literal["local", "ray"]


@dataclass(frozen=True)
class Summary:
    """What a count into a folder was.

    spills: how often the tables went to disk.
    resumed_bytes: how much of the text had been counted before the count was interrupted.
    skipped: how many things could not be read and were left out (see on_skip).
    dropped, possible_error: with approximate_prune, how many pretokens were dropped that had been seen once since the
        last spill, and by how much the count of a pretoken may be too low at most.
    """

    documents: int
    total_bytes: int
    pretokens: int
    distinct: int
    spills: int = 0
    resumed_bytes: int = 0
    skipped: int = 0
    dropped: int = 0
    possible_error: int = 0


def count(
    sources: Paths,
    split: str | Iterable[str] | Splitter = "cl100k",
    *,
    num_threads: int | None = None,
    memory_limit: str | int | None = None,
    min_count: int = 1,
    field: str = "text",
    binary: Binary = "error",
    on_skip: OnSkip | None = None,
    engine: Engine = "local",
    ray_address: str | None = None,
    progress: Progress | None = None,
) -> WordCounts:
    """Count the pretokens of files: paths, folders and globs of text, plain or compressed (.gz, .bz2, .xz, .zst).

    A file is one document; of a .jsonl or .ndjson file a line is one, of a .parquet file a row. Bytes that are no UTF-8
    are counted like any others, never dropped.

    split: the name of a split pattern or a regular expression, several of either, or a Splitter.
    num_threads: all cores, if None.
    memory_limit: bytes, or text such as "4GB", that the tables may take; half of what is free, if None. Beyond it they
        go to a temporary folder. The result is in memory whole, with about 30 bytes for each distinct pretoken;
        `count_to_folder` has no need of that.
    min_count: leave out pretokens seen fewer times; exact, since it is done at the end.
    field: what field of a JSON line, or column of Parquet, holds the text.
    binary: what to do with a file that has NUL bytes in its first 64 KiB, or more than a third of them not UTF-8:
        "error" raises InputError, "skip" passes over it, "count" counts its bytes.
    on_skip: called for each JSON line that is none and each file that turns out to be damaged: it is left out, the file
        from there on. Without it the first is an InputError.
    engine, ray_address: "ray" counts on a Ray cluster (see count_to_folder); what the tasks write goes through a folder in
        the working directory.
    progress: called as progress("count", bytes read, bytes of all files, or None where a pipe is among them).
    Raises InputError for a source that is missing, may not be read, or is damaged.
    """
    splitter = make_splitter(split)
    check_choices(binary, engine, ray_address)
    if engine == "ray":
        with tempfile.TemporaryDirectory(prefix=".tokenmill-count-", dir=Path.cwd()) as folder:
            count_to_folder(
                sources,
                Path(folder) / "counts",
                splitter,
                memory_limit=memory_limit,
                min_count=min_count,
                field=field,
                binary=binary,
                on_skip=on_skip,
                engine=engine,
                ray_address=ray_address,
                progress=progress,
            )
            return WordCounts.load(Path(folder) / "counts")
    job = _Job(sources, splitter, field, binary, on_skip, progress)
    limit = memory_limit_of(memory_limit)
    with temporary_spill() as spill, Threads(splitter, num_threads, limit, spill, size=job.size) as threads:
        job.run(threads)
        return WordCounts(*threads.rows(min_count), splitter.patterns, threads.documents, threads.total_bytes)


def count_to_folder(
    sources: Paths,
    output: str | os.PathLike,
    split: str | Iterable[str] | Splitter = "cl100k",
    *,
    num_threads: int | None = None,
    memory_limit: str | int | None = None,
    min_count: int = 1,
    approximate_prune: bool = False,
    resume: bool = True,
    checkpoint_every: float = CHECKPOINT,
    field: str = "text",
    binary: Binary = "error",
    on_skip: OnSkip | None = None,
    engine: Engine = "local",
    ray_address: str | None = None,
    progress: Progress | None = None,
) -> Summary:
    """Count into a folder of Parquet files, as `count` does but with the result never in memory whole.

    What is written is the same for any memory limit, any number of threads, and however often the work was interrupted.

    approximate_prune: when the tables go to disk, drop the pretokens seen once since the last time. That saves disk, at the
        price of counts that may be too low by at most `possible_error`, and that depend on the memory limit.
    resume: go on where a count into this folder was interrupted. What it had done is in a hidden folder beside `output`.
    checkpoint_every: so many seconds of work are lost at most when the process is killed.
    engine: "ray" counts on the Ray cluster at `ray_address` ("auto", "head:6379", "ray://head:10001"); without an address,
        on the Ray that this process is connected to or that runs here, or one started for it. All machines must see the sources and `output` under the same paths. The memory
        limit is then that of each task (1 GB, if None), and an interrupted count begins anew.
    """
    require("pyarrow", "corpus", "writing word counts")
    output = Path(output)
    if output.exists() and not output.is_dir():
        raise OutputError(
            f"cannot write the folder {output}: a file of that name stands there. Remove it or choose another."
        )
    splitter = make_splitter(split)
    check_choices(binary, engine, ray_address)
    if engine == "ray":
        if approximate_prune:
            raise UsageError("approximate_prune is for the local engine: Ray's tasks have no memory that fills up")
        from .ray_engine import count_with_ray

        limit = memory_limit_of(memory_limit or RAY_MEMORY)
        skips: list[Skip] = []
        paths = find_sources(sources, None if on_skip is None else skips.append)
        for skip in skips:
            if on_skip is not None:
                on_skip(skip)
        with working_folder(output, resume=False) as folder, _into(output, folder) as beside:
            summary = count_with_ray(
                paths,
                beside,
                splitter,
                field=field,
                binary=binary,
                min_count=min_count,
                memory_limit=limit,
                on_skip=on_skip,
                address=ray_address,
                progress=progress,
            )
        return replace(summary, skipped=summary.skipped + len(skips))
    job = _Job(sources, splitter, field, binary, on_skip, progress)
    limit = memory_limit_of(memory_limit)
    options = {
        "split_patterns": splitter.patterns,
        "field": field,
        "binary": binary,
        "approximate_prune": approximate_prune,
        "skip": on_skip is not None,
    }
    with working_folder(output, resume) as folder:
        spill = Spill(folder, approximate_prune, durable=True)
        manifest = Manifest(folder, job.paths, options)
        if (before := manifest.load(spill)) is not None:
            job.resume(before)

        def checkpoint() -> None:
            manifest.save(spill, job.state(threads))

        every = checkpoint_every if job.resumable else None
        with Threads(
            splitter, num_threads, limit, spill, checkpoint if job.resumable else lambda: None, every, job.size
        ) as threads:
            job.run(threads)
            spills = len(spill.runs)
            at_once = threads.prepare_merge()
            about = About(splitter.patterns, job.documents + threads.documents, job.total_bytes + threads.total_bytes)
            with _into(output, folder) as beside:
                distinct, pretokens = write_counts(
                    beside,
                    about,
                    lambda part, bits: threads.part_of(part, bits, min_count),
                    threads.pool,
                    at_once,
                    progress,
                )
    return Summary(
        about.documents,
        about.total_bytes,
        pretokens,
        distinct,
        spills,
        job.total_bytes,
        job.skipped,
        spill.dropped,
        spill.prunes,
    )


def count_iterator(
    texts: Iterable[str | bytes],
    split: str | Iterable[str] | Splitter = "cl100k",
    *,
    num_threads: int | None = None,
    memory_limit: str | int | None = None,
    min_count: int = 1,
    progress: Progress | None = None,
) -> WordCounts:
    """Count the pretokens of the texts that an iterator yields, each one document. Options as for `count`.

    Strings are encoded as UTF-8, lone surrogates as U+FFFD. An exception of the iterator is passed on, and nothing is
    returned. The iterator runs in the caller's thread.

    progress: called as progress("count", bytes of text so far, None).

    >>> sorted(count_iterator(["low low", "lower"]).items())
    [(b' low', 1), (b'low', 1), (b'lower', 1)]
    """
    splitter = make_splitter(split)
    if isinstance(texts, (str, bytes)):
        raise UsageError("texts is one string; give an iterable of strings, such as [text]")
    waiting: queue.Queue[Block | None] = queue.Queue(2 * cores(num_threads))
    limit = memory_limit_of(memory_limit)
    with temporary_spill() as spill, Threads(splitter, num_threads, limit, spill) as threads:

        def work(counter: Counter) -> None:
            while True:
                threads.between_blocks(counter)
                try:
                    block = waiting.get(timeout=POLL)
                except queue.Empty:
                    continue
                if block is None:
                    return
                counter.count(block)

        threads.start(work)
        seen = 0
        for block in _blocks(texts):
            _put(waiting, block, threads)
            seen += block.nbytes
            if progress is not None:
                progress("count", seen, None)
        for _ in range(threads.n):
            _put(waiting, None, threads)
        threads.join()
        return WordCounts(*threads.rows(min_count), splitter.patterns, threads.documents, threads.total_bytes)


def make_splitter(split: str | Iterable[str] | Splitter) -> Splitter:
    if isinstance(split, Splitter):
        return split
    return Splitter(split) if isinstance(split, str) else Splitter(*split)


def check_choices(binary: str, engine: str, ray_address: str | None) -> None:
    if binary not in ("error", "skip", "count"):
        raise UsageError(f"binary is {binary!r}; it can be 'error', 'skip' or 'count'")
    check_engine(engine, ray_address)


@contextlib.contextmanager
def _into(output: Path, folder: Path) -> Iterator[Path]:
    """Give a folder below the working folder `folder`; when it is filled, it takes the place of `output`."""
    beside = folder / "output"
    with output_errors(output):
        beside.mkdir()
        yield beside
        replace_folder(beside, output)


class _Job:
    """The sources of one count, drawn from by its threads; and what was counted of them before it was interrupted."""

    def __init__(
        self,
        sources: Paths,
        splitter: Splitter,
        field: str,
        binary: Binary,
        on_skip: OnSkip | None,
        progress: Progress | None,
    ):
        self.documents = 0
        self.total_bytes = 0
        self.skipped = 0
        self._on_skip = on_skip
        self._skipping = threading.Lock()
        leave_out = None if on_skip is None else self._leave_out
        self.paths = find_sources(sources, leave_out)
        self.resumable = all(is_url(path) or Path(path).is_file() for path in self.paths)  # a pipe is read once only
        self._sources = Sources(open_source(path, splitter, field, binary, None, leave_out) for path in self.paths)
        self.size = sum(size_of(path) for path in self.paths) if self.resumable else None
        self._progress = progress

    def run(self, threads: Threads) -> None:
        """Count all that is left of the sources."""

        def work(counter: Counter) -> None:
            block = Block()
            while source := self._sources.next():
                while source.draw(block, counter.pause):
                    counter.count(block)
                    threads.between_blocks(counter)

        try:
            threads.start(work)
            threads.join(self._watch)
        except BaseException:
            threads.halt()
            raise
        finally:
            self._sources.close()
        if self._progress is not None and self.size is not None:
            self._progress("count", self.size, self.size)

    def state(self, threads: Threads) -> dict[str, Any]:
        """For the manifest, while all threads stand between two blocks."""
        return {
            "documents": self.documents + threads.documents,
            "total_bytes": self.total_bytes + threads.total_bytes,
            "skipped": self.skipped,
            "places": self._sources.places(),
        }

    def resume(self, state: dict[str, Any]) -> None:
        self.documents, self.total_bytes, self.skipped = state["documents"], state["total_bytes"], state["skipped"]
        self._sources.resume(state["places"])

    def _leave_out(self, skip: Skip) -> None:
        with self._skipping:
            self.skipped += 1
            if self._on_skip is not None:
                self._on_skip(skip)

    def _watch(self) -> None:
        if self._progress is not None:
            read = self._sources.bytes_read()
            self._progress("count", read if self.size is None else min(self.size, read), self.size)


@contextlib.contextmanager
def temporary_spill() -> Iterator[Spill]:
    """A spill into a temporary folder, which is made when it is needed."""
    spill = _TemporarySpill()
    try:
        yield spill
    finally:
        if spill.made:
            shutil.rmtree(spill.folder, ignore_errors=True)


class _TemporarySpill(Spill):
    def __init__(self) -> None:
        super().__init__(Path())
        self.made = False
        self._making = threading.Lock()

    def write(self, *arguments: Any, **options: Any) -> None:
        with self._making:
            if not self.made:
                self.folder, self.made = Path(tempfile.mkdtemp(prefix="tokenmill-count-")), True
        super().write(*arguments, **options)


def _blocks(texts: Iterable[str | bytes]) -> Iterator[Block]:
    """The texts, gathered into blocks of about a megabyte."""
    documents: list[bytes] = []
    size = 0
    for text in texts:
        if not isinstance(text, (str, bytes, bytearray, memoryview)):
            raise UsageError(f"the texts must be strings or bytes, but one is {type(text).__name__}: {text!r:.60}")
        documents.append(encode(text))
        size += len(documents[-1])
        if size >= BLOCK:
            yield _block(documents)
            documents, size = [], 0
    if documents:
        yield _block(documents)


def _block(documents: list[bytes]) -> Block:
    block = Block(buffered=False)
    block.set_documents(documents)
    return block


def _put(waiting: queue.Queue, block: Block | None, threads: Threads) -> None:
    while True:
        threads.check()
        try:
            waiting.put(block, timeout=POLL)
            return
        except queue.Full:
            continue
