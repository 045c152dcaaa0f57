"""Sets of characters, and the classes that a pattern distinguishes.

A pattern names sets: `\\p{L}`, `[^\\r\\n]`, `x`. Two characters that are members of the same sets are equivalent, so
the automaton works on about ten classes instead of 1.1 million characters. Classes are computed over *atoms*: each ASCII
character is an atom, and so is each Unicode category beyond ASCII, split further where the pattern names single
characters or ranges. A set of atoms is an int, one bit for each.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import operator
import os
import re
import zlib
from array import array
from collections.abc import Iterable

from .tables import Alphabet

MAX = 0x10FFFF
# Bytes that are not UTF-8 are treated as lone surrogates, category Cs, as in Python's "surrogateescape". No character of
# a text has that category, and it is not a letter, a number or white space.
INVALID = 0xDC80

MOST_CLASSES = 250
MOST_SETS = 1000  # named by one pattern; beyond this, finding the classes takes longer than a second
# In the order of their numbers in the tables, which are those of Unicode 16.0.
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()

Ranges = tuple[tuple[int, int], ...]


class NotRegular(Exception):
    """The automaton cannot run the pattern, which may still be a valid regular expression."""


class CharSet:
    r"""A set of characters: an operation and its operands.

    "ranges": inclusive code point ranges that do not overlap.
    "categories": numbers of Unicode categories.
    "not": one set.
    "or", "and": sets.
    "property": a property, by name, that only the `regex` module knows.

    name: the property that it is, as in `\p{name}`.
    """

    __slots__ = ("args", "name", "op")

    def __init__(self, op: str, *args, name: str = ""):
        self.op, self.args, self.name = op, args, name

    @staticmethod
    def chars(*chars: int) -> CharSet:
        return CharSet("ranges", tuple((c, c) for c in chars))

    def __contains__(self, code: int) -> bool:
        if self.op == "ranges":
            return any(low <= code <= high for low, high in self.args[0])
        if self.op == "categories":
            return category(code) in self.args[0]
        if self.op == "property":
            return True  # perhaps
        members = [code in arg for arg in self.args]
        return not members[0] if self.op == "not" else any(members) if self.op == "or" else all(members)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CharSet) and (self.op, self.args) == (other.op, other.args)

    def __hash__(self) -> int:
        return hash((self.op, self.args))

    def leaves(self) -> Iterable[CharSet]:
        if self.op == "property":
            raise NotRegular(f"the property {self.name!r}")
        if self.op in ("ranges", "categories"):
            yield self
        for arg in self.args:
            if isinstance(arg, CharSet):
                yield from arg.leaves()

    def fold(self) -> CharSet:
        """Return the set with every character that differs from a member only in case (simple case folding)."""
        if self.op == "ranges":
            folded = case_fold(self.args[0])
            return self if folded == self.args[0] else CharSet("ranges", folded)
        if self.op == "categories":  # rare: spelled out, because a case orbit may cross categories
            orbits = [
                char for orbit in case_orbits() if any(category(c) in self.args[0] for c in orbit) for char in orbit
            ]
            return CharSet("or", self, CharSet.chars(*sorted(orbits)))
        if self.op == "property":
            return self
        return CharSet(self.op, *(a.fold() for a in self.args))


def table(name: str) -> bytes:
    """Return a table of Unicode's data in this folder, written by make_unicode_tables.py and make_normalization_table.py."""
    with open(f"{os.path.dirname(__file__)}/{name}.zlib", "rb") as file:
        return zlib.decompress(file.read())


@functools.cache
def category_pages() -> tuple[memoryview, bytes]:
    """Return the page number of each 128 code points, and the pages, with one category per code point."""
    data = table("categories")
    return memoryview(data[: 2 * 8704]).cast("H"), data[2 * 8704 :]


def category(code: int) -> int:
    index, pages = category_pages()
    return pages[index[code >> 7] * 128 + (code & 127)]


@functools.cache
def case_orbits() -> tuple[tuple[int, ...], ...]:
    text = table("case_orbits").decode()
    return tuple(tuple(map(ord, group)) for group in text.split(" "))


def case_fold(ranges: Ranges) -> Ranges:
    if all(high < 128 for _, high in ranges):  # most programs need no other and never decode the table
        folded = {c for low, high in ranges for c in range(low, high + 1)}
        folded |= {c ^ 32 for c in folded if chr(c).isalpha()}
        signs = ((0x4B, 0x212A), (0x53, 0x17F))  # Kelvin sign, long s
        folded |= {sign for letter, sign in signs if letter in folded}
        return tuple((c, c) for c in sorted(folded))
    lows = [low for low, _ in ranges]

    def member(c: int) -> bool:
        at = bisect.bisect_right(lows, c) - 1
        return at >= 0 and c <= ranges[at][1]

    more = {(c, c) for orbit in case_orbits() if any(map(member, orbit)) for c in orbit}
    merged: list[tuple[int, int]] = []  # a set's ranges never overlap
    for low, high in sorted({*ranges, *more}):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return tuple(merged)


@functools.cache
def properties() -> dict[str, str]:
    numbers_of = {}
    for line in table("properties").decode().split("\n"):
        names, _, numbers = line.partition(" ")
        for name in names.split("="):
            numbers_of[name.lower().replace("_", "")] = numbers
    return numbers_of


# Long names of categories and their groups, from Unicode's PropertyValueAliases.
GROUPS = {
    "letter": "L", "casedletter": "LC", "l&": "LC", "uppercaseletter": "Lu", "lowercaseletter": "Ll",
    "titlecaseletter": "Lt", "modifierletter": "Lm", "otherletter": "Lo", "mark": "M", "combiningmark": "M",
    "nonspacingmark": "Mn", "spacingmark": "Mc", "enclosingmark": "Me", "number": "N", "decimalnumber": "Nd",
    "digit": "Nd", "letternumber": "Nl", "othernumber": "No", "punctuation": "P", "punct": "P",
    "connectorpunctuation": "Pc", "dashpunctuation": "Pd", "openpunctuation": "Ps", "closepunctuation": "Pe",
    "initialpunctuation": "Pi", "finalpunctuation": "Pf", "otherpunctuation": "Po", "symbol": "S", "mathsymbol": "Sm",
    "currencysymbol": "Sc", "modifiersymbol": "Sk", "othersymbol": "So", "separator": "Z", "spaceseparator": "Zs",
    "lineseparator": "Zl", "paragraphseparator": "Zp", "other": "C", "control": "Cc", "cntrl": "Cc", "format": "Cf",
    "surrogate": "Cs", "privateuse": "Co", "unassigned": "Cn",
}  # fmt: skip
ANY = CharSet("categories", tuple(range(len(CATEGORIES))))
WHITE_SPACE = CharSet("or", CharSet("categories", (22, 23, 24)), CharSet("ranges", ((9, 13), (0x85, 0x85))))
SETS = dict.fromkeys(("whitespace", "space", "wspace"), WHITE_SPACE) | {
    "any": ANY,
    "ascii": CharSet("ranges", ((0, 127),)),
    "assigned": CharSet("not", CharSet("categories", (CATEGORIES.index("Cn"),))),
}


def property_set(name: str) -> CharSet | None:
    """Return the set of `\\p{name}`, or None for a property without tables."""
    kind, _, value = re.sub("[_ -]", "", name.lower()).rpartition("=")
    if kind in ("", "gc", "generalcategory"):
        short = GROUPS.get(value, value).lower()
        names = ("lu", "ll", "lt") if short == "lc" else (short,)
        wanted = tuple(i for i, n in enumerate(CATEGORIES) if n.lower() in names or n[0].lower() in names)
        if wanted:
            return CharSet("categories", wanted)
    if kind == "":
        value = {"alpha": "alphabetic", "lower": "lowercase", "upper": "uppercase"}.get(value, value)
        if value in SETS:
            return SETS[value]
        if value == "alnum":
            return CharSet("or", property_set("alphabetic"), property_set("nd"))
    if kind in ("", "sc", "script") and value in properties():
        bounds = [*itertools.accumulate(int(number, 16) for number in properties()[value].split())]
        return CharSet("ranges", tuple(zip(bounds[::2], bounds[1::2], strict=True)), name=value)
    return None


def cover(sets: list[Ranges]) -> list[tuple[int, int, int]]:
    """Return the stretches beyond ASCII that at least one set covers: start, end, and the covering sets as bits."""
    events: dict[int, int] = {}
    for i, ranges in enumerate(sets):
        for low, high in ranges:
            if high >= 128:
                events[max(low, 128)] = events.get(max(low, 128), 0) ^ (1 << i)
                events[high + 1] = events.get(high + 1, 0) ^ (1 << i)
    cuts, covering, stretches = sorted(events), 0, []
    for low, after in itertools.pairwise(cuts):
        covering ^= events[low]
        if covering:
            stretches.append((low, after, covering))
    return stretches


def evaluate(s: CharSet, leaves: dict[CharSet, int], atoms: int) -> int:
    """Return the atoms of a set, as bits, from those of its leaves."""
    if s.op in ("ranges", "categories"):
        return leaves[s]
    first, *rest = [evaluate(a, leaves, atoms) for a in s.args]
    if s.op == "not":
        return ((1 << atoms) - 1) & ~first
    return functools.reduce(operator.or_ if s.op == "or" else operator.and_, rest, first)


def members(s: CharSet) -> list[int]:
    """Return the code points of a set.

    >>> members(CharSet("ranges", ((97, 99),)))
    [97, 98, 99]
    """
    alphabet, classes = classes_of([s])
    return alphabet.code_points(classes[s])


def classes_of(sets: Iterable[CharSet]) -> tuple[Alphabet, dict[CharSet, int]]:
    """Return the classes that these sets distinguish, and the classes of each set, as bits."""
    distinct = dict.fromkeys((*sets, ANY))  # ANY adds no class, and a pattern may name no set
    if len(distinct) > MOST_SETS:
        raise NotRegular(f"more than {MOST_SETS} sets of characters")
    leaves = dict.fromkeys(leaf for s in distinct for leaf in s.leaves())
    numbered = {leaf: i for i, leaf in enumerate(leaf for leaf in leaves if leaf.op == "ranges")}
    stretches = cover([leaf.args[0] for leaf in numbered])

    # An atom is an ASCII character, or all characters beyond ASCII with one category in the same ranges.
    index, pages = category_pages()
    categories = list(pages[index[0] * 128 :][:128])
    covered = [0] * 128
    for leaf, i in numbered.items():
        for low, high in leaf.args[0]:
            for c in range(low, min(high, 127) + 1):
                covered[c] |= 1 << i
    beyond: dict[tuple[int, int], int] = {}

    def atom(category: int, covering: int) -> int:
        if (category, covering) not in beyond:
            beyond[category, covering] = len(categories)
            categories.append(category)
            covered.append(covering)
        return beyond[category, covering]

    plain = [atom(i, 0) for i in range(len(CATEGORIES))]
    inside = next((covering for low, after, covering in stretches if low <= INVALID < after), 0)
    invalid = atom(CATEGORIES.index("Cs"), inside)
    changes = []  # for each stretch: its start, its categories by code point, and their atoms
    for low, after, covering in stretches:
        touched = range(low >> 7, (after - 1 >> 7) + 1)
        cells = b"".join(pages[index[page] * 128 : index[page] * 128 + 128] for page in touched)
        cells = cells[low & 127 :][: after - low]
        changes.append((low, cells, {category: atom(category, covering) for category in set(cells)}))

    # Atoms in the same sets form one class.
    known = {
        leaf: sum(1 << a for a, covering in enumerate(covered) if covering >> numbered[leaf] & 1)
        if leaf.op == "ranges"
        else sum(1 << a for a, category in enumerate(categories) if category in leaf.args[0])
        for leaf in leaves
    }
    members = [f"{evaluate(s, known, len(covered)):0{len(covered)}b}"[::-1] for s in distinct]
    names: dict[tuple[str, ...], int] = {}
    class_of = [names.setdefault(row, len(names)) for row in zip(*members, strict=True)]
    if len(names) > MOST_CLASSES:
        raise NotRegular(f"more than {MOST_CLASSES} classes of characters")
    masks = {s: sum(1 << number for row, number in names.items() if row[i] == "1") for i, s in enumerate(distinct)}

    # The pages of the categories, followed by those that a stretch changes.
    whole = pages.translate(bytes(class_of[a] for a in plain).ljust(256, b"\0"))
    numbers = array("H", index)
    changed = {0: bytes(class_of[:128])}
    for low, cells, atoms in changes:
        cells = cells.translate(bytes(class_of[atoms.get(category, 0)] for category in range(256)))
        for page in range(low >> 7, (low + len(cells) - 1 >> 7) + 1):
            old = changed.get(page) or whole[index[page] * 128 : index[page] * 128 + 128]
            start, end = max(low, page * 128), min(low + len(cells), page * 128 + 128)
            changed[page] = old[: start & 127] + cells[start - low : end - low] + old[end - page * 128 :]
    distinct_pages: dict[bytes, int] = {}
    for page, content in changed.items():
        numbers[page] = len(pages) // 128 + distinct_pages.setdefault(content, len(distinct_pages))
    tables = changed[0], numbers.tobytes(), whole + b"".join(distinct_pages)
    return Alphabet(len(names), *tables, class_of[invalid]), masks
