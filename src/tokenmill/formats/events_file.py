"""The events of a Picky vocabulary, beside its tokenizer.json: merges and removals in training order, then superwords.

    tokenmill events 1
    sha256 <of all lines below>
    tokens 1024
    m 104 101 256
    m 256 121 257
    r 256
    s 257 258 260

"m LEFT RIGHT NEW" is a merge, "r ID" a removal, "s LEFT RIGHT NEW" a merge of whole pretokens. `tokens` is the number of ids, those of removed tokens included, whose
bytes follow from the merges. Text, so that it can be read and compared.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from itertools import zip_longest

from ..vocabulary import Vocabulary
from ..vocabulary.validation import EventError, VocabularyError
from .file_content import MAX_ID, decode_utf8, fail, lines_of, show
from .tokenmill_json import NAME as COMPANION

_COUNTS_TITLE = "tokenmill event counts 1"
_TITLE = "tokenmill events 1"
_FIRST_EVENT = 4  # its line
_TOKENS = re.compile(r"tokens ([0-9]{1,8})")
_EVENT = re.compile(r"[ms] ([0-9]{1,8}) ([0-9]{1,8}) ([0-9]{1,8})|r ([0-9]{1,8})")
_MAX_BYTES = 1 << 28  # of all tokens: each event can double the longest token


def events_bytes(vocabulary: Vocabulary) -> bytes:
    """The content of the events file of a Picky vocabulary."""
    lines = [f"tokens {len(vocabulary.tokens)}"]
    lines += [
        f"r {left}" if right < 0 else f"m {left} {right} {new}" for left, right, new in vocabulary.events.tolist()
    ]
    lines += [f"s {left} {right} {new}" for left, right, new in vocabulary.superwords.tolist()]
    body = "\n".join([*lines, ""]).encode()
    return f"{_TITLE}\nsha256 {hashlib.sha256(body).hexdigest()}\n".encode() + body


def parse_events(
    data: bytes, file: str, vocabulary: Vocabulary, complete: Callable[..., Vocabulary] | None = None
) -> Vocabulary:
    """`vocabulary`, read from the tokenizer.json beside, with these events, its removed tokens and order "events".

    complete: `Companion.complete`, which sets the other fields; None if there is no companion. Superwords need its split pattern.
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
    n_superwords = 0
    for number, line in enumerate(lines[1:], _FIRST_EVENT):
        event = _EVENT.fullmatch(line)
        if event is None or (n_superwords and line[0] != "s"):
            wanted = "an event, 'm LEFT RIGHT NEW' or 'r ID', or after all events 's LEFT RIGHT NEW'"
            fail(file, f"line {number}", f"expected {wanted}, found {show(line)}")
        n_superwords += line[0] == "s"
        rows.append((int(event[4]), -1, -1) if event[4] else (int(event[1]), int(event[2]), int(event[3])))
    if n_superwords and complete is None:
        fail(
            file, "", f"its superwords need the split pattern in {COMPANION}, which is missing or of another tokenizer"
        )
    count = _TOKENS.fullmatch(lines[0] if lines else "")
    if count is None or int(count[1]) > MAX_ID + 1:
        fail(file, "line 3", f"expected 'tokens N', found {show(lines[0] if lines else '')}")
    tokens = _spelled(rows, int(count[1]), vocabulary, file)
    n_events = len(rows) - n_superwords
    try:
        found = (complete or Vocabulary.replace)(
            vocabulary,
            tokens=tokens,
            order="events",
            events=np.array(rows[:n_events]),
            superwords=np.array(rows[n_events:]),
            whole_pretokens=False,
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
    """The bytes of all tokens by id, removed ones included; None for unused ids."""
    made = {new for _, right, new in rows if right >= 0}
    tokens = {id: token for id, token in enumerate(vocabulary.tokens) if token is not None and id not in made}
    size = 0
    for line, (left, right, new) in enumerate(rows, _FIRST_EVENT):
        if right < 0 or new in tokens:
            continue
        for part in (left, right):
            if part not in tokens:
                fail(file, f"line {line}", f"the token {part} is not there: no earlier event makes it")
        size += len(tokens[left]) + len(tokens[right])
        if size > _MAX_BYTES:
            fail(file, f"line {line}", f"the tokens up to here have more than {_MAX_BYTES >> 20} MiB")
        tokens[new] = tokens[left] + tokens[right]
    return [tokens.get(id) for id in range(max(count, len(vocabulary.tokens)))]


def counts_bytes(vocabulary: Vocabulary) -> bytes:
    """The content of the file of event counts. It names the SHA-256 of the events."""
    lines = [f"{a} {b}" if b else str(a) for a, b in vocabulary.event_counts.tolist()]
    return "\n".join([_COUNTS_TITLE, f"sha256 {_digest(vocabulary)}", *lines, ""]).encode()


def parse_counts(data: bytes, vocabulary: Vocabulary) -> list[tuple[int, int]]:
    """The event counts of `vocabulary`; none if the file is damaged or belongs to other events, since no id depends on it."""
    title, digest, *lines = [*data.decode("ascii", "replace").splitlines(), "", ""]
    lines = lines[:-2]
    if (title, digest) != (_COUNTS_TITLE, f"sha256 {_digest(vocabulary)}") or len(lines) != len(vocabulary.events):
        return []
    numbers = [line.partition(" ") for line in lines]
    if not all(a.isdecimal() and (b or "0").isdecimal() and len(a) < 20 > len(b) for a, _, b in numbers):
        return []
    return [(int(a), int(b or 0)) for a, _, b in numbers]


def _digest(vocabulary: Vocabulary) -> str:
    return hashlib.sha256(vocabulary.events.astype("<i4").tobytes()).hexdigest()
