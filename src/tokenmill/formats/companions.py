"""The files that tokenmill adds to a vocabulary: tokenmill.json, and the events of a Picky vocabulary with their counts.

.tiktoken contains only tokens. merges.txt and .ddtok contain no split pattern and no special tokens. tokenizer.json has
patterns in another dialect. The companion of such a file contains the rest: `tokenmill.json` in the same folder, or
`NAME.tiktoken.json` for NAME.tiktoken. It names the SHA-256 of its file, and is ignored for any other.

The events of a Picky vocabulary are in the folder of its tokenizer.json: merges and removals in training order, then
superwords. They are text, readable and easy to compare.

    tokenmill events 1
    sha256 <of all lines below>
    tokens 1024
    m 104 101 256
    m 256 121 257
    r 256
    s 257 258 260

"m LEFT RIGHT NEW" is a merge, "r ID" a removal, "s LEFT RIGHT NEW" a merge of whole pretokens. `tokens` is the number of
ids, those of removed tokens included, whose bytes follow from the merges.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from ..vocabulary import AddedToken, Normalization, Vocabulary
from ..vocabulary.validation import EventError, VocabularyError
from ..vocabulary.vocabulary import packed_vocabulary
from .file_content import MAX_ID, Json, decode_utf8, fail, lines_of, parse_json, read_beside, show

NAME = "tokenmill.json"
EVENTS = "events.txt"
EVENT_COUNTS = "event_counts.txt"
_FORMAT = "tokenmill vocabulary"
_VERSION = 1
_FIELDS = ("order", "whole_pretokens", "alphabet", "unknown", "fuse_unknown", "split_patterns", "byte_tokens")
_TYPES = [str, int, bool, bool, bool, bool, bool]  # of the fields of an AddedToken
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")  # in the order of tokenizer.json
_COUNTS_TITLE = "tokenmill event counts 1"
_TITLE = "tokenmill events 1"
_FIRST_EVENT = 4  # the line of the first event
_TOKENS = re.compile(r"tokens ([0-9]{1,8})")
_EVENT = re.compile(r"[ms] ([0-9]{1,8}) ([0-9]{1,8}) ([0-9]{1,8})|r ([0-9]{1,8})")
_MAX_BYTES = 1 << 28  # of all tokens: each event can double the longest token


def companion_bytes(vocabulary: Vocabulary, main: bytes) -> bytes:
    """Return the companion of the file whose content is `main`, as JSON."""
    import json

    root: dict[str, Any] = {"format": _FORMAT, "version": _VERSION, "sha256": hashlib.sha256(main).hexdigest()}
    root |= {name: getattr(vocabulary, name) for name in _FIELDS} | vocabulary.normalization._asdict()
    root["decode_only"] = {str(id): token.hex() for id, token in vocabulary.decode_only}
    root["added_tokens"] = [token._asdict() for token in vocabulary.added_tokens]
    if vocabulary.refine is not None:
        root["refine"] = vocabulary.refine
    root["check"] = _check(root)
    return (json.dumps(root, ensure_ascii=False, indent=2) + "\n").encode()


def _check(root: dict[str, Any]) -> str:
    """Return the SHA-256 of the members other than "check", which detects damage and incomplete edits."""
    import json

    rest = {key: value for key, value in root.items() if key != "check"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


class Companion(NamedTuple):
    """The content of a companion: the order of the vocabulary, and the fields that the main file lacks."""

    order: str
    whole_pretokens: bool
    fields: dict[str, Any]

    def complete(self, vocabulary: Vocabulary, **changes: Any) -> Vocabulary:
        """Return a vocabulary with the fields of this file. changes: fields from its events file, if it has one.

        A vocabulary of ranks that was written as merges becomes one of ranks again. One of merges that was written as
        ranks stays one of ranks: the ids are the same.
        """
        order = changes.get("order", vocabulary.order)
        if self.order == "ranks" and order == "merges":
            kept = {name: getattr(vocabulary, name) for name in ("config", "notes", "template")}
            vocabulary, order = packed_vocabulary(vocabulary.packed, split_patterns=(), **kept), "ranks"
        if order != "events":  # the main file has the remaining tokens of a Picky vocabulary
            changes["refine"] = None
        if self.order in (order, "ranks"):
            changes["whole_pretokens"] = self.whole_pretokens
        return vocabulary.replace(**self.fields | changes)


def read_companion(path: Path, main: bytes) -> Companion | None:
    """Return the companion at `path` of the file whose content is `main`; None if it is missing or of another file."""
    data = read_beside(path)
    if data is None:
        return None
    root = parse_json(data, str(path))
    if root["format"].value != _FORMAT or root["sha256"].value != hashlib.sha256(main).hexdigest():
        return None
    if root["version"].value != _VERSION:
        root["version"].fail(
            f"version {root['version'].value!r}; this tokenmill reads version {_VERSION}. Install a newer tokenmill."
        )
    if root["check"].value != _check(root.value):
        root["check"].fail("damaged: its SHA-256 is not that of the rest. Delete the file to read without it.")
    fields = {name: root[name].value for name in ("alphabet", "unknown", "fuse_unknown", "refine")}
    for name in ("split_patterns", "byte_tokens"):
        fields[name] = tuple(root[name].expect(list))
    steps = tuple(tuple(step) if isinstance(step, list) else step for step in root["normalizers"].expect(list))
    fields["normalization"] = Normalization(steps, *(root[name].value for name in Normalization._fields[1:]))
    pairs = root["decode_only"].items()
    fields["decode_only"] = tuple((int(id), bytes.fromhex(token.expect(str))) for id, token in pairs)
    fields["added_tokens"] = tuple(added_token(item) for item in root["added_tokens"])
    return Companion(root["order"].expect(str), root["whole_pretokens"].expect(bool), fields)


def added_json(token: AddedToken) -> dict[str, Any]:
    """Return an added token as tokenizer.json has it."""
    return {name: getattr(token, name) for name in ("id", "content", *FLAGS)}


def added_token(item: Json) -> AddedToken:
    """Return the added token at `item`, in a companion or a tokenizer.json."""
    if isinstance(item.value, dict):
        fields: list[Any] = [*map(item.value.get, AddedToken._fields)]
        if [*map(type, fields)] == _TYPES and 0 <= fields[1] <= MAX_ID:  # fast, for nearly all
            return AddedToken._make(fields)
    id = item["id"].expect(int)
    if not 0 <= id <= MAX_ID:
        item["id"].fail(f"the id {id} is not from 0 to {MAX_ID}")
    return AddedToken(item["content"].expect(str), id, **{flag: item.get(flag, bool, False) for flag in FLAGS})


def files_beside(vocabulary: Vocabulary, main: bytes) -> dict[str, bytes]:
    """Return the files by name for a tokenizer.json whose content is `main`. That of event counts names the SHA-256 of the events."""
    files = {NAME: companion_bytes(vocabulary, main)}
    if len(vocabulary.event_counts):
        lines = [f"{a} {b}" if b else str(a) for a, b in vocabulary.event_counts.tolist()]
        files[EVENT_COUNTS] = "\n".join([_COUNTS_TITLE, f"sha256 {_digest(vocabulary)}", *lines, ""]).encode()
    if vocabulary.order == "events":
        files[EVENTS] = events_bytes(vocabulary)
    return files


def events_bytes(vocabulary: Vocabulary) -> bytes:
    """Return the content of the events file of a Picky vocabulary."""
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
    """Return `vocabulary`, read from the tokenizer.json, with the events in `data`, its removed tokens and order "events".

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
        fail(file, "", f"its superwords need the split pattern in {NAME}, which is missing or of another tokenizer")
    count = _TOKENS.fullmatch(lines[0] if lines else "")
    if count is None or int(count[1]) > MAX_ID + 1:
        fail(file, "line 3", f"expected 'tokens N', found {show(lines[0] if lines else '')}")
    tokens = _tokens_of_events(rows, int(count[1]), vocabulary, file)
    n_events = len(rows) - n_superwords
    try:
        completed = (complete or Vocabulary.replace)(
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
    for id, (token, listed) in enumerate(zip_longest(tokens, vocabulary.tokens)):
        present = None if id in completed.removed else token
        if present != listed:
            merged = "none" if present is None else show(present)
            what = f"they make {merged} the token {id}, and there it is {show(listed)}"
            fail(file, "", f"the events do not belong to tokenizer.json: {what}")
    return completed


def _tokens_of_events(
    rows: list[tuple[int, int, int]], n: int, vocabulary: Vocabulary, file: str
) -> list[bytes | None]:
    """Return the bytes of all tokens by id, removed ones included; None for unused ids. n: the least number of ids."""
    merged = {new for _, right, new in rows if right >= 0}
    tokens = {id: token for id, token in enumerate(vocabulary.tokens) if token is not None and id not in merged}
    size = 0
    for line, (left, right, new) in enumerate(rows, _FIRST_EVENT):
        if right < 0 or new in tokens:
            continue
        for id in (left, right):
            if id not in tokens:
                fail(file, f"line {line}", f"the token {id} is not there: no earlier event makes it")
        size += len(tokens[left]) + len(tokens[right])
        if size > _MAX_BYTES:
            fail(file, f"line {line}", f"the tokens up to here have more than {_MAX_BYTES >> 20} MiB")
        tokens[new] = tokens[left] + tokens[right]
    return [tokens.get(id) for id in range(max(n, len(vocabulary.tokens)))]


def parse_counts(data: bytes, vocabulary: Vocabulary) -> list[tuple[int, int]]:
    """Return the event counts of `vocabulary`; none if the file is damaged or of other events, since no id depends on it."""
    lines = data.decode("ascii", "replace").splitlines()
    if lines[:2] != [_COUNTS_TITLE, f"sha256 {_digest(vocabulary)}"] or len(lines) != len(vocabulary.events) + 2:
        return []
    numbers = [line.partition(" ") for line in lines[2:]]
    if not all(a.isdecimal() and (b or "0").isdecimal() and len(a) < 20 > len(b) for a, _, b in numbers):
        return []
    return [(int(a), int(b or 0)) for a, _, b in numbers]


def _digest(vocabulary: Vocabulary) -> str:
    return hashlib.sha256(vocabulary.events.astype("<i4").tobytes()).hexdigest()
