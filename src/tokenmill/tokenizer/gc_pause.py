"""Pause Python's garbage collector while many lists are made."""

from __future__ import annotations

import gc
import os
import threading

__all__ = ["gc_paused"]


class _Pause:
    """A context manager that turns automatic garbage collection off; several threads may be inside.

    Lists of ids hold no cycles, but each collection visits all lists made so far, which takes longer than making them.
    """

    def __init__(self) -> None:
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._after_fork)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._inside, self._enable = 0, False

    def _after_fork(self) -> None:
        """The threads that were inside do not exist in the child."""
        enable = self._enable
        self._reset()
        if enable:
            gc.enable()

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._enable = gc.isenabled()
                gc.disable()
            self._inside += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._enable:
                self._enable = False
                gc.enable()


gc_paused = _Pause()
