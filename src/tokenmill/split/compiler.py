"""A split pattern, compiled to the tables that the scanner runs on."""

from __future__ import annotations

from array import array

from .alphabet import Alphabet, NotRegular
from .automaton import DEAD, Automaton, compile_tree, sets_of
from .composition import transducer_tables
from .syntax import parse
from .tables import Tables
from .transducer import Maker, certain_cuts, sure_states


def automaton_of(pattern: str) -> tuple[Automaton, Alphabet]:
    """The automaton of a pattern and its classes. Raises NotRegular where only the `regex` module can run it."""
    tree = parse(pattern)
    alphabet = Alphabet(sets_of(tree))
    return compile_tree(tree, alphabet), alphabet


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

    transducer = Maker(automaton).make()
    tables = None if transducer is None else transducer_tables(transducer, alphabet)
    steps, actions, simd = (b"", b"", None) if tables is None else (tables.steps, tables.actions, tables.simd)

    certain = certain_cuts(automaton)
    rows = [bytes(following >> b & 1 for b in range(width)) for following in certain]
    return Tables(
        width, alphabet.ascii, alphabet.index, alphabet.pages, alphabet.invalid,
        steps, actions, array("H", matches).tobytes(), bytes(accepts), b"".join(rows), simd,
    )  # fmt: skip
