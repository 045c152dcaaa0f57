"""Work on several threads whose results come in the order of the items."""

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
    """Like pool.map, but only `at_once` calls run or have a result that waits. Without a pool, this thread makes them."""
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
                wait([waiting[0]], 0.1)  # Ctrl-C is heard between two waits
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
