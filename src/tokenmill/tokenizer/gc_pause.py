"""Pause Python's garbage collector while many lists are made."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def gc_paused() -> Iterator[None]:
    """Turn automatic garbage collection off, unless it is off.

    Lists of ids hold no cycles, but each collection visits all lists made so far, which takes longer than making them.
    Of several threads inside, the first to leave turns it on again.
    """
    global _paused
    if not gc.isenabled():
        yield
        return
    _paused = True
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        _paused = False


_paused = False
if hasattr(os, "register_at_fork"):  # the threads that were inside do not exist in the child
    os.register_at_fork(after_in_child=lambda: gc.enable() if _paused else None)
