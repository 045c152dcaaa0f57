"""The tasks of a job, done on this machine or on a Ray cluster, each only once.

A finished task leaves a state with its result in the working folder. A job that is run again does only the other tasks.
A task may save states of its own, to resume in the middle.
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

    num_threads: threads (processes for `clean`). None is one per core; on Ray, one per task.
    ray_address: "auto", "head:6379" or "ray://head:10001". None uses the Ray that this process is connected to or that runs on
        this machine, or starts one. All machines must see the sources and the output under the same paths.
    checkpoint_every: seconds between two checkpoints within a task. None is the default of the job.
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
        """Return `job`, or the defaults, with `num_threads` unless that is None."""
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
    """One task of a job, and its context.

    stage, number: the beginning of the names of its states.
    on_skip: called for what cannot be read; None if that is an error.
    show: called with the number of bytes done of the task.
    progress: for further stages; None on Ray.
    """

    working_folder: WorkingFolder
    stage: str
    number: int
    on_skip: OnSkip | None = None
    show: Callable[[int], None] = lambda done: None
    progress: Progress | None = None

    @property
    def folder(self) -> Path:
        return self.working_folder.path

    @property
    def name(self) -> str:
        return f"{self.stage}-{self.number:05}"

    def load(self, step: int = 0) -> Any:
        """Return the state that was saved for this step; None if there is none."""
        return self.working_folder.load(f"{self.name}.{step:04}")

    def states(self) -> list[Any]:
        """Return the states of all steps."""
        return list(itertools.takewhile(lambda state: state is not None, map(self.load, itertools.count())))

    def save(self, state: Any, step: int = 0) -> None:
        """Save a state from which the task can resume."""
        self.working_folder.save(f"{self.name}.{step:04}", state)


Work = Callable[[Task], Any]


def do_tasks(
    stage: str,
    sizes: Sequence[int | None],
    do: Work,
    folder: WorkingFolder,
    job: JobOptions,
    on_skip: OnSkip | None = None,
    progress: Progress | None = None,
) -> list[tuple[Any, bool]]:
    """Do all unfinished tasks. Return for each task the value of `do`, and whether an earlier run had finished it.

    stage: the name of the work, for progress and for the names of states.
    sizes: of each task, in bytes of its sources; None where unknown.
    do: does one task, from its saved state if there is one, and returns a value that JSON can hold. For Ray it must be
        picklable, and it must be safe to do a task again.
    """
    meter = Meter(progress and partial(progress, stage), sizes)
    tasks = [Task(folder, stage, number, on_skip, partial(meter.set, number), progress) for number in range(len(sizes))]
    states = [folder.load(f"{task.name}.done") for task in tasks]
    unfinished = [number for number, state in enumerate(states) if state is None]
    for number, state in enumerate(states):
        if state is not None:
            meter.set(number, sizes[number] or 0)
    if job.engine == "ray" and unfinished:
        from .ray import finished_tasks

        remote = partial(_do_remotely, do, folder, stage, on_skip is not None)
        for number in finished_tasks(remote, unfinished, job.ray_address, job.num_threads or 1):
            meter.set(number, sizes[number] or 0)
    else:
        for number in unfinished:
            _do(do, tasks[number])
            meter.set(number, sizes[number] or 0)
    results = []
    for task, state in zip(tasks, states, strict=True):
        result = state or folder.load(f"{task.name}.done")
        for skip in result["skips"]:
            if on_skip is not None:
                on_skip(Skip(**skip))
        results.append((result["value"], state is not None))
    return results


def _do_remotely(do: Work, folder: WorkingFolder, stage: str, may_skip: bool, number: int) -> None:
    """Do a task in a process that cannot call `on_skip`: the skips are saved with its result."""
    skips: list[Skip] = []
    _do(do, Task(folder, stage, number, skips.append if may_skip else None), skips)


def _do(do: Work, task: Task, skips: Sequence[Skip] = ()) -> None:
    state = {"value": do(task), "skips": [asdict(skip) for skip in skips]}
    task.working_folder.save(f"{task.name}.done", state)


def group_by_size(sources: Iterable[T], size: int) -> list[list[T]]:
    """Group sources, in order, to about `size` bytes. The second value of a source is its stored bytes."""
    groups: list[list[T]] = []
    room = 0
    for source in sources:
        if room < source[1] or not groups:
            groups.append([])
            room = size
        groups[-1].append(source)
        room -= source[1]
    return groups
