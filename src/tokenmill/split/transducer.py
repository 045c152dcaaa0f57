"""From the automaton that finds one match to a machine that splits a whole text in one pass, almost without backtracking.

The automaton knows the end of a match only after the fact: `\\s+(?!\\S)` sees one character too late that the last
space belongs to the next word, and `\\s*[\\r\\n]+` looks for another newline through all of an indentation. A program
that goes back each time pays twice, in work and in mispredicted branches. The transducer instead follows every possible
outcome at once. It reports a cut as "before this character", "one character back" or "two back", as soon as it is
certain.

Definitions. An *attempt* is a run of the automaton from its start. A state is a list of *hypotheses*, the preferred
first; hypothesis i is true if the attempts of all hypotheses before it fail. The *cuts* of a hypothesis become certain when
all before it have failed. Cuts are stored by age, the number of characters read since. An attempt is *sure* if it finds
a match before any following text; then all hypotheses after it are dropped. A match that can end now and may also end later
makes two hypotheses: the attempt continues, or it ends here with a cut and a new attempt begins. An attempt that may fail is
followed by the hypothesis that its first character matches nothing (a *gap*) and that a new attempt begins after it; the
start of that attempt is a cut only if it finds a match.

If a cut grows older than AGE and is still undecided, the machine *bets* that the first hypothesis fails (an indentation
rarely ends in a newline), reports the cut, and keeps *watching* the attempt. A lost bet, and everything that does not fit,
is the action REWIND: the scanner takes back two cuts and runs the automaton from there. No other cut is reported while a
bet is open, so two are enough: the cut of the bet, and one reported in the same step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .alphabet import NotRegular
from .automaton import DEAD, Automaton

AGE = 2
REWIND = 7  # an action is bits: 1 << age of the cut; all three at once never happens
FRESH = -2  # the attempt of a hypothesis that begins with the next character
MOST_STATES = 1_000
MOST_HYPOTHESES = 16

# The cuts, as 1 << age; the state of the attempt; the age of the end of the gap that it began in, or None.
Hypothesis = tuple[int, int, int | None]
State = tuple[Any, ...]
Step = tuple[State | None, int]


class Transducer(NamedTuple):
    """The machine. State 0 is the start and is never re-entered.

    steps[state][class] = (next state, action): bit i of an action is a cut i characters before this one; or REWIND.
    ends[state]: the action at the end of the text, without the cut at the end itself.
    """

    steps: list[list[tuple[int, int]]]
    ends: list[int]


def sure_states(automaton: Automaton) -> list[bool]:
    """Return for each state whether every continuation has a match."""
    classes, steps, accepts = automaton.classes, automaton.steps, automaton.accepts
    sure = [bool(accept >> classes & 1) for accept in accepts]
    changed = True
    while changed:
        changed = False
        for state, row in enumerate(steps):
            if sure[state] and not all(
                accepts[state] >> c & 1 or (row[c] != DEAD and sure[row[c]]) for c in range(classes)
            ):
                sure[state] = False
                changed = True
    return sure


class Maker:
    def __init__(self, automaton: Automaton):
        self.automaton = automaton
        self.sure = sure_states(automaton)

    def begin(self, c: int, cuts: int, gap: int | None) -> list[Hypothesis]:
        """Return the hypotheses of a new attempt at this character."""
        state = self.automaton.steps[0][c]
        if state != DEAD and self.sure[state]:
            return [(cuts if gap is None else cuts | 1, state, None)]
        if self.automaton.accepts[0] >> c & 1 and gap is not None:
            cuts, gap = cuts | 1, None  # an empty match here is a cut too
        if state == DEAD:
            return [(cuts, FRESH, 0)]
        return [(cuts, state, None if gap is None else 0), (0, FRESH, 0)]

    def hypotheses(self, before: tuple[Hypothesis, ...], c: int) -> list[Hypothesis]:
        """Return the hypotheses after one more character; ages are counted from before it."""
        steps, accepts, sure = self.automaton.steps, self.automaton.accepts, self.sure
        following: list[Hypothesis] = []
        carried = 0
        states = set()
        for cuts, state, gap in before:
            cuts |= carried
            if state == FRESH:
                return following + self.begin(c, cuts, gap)
            accepted = accepts[state] >> c & 1
            after = steps[state][c]
            if gap is not None and (accepted or (after != DEAD and sure[after])):
                cuts, gap = cuts | 1 << gap, None
            if after == DEAD or after in states:  # it failed, or equals an earlier hypothesis and so can never be true
                carried = cuts
            else:
                states.add(after)
                following.append((cuts, after, gap))
                if sure[after]:
                    return following
                carried = 0
            if accepted:
                return following + self.begin(c, carried | 1, None)
        return following

    def step(self, state: State, c: int) -> Step:
        """Return the next state and the action; with REWIND there is no next state."""
        watched, before = state
        watch = set()
        for number in watched:
            after = self.automaton.steps[number][c]
            if self.automaton.accepts[number] >> c & 1 or (after != DEAD and self.sure[after]):
                return None, REWIND
            if after != DEAD:
                watch.add(after)
        hypotheses = self.hypotheses(before, c)
        action = hypotheses[0][0]
        if (watch and action) or len(hypotheses) > MOST_HYPOTHESES:
            return None, REWIND
        bet = set()
        while any(cuts >> AGE or gap == AGE for cuts, _, gap in hypotheses[1:]) or hypotheses[0][2] == AGE:
            bet.add(hypotheses[0][1])
            hypotheses = hypotheses[1:]
            action |= hypotheses[0][0]
        if (watch and bet and action) or action == REWIND:
            return None, REWIND
        aged = tuple(
            (cuts << 1 if i else 0, number, gap if gap is None or number == FRESH else gap + 1)
            for i, (cuts, number, gap) in enumerate(hypotheses)
        )
        return (tuple(sorted(watch | bet)), aged), action

    def end(self, state: State) -> int:
        """Return the action at the end of the text."""
        watched, hypotheses = state
        accepts = [accept >> self.automaton.classes & 1 for accept in self.automaton.accepts]
        if any(accepts[number] for number in watched):
            return REWIND
        action = 0
        for cuts, number, gap in hypotheses:
            action |= cuts
            if number == FRESH:
                break
            if accepts[number]:
                action |= 0 if gap is None else 1 << gap
                break
        return action

    def make(self) -> Transducer:
        """Return the machine. NotRegular if it is too large; then the scanner uses the automaton alone."""
        return explored(((), ((0, FRESH, None),)), range(self.automaton.classes), self.step, self.end)


def explored(
    start: State, classes: Iterable[Any], step: Callable[..., Step], end: Callable[[State], int]
) -> Transducer:
    """Return the smallest machine with the states reachable from `start`. NotRegular if they are too many.

    step(state, class): the next state, or None with REWIND, and the action. end(state): the action at the end of the text.
    """
    numbers = {start: 0}
    queue = [start]
    steps = []
    for state in queue:  # grows during the loop
        row = []
        for c in classes:
            after, action = step(state, c)
            number = 0 if after is None else numbers.setdefault(after, len(numbers))
            if after is not None and number == len(queue):
                if number == MOST_STATES:
                    raise NotRegular(f"a transducer of more than {MOST_STATES} states")
                queue.append(after)
            row.append((number, action))
        steps.append(row)
    return minimal(steps, [end(state) for state in queue])


def minimal(steps: list[list[tuple[int, int]]], ends: list[int]) -> Transducer:
    """Return the same machine with as few states as possible (Moore's partition refinement)."""
    names: dict[tuple, int] = {}
    groups = [names.setdefault((end, *(a for _, a in row)), len(names)) for row, end in zip(steps, ends, strict=True)]
    while True:
        names = {}
        refined = [
            names.setdefault((group, *(groups[n] for n, _ in row)), len(names))
            for group, row in zip(groups, steps, strict=True)
        ]
        if len(names) == max(groups) + 1:
            break
        groups = refined
    # Groups are numbered in the order of their first states.
    first = [groups.index(group) for group in range(len(names))]
    return Transducer([[(groups[n], action) for n, action in steps[i]] for i in first], [ends[i] for i in first])


def certain_cuts(automaton: Automaton) -> list[int]:
    """Return for each class the classes (as bits) before which a pretoken begins whenever they follow it.

    Whenever: in every state, with the same earlier cuts as if the text ended there.
    """
    maker = Maker(automaton)
    classes, accepts = automaton.classes, automaton.accepts

    def step(state: State, c: int) -> Step:
        """Return the hypotheses without ages, and whether a cut before this character is certain."""
        before = tuple((0, number, int(number != FRESH) if in_gap else None) for number, in_gap in state)
        hypotheses = maker.hypotheses(before, c)
        if len(hypotheses) > MOST_HYPOTHESES:
            raise NotRegular("too many hypotheses")
        cut = hypotheses[0][0] & 1
        for number, _ in state:
            if number == FRESH or automaton.steps[number][c] != DEAD:
                break
            cut &= ~(accepts[number] >> c ^ accepts[number] >> classes)  # it ends here before any text, or fails
            if accepts[number] >> c & 1:
                break
        return tuple((number, gap is not None) for _, number, gap in hypotheses), cut

    try:
        steps, _ = explored(((FRESH, False),), range(classes), step, lambda state: 0)
    except NotRegular:
        return [0] * classes
    return borders(steps, lambda state, c: bool(steps[state][c][1]))


def borders(steps: list[list[tuple[int, int]]], holds: Callable[[int, int], bool]) -> list[int]:
    """Return for each class the classes (as bits) for which `holds` is true in every state that the class leads to."""
    classes = range(len(steps[0]))
    following = [{row[c][0] for row in steps} for c in classes]
    return [sum(1 << b for b in classes if all(holds(state, b) for state in states)) for states in following]


def neutral_borders(transducer: Transducer) -> list[int]:
    """Return for each class the classes (as bits) with which it has a neutral border when they follow it.

    A border between x and y is neutral if the cuts of x + y are those of x and those of y, except for a cut at the border itself.

    Only for a transducer that reports each cut before the next character, so that every action is 0 or 1 and none remains for
    the end of the text. Then the cuts of x + y inside of x are those of x. If the first character of y leads every state after x
    to the state that it leads the start to, the cuts inside of y are those of y too.
    """
    steps = transducer.steps
    if any(transducer.ends) or any(action > 1 for row in steps for _, action in row):
        return [0] * len(steps[0])
    return borders(steps, lambda state, c: steps[state][c][0] == steps[0][c][0])
