"""GPT-2's byte alphabet: one printable character for each of the 256 bytes.

Files that hold tokens as text (tokenizer.json, vocab.json, merges.txt) write a token's bytes with these characters.
Bytes that are printable in Latin-1 stand for themselves; the other 68, in ascending order, are U+0100, U+0101 and so on.

>>> to_text(b" caf\\xc3\\xa9")
'ĠcafÃ©'
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

_PRINTABLE = frozenset((*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)))
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]

# The character of each byte.
CHARACTERS = tuple(chr(byte) if byte in _PRINTABLE else chr(0x100 + _OTHERS.index(byte)) for byte in range(256))
_TABLE = dict(enumerate(CHARACTERS))


def to_text(token: bytes) -> str:
    """The characters that stand for the bytes of `token`."""
    return token.decode("latin-1").translate(_TABLE)


def tokens_of_texts(texts: Sequence[str]) -> list[bytes | None]:
    """The bytes of each text, all in one pass; None for a text with a character outside of the alphabet."""
    import numpy as np

    table = np.full(0x100 + len(_OTHERS) + 1, -1, np.int16)
    table[[ord(character) for character in CHARACTERS]] = range(256)
    # "surrogatepass": a lone surrogate in the file is one more character outside of the alphabet, not a crash.
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    values = table[np.minimum(points, len(table) - 1)]
    data = values.astype(np.uint8).tobytes()
    ends = list(accumulate(map(len, texts)))
    tokens: list[bytes | None] = [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    outside = np.flatnonzero(values < 0)
    if len(outside):
        for i in np.unique(np.searchsorted(ends, outside, side="right")).tolist():
            tokens[i] = None
    return tokens
