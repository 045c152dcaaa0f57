"""GPT-2's byte alphabet: one printable character for each of the 256 bytes.

Files that hold tokens as text (tokenizer.json, vocab.json, merges.txt) write a token's bytes with these characters.
Bytes that are printable in Latin-1 stand for themselves; the other 68, in ascending order, are U+0100, U+0101 and so on.

>>> to_text(b" caf\\xc3\\xa9")
'ĠcafÃ©'
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Sequence
from itertools import accumulate

_PRINTABLE = frozenset((*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)))
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]

# The character of each byte.
CHARACTERS = tuple(chr(byte) if byte in _PRINTABLE else chr(0x100 + _OTHERS.index(byte)) for byte in range(256))
_TABLE = dict(enumerate(CHARACTERS))
# The byte of each character as one of Latin-1; a character of Latin-1 outside of the alphabet becomes one beyond.
_BYTES = dict.fromkeys(range(0x100), "\uffff") | {ord(character): chr(byte) for byte, character in _TABLE.items()}


def to_text(token: bytes) -> str:
    """The characters that stand for the bytes of `token`."""
    return token.decode("latin-1").translate(_TABLE)


def tokens_of_texts(texts: Sequence[str]) -> list[bytes | None]:
    """The bytes of each text, all in one pass; None for a text with a character outside of the alphabet."""
    joined = "".join(texts).translate(_BYTES)
    data = joined.encode("latin-1", "replace")
    ends = list(accumulate(map(len, texts)))
    tokens: list[bytes | None] = [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    for outside in re.finditer("[^\0-\xff]", joined):
        tokens[bisect(ends, outside.start())] = None
    return tokens
