"""`lazy`, an attribute that is computed on first use; and a hook that finishes imports before a fork."""

from __future__ import annotations

import importlib
import os
from _thread import get_ident
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")


class lazy(Generic[Value]):
    """An attribute that is computed on first use. Like functools.cached_property, but without a lock in any Python version.

    A fork while another thread has acquired such a lock would leave it locked forever in the child. Here, threads that ask
    at the same time may compute the value twice; one of the two is kept.
    """

    def __init__(self, compute: Callable[[Any], Value]):
        self.compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Value:
        # Python looks in the instance's dictionary first, so this runs only until the value is there.
        return instance.__dict__.setdefault(self.name, self.compute(instance))


def _finish_imports() -> None:
    """Wait for the imports of other threads. In the child of a fork, the lock of such a module would stay locked forever.

    A thread that forks while it imports a module itself does not wait: another thread may wait for that module.
    """
    locks = getattr(importlib._bootstrap, "_module_locks", {})  # type: ignore[attr-defined]
    while True:
        owners = {name: getattr(lock(), "owner", None) for name, lock in [*locks.items()]}
        importing = [name for name, owner in owners.items() if owner is not None]
        if not importing or get_ident() in owners.values():
            return
        for name in importing:
            with suppress(Exception):  # which the importing thread raises
                importlib.import_module(name)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish_imports)
