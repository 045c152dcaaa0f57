"""Map on several threads, with the results in the order of the items."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, wait
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def map_in_order(
    pool: Executor | None, function: Callable[[T], R], items: Iterable[T], at_once: int = 4
) -> Iterator[R]:
    """Like pool.map, but at most `at_once` calls run or have a waiting result. Without a pool, map on this thread."""
    if pool is None:
        yield from map(function, items)
        return
    items = iter(items)
    waiting: deque[Future[R]] = deque()
    try:
        while True:
            for item in itertools.islice(items, at_once - len(waiting)):
                waiting.append(pool.submit(function, item))
            if not waiting:
                return
            while not waiting[0].done():
                wait([waiting[0]], 0.1)  # the timeout lets Ctrl-C through
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
