"""Clean a corpus into shards: in parallel processes, in bounded memory, and so that a killed run can go on.

The sources are grouped into parts by their sizes alone, so that the plan is the same on every machine. Within a part
the documents stay in order, and a shard ends after the batch that fills it. When a shard stands whole in its place, a
small file of progress says what is in it and where the next one begins. A run that was killed starts again from there,
and its shards are those that it would have made: the same bytes, for any number of workers.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import InputError, OutputError, UsageError, require
from ..jobs.outputs import atomic_file, output_errors
from ..jobs.ray import check_engine
from ..sources.documents import MAX_DOCUMENT_BYTES, ReadOptions, Record, read_records
from ..sources.find import Skip, Source, find_sources, is_url, size_of
from ..sources.streams import SourceStream
from .kinds import OUTPUT_FORMATS, CleanOptions, check_modules
from .pool import WorkerPool
from .report import CleaningReport, Tally
from .worker import Answers

__all__ = ["CleaningReport", "Meter", "Plan", "Progress", "clean", "clean_part", "pool_of", "report_path"]

Progress = Callable[[str, int, "int | None"], None]

PART_BYTES = 256 << 20  # of sources as they are stored: what one task of a cluster reads
SHARD_BYTES = 256 << 20  # of text
BATCH_BYTES = 1 << 19
BATCH_RECORDS = 256
STATE = ".clean"  # the folder of a run that is not finished, inside of the output


def clean(
    kind: str,
    sources: str | os.PathLike | Iterable[str | os.PathLike],
    output: str | os.PathLike,
    *,
    format: str = "jsonl",
    filters: Iterable[str] | None = None,
    min_chars: int = 100,
    keep_code: bool = True,
    unit: str = "line",
    separator: str = "",
    field: str = "text",
    column: str = "text",
    max_document_bytes: int | None = MAX_DOCUMENT_BYTES,
    strict: bool = False,
    num_workers: int | None = None,
    time_limit: float = 30.0,
    memory_limit: int = 1 << 30,
    shard_bytes: int = SHARD_BYTES,
    overwrite: bool = False,
    engine: str = "local",
    ray_address: str | None = None,
    progress: Progress | None = None,
) -> CleaningReport:
    """Clean a corpus into shards in the folder `output`, with a report beside it (`output`.report.json).

    kind: wikipedia (pages-articles XML), stackexchange (Posts.xml), fineweb (Parquet or JSON lines) or text.
    format: "jsonl" for lines of JSON, compressed by zstandard; "text" for plain text, a blank line after each document.
    filters: the names of those to apply; None for all of them (see `filters.FILTERS`).
    min_chars: documents that are shorter after cleaning are dropped. keep_code: whether code blocks stay.
    unit, separator, field, column, max_document_bytes: what a document is; see `documents.ReadOptions`.
    strict: stop at the first document that cannot be read, where others are skipped and counted.
    num_workers: processes; None for one for each core. The output does not depend on it.
    time_limit, memory_limit: the seconds of processor time and the bytes of memory that cleaning one document may
        take. One that takes more is skipped and counted, and the rest goes on.
    shard_bytes: a shard is closed once it holds this much text.
    overwrite: remove the output of another run; without it that is a UsageError. A run of the same call that was
        killed goes on where it was.
    engine: "local", or "ray" for tasks on a Ray cluster (at ray_address), whose output is the same.
    """
    read = ReadOptions(unit, separator, field, column, max_document_bytes)
    options = CleanOptions.of(kind, filters, format=format, min_chars=min_chars, keep_code=keep_code, read=read)
    check_engine(engine, ray_address)
    if time_limit <= 0 or memory_limit <= 0 or shard_bytes <= 0 or (num_workers is not None and num_workers < 1):
        raise UsageError("time_limit, memory_limit, shard_bytes and num_workers must be above 0")
    check_modules(options)
    skipped: list[Skip] = []
    found = find_sources(sources, None if strict else skipped.append)
    limits = {"time_limit": time_limit, "memory_limit": memory_limit, "shard_bytes": shard_bytes, "strict": strict}
    plan = Plan.of(options, found, skipped, limits)
    folder = Path(output).absolute()
    with _output_folder(folder, plan, overwrite) as finished:
        if finished is not None:
            return finished
        if engine == "ray":
            from .ray_engine import clean_parts

            clean_parts(plan, folder, num_workers, ray_address, progress)
        else:
            with pool_of(plan, num_workers) as pool:
                meter = Meter(progress, plan)
                for part in range(len(plan.parts)):
                    clean_part(plan, folder, part, pool, meter)
        return _finish(plan, folder)


@dataclass(frozen=True)
class Plan:
    """All that decides the output: the options, and the sources in parts."""

    options: CleanOptions
    parts: list[list[tuple[str, int]]]  # of each source its name and stored size
    skipped: list[Skip]
    limits: dict[str, Any]

    @classmethod
    def of(cls, options: CleanOptions, sources: list[Source], skipped: list[Skip], limits: dict[str, Any]) -> Plan:
        parts: list[list[tuple[str, int]]] = []
        room = 0
        for source in sources:
            size = size_of(source)
            if room < size or not parts:
                parts.append([])
                room = PART_BYTES
            parts[-1].append((os.fspath(source), size))
            room -= size
        return cls(options, parts, skipped, limits)

    def to_json(self) -> dict[str, Any]:
        return {
            "tokenmill": __version__,
            "options": self.options.to_json(),
            "limits": self.limits,
            "parts": [[list(source) for source in part] for part in self.parts],
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Plan:
        parts = [[(name, size) for name, size in part] for part in values["parts"]]
        return cls(CleanOptions.from_json(values["options"]), parts, [], values["limits"])


class Meter:
    """Reports how many of the stored bytes of all sources are done."""

    def __init__(self, progress: Progress | None, plan: Plan) -> None:
        self._progress = progress
        self._shown = 0
        self._before = [[0]]  # for each source of each part, the bytes of all before it
        for part in plan.parts:
            for _, size in part:
                self._before[-1].append(self._before[-1][-1] + size)
            self._before.append([self._before[-1][-1]])

    def show(self, part: int, source: int, stored: int = 0) -> None:
        """Everything before `stored` bytes of that source of that part is done."""
        if self._progress is not None:
            total = self._before[-1][0]
            self._shown = max(self._shown, min(self._before[part][source] + stored, total))
            self._progress("clean", self._shown, total)


@dataclass
class _Place:
    """A place between two records of a part: in which source, after how many of its records."""

    source: int = 0
    records: int = 0


def clean_part(plan: Plan, folder: Path, part: int, pool: WorkerPool, meter: Meter) -> None:
    """Make the shards of one part that are not made yet. This is the whole work of one task, here or on a cluster."""
    place, number = _resume(folder, part)
    results = pool.map(_batches(plan, part, place)) if place else iter(())
    while place is not None:
        name = f"shard-{part:05}-{number:04}{OUTPUT_FORMATS[plan.options.format]}"
        tally, place = _write_shard(plan, folder / name, results, part, meter)
        entry = {
            "name": name if tally.documents_kept else None,
            "tally": tally.to_json(),
            "next": place and vars(place),
        }
        if entry["name"]:
            entry["stored_bytes"] = (folder / name).stat().st_size
        with atomic_file(folder / STATE / f"{part:05}-{number:04}.json", "w") as file:
            json.dump(entry, file)
        number += 1
    meter.show(part, len(plan.parts[part]))


def _write_shard(
    plan: Plan, path: Path, results: Iterator[tuple[Answers, _Batch]], part: int, meter: Meter
) -> tuple[Tally, _Place | None]:
    """Write documents until the shard is full; the place after it, or None at the end of the part."""
    tally = Tally()
    with contextlib.ExitStack() as stack:
        write: Callable[[bytes], Any] | None = None
        for (answers, removed), batch in results:
            lines = _count(plan, tally, answers, removed or {}, batch)
            if lines and write is None:  # a shard without documents is not written
                write = stack.enter_context(_shard_writer(path, plan.options.format))
            if write is not None:
                write(lines)
            meter.show(part, batch.end.source, batch.stored)
            if tally.bytes_out >= plan.limits["shard_bytes"]:
                return tally, batch.end
    return tally, None


def _count(plan: Plan, tally: Tally, answers: list, removed: dict[str, int], batch: _Batch) -> bytes:
    """Put a batch into the tally; its lines."""
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
        if plan.limits["strict"]:
            raise InputError(f"{skip}. Without strict it would be skipped and counted.")
        tally.skip(skip)
    tally.removed.update(removed)
    return b"".join(lines)


@dataclass
class _Batch:
    """Records of one part in order, with what could not be read between them, and the place after them.

    stored: how many bytes of the last source, as it is stored, were read by then.
    """

    items: list[Record | Skip]
    end: _Place
    stored: int


def _batches(plan: Plan, part: int, start: _Place) -> Iterator[tuple[list[tuple], _Batch]]:
    """The batches of a part from a place on. Where they end depends on the records alone."""
    items: list[Record | Skip] = []
    streams: list[SourceStream] = []
    size = 0
    place = start

    def batch() -> tuple[list[tuple], _Batch]:
        stored = streams[-1].stored_position() if streams and not streams[-1].closed else 0
        return [tuple(item) for item in items if isinstance(item, Record)], _Batch(items, place, stored)

    for index, (name, _) in enumerate(plan.parts[part]):
        if index < start.source:
            continue
        source: Source = name if is_url(name) else Path(name)
        place = _Place(index, start.records if index == start.source else 0)
        records = read_records(source, plan.options.reader, plan.options.read, opened=streams.append)
        for record in itertools.islice(records, place.records, None):
            items.append(record)
            size += len(record.data) if isinstance(record, Record) else 0
            place = _Place(index, place.records + 1)
            if size >= BATCH_BYTES or len(items) >= BATCH_RECORDS:
                yield batch()
                items, size = [], 0
        streams.clear()
    if items:
        yield batch()


@contextlib.contextmanager
def _shard_writer(path: Path, format: str) -> Iterator[Callable[[bytes], Any]]:
    with atomic_file(path) as file:
        if format == "text":
            yield file.write
            return
        zstandard = require("zstandard", "corpus", "writing .jsonl.zst")
        with zstandard.ZstdCompressor(level=3, write_checksum=True).stream_writer(file, closefd=False) as writer:
            yield writer.write


def pool_of(plan: Plan, num_workers: int | None) -> WorkerPool:
    return WorkerPool(
        f"{__package__}.kinds:Cleaner",
        plan.options.to_json(),
        num_workers or len(os.sched_getaffinity(0)),
        plan.limits["time_limit"],
        plan.limits["memory_limit"],
    )


# The state of a run: STATE/plan.json says what is being made, and STATE/part-shard.json what is done.


@contextlib.contextmanager
def _output_folder(folder: Path, plan: Plan, overwrite: bool) -> Iterator[CleaningReport | None]:
    """Hold the output folder for this run alone; give the report of the same run where it was finished before."""
    state = folder / STATE
    planned = json.loads(json.dumps(plan.to_json()))
    with output_errors(folder):
        if overwrite:
            for path in [*folder.glob("shard-*"), *folder.glob(".shard-*.part"), report_path(folder)]:
                path.unlink(missing_ok=True)
            shutil.rmtree(state, ignore_errors=True)
        if folder.exists() and report_path(folder).exists():
            report = CleaningReport.from_json(json.loads(report_path(folder).read_text()))
            if report.settings == planned:
                shutil.rmtree(state, ignore_errors=True)  # of a run that was killed at its very end
                yield report
                return
            raise _foreign(folder, "a finished")
        if not state.exists() and any(folder.glob("shard-*")):
            raise _foreign(folder, "an earlier")
        state.mkdir(parents=True, exist_ok=True)
        lock = open(state / "lock", "wb")  # noqa: SIM115  held, and closed, below
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise OutputError(
                f"another run is writing to {folder} just now. Wait for it, or choose another."
            ) from error
        plan_file = state / "plan.json"
        if not plan_file.exists():
            with atomic_file(plan_file, "w") as file:
                json.dump(planned, file)
        elif json.loads(plan_file.read_text()) != planned:
            raise _foreign(folder, "an unfinished")
        for rest in folder.glob(".shard-*.part"):  # of a run that was killed
            rest.unlink()
        yield None


def report_path(folder: Path) -> Path:
    """Where the report of an output folder is: beside it, so that the folder holds nothing but text."""
    return folder.with_name(f"{folder.name}.report.json")


def _foreign(folder: Path, which: str) -> UsageError:
    return UsageError(
        f"{folder} holds the output of {which} run with other sources or options. "
        "Choose another folder, or overwrite it."
    )


def _resume(folder: Path, part: int) -> tuple[_Place | None, int]:
    """Where the next shard of a part begins, None where the part is done; and that shard's number."""
    entries = _entries(folder, part)
    if not entries:
        return _Place(), 0
    after = entries[-1]["next"]
    return (_Place(**after) if after else None), len(entries)


def _entries(folder: Path, part: int) -> list[dict[str, Any]]:
    paths = sorted((folder / STATE).glob(f"{part:05}-*.json"))
    return [json.loads(path.read_text()) for path in paths]


def _finish(plan: Plan, folder: Path) -> CleaningReport:
    """Add up the progress files to the report, and leave only that and the shards."""
    tally = Tally()
    for skip in plan.skipped:
        tally.skip(skip)
    shards = []
    for part in range(len(plan.parts)):
        for entry in _entries(folder, part):
            shard = Tally.from_json(entry["tally"])
            tally.add(shard)
            if entry["name"]:
                numbers = {"documents": shard.documents_kept, "text_bytes": shard.bytes_out}
                shards.append({"name": entry["name"], **numbers, "stored_bytes": entry["stored_bytes"]})
    if tally.skipped_count == tally.documents_in and tally.documents_in:
        shutil.rmtree(folder / STATE, ignore_errors=True)
        raise InputError(f"nothing could be read. {tally.skipped_count:,} times, the first: {tally.skipped[0]}")
    report = CleaningReport.of(plan.options.kind, tally, shards, plan.to_json())
    with atomic_file(report_path(folder), "w") as file:
        json.dump(report.to_json(), file, indent=1, ensure_ascii=False)
        file.write("\n")
    shutil.rmtree(folder / STATE, ignore_errors=True)
    return report
