"""A split pattern, compiled to the tables that the scanner runs on."""

from __future__ import annotations

import contextlib
import functools
from array import array
from collections.abc import Iterable

from .alphabet import NotRegular
from .automaton import DEAD, automaton_of
from .tables import Alphabet, SimdTables, Tables
from .transducer import REWIND, Maker, Transducer, certain_cuts, neutral_borders, sure_states

MOST_COLUMNS = 32  # there are columns ** 3 tables, so a table number takes 15 bits
MOST_STATES = 8  # after one column, so a state number takes 3 bits


@functools.cache
def uncovered(pattern: str) -> str | None:
    """Return the characters that no match contains, if a match begins at every other character of every text; None if unknown.

    Only they are between the matches of any text, and the pattern does not distinguish them.

    >>> uncovered(r"\\p{L}+|\\P{L}"), uncovered(r"\\w+|[^\\w #]"), uncovered(r"\\p{L} ?|\\P{L}x")
    ('', ' #', None)
    """
    try:
        automaton, alphabet = automaton_of(pattern)
    except NotRegular:
        return None
    sure, first = sure_states(automaton), automaton.steps[0]
    gaps = [number for number, state in enumerate(first) if state == DEAD]
    covered = all(state == DEAD or sure[state] for state in first)
    if not covered or len(gaps) > 1 or any(row[number] != DEAD for row in automaton.steps for number in gaps):
        return None
    return "".join(map(chr, alphabet.code_points(1 << gaps[0]))) if gaps else ""


def compile_pattern(pattern: str) -> Tables:
    """Compile a pattern. Raises NotRegular for a pattern that only the `regex` module can run."""
    automaton, alphabet = automaton_of(pattern)
    width = alphabet.size + 1
    matches = packed("an automaton", ([*row, DEAD] for row in automaton.steps), width)
    accepts = bytes(accept >> c & 1 for accept in automaton.accepts for c in range(width))
    tables, neutral = Tables(alphabet), [0] * alphabet.size
    with contextlib.suppress(NotRegular):
        transducer = Maker(automaton).make()
        neutral = neutral_borders(transducer)
        tables = transducer_tables(transducer, alphabet)
    certain = b"".join(
        bytes(cuts >> b & 1 or (borders >> b & 1) << 1 for b in range(width))
        for cuts, borders in zip(certain_cuts(automaton), neutral, strict=True)
    )
    return tables._replace(matches=matches, accepts=accepts, certain=certain)


def transducer_tables(transducer: Transducer, alphabet: Alphabet) -> Tables:
    """Return tables with only a transducer. NotRegular if it has too many states."""
    rows = [[*cells, (0, end)] for cells, end in zip(*transducer, strict=True)]
    steps = packed("a transducer", ([state for state, _ in row] for row in rows), alphabet.size + 1)
    actions = bytes(action for row in rows for _, action in row)
    return Tables(alphabet, steps, actions, make_simd_tables(transducer, alphabet))


def packed(machine: str, rows: Iterable[list[int]], width: int) -> bytes:
    """Return rows of states as offsets of the rows of these states. NotRegular if there are too many."""
    states = [0xFFFF if state == DEAD else state * width for row in rows for state in row]
    if len(states) >= 0xFFFF:
        raise NotRegular(f"{machine} of {len(states) // width} states over {width - 1} classes")
    return array("H", states).tobytes()


def make_simd_tables(transducer: Transducer, alphabet: Alphabet) -> SimdTables | None:
    """Return the transducer, laid out for the byte shuffles of _simd_scan.h; None if it needs too many columns or states.

    Classes with the same steps in every state share one column. Only some states are possible right after a character of a
    column; the vector contains a state's number among those. Each pair of columns (of the last character, of this byte) has a
    table of 16 bytes, from the number of the old state to the number of the new one, with the action in the high half. The
    scanner builds tables for two bytes at a time from these.
    """
    alphabet, rows = alphabet.merged(transducer.steps)
    columns = list(zip(*rows, strict=True))
    possible = [sorted({state for state, action in column if action != REWIND}) for column in columns]
    if len(columns) + 2 > MOST_COLUMNS or max(map(len, possible)) > MOST_STATES:
        return None
    number = [{state: i for i, state in enumerate(states)} for states in possible]

    tables: list[list[int]] = []
    for states in [*possible, [0]]:  # the last is the start of the text, as the column of continuation bytes
        for here, column in enumerate(columns):
            targets = [column[state] for state in states]
            tables.append([(0 if a == REWIND else number[here][s]) | a << 4 for s, a in targets])
        tables.append(list(range(MOST_STATES)))
        tables.append([(transducer.ends[state] | 1) << 4 for state in states])
    after_end: list[list[int]] = [[]] * (len(columns) + 2)
    return SimdTables(alphabet, b"".join(bytes(table).ljust(16, b"\0") for table in tables + after_end))
