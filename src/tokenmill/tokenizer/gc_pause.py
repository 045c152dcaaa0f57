"""Pause Python's garbage collector while many lists are made."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

_paused: list[None] = []  # an item for each thread that turned the collector off


@contextmanager
def gc_paused() -> Iterator[None]:
    """Turn automatic garbage collection off, unless it is off.

    Lists of ids hold no cycles, but each collection visits all lists made so far, which takes longer than making them.
    Of several threads inside, the first to leave turns it on again.
    """
    if not gc.isenabled():
        yield
        return
    _paused.append(None)
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        _paused.pop()


def _after_fork() -> None:
    """The threads that were inside do not exist in the child."""
    if _paused:
        _paused.clear()
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
