"""Processes that work on batches of documents, and survive any document that hangs, crashes or eats the memory.

Each worker is a process that limits its processor time and memory with the operating system's limits, which also hold
in C code. A batch that fails, or ends its worker, is done again document by document.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from ..errors import TokenmillError
from .in_order import map_in_order
from .worker_process import NO_MEMORY, OUT_OF_MEMORY, Answer, receive, send

Tag = TypeVar("Tag")
Answers = list[tuple[Any, Answer]]  # of a batch, or of its documents: what the worker got, and what became of it


class WorkerPool:
    """`num_workers` processes that apply a task to batches, in order of the batches.

    task: "module:name" of a callable that makes the task, a callable too, from `settings`.
    settings: values that marshal can write, as are batches and answers.
    documents: gives the documents of a batch that failed, each as a batch of its own.
    seconds: the processor time that a batch may take. memory: the bytes that a worker may grow by.
    """

    def __init__(
        self, task: str, settings: Any, documents: Callable[[Any], list], num_workers: int, seconds: float, memory: int
    ) -> None:
        self._start = (task, settings, float(seconds), int(memory))
        self._documents = documents
        self._num_workers = num_workers
        self._seconds = seconds
        self._idle: queue.SimpleQueue[_Worker | None] = queue.SimpleQueue()
        self._all: list[_Worker] = []
        self._closed = False
        for _ in range(num_workers):
            self._idle.put(None)  # a place for a worker, which starts when it is needed
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
        """For each batch its answers, with what came with it; at most a few batches are held at a time."""
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
        worker = self._idle.get()
        try:
            if worker is None:
                worker = _Worker()
                self._all.append(worker)
                worker.start(self._start)
            if self._closed:
                raise TokenmillError("the workers were stopped")
            return worker.work(batch, 20 * self._seconds)
        except _Died as death:
            assert worker is not None
            self._all.remove(worker)
            worker.kill()
            worker = None
            if self._closed:
                raise TokenmillError("the workers were stopped") from death
            if not death.started:
                raise TokenmillError(f"a worker process cannot work: {death.reason}") from death
            return "failed", self._explain(death)
        finally:
            self._idle.put(worker)

    def _explain(self, death: _Died) -> str:
        if death.too_slow:
            return f"it took more than {20 * self._seconds:g} s"
        if death.signal == "SIGPROF":
            return f"it took more than {self._seconds:g} s of processor time"
        if death.code == OUT_OF_MEMORY:
            return NO_MEMORY
        return f"it crashed the process that read it ({death.reason})"


class _Died(Exception):
    def __init__(self, started: bool, too_slow: bool, code: int, message: str) -> None:
        self.started = started
        self.too_slow = too_slow  # by the clock
        self.code = code
        self.signal = signal.Signals(-code).name if code < 0 else ""
        # A process that a signal ended wrote its messages before, over another document.
        self.reason = self.signal or f"code {code}: {message}"


class _Worker:
    """One process, and the pipes to it."""

    def __init__(self) -> None:
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        package_home = str(Path(__file__).resolve().parents[2])
        self._process = subprocess.Popen(
            [sys.executable, "-c", f"from {__package__}.worker_process import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            process_group=0,  # Ctrl-C at a terminal is for the process that started this one
            env=os.environ | {"PYTHONPATH": os.pathsep.join([package_home, *filter(None, sys.path)])},
        )
        self._started = False

    def start(self, start: tuple) -> None:
        """Wait until the worker is ready; raises _Died if it cannot start."""
        self._started = self.work(start) == "ready"

    def work(self, batch: Any, seconds: float | None = None) -> Any:
        """The worker's answer; raises _Died if it ends, or gives none within `seconds` by the clock."""
        assert self._process.stdin is not None and self._process.stdout is not None
        too_slow = threading.Event()

        def end() -> None:
            too_slow.set()
            self._process.kill()

        clock = threading.Timer(seconds or 0, end)
        if seconds:
            clock.start()
        try:
            send(self._process.stdin, batch)
            return receive(self._process.stdout)
        except (EOFError, OSError, ValueError) as error:
            code = self._process.wait()
            self._messages.seek(max(0, self._messages.seek(0, os.SEEK_END) - 500))
            message = self._messages.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise _Died(self._started, too_slow.is_set(), code, message) from error
        finally:
            clock.cancel()

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
