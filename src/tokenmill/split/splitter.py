"""Splitter: a split pattern, compiled."""

from __future__ import annotations

from ._scan_cy import Scanner

__all__ = ["Splitter"]


class Splitter:
    """Cuts text into pieces by one or more split patterns, given by name or as regular expressions.

    scanner: the compiled automaton (kernels call its C methods), or None where a pattern is not regular and the
        `regex` module does the work.
    """

    def __init__(self, *patterns: str):
        self.patterns = patterns
        self.scanner: Scanner | None = Scanner()

    def ends(self, data: bytes) -> list[int]:
        """The exclusive end offset, in bytes, of each piece of UTF-8 `data`."""
        raise NotImplementedError

    def split(self, text: str) -> list[str]:
        """The pieces of `text`."""
        raise NotImplementedError
