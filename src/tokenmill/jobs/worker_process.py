"""The process of a worker (worker_pool.py): it applies a task to records, and may die at any of them.

It gets records from standard input and writes answers to standard output, as marshalled values, each after its length.
The number of the current record is kept in a file, which the pool reads when this process dies.
"""

from __future__ import annotations

import contextlib
import importlib
import marshal
import os
import resource
import signal
import sys
from typing import IO, Any, Protocol

NO_MEMORY = "it needs more memory than the limit for one document"
OUT_OF_MEMORY = 3  # the exit code of a worker that could not even receive a record

# For each record ("done", what the task gave) or ("failed", why); and the task's summary of those it did.
Answers = tuple[list[tuple[str, Any]], Any]


class Task(Protocol):
    """What a worker applies to each record; values in and out are that marshal can write."""

    def __call__(self, record: tuple) -> Any: ...

    def summary(self) -> Any:
        """What adds up over the records since the last summary."""


def send(pipe: IO[bytes], value: Any, flush: bool = True) -> None:
    """Write one value that marshal can write."""
    data = marshal.dumps(value)
    pipe.write(len(data).to_bytes(8, "little"))
    pipe.write(data)
    if flush:
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
    current = int(sys.argv[1])
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints goes to the messages
    try:
        task_name, settings, seconds, memory = receive(sys.stdin.buffer)
        module, _, name = task_name.partition(":")
        task = getattr(importlib.import_module(module), name)(settings)
        _limit_memory(memory)
        while True:
            count, excluded = receive(sys.stdin.buffer)
            send(channel, _answers(task, count, excluded, current, seconds))
    except (EOFError, BrokenPipeError):
        pass  # the pool is done, or was killed
    os._exit(0)


def _answers(task: Task, count: int, excluded: dict[int, str], current: int, seconds: float) -> Answers:
    answers: list[tuple[str, Any]] = []
    for number in range(count):
        if number in excluded:
            answers.append(("failed", excluded[number]))
            continue
        os.pwrite(current, number.to_bytes(8, "little"), 0)
        try:
            record = receive(sys.stdin.buffer)
        except MemoryError:  # half of it is still in the pipe
            os._exit(OUT_OF_MEMORY)
        # Both signals end the process, inside of C code too: processor time, and the clock for one that only waits.
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, 20 * seconds)
        try:
            answers.append(("done", task(record)))
        except MemoryError:
            answers.append(("failed", NO_MEMORY))
        except RecursionError:
            answers.append(("failed", "it is nested too deeply"))
        except Exception as error:  # a parser that a document confuses must not end a run of days
            answers.append(("failed", f"{type(error).__name__}: {error}"))
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return answers, task.summary()


def _limit_memory(extra: int) -> None:
    """Let this process grow by `extra` bytes beyond what it has now, where the system can hold it to that."""
    try:
        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        now = 1 << 30
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (now + extra, now + extra))
