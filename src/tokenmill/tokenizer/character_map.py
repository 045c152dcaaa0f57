"""The character map of a SentencePiece model (`precompiled_charsmap`): texts of a few characters and what replaces them.

The map is a double array (Darts) of keys, in front of the replacements, which end with a zero byte. SentencePiece replaces the
longest key at each place. Hugging Face tokenizers goes by grapheme: a short one is replaced by what its shortest key gives,
else each character by its own.
"""

from __future__ import annotations

import base64
import binascii
import re
from array import array
from functools import lru_cache, partial

from ..errors import FormatError
from ..vocabulary.lazy import lazy


class CharacterMap:
    """Replaces texts by the map.

    data: the map, in base64.
    kept: texts that stay as they are, with \\0 between them, as in sentencepiece; None to work as tokenizers does.
    """

    def __init__(self, data: str, kept: str | None = None):
        try:
            raw = base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise FormatError(f"the character map is not base64 ({error})") from error
        size = int.from_bytes(raw[:4], "little")
        if len(raw) < 4 + size or size % 4 or not size:
            raise FormatError("the character map is cut short")
        self.units = array("I", raw[4 : 4 + size])
        self.replacements = raw[4 + size :]
        self.by_grapheme = kept is None
        self.kept = dict.fromkeys(kept.split("\0") if kept else ())
        self._first = lru_cache(1 << 16)(partial(self._next, 0))
        self._grapheme = lru_cache(1 << 16)(self._of_grapheme)

    def __call__(self, text: str) -> str:
        if self.by_grapheme and text.isascii() and "\r\n" not in text:  # each character is a grapheme
            return text.translate(self._ascii)
        starts = "".join(filter(self._first, {*text}))
        if not starts and not self.kept:
            return text
        return self._by_grapheme(text) if self.by_grapheme else self._by_longest_key(text, starts)

    def _next(self, at: int, character: str) -> int:
        """The unit that a character leads to from unit `at`, which is 0 at the start of a key; 0 for none."""
        for byte in character.encode("utf-8", "surrogatepass"):
            at ^= self._offset(self.units[at]) ^ byte
            if not byte or at >= len(self.units) or self.units[at] & 0x800000FF != byte:
                return 0
        return at

    def _replacement(self, at: int) -> str | None:
        """What replaces the key that ends at unit `at`; None if none ends there."""
        unit = self.units[at]
        if not unit >> 8 & 1:
            return None
        try:
            start = self.units[at ^ self._offset(unit)] & 0x7FFFFFFF
            return self.replacements[start : self.replacements.index(b"\0", start)].decode()
        except (IndexError, ValueError):
            raise FormatError("the character map is damaged: a replacement is not there or not UTF-8") from None

    @staticmethod
    def _offset(unit: int) -> int:
        return unit >> 10 << ((unit & 1 << 9) >> 6)

    @lazy
    def _ascii(self) -> dict[int, str]:
        return {code: self._of_character(chr(code)) for code in range(128)}

    def _by_longest_key(self, text: str, starts: str) -> str:
        parts, done = [], 0
        starts += "".join(key[0] for key in self.kept)
        begins_key = re.compile(f"[{re.escape(starts)}]")
        longest = max(map(len, self.kept), default=0)
        while (match := begins_key.search(text, done)) is not None:
            start = match.start()
            parts.append(text[done:start])
            taken = (text[start:end] for end in range(min(len(text), start + longest), start, -1))
            if old := next((old for old in taken if old in self.kept), ""):
                parts.append(old)
                done = start + len(old)
                continue
            new, done, at = text[start], start + 1, 0
            for end in range(start, len(text)):
                if not (at := self._next(at, text[end])):
                    break
                if (found := self._replacement(at)) is not None:
                    new, done = found, end + 1
            parts.append(new)
        return "".join([*parts, text[done:]])

    def _by_grapheme(self, text: str) -> str:
        import regex

        return "".join(map(self._grapheme, regex.findall(r"\X", text)))

    def _of_grapheme(self, grapheme: str) -> str:
        at = 0
        if len(grapheme.encode()) < 6:
            for character in grapheme:
                if not (at := self._next(at, character)):
                    break
                if (new := self._replacement(at)) is not None:
                    return new
        return "".join(map(self._of_character, grapheme))

    def _of_character(self, character: str) -> str:
        new = self._replacement(at) if (at := self._first(character)) else None
        return character if new is None else new
