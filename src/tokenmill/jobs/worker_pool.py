"""Processes that work on batches of records, and survive any one record that hangs, crashes or eats the memory.

Each worker is a process that limits its processor time and memory with the operating system's limits, which also hold
in C code. When a worker dies, the record that it was working on is reported as failed, and a new worker gets the batch
without it.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from ..errors import TokenmillError
from .in_order import map_in_order
from .worker_process import NO_MEMORY, OUT_OF_MEMORY, Answers, receive, send

Tag = TypeVar("Tag")
NO_RECORD = 2**63


class WorkerPool:
    """`num_workers` processes that apply a task to batches of records, in order of the batches.

    task: "module:name" of a callable that makes the Task (see worker_process.py) from `settings`.
    settings: values that marshal can write, as are records and answers.
    seconds: the processor time that one record may take. memory: the bytes that a worker may grow by.
    """

    def __init__(self, task: str, settings: Any, num_workers: int, seconds: float, memory: int) -> None:
        self._start = (task, settings, float(seconds), int(memory))
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

    def map(self, batches: Iterable[tuple[list[tuple], Tag]]) -> Iterator[tuple[Answers, Tag]]:
        """For each batch its answers, with what came with it; at most a few batches are held at a time."""
        return map_in_order(
            self._threads, lambda batch: (self._run(batch[0]), batch[1]), batches, 2 * self._num_workers + 1
        )

    def _run(self, records: list[tuple]) -> Answers:
        """The answers to one batch, from as many workers as it kills."""
        excluded: dict[int, str] = {}
        while True:
            worker = self._idle.get()
            try:
                if worker is None:
                    worker = _Worker(self._start)
                    self._all.append(worker)
                if self._closed:
                    raise TokenmillError("the workers were stopped")
                return worker.work(records, excluded)
            except _Died as death:
                assert worker is not None
                self._all.remove(worker)
                worker.kill()
                worker = None
                if self._closed:
                    raise TokenmillError("the workers were stopped") from death
                if death.record is None:
                    raise TokenmillError(f"a worker process cannot work: {death.reason}") from death
                excluded[death.record] = self._explain(death)
            finally:
                self._idle.put(worker)

    def _explain(self, death: _Died) -> str:
        if death.signal == signal.SIGPROF:
            return f"it took more than {self._seconds:g} s of processor time"
        if death.signal == signal.SIGALRM:
            return f"it took more than {20 * self._seconds:g} s"
        if death.code == OUT_OF_MEMORY:
            return NO_MEMORY
        return f"it crashed the process that read it ({death.reason})"


class _Died(Exception):
    def __init__(self, record: int | None, code: int, message: str) -> None:
        self.record = record
        self.code = code
        self.signal = -code if code < 0 else 0
        # What stands in the messages of a process that a signal ended was printed before, over another record.
        self.reason = signal.Signals(-code).name if code < 0 else f"code {code}: {message}"


class _Worker:
    """One process, and the pipes to it."""

    def __init__(self, start: tuple) -> None:
        self._current = tempfile.TemporaryFile()  # noqa: SIM115  closed in `kill`
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115
        os.pwrite(self._current.fileno(), NO_RECORD.to_bytes(8, "little"), 0)
        package_home = str(Path(__file__).resolve().parents[2])
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                f"from {__package__}.worker_process import main; main()",
                str(self._current.fileno()),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            pass_fds=[self._current.fileno()],
            process_group=0,  # Ctrl-C at a terminal is for the process that started this one
            env=os.environ | {"PYTHONPATH": os.pathsep.join([package_home, *filter(None, sys.path)])},
        )
        self._first: tuple | None = start

    def work(self, records: list[tuple], excluded: dict[int, str]) -> Answers:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            if self._first is not None:
                send(self._process.stdin, self._first)
                self._first = None
            send(self._process.stdin, (len(records), excluded))
            for number, record in enumerate(records):
                if number not in excluded:
                    send(self._process.stdin, record, flush=False)
            self._process.stdin.flush()
            return receive(self._process.stdout)
        except (EOFError, OSError, ValueError) as error:
            code = self._process.wait()
            number = int.from_bytes(os.pread(self._current.fileno(), 8, 0), "little")
            self._messages.seek(max(0, self._messages.seek(0, os.SEEK_END) - 500))
            message = self._messages.read().decode(errors="replace").strip().rpartition("\n")[2]
            raise _Died(number if number != NO_RECORD else None, code, message) from error

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
