"""Tables on disk when memory is full: sorted runs, partitioned by hash, and merged at the end.

A run is an Arrow file. Its record batch i contains partition i of 2**bits, in canonical order. A merge reads each run from its
first batch or a later one to the end, one batch at a time.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import FormatError, require
from ..jobs.outputs import atomic_file, make_folder, open_output, temporary_folder
from ._table_cy import CountTable
from .rows import ArrayRows, Pause, RowSource, bits_for, merge_all, table_sources
from .store import from_arrow, to_batch

PURPOSE = "counting more pretokens than fit into the memory limit"


class Run(NamedTuple):
    """A sorted run on disk. nbytes: of the pretokens."""

    path: Path
    bits: int
    rows: int
    nbytes: int

    @classmethod
    def from_json(cls, folder: Path, values: Sequence[Any]) -> Run:
        return cls(folder / Path(values[0]).name, *values[1:])

    def to_json(self) -> list[Any]:
        return [self.path.name, *self[1:]]

    def batches(self, partition: int, bits: int) -> Iterator[ArrayRows]:
        pa = require("pyarrow", "corpus", PURPOSE)
        try:
            with pa.OSFile(os.fsencode(self.path)) as file:
                reader = pa.ipc.open_file(file)
                for i in range((partition << self.bits) >> bits, reader.num_record_batches):
                    batch = reader.get_batch(i)
                    yield ArrayRows(from_arrow(batch.column(0), batch.column(1)))
        except (OSError, ValueError) as error:
            raise FormatError(f"{self.path}, a temporary file of this count, cannot be read: {error}") from error


def write_run(
    path: Path,
    sources: Sequence[RowSource],
    pool: Executor | None = None,
    pause: Pause = lambda: None,
    durable: bool = False,
) -> Run:
    """Merge sources into one run. durable: the file appears when it is complete and flushed to disk."""
    pa = require("pyarrow", "corpus", PURPOSE)
    schema = pa.schema([("pretoken", pa.large_binary()), ("count", pa.uint64())])
    bits = bits_for(sources)
    rows = nbytes = 0
    with (atomic_file if durable else open_output)(path) as file, pa.ipc.new_file(file, schema) as writer:
        for batch in merge_all(sources, pool, pause):
            rows += len(batch[2])
            nbytes += len(batch[0])
            writer.write_batch(to_batch(batch, schema))
            pause()
    return Run(path, bits, rows, nbytes)


class Spill:
    """The runs of one count, in a folder that the first run creates.

    durable: runs survive a crash of the machine, because a saved state will name them.
    """

    MANY = 64  # runs in one merge: each has a batch in memory

    def __init__(self, folder: Path, durable: bool = False):
        self.folder = folder
        self.runs: list[Run] = []
        self._durable = durable

    def write(self, tables: Sequence[CountTable], pool: Executor | None = None, pause: Pause = lambda: None) -> None:
        """Merge the tables into a run and clear them."""
        self.add(table_sources(tables, pause), pool, pause)
        for table in tables:
            table.clear()

    def add(self, sources: Sequence[RowSource], pool: Executor | None = None, pause: Pause = lambda: None) -> None:
        """Merge sources into a run. Any thread may call this."""
        make_folder(self.folder)
        path = self.folder / f"run-{os.urandom(8).hex()}.arrow"
        self.runs.append(write_run(path, sources, pool, pause, self._durable))

    def compact(self, pool: Executor | None = None, pause: Pause = lambda: None) -> None:
        """Merge runs until there are few enough for one merge."""
        while len(self.runs) > self.MANY:
            old, self.runs = self.runs[: self.MANY], self.runs[self.MANY :]
            self.add(old, pool, pause)
            if not self._durable:  # a saved state may name them
                for run in old:
                    run.path.unlink()

    def sources(self, tables: Sequence[CountTable]) -> list[RowSource]:
        """All counts as sources of a merge: the runs, and the tables in memory."""
        return [*self.runs, *table_sources(tables)]


@contextlib.contextmanager
def temporary_spill(folder: str | os.PathLike | None) -> Iterator[Spill]:
    """A spill into a new folder in `folder`, which is deleted at the end.

    folder: by default the environment variable TMPDIR, or else the current folder. The system's folder for temporary files may
        be in memory, and a spill is to save memory.
    """
    with temporary_folder(folder or os.environ.get("TMPDIR") or os.getcwd()) as path:
        yield Spill(path)
