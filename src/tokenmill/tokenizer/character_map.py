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
from functools import cached_property

from ..errors import FormatError


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
        if len(raw) < 4 + size or size % 4:
            raise FormatError("the character map is cut short")
        self.units = array("I", raw[4 : 4 + size])
        self.replacements = raw[4 + size :]
        self.by_grapheme = kept is None
        self.kept = dict.fromkeys(kept.split("\0") if kept else ())

    def __call__(self, text: str) -> str:
        if not self._begins_key.search(text):
            return text
        return self._by_grapheme(text) if self.by_grapheme else self._by_longest_key(text)

    @cached_property
    def keys(self) -> dict[str, str]:
        """The keys with their replacements."""
        children = self._children()
        found: dict[str, str] = {}
        stack = [(self._offset(self.units[0]), b"")]
        while stack:
            node, key = stack.pop()
            for at in children.get(node, ()):
                longer = key + bytes([node ^ at])
                unit, below = self.units[at], at ^ self._offset(self.units[at])
                if unit >> 8 & 1:
                    start = self.units[below] & 0x7FFFFFFF
                    end = self.replacements.index(b"\0", start)
                    found[longer.decode("utf-8", "replace")] = self.replacements[start:end].decode()
                stack.append((below, longer))
        return found

    def _children(self) -> dict[int, list[int]]:
        """The units that may be children of each node: unit `at` with the label b is one of the node at ^ b."""
        children: dict[int, list[int]] = {}
        for at, unit in enumerate(self.units):
            label = unit & 0x800000FF
            if 0 < label < 256:
                children.setdefault(at ^ label, []).append(at)
        return children

    @staticmethod
    def _offset(unit: int) -> int:
        return unit >> 10 << ((unit & 1 << 9) >> 6)

    @cached_property
    def _begins_key(self) -> re.Pattern[str]:
        return re.compile(f"[{re.escape(''.join({key[0] for key in (*self.keys, *self.kept)}))}]")

    @cached_property
    def _longest(self) -> int:
        return max(map(len, (*self.keys, *self.kept)))

    def _by_longest_key(self, text: str) -> str:
        parts, done = [], 0
        while (match := self._begins_key.search(text, done)) is not None:
            start = match.start()
            parts.append(text[done:start])
            taken = [text[start:end] for end in range(min(len(text), start + self._longest), start, -1)]
            old = next((old for old in taken if old in self.kept), "") if self.kept else ""
            if old:
                parts.append(old)
            else:
                old = next((old for old in taken if old in self.keys), text[start])
                parts.append(self.keys.get(old, old))
            done = start + len(old)
        return "".join([*parts, text[done:]])

    def _by_grapheme(self, text: str) -> str:
        import regex

        return "".join(map(self._grapheme, regex.findall(r"\X", text)))

    def _grapheme(self, grapheme: str) -> str:
        if len(grapheme.encode()) < 6:
            shortest = (self.keys.get(grapheme[:end]) for end in range(1, len(grapheme) + 1))
            if (new := next((new for new in shortest if new is not None), None)) is not None:
                return new
        return "".join(self.keys.get(character, character) for character in grapheme)
