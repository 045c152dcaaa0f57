"""GPT-2's byte alphabet: one printable character for each of the 256 bytes.

Files with tokens as text (tokenizer.json, vocab.json, merges.txt) write a token's bytes with these characters.
Bytes that are printable in Latin-1 stand for themselves; the other 68, in ascending order, are U+0100, U+0101 and so on.

>>> to_text(b" caf\\xc3\\xa9")
'ĠcafÃ©'
"""

from __future__ import annotations

_PRINTABLE = frozenset((*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)))
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]

# The character of each byte.
CHARACTERS = tuple(chr(byte) if byte in _PRINTABLE else chr(0x100 + _OTHERS.index(byte)) for byte in range(256))
_TABLE = dict(enumerate(CHARACTERS))
_BYTES = {character: byte for byte, character in _TABLE.items()}


def to_text(token: bytes) -> str:
    """Return the characters that stand for the bytes of `token`."""
    return token.decode("latin-1").translate(_TABLE)


def to_token(text: str) -> bytes | None:
    """Return the bytes that the characters of `text` stand for; None if one is outside of the alphabet."""
    try:
        return bytes(map(_BYTES.__getitem__, text))
    except KeyError:
        return None
