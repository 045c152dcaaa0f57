"""Clean a corpus into shards: in parallel processes, in bounded memory, and so that an interrupted run resumes.

The sources are grouped into tasks by their sizes alone, so the plan is the same on every machine. Within a task the
documents stay in order, and a shard ends after the block that fills it. After each shard, a state records its contents
and the start of the next one. So the shards have the same bytes for any number of workers, on Ray, and after any
interruption.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from .. import __version__
from ..errors import OptionName, OutputError, require, suggests_options
from ..jobs.outputs import atomic_file, named, refuse_foreign, refuse_source, remove
from ..jobs.progress import Meter, Progress, drawn
from ..jobs.work import JobOptions, Task, do_tasks, group_by_size
from ..jobs.worker_pool import Answers, WorkerPool
from ..jobs.working_folder import WorkingFolder, fingerprint, working_folder
from ..kernels.machine import available_cores
from ..options import Argument, Option, Options, refuse_given
from ..sources.blocks import INPUT, MAX_DOCUMENT_BYTES, Block, Column, Cut, ReadOptions
from ..sources.documents import ResumePoint, SourceSpan, blocks_of, refuse_dumps, refuse_text
from ..sources.find import Skip, find_sources, report_skips, shown, size_of
from .cleaner import KINDS, Cleaner, check_kind
from .options import OUTPUT_FORMATS, CleanOptions
from .report import CleaningReport, Tally

_Read = tuple[ResumePoint, int]  # the point after a block, and the stored bytes read of its source
TASK_BYTES = 256 << 20  # of sources as they are stored
COLUMNS = ["text", "id", "source", "title"]  # of Parquet
ROW_GROUP_DOCUMENTS, ROW_GROUP_BYTES = 1024, 64 << 20  # at most; the bytes plus a block


@suggests_options
def clean(
    kind: str,
    sources: str | os.PathLike | Iterable[str | os.PathLike],
    output: str | os.PathLike,
    *,
    options: CleanOptions | None = None,
    job: JobOptions | None = None,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> CleaningReport:
    """Clean a corpus into shards in the folder `output`, with a report next to it (`output`.report.json).

    A call with the same sources and options resumes an interrupted one.

    kind: wikipedia (pages-articles XML), stackexchange (Posts.xml), fineweb (Parquet or JSON lines) or text.
    num_threads: the number of processes; overrides `num_threads` of `job`.
    job: with `overwrite` the output of another run is removed. Without it that is an OutputError.
    progress: called as progress("clean", bytes of the sources read, bytes of all).
    """
    options, job = options or CleanOptions(), JobOptions.of(job, num_threads)
    check_kind(kind, options.format)
    if KINDS[kind][0]:
        refuse_given(
            options.read, f"cleaning {kind}, where each page or post is a document", names={"unit", "separator"}
        )
    options = options.for_kind(kind)
    skipped: list[Skip] = []
    files = find_sources(sources, skipped.append if options.read.skip_damaged else None)
    refuse_text(files, options.read)
    if not KINDS[kind][0]:
        refuse_dumps(files)
    folder = named(output).absolute()
    refuse_foreign(folder, _is_own, overwrite=True)
    refuse_source(files, folder, report_path(folder))
    spans: list[SourceSpan] = [(file, size_of(file), None) for file in files]
    groups = group_by_size(spans, TASK_BYTES)
    settings = _settings(kind, options, groups)
    num_workers = job.num_threads or (1 if job.engine == "ray" else available_cores())
    do = partial(_clean_group, kind, options, groups, folder, num_workers)
    working_path = folder / ".unfinished"  # inside, where the shards are: they appear one by one
    if not job.overwrite:
        finished = _finished_report(folder, working_path, settings)
        if finished is not None:
            return finished
    key = {"sources": fingerprint(files), "options": settings}
    with working_folder(working_path, folder, key, job.resumes(files)) as working, drawn(progress) as show:
        if not working.has_states():
            _remove_output(folder)
        try:
            do_tasks("clean", [sum(size for _, size, _ in group) for group in groups], do, working, job, progress=show)
            report = _report(kind, settings, working, len(groups), skipped)
        except BaseException:
            if not working.has_states():
                _remove_output(folder)
            raise
        finally:
            for path in folder.glob(".shard-*.part"):  # of a process that was killed, or a task whose machine was lost
                remove(path)
        with atomic_file(report_path(folder), "w") as file:
            json.dump(report.to_json(), file, indent=1, ensure_ascii=False)
            file.write("\n")
    return report


def _settings(kind: str, options: CleanOptions, groups: Sequence[list[SourceSpan]]) -> dict[str, Any]:
    """Return everything that decides the output, as values of JSON."""
    sources = [[[shown(source), size] for source, size, _ in group] for group in groups]
    values = {"tokenmill": __version__, "options": {"kind": kind, **asdict(options)}, "parts": sources}
    return json.loads(json.dumps(values))


def _clean_group(
    kind: str, options: CleanOptions, groups: Sequence[list[SourceSpan]], folder: Path, num_workers: int, task: Task
) -> None:
    """Write the remaining shards of a task, and save a state after each."""
    states = task.states()
    step = len(states)
    start = states[-1]["next"] if states else ResumePoint()
    if start is None:
        return
    end: ResumePoint | None = ResumePoint(*start)
    sources = groups[task.number]
    clean = partial(Cleaner, kind, options)
    meter = Meter(lambda done, total: task.show(done), [size for _, size, _ in sources])
    with WorkerPool(clean, Block.alone, num_workers, options.time_limit, options.document_memory) as pool:
        results = pool.map(_blocks(kind, options.read, sources, ResumePoint(*start)))
        while end is not None:
            path = folder / f"shard-{task.number:05}-{step:04}{OUTPUT_FORMATS[options.format]}"
            tally, end = _write_shard(options, path, results, meter)
            stored = path.stat().st_size if tally.documents_kept else 0
            name = path.name if tally.documents_kept else None
            task.save({"name": name, "stored_bytes": stored, "tally": tally.to_json(), "next": end}, step)
            step += 1


def _blocks(
    kind: str, read: ReadOptions, sources: list[SourceSpan], start: ResumePoint
) -> Iterator[tuple[Block, _Read]]:
    """Yield the blocks of sources from `start` on, each with the point after it."""
    most = read.max_document_bytes
    # Half of the limit: escapes of JSON make a text longer, and other commands must be able to read it.
    cut = partial(cut_long_file, most and max(4, most // 2))
    blocks = blocks_of(sources, start, read, KINDS[kind][0], cut=cut, whole=read.skip_damaged, ids=True)
    for block, end, stored in blocks:
        if block.numbers is None:
            _divide(block, most, cut)
        yield block, (end, stored)


def _divide(block: Block, most: int | None, cut: Cut) -> None:
    """Divide a block of one file into documents of at most `most` bytes. The ids of all but the first have offsets."""
    starts, size = [0], block.nbytes
    while most is not None and size - starts[-1] > most:
        starts.append(cut(block.data, starts[-1], starts[-1] + max(4, most // 2)))
    if size and (block.start or len(starts) > 1):
        name, numbers = block.name(0), [block.start + offset for offset in starts]
        block.ends, block.numbers, block.label = array("Q", [*starts[1:], size]), numbers, "byte #"
        block.names = Column.of([(f"{name}:{number}" if number else name).encode() for number in numbers])


def cut_long_file(limit: int | None, buffer: Any, start: int, length: int) -> int:
    """Return the offset to cut a file of more than `limit` bytes: after a blank line, a line, a word or a character."""
    if limit is None or length - start < limit:
        return 0
    for mark in (b"\n\n", b"\r\n\r\n", b"\n", b" "):
        if (offset := buffer.rfind(mark, start, length)) >= 0:
            return offset + len(mark)
    last = length - 1  # of the last character, the first byte
    while last > start and buffer[last] & 0xC0 == 0x80:
        last -= 1
    return last if last > start else length


def _write_shard(
    options: CleanOptions, path: Path, results: Iterator[tuple[Answers, _Read]], meter: Meter
) -> tuple[Tally, ResumePoint | None]:
    """Write documents until the shard is full. Return its tally, and the point after it or None at the end."""
    tally = Tally()
    with contextlib.ExitStack() as stack:
        write: Callable[[bytes], Any] | None = None
        for answers, (end, stored) in results:
            lines = _count(options.read.skip_damaged, tally, answers)
            if lines and write is None:  # a shard without documents is not written
                write = stack.enter_context(_shard_writer(path, options.format))
            if write is not None:
                write(lines)
            meter.at(end.source, stored)
            if tally.bytes_out >= options.shard_bytes:
                return tally, end
    return tally, None


def _count(skip_damaged: bool, tally: Tally, answers: Answers) -> bytes:
    """Add a block to the tally, and return its lines."""
    lines = []
    for block, (outcome, answer) in answers:
        if outcome == "done":
            line, block_tally = answer
            lines.append(line)
        else:
            block_tally = Tally(bytes_in=block.nbytes)
            block_tally.skip(Skip(block.source, block.position(0), answer))
        if not skip_damaged:
            report_skips((skip for skip in block_tally.skipped if skip.left_out), None)
        tally.add(block_tally)
    return b"".join(lines)


@contextlib.contextmanager
def _shard_writer(path: Path, format: str) -> Iterator[Callable[[bytes], Any]]:
    with atomic_file(path) as file:
        if format == "text":
            yield file.write
            return
        if format == "parquet":
            yield from _parquet_writer(file)
            return
        zstandard = require("zstandard", "corpus", "writing .jsonl.zst")
        # In another thread, so that reading continues.
        compressor = zstandard.ZstdCompressor(level=3, write_checksum=True, threads=1)
        with compressor.stream_writer(file, closefd=False) as writer:
            yield writer.write


def _parquet_writer(file: Any) -> Iterator[Callable[[bytes], Any]]:
    """Yield a function that writes lines of JSON as rows, in small row groups for the processes of a training job."""
    import pyarrow as pa
    import pyarrow.json
    import pyarrow.parquet as pq

    schema = pa.schema([(name, pa.string()) for name in COLUMNS])
    rows = schema.empty_table()

    def write(lines: bytes) -> None:
        nonlocal rows
        if lines:
            reading = pa.json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
            parsing = pa.json.ParseOptions(explicit_schema=schema)
            rows = pa.concat_tables([rows, pa.json.read_json(pa.BufferReader(lines), reading, parsing)])
        while len(rows) >= ROW_GROUP_DOCUMENTS or rows.nbytes >= ROW_GROUP_BYTES:
            writer.write_table(rows[:ROW_GROUP_DOCUMENTS], ROW_GROUP_DOCUMENTS)
            rows = rows[ROW_GROUP_DOCUMENTS:]

    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        yield write
        if len(rows):
            writer.write_table(rows)


def _finished_report(folder: Path, working_path: Path, settings: dict[str, Any]) -> CleaningReport | None:
    """Return the report of the same run, if it is finished. Raises OutputError if the folder has another output."""
    run_kind = "an earlier"
    if folder.exists() and report_path(folder).exists():
        report = CleaningReport.from_json(json.loads(report_path(folder).read_text(encoding="utf-8")))
        if report.settings == settings:
            remove(working_path)  # of a run that was killed at its very end
            return report
        run_kind = "a finished"
    elif working_path.exists() or not any(folder.glob("shard-*")):
        return None
    raise OutputError(
        f"{folder} contains the output of {run_kind} run with other sources or options. Choose another folder, or pass ",
        OptionName("overwrite", True),
        ".",
    )


def _is_own(path: Path) -> bool:
    """Return whether a file in the output folder was written by `clean`."""
    suffixes = "|".join(map(re.escape, OUTPUT_FORMATS.values()))
    shard = rf"shard-\d{{5}}-\d{{4,}}(?:{suffixes})"
    return re.fullmatch(rf"{shard}|\.{shard}\.[0-9a-f]{{16}}\.part|\.unfinished", path.name) is not None


def _remove_output(folder: Path) -> None:
    for path in [report_path(folder), *folder.glob("shard-*")]:
        remove(path)


def report_path(folder: Path) -> Path:
    """Return the path of an output folder's report. It is next to the folder, which contains only text."""
    return folder.with_name(f"{folder.name}.report.json")


def _report(
    kind: str, settings: dict[str, Any], working: WorkingFolder, num_tasks: int, skipped: list[Skip]
) -> CleaningReport:
    """Add up the states of all tasks."""
    tally = Tally()
    for skip in skipped:
        tally.skip(skip)
    shards = []
    for number in range(num_tasks):
        for state in Task(working, "clean", number).states():
            shard = Tally.from_json(state["tally"])
            tally.add(shard)
            if state["name"]:
                numbers = {"documents": shard.documents_kept, "text_bytes": shard.bytes_out}
                shards.append({"name": state["name"], **numbers, "stored_bytes": state["stored_bytes"]})
    working.refuse_nothing(tally.documents_in - tally.skipped_count, tally.skipped_count, *tally.skipped[:1])
    return CleaningReport.of(kind, tally, shards, settings)


@dataclass(frozen=True, kw_only=True)
class Clean(Options):
    """Clean a dump into shards of text, and report what was removed.

    Run the same command again to resume an interrupted run.

    tokenmill clean wikipedia enwiki-*-pages-articles-multistream.xml.bz2 -o wiki
    """

    # fmt: off
    kind: Annotated[Literal["wikipedia", "stackexchange", "fineweb", "text"], Argument("What the sources are: wikipedia, stackexchange, fineweb or text.")]
    sources: Annotated[Sequence[str], Argument("Files, folders, globs, URLs, plain or compressed; - is standard input.")]
    output: Annotated[Path, Option("The folder for the shards; the report is written next to it.", "-o", "--output")]
    max_document_bytes: Annotated[int, Option("Skip documents with more bytes.", "--max-document", min=1, section=INPUT)] = MAX_DOCUMENT_BYTES
    # fmt: on
    options: CleanOptions = field(default_factory=CleanOptions)
    job: JobOptions = field(default_factory=JobOptions)

    def run(self, *, progress: Progress | None = None) -> CleaningReport:
        """Clean, or resume an interrupted run."""
        options = replace(self.options, read=replace(self.options.read, max_document_bytes=self.max_document_bytes))
        return clean(self.kind, self.sources, self.output, options=options, job=self.job, progress=progress)
