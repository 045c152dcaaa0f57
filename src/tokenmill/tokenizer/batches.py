"""Many texts at once, by several threads: the kernels give up the GIL."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import UsageError, require
from ._batch_cy import Batch
from ._encode_cy import ForbiddenText
from .garbage import garbage
from .special import Plan, refuse

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from .tokenizer import Tokenizer

__all__ = ["arrow_array", "arrow_lists", "encode_batch", "encode_flat", "encode_to_ids", "spread", "threads_for"]

Item = TypeVar("Item")
Result = TypeVar("Result")


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
        return list(map(function, items))
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
    given, threads = tuple(texts), threads_for(num_threads)
    with garbage:
        if not tok._simple:
            return spread(lambda text: tok._encode(text, plan), given, threads)
        return _together(tok, given, plan, threads, Batch.lists)


def encode_flat(
    tok: Tokenizer, texts: Iterable[str], plan: Plan, num_threads: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """The ids of all texts one after the other, and where those of each begin, and end."""
    import numpy as np

    if not tok._simple:
        lists = encode_batch(tok, texts, plan, num_threads)
        ids = np.fromiter(itertools.chain.from_iterable(lists), np.uint32)
        return ids, np.cumsum([0, *map(len, lists)], dtype=np.int64)
    whole, ends = _together(tok, tuple(texts), plan, threads_for(num_threads), Batch.flat)
    return np.frombuffer(whole, np.uint32) if len(whole) else np.empty(0, np.uint32), np.frombuffer(ends, np.int64)


def _together(
    tok: Tokenizer, texts: tuple[str, ...], plan: Plan, threads: int, collect: Callable[[Batch], Result]
) -> Result:
    """What `collect` makes of the texts; it works itself, with as many other threads as are worth it."""
    batch = Batch(
        tok._encoder.kernel,
        texts,
        plan.refused_finder,
        plan.token_finder,
        lambda text: tok._encode(text, plan),
        threads,
    )
    try:
        if batch.threads == 1:
            return collect(batch)
        with ThreadPoolExecutor(batch.threads - 1) as pool:
            for _ in range(batch.threads - 1):
                pool.submit(batch.work)
            try:
                return collect(batch)
            finally:
                batch.stop()
    finally:
        batch.close()


def arrow_array(ids: np.ndarray) -> pa.UInt32Array:
    """A PyArrow array in the memory of `ids`."""
    pa: Any = require("pyarrow", "corpus", "a PyArrow result")
    return pa.Array.from_buffers(pa.uint32(), len(ids), [None, pa.py_buffer(ids)])


def arrow_lists(ids: np.ndarray, offsets: np.ndarray) -> pa.LargeListArray:
    """A PyArrow array of lists in the memory of `ids` and `offsets`."""
    pa: Any = require("pyarrow", "corpus", "a PyArrow result")
    starts = pa.Array.from_buffers(pa.int64(), len(offsets), [None, pa.py_buffer(offsets)])
    return pa.LargeListArray.from_arrays(starts, arrow_array(ids))
