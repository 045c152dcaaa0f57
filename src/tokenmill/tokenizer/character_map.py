"""The character map of a SentencePiece model (`precompiled_charsmap`): texts of a few characters and what replaces them.

The map is a double array (Darts) of keys, in front of the replacements, which end with a zero byte. At each place the longest
key is replaced.
"""

from __future__ import annotations

import base64
import binascii
import re
from array import array
from collections.abc import Iterator
from functools import lru_cache, partial

from ..errors import FormatError


class CharacterMap:
    """Replaces texts by the map.

    data: the map, in base64.
    kept: texts that stay as they are, with \\0 between them.
    """

    def __init__(self, data: str, kept: str = ""):
        try:
            raw = base64.b64decode(data, validate=True)
        except binascii.Error as error:
            raise FormatError(f"the character map is not base64 ({error})") from error
        size = int.from_bytes(raw[:4], "little")
        if len(raw) < 4 + size or size % 4 or not size:
            raise FormatError("the character map is cut short")
        self.units = array("I", raw[4 : 4 + size])
        self.replacements = raw[4 + size :]
        self.kept = dict.fromkeys(kept.split("\0") if kept else ())
        self._first = lru_cache(1 << 16)(partial(self._next, 0))

    def edits(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield replacements: text[start:end] by another text."""
        starts = "".join(filter(self._first, {*text}))
        if not starts and not self.kept:
            return
        done = 0
        starts += "".join(key[0] for key in self.kept)
        begins_key = re.compile(f"[{re.escape(starts)}]")
        longest = max(map(len, self.kept), default=0)
        while (match := begins_key.search(text, done)) is not None:
            start = match.start()
            candidates = (text[start:end] for end in range(min(len(text), start + longest), start, -1))
            if old := next((old for old in candidates if old in self.kept), ""):
                done = start + len(old)
                continue
            new, done, unit = text[start], start + 1, 0
            for end in range(start, len(text)):
                if not (unit := self._next(unit, text[end])):
                    break
                if (replacement := self._replacement(unit)) is not None:
                    new, done = replacement, end + 1
            if new != text[start:done]:
                yield start, done, new

    def _next(self, unit: int, character: str) -> int:
        """The unit that a character leads to from another, which is 0 at the start of a key; 0 for none."""
        for byte in character.encode("utf-8", "surrogatepass"):
            unit ^= _offset(self.units[unit]) ^ byte
            if not byte or unit >= len(self.units) or self.units[unit] & 0x800000FF != byte:
                return 0
        return unit

    def _replacement(self, unit: int) -> str | None:
        """Return the replacement of the key that ends at a unit; None if none ends there."""
        value = self.units[unit]
        if not value >> 8 & 1:
            return None
        try:
            start = self.units[unit ^ _offset(value)] & 0x7FFFFFFF
            return self.replacements[start : self.replacements.index(b"\0", start)].decode()
        except (IndexError, ValueError):
            raise FormatError("the character map is damaged: a replacement is not there or not UTF-8") from None


def _offset(value: int) -> int:
    return value >> 10 << ((value & 1 << 9) >> 6)
