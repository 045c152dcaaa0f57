"""Documents to a part of a token file: raw ids, the length of each document, and for Parquet their names.

A part is three plain files that only grow. One that was cut off is truncated to its last checkpoint and goes on. Parts made by
several machines are joined by writing one after the other. The names of each block are a record batch of Arrow.
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
from ..sources.documents import Chosen, Place, blocks_of
from ..sources.find import OnSkip, Skip, report_skips
from ..tokenizer.tokenizer import Tokenizer
from .formats import BLOCK
from .settings import COPY, BlockHashes, Row, Settings

JOB_BYTES = 1 << 19  # of text for one thread at a time: some milliseconds
JOB_BLOCKS = 4096
HERE_BYTES = 16 << 20  # a longer document is encoded by the calling thread, which Ctrl-C can stop
MOST_WAITING = 8  # jobs beside those that are encoded: each has a megabyte, which 64 threads need not double


@dataclass
class Counts:
    """The totals of a part.

    text_bytes: of the documents as UTF-8.
    skipped: how many things could not be read and were left out.
    dropped: characters without a token; see `Tokenizer.count_dropped`.
    begun: the ids of a document that has not ended yet.
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
class Part:
    """A finished part: its folder and what it holds.

    hashes: the rows of its ids without a header, and of the lengths of its documents.
    divided: whether it is known where the documents end.
    """

    folder: Path
    counts: Counts = field(default_factory=Counts)
    hashes: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    divided: bool = True

    @property
    def starts(self) -> Path:
        """Of Megatron's documents the numbers of their first sequences, int64, and that of all; no file if each is one sequence."""
        return self.folder / "starts"

    def lengths(self) -> Iterator[array[int]]:
        """Yield the number of ids of each document, in blocks of int64."""
        with open(self.folder / "lengths", "rb") as file:
            while data := file.read(8 * BLOCK):
                yield array("q", data)

    def bounds(self) -> Iterator[array[int]]:
        """Yield where the documents start in the ids, in blocks of int64, each with the end of its last document."""
        end = 0
        for lengths in self.lengths():
            yield (bounds := array("q", accumulate(lengths, initial=end)))
            end = bounds[-1]


class Encoded(NamedTuple):
    """The result of a thread for one block.

    ids: as the file holds them, those before and after documents included.
    ends: int64; where documents end in the ids.
    names: of these documents, as the file of names has them.
    """

    ids: bytearray
    ends: memoryview
    names: bytes
    skipped: list[Skip]
    counts: Counts


def encode_block(tok: Tokenizer, settings: Settings, block: Block) -> Encoded:
    """Encode the documents of a block."""
    block.finish()
    plan = tok._core.plan("all" if settings.options.special else frozenset(), ())
    end, begin = (-1 if id is None else id for id in (settings.end_of_text, settings.begin_of_text))
    ids, ends = tok._core.encoder.encode_documents(
        block.data, block.ends, plan, block.goes_on, end, settings.width, begin, block.continued
    )
    names = _names(block, len(ends)).serialize() if settings.format == "parquet" and len(ends) else b""
    model = tok.vocabulary.library
    dropped = sum(model.count_dropped(text.decode(), plan.allowed) for text in block.texts()) if model else 0
    left_out = sum(skip.left_out for skip in block.skips)
    counts = Counts(len(ends), len(ids) // settings.width, block.nbytes, left_out, dropped)
    return Encoded(ids, ends, names, block.skips, counts)


def names_schema() -> Any:
    """The columns of the names of documents: their sources and their ids."""
    pa: Any = require("pyarrow", "corpus", "writing Parquet")
    return pa.schema([("source", pa.string()), ("id", pa.string())])


def _names(block: Block, n: int) -> Any:
    """The names of the first `n` documents of a block, as a record batch."""
    pa: Any = require("pyarrow", "corpus", "writing Parquet")
    if block.names is None and block.numbers is not None:
        import numpy as np

        ids = pa.array(np.asarray(block.numbers[:n], np.uint64)).cast(pa.string())
    else:
        ids = pa.array([block.name(i) for i in range(n)], pa.string())
    return pa.record_batch([pa.repeat(pa.scalar(block.source), n), ids], schema=names_schema())


class NamesReader:
    """Reads a file of names."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._rest: Any = ()

    def take(self, n: int) -> Iterator[Any]:
        """The names of the next `n` documents, as record batches."""
        import pyarrow as pa

        while n:
            if not len(self._rest):
                self._rest = pa.ipc.read_record_batch(pa.ipc.read_message(self._file), names_schema())
            yield self._rest[:n]
            n, self._rest = max(0, n - len(self._rest)), self._rest[n:]


class PartWriter:
    """Writes a part into a folder, from the start or from a checkpoint."""

    NAMES = ("ids", "lengths", "names")

    def __init__(self, folder: Path, header: int = 0, checkpoint: dict[str, Any] | None = None):
        """header: the bytes before the ids. checkpoint: what `mark` has returned."""
        self.folder = folder
        rows = checkpoint["hashes"] if checkpoint else ((), ())
        self._hashes = {name: BlockHashes(each) for name, each in zip(self.NAMES, rows, strict=False)}
        self.counts = Counts(**checkpoint["counts"]) if checkpoint else Counts()
        make_folder(folder)
        self._files = {name: open_output(folder / name, "r+b" if checkpoint else "wb") for name in self.NAMES}
        if not checkpoint:
            self._files["ids"].write(bytes(header))
            return
        for file, size in zip(self._files.values(), checkpoint["sizes"], strict=True):
            file.truncate(size)
            file.seek(size)
        for name, hashes in self._hashes.items():
            with open(folder / name, "rb") as source:
                source.seek((header if name == "ids" else 0) + hashes.SIZE * len(hashes.whole))
                hashes.update(source.read())

    def append(self, encoded: Encoded) -> None:
        import numpy as np

        begun, ends, tokens = self.counts.begun, encoded.ends, encoded.counts.tokens
        lengths = np.diff(ends, prepend=-begun)
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

    def join(self, part: Part) -> None:
        """Write a finished part after what is here."""
        for name in self.NAMES:
            with open(part.folder / name, "rb") as source:
                while data := source.read(COPY):
                    self.write(name, data)
        self.counts += part.counts

    def sync(self) -> None:
        """Bring all to the disk."""
        for file in self._files.values():
            file.flush()
        sync(*(self.folder / name for name in self.NAMES), self.folder)

    def mark(self) -> dict[str, Any]:
        """A checkpoint of what is here, from which a later run can go on once it is on the disk."""
        hashes = [each.whole for each in self._hashes.values()]
        return {
            "sizes": [file.tell() for file in self._files.values()],
            "counts": asdict(self.counts),
            "hashes": hashes,
        }

    def part(self) -> Part:
        """Return the summary of what was written."""
        return Part(self.folder, self.counts, {name: each.rows() for name, each in self._hashes.items()})

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(self, error: Any, *_: object) -> None:
        """Close the files. Errors of that do not hide an earlier one."""
        try:
            for file in self._files.values() if error is None else ():
                file.flush()
        finally:
            for file in self._files.values():
                with suppress(OutputError):
                    file.close()


class Job(NamedTuple):
    """Blocks for a thread to encode, the place after them, and how far its source is read. encoded: the results."""

    blocks: list[Block]
    place: Place
    stored: int
    encoded: Sequence[Encoded] = ()


def encode_sources(
    tok: Tokenizer,
    settings: Settings,
    sources: Sequence[Chosen],
    start: Place,
    num_threads: int | None,
    on_skip: OnSkip | None,
    show: Callable[[int, int | None], None] | None,
) -> Generator[Job, None, None]:
    """Encode what `sources` (each with its size and span) hold from `start` on, by several threads. Yield the jobs in order.

    on_skip: called for what cannot be read; None if that is an error.
    show: called with the number of bytes that are done, and that of all.
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
            meter.at(job.place.source, job.stored)


def certain_cut(tok: Tokenizer, special: bool) -> Cut | None:
    """Return a function that finds a place where a text may be cut with the same ids, whatever follows; 0 for none.

    None if no place is safe: with a pattern that is not an automaton, or tokens and normalizations that look across
    pretokens.
    """
    core = tok._core.encoder
    scanner, added = core.scanner, core.added
    if scanner is None or not added.simple or added.always or (special and added.special):
        return None
    return scanner.certain_cut


def _jobs(sources: Sequence[Chosen], settings: Settings, cut: Cut | None, whole: bool, start: Place) -> Iterator[Job]:
    """The blocks of `sources` from `start` on, in jobs of at least half a megabyte."""
    blocks: list[Block] = []
    size = 0
    ids = settings.format == "parquet"
    for block, place, stored in blocks_of(sources, start, settings.options.read, cut=cut, whole=whole, ids=ids):
        blocks.append(block)
        size += block.nbytes
        if size >= JOB_BYTES or len(blocks) >= JOB_BLOCKS:
            yield Job(blocks, place, stored)
            blocks, size = [], 0
    if blocks:
        yield Job(blocks, Place(len(sources)), 0)
