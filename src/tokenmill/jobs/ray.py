"""The Ray engine: do the tasks of a job on a cluster, and raise their failures as tokenmill's errors.

Ray distributes the tasks, and retries those that were lost with a machine. They exchange files in the working folder.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import InputError, TokenmillError, require

RETRIES = 10  # of a task whose machine or process was lost
CONNECT_SECONDS = 10.0


def finished_tasks(do: Callable[[int], None], numbers: Sequence[int], address: str | None, cores: int) -> Iterator[int]:
    """Do tasks on `cores` cores each. Yield their numbers as they end. A failure is raised, and cancels the others."""
    with connected(address) as ray:
        remote = ray.remote(num_cpus=cores, max_retries=RETRIES)(_run)
        shared = ray.put((do, os.getcwd()))
        tasks = {remote.remote(shared, number): number for number in numbers}
        waiting = list(tasks)
        try:
            while waiting:
                # The timeout lets Ctrl-C through.
                done, waiting = ray.wait(waiting, num_returns=1, timeout=1.0, fetch_local=False)
                for reference in done:
                    ray.get(reference)
                    yield tasks[reference]
        except ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, TokenmillError):
                raise error.cause from None
            raise TokenmillError(f"a task on the Ray cluster failed: {_last_line(error)}") from error
        except ray.exceptions.RayError as error:
            raise TokenmillError(
                f"the Ray cluster could not do a task in {RETRIES + 1} attempts: {_last_line(error)}"
            ) from error
        finally:
            for reference in waiting:
                ray.cancel(reference, force=False)


def _run(shared: tuple[Callable[[int], None], str], number: int) -> None:
    do, directory = shared
    with contextlib.suppress(OSError):  # relative names of sources are relative to the directory of the caller
        os.chdir(directory)
    do(number)


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Yield the module ray, connected to a cluster; see `JobOptions.ray_address`. Stop a Ray that was started here."""
    ray = require("ray", "ray", "the engine ray")
    if ray.is_initialized():
        yield ray
        return
    if address is not None:
        _check_reachable(address)
    try:
        ray.init(address=address, log_to_driver=False, include_dashboard=False)
    except (ConnectionError, ValueError, RuntimeError, ImportError) as error:
        where = "cannot start Ray" if address is None else f"cannot connect to the Ray cluster {address!r}"
        raise InputError(f"{where}: {str(error).strip().partition(chr(10))[0]}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raise InputError if nothing listens at the address. Ray itself would try for minutes."""
    match = re.fullmatch(r"(?:ray://)?(\[[0-9a-fA-F:]+\]|[^\[\]:/]+):(\d+)/?", address)
    if not match:
        return  # "auto" and the like: Ray knows at once
    try:
        socket.create_connection((match[1].strip("[]"), int(match[2])), CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"cannot connect to the Ray cluster {address!r}: {error}. Check the address; `ray status` shows whether one runs."
        ) from error


def _last_line(error: BaseException) -> str:
    return str(error).strip().rpartition("\n")[2]
