"""Many texts at once, by several threads: the kernels give up the GIL."""

from __future__ import annotations

import gc
import itertools
import os
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import UsageError, require
from ._encode_cy import ForbiddenText, cut
from .special import Plan, refuse

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from .tokenizer import Tokenizer

__all__ = ["arrow_array", "arrow_lists", "encode_batch", "encode_flat", "encode_to_ids", "spread", "threads_for"]

Item = TypeVar("Item")
Result = TypeVar("Result")
Job = tuple[int, int, int]  # the first of some texts, the one after the last, and how many characters they have

JOB = 1 << 20  # characters that one call of the kernel takes: a few milliseconds, so that no thread waits long
SMALL = 1 << 16  # with less text in all, threads take longer to start than to work


def threads_for(num_threads: int | None) -> int:
    """The number of threads that `num_threads` asks for; None means all cores this process may use."""
    if num_threads is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if num_threads < 1:
        raise UsageError(f"num_threads is {num_threads}; give 1 or more, or None for all cores")
    return num_threads


def spread(function: Callable[[Item], Result], items: Iterable[Item], num_threads: int | None) -> list[Result]:
    """`function` of each item, in order, by several threads."""
    items = list(items)
    return list(_ordered(function, items, min(threads_for(num_threads), len(items))))


def _ordered(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    if threads <= 1:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(function, items)


def encode_to_ids(tok: Tokenizer, text: str | bytes, plan: Plan) -> Any:
    """The ids of a text as an object with the buffer protocol, unsigned 32-bit."""
    if tok._simple:
        try:
            return tok._encoder.kernel.encode_to_ids(text, plan.refused_finder, plan.token_finder)
        except ForbiddenText as found:
            refuse(str(found))
        except UnicodeEncodeError:
            pass
    import numpy as np

    return np.array(tok._encode(text, plan), np.uint32)


def encode_batch(tok: Tokenizer, texts: Iterable[str], plan: Plan, num_threads: int | None) -> list[list[int]]:
    """A list of ids for each text.

    The lists are made by this thread alone: two that take turns at it, since they need the GIL for it, wait for each
    other's counts of references and memory, and together take longer than one.
    """
    given = tuple(texts)
    kernel = tok._encoder.kernel
    lists: list[list[int]] = [[]] * len(given)
    jobs, threads = _jobs(given, num_threads)
    with _garbage:
        for (first, _, _), (ids, ends) in zip(jobs, _encoded(tok, given, plan, jobs, threads), strict=True):
            kernel.list_each(ids, ends, lists, first)
            kernel.reuse(ids)
    return lists


def encode_flat(
    tok: Tokenizer, texts: Iterable[str], plan: Plan, num_threads: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """The ids of all texts one after the other, and where those of each begin, and end."""
    import numpy as np

    given = tuple(texts)
    kernel = tok._encoder.kernel
    whole = kernel.new_ids()
    offsets = np.zeros(len(given) + 1, np.int64)
    jobs, threads = _jobs(given, num_threads)
    left, done = sum(size for _, _, size in jobs), 0
    for (first, last, size), (ids, ends) in zip(jobs, _encoded(tok, given, plan, jobs, threads), strict=True):
        offsets[first + 1 : last + 1] = np.asarray(ends) + len(whole)
        done += size
        whole.extend(ids, (len(whole) + len(ids)) * left // max(done, 1))  # a character takes as many as so far
        kernel.reuse(ids)
        left -= size
    return np.frombuffer(whole, np.uint32) if len(whole) else np.empty(0, np.uint32), offsets


def _encoded(tok: Tokenizer, texts: tuple[str, ...], plan: Plan, jobs: list[Job], threads: int) -> Iterator[Any]:
    """For each job the ids of its texts in one array, and where those of each text end."""
    kernel = tok._encoder.kernel

    def encode(job: Job) -> tuple[Any, Any]:
        first, last, _ = job
        if tok._simple:
            try:
                return kernel.encode_flat(texts, first, last, plan.refused_finder, plan.token_finder)
            except ForbiddenText as found:
                refuse(str(found))
            except UnicodeEncodeError:
                pass
        lists = [tok._encode(text, plan) for text in texts[first:last]]
        ids = kernel.new_ids()
        ids.extend(array("I", itertools.chain.from_iterable(lists)), 0)
        return ids, array("q", itertools.accumulate(map(len, lists)))

    return _ordered(encode, jobs, threads)


def _jobs(texts: tuple[str, ...], num_threads: int | None) -> tuple[list[Job], int]:
    """Ranges of the texts, and how many threads to encode them with."""
    threads = threads_for(num_threads)
    jobs = cut(texts, JOB, 2 * threads)
    if threads > 1 and sum(size for _, _, size in jobs) < SMALL:
        threads = 1
    return jobs, min(threads, len(jobs))


class _Garbage:
    """While lists of ids are made, the garbage collector rests: it would go over all lists made so far again and again
    in search of cycles, which takes longer than to make them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()
        if hasattr(os, "register_at_fork"):  # a process forked meanwhile has no other thread that would go on
            os.register_at_fork(after_in_child=self._in_child)

    def _forget(self) -> None:
        self._resting, self._again = 0, False

    def _in_child(self) -> None:
        again = self._again
        self._lock = threading.Lock()
        self._forget()
        if again:
            gc.enable()

    def __enter__(self) -> None:
        with self._lock:
            if self._resting == 0:
                self._again = gc.isenabled()
                gc.disable()
            self._resting += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._resting -= 1
            if self._resting == 0 and self._again:
                self._again = False
                gc.enable()


_garbage = _Garbage()


def arrow_array(ids: np.ndarray) -> pa.UInt32Array:
    """A PyArrow array in the memory of `ids`."""
    pa: Any = require("pyarrow", "corpus", "a PyArrow result")
    return pa.Array.from_buffers(pa.uint32(), len(ids), [None, pa.py_buffer(ids)])


def arrow_lists(ids: np.ndarray, offsets: np.ndarray) -> pa.LargeListArray:
    """A PyArrow array of lists in the memory of `ids` and `offsets`."""
    pa: Any = require("pyarrow", "corpus", "a PyArrow result")
    starts = pa.Array.from_buffers(pa.int64(), len(offsets), [None, pa.py_buffer(offsets)])
    return pa.LargeListArray.from_arrays(starts, arrow_array(ids))
