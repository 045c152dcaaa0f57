"""The passes in parts, each with a shard of the text: an interrupted training does the parts that are missing, and Ray does them
on a cluster.

A part of the first pass leaves a table of totals in the working folder, a part of the second a sorted run of fragments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..counting.rows import concatenate
from ..counting.spill import Run, Spill, write_run
from ..counting.threads import Threads
from ..counting.to_folder import SHARD, Shard, plan_shards
from ..counting.workers import FileCount
from ..jobs.outputs import atomic_file
from ..jobs.work import Task, do_parts
from .passes import Passes, add_totals
from .text import FileText

if TYPE_CHECKING:
    import numpy as np

    from ..counting.rows import Rows
    from ..jobs.working_folder import WorkingFolder


class _Pass:
    """What both passes share: the Work protocol but for `do`."""

    stage: str

    def __init__(self, passes: Passes) -> None:
        text, running = passes.job.text, passes.job.running
        assert isinstance(text, FileText)
        self._shards: Sequence[Shard] = plan_shards(text.sources, passes.splitter, text.options, SHARD)
        self._options = text.options
        self._num_threads = passes.options.num_threads if running.engine == "local" else running.num_threads or 1
        self.sizes = [shard.nbytes for shard in self._shards]
        self.passes = passes
        passes.n_parts = len(self.sizes)

    def _read(self, part: int, task: Task) -> Callable[[Threads], None]:
        """Lets threads count a part."""
        paths, spans = zip(*self._shards[part].sources, strict=True)
        files = FileCount(paths, self.passes.cut, self._options, task.on_skip, spans)
        return lambda threads: files.run(threads, task.show)


class _Borders(_Pass):
    """Each part writes a table of totals."""

    stage = "borders"

    def do(self, part: int, task: Task) -> str:
        import numpy as np

        totals = self.passes.borders(self._read(part, task), self._num_threads)
        name = f"borders-{part:05}.npy"
        with atomic_file(task.folder / name) as file:
            np.save(file, totals)
        return name


class _Fragments(_Pass):
    """Each part writes a run of fragments."""

    def __init__(self, passes: Passes, crossed: np.ndarray, least: int) -> None:
        super().__init__(passes)
        self.stage = f"fragments-{least}"
        self._crossed = crossed

    def do(self, part: int, task: Task) -> list[Any]:
        def finish(threads: Threads) -> Run:
            spill = threads.spill
            spill.compact()
            return write_run(path, lambda n, bits: spill.sources(threads.tables(), n, bits), durable=True)[0]

        path = task.folder / f"{self.stage}-{part:05}.arrow"
        run = self.passes.count_fragments(self._read(part, task), self._crossed, self._num_threads, finish)
        return [path.name, run.bits, run.rows, run.nbytes]


class Parts:
    """Does the passes in parts, whose results are in a working folder."""

    def __init__(self, folder: WorkingFolder) -> None:
        self._folder = folder

    def totals(self, passes: Passes) -> np.ndarray:
        """The totals of all parts."""
        import numpy as np

        job = passes.job
        results = do_parts(_Borders(passes), self._folder, job.running, progress=job.progress)
        if job.running.engine == "ray" or any(result.resumed for result in results):
            passes.kept = None
        return add_totals(np.load(_found(self._folder, result.value)) for result in results)

    def fragments(self, passes: Passes, crossed: np.ndarray, least: int) -> Rows:
        """The fragments of all parts, in memory."""
        job = passes.job
        results = do_parts(_Fragments(passes, crossed, least), self._folder, job.running, progress=job.progress)
        spill = Spill(self._folder.path, durable=True)
        values = [result.value for result in results]
        spill.resume([Run(_found(self._folder, name), bits, rows, nbytes) for name, bits, rows, nbytes in values], 0, 0)
        spill.compact()
        return concatenate(list(spill.part_of(0, 0)))


def _found(folder: WorkingFolder, name: str) -> Path:
    path = folder.path / Path(name).name
    if not path.is_file():
        raise folder.missing(path)
    return path
