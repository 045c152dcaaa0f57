"""A split pattern, compiled to the tables that the scanner runs on."""

from __future__ import annotations

import contextlib
from array import array

from .alphabet import NotRegular
from .automaton import DEAD, Automaton, compile_tree
from .syntax import parse
from .tables import Alphabet, SimdTables, Tables
from .transducer import REWIND, Maker, Transducer, certain_cuts, neutral_borders, sure_states

MOST_COLUMNS = 32  # there are columns ** 3 tables, so a table number takes 15 bits
MOST_STATES = 8  # after one column, so a state number takes 3 bits


def automaton_of(pattern: str) -> tuple[Automaton, Alphabet]:
    """The automaton of a pattern and its classes. Raises NotRegular where only the `regex` module can run it."""
    return compile_tree(parse(pattern))


def covers_all_text(pattern: str) -> bool:
    """Whether a non-empty match begins at every position of every text; False if that is not known.

    Other patterns leave text between their matches. tokenmill makes that text a pretoken too; other libraries drop it.

    >>> covers_all_text(r"\\p{L}+|\\P{L}"), covers_all_text(r"\\p{L}+|\\p{N}")
    (True, False)
    """
    try:
        automaton, _ = automaton_of(pattern)
    except NotRegular:
        return False
    sure = sure_states(automaton)
    return all(state != DEAD and sure[state] for state in automaton.steps[0])


def compile_pattern(pattern: str) -> Tables:
    """Compile a pattern. Raises NotRegular for a pattern that only the `regex` module can run."""
    automaton, alphabet = automaton_of(pattern)
    width = alphabet.size + 1
    if len(automaton.steps) * width >= 0xFFFF:
        raise NotRegular(f"an automaton of {len(automaton.steps)} states over {alphabet.size} classes")

    matches: list[int] = []
    accepts = bytearray()
    for row, accept in zip(automaton.steps, automaton.accepts, strict=True):
        matches += [0xFFFF if state == DEAD else state * width for state in row] + [0xFFFF]
        accepts += bytes(accept >> c & 1 for c in range(width))

    tables, neutral = Tables(alphabet), [0] * alphabet.size
    with contextlib.suppress(NotRegular):
        transducer = Maker(automaton).make()
        neutral = neutral_borders(transducer)
        tables = transducer_tables(transducer, alphabet)
    certain = b"".join(
        bytes(cut >> b & 1 or (passing >> b & 1) << 1 for b in range(width))
        for cut, passing in zip(certain_cuts(automaton), neutral, strict=True)
    )
    return tables._replace(matches=array("H", matches).tobytes(), accepts=bytes(accepts), certain=certain)


def transducer_tables(transducer: Transducer, alphabet: Alphabet) -> Tables:
    """Tables that have only a transducer. NotRegular if it has too many states."""
    width = alphabet.size + 1
    if len(transducer.steps) * width >= 0xFFFF:
        raise NotRegular(f"a transducer of {len(transducer.steps)} states over {alphabet.size} classes")
    steps: list[int] = []
    actions = bytearray()
    for cells, end in zip(transducer.steps, transducer.ends, strict=True):
        steps += [state * width for state, _ in cells] + [0]
        actions += bytes([action for _, action in cells] + [end])
    simd = make_simd_tables(transducer, alphabet)
    return Tables(alphabet, array("H", steps).tobytes(), bytes(actions), simd)


def make_simd_tables(transducer: Transducer, alphabet: Alphabet) -> SimdTables | None:
    """The transducer, laid out for the byte shuffles of _simd_scan.h; None if it needs too many columns or states.

    Classes that every state treats alike share one column. Only some states are possible right after a character of a
    column; the vector holds a state's number among those. Each pair of columns (of the last character, of this byte) has a
    table of 16 bytes, from the number of the old state to the number of the new one, with the action in the high half. The
    scanner builds tables for two bytes at a time from these.
    """
    alphabet, first = alphabet.merged(zip(*transducer.steps, strict=True))
    columns = [[row[c] for row in transducer.steps] for c in first]
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
    return SimdTables(alphabet, bytes(tables))
