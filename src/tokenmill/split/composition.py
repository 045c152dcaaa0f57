"""Two split patterns, one inside the other, as one transducer.

The inner pattern cuts the pretokens of the outer one and sees the end of such a pretoken as the end of the text. So the
state of both is a pair: where the outer transducer cuts, the inner one takes its action at the end of the text, and
restarts. This needs an outer pattern that knows its cuts at once, as `\\p{N}` or `[一-龥]+` do, so that every outer
action is 0 or 1.

A scan may stop at any cut and restart there, with both machines at their starts. That is right only if the outer one
then continues as if it had never stopped: with `\\p{N}{1,3}`, an inner cut between two digits would restart its count. So
the pair also has the states of the outer machine restarted before the last character, and before the last two; at each
cut, the restarted state and the true one must have the same next step.
"""

from __future__ import annotations

from array import array

from .alphabet import MOST_CLASSES, NotRegular
from .compiler import transducer_tables
from .tables import Alphabet, Tables
from .transducer import REWIND, Step, Transducer, explored


def transducer_of(tables: Tables) -> Transducer:
    """Return the transducer that the tables encode."""
    width = tables.alphabet.size + 1
    states = [state // width for state in array("H", tables.steps)]
    cells = list(zip(states, tables.actions, strict=True))
    rows = [cells[i : i + width] for i in range(0, len(cells), width)]
    return Transducer([row[:-1] for row in rows], [row[-1][1] for row in rows])


def common_alphabet(outer: Alphabet, inner: Alphabet) -> tuple[Alphabet, list[tuple[int, int]]]:
    """Return the alphabet that distinguishes the classes of both, and the two classes for each of its classes."""
    numbers: dict[tuple[int, int], int] = {}

    def classes(left: bytes, right: bytes) -> bytes:
        pairs = [numbers.setdefault(pair, len(numbers)) for pair in zip(left, right, strict=True)]
        if len(numbers) > MOST_CLASSES:
            raise NotRegular(f"more than {MOST_CLASSES} classes of characters")
        return bytes(pairs)

    (invalid,) = classes(bytes([outer.invalid]), bytes([inner.invalid]))
    ascii = classes(outer.ascii, inner.ascii)
    pages: dict[tuple[int, int], int] = {}
    pairs = zip(array("H", outer.index), array("H", inner.index), strict=True)
    index = array("H", [pages.setdefault(pair, len(pages)) for pair in pairs])
    cells = b"".join(
        classes(outer.pages[left * 128 : left * 128 + 128], inner.pages[right * 128 : right * 128 + 128])
        for left, right in pages
    )
    return Alphabet(len(numbers), ascii, index.tobytes(), cells, invalid), list(numbers)


def product(outer: Transducer, inner: Transducer, classes: list[tuple[int, int]]) -> Transducer:
    """Return the transducer of both. NotRegular if they do not fit; see the text at the top."""
    if any(outer.ends) or any(action > 1 for row in outer.steps for _, action in row):
        raise NotRegular("an outer pattern that does not know its cuts at once")

    def step(state: tuple[int, int, int, int], c: tuple[int, int]) -> Step:
        outside, inside, *restarted = state
        left, right = c
        after, cut = outer.steps[outside][left]
        follower, action = inner.steps[0 if cut else inside][right]
        if cut:
            action = inner.ends[inside] | 1
        if action == REWIND:
            return None, REWIND
        ages = [age for age in range(3) if action >> age & 1 and not (cut and age == 0)]
        before = [outer.steps[number][left] for number in (0, *restarted)]
        if any(before[age] != (after, cut) for age in ages):
            raise NotRegular("an outer pattern that goes on otherwise after a cut")
        return (after, follower, before[0][0], before[1][0]), action

    # The outer state, the inner one, and the outer ones after a start one and two characters ago.
    return explored((0, 0, 0, 0), classes, step, lambda state: inner.ends[state[1]])


def compose(outer: Tables, inner: Tables) -> Tables | None:
    """Return tables with only a transducer: that of `inner` inside of `outer`. None if it is not small or not exact."""
    if not outer.steps or not inner.steps:
        return None
    try:
        alphabet, classes = common_alphabet(outer.alphabet, inner.alphabet)
        steps, ends = product(transducer_of(outer), transducer_of(inner), classes)
        alphabet, steps = alphabet.merged(steps)
        return transducer_tables(Transducer(steps, ends), alphabet)
    except NotRegular:
        return None
