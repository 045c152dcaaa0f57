"""A job in parts: which are done on this machine, or on a Ray cluster, and each only once.

A part that is finished leaves a state with its result in the working folder. A job that is run again does the other
parts only. A part may save states of its own, to resume in the middle.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from ..errors import UsageError
from ..kernels.machine import MOST_THREADS
from ..options import Option, Options
from ..sources.find import OnSkip, Skip, Source, can_read_again
from .outputs import refuse_folder
from .progress import Meter, Progress

if TYPE_CHECKING:
    from .working_folder import WorkingFolder

T = TypeVar("T", bound=tuple[Any, ...])
EXECUTION, OUTPUT = "Execution", "Output"  # headings in help texts
# fmt: off
Threads = Annotated[int | None, Option("Threads (clean: processes). [default: all cores]", min=1, max=MOST_THREADS, section=EXECUTION)]
# fmt: on
Overwrite = Annotated[bool, Option("Overwrite an output that exists.", "--force", section=OUTPUT)]


@dataclass(frozen=True)
class JobOptions(Options):
    """Execution options. The output does not depend on them.

    num_threads: threads (processes for `clean`). None is one for each core; on Ray, one for each task.
    ray_address: "auto", "head:6379" or "ray://head:10001". None uses the Ray that this process is connected to or that runs on
        this machine, or starts one. All machines must see the sources and the output under the same paths.
    checkpoint_every: seconds between two checkpoints within a part. None is the default of the job.
    overwrite: replace an existing output.
    """

    # fmt: off
    engine: Annotated[Literal["local", "ray"], Option("local (default), or ray: tasks on a Ray cluster.", section=EXECUTION)] = "local"
    ray_address: Annotated[str | None, Option("The cluster. [default: Ray on this machine]", section=EXECUTION, only=("engine", "ray"))] = None
    # fmt: on
    num_threads: Threads = None
    resume: Annotated[bool, Option("Continue an interrupted job.", section=EXECUTION)] = True
    checkpoint_every: float | None = None
    overwrite: Overwrite = False

    @classmethod
    def of(cls, job: JobOptions | None, num_threads: int | None) -> JobOptions:
        """`job`, or its defaults, with `num_threads` if that is given."""
        job = job or cls()
        return job if num_threads is None else replace(job, num_threads=num_threads)

    def check_output(self, output: Path, is_own: Callable[[Path], bool], sources: Iterable[Source]) -> None:
        """Raise an error if the folder `output` must not be written: see `refuse_folder`."""
        from .working_folder import publishing

        overwrite = self.overwrite or (self.resume and publishing(output))
        refuse_folder(output, is_own, overwrite=overwrite, sources=sources)

    def resumes(self, sources: Iterable[Source]) -> bool:
        """Return whether an interrupted job of these sources is resumed: not with a pipe, which can be read only once."""
        again = all(map(can_read_again, sources))
        if self.engine == "ray" and not again:
            raise UsageError(
                "Ray tasks cannot read standard input or a pipe. Write it to a file, or use the local engine."
            )
        return self.resume and again


@dataclass
class Task:
    """The context of one part of a job.

    stage, part: its name, for states.
    on_skip: called for what cannot be read; None if that is an error.
    show: called with the number of bytes that are done of the part.
    progress: for stages beyond that of the part; None on Ray.
    """

    working_folder: WorkingFolder
    stage: str
    part: int
    on_skip: OnSkip | None = None
    show: Callable[[int], None] = lambda done: None
    progress: Progress | None = None

    @property
    def folder(self) -> Path:
        """The working folder of the job."""
        return self.working_folder.path

    def load(self, step: int = 0) -> Any:
        """The state of the part that was saved for this step; None if there is none."""
        return self.working_folder.load(self._name(step))

    def states(self) -> list[Any]:
        """The states of all steps."""
        return list(itertools.takewhile(lambda state: state is not None, map(self.load, itertools.count())))

    def save(self, state: Any, step: int = 0) -> None:
        """Save a state from which the part can go on."""
        self.working_folder.save(self._name(step), state)

    def _name(self, step: int) -> str:
        return f"{self.stage}-{self.part:05}.{step:04}"


Work = Callable[[int, Task], Any]


def do_parts(
    stage: str,
    sizes: Sequence[int | None],
    do: Work,
    folder: WorkingFolder,
    job: JobOptions,
    on_skip: OnSkip | None = None,
    progress: Progress | None = None,
) -> list[tuple[Any, bool]]:
    """Do all parts that are not finished. Return for each the value of `do`, and whether an earlier run has finished it.

    stage: the name of the work, for progress and for the names of states.
    sizes: of each part, in bytes of its sources; None where unknown.
    do: called as do(part, task), does one part, from its saved state if there is one, and returns a value that JSON can hold.
        For Ray it must be picklable, and a part must be safe to do again.
    """
    meter = Meter(progress and partial(progress, stage), sizes)
    names = [f"{stage}-{part:05}.done" for part in range(len(sizes))]
    states = {part: state for part, name in enumerate(names) if (state := folder.load(name)) is not None}
    resumed = set(states)
    for part in resumed:
        meter.set(part, sizes[part] or 0)
    left = [part for part in range(len(sizes)) if part not in resumed]
    if job.engine == "local":
        for part in left:
            _do(do, Task(folder, stage, part, on_skip, partial(meter.set, part), progress))
            meter.set(part, sizes[part] or 0)
    elif left:
        from .ray import finished_tasks

        remote = partial(_do_elsewhere, do, folder, stage, on_skip is not None)
        for part in finished_tasks(remote, left, job.ray_address, job.num_threads or 1):
            meter.set(part, sizes[part] or 0)
    results = []
    for part, name in enumerate(names):
        state = states.get(part) or folder.load(name)
        for skip in state["skips"]:
            if on_skip is not None:
                on_skip(Skip(**skip))
        results.append((state["value"], part in resumed))
    return results


def _do_elsewhere(do: Work, folder: WorkingFolder, stage: str, may_skip: bool, part: int) -> None:
    """Do one part in a process that cannot call the caller's functions: what it skips is saved with its result."""
    skips: list[Skip] = []
    _do(do, Task(folder, stage, part, skips.append if may_skip else None), skips)


def _do(do: Work, task: Task, skips: Sequence[Skip] = ()) -> None:
    state = {"value": do(task.part, task), "skips": [asdict(skip) for skip in skips]}
    task.working_folder.save(f"{task.stage}-{task.part:05}.done", state)


def group_by_size(sources: Iterable[T], size: int) -> list[list[T]]:
    """Sources, each a tuple whose second value is its bytes as stored, in order, in groups of about `size` bytes."""
    groups: list[list[T]] = []
    room = 0
    for source in sources:
        if room < source[1] or not groups:
            groups.append([])
            room = size
        groups[-1].append(source)
        room -= source[1]
    return groups
