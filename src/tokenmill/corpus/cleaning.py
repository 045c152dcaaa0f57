"""Clean a corpus into shards: in parallel processes, in bounded memory, and so that an interrupted run resumes.

The sources are grouped into parts by their sizes alone, so the plan is the same on every machine. Within a part the
documents stay in order, and a shard ends after the batch that fills it. After each shard, a state says what is in it and
where the next one begins. So the shards have the same bytes for any number of workers, on Ray, and after any
interruption.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import InputError, OutputError, require
from ..jobs.outputs import atomic_file
from ..jobs.progress import Meter, Progress
from ..jobs.work import JobOptions, Task, do_parts, group_by_size
from ..jobs.worker_pool import WorkerPool
from ..jobs.worker_process import Answers
from ..jobs.working_folder import WorkingFolder, fingerprint, working_folder
from ..kernels.machine import available_cores
from ..sources.blocks import Block, Record
from ..sources.documents import open_source
from ..sources.find import Skip, Source, find_sources, shown
from .cleaner import KINDS, Cleaner, check_kind
from .options import OUTPUT_FORMATS, CleanOptions
from .report import CleaningReport, Tally

PART_BYTES = 256 << 20  # of sources as they are stored
BATCH_BYTES = 1 << 19
BATCH_RECORDS = 256


def clean(
    kind: str,
    sources: str | os.PathLike | Iterable[str | os.PathLike],
    output: str | os.PathLike,
    options: CleanOptions | None = None,
    *,
    job: JobOptions | None = None,
    progress: Progress | None = None,
) -> CleaningReport:
    """Clean a corpus into shards in the folder `output`, with a report beside it (`output`.report.json).

    A call with the same sources and options resumes an interrupted one.

    kind: wikipedia (pages-articles XML), stackexchange (Posts.xml), fineweb (Parquet or JSON lines) or text.
    job: with `overwrite` the output of another run is removed. Without it that is an OutputError.
    progress: called as progress("clean", bytes of the sources read, bytes of all).
    """
    options, job = options or CleanOptions(), job or JobOptions()
    check_kind(kind, options.format)
    options = options.for_kind(kind)
    skipped: list[Skip] = []
    found = find_sources(sources, None if options.strict else skipped.append)
    folder = Path(output).absolute()
    work = CleanParts(kind, options, group_by_size(found, PART_BYTES), folder, job)
    settings = work.settings()
    working_path = folder / ".unfinished"  # inside, where the shards are: they appear one by one
    if not job.overwrite:
        finished = _finished_report(folder, working_path, settings)
        if finished is not None:
            return finished
    key = {"sources": fingerprint(found), "options": settings}
    with working_folder(working_path, folder, key, job.resumes(found)) as working:
        if not working.has_states():
            _remove_output(folder)
        try:
            results = do_parts(work, working, job, progress=progress)
            report = _report(work, working, [steps for steps, _ in results], skipped)
        except BaseException:
            if not working.has_states():
                _remove_output(folder)
            raise
        finally:
            for rest in folder.glob(".shard-*.part"):  # of a process that was killed, or a task whose machine was lost
                rest.unlink(missing_ok=True)
        with atomic_file(report_path(folder), "w") as file:
            json.dump(report.to_json(), file, indent=1, ensure_ascii=False)
            file.write("\n")
    return report


@dataclass
class _Place:
    """A place between two records of a part: in which source, in the block that begins at `at`, after how many items."""

    source: int = 0
    at: list[int] | None = None
    items: int = 0


class CleanParts:
    """The work of `clean`. Each part makes the shards of some consecutive sources, and saves a state after each."""

    stage = "clean"

    def __init__(
        self,
        kind: str,
        options: CleanOptions,
        parts: Sequence[list[tuple[Source, int]]],
        folder: Path,
        job: JobOptions,
    ) -> None:
        self.sizes = [sum(size for _, size in part) for part in parts]
        self.kind = kind
        self.options = options
        self.parts = parts
        self._folder = folder
        self._num_workers = job.num_workers or (1 if job.engine == "ray" else available_cores())

    def settings(self) -> dict[str, Any]:
        """All that decides the output, as JSON has it."""
        values = {
            "tokenmill": __version__,
            "options": {"kind": self.kind, **asdict(self.options)},
            "parts": [[[shown(source), size] for source, size in part] for part in self.parts],
        }
        return json.loads(json.dumps(values))

    def do(self, part: int, task: Task) -> int:
        """Make the shards of a part that are not made yet. Returns how many states there are."""
        options = self.options
        states = task.states()
        step = len(states)
        after = states[-1]["next"] if states else asdict(_Place())
        if after is None:
            return step
        pool = WorkerPool(
            f"{Cleaner.__module__}:{Cleaner.__name__}",
            (self.kind, asdict(options)),
            self._num_workers,
            options.time_limit,
            options.memory_limit,
        )
        meter = Meter(lambda done, total: task.show(done), [size for _, size in self.parts[part]])
        with pool:
            results = pool.map(self._batches(part, _Place(**after)))
            while after is not None:
                path = self._folder / f"shard-{part:05}-{step:04}{OUTPUT_FORMATS[options.format]}"
                tally, place = _write_shard(options, path, results, meter)
                stored = path.stat().st_size if tally.documents_kept else 0
                after = asdict(place) if place else None
                name = path.name if tally.documents_kept else None
                task.save({"name": name, "stored_bytes": stored, "tally": tally.to_json(), "next": after}, step)
                step += 1
        return step

    def _batches(self, part: int, start: _Place) -> Iterator[tuple[list[tuple], _Batch]]:
        """The batches of a part from a place on. Where they end depends on the records alone."""
        items: list[Record | Skip] = []
        size = stored = 0
        place = start
        block = Block()

        def batch() -> tuple[list[tuple], _Batch]:
            return [tuple(item) for item in items if isinstance(item, Record)], _Batch(items, place, stored)

        for index, (name, _) in enumerate(self.parts[part]):
            if index < start.source:
                continue
            source = open_source(name, self.options.read, KINDS[self.kind], ids=True)
            at, done = (start.at, start.items) if index == start.source else (None, 0)
            if at is not None:
                source.resume(at)
            with contextlib.closing(source):
                while source.draw(block):
                    stored = source.stored_position()
                    for number, item in enumerate(block.items()[done:], done + 1):
                        items.append(item)
                        size += len(item.data) if isinstance(item, Record) else 0
                        place = _Place(index, at, number)
                        if size >= BATCH_BYTES or len(items) >= BATCH_RECORDS:
                            yield batch()
                            items, size = [], 0
                    at, done = block.place, 0
            place = _Place(index + 1)
        if items:
            yield batch()


@dataclass
class _Batch:
    """Records of one part in order, with what could not be read between them, and the place after them.

    stored: how many bytes of the last source, as it is stored, were read by then.
    """

    items: list[Record | Skip]
    end: _Place
    stored: int


def _write_shard(
    options: CleanOptions, path: Path, results: Iterator[tuple[Answers, _Batch]], meter: Meter
) -> tuple[Tally, _Place | None]:
    """Write documents until the shard is full. Returns the place after it, or None at the end of the part."""
    tally = Tally()
    with contextlib.ExitStack() as stack:
        write: Callable[[bytes], Any] | None = None
        for (answers, removed), batch in results:
            lines = _count(options.strict, tally, answers, removed or {}, batch)
            if lines and write is None:  # a shard without documents is not written
                write = stack.enter_context(_shard_writer(path, options.format))
            if write is not None:
                write(lines)
            meter.at(batch.end.source, batch.stored)
            if tally.bytes_out >= options.shard_bytes:
                return tally, batch.end
    return tally, None


def _count(strict: bool, tally: Tally, answers: list, removed: dict[str, int], batch: _Batch) -> bytes:
    """Add a batch to the tally, and return its lines."""
    lines = []
    outcomes = iter(answers)
    for record in batch.items:
        if isinstance(record, Skip):
            skip: Skip | None = record
        else:
            tally.bytes_in += len(record.data)
            how, value = next(outcomes)
            if how == "done" and value[0] == "kept":
                tally.documents_in += 1
                tally.documents_kept += 1
                tally.bytes_out += value[2]
                lines.append(value[1])
                continue
            if how == "done" and value[0] == "dropped":
                tally.drop(value[1])
                continue
            skip = Skip(record.source, record.position, value if how == "failed" else value[1])
        if strict:
            raise InputError(f"{skip}. Without strict it would be skipped and counted.")
        tally.skip(skip)
    tally.removed.update(removed)
    return b"".join(lines)


@contextlib.contextmanager
def _shard_writer(path: Path, format: str) -> Iterator[Callable[[bytes], Any]]:
    with atomic_file(path) as file:
        if format == "text":
            yield file.write
            return
        zstandard = require("zstandard", "corpus", "writing .jsonl.zst")
        with zstandard.ZstdCompressor(level=3, write_checksum=True).stream_writer(file, closefd=False) as writer:
            yield writer.write


def _finished_report(folder: Path, working_path: Path, settings: dict[str, Any]) -> CleaningReport | None:
    """The report of the same run, if it is finished. Raises OutputError if the folder holds another output."""
    found = "an earlier"
    if folder.exists() and report_path(folder).exists():
        report = CleaningReport.from_json(json.loads(report_path(folder).read_text(encoding="utf-8")))
        if report.settings == settings:
            shutil.rmtree(working_path, ignore_errors=True)  # of a run that was killed at its very end
            return report
        found = "a finished"
    elif working_path.exists() or not any(folder.glob("shard-*")):
        return None
    raise OutputError(
        f"{folder} holds the output of {found} run with other sources or options. Choose another folder, or pass "
        "overwrite=True (--force)."
    )


def _remove_output(folder: Path) -> None:
    for path in [*folder.glob("shard-*"), report_path(folder)]:
        path.unlink(missing_ok=True)


def report_path(folder: Path) -> Path:
    """Where the report of an output folder is: beside it, so that the folder holds nothing but text."""
    return folder.with_name(f"{folder.name}.report.json")


def _report(work: CleanParts, working: WorkingFolder, steps: Sequence[int], skipped: list[Skip]) -> CleaningReport:
    """Add up the states to the report."""
    tally = Tally()
    for skip in skipped:
        tally.skip(skip)
    shards = []
    for part in range(len(steps)):
        for state in Task(working, work.stage, part).states():
            shard = Tally.from_json(state["tally"])
            tally.add(shard)
            if state["name"]:
                numbers = {"documents": shard.documents_kept, "text_bytes": shard.bytes_out}
                shards.append({"name": state["name"], **numbers, "stored_bytes": state["stored_bytes"]})
    if tally.skipped_count == tally.documents_in and tally.documents_in:
        working.clear()
        raise InputError(f"nothing could be read. {tally.skipped_count:,} times, the first: {tally.skipped[0]}")
    return CleaningReport.of(work.kind, tally, shards, work.settings())
