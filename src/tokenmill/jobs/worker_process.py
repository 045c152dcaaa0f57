"""The process of a worker (worker_pool.py): it applies a task to batches, and may die at any of them.

It gets batches from standard input and writes answers to standard output, as marshalled values, each after its length.
"""

from __future__ import annotations

import contextlib
import importlib
import marshal
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import IO, Any

NO_MEMORY = "it needs more memory than the limit for one document"
OUT_OF_MEMORY = 3  # the exit code of a worker that could not even receive a batch

# For each batch ("done", what the task gave) or ("failed", why).
Answer = tuple[str, Any]


def send(pipe: IO[bytes], value: Any) -> None:
    """Write one value that marshal can write."""
    data = marshal.dumps(value)
    pipe.write(len(data).to_bytes(8, "little"))
    pipe.write(data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Any:
    """Read one value; raises EOFError where the other side is gone."""
    size = pipe.read(8)
    if len(size) < 8:
        raise EOFError
    data = pipe.read(int.from_bytes(size, "little"))
    return marshal.loads(data)


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints goes to the messages
    try:
        task_name, settings, seconds, memory = receive(sys.stdin.buffer)
        module, _, name = task_name.partition(":")
        task = getattr(importlib.import_module(module), name)(settings)
        send(channel, "ready")
        _limit_memory(memory)
        while True:
            try:
                batch = receive(sys.stdin.buffer)
            except MemoryError:  # half of it is still in the pipe
                os._exit(OUT_OF_MEMORY)
            send(channel, _answer(task, batch, seconds))
    except (EOFError, BrokenPipeError):
        pass  # the pool is done, or was killed
    os._exit(0)


def _answer(task: Callable[[Any], Any], batch: Any, seconds: float) -> Answer:
    # Both signals end the process, inside of C code too: processor time, and the clock for one that only waits.
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 20 * seconds)
    try:
        return "done", task(batch)
    except MemoryError:
        return "failed", NO_MEMORY
    except RecursionError:
        return "failed", "it is nested too deeply"
    except Exception as error:  # a parser that a document confuses must not end a run of days
        return "failed", f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _limit_memory(extra: int) -> None:
    """Let this process grow by `extra` bytes beyond what it has now, where the system can hold it to that."""
    try:
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        now = 1 << 30
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (now + extra, now + extra))
