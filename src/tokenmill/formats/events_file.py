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
from typing import NoReturn

from ..vocabulary import Vocabulary
from .reading import MAX_ID, decode_utf8, fail, lines_of, show

__all__ = ["NAME", "events_bytes", "parse_events"]

NAME = "events.txt"
_TITLE = "tokenmill events 1"


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
        fail(file, "line 1", f"expected {_TITLE!r}, found {show(head[0])}: a newer version, or no events file")
    body = head[2] if len(head) == 3 else b""
    if head[1:2] != [f"sha256 {hashlib.sha256(body).hexdigest()}".encode()]:
        fail(file, "line 2", "the SHA-256 is not that of the lines below: cut short, or changed")
    lines = lines_of(decode_utf8(body, file))
    rows = []
    for number, line in enumerate(lines[1:], 4):
        kind, *numbers = line.split(" ")
        if {"m": 3, "r": 1}.get(kind) != len(numbers) or not all(
            n.isascii() and n.isdigit() and len(n) < 9 for n in numbers
        ):
            fail(file, f"line {number}", f"expected an event, 'm LEFT RIGHT NEW' or 'r ID', found {show(line)}")
        rows.append((int(numbers[0]), -1, -1) if kind == "r" else (int(numbers[0]), int(numbers[1]), int(numbers[2])))
    count = lines[0].removeprefix("tokens ") if lines else ""
    if not (count.isascii() and count.isdigit() and len(count) < 9 and int(count) <= MAX_ID + 1):
        fail(file, "line 3", f"expected 'tokens N', found {show(lines[0] if lines else '')}")
    tokens = _replay(rows, int(count), vocabulary, file)
    events = np.array(rows, np.int32).reshape(-1, 3)
    return dataclasses.replace(vocabulary, tokens=tuple(tokens), order="events", events=events, whole_pretokens=False)


def _replay(rows: list[tuple[int, int, int]], count: int, vocabulary: Vocabulary, file: str) -> list[bytes | None]:
    """The bytes of all tokens by id, removed ones included, from the events; checks each event on the way."""
    made = {new for _, right, new in rows if right >= 0}
    tokens: list[bytes | None] = [None] * max(count, len(vocabulary.tokens))
    for id, token in enumerate(vocabulary.tokens):
        if id not in made:
            tokens[id] = token
    present = [token is not None for token in tokens]

    def bad(n: int, what: str) -> NoReturn:
        fail(file, f"line {n + 4}", what)

    for n, (left, right, new) in enumerate(rows):
        if max(left, right, new) >= count:
            bad(n, f"the id {max(left, right, new)} is not below the number of tokens, {count}")
        for id in (left, right):
            if id >= 0 and not present[id]:
                bad(n, f"the token {id} is not there: no earlier event made it, or one removed it")
        if right < 0:
            if left not in made:
                bad(n, f"the token {left} is removed, and no merge makes it")
            present[left] = False
        else:
            joined = tokens[left] + tokens[right]  # type: ignore[operator]
            if tokens[new] is not None and tokens[new] != joined:
                bad(n, f"the merge gives {show(joined)}, and the token {new} is {show(tokens[new])}")
            tokens[new], present[new] = joined, True
    held = [*vocabulary.tokens, *[None] * (len(tokens) - len(vocabulary.tokens))]
    for id, token in enumerate(tokens):
        if (token if present[id] else None) != held[id]:
            found = show(token) if present[id] else "none"
            fail(
                file,
                "",
                f"the events do not belong to tokenizer.json: they make {found} the token {id}, and there it is {show(held[id])}",
            )
    return tokens
