"""Tokens for people: with white space and control characters visible, coloured in a terminal and in a notebook."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

# Okabe and Ito's colours, lightened for black text, which people with colour blindness can distinguish.
COLOURS = ("#f5d58a", "#a8d8f0", "#8fd6bd", "#f7f0a0", "#e8bcd6")
_SIGNS = {" ": "·", "\t": "⇥", "\n": "⏎", "\r": "␍", "\u00a0": "⍽", "\u3000": "□"}


def visible(data: bytes) -> list[tuple[str, str]]:
    """`data` as runs of (kind, text), with every character visible.

    kind: "text" as it is; "space" the sign of common white space; "escape" the code of another unprintable character, or
        of a byte that is not in a character.

    >>> visible(b" a\\n\\xff")
    [('space', '·'), ('text', 'a'), ('space', '⏎'), ('escape', 'FF')]
    """
    runs: list[tuple[str, str]] = []
    for character in data.decode("utf-8", "surrogateescape"):
        kind, text = _sign(character)
        if not runs and kind == "text" and unicodedata.combining(character):
            text = "\u25cc" + character  # a combining mark would attach to the preceding text
        if runs and kind == "text" and runs[-1][0] == "text":
            runs[-1] = ("text", runs[-1][1] + text)
        else:
            runs.append((kind, text))
    return runs


def _sign(character: str) -> tuple[str, str]:
    code = ord(character)
    if character in _SIGNS:
        return "space", _SIGNS[character]
    if 0xDC80 <= code <= 0xDCFF:
        return "escape", f"{code - 0xDC00:02X}"
    if character.isprintable():
        return "text", character
    return "escape", f"U+{code:04X}"


def token_label(token: bytes) -> str:
    """A token's bytes with everything visible: signs for white space, \\xHH for bytes that are not complete UTF-8.

    >>> token_label(b" low\\n"), token_label(b"\\xe2\\x82")
    ('·low⏎', '\\\\xe2\\\\x82')
    """
    return "".join(
        f"\\x{text.lower()}" if kind == "escape" and len(text) == 2 else text for kind, text in visible(token)
    )


class TokenView:
    """The `tokens` of `ids`, their bytes, on a coloured background with their ids below: text in a terminal, HTML in a notebook."""

    def __init__(self, ids: Sequence[int], tokens: Iterable[bytes]) -> None:
        self.ids = list(ids)
        self.labels = list(map(token_label, tokens))

    def lines(self, *, width: int = 100) -> list[Text]:
        """Pairs of lines for a terminal, wrapped to `width` columns: the tokens, and their ids below."""
        from rich.cells import cell_len
        from rich.text import Text

        lines: list[Text] = []
        above, below, used = Text(), Text(), 0
        for position, (id, label) in enumerate(zip(self.ids, self.labels, strict=True)):
            room = max(cell_len(label), len(str(id)))
            if used and used + room + 1 > width:
                lines += [above, below]
                above, below, used = Text(), Text(), 0
            above.append(label + " " * (room - cell_len(label)), style=f"black on {COLOURS[position % len(COLOURS)]}")
            above.append(" ")
            below.append(str(id).ljust(room + 1), style="dim")
            used += room + 1
        return [*lines, above, below] if used else lines

    def __repr__(self) -> str:
        return "\n".join(line.plain.rstrip() for line in self.lines())

    def _repr_html_(self) -> str:
        cell = '<span style="display:inline-block;margin:0 3px 4px 0;vertical-align:top;font-family:monospace">'
        tokens = (
            f'{cell}<span style="background:{COLOURS[position % len(COLOURS)]};color:#000;white-space:pre">{escape(label)}'
            f'</span><br><span style="font-size:75%;opacity:.7">{id}</span></span>'
            for position, (id, label) in enumerate(zip(self.ids, self.labels, strict=True))
        )
        return f'<div style="line-height:1.4">{"".join(tokens)}</div>'


ORDERS = {
    "ranks": "by rank: any two adjacent tokens whose bytes are a token, the lowest id first",
    "merges": "by a list of merges, the earliest first",
    "scores": "by scores: any two adjacent tokens whose bytes are a token, the highest score first",
    "events": "by events in training order: merges and removals (Picky BPE)",
    "library": "by the library of the file: tokenizers or sentencepiece",
}
