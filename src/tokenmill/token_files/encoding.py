"""encode_files: encodes documents to a token file, which appears whole or not at all.

Meanwhile the working folder of the job (jobs/working_folder.py) contains for each task a folder part-00000 with three
files that only grow (encoded_folder.py), and at the end the files of the output (output.py).
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import UsageError, suggests_options
from ..jobs.progress import Progress, drawn
from ..jobs.work import JobOptions, Task, do_tasks, group_by_size
from ..jobs.working_folder import fingerprint, path_beside, working_folder
from ..sources.documents import ResumePoint, SourceSpan, parts_of, refuse_text
from ..sources.find import OnSkip, Source, can_read_again, find_sources, shown, size_of
from ..tokenizer.tokenizer import Tokenizer
from .encoded_folder import Counts, EncodedFolder, EncodedFolderWriter, encode_sources
from .formats import FORMAT_OF
from .output import checked_output, publish_files, target_of
from .settings import EncodeOptions, EncodeSummary, Metadata, Settings, dtype_for, format_named, special_id

CHECKPOINT = 5.0  # seconds between two checkpoints
TASK_BYTES = 256 << 20  # of sources as they are stored, for one task on Ray; but no more tasks than
MAX_TASKS = 10_000

Paths = str | os.PathLike | Iterable[str | os.PathLike]


@suggests_options
def encode_files(
    tok: Tokenizer,
    sources: Paths,
    output: str | os.PathLike,
    *,
    format: str | None = None,
    options: EncodeOptions | None = None,
    on_skip: OnSkip | None = None,
    job: JobOptions | None = None,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> EncodeSummary:
    """Encode files, folders and globs to a token file: all documents in order, by several threads, in bounded memory.

    The file has the same bytes for any number of threads, for either engine and after interruptions. A call with the same
    sources, tokenizer and options resumes an interrupted one.

    format: "bin", "npy", "megatron", "parquet", "nanogpt", "llmc", "olmo" or "datatrove": see docs/reference/token-files.md.
        None is the format of the suffix of `output`, else "bin".
    on_skip: called for each document that cannot be read and is left out. With None, the first one raises InputError.
    job: on Ray, one task encodes a whole source.
    num_threads: overrides `num_threads` of `job`.
    progress: called as progress("encode", bytes of the sources read, bytes of all).

    >>> encode_files(tok, "corpus/*.txt", "train.bin").tokens
    18211734
    """
    start, options, job = time.perf_counter(), options or EncodeOptions(), JobOptions.of(job, num_threads)
    on_skip = options.read.skipper(on_skip)
    format = format or FORMAT_OF.get(Path(output).suffix, "bin")
    settings = settings_for(tok, format, options)
    inputs = find_sources(sources, on_skip)
    refuse_text(inputs, options.read)
    if settings.options.part and not all(map(can_read_again, inputs)):
        raise UsageError("a part of standard input or of a pipe cannot be read. Write it to a file.")
    settings.check_tokens(options.shard_tokens or 0)
    path = checked_output(output, settings, inputs, job.overwrite, job.resume)
    key = {
        "sources": fingerprint(inputs),
        "tokenizer": tok.vocabulary.fingerprint(),
        "options": {**asdict(settings), "engine": job.engine},
    }
    with (
        target_of(path, settings) as target,
        working_folder(path_beside(target), path, key, job.resumes(inputs)) as folder,
        drawn(progress) as show,
    ):
        if part := options.part_number:
            spans = next(parts_of(inputs, options.read, part[:1], part[1], numbered=format == "parquet"))
        else:
            spans = [(source, size_of(source), None) for source in inputs]
        groups = [spans]
        if job.engine == "ray":
            total = sum(size for _, size, _ in spans)
            groups = group_by_size(spans, max(TASK_BYTES, total // MAX_TASKS)) or [[]]
        sizes = [sum(size for _, size, _ in group) for group in groups]
        encode = partial(_encode_task, tok, groups, settings, job)
        results = do_tasks("encode", sizes, encode, folder, job, on_skip, show)
        resumed_bytes = sum(
            value["counts"]["text_bytes"] if resumed else value["resumed_bytes"] for value, resumed in results
        )
        folders = [
            EncodedFolder(_task_folder(folder.path, number), Counts(**value["counts"]), value["hashes"])
            for number, (value, _) in enumerate(results)
        ]
        counts = sum((encoded.counts for encoded in folders), Counts())
        if options.part is None:  # other parts may have documents
            folder.refuse_nothing(counts.documents, counts.skipped)
        metadata = _metadata(tok, settings, inputs)
        join = partial(_joined, folders, folder.path / "joined", settings)
        paths = publish_files(folder, target, settings, job.overwrite, join, metadata)
    files = len(paths) if options.shard_tokens else 0
    totals = counts.documents, counts.tokens, counts.text_bytes, counts.skipped, counts.dropped
    separators = counts.documents * sum(id is not None for id in (settings.begin_of_text, settings.end_of_text))
    seconds = time.perf_counter() - start
    output_path = paths[0] if options.shard_tokens else path
    return EncodeSummary(output_path, settings.dtype, *totals, resumed_bytes, files, seconds, separators)


def settings_for(tok: Tokenizer, format: str, options: EncodeOptions) -> Settings:
    """Return the settings of a token file of `tok`: the type of an id, and the ids before and after documents."""
    separator = format_named(format).separator
    begin, end = (
        special_id(tok, name, value) if isinstance(value, str) or (value and separator == name) else None
        for name, value in (("begin_of_text", options.begin_of_text), ("end_of_text", options.end_of_text))
    )
    return Settings(format, dtype_for(tok.n_vocab, format), begin, end, options)


def _metadata(tok: Tokenizer, settings: Settings, sources: Sequence[Source]) -> Metadata:
    """Return the metadata without counts."""
    digest, total = hashlib.sha256(), 0
    for source in sources:
        size = size_of(source)
        digest.update(f"{shown(source)}\0{size}\n".encode())
        total += size
    number, num_parts = settings.options.part_number or (0, 0)
    return Metadata(
        settings.format,
        settings.dtype,
        tok.vocabulary.fingerprint(),
        tok.n_vocab,
        settings.begin_of_text,
        settings.end_of_text,
        *(0, 0, 0, {}, {}),
        sources={"number": len(sources), "bytes": total, "hash": digest.hexdigest()},
        options={"special": settings.options.special, **asdict(settings.options.read)},
        part={"number": number, "of": num_parts} if num_parts else None,
    )


def _task_folder(working_folder: Path, number: int) -> Path:
    return working_folder / f"part-{number:05}"


def _encode_task(
    tok: Tokenizer, groups: Sequence[list[SourceSpan]], settings: Settings, job: JobOptions, task: Task
) -> dict[str, Any]:
    """Encode the sources of a task, with a checkpoint every few seconds, and one at Ctrl-C."""
    folder = _task_folder(task.folder, task.number)
    state = task.load()
    for name, size in zip(EncodedFolderWriter.NAMES, state["part"]["sizes"] if state else (), strict=False):
        if not (folder / name).is_file() or (folder / name).stat().st_size < size:
            raise task.working_folder.missing(folder / name)
    done: dict[str, Any] | None = None
    saved = time.monotonic()
    every = CHECKPOINT if job.checkpoint_every is None else job.checkpoint_every
    threads = job.num_threads or (1 if job.engine == "ray" else None)
    start = ResumePoint(*state["place"]) if state else ResumePoint()
    # Several folders are joined after the header.
    header = settings.header if len(groups) == 1 else 0
    with EncodedFolderWriter(folder, header, state and state["part"]) as writer:
        resumed_bytes = writer.counts.text_bytes
        encoding = encode_sources(
            tok, settings, groups[task.number], start, threads, task.on_skip, lambda nbytes, total: task.show(nbytes)
        )
        try:
            with closing(encoding):
                for done_job in encoding:
                    for encoded in done_job.encoded:
                        writer.append(encoded)
                    settings.check_tokens(writer.counts.tokens)
                    done = {"place": list(done_job.end), "part": writer.mark()}
                    if time.monotonic() - saved >= every:
                        writer.sync()
                        task.save(done)
                        saved = time.monotonic()
        except KeyboardInterrupt:
            if done is not None:
                writer.sync()
                task.save(done)
            raise
        writer.sync()
    encoded_folder = writer.folder()
    return {"counts": asdict(encoded_folder.counts), "hashes": encoded_folder.hashes, "resumed_bytes": resumed_bytes}


def _joined(folders: Sequence[EncodedFolder], path: Path, settings: Settings) -> EncodedFolder:
    if len(folders) == 1:
        return folders[0]
    with EncodedFolderWriter(path, settings.header) as writer:
        for encoded in folders:
            writer.join(encoded)
    return writer.folder()
