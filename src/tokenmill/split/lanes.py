"""The transducer, laid out for the byte shuffles of _lanes.h.

Two classes that every state treats alike are one column. Right after a character of a column only some states are
possible; a state's number among those is what the vector holds. For each pair of columns (that of the last character,
that of this byte) there is a table of 16 bytes: from the number of the state before to the number of the state after,
with the action in the high half. The scanner makes tables for two bytes at once out of these.
"""

from __future__ import annotations

from dataclasses import dataclass

from .alphabet import Alphabet
from .transducer import REWIND, Transducer

__all__ = ["Lane", "make_lane"]

MOST_COLUMNS = 32  # so that the number of a table, of which there are columns ** 3, takes 15 bits
MOST_STATES = 8  # after one column, so that a number takes 3 bits


@dataclass(frozen=True, slots=True)
class Lane:
    """steps: columns * columns tables of 16 bytes. pages, invalid: as in Alphabet, with columns for classes. ascii: the columns of
    the ASCII characters, from the 17th on as the difference (xor) to the one 16 before. next, end: the columns of a
    character's later bytes (and, as the last one, of the start of the text) and of the end of the text."""

    columns: int
    steps: bytes
    ascii: bytes
    pages: bytes
    invalid: int
    next: int
    end: int


def make_lane(transducer: Transducer, alphabet: Alphabet) -> Lane | None:
    """The lane's tables, or None where a pattern needs too many columns or states."""
    steps = transducer.steps
    columns: dict[tuple, int] = {}
    column_of = [columns.setdefault(tuple(row[c] for row in steps), len(columns)) for c in range(alphabet.size)]
    following, end = len(columns), len(columns) + 1
    possible = [sorted({state for state, action in column if action != REWIND}) for column in columns]
    if end >= MOST_COLUMNS or max(map(len, possible)) > MOST_STATES:
        return None
    number = [{state: i for i, state in enumerate(states)} for states in possible]

    tables = bytearray((end + 1) ** 2 * 16)

    def fill(before: int, here: int, cells: list[int]) -> None:
        at = (before * (end + 1) + here) * 16
        tables[at : at + len(cells)] = bytes(cells)

    for before, states in enumerate([*possible, [0]]):  # behind them, as the column `following`: the start of the text
        for here, column in enumerate(columns):
            targets = [column[state] for state in states]
            fill(before, here, [(0 if a == REWIND else number[here][s]) | a << 4 for s, a in targets])
        fill(before, following, list(range(MOST_STATES)))
        fill(before, end, [(transducer.ends[state] | 1) << 4 for state in states])
    table = bytes(column_of).ljust(256, b"\0")
    ascii = alphabet.ascii.translate(table)
    return Lane(
        end + 1, bytes(tables), bytes(a ^ b for a, b in zip(ascii, bytes(16) + ascii, strict=False)), alphabet.pages.translate(table),
        column_of[alphabet.invalid], following, end,
    )  # fmt: skip
