"""The compiled form of a split pattern."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import NamedTuple, TypeVar

Cell = TypeVar("Cell", bound=Hashable)


class Alphabet(NamedTuple):
    """The classes of characters that a pattern distinguishes, and the tables that map bytes to classes.

    size: the number of classes, 0 to size - 1. `size` itself stands for the end of the text.
    ascii: 128 bytes, the class of each ASCII character.
    index, pages: the class of code point c is pages[index[c >> 7] * 128 + (c & 127)]; index has two-byte numbers.
    invalid: the class of a byte that is not UTF-8.
    """

    size: int
    ascii: bytes
    index: bytes  # type: ignore[assignment]
    pages: bytes
    invalid: int

    def flags(self, classes: int) -> bytes:
        """Return for each code point 1 if its class is one of `classes`, which are bits, else 0."""
        pages = self.pages.translate(bytes(classes >> number & 1 for number in range(256)))
        return b"".join(pages[page * 128 : page * 128 + 128] for page in memoryview(self.index).cast("H"))

    def code_points(self, classes: int) -> list[int]:
        """Return the code points of `classes`, which are bits."""
        return [match.start() for match in re.finditer(b"\1", self.flags(classes))]

    def merged(self, rows: Iterable[Iterable[Cell]]) -> tuple[Alphabet, list[list[Cell]]]:
        """Merge classes with equal columns. Return the smaller alphabet and its rows. rows: a cell for each class."""
        numbers: dict[tuple[Cell, ...], int] = {}
        merged_classes = [numbers.setdefault(column, len(numbers)) for column in zip(*rows, strict=True)]
        table = bytes(merged_classes).ljust(256, b"\0")
        ascii, pages = self.ascii.translate(table), self.pages.translate(table)
        merged = Alphabet(len(numbers), ascii, self.index, pages, table[self.invalid])
        return merged, [list(row) for row in zip(*numbers, strict=True)]


class SimdTables(NamedTuple):
    """The transducer for the SIMD scan, over an alphabet of its own, whose classes are called columns.

    steps: columns * columns tables of 16 bytes. After the columns of the alphabet come two: that of continuation bytes, which as
        the previous column is the start of the text, and that of the end of the text.
    """

    alphabet: Alphabet
    steps: bytes


class Tables(NamedTuple):
    """The tables of a pattern for the scanner. Numbers of two bytes are little-endian.

    alphabet: a row has a cell for each class, and the last for the end of the text. A state is identified by the offset of its
        row: number * (alphabet.size + 1).
    steps (two bytes), actions: the transducer, row after row: the next state, and the cuts up to this character.
        Empty if the transducer would be too large.
    simd: the transducer for the SIMD scan, or None if it does not fit.
    matches (two bytes), accepts: the automaton, row after row: the next state or 0xFFFF, and whether the match may end
        before this character.
    certain: a row for each class: 1 if a pretoken always begins at a character of this class after one of that class, 2 if
        the border between them is neutral (see transducer.neutral_borders), else 0.
    """

    alphabet: Alphabet
    steps: bytes = b""
    actions: bytes = b""
    simd: SimdTables | None = None
    matches: bytes = b""
    accepts: bytes = b""
    certain: bytes = b""
