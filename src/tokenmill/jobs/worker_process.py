"""The process of a worker (worker_pool.py): it applies a task to batches, and may die at any of them.

It gets batches from standard input and writes answers to standard output, pickled.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Callable
from typing import IO, Any

from ..kernels.machine import limit_memory_growth

NO_MEMORY = "it needs more memory than the limit for one document"
OUT_OF_MEMORY = 3  # the exit code of a worker that could not even receive a batch

# For each batch ("done", what the task gave) or ("failed", why).
Answer = tuple[str, Any]


def send(pipe: IO[bytes], value: Any) -> None:
    """Write one value to the other side, which reads it with `pickle.load`."""
    pickle.dump(value, pipe)
    pipe.flush()


def main() -> None:
    """Serve until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints goes to the messages
    try:
        make_task, seconds, memory = pickle.load(sys.stdin.buffer)
        task = make_task()
        send(channel, "ready")
        limit_memory_growth(memory)
        while True:
            try:
                batch = pickle.load(sys.stdin.buffer)
            except MemoryError:  # half of it is still in the pipe
                os._exit(OUT_OF_MEMORY)
            send(channel, _answer(task, batch, seconds))
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):
        pass  # the pool is done, or was killed
    os._exit(0)


def _answer(task: Callable[[Any], Any], batch: Any, seconds: float) -> Answer:
    _limit_time(seconds)
    try:
        return "done", task(batch)
    except MemoryError:
        return "failed", NO_MEMORY
    except RecursionError:
        return "failed", "it is nested too deeply"
    except Exception as error:  # a parser that a document confuses must not end a run of days
        return "failed", f"{type(error).__name__}: {error}"
    finally:
        _limit_time(0)


def _limit_time(seconds: float) -> None:
    """End the process, inside C code too, after so much processor time; 0 for no limit."""
    if hasattr(signal, "setitimer"):  # Windows has only the pool's limit of time by the clock
        signal.setitimer(signal.ITIMER_PROF, seconds)
