"""Documents to a part of a token file: raw ids, the length of each document, and for Parquet their names.

A part is three plain files that only grow, so that one that was cut off by a kill is truncated to its last checkpoint
and goes on; and so that parts made apart, by processes or machines, are joined by writing one behind the other.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError
from ..sources.documents import Damaged, Document, document_of
from ..sources.find import OnSkip, Skip, Source, size_of
from ..sources.streams import SourceStream
from ..tokenizer.batches import threads_for
from .documents import Place, Stretch, certain_cut, read_stretches
from .settings import Settings

if TYPE_CHECKING:
    import numpy as np

    from ..tokenizer.tokenizer import Tokenizer

__all__ = ["Counts", "Encoded", "Part", "PartWriter", "encode_part", "encode_stretches", "run"]

JOB_BYTES = 1 << 20  # of text for one thread at a time: some ten milliseconds
JOB_STRETCHES = 4096
HERE_BYTES = 16 << 20  # a longer document is encoded by the calling thread, which Ctrl-C can stop
COPY = 1 << 22

Progress = Callable[[str, int, "int | None"], None]


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
    text_bytes, reading = 0, settings.reading
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
        if last and settings.layout == "parquet":
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
            if checkpoint and os.fstat(file.fileno()).st_size < size:
                self.close()
                raise InputError(f"{folder / name} is shorter than its checkpoint says. Delete {folder} to begin anew.")
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
        for name, value in asdict(part.counts).items():
            setattr(self.counts, name, getattr(self.counts, name) + value)

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


def encode_part(
    tok: Tokenizer,
    sources: Sequence[Source],
    settings: Settings,
    folder: Path,
    *,
    num_threads: int | None = None,
    on_skip: OnSkip | None = None,
) -> Part:
    """Encode whole sources to a part in `folder`, which is made.

    The parts of consecutive lists of sources, joined in order (`join_parts`), make the same token file as all sources
    at once, whatever the lists and wherever the parts were made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    writer = PartWriter(folder)
    try:
        run(tok, sources, settings, writer, Place(), num_threads=num_threads, on_skip=on_skip)
        writer.sync()
    finally:
        writer.close()
    return Part(folder, writer.counts)


def run(
    tok: Tokenizer,
    sources: Sequence[Source],
    settings: Settings,
    writer: PartWriter,
    start: Place,
    *,
    num_threads: int | None = None,
    on_skip: OnSkip | None = None,
    after: Callable[[Place], None] = lambda place: None,
    progress: Progress | None = None,
) -> None:
    """Encode what `sources` hold from `start` on into `writer`, by several threads, in order and in bounded memory.

    after: called with the place up to which all has been written.
    """
    meter = _Meter(sources, progress)
    cut = certain_cut(tok, settings.special) if on_skip is None else None  # a damaged document is left out whole
    stretches = read_stretches(sources, settings, cut, start, meter.opened)
    with closing(_in_threads(tok, settings, _jobs(stretches), threads_for(num_threads))) as results:
        for encoded, place in results:
            for skip in encoded.skipped:
                if on_skip is None:
                    raise InputError(f"{skip}. To leave out what cannot be read: on_skip=..., --skip-damaged.")
                on_skip(skip)
            writer.append(encoded)
            meter.show()
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


class _Meter:
    """Tells how many of the stored bytes of all sources have been read."""

    def __init__(self, sources: Sequence[Source], progress: Progress | None):
        self._progress = progress
        self._starts = [0]
        for source in sources if progress is not None else ():
            self._starts.append(self._starts[-1] + size_of(source))
        self._number = 0
        self._stream: SourceStream | None = None

    def opened(self, number: int, stream: SourceStream) -> None:
        self._number, self._stream = number, stream

    def show(self) -> None:
        if self._progress is None:
            return
        done = self._starts[self._number + 1]
        if self._stream is not None and not self._stream.closed:
            done = min(done, self._starts[self._number] + self._stream.stored_position())
        self._progress("encode", done, self._starts[-1] or None)
