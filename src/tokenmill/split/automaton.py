"""From the syntax tree to a deterministic automaton that has the preferences of a backtracking engine.

1. The tree becomes a graph of nodes: CHARS (one character of a class mask), SPLIT (several successors, the preferred
   first), LOOK (a condition on the next character) and ACCEPT.
2. A state of the automaton is the list of nodes that a match may be at, the preferred first, *before* the next
   character is known. Once the class of that character is known, one walk through the graph settles which LOOKs are true,
   which CHARS advance, and whether ACCEPT is reached. Nodes less preferred than ACCEPT are dropped.

Whether the match may end is therefore decided one character late, together with the step over that character, and
conditions on the next character such as `(?!\\S)` or `$` cost nothing. A possessive `[class]*+` is exact too: it is a
loop that can be left only if the next character is not in the class.
"""

from __future__ import annotations

import functools
import operator
from typing import NamedTuple

from .alphabet import CharSet, NotRegular, classes_of
from .syntax import parse
from .tables import Alphabet
from .tree import (
    Alternate,
    Around,
    Atomic,
    Chars,
    Concat,
    Group,
    Look,
    Node,
    Reference,
    Repeat,
    all_sets,
    as_set,
    may_be_empty,
)

DEAD = -1
CHARS, SPLIT, LOOK, ACCEPT = range(4)
MOST_REPEATS = 1000
MOST_NODES = 20_000
MOST_STATES = 2_000
MOST_VISITS = 500_000  # of nodes from all states, about a second


class Automaton(NamedTuple):
    """The deterministic automaton that finds one match from its start. State 0 is the start.

    steps[state][class]: the state after a character of that class, or DEAD.
    accepts[state]: the classes of the next character (as bits; bit `classes` is the end of the text) before which the
        match may end. The step then drops the nodes that are less preferred than that end.
    """

    classes: int
    steps: list[list[int]]
    accepts: list[int]


class Graph:
    """The nodes of a tree. masks: the classes of each set, as bits."""

    def __init__(self, size: int, masks: dict[CharSet, int]):
        self.masks, self.end = masks, 1 << size
        self.all = 2 * self.end - 1  # every class, and the end
        self.nodes: list[tuple] = [(ACCEPT,)]

    def mask(self, set: CharSet) -> int:
        """Return the classes of a set of the tree, or of an `as_set` of several."""
        return self.masks[set] if set in self.masks else functools.reduce(operator.or_, map(self.mask, set.args))

    def add(self, *node) -> int:
        if len(self.nodes) >= MOST_NODES:
            raise NotRegular(f"more than {MOST_NODES} parts")
        self.nodes.append(node)
        return len(self.nodes) - 1

    def build(self, node: Node, after: int) -> int:
        """Add nodes for `node` that lead to the node `after`; return their entry."""
        if isinstance(node, Chars):
            return self.add(CHARS, self.masks[node.set], after)
        if isinstance(node, Concat):
            for item in reversed(node.children):
                after = self.build(item, after)
            return after
        if isinstance(node, Alternate):
            return self.add(SPLIT, tuple(self.build(branch, after) for branch in node.children))
        if isinstance(node, Look):
            return self.add(LOOK, self.masks[node.set] | self.end * node.end, after)
        if isinstance(node, Atomic):
            return self.atomic(node.node, after)
        if isinstance(node, Group):
            return self.build(node.node, after)
        if isinstance(node, Repeat):
            return self.repeat(node, after)
        if isinstance(node, Around):
            raise NotRegular("a lookaround at more than one character" if node.ahead else "a lookbehind")
        raise NotRegular("a reference to a group" if isinstance(node, Reference) else "the start of the text")

    def repeat(self, node: Repeat, after: int, possessive: bool = False) -> int:
        if isinstance(node.node, Look):
            raise NotRegular("a quantifier on a condition")
        if max(node.least, node.most or 0) > MOST_REPEATS:
            raise NotRegular(f"more than {MOST_REPEATS} repetitions")
        leave = after
        if possessive:
            one = as_set(node.node)
            assert one is not None
            leave = self.add(LOOK, self.all & ~self.mask(one), after)

        def by_preference(inside: int) -> tuple[int, int]:
            return (leave, inside) if node.lazy else (inside, leave)

        if node.most is None:
            if may_be_empty(node.node):
                raise NotRegular("a loop around a group that can be empty")  # engines differ in what ends such a loop
            loop = self.add(SPLIT, ())
            body = self.build(node.node, loop)
            self.nodes[loop] = (SPLIT, by_preference(body))
            entry = body if node.least else loop
        else:
            entry = after
            for _ in range(node.most - node.least):
                entry = self.add(SPLIT, by_preference(self.build(node.node, entry)))
        for _ in range(node.least - (node.most is None)):
            before, entry = entry, self.build(node.node, entry)
            if entry == before:  # an empty group: no repetition adds a node
                break
        return entry

    def atomic(self, node: Node, after: int) -> int:
        """Add an atomic group: as a plain one if it offers no choice; a loop over one set becomes possessive."""
        if isinstance(node, Chars | Look | Atomic) or as_set(node) is not None:
            return self.build(node, after)
        if isinstance(node, Repeat) and not node.lazy and as_set(node.node) is not None:
            return self.repeat(node, after, possessive=True)
        if isinstance(node, Concat) and all(as_set(item) or isinstance(item, Look) for item in node.children):
            return self.build(node, after)
        raise NotRegular("a possessive quantifier or an atomic group on more than one character")


def automaton_of(pattern: str) -> tuple[Automaton, Alphabet]:
    """Return the automaton of a pattern, and its classes. NotRegular if only the `regex` module can run the pattern."""
    tree = parse(pattern)
    alphabet, masks = classes_of(all_sets(tree))
    size = alphabet.size
    graph = Graph(size, masks)
    start = graph.build(tree, 0)
    nodes = graph.nodes
    numbers: dict[tuple[int, ...], int] = {(start,): 0}
    queue: list[tuple[int, ...]] = [(start,)]
    steps: list[list[int]] = []
    accepts: list[int] = []
    visits = 0
    for kernel in queue:  # grows during the loop
        # One walk for all classes at once: `mask` is the classes of next characters on the path to a node.
        seen: dict[int, int] = {}
        targets: list[tuple[int, int]] = []
        accepting, live = 0, graph.all
        stack = [(node, graph.all) for node in reversed(kernel)]
        while stack:
            visits += 1
            number, mask = stack.pop()
            mask &= live & ~seen.get(number, 0)
            if not mask:
                continue
            seen[number] = seen.get(number, 0) | mask
            node = nodes[number]
            if node[0] == CHARS:
                if mask & node[1]:
                    targets.append((node[2], mask & node[1]))
            elif node[0] == SPLIT:
                stack += [(branch, mask) for branch in reversed(node[1])]
            elif node[0] == LOOK:
                stack.append((node[2], mask & node[1]))
            else:
                accepting |= mask
                live &= ~mask
        if visits > MOST_VISITS:
            raise NotRegular("an automaton that takes too long to build")
        row = []
        for c in range(size):
            kernel = tuple(dict.fromkeys(target for target, mask in targets if mask >> c & 1))
            if not kernel:
                row.append(DEAD)
                continue
            number = numbers.setdefault(kernel, len(numbers))
            if number == len(queue):
                if number >= MOST_STATES:
                    raise NotRegular(f"an automaton of more than {MOST_STATES} states")
                queue.append(kernel)
            row.append(number)
        steps.append(row)
        accepts.append(accepting)
    cells = [[(row[c], accept >> c & 1) for c in range(size)] for row, accept in zip(steps, accepts, strict=True)]
    alphabet, cells = alphabet.merged(cells)
    return Automaton(
        alphabet.size,
        [[state for state, _ in row] for row in cells],
        [
            sum(bit << i for i, (_, bit) in enumerate(row)) | (accept >> size) << alphabet.size
            for row, accept in zip(cells, accepts, strict=True)
        ],
    ), alphabet
