"""Documents to a part of a token file: raw ids, the length of each document, and for Parquet their names.

A part is three plain files that only grow. One that was cut off is truncated to its last checkpoint and goes on. Parts
that were made by several machines are joined by writing one behind the other.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, astuple, dataclass, field
from operator import add
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError
from ..jobs.progress import Meter
from ..jobs.work import Task
from ..sources.documents import Damaged, Document, document_of
from ..sources.find import Skip, Source
from ..sources.streams import SourceStream
from ..tokenizer.batches import threads_for
from .documents import Place, Stretch, certain_cut, read_stretches
from .settings import Settings

if TYPE_CHECKING:
    import numpy as np

    from ..tokenizer.tokenizer import Tokenizer

__all__ = ["Counts", "Encoded", "Part", "PartWriter", "encode_sources", "encode_stretches"]

JOB_BYTES = 1 << 20  # of text for one thread at a time: some ten milliseconds
JOB_STRETCHES = 4096
HERE_BYTES = 16 << 20  # a longer document is encoded by the calling thread, which Ctrl-C can stop
COPY = 1 << 22


@dataclass
class Counts:
    """What a part holds.

    text_bytes: of the documents as UTF-8.
    skipped: how many things could not be read and were left out.
    begun: the ids of a document that has not ended yet.
    """

    documents: int = 0
    tokens: int = 0
    text_bytes: int = 0
    skipped: int = 0
    begun: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True)
class Part:
    """A finished part: its folder and what it holds."""

    folder: Path
    counts: Counts = field(default_factory=Counts)


class Encoded(NamedTuple):
    """What a thread makes of some stretches.

    ids: in the type of the file, end-of-text tokens included.
    ends: where documents end in `ids`.
    names: a JSON line for each of these documents: its source and id.
    """

    ids: np.ndarray
    ends: np.ndarray
    names: bytes
    text_bytes: int
    skipped: list[Skip]


def encode_stretches(tok: Tokenizer, settings: Settings, stretches: Sequence[Stretch]) -> Encoded:
    """Encode stretches of text, one after the other."""
    import numpy as np

    texts: list[Any] = []
    lasts: list[bool] = []
    names: list[str] = []
    skipped: list[Skip] = []
    text_bytes, reading = 0, settings.read
    for record, last in stretches:
        if isinstance(record, Skip):
            skipped.append(record)
            continue
        try:
            document = document_of(record, reading)
        except Damaged as error:
            skipped.append(Skip(record.source, record.position, str(error)))
            continue
        assert isinstance(document, Document)
        # Bytes that were found to be UTF-8 go to the kernel as they are.
        text = record.data if record.format != "jsonl" else document.text.encode()
        texts.append(text)
        lasts.append(last)
        text_bytes += len(text)
        if last and settings.format == "parquet":
            names.append(json.dumps([document.source, document.id]) + "\n")
    allowed: Any = "all" if settings.special else frozenset()
    ids, offsets = tok.encode_batch_to_numpy(texts, num_threads=1, allowed_special=allowed, disallowed_special=())
    ends = offsets[1:][np.array(lasts, bool)]
    if settings.end_of_text is not None:
        ids = np.insert(ids, ends, settings.end_of_text)
        ends = ends + np.arange(1, len(ends) + 1)
    return Encoded(ids.astype(settings.dtype, copy=False), ends, "".join(names).encode(), text_bytes, skipped)


class PartWriter:
    """Writes a part into a folder, anew or from a checkpoint on."""

    NAMES = ("ids", "lengths", "names")

    def __init__(self, folder: Path, header: int = 0, checkpoint: dict[str, Any] | None = None):
        """header: so many bytes are left free before the first id. checkpoint: what `mark` has returned."""
        self.folder = folder
        self.counts = Counts(**checkpoint["counts"]) if checkpoint else Counts()
        self._files: list[IO[bytes]] = []
        sizes = checkpoint["sizes"] if checkpoint else [header, 0, 0]
        for name, size in zip(self.NAMES, sizes, strict=True):
            file = open(folder / name, "r+b" if checkpoint else "wb")  # noqa: SIM115  # closed by close()
            self._files.append(file)
            file.truncate(size)
            file.seek(size)

    def append(self, encoded: Encoded) -> None:
        import numpy as np

        counts, ends = self.counts, encoded.ends
        lengths = np.diff(ends, prepend=0).astype(np.int64)
        if len(ends):
            lengths[0] += counts.begun
            counts.begun = 0
        counts.begun += len(encoded.ids) - int(ends[-1] if len(ends) else 0)
        counts.documents += len(ends)
        counts.tokens += len(encoded.ids)
        counts.text_bytes += encoded.text_bytes
        counts.skipped += len(encoded.skipped)
        ids, bounds, names = self._files
        ids.write(encoded.ids.data)
        bounds.write(lengths.data)
        names.write(encoded.names)

    def join(self, part: Part) -> None:
        """Write a finished part behind what is here."""
        for file, name in zip(self._files, self.NAMES, strict=True):
            with open(part.folder / name, "rb") as source:
                while data := source.read(COPY):
                    file.write(data)
        self.counts += part.counts

    def sync(self) -> None:
        """Bring all to the disk."""
        for file in self._files:
            file.flush()
            os.fsync(file.fileno())

    def mark(self) -> dict[str, Any]:
        """A checkpoint of what is here, from which a later run can go on once it is on the disk."""
        return {"sizes": [file.tell() for file in self._files], "counts": asdict(self.counts)}

    def close(self) -> None:
        """Close the files, without an error of what could not be written."""
        for file in self._files:
            try:
                file.close()
            except OSError:
                file.raw.close()  # type: ignore[attr-defined]


def encode_sources(
    tok: Tokenizer,
    settings: Settings,
    sources: Sequence[tuple[Source, int]],
    writer: PartWriter,
    start: Place,
    task: Task,
    num_threads: int | None,
    after: Callable[[Place], None],
) -> None:
    """Encode what `sources` (each with its size) hold from `start` on, by several threads, in order.

    after: called with the place up to which all has been written.
    """
    meter = Meter(lambda done, total: task.show(done), [size for _, size in sources])
    at: tuple[int, SourceStream | None] = (start.source, None)

    def opened(number: int, stream: SourceStream) -> None:
        nonlocal at
        at = (number, stream)

    cut = certain_cut(tok, settings.special) if task.on_skip is None else None  # a damaged document is left out whole
    stretches = read_stretches([source for source, _ in sources], settings, cut, start, opened)
    with closing(_in_threads(tok, settings, _jobs(stretches), threads_for(num_threads))) as results:
        for encoded, place in results:
            for skip in encoded.skipped:
                if task.on_skip is None:
                    raise InputError(f"{skip}. To leave out what cannot be read: on_skip=..., --skip-damaged.")
                task.on_skip(skip)
            writer.append(encoded)
            number, stream = at
            if stream is not None:
                meter.at(number, sources[number][1] if stream.closed else stream.stored_position())
            after(place)


def _jobs(stretches: Iterator[tuple[Stretch, Place]]) -> Iterator[tuple[list[Stretch], Place]]:
    """Stretches with about a megabyte of text together, and the place behind the last of them."""
    job: list[Stretch] = []
    size = 0
    for stretch, place in stretches:
        job.append(stretch)
        size += 0 if isinstance(stretch.record, Skip) else len(stretch.record.data)
        if size >= JOB_BYTES or len(job) >= JOB_STRETCHES:
            yield job, place
            job, size = [], 0
    if job:
        yield job, place


def _in_threads(
    tok: Tokenizer, settings: Settings, jobs: Iterator[tuple[list[Stretch], Place]], threads: int
) -> Generator[tuple[Encoded, Place], None, None]:
    """The results of `jobs` in order; no more of them wait than keep the threads busy."""
    waiting: deque[tuple[Future[Encoded], Place]] = deque()
    pool = ThreadPoolExecutor(threads, "tokenmill-encode")
    try:
        for job, place in jobs:
            if sum(len(record.data) for record, _ in job if not isinstance(record, Skip)) > HERE_BYTES:
                future: Future[Encoded] = Future()
                future.set_result(encode_stretches(tok, settings, job))
            else:
                future = pool.submit(encode_stretches, tok, settings, job)
            waiting.append((future, place))
            while len(waiting) > 2 * threads:
                first, behind = waiting.popleft()
                yield first.result(), behind
        while waiting:
            first, behind = waiting.popleft()
            yield first.result(), behind
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
