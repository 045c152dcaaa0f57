"""Worker processes for batches of documents. The pool survives documents that hang, crash or need too much memory.

Each worker limits its processor time and memory with the operating system's limits, which also work in C code. A batch
that fails, or ends its worker, is done again document by document.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, TypeVar

from ..errors import TokenmillError
from ..kernels.machine import limit_memory_growth
from .in_order import map_in_order

NO_MEMORY = "it needs more memory than the limit for one document"
OUT_OF_MEMORY = 3  # the exit code of a worker that could not even receive a batch

Answer = tuple[str, Any]  # ("done", the result) or ("failed", the reason)
Tag = TypeVar("Tag")
Answers = list[tuple[Any, Answer]]  # a batch with its answer, or each of its documents with its answer


class WorkerPool:
    """`num_workers` processes that apply a task to batches, in order of the batches.

    make_task: called in each process, returns the task, a function of a batch. Pickled, as are batches and answers.
    documents: returns the documents of a failed batch, each as a batch.
    seconds: the limit of processor time for a batch. memory: the limit in bytes for the growth of a worker.
    """

    def __init__(
        self,
        make_task: Callable[[], Callable[[Any], Any]],
        documents: Callable[[Any], list],
        num_workers: int,
        seconds: float,
        memory: int,
    ) -> None:
        self._start = (make_task, seconds, memory)
        self._documents = documents
        self._num_workers = num_workers
        self._seconds = seconds
        self._of_thread = threading.local()  # the worker of each thread, which starts when it is needed
        self._all: list[_Worker] = []
        self._closed = False
        self._threads = ThreadPoolExecutor(num_workers, "tokenmill-worker")

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        for worker in list(self._all):
            worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._all:  # one that a thread was just starting
            worker.kill()

    def map(self, batches: Iterable[tuple[Any, Tag]]) -> Iterator[tuple[Answers, Tag]]:
        """Yield the answers of each batch with its tag. Only a few batches are in memory at a time."""
        return map_in_order(
            self._threads, lambda batch: (self._run(batch[0]), batch[1]), batches, 2 * self._num_workers + 1
        )

    def _run(self, batch: Any) -> Answers:
        answer = self._try(batch)
        if answer[0] == "failed":
            documents = self._documents(batch)
            if len(documents) > 1:
                return [(document, self._try(document)) for document in documents]
        return [(batch, answer)]

    def _try(self, batch: Any) -> Answer:
        worker: _Worker | None = getattr(self._of_thread, "worker", None)
        outcome: str = "ready"
        answer: Any = None
        if worker is None:
            worker = self._of_thread.worker = _Worker()
            self._all.append(worker)
            outcome, answer = worker.work(self._start)
        started = outcome == "ready"
        if started and not self._closed:
            outcome, answer = worker.work(batch, self._seconds)
        if outcome == "died":
            self._of_thread.worker = None
            self._all.remove(worker)
            worker.kill()
        if self._closed:
            raise TokenmillError("the workers were stopped")
        if not started:
            raise TokenmillError(f"a worker process failed: {answer[1]}")
        return ("failed", answer[0]) if outcome == "died" else (outcome, answer)


class _Worker:
    """One process, and the pipes to it."""

    def __init__(self) -> None:
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        package_home = str(Path(__file__).resolve().parents[2])
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            process_group=0,  # Ctrl-C at a terminal is for the process that started this one
            env=os.environ | {"PYTHONPATH": os.pathsep.join([package_home, *filter(None, sys.path)])},
        )

    def work(self, batch: Any, seconds: float = 0.0) -> Answer:
        """Return the answer, at first ("ready", None); or ("died", reasons), at the latest after 20 times `seconds`."""
        assert self._process.stdin is not None and self._process.stdout is not None
        too_slow = threading.Event()

        def end() -> None:
            too_slow.set()
            self._process.kill()

        clock = threading.Timer(20 * seconds, end)
        if seconds:
            clock.start()
        try:
            send(self._process.stdin, batch)
            return pickle.load(self._process.stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            code = self._process.wait()
            self._messages.seek(max(0, self._messages.seek(0, os.SEEK_END) - 500))
            message = self._messages.read().decode(errors="replace").strip().rpartition("\n")[2]
            # A process that a signal ended wrote its messages before, over another document.
            reason = signal.Signals(-code).name if code < 0 else f"code {code}: {message}"
            if too_slow.is_set():
                return "died", (f"it took more than {20 * seconds:g} s", reason)
            if reason == "SIGPROF":
                return "died", (f"it took more than {seconds:g} s of processor time", reason)
            if code == OUT_OF_MEMORY:
                return "died", (NO_MEMORY, reason)
            return "died", (f"it crashed the process that read it ({reason})", reason)
        finally:
            clock.cancel()

    def kill(self) -> None:
        """End the process, and close its pipes."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


def send(pipe: IO[bytes], value: Any) -> None:
    """Write a value, pickled, to a pipe."""
    pickle.dump(value, pipe)
    pipe.flush()


def serve() -> None:
    """Run a worker: apply the task to the batches from standard input, and write the answers to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the prints of libraries go to the messages
    try:
        make_task, seconds, memory = pickle.load(sys.stdin.buffer)
        task = make_task()
        send(channel, ("ready", None))
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
    """End the process after `seconds` of processor time, inside C code too; 0 for no limit."""
    if hasattr(signal, "setitimer"):  # Windows has only the pool's limit of time by the clock
        signal.setitimer(signal.ITIMER_PROF, seconds)
