"""Encodes documents to a folder: raw ids, the length of each document, and for Parquet their names.

The three files only grow. After an interruption they are truncated to the last checkpoint. Folders are joined by
concatenation. The names of each block are a record batch of Arrow.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from operator import add
from pathlib import Path
from typing import IO, Any, NamedTuple

from ..errors import OutputError, require
from ..jobs.in_order import map_in_order
from ..jobs.outputs import make_folder, open_output, sync
from ..jobs.progress import Meter
from ..kernels.machine import threads_for
from ..sources.blocks import Block, Cut
from ..sources.documents import ResumePoint, SourceSpan, blocks_of
from ..sources.find import OnSkip, Skip, report_skips
from ..tokenizer.encoding._documents_cy import lengths_of
from ..tokenizer.tokenizer import Tokenizer
from .formats import BLOCK
from .settings import COPY, BlockHashes, Row, Settings

JOB_BYTES = 1 << 19  # of text for one thread at a time: some milliseconds
JOB_BLOCKS = 4096
HERE_BYTES = 16 << 20  # a longer document is encoded by the calling thread, which Ctrl-C can stop
MOST_WAITING = 8  # jobs in addition to those of the threads: each has a megabyte


@dataclass
class Counts:
    """The totals of an encoded folder.

    text_bytes: of the documents as UTF-8.
    skipped: the number of skips that were left out.
    dropped: characters without a token; see `Tokenizer.count_dropped`.
    begun: the number of ids of a document that has not ended yet.
    """

    documents: int = 0
    tokens: int = 0
    text_bytes: int = 0
    skipped: int = 0
    dropped: int = 0
    begun: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*map(add, vars(self).values(), vars(other).values()))


@dataclass(frozen=True)
class EncodedFolder:
    """A finished folder of encoded documents.

    hashes: the rows of the ids without a header, and of the lengths of the documents.
    divided: whether the ends of the documents are known.
    """

    path: Path
    counts: Counts = field(default_factory=Counts)
    hashes: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    divided: bool = True

    @property
    def starts(self) -> Path:
        """The file with the `documents` of `Bounds`, int64; missing if each Megatron document is one sequence."""
        return self.path / "starts"

    def lengths(self) -> Iterator[array[int]]:
        """Yield the number of ids of each document, in blocks of int64."""
        with open(self.path / "lengths", "rb") as file:
            while data := file.read(8 * BLOCK):
                yield array("q", data)

    def bounds(self) -> Iterator[array[int]]:
        """Yield the offsets of the documents in the ids, in blocks of int64, each with the end of its last document."""
        end = 0
        for lengths in self.lengths():
            yield (bounds := array("q", accumulate(lengths, initial=end)))
            end = bounds[-1]


class EncodedBlock(NamedTuple):
    """An encoded block.

    ids: as in the file, with the tokens before and after documents.
    ends: int64; the ends of the documents in the ids.
    names: of these documents, as in the file of names.
    """

    ids: bytearray
    ends: memoryview
    names: bytes
    skipped: list[Skip]
    counts: Counts


def encode_block(tok: Tokenizer, settings: Settings, block: Block) -> EncodedBlock:
    block.finish()
    plan = tok._core.plan("all" if settings.options.special else frozenset(), ())
    end, begin = (-1 if id is None else id for id in (settings.end_of_text, settings.begin_of_text))
    ids, ends = tok._core.encoder.encode_documents(
        block.data, block.ends, plan, block.goes_on, end, settings.width, begin, block.start > 0
    )
    names = _names(block, len(ends)).serialize() if settings.format == "parquet" and len(ends) else b""
    model = tok.vocabulary.library
    dropped = sum(model.count_dropped(text.decode(), plan.allowed) for text in block.texts()) if model else 0
    left_out = sum(skip.left_out for skip in block.skips)
    counts = Counts(len(ends), len(ids) // settings.width, block.nbytes, left_out, dropped)
    return EncodedBlock(ids, ends, names, block.skips, counts)


def names_schema() -> Any:
    """Return the columns of the names of documents: their sources and their ids."""
    pa: Any = require("pyarrow", "corpus", "writing Parquet")
    return pa.schema([("source", pa.string()), ("id", pa.string())])


def _names(block: Block, n: int) -> Any:
    """Return the names of the first `n` documents of a block, as a record batch."""
    pa: Any = require("pyarrow", "corpus", "writing Parquet")
    if block.names is None and block.numbers is not None:
        import numpy as np

        ids = pa.array(np.asarray(block.numbers[:n], np.uint64)).cast(pa.string())
    else:
        ids = pa.array([block.name(i) for i in range(n)], pa.string())
    return pa.record_batch([pa.repeat(pa.scalar(block.source), n), ids], schema=names_schema())


class NamesReader:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._rest: Any = ()

    def take(self, n: int) -> Iterator[Any]:
        """Yield the names of the next `n` documents, as record batches."""
        import pyarrow as pa

        while n:
            if not len(self._rest):
                self._rest = pa.ipc.read_record_batch(pa.ipc.read_message(self._file), names_schema())
            yield self._rest[:n]
            n, self._rest = max(0, n - len(self._rest)), self._rest[n:]


class EncodedFolderWriter:
    """Writes an encoded folder, from the start or from a checkpoint."""

    NAMES = ("ids", "lengths", "names")

    def __init__(self, path: Path, header: int = 0, checkpoint: dict[str, Any] | None = None):
        """header: the number of bytes before the ids. checkpoint: the value of `mark`."""
        self.path = path
        hashes_of = checkpoint["hashes"] if checkpoint else ((), ())
        self._hashes = {name: BlockHashes(rows) for name, rows in zip(self.NAMES, hashes_of, strict=False)}
        self.counts = Counts(**checkpoint["counts"]) if checkpoint else Counts()
        make_folder(path)
        self._files = {name: open_output(path / name, "r+b" if checkpoint else "wb") for name in self.NAMES}
        if not checkpoint:
            self._files["ids"].write(bytes(header))
            return
        for file, size in zip(self._files.values(), checkpoint["sizes"], strict=True):
            file.truncate(size)
            file.seek(size)
        for name, hashes in self._hashes.items():
            with open(path / name, "rb") as source:
                source.seek((header if name == "ids" else 0) + hashes.SIZE * len(hashes.whole))
                hashes.update(source.read())

    def append(self, encoded: EncodedBlock) -> None:
        begun, ends, tokens = self.counts.begun, encoded.ends, encoded.counts.tokens
        lengths = lengths_of(ends, begun)
        self.counts += encoded.counts
        self.counts.begun = tokens - ends[-1] if len(ends) else begun + tokens
        for name, data in zip(self.NAMES, (encoded.ids, lengths, encoded.names), strict=True):
            self.write(name, data)

    def write(self, name: str, data: Any, hashed: bool = False) -> int:
        """Write to one of the files. hashed: the hashes of the data are known. Returns the length of the data."""
        self._files[name].write(data)
        if name in self._hashes and not hashed:
            self._hashes[name].update(data)
        return len(data)

    def join(self, folder: EncodedFolder) -> None:
        """Append a finished folder."""
        for name in self.NAMES:
            with open(folder.path / name, "rb") as source:
                while data := source.read(COPY):
                    self.write(name, data)
        self.counts += folder.counts

    def sync(self) -> None:
        for file in self._files.values():
            file.flush()
        sync(*(self.path / name for name in self.NAMES), self.path)

    def mark(self) -> dict[str, Any]:
        """Return a checkpoint from which a later run can resume, once `sync` has returned."""
        sizes = [file.tell() for file in self._files.values()]
        hashes = [block_hashes.whole for block_hashes in self._hashes.values()]
        return {"sizes": sizes, "counts": asdict(self.counts), "hashes": hashes}

    def folder(self) -> EncodedFolder:
        return EncodedFolder(self.path, self.counts, {name: hashes.rows() for name, hashes in self._hashes.items()})

    def __enter__(self) -> EncodedFolderWriter:
        return self

    def __exit__(self, error: Any, *_: object) -> None:
        """Close the files. Errors of closing do not hide an earlier one."""
        try:
            for file in self._files.values() if error is None else ():
                file.flush()
        finally:
            for file in self._files.values():
                with suppress(OutputError):
                    file.close()


class Job(NamedTuple):
    """Blocks for a thread to encode; the point after them, and the stored bytes of its source; the results."""

    blocks: list[Block]
    end: ResumePoint
    stored: int
    encoded: Sequence[EncodedBlock] = ()


def encode_sources(
    tok: Tokenizer,
    settings: Settings,
    sources: Sequence[SourceSpan],
    start: ResumePoint,
    num_threads: int | None,
    on_skip: OnSkip | None,
    show: Callable[[int, int | None], None] | None,
) -> Generator[Job, None, None]:
    """Encode sources from `start` on, by several threads. Yield the jobs in order.

    on_skip: called for what cannot be read; None if that is an error.
    show: called with the number of bytes done, and that of all.
    """

    def encode(job: Job) -> Job:
        encoded = job.encoded or [encode_block(tok, settings, block) for block in job.blocks]
        return job._replace(blocks=[], encoded=encoded)  # the text is freed while the ids wait

    meter = Meter(show, [size for _, size, _ in sources])
    threads = threads_for(num_threads)
    jobs = _jobs(sources, settings, certain_cut(tok, settings.options.special), on_skip is not None, start)
    with ThreadPoolExecutor(threads, "tokenmill-encode") as pool:
        # This thread encodes long documents itself.
        items = (encode(job) if sum(block.nbytes for block in job.blocks) > HERE_BYTES else job for job in jobs)
        for job in map_in_order(pool, encode, items, threads + min(threads + 1, MOST_WAITING)):
            for encoded in job.encoded:
                report_skips(encoded.skipped, on_skip)
            yield job
            meter.at(job.end.source, job.stored)


def certain_cut(tok: Tokenizer, special: bool) -> Cut | None:
    """Return a function that returns an offset where a text may be cut without a change of its ids, or 0.

    None if no cut is safe: for a pattern that is not an automaton, or tokens and normalizations that look across
    pretokens.
    """
    core = tok._core.encoder
    scanner, added = core.scanner, core.added
    if scanner is None or not added.simple or added.always or (special and added.special):
        return None
    return scanner.certain_cut


def _jobs(
    sources: Sequence[SourceSpan], settings: Settings, cut: Cut | None, whole: bool, start: ResumePoint
) -> Iterator[Job]:
    """Yield the blocks of `sources` from `start` on, in jobs of at least JOB_BYTES or JOB_BLOCKS."""
    blocks: list[Block] = []
    size = 0
    ids = settings.format == "parquet"
    for block, end, stored in blocks_of(sources, start, settings.options.read, cut=cut, whole=whole, ids=ids):
        blocks.append(block)
        size += block.nbytes
        if size >= JOB_BYTES or len(blocks) >= JOB_BLOCKS:
            yield Job(blocks, end, stored)
            blocks, size = [], 0
    if blocks:
        yield Job(blocks, ResumePoint(len(sources)), 0)
