"""Coloured tokens with their ids below, for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

    from ..tokenizer import Tokenizer

# Okabe and Ito's colours, lightened for black text, which people with colour blindness can distinguish.
COLOURS = ("#f5d58a", "#a8d8f0", "#8fd6bd", "#f7f0a0", "#e8bcd6")


def token_label(token: bytes) -> str:
    """A token's bytes with everything visible: signs for white space, \\xHH for bytes that are not complete UTF-8.

    >>> token_label(b" low\\n"), token_label(b"\\xe2\\x82")
    ('·low⏎', '\\\\xe2\\\\x82')
    """
    from ..quality.tables import visible

    return "".join(
        f"\\x{text.lower()}" if kind == "escape" and len(text) == 2 else text for kind, text in visible(token)
    )


def token_view(tok: Tokenizer, ids: list[int], width: int = 100) -> list[Text]:
    """Pairs of lines: the tokens of `ids` on a coloured background, and their ids below, wrapped to `width` columns."""
    from rich.cells import cell_len
    from rich.text import Text

    lines: list[Text] = []
    above, below, used = Text(), Text(), 0
    for position, id in enumerate(ids):
        label = token_label(tok.decode_single_token_bytes(id))
        room = max(cell_len(label), len(str(id)))
        if used and used + room + 1 > width:
            lines += [above, below]
            above, below, used = Text(), Text(), 0
        above.append(label + " " * (room - cell_len(label)), style=f"black on {COLOURS[position % len(COLOURS)]}")
        above.append(" ")
        below.append(str(id).ljust(room + 1), style="dim")
        used += room + 1
    return [*lines, above, below] if used else lines
