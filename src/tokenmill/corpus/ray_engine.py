"""Cleaning on a Ray cluster: one task for each part of the plan, each the same work as on one machine.

Ray places, retries and counts the tasks. Each reads its sources, cleans them in processes of its own, so that a page
that hangs is cut off there too, and writes its shards to the output folder, which all machines must share. A task that
is tried again goes on after the shards that it finished.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

from ..jobs.ray import RETRIES, connected, finished
from .cleaning import Meter, Plan, Progress, clean_part, pool_of

__all__ = ["clean_parts"]


def clean_parts(
    plan: Plan, folder: Path, num_workers: int | None, ray_address: str | None, progress: Progress | None
) -> None:
    """Clean all parts on the cluster at `ray_address`.

    num_workers: the processes of each task, which asks Ray for as many cores; None for one.
    """
    with connected(ray_address) as ray:
        task = ray.remote(num_cpus=num_workers or 1, max_retries=RETRIES)(_clean_part)
        values, place = plan.to_json(), (os.getcwd(), str(folder.absolute()))
        sizes = [sum(size for _, size in part) for part in plan.parts]
        tasks = {task.remote(values, *place, part, num_workers or 1): size for part, size in enumerate(sizes)}
        done = 0
        for size in finished(ray, tasks):
            done += size or 0
            if progress is not None:
                progress("clean", done, sum(sizes))
    for rest in folder.glob(".shard-*.part"):  # of a task whose machine was lost while it wrote
        rest.unlink(missing_ok=True)


def _clean_part(values: dict[str, Any], working_folder: str, folder: str, part: int, num_workers: int) -> None:
    with contextlib.suppress(OSError):  # relative names of sources are meant from there, and stand in the output
        os.chdir(working_folder)
    plan = Plan.from_json(values)
    with pool_of(plan, num_workers) as pool:
        clean_part(plan, Path(folder), part, pool, Meter(None, plan))
