"""The vocabulary: what training makes, what files hold, and what everything else reads."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from .errors import UsageError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["AddedToken", "Event", "Order", "Vocabulary"]

Order = Literal["ranks", "merges", "events"]
Event = tuple[Literal["merge"], int, int, int] | tuple[Literal["remove"], int]


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token matched as a whole string before the text is split into pretokens.

    `special` tokens (control tokens) are matched only where the caller allows them by name; the others are
    matched in any text, as Hugging Face does. The remaining flags have Hugging Face's meaning: `lstrip` and
    `rstrip` swallow white space beside the token, `single_word` matches only between non-word characters,
    `normalized` matches in the text after normalisation rather than before.
    """

    content: str
    id: int
    special: bool = True
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Token bytes by id, the events that build them, the split pattern and the added tokens. Immutable.

    tokens: the bytes of each ordinary token by id; None where an id is unused or belongs to an added token.
        Removed tokens of a Picky vocabulary (never given out) keep their bytes here, at the highest ids, because
        events name them.
    order: how a pretoken is merged.
        "ranks": any two neighbours whose joined bytes are a token merge, the lowest id first (tiktoken).
        "merges": the merges listed in `events`, the earliest first (Hugging Face, plain training).
        "events": merges and removals replayed in training order (Picky BPE).
    events: int32 array of shape (n, 3) in training order: a row (left id, right id, new id) is a merge, a row
        (id, -1, -1) a removal. None where order is "ranks".
    split_pattern: the regular expressions that cut text into pretokens, applied one inside the other. Usually one;
        none means that the text is one pretoken. What lies between two matches is a pretoken too.
    whole_pretokens: a pretoken that is a token becomes that token at once (tiktoken's rule; `ignore_merges` in
        Hugging Face).
    alphabet: "bytes", or "characters" where training began with characters; then `unknown` is the id that stands
        for any character outside of the alphabet.
    normalizers: Unicode normalisations applied to text first, such as ("NFC",).
    add_prefix_space: whether a space is put before a text that does not begin with one; each stretch between two
        added tokens is a text of its own here.
    notes: what the file it was read from says beyond all this, in words, such as a template for chats. No id
        depends on it.
    refine: the threshold T that Picky training removed tokens at, where it is known. No id depends on it; it is what
        training goes on with.
    """

    tokens: tuple[bytes | None, ...]
    split_patterns: tuple[str, ...]
    order: Order = "ranks"
    events: np.ndarray | None = None
    added_tokens: tuple[AddedToken, ...] = ()
    whole_pretokens: bool = True
    alphabet: Literal["bytes", "characters"] = "bytes"
    unknown: int | None = None
    normalizers: tuple[str, ...] = ()
    add_prefix_space: bool = False
    notes: tuple[str, ...] = ()
    refine: float | None = None
    _cache: dict = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if (self.order == "ranks") != (self.events is None):
            raise UsageError(
                f"a vocabulary of order {self.order!r} has {'no events' if self.events is None else 'events'}"
            )

    @property
    def special_tokens(self) -> dict[str, int]:
        """The control tokens: text -> id."""
        return {token.content: token.id for token in self.added_tokens if token.special}

    @property
    def removed(self) -> frozenset[int]:
        """Ids of the tokens that Picky training removed and that did not come back."""
        if "removed" not in self._cache:
            gone: set[int] = set()
            if self.order == "events":
                for left, right, new in self.events.tolist():  # type: ignore[union-attr]
                    if right < 0:
                        gone.add(left)
                    else:
                        gone.discard(new)
            self._cache["removed"] = frozenset(gone)
        return self._cache["removed"]

    @property
    def n_vocab(self) -> int:
        """The highest id that encoding may give, plus one: the rows that an embedding table needs."""
        if "n_vocab" not in self._cache:
            gone = self.removed
            ids = [token.id for token in self.added_tokens]
            ids += [] if self.unknown is None else [self.unknown]
            last = len(self.tokens) - 1
            while last >= 0 and (self.tokens[last] is None or last in gone):
                last -= 1
            self._cache["n_vocab"] = max([*ids, last]) + 1
        return self._cache["n_vocab"]

    def token_bytes(self, id: int) -> bytes | None:
        """The bytes that `id` stands for, added tokens included, or None for an id that stands for nothing."""
        if "added" not in self._cache:
            self._cache["added"] = {token.id: token.content.encode() for token in self.added_tokens}
        if id in self._cache["added"]:
            return self._cache["added"][id]
        return self.tokens[id] if 0 <= id < len(self.tokens) else None

    def event_list(self) -> list[Event]:
        """The events as tuples, ("merge", left, right, new) and ("remove", id); empty for the order "ranks"."""
        if self.events is None:
            return []
        return [("remove", a) if b < 0 else ("merge", a, b, c) for a, b, c in self.events.tolist()]

    def fingerprint(self) -> str:
        """SHA-256 of everything that decides which ids a text gets and which text an id gives, as hex digits."""
        if "fingerprint" not in self._cache:
            lengths = [-1 if token is None else len(token) for token in self.tokens]
            while lengths and lengths[-1] == -1:  # holes at the end mean nothing
                lengths.pop()
            head = {
                "split_patterns": self.split_patterns,
                "order": self.order,
                "whole_pretokens": self.whole_pretokens,
                "alphabet": self.alphabet,
                "unknown": self.unknown,
                "normalizers": self.normalizers,
                "add_prefix_space": self.add_prefix_space,
                "added_tokens": sorted(
                    (t.id, t.content, t.special, t.lstrip, t.rstrip, t.single_word, t.normalized)
                    for t in self.added_tokens
                ),
                "lengths": lengths,
            }
            digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
            for token in self.tokens:
                digest.update(token or b"")
            if self.events is not None:
                digest.update(self.events.astype("<i4").tobytes())
            self._cache["fingerprint"] = digest.hexdigest()
        return self._cache["fingerprint"]
