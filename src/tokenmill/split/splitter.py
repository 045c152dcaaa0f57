"""Splitter: a split pattern, compiled."""

from __future__ import annotations

import functools
import os
import warnings
from array import array

from ..errors import UsageError
from ..vocabulary.patterns import regular_expressions
from ._scan_cy import Scanner
from .compiler import Tables, compile_pattern
from .syntax import NotRegular, shown

PRETOKENS_PER_CALL = 1 << 18  # a few milliseconds, so that Ctrl-C is handled soon
MOST_PATTERNS = 8  # TM_CHAIN_MAX of _chain_state.h
WARNED: set[str] = set()  # the patterns that this process has warned of


@functools.lru_cache(maxsize=64)
def tables_of(pattern: str) -> Tables | str:
    """The compiled pattern, or the reason why only the `regex` module can run it."""
    try:
        return compile_pattern(pattern)
    except NotRegular as reason:
        from .reference import to_regex

        to_regex(pattern)  # raises PatternError for an invalid pattern
        return str(reason)


class Splitter:
    """Cuts text into pretokens by one or more split patterns, given by name or as regular expressions.

    With several patterns, each cuts the pretokens of the one before it and sees the end of such a pretoken as the end of
    the text. With none, the whole text is one pretoken. Pretokens are the matches of a pattern and the text between
    them, so nothing is lost, and no pretoken is empty. Each byte that is not UTF-8 is a character of its own that is not
    a letter, a number or white space.

    patterns: the regular expressions.
    scanner: the compiled automaton, whose C methods kernels call; None if a pattern is not regular, so that the `regex`
        module splits.

    >>> Splitter("gpt2").split("It's 1984, isn't it?")
    ['It', "'s", ' 1984', ',', ' isn', "'t", ' it', '?']
    """

    def __init__(self, *patterns: str):
        if len(patterns) > MOST_PATTERNS:
            raise UsageError(f"there are {len(patterns)} split patterns; at most {MOST_PATTERNS} can be nested")
        self.patterns = regular_expressions(patterns)
        self.scanner: Scanner | None = None
        compiled = [tables_of(pattern) for pattern in self.patterns or (r"(?s:.)+",)]
        for pattern, tables in zip(self.patterns, compiled, strict=False):
            if isinstance(tables, str) and pattern not in WARNED:
                WARNED.add(pattern)
                warnings.warn(
                    f"the split pattern {shown(pattern)} has {tables}, which the scanner cannot run. The regex module "
                    "splits instead: the pretokens are the same, but it is much slower.",
                    stacklevel=2,
                )
        for tables in reversed(compiled):
            if isinstance(tables, str):
                self.scanner = None
                break
            self.scanner = Scanner(tables, self.scanner, bool(os.environ.get("TOKENMILL_SCALAR")))

    def __reduce__(self):
        return Splitter, self.patterns

    def __repr__(self) -> str:
        return f"Splitter({', '.join(map(repr, self.patterns))})"

    def ends(self, data: bytes) -> array[int]:
        """The exclusive end offset in bytes of each pretoken of UTF-8 `data`, as 64-bit numbers."""
        if self.scanner is None:
            from .reference import reference_pretokens

            text = bytes(data).decode("utf-8", "surrogateescape")
            ends, at = array("Q"), 0
            for pretoken in reference_pretokens(self.patterns, text):
                at += len(pretoken.encode("utf-8", "surrogateescape"))
                ends.append(at)
            return ends
        ends = array("Q")
        while (start := ends[-1] if ends else 0) < len(data):
            ends.frombytes(self.scanner.fill(data, start, PRETOKENS_PER_CALL))
        return ends

    def split(self, text: str) -> list[str]:
        """The pretokens of `text`."""
        try:
            data = text.encode()
        except UnicodeEncodeError:  # lone surrogates, which UTF-8 cannot encode
            from .reference import reference_pretokens

            return reference_pretokens(self.patterns, text)
        ends = self.ends(data)
        if len(data) == len(text):
            return [text[a:b] for a, b in zip([0, *ends], ends, strict=False)]
        return [data[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]
