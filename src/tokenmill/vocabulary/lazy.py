"""`lazy`: an attribute that is computed on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class lazy(Generic[Value]):
    """An attribute that is computed on first use. Like functools.cached_property, but without a lock in any Python version.

    A fork while another thread holds such a lock would leave it held forever in the child. Here, threads that ask at the
    same time may compute the value twice; one of the two is kept.
    """

    def __init__(self, compute: Callable[[Any], Value]):
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Value:
        # Python looks in the instance's dictionary first, so this runs only until the value is there.
        return instance.__dict__.setdefault(self.name, self.compute(instance))
