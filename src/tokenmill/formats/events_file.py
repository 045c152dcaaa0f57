"""The events of a Picky vocabulary, beside its tokenizer.json: merges and removals in training order.

    tokenmill events 1
    sha256 <of all lines below>
    tokens 1024
    m 104 101 256
    m 256 121 257
    r 256

"m LEFT RIGHT NEW" is a merge, "r ID" a removal. `tokens` is the number of ids, those of removed tokens included, whose
bytes follow from the merges. Text, so that it can be read and compared.
"""

from __future__ import annotations

import dataclasses
import hashlib
from itertools import zip_longest

from ..vocabulary import Vocabulary
from ..vocabulary.validation import EventError, VocabularyError
from .file_content import MAX_ID, decode_utf8, fail, lines_of, show

__all__ = ["NAME", "events_bytes", "parse_events"]

NAME = "events.txt"
_TITLE = "tokenmill events 1"
_FIRST_EVENT = 4  # its line
_MAX_BYTES = 1 << 28  # of all tokens: each event can double the longest token


def events_bytes(vocabulary: Vocabulary) -> bytes:
    """The content of the events file of a Picky vocabulary."""
    lines = [f"tokens {len(vocabulary.tokens)}"]
    lines += [
        f"r {left}" if right < 0 else f"m {left} {right} {new}" for left, right, new in vocabulary.events.tolist()
    ]
    body = "\n".join([*lines, ""]).encode()
    return f"{_TITLE}\nsha256 {hashlib.sha256(body).hexdigest()}\n".encode() + body


def parse_events(data: bytes, file: str, vocabulary: Vocabulary) -> Vocabulary:
    """`vocabulary`, read from the tokenizer.json beside, with these events, its removed tokens and order "events".

    FormatError if the file is damaged, if an event is impossible, or if the events do not make the tokens.
    """
    import numpy as np

    head = data.split(b"\n", 2)
    if head[0] != _TITLE.encode():
        fail(file, "line 1", f"expected {_TITLE!r}, found {show(head[0])}: a newer version, or not an events file")
    body = head[2] if len(head) == 3 else b""
    if head[1:2] != [f"sha256 {hashlib.sha256(body).hexdigest()}".encode()]:
        fail(file, "line 2", "the SHA-256 is not that of the lines below: the file is cut short or changed")
    lines = lines_of(decode_utf8(body, file))
    rows = []
    for number, line in enumerate(lines[1:], _FIRST_EVENT):
        kind, *numbers = line.split(" ")
        if {"m": 3, "r": 1}.get(kind) != len(numbers) or not all(
            n.isascii() and n.isdigit() and len(n) < 9 for n in numbers
        ):
            fail(file, f"line {number}", f"expected an event, 'm LEFT RIGHT NEW' or 'r ID', found {show(line)}")
        rows.append((int(numbers[0]), -1, -1) if kind == "r" else (int(numbers[0]), int(numbers[1]), int(numbers[2])))
    count = lines[0].removeprefix("tokens ") if lines else ""
    if not (count.isascii() and count.isdigit() and len(count) < 9 and int(count) <= MAX_ID + 1):
        fail(file, "line 3", f"expected 'tokens N', found {show(lines[0] if lines else '')}")
    tokens = _spelled(rows, int(count), vocabulary, file)
    try:
        found = dataclasses.replace(
            vocabulary, tokens=tuple(tokens), order="events", events=np.array(rows), whole_pretokens=False
        )
    except EventError as error:
        fail(file, f"line {error.event + _FIRST_EVENT}", error.what)
    except VocabularyError as error:
        fail(file, "", str(error))
    for id, (token, held) in enumerate(zip_longest(tokens, vocabulary.tokens)):
        present = None if id in found.removed else token
        if present != held:
            made = "none" if present is None else show(present)
            what = f"they make {made} the token {id}, and there it is {show(held)}"
            fail(file, "", f"the events do not belong to tokenizer.json: {what}")
    return found


def _spelled(rows: list[tuple[int, int, int]], count: int, vocabulary: Vocabulary, file: str) -> list[bytes | None]:
    """The bytes of all tokens by id, removed ones included: those that no event makes, and the others from their parts."""
    made = {new for _, right, new in rows if right >= 0}
    tokens = [None if id in made else token for id, token in enumerate(vocabulary.tokens)]
    tokens += [None] * (count - len(tokens))
    size = 0
    for line, (left, right, new) in enumerate(rows, _FIRST_EVENT):
        if max(left, right, new) >= len(tokens):
            fail(file, f"line {line}", f"an id is not below the number of tokens, {len(tokens)}")
        if right < 0 or tokens[new] is not None:
            continue
        first, second = tokens[left], tokens[right]
        if first is None or second is None:
            id = left if first is None else right
            fail(file, f"line {line}", f"the token {id} is not there: no earlier event makes it")
        size += len(first) + len(second)
        if size > _MAX_BYTES:
            fail(file, f"line {line}", f"the tokens up to here have more than {_MAX_BYTES >> 20} MiB")
        tokens[new] = first + second
    return tokens
