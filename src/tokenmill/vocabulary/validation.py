"""The rules of every Vocabulary, checked by its constructor. Each breach is a FormatError.

All checks together take about 50 ms for 200,000 tokens, and Ctrl-C interrupts them.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import FormatError, UsageError

if TYPE_CHECKING:
    import numpy as np

MAX_ID = (1 << 24) - 257  # lists by id have 8 bytes for each; bytes without a token have ids above it
MAX_FILE_ID = (1 << 21) - 1  # in a file: tables by id take memory, so a damaged id must not be a large one
_STEP = 1 << 16  # rows between two checks for Ctrl-C
_MAX_SHOWN = 60
_Tokens = tuple[bytes | None, ...]


class VocabularyError(FormatError):
    """A FormatError without the name of the file, which the reader adds."""


class EventError(VocabularyError):
    """An error about one event. event: its index, from which a reader computes the line."""

    def __init__(self, event: int, what: str):
        super().__init__(f"event {event}: {what}")
        self.event, self.what = event, what


def show(value: object) -> str:
    """Return the repr of `value` for a message, at most about 60 characters."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def check_choice(name: str, value: object, choices: Collection[object]) -> None:
    if value not in choices or type(value) is int:
        raise VocabularyError(f"{name} is {show(value)}; expected one of {', '.join(map(str, choices))}")


def check_byte_tokens(byte_tokens: Any, decode_only: Any, tokens: _Tokens) -> None:
    """Check that there are 256 byte tokens or none, each of them that byte, and that `decode_only` has no ordinary tokens."""
    if len(byte_tokens) not in (0, 256):
        raise VocabularyError(f"byte_tokens has {len(byte_tokens)} ids; expected 256 or none")
    for byte, id in enumerate(byte_tokens):
        if id is not None and (type(id) is not int or not 0 <= id < len(tokens) or tokens[id] != bytes([byte])):
            raise VocabularyError(f"the token of the byte 0x{byte:02x} has the id {show(id)}, which is another token")
    for id, token in decode_only:
        if type(id) is not int or not 0 <= id <= MAX_ID or type(token) is not bytes:
            raise VocabularyError(f"decode_only contains {show((id, token))}; expected an id and bytes")
        if id < len(tokens) and tokens[id] is not None:
            raise VocabularyError(f"the id {id} is in decode_only, and is that of {show(tokens[id])} too")


def as_tuple(name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise VocabularyError(f"{name} is {show(values)}; expected a tuple")
    return tuple(values)


def check_tokens(tokens: _Tokens, distinct: bool) -> None:
    """Check that every token is bytes, or None for an unused id. distinct: also that none occurs twice."""
    ids: dict[bytes, int] = {}
    for id, token in enumerate(tokens):
        if token is None:
            continue
        if type(token) is not bytes:
            raise VocabularyError(f"the token with the id {id} is {show(token)}; expected bytes or None")
        if not token:
            raise VocabularyError(f"the token with the id {id} is empty; an unused id is None")
        if distinct and ids.setdefault(token, id) != id:
            raise VocabularyError(f"the token {show(token)} occurs twice, with the ids {ids[token]} and {id}")


def checked_events(events: Any, order: str, tokens: _Tokens) -> np.ndarray:
    """Return the events as a read-only int32 array of shape (n, 3). Each row fits `order` and spells the token it names."""
    import numpy as np

    try:
        rows = np.asarray(events)
    except ValueError:
        rows = np.empty(1, object)
    if rows.size == 0:
        rows = np.empty((0, 3), np.int32)
    if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind not in "iu":
        raise VocabularyError(
            f"the events are an array of shape {rows.shape} and type {rows.dtype}; expected integers of shape (n, 3)"
        )
    if order not in ("merges", "scores", "events") and len(rows):
        raise VocabularyError(f"a vocabulary of order {order!r} has {len(rows)} events; expected none")
    if len(rows):  # both checks read all tokens first
        _check_ids(rows, order, tokens)
        _check_spelling(rows, tokens)
    rows = np.array(rows, np.int32, order="C")
    if order in ("merges", "scores"):
        pairs = (rows[:, 0].astype(np.int64) << 32) | rows[:, 1]
        ordered = np.sort(pairs)
        for pair in ordered[1:][ordered[1:] == ordered[:-1]][:1]:
            first, again = np.flatnonzero(pairs == pair)[:2].tolist()
            raise EventError(again, f"the pair {tuple(rows[again, :2].tolist())} is merged already by event {first}")
    rows.flags.writeable = False
    return rows


def _check_ids(rows: np.ndarray, order: str, tokens: _Tokens) -> None:
    """Check that every id in `rows` is that of a token, and that only the removals of order "events" contain -1."""
    import numpy as np

    known = np.fromiter(map(bool, tokens), bool, len(tokens))
    removal = (rows[:, 1] == -1) & (rows[:, 2] == -1) if order == "events" else np.zeros(len(rows), bool)
    inside = (rows >= 0) & (rows < len(tokens))
    inside[inside] = known[rows[inside]]
    inside[removal, 1:] = True
    wrong = np.flatnonzero(~inside.all(axis=1))
    if len(wrong):
        n = int(wrong[0])
        row = tuple(rows[n].tolist())
        raise EventError(n, f"{row} names the id {row[int(inside[n].argmin())]}, and no token has it")


def _check_spelling(rows: np.ndarray, tokens: _Tokens) -> None:
    """Check that both tokens of every merge spell its new token."""
    import numpy as np

    known = np.empty(len(tokens), object)
    known[:] = tokens
    merges = np.flatnonzero(rows[:, 1] >= 0)
    for start in range(0, len(merges), _STEP):
        index = merges[start : start + _STEP]
        left, right, new = known[rows[index].T]
        for n in index[left + right != new][:1].tolist():
            a, b, c = rows[n].tolist()
            what = f"merges {show(tokens[a])} ({a}) and {show(tokens[b])} ({b}) into {show(tokens[c])} ({c})"
            raise EventError(n, f"{what}, which is not their concatenation")


def removed_tokens(rows: np.ndarray, tokens: _Tokens, unmerged: Collection[int | None]) -> frozenset[int]:
    """Return the ids that are removed after all events. VocabularyError for an event with an absent token.

    unmerged: ids that need no merge.
    """
    merged = set(rows[rows[:, 1] >= 0, 2].tolist())
    absent = dict.fromkeys(merged, "no earlier event makes it")
    for n, (left, right, new) in enumerate(rows.tolist()):
        for id in (left, right):
            if id in absent:
                raise EventError(n, f"the token {id} is not there: {absent[id]}")
        if right >= 0:
            absent.pop(new, None)
        elif left in merged:
            absent[left] = "an earlier event removed it"
        else:
            raise EventError(n, f"the token {left} is removed, and no merge makes it")
    for id, token in enumerate(tokens):
        if not token or len(token) == 1 or id in merged or id in unmerged:
            continue
        if len(token) > 4 or len(token.decode("utf-8", "replace")) != 1:  # not a character
            raise VocabularyError(f"no event makes the token {show(token)} (id {id}); the last events may be missing")
    return frozenset(absent)


def check_added_tokens(added_tokens: Iterable[Any]) -> None:
    """Check that each added token has a distinct text that is valid UTF-8, and an id in range. Two may share an id."""
    contents: set[str] = set()
    for token in added_tokens:
        if not hasattr(token, "content"):
            raise VocabularyError(f"added_tokens contains {show(token)}; expected an AddedToken")
        content, id = token.content, token.id
        if problem := _problem_of(content):
            raise VocabularyError(f"the added token {show(content)} {problem}")
        if type(id) is not int or not 0 <= id <= MAX_ID:
            raise VocabularyError(f"the id {show(id)} of the added token {show(content)} is not from 0 to {MAX_ID}")
        if content in contents:
            raise VocabularyError(f"the added token {show(content)} occurs twice")
        contents.add(content)


def _problem_of(text: object) -> str:
    """Return the reason why a text cannot be an added token; "" for a valid one."""
    if not isinstance(text, str):
        return f"is {type(text).__name__}; expected a text (str)"
    if not text:
        return "is empty; it would be found everywhere"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "contains a lone surrogate, which no UTF-8 text can"
    return ""


def checked_special_tokens(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the special tokens as a tuple. UsageError for a text that cannot be one."""
    if isinstance(texts, str | bytes):
        raise UsageError(f"special_tokens is the single text {texts!r}; give a list of texts")
    if isinstance(texts, Mapping):
        raise UsageError("special_tokens is a mapping; give a list of texts: they get the last ids, in that order")
    texts = tuple(texts)
    for text in texts:
        if problem := _problem_of(text):
            raise UsageError(f"the special token {text!r} {problem}")
        if texts.count(text) > 1:
            raise UsageError(f"the special token {text!r} is given {texts.count(text)} times; give each once")
    return texts


def refuse_ordinary(special_tokens: Iterable[str], ordinary: Container[bytes]) -> None:
    """Raise UsageError for a special token that is spelt like an ordinary one: tokenizer.json cannot represent both."""
    for text in special_tokens:
        if text.encode() in ordinary:
            raise UsageError(
                f"the special token {text!r} is spelt like an ordinary token, and tokenizer.json can represent only one of them"
            )
