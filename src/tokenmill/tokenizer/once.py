"""Attributes that are computed when they are first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["once"]

Value = TypeVar("Value")


class once(Generic[Value]):
    """As functools.cached_property, but never with a lock, which a process that forks meanwhile would find held for ever.

    Threads that ask at the same time may compute the value twice; one of the two is kept.
    """

    def __init__(self, compute: Callable[[Any], Value]):
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Value:
        # Only as long as the instance has no attribute of this name, which Python looks for first.
        return instance.__dict__.setdefault(self.name, self.compute(instance))
