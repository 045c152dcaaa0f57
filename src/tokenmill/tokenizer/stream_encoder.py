"""Encode text as it arrives: ids are given out as soon as no later text can change them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .core import repair

if TYPE_CHECKING:
    from .core import Core
    from .special import Plan

_CHARACTER = 4  # bytes, at most


class StreamEncoder:
    """Turns text into ids as it arrives. The results of all `feed` calls and of `finish`, joined, are those of `encode`.

    Text is held back from the last place on where a pretoken begins whatever follows: mostly a word, or as much as a
    pretoken or a special token is long. A tokenizer whose pattern runs in the regex module, that normalises text, puts a
    space before it, or has added tokens that take in the text beside them, holds back all text until `finish`.

    >>> stream = tok.stream_encoder()
    >>> stream.feed("low low"), stream.feed("er lowest"), stream.finish()
    ([310], [402], [417])
    """

    def __init__(self, core: Core, plan: Plan):
        self._core, self._plan = core, plan
        texts = [token.content for token in core.vocabulary.added_tokens]
        self._splitter = core.splitter_with(texts) if core.whole_texts and core.added.simple else None
        self._margin = _CHARACTER + max((len(text.encode()) for text in texts), default=1)
        self._held = bytearray()
        self._searched = 0  # so many bytes of it have no place to cut
        self._surrogate = ""  # the first half of a pair

    def feed(self, text: str) -> list[int]:
        """Take the next part of the text. Return the ids that are certain now, which may be none.

        Raises SpecialTokenError as `encode` does.
        """
        text = self._surrogate + text
        self._surrogate = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._held += repair(text.removesuffix(self._surrogate)).encode()
        if self._splitter is None:
            return []
        place = self._splitter.certain_cut(self._held, max(0, self._searched - 2 * self._margin))
        if place == 0:
            self._searched = len(self._held)
            return []
        ids = self._core.encode(bytes(memoryview(self._held)[:place]), self._plan)
        del self._held[:place]
        self._searched = len(self._held)
        return ids

    def finish(self) -> list[int]:
        """End the text: return the ids of what was held back, and start again."""
        ids = self._core.encode(bytes(self._held) + repair(self._surrogate).encode(), self._plan)
        self._held, self._searched, self._surrogate = bytearray(), 0, ""
        return ids
