"""The transducer, laid out for the byte shuffles of _simd_scan.h.

Classes that every state treats alike share one column. Only some states are possible right after a character of a
column; the vector holds a state's number among those. Each pair of columns (of the last character, of this byte) has a
table of 16 bytes, from the number of the old state to the number of the new one, with the action in the high half. The
scanner builds tables for two bytes at a time from these.
"""

from __future__ import annotations

from .alphabet import Alphabet
from .tables import SimdTables
from .transducer import REWIND, Transducer

MOST_COLUMNS = 32  # there are columns ** 3 tables, so a table number takes 15 bits
MOST_STATES = 8  # after one column, so a state number takes 3 bits


def make_simd_tables(transducer: Transducer, alphabet: Alphabet) -> SimdTables | None:
    """The tables of a transducer, or None if it needs too many columns or states."""
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

    for before, states in enumerate([*possible, [0]]):  # the last is the start of the text, as the column `following`
        for here, column in enumerate(columns):
            targets = [column[state] for state in states]
            fill(before, here, [(0 if a == REWIND else number[here][s]) | a << 4 for s, a in targets])
        fill(before, following, list(range(MOST_STATES)))
        fill(before, end, [(transducer.ends[state] | 1) << 4 for state in states])
    table = bytes(column_of).ljust(256, b"\0")
    return SimdTables(
        end + 1, bytes(tables), alphabet.ascii.translate(table), alphabet.pages.translate(table),
        column_of[alphabet.invalid], following, end,
    )  # fmt: skip
