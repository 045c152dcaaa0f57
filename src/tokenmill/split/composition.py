"""Two split patterns, one inside the other, as one transducer.

The inner pattern cuts the pretokens of the outer one and sees the end of such a pretoken as the end of the text. So the
state of both is a pair: where the outer transducer cuts, the inner one does what it does at the end of the text, and
begins anew. This needs an outer pattern that knows its cuts at once, as `\\p{N}` or `[一-龥]+` do, so that every outer
action is 0 or 1.

A scan may stop at any cut and begin there again, with both machines at their starts. That is right only if the outer one
then goes on as if it had never stopped: with `\\p{N}{1,3}`, an inner cut between two digits would make it count anew. So
the pair also has the states of the outer machine if it had begun before the last character, and before the last two; at
each cut, that state and the true one must be followed by the same.
"""

from __future__ import annotations

from array import array

from .alphabet import MOST_CLASSES, Alphabet
from .compiler import transducer_tables
from .tables import Tables
from .transducer import MOST_STATES, REWIND, Transducer, minimal


def transducer_of(tables: Tables) -> Transducer:
    """The transducer that tables were made of."""
    width = tables.width
    states = [state // width for state in array("H", tables.steps)]
    cells = list(zip(states, tables.actions, strict=True))
    rows = [cells[i : i + width] for i in range(0, len(cells), width)]
    return Transducer([row[:-1] for row in rows], [row[-1][1] for row in rows])


def common_alphabet(outer: Tables, inner: Tables) -> tuple[Alphabet, list[tuple[int, int]]] | None:
    """The alphabet that distinguishes what either one does, and the classes of both for each of its classes.

    None if it has too many classes.
    """
    numbers: dict[tuple[int, int], int] = {}

    def classes(left: bytes, right: bytes) -> list[int]:
        return [numbers.setdefault(pair, len(numbers)) for pair in zip(left, right, strict=True)]

    (invalid,) = classes(bytes([outer.invalid]), bytes([inner.invalid]))
    ascii_classes = classes(outer.ascii, inner.ascii)
    pages: dict[tuple[int, int], int] = {}
    pairs = zip(array("H", outer.index), array("H", inner.index), strict=True)
    index = array("H", [pages.setdefault(pair, len(pages)) for pair in pairs])
    cells = [
        number
        for left, right in pages
        for number in classes(outer.pages[left * 128 : left * 128 + 128], inner.pages[right * 128 : right * 128 + 128])
    ]
    if len(numbers) > MOST_CLASSES:
        return None
    alphabet = Alphabet([])
    alphabet.size, alphabet.invalid, alphabet.ascii = len(numbers), invalid, bytes(ascii_classes)
    alphabet.index, alphabet.pages = index.tobytes(), bytes(cells)
    return alphabet, list(numbers)


def product(outer: Transducer, inner: Transducer, classes: list[tuple[int, int]]) -> Transducer | None:
    """The transducer of both, or None if they do not fit; see the text at the top."""
    if any(outer.ends) or any(action > 1 for row in outer.steps for _, action in row):
        return None
    start = (0, 0, 0, 0)  # the outer state, the inner one, and the outer ones after a start one and two characters ago
    numbers = {start: 0}
    queue = [start]
    steps: list[list[tuple[int, int]]] = []
    ends = []
    for state in queue:  # grows during the loop
        outside, inside, *restarted = state
        row = []
        for left, right in classes:
            after, cut = outer.steps[outside][left]
            follower, action = inner.steps[0 if cut else inside][right]
            if cut:
                action = inner.ends[inside] | 1
            if action == REWIND:
                row.append((0, REWIND))
                continue
            ages = [age for age in range(3) if action >> age & 1 and not (cut and age == 0)]
            before = [outer.steps[number][left] for number in (0, *restarted)]
            if any(before[age] != (after, cut) for age in ages):
                return None
            pair = (after, follower, before[0][0], before[1][0])
            number = numbers.setdefault(pair, len(numbers))
            if number == len(queue):
                if number == MOST_STATES:
                    return None
                queue.append(pair)
            row.append((number, action))
        steps.append(row)
        ends.append(inner.ends[inside])
    return minimal(steps, ends)


def compose(outer: Tables, inner: Tables) -> Tables | None:
    """Tables that have only a transducer: that of `inner` inside of `outer`. None if it is not small or not exact."""
    if not outer.steps or not inner.steps or (common := common_alphabet(outer, inner)) is None:
        return None
    alphabet, classes = common
    transducer = product(transducer_of(outer), transducer_of(inner), classes)
    if transducer is None:
        return None
    columns: dict[tuple, int] = {}  # classes that no state distinguishes any more are one
    joined = [columns.setdefault(tuple(row[c] for row in transducer.steps), len(columns)) for c in range(alphabet.size)]
    alphabet.join(joined)
    first = [joined.index(number) for number in range(len(columns))]
    transducer = Transducer([[row[c] for c in first] for row in transducer.steps], transducer.ends)
    return transducer_tables(transducer, alphabet)
