"""Many texts at once, by several threads: the kernels give up the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import UsageError, require
from ._encode_cy import ForbiddenText
from .special import Plan, refuse

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from .tokenizer import Tokenizer

__all__ = ["arrow_array", "arrow_lists", "encode_batch", "encode_flat", "encode_to_ids", "spread", "threads_for"]

Item = TypeVar("Item")
Result = TypeVar("Result")

JOB = 1 << 19  # characters that one call of the kernel takes: a few milliseconds, so that no thread waits long
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
    threads = min(threads_for(num_threads), len(items))
    if threads <= 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))


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
    """A list of ids for each text."""
    given = tuple(texts)

    def encode(job: tuple[int, int]) -> list[list[int]]:
        if tok._simple:
            try:
                return tok._encoder.kernel.encode_many(given, *job, plan.refused_finder, plan.token_finder)
            except ForbiddenText as found:
                refuse(str(found))
            except UnicodeEncodeError:
                pass
        return [tok._encode(text, plan) for text in given[slice(*job)]]

    return [ids for some in _jobs(encode, given, num_threads) for ids in some]


def encode_flat(
    tok: Tokenizer, texts: Iterable[str], plan: Plan, num_threads: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """The ids of all texts one after the other, and where those of each begin, and end."""
    import numpy as np

    given = tuple(texts)

    def encode(job: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        if tok._simple:
            try:
                ids, ends = tok._encoder.kernel.encode_flat(given, *job, plan.refused_finder, plan.token_finder)
                return np.frombuffer(ids, np.uint32), np.frombuffer(ends, np.int64)
            except ForbiddenText as found:
                refuse(str(found))
            except UnicodeEncodeError:
                pass
        lists = [np.array(tok._encode(text, plan), np.uint32) for text in given[slice(*job)]]
        return np.concatenate(lists), np.cumsum([len(ids) for ids in lists])

    parts = _jobs(encode, given, num_threads)
    offsets = np.zeros(len(given) + 1, np.int64)
    done, start = 0, 0
    for ids, ends in parts:
        offsets[done + 1 : done + 1 + len(ends)] = ends + start
        done, start = done + len(ends), start + len(ids)
    return np.concatenate([ids for ids, _ in parts] or [np.empty(0, np.uint32)]), offsets


def _jobs(encode: Callable[[tuple[int, int]], Result], texts: tuple[str, ...], num_threads: int | None) -> list[Result]:
    """`encode` of ranges of the texts, in order, each range of about as many characters."""
    threads = threads_for(num_threads)
    jobs: list[tuple[int, int]] = []
    first = size = total = 0
    for i, text in enumerate(texts):
        size += len(text)
        total += len(text)
        if size >= JOB or i - first >= JOB // 16:
            jobs.append((first, i + 1))
            first, size = i + 1, 0
    if first < len(texts):
        jobs.append((first, len(texts)))
    if len(jobs) == 1 and total >= SMALL and threads > 1:
        middle = (jobs[0][0] + jobs[0][1] + 1) // 2
        jobs = [(0, middle), (middle, len(texts))] if middle < len(texts) else jobs
    return spread(encode, jobs, threads if total >= SMALL else 1)


def arrow_array(ids: np.ndarray) -> pa.UInt32Array:
    """A PyArrow array in the memory of `ids`."""
    pa: Any = require("pyarrow", "corpus", "a PyArrow result")
    return pa.Array.from_buffers(pa.uint32(), len(ids), [None, pa.py_buffer(ids)])


def arrow_lists(ids: np.ndarray, offsets: np.ndarray) -> pa.LargeListArray:
    """A PyArrow array of lists in the memory of `ids` and `offsets`."""
    pa: Any = require("pyarrow", "corpus", "a PyArrow result")
    starts = pa.Array.from_buffers(pa.int64(), len(offsets), [None, pa.py_buffer(offsets)])
    return pa.LargeListArray.from_arrays(starts, arrow_array(ids))
