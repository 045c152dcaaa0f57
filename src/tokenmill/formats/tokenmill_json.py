"""tokenmill.json: what another format cannot hold, in a file beside it that tokenmill reads.

.tiktoken holds tokens only. merges.txt and .ddtok hold no split pattern and no special tokens. tokenizer.json holds
patterns in another dialect. The rest is in `tokenmill.json` in the same folder, or in `NAME.tiktoken.json` beside
NAME.tiktoken. It is called the companion of that file, and names its SHA-256: a companion of another file is not used.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from ..vocabulary import AddedToken, Normalization, Vocabulary
from ..vocabulary.vocabulary import packed_vocabulary
from .file_content import MAX_ID, Json, parse_json, read_beside

NAME = "tokenmill.json"
EVENTS = "events.txt"  # see events_file.py
EVENT_COUNTS = "event_counts.txt"
_FORMAT = "tokenmill vocabulary"
_VERSION = 1
_HELD = ("order", "whole_pretokens", "alphabet", "unknown", "fuse_unknown", "split_patterns", "byte_tokens")
_TYPES = [str, int, bool, bool, bool, bool, bool]  # of the fields of an AddedToken
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")  # in the order of tokenizer.json


def companion_bytes(vocabulary: Vocabulary, main: bytes) -> bytes:
    """The companion of the file whose content is `main`, as JSON."""
    import json

    held: dict[str, Any] = {"format": _FORMAT, "version": _VERSION, "sha256": hashlib.sha256(main).hexdigest()}
    held |= {name: getattr(vocabulary, name) for name in _HELD} | vocabulary.normalization._asdict()
    held["decode_only"] = {str(id): token.hex() for id, token in vocabulary.decode_only}
    held["added_tokens"] = [token._asdict() for token in vocabulary.added_tokens]
    if vocabulary.refine is not None:
        held["refine"] = vocabulary.refine
    held["check"] = _check(held)
    return (json.dumps(held, ensure_ascii=False, indent=2) + "\n").encode()


def _check(held: dict[str, Any]) -> str:
    """SHA-256 of all other members, so that a companion that was damaged or half edited is noticed."""
    import json

    rest = {key: value for key, value in held.items() if key != "check"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


class Companion(NamedTuple):
    """The content of a companion: the vocabulary's order, and the fields that the main file does not hold."""

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
    """The companion file at `path`, made for the file whose content is `main`; None if it is missing or made for another."""
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
    """An added token as tokenizer.json has it."""
    return {name: getattr(token, name) for name in ("id", "content", *FLAGS)}


def added_token(item: Json) -> AddedToken:
    """An added token as companions and tokenizer.json write it."""
    if isinstance(item.value, dict):
        fields: list[Any] = [*map(item.value.get, AddedToken._fields)]
        if [*map(type, fields)] == _TYPES and 0 <= fields[1] <= MAX_ID:  # as nearly all are
            return AddedToken._make(fields)
    id = item["id"].expect(int)
    if not 0 <= id <= MAX_ID:
        item["id"].fail(f"the id {id} is not from 0 to {MAX_ID}")
    return AddedToken(item["content"].expect(str), id, **{flag: item.get(flag, bool, False) for flag in FLAGS})
