"""Python's garbage collector, while many objects are made of which none is garbage."""

from __future__ import annotations

import gc
import os
import threading

__all__ = ["garbage"]


class _Garbage:
    """While lists of ids are made, the garbage collector rests: it would go over all lists made so far again and again
    in search of cycles, which takes longer than to make them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forget()
        if hasattr(os, "register_at_fork"):  # a process forked meanwhile has no other thread that would go on
            os.register_at_fork(after_in_child=self._in_child)

    def _forget(self) -> None:
        self._resting, self._again = 0, False

    def _in_child(self) -> None:
        again = self._again
        self._lock = threading.Lock()
        self._forget()
        if again:
            gc.enable()

    def __enter__(self) -> None:
        with self._lock:
            if self._resting == 0:
                self._again = gc.isenabled()
                gc.disable()
            self._resting += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._resting -= 1
            if self._resting == 0 and self._again:
                self._again = False
                gc.enable()


garbage = _Garbage()
