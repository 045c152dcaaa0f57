"""The rules that every Vocabulary keeps, checked when one is made. Whatever breaks a rule is a FormatError.

All checks together take about 40 ms for 200,000 tokens, and Ctrl-C interrupts them.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from ..errors import FormatError
from .patterns import PATTERNS

if TYPE_CHECKING:
    import numpy as np

    from .vocabulary import AddedToken

__all__ = [
    "MAX_ID",
    "NORMALIZERS",
    "EventError",
    "check_added_tokens",
    "check_choice",
    "checked_events",
    "checked_patterns",
    "checked_tokens",
    "removed_tokens",
    "show",
]

MAX_ID = (1 << 31) - 1  # ids are int32 in the array of events
NORMALIZERS = ("NFC", "NFD", "NFKC", "NFKD")
_STEP = 1 << 16  # rows between two chances for Ctrl-C
_MAX_SHOWN = 60
_Tokens = tuple[bytes | None, ...]


class EventError(FormatError):
    """A FormatError about one event. `event` is its index, from which a file reader tells the line."""

    def __init__(self, event: int, what: str):
        super().__init__(f"event {event}: {what}")
        self.event, self.what = event, what


def show(value: object) -> str:
    """`value` for a message, cut short."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def check_choice(name: str, value: object, choices: Collection[object]) -> None:
    if value not in choices:
        raise FormatError(f"{name} is {show(value)}; expected one of {', '.join(map(str, choices))}")


def checked_patterns(patterns: Iterable[str]) -> tuple[str, ...]:
    """The split patterns as regular expressions: a name becomes the pattern it stands for.

    >>> checked_patterns(["whitespace"])
    ('\\\\s\\\\S*+|\\\\S++',)
    """
    if isinstance(patterns, str):
        raise FormatError(f"split_patterns is the string {show(patterns)}; expected a tuple of patterns")
    found = []
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern:
            raise FormatError(f"the split pattern {show(pattern)} is not a name or a regular expression")
        found.append(PATTERNS.get(pattern, pattern))
    return tuple(found)


def checked_tokens(tokens: Iterable[bytes | None], distinct: bool) -> _Tokens:
    """The tokens as a tuple of bytes or None. distinct: no token may occur twice."""
    tokens = tuple(tokens)
    kinds = set(map(type, tokens)) - {bytes, type(None)}
    if kinds:
        id = next(id for id, token in enumerate(tokens) if type(token) in kinds)
        raise FormatError(f"the token with the id {id} is {show(tokens[id])}; expected bytes or None")
    if b"" in tokens:
        raise FormatError(f"the token with the id {tokens.index(b'')} is empty; an unused id is None")
    if distinct and len(seen := set(tokens)) - (None in seen) < len(tokens) - tokens.count(None):
        ids: dict[bytes, int] = {}
        for id, token in enumerate(tokens):
            if token is not None and ids.setdefault(token, id) != id:
                raise FormatError(f"the token {show(token)} occurs twice, with the ids {ids[token]} and {id}")
    return tokens


def checked_events(events: Any, order: str, tokens: _Tokens) -> np.ndarray:
    """The events as a read-only int32 array of shape (n, 3). Each row fits `order` and spells the token it names."""
    import numpy as np

    try:
        rows = np.asarray(events)
    except ValueError:
        rows = np.empty(1, object)
    if rows.size == 0:
        rows = np.empty((0, 3), np.int32)
    if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind not in "iu":
        raise FormatError(
            f"the events are an array of shape {rows.shape} and type {rows.dtype}; expected integers of shape (n, 3)"
        )
    if order == "ranks" and len(rows):
        raise FormatError(f"a vocabulary of order 'ranks' has {len(rows)} events; expected none")
    _check_ids(rows, order, tokens)
    rows = np.array(rows, np.int32, order="C")
    _check_spelling(rows, tokens)
    if order == "merges":
        _check_pairs(rows)
    rows.flags.writeable = False
    return rows


def _check_ids(rows: np.ndarray, order: str, tokens: _Tokens) -> None:
    """Every id in `rows` is that of a token; -1 stands only in the removals of order "events"."""
    import numpy as np

    known = np.fromiter((token is not None for token in tokens), bool, len(tokens))
    removal = (rows[:, 1] == -1) & (rows[:, 2] == -1) if order == "events" else np.zeros(len(rows), bool)
    inside = (rows >= 0) & (rows < len(tokens))
    inside[inside] = known[rows[inside]]
    inside[removal, 1:] = True
    wrong = np.flatnonzero(~inside.all(axis=1))
    if len(wrong):
        n = int(wrong[0])
        column = int(np.flatnonzero(~inside[n])[0])
        row = tuple(rows[n].tolist())
        raise EventError(n, f"{row} names the id {row[column]}, and no token has it")


def _check_spelling(rows: np.ndarray, tokens: _Tokens) -> None:
    """The parts of every merge spell the token that it makes."""
    for start in range(0, len(rows), _STEP):
        part = rows[start : start + _STEP]
        left, right, new = part[part[:, 1] >= 0].T.tolist()
        get = tokens.__getitem__
        joined = map(operator.add, map(get, left), map(get, right))
        if not all(map(operator.eq, joined, map(get, new))):
            for n, (a, b, c) in enumerate(part.tolist(), start):
                if b >= 0 and get(a) + get(b) != get(c):
                    what = f"merges {show(get(a))} ({a}) and {show(get(b))} ({b}) into {show(get(c))} ({c})"
                    raise EventError(n, f"{what}, which is not the two joined")


def _check_pairs(rows: np.ndarray) -> None:
    """No pair is listed twice."""
    import numpy as np

    pairs = (rows[:, 0].astype(np.int64) << 32) | rows[:, 1]
    _, first, place = np.unique(pairs, return_index=True, return_inverse=True)
    again = np.flatnonzero(first[place] != np.arange(len(pairs)))
    if len(again):
        n = int(again[0])
        raise EventError(n, f"the pair {tuple(rows[n, :2].tolist())} is merged already by event {first[place[n]]}")


def removed_tokens(rows: np.ndarray, tokens: _Tokens, apart: Collection[int]) -> frozenset[int]:
    """Replay the merges and removals of order "events": parts exist before what is made of them.

    apart: ids of tokens that need no merge, although they are long. Returns the ids that are removed in the end.
    """
    made = set(rows[rows[:, 1] >= 0, 2].tolist())
    present = [token is not None for token in tokens]
    for id in made:
        present[id] = False
    for start in range(0, len(rows), _STEP):
        for n, (left, right, new) in enumerate(rows[start : start + _STEP].tolist(), start):
            if not present[left] or not (right < 0 or present[right]):
                id = right if present[left] else left
                raise EventError(n, f"the token {id} is not there: no earlier event made it, or one removed it")
            if right >= 0:
                present[new] = True
            elif left in made:
                present[left] = False
            else:
                raise EventError(n, f"the token {left} is removed, and no merge makes it")
    for id, token in enumerate(tokens):
        if token is not None and len(token) > 1 and id not in made and id not in apart and not _is_character(token):
            raise FormatError(f"no event makes the token {show(token)} (id {id}); the last events may be missing")
    return frozenset(id for id in made if not present[id])


def _is_character(token: bytes) -> bool:
    return len(token) <= 4 and len(token.decode("utf-8", "replace")) == 1


def check_added_tokens(added_tokens: Iterable[AddedToken]) -> None:
    """Each added token has text that a file can hold, of its own, and an id in range. Two may share an id."""
    contents: set[str] = set()
    for token in added_tokens:
        content, id = token.content, token.id
        if not isinstance(content, str) or not content:
            raise FormatError(f"the added token {show(content)} is not a text")
        if type(id) is not int or not 0 <= id <= MAX_ID:
            raise FormatError(f"the id {show(id)} of the added token {show(content)} is not from 0 to {MAX_ID}")
        if content in contents:
            raise FormatError(f"the added token {show(content)} occurs twice")
        if any("\ud800" <= character <= "\udfff" for character in content):
            raise FormatError(f"the added token {show(content)} is not Unicode text: it holds a lone surrogate")
        contents.add(content)


