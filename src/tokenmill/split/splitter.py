"""Splitter: a split pattern, compiled."""

from __future__ import annotations

import functools
import itertools
import os
import re
import warnings
from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import UsageError, checks_methods
from ._scan_cy import Scanner
from .names import is_named, regular_expressions
from .tables import Alphabet, SimdTables, Tables

PRETOKENS_PER_CALL = 1 << 18  # a few milliseconds, so that Ctrl-C is handled soon
MOST_PATTERNS = 8  # TM_CHAIN_MAX of _chain_state.h
LONG = 10_000  # bytes; longer pretokens mean that a pattern does not cut ordinary text
ANYTHING = r"(?s:.)+"  # the whole text is one pretoken
MOST_COMPILED = 64
_ASCII = re.compile(rb"[\0-\x7f]{2,}")
_WINDOW = 4096  # bytes of a run of ASCII that are searched for a certain cut
WARNED: set[str] = set()  # the patterns that this process has warned of


@functools.lru_cache(MOST_COMPILED)
def tables_of(pattern: str) -> Tables | str:
    """Return the compiled pattern, or the reason why only the `regex` module can run it."""
    if pattern == ANYTHING:
        return whole_text_tables()
    from .alphabet import NotRegular
    from .compiler import compile_pattern  # late: decoding needs no pattern

    try:
        return compile_pattern(pattern)
    except NotRegular as reason:
        from .backtracking import to_regex

        to_regex(pattern)  # raises PatternError for an invalid pattern
        return str(reason)


def whole_text_tables() -> Tables:
    """Return the compiled form of ANYTHING: one class of characters, one state. Importing the compiler would take 20 ms."""
    ascii, index, pages = bytes(128), bytes(2 * 8704), bytes(128 * 264)
    none, same, cut = bytes(16), bytes(range(8)) + bytes(8), b"\x10" + bytes(15)
    steps = none + same + cut + none + same + cut + 3 * none
    one = Alphabet(1, ascii, index, pages, 0)
    return Tables(one, bytes(4), bytes(2), SimdTables(one, steps), b"\2\0\xff\xff" * 2, b"\0\0\1\1", b"\2\0")


@functools.lru_cache(MOST_COMPILED)
def composed_tables(patterns: tuple[str, ...]) -> Tables | None:
    """Return the transducer of all these patterns, each inside the one before; None if there is none that is small and exact."""
    outer = tables_of(patterns[0])
    inner = tables_of(patterns[1]) if len(patterns) == 2 else composed_tables(patterns[1:])
    if not isinstance(outer, Tables) or not isinstance(inner, Tables):
        return None
    from .composition import compose

    return compose(outer, inner)


def _warn_once(pattern: str, what: str) -> None:
    """Warn of a pattern, once in a process."""
    if pattern not in WARNED:
        from .syntax import shown

        WARNED.add(pattern)
        warnings.warn(f"the split pattern {shown(pattern)} {what}", stacklevel=4)


def _ends(scanner: Scanner, data: bytes | memoryview) -> array[int]:
    ends = array("Q")
    while (start := ends[-1] if ends else 0) < len(data):
        ends.frombytes(scanner.fill(data, start, PRETOKENS_PER_CALL))
    return ends


@functools.lru_cache(MOST_COMPILED)
def finder_of(pattern: str) -> Callable[[str], Iterable[tuple[int, int]]]:
    """Return a function that finds the spans in characters of the matches of a pattern."""
    tables = tables_of(pattern)
    if isinstance(tables, str) or any(tables.accepts[: tables.alphabet.size + 1]):  # it may be empty
        from .backtracking import matches  # late: the regex module takes long to import

        return functools.partial(matches, pattern)
    scanner = Scanner(tables)

    def find(text: str) -> list[tuple[int, int]]:
        data = text.encode("utf-8", "surrogateescape")
        ends = _ends(scanner, data)
        matches = scanner.are_matches(data, ends)
        borders = [0, *ends]
        if len(data) != len(text):
            sizes = (len(data[a:b].decode("utf-8", "surrogateescape")) for a, b in itertools.pairwise(borders))
            borders = [0, *itertools.accumulate(sizes)]
        return [*itertools.compress(itertools.pairwise(borders), matches)]

    return find


@checks_methods
class Splitter:
    """Cuts text into pretokens by one or more split patterns, given by name or as regular expressions.

    With several patterns, each cuts the pretokens of the one before it and sees the end of such a pretoken as the end of
    the text. With none, the whole text is one pretoken. Pretokens are the matches of a pattern and the text between
    them, so nothing is lost, and no pretoken is empty. Each byte that is not UTF-8 is a character of its own that is not
    a letter, a number or white space.

    patterns: the regular expressions.
    special_tokens: texts that training removes from documents before it splits them: a special token ends a document, and is
        never learned as text.
    normalize: the function that then changes documents: character by character, or with the following marks.
    joins: 8,192 bytes, one bit for each pair of bytes (left << 8 | right). Two pretokens stay together if the last byte of one
        and the first byte of the next are such a pair. Needs a single, regular pattern.
    scanner: the compiled automaton, whose C methods kernels call; None if a pattern is not regular, so that the `regex`
        module splits.

    >>> Splitter("gpt2").split("It's 1984, isn't it?")
    ['It', "'s", ' 1984', ',', ' isn', "'t", ' it', '?']
    """

    def __init__(
        self,
        *patterns: str,
        special_tokens: Iterable[str] = (),
        joins: bytes | None = None,
        normalize: Callable[[str], str] | None = None,
    ):
        if len(patterns) > MOST_PATTERNS:
            raise UsageError(f"there are {len(patterns)} split patterns; at most {MOST_PATTERNS} can be nested")
        if joins is not None and len(joins) != 8192:
            raise UsageError(f"joins has {len(joins):,} bytes; give 8,192, a bit for each pair of bytes")
        self.patterns = regular_expressions(patterns)
        self.special_tokens = tuple(special_tokens)
        if "" in self.special_tokens:
            raise UsageError("the special token '' is empty; it would be found everywhere")
        self._special = [text.encode() for text in self.special_tokens]
        longest_first = sorted(self._special, key=len, reverse=True)
        self._any_special = re.compile(b"|".join(map(re.escape, longest_first)))
        self._longest = max(map(len, self._special), default=1)
        self._prefixes = {token[:size] for token in self._special for size in range(1, len(token) + 1)}
        # A search for one byte is much faster than for a text: a byte of all special tokens that is rare in prose.
        shared = set(self._special[0]).intersection(*self._special) if self._special else set()
        self._rare = bytes(sorted(shared, key=lambda byte: (chr(byte).isalnum(), byte != ord("|")))[:1])
        self.scanner: Scanner | None = None
        self.cutter: Any = None  # replaces the scanner in `certain_cut`, by its method of that name
        compiled = [tables_of(pattern) for pattern in self.patterns or (ANYTHING,)]
        for pattern, tables in zip(self.patterns, compiled, strict=False):
            if isinstance(tables, str):
                _warn_once(
                    pattern,
                    f"has {tables}, which the scanner cannot run. The regex module splits instead: the pretokens are the same, "
                    "but it is much slower.",
                )
        scalar = bool(os.environ.get("TOKENMILL_SCALAR"))
        for i, tables in reversed(list(enumerate(compiled))):
            if isinstance(tables, str):
                self.scanner = None
                break
            composed: object = composed_tables(self.patterns[i:]) if self.scanner is not None else None
            self.scanner = Scanner(tables, self.scanner, scalar, joins, composed)
        self._joins, self._normalize = joins, normalize
        if joins is not None and (self.scanner is None or len(self.patterns) != 1):
            raise UsageError(
                "superwords of whole pretokens need one split pattern that the scanner can run: no pattern after another, no "
                "lookaround and no references"
            )

    def __reduce__(self):
        rest = functools.partial(
            Splitter, special_tokens=self.special_tokens, joins=self._joins, normalize=self._normalize
        )
        return rest, self.patterns

    def __repr__(self) -> str:
        return f"Splitter({', '.join(map(repr, self.patterns))})"

    def prepared(
        self, data: bytes | bytearray | memoryview, ends: Sequence[int]
    ) -> tuple[bytes | bytearray | memoryview, Sequence[int]]:
        """Return the documents normalized and without the special tokens, each of which ends a document.

        data, ends: the bytes of all documents, and the end of each. The result has the same form.
        """
        if not len(ends) or not (self._special or self._normalize):
            return data, ends
        text = bytes(memoryview(data)[: ends[-1]])
        has_special = self._special and self._rare in text and self._any_special.search(text)
        if not has_special and self._normalize is None:
            return data, ends
        documents = [text[start:end] for start, end in itertools.pairwise([0, *ends])]
        if has_special:
            documents = [piece for document in documents for piece in self._any_special.split(document)]
        if self._normalize is not None:
            texts = (self._normalize(document.decode("utf-8", "surrogateescape")) for document in documents)
            documents = [text.encode("utf-8", "surrogateescape") for text in texts]
        return b"".join(documents), array("Q", itertools.accumulate(map(len, filter(None, documents))))

    def certain_cut(self, data: bytes | bytearray, start: int = 0, length: int | None = None) -> int:
        """Return the last certain cut in data[start:length] outside of special tokens; 0 if there is none."""
        assert self.scanner is not None
        end = len(data) if length is None else min(length, len(data))
        # A special token that began before `start` may go on here, and one may go on after the end.
        for size in range(min(self._longest - 1, end), 0, -1):
            if bytes(data[end - size : end]) in self._prefixes:
                end -= size - 1
                break
        while end > start and (cut := self._pretoken_start(data, start, end)):
            token_start = self._spanning_token(data, cut)
            if token_start < 0:
                return cut
            end = token_start + 1
        return 0

    def _pretoken_start(self, data: bytes | bytearray, start: int, end: int) -> int:
        """Return the last certain cut in data[start:end]; 0 if there is none.

        With a normalization, it is between characters of ASCII: the text before and after it then changes as it would alone. The last
        character of a run of ASCII may compose with the next one.
        """
        assert self.scanner is not None
        if self._normalize is None:
            return (self.cutter or self.scanner).certain_cut(data, start, end)
        for match in reversed([*_ASCII.finditer(data, start, end)]):
            first = max(match.start(), match.end() - _WINDOW)
            run = self._normalize(data[first : match.end()].decode()).encode()
            if cut := self.scanner.certain_cut(run, 0, len(run) - 1):
                return first + cut
        return 0

    def _spanning_token(self, data: bytes | bytearray, cut: int) -> int:
        """Return the start of the first special token with bytes on both sides of `cut`; -1 if there is none."""
        windows = ((token, max(0, cut - len(token) + 1), cut + len(token) - 1) for token in self._special)
        return min((at for window in windows if (at := data.find(*window)) >= 0), default=-1)

    def ends(self, data: bytes | memoryview) -> array[int]:
        """Return the exclusive end offset in bytes of each pretoken of UTF-8 `data`, as 64-bit numbers."""
        if self.scanner is None:
            from .backtracking import pretokens_of

            pretokens = pretokens_of(self.patterns, bytes(data).decode("utf-8", "surrogateescape"))
            sizes = (len(pretoken.encode("utf-8", "surrogateescape")) for pretoken in pretokens)
            return array("Q", itertools.accumulate(sizes))
        return _ends(self.scanner, data)

    def warn_of_long_pretokens(self, text: bytes) -> None:
        """Warn, once in a process, if a pattern that has no name leaves a pretoken of more than LONG bytes in `text`."""
        own = ", ".join(pattern for pattern in self.patterns if not is_named(pattern))
        if not own or own in WARNED:
            return
        ends = self.ends(text[: 1 << 20])
        longest = max(end - start for start, end in zip([0, *ends], ends, strict=False))
        if longest > LONG:
            _warn_once(
                own,
                f"leaves a pretoken of {longest:,} bytes. A pattern should cut text into words, otherwise few tokens can be learned. "
                "Check it, or use the name of a pattern, such as cl100k.",
            )

    def split(self, text: str) -> list[str]:
        """Return the pretokens of `text`."""
        try:
            data = text.encode()
        except UnicodeEncodeError:  # lone surrogates, which UTF-8 cannot encode
            from .backtracking import pretokens_of

            return pretokens_of(self.patterns, text)
        return [data[a:b].decode() for a, b in itertools.pairwise([0, *self.ends(data)])]
