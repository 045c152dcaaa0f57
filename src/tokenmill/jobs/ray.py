"""A Ray cluster as the engines see it: connect to it, follow tasks, and get their failures as tokenmill's errors.

What a task does is said where the work is (counting/ray_engine.py, corpus/ray_engine.py). Placing tasks, moving their
data, putting it to disk and doing again what was lost with a machine is Ray's.
"""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from ..errors import InputError, TokenmillError, UsageError, require

__all__ = ["RETRIES", "check_engine", "connected", "finished"]

RETRIES = 10  # of a task whose machine or process was lost
CONNECT_SECONDS = 10.0

T = TypeVar("T")


def check_engine(engine: str, ray_address: str | None) -> None:
    """Raise UsageError for an engine that is none, or an address that nobody will call."""
    if engine not in ("local", "ray"):
        raise UsageError(f"engine is {engine!r}; it can be 'local' or 'ray'")
    if engine == "local" and ray_address is not None:
        raise UsageError(f"the address of a Ray cluster was given ({ray_address}), but the engine is not 'ray'")


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """The module ray, connected to the cluster at `address`: "auto", "head:6379" or "ray://head:10001".

    Without an address, to the one that this process is connected to already, or that runs on this machine (or that
    RAY_ADDRESS names), or else to one started for the purpose and stopped afterwards.
    """
    ray = require("ray", "ray", "the engine ray")
    if ray.is_initialized():
        yield ray
        return
    if address is not None:
        _check_reachable(address)
    try:
        ray.init(address=address, log_to_driver=False, include_dashboard=False)
    except (ConnectionError, ValueError, RuntimeError, ImportError) as error:
        where = "Ray cannot be started here" if address is None else f"cannot connect to the Ray cluster {address!r}"
        raise InputError(f"{where}: {str(error).strip().partition(chr(10))[0]}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Ray itself tries for minutes where nobody answers."""
    match = re.fullmatch(r"(?:ray://)?(\[[0-9a-fA-F:]+\]|[^\[\]:/]+):(\d+)/?", address)
    if not match:
        return  # "auto" and the like: Ray knows at once
    try:
        socket.create_connection((match[1].strip("[]"), int(match[2])), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"cannot connect to the Ray cluster {address!r}: {error}. Check the address; `ray status` shows whether one runs."
        ) from error


def finished(ray: Any, tasks: Mapping[Any, T]) -> Iterator[T | None]:
    """What is kept in `tasks` for each reference of a task's result, as the tasks finish.

    None comes each second in which none did, so that the caller can show progress and Ctrl-C is heeded. The first task
    that fails ends it: its error is raised, the others are cancelled.
    """
    waiting = list(tasks)
    try:
        while waiting:
            done, waiting = ray.wait(waiting, num_returns=1, timeout=1.0, fetch_local=False)
            for reference in done:
                ray.get(reference)
                yield tasks[reference]
            if not done:
                yield None
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, TokenmillError):
            raise error.cause from None
        raise TokenmillError(f"a task on the Ray cluster failed: {_last_line(error)}") from error
    except ray.exceptions.RayError as error:
        raise TokenmillError(
            f"the Ray cluster could not do a task, though it was tried {RETRIES + 1} times: {_last_line(error)}"
        ) from error
    finally:
        for reference in waiting:
            ray.cancel(reference, force=False)


def _last_line(error: BaseException) -> str:
    return str(error).strip().rpartition("\n")[2]
