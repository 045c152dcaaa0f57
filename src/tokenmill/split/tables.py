"""The compiled form of a split pattern."""

from __future__ import annotations

from typing import NamedTuple


class SimdTables(NamedTuple):
    """The tables of one pattern.

    steps: columns * columns tables of 16 bytes.
    ascii: the columns of the ASCII characters.
    pages, invalid: as in Alphabet, with columns in place of classes.
    next: the column of continuation bytes; as the previous column, the start of the text.
    end: the column of the end of the text.
    """

    columns: int
    steps: bytes
    ascii: bytes
    pages: bytes
    invalid: int
    next: int
    end: int


class Tables(NamedTuple):
    """Everything the scanner needs to run a pattern. Numbers of two bytes are little-endian.

    width: the cells of a row: one for each class, and the last for the end of the text. A state is identified by the
        offset of its row: number * width.
    ascii, index, pages, invalid: map bytes to classes; see Alphabet.
    steps (two bytes), actions: the transducer, row after row: the next state, and what to cut before this character.
        Empty if the transducer would be too large.
    matches (two bytes), accepts: the automaton, row after row: the next state or 0xFFFF, and whether the match may end
        before this character.
    certain: a row for each class: 1 if a pretoken always begins at a character of this class after one of that class, 2 if
        the border between them is neutral (see transducer.neutral_borders), else 0.
    simd: the transducer for the SIMD scan, or None if it does not fit.
    """

    width: int
    ascii: bytes
    index: bytes  # type: ignore[assignment]
    pages: bytes
    invalid: int
    steps: bytes
    actions: bytes
    matches: bytes
    accepts: bytes
    certain: bytes
    simd: SimdTables | None
