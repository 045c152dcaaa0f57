"""Cleaning on a Ray cluster: one task for each part of the plan, each the same work as on one machine.

Ray places, retries and counts the tasks. Each reads its sources, cleans them in processes of its own, so that a page
that hangs is cut off there too, and writes its shards to the output folder, which all machines must share. A task that
is tried again goes on after the shards that it finished.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import TokenmillError, require
from .cleaning import Meter, Plan, Progress, clean_part, pool_of

__all__ = ["clean_parts"]


def clean_parts(
    plan: Plan, folder: Path, num_workers: int | None, ray_address: str | None, progress: Progress | None
) -> None:
    """Clean all parts on the cluster at `ray_address`; without one, on the Ray that runs here, or one started for it.

    num_workers: the processes of each task, which asks Ray for as many cores; None for one.
    """
    ray = require("ray", "ray", "the engine ray")
    started = not ray.is_initialized()
    if started:
        ray.init(address=ray_address, log_to_driver=False, include_dashboard=False)
    try:
        task = ray.remote(num_cpus=num_workers or 1, max_retries=3)(_clean_part)
        values, place = plan.to_json(), str(folder.absolute())
        waiting = {task.remote(values, place, part, num_workers or 1): part for part in range(len(plan.parts))}
        meter = Meter(progress, plan)
        while waiting:
            done, _ = ray.wait(list(waiting), num_returns=1)
            try:
                ray.get(done[0])
            except ray.exceptions.RayTaskError as error:
                cause = error.as_instanceof_cause()
                raise cause if isinstance(cause, TokenmillError) else error from None
            waiting.pop(done[0])
            meter.show(len(plan.parts) - len(waiting) - 1, len(plan.parts[len(plan.parts) - len(waiting) - 1]))
    finally:
        if started:
            ray.shutdown()


def _clean_part(values: dict[str, Any], folder: str, part: int, num_workers: int) -> None:
    plan = Plan.from_json(values)
    with pool_of(plan, num_workers) as pool:
        clean_part(plan, Path(folder), part, pool, Meter(None, plan))
