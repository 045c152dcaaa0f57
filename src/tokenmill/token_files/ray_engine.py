"""Encode on a Ray cluster: each task makes the part of some consecutive sources, and the parts are joined in order.

A part is made as on one machine (parts.py), in a folder beside the output, which all machines must see; so the bytes are
those of the local engine. Ray places the tasks, and does again what was lost with a machine, each time in a new folder.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..counting.manifest import working_folder
from ..jobs.outputs import output_errors
from ..jobs.ray import RETRIES, connected, finished
from ..sources.find import OnSkip, Skip, Source, size_of
from .parts import Counts, Part, encode_part
from .settings import Settings

if TYPE_CHECKING:
    from ..tokenizer.tokenizer import Tokenizer

__all__ = ["parts_with_ray"]

TASK_BYTES = 256 << 20  # of sources as they are stored, but no more tasks than
MAX_TASKS = 10_000

Progress = Callable[[str, int, "int | None"], None]


@contextlib.contextmanager
def parts_with_ray(
    tok: Tokenizer,
    sources: Sequence[Source],
    settings: Settings,
    path: Path,
    *,
    num_threads: int | None = None,
    on_skip: OnSkip | None = None,
    address: str | None = None,
    progress: Progress | None = None,
) -> Iterator[list[Part]]:
    """The parts of `sources`, in order, while the `with` block lasts: made on the cluster, to be joined into `path`.

    num_threads: of each task, which asks Ray for as many cores; None for one.
    """
    groups = _groups(sources)
    sizes = [sum(size_of(source) for source in group) for group in groups]
    with output_errors(path), working_folder(path, False, "encoding-parts") as folder:
        with connected(address) as ray:
            task = ray.remote(num_cpus=num_threads or 1, max_retries=RETRIES)(_encode)
            shared = ray.put(
                (tok, settings, str(folder.absolute()), os.getcwd(), num_threads or 1, on_skip is not None)
            )
            results = [task.remote(shared, group) for group in groups]
            done = 0
            for size in finished(ray, dict(zip(results, sizes, strict=True))):
                done += size or 0
                if progress is not None:
                    progress("encode", done, sum(sizes))
            made = ray.get(results)
        for skip in (skip for _, _, skips in made for skip in skips):
            if on_skip is not None:
                on_skip(skip)
        yield [Part(Path(name), counts) for name, counts, _ in made]


def _groups(sources: Sequence[Source]) -> list[list[Source]]:
    """Consecutive sources, of about TASK_BYTES together."""
    wanted = max(TASK_BYTES, sum(size_of(source) for source in sources) // MAX_TASKS)
    groups: list[list[Source]] = []
    room = 0
    for source in sources:
        if room <= 0:
            groups.append([])
            room = wanted
        groups[-1].append(source)
        room -= size_of(source)
    return groups


def _encode(shared: tuple[Any, ...], sources: list[Source]) -> tuple[str, Counts, list[Skip]]:
    tok, settings, folder, working_folder, num_threads, may_skip = shared
    with contextlib.suppress(OSError):  # relative names of sources are meant from there, and stand in the output
        os.chdir(working_folder)
    skips: list[Skip] = []
    part = Path(tempfile.mkdtemp(prefix="part-", dir=folder))
    made = encode_part(
        tok, sources, settings, part, num_threads=num_threads, on_skip=skips.append if may_skip else None
    )
    return str(part), made.counts, skips
