"""From a vocabulary to the kernel that encodes with it."""

from __future__ import annotations

from array import array
from typing import Any

from ..errors import UsageError
from ..split import Splitter
from ..vocabulary import Vocabulary
from ._build_cy import list_merger, rank_merger, token_cache
from ._encode_cy import Encoder
from ._events_cy import event_merger

__all__ = ["MOST_TOKENS", "TextEncoder", "check_size"]

MOST_TOKENS = 2**21 - 258  # the pair table has 21 bits for an id, and 257 ids of its own


def check_size(vocabulary: Vocabulary) -> None:
    """Raises UsageError for a vocabulary with more tokens than can be encoded with."""
    if len(vocabulary.tokens) > MOST_TOKENS:
        raise UsageError(
            f"the vocabulary has {len(vocabulary.tokens):,} tokens; at most {MOST_TOKENS:,} can be encoded with"
        )


class TextEncoder:
    """Encodes text: the kernel with what it is made of.

    simple: the kernel takes text with added tokens in it; else it must be cut into sections before.
    """

    def __init__(self, vocabulary: Vocabulary, cache_bytes: int):
        self.splitter = Splitter(*vocabulary.split_patterns)
        self.scanner = self.splitter.scanner
        self.simple = self.scanner is not None
        merger, cache = _merger(vocabulary)
        if not vocabulary.whole_pretokens:
            cache = token_cache(merger, ())
        elif cache is None:
            cache = token_cache(merger, vocabulary.tokens, vocabulary.removed)
        self.kernel = Encoder(merger, cache, self.scanner, max(len(vocabulary.tokens), vocabulary.n_vocab), cache_bytes)

    def encode(self, text: str | bytes) -> list[int]:
        """The ids of text without added tokens. Raises UnicodeEncodeError where it has lone surrogates."""
        return self.kernel.encode(text, None, None, self._ends(text))

    def encode_to_ids(self, text: str | bytes) -> Any:
        """The same as an array of unsigned 32-bit integers that has the buffer protocol."""
        return self.kernel.encode_to_ids(text, None, None, self._ends(text))

    def reach(self, data: bytes, start: int, most: int) -> tuple[int, int, list[int]]:
        """How far `most` ids of the text data[start:] take it: Encoder.reach."""
        if self.simple:
            return self.kernel.reach(data, start, most)
        ids = self.encode(data[start:])
        return (0, start, ids) if len(ids) > most else (len(ids), len(data), [])

    def _ends(self, text: str | bytes) -> array[int] | None:
        if self.scanner is not None:
            return None
        return self.splitter.ends(text.encode() if isinstance(text, str) else text)


def _merger(vocabulary: Vocabulary) -> tuple[Any, Any]:
    """The merger, and the cache of all tokens if it was made on the way."""
    tokens = vocabulary.tokens
    if vocabulary.order == "ranks":
        return rank_merger(tokens, vocabulary.unknown)
    starts = {token: id for id, token in reversed([*enumerate(tokens)]) if token is not None}
    byte_ids = [starts.get(bytes([i])) for i in range(256)]
    characters = None
    if vocabulary.alphabet == "characters":
        characters = {ord(text): id for token, id in starts.items() if (text := _character(token))}
    if vocabulary.order == "events":
        return event_merger(vocabulary, byte_ids, characters), None
    return list_merger(tokens, vocabulary.events, byte_ids, characters, vocabulary.unknown), None


def _character(token: bytes) -> str | None:
    """The character that `token` is, if it is one; a byte that is no UTF-8 is one too, as surrogateescape has it."""
    if not 0 < len(token) <= 4:
        return None
    text = token.decode("utf-8", "surrogateescape")
    return text if len(text) == 1 else None
