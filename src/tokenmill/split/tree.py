"""The syntax tree of a split pattern, and properties of its nodes.

The tree has the same meaning for every dialect. `syntax` reads it, `spelling` writes it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator

from .alphabet import ANY, CharSet, NotRegular, Ranges


class TreeNode:
    """A node of the tree. Its arguments become its attributes, in the order of the annotations of its class."""

    def __init__(self, *values: object):
        vars(self).update(zip(type(self).__annotations__, values, strict=True))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)


class Chars(TreeNode):
    """One character of a set."""

    set: CharSet


class Concat(TreeNode):
    """Several nodes in sequence, or none, which match the empty text."""

    children: list[Node]


class Alternate(TreeNode):
    """Alternatives, the preferred first."""

    children: list[Node]


class Repeat(TreeNode):
    """`node`, `least` to `most` times (None: no limit), as often or, if `lazy`, as seldom as possible."""

    node: Node
    least: int
    most: int | None
    lazy: bool


class Look(TreeNode):
    """A condition on the next character: it is in `set`, or, if `end` is true, the text ends here."""

    set: CharSet
    end: bool


class Atomic(TreeNode):
    """A group that is not re-entered by backtracking once it has matched."""

    node: Node


class Around(TreeNode):
    """A condition on the text ahead or behind: it matches `node`, or, if `negated`, does not. For Look no tree is needed."""

    node: Node
    ahead: bool
    negated: bool


class Group(TreeNode):
    """A group that a Reference refers to."""

    node: Node
    number: int


class Reference(TreeNode):
    """The text that a group matched."""

    number: int


class Start(TreeNode):
    """The start of the text."""


Node = Chars | Concat | Alternate | Repeat | Look | Atomic | Around | Group | Reference | Start
NOTHING = CharSet("not", ANY)
NEWLINE = CharSet.chars(10)


def all_sets(node: object) -> Iterator[CharSet]:
    """Yield every set of characters in a tree, lookarounds included."""
    if isinstance(node, CharSet):
        yield node
    for child in node if isinstance(node, list) else vars(node).values() if isinstance(node, TreeNode) else ():
        yield from all_sets(child)


def is_condition(node: Node) -> bool:
    """Return whether a node, or one of its alternatives, consists only of conditions."""
    if isinstance(node, Alternate):
        return any(map(is_condition, node.children))
    if isinstance(node, Concat):
        return bool(node.children) and all(map(is_condition, node.children))
    return isinstance(node, Look | Around | Start)


def may_be_empty(node: Node) -> bool:
    """Return whether a node can match the empty string."""
    if isinstance(node, Alternate):
        return any(map(may_be_empty, node.children))
    if isinstance(node, Concat):
        return all(map(may_be_empty, node.children))
    if isinstance(node, Repeat):
        return node.least == 0 or may_be_empty(node.node)
    return may_be_empty(node.node) if isinstance(node, Atomic | Group) else not isinstance(node, Chars)


def as_set(node: Node) -> CharSet | None:
    """Return the set of a node that always matches exactly one character, else None."""
    if isinstance(node, Chars):
        return node.set
    if isinstance(node, Atomic | Group):
        return as_set(node.node)
    if isinstance(node, Alternate):
        sets = [as_set(branch) for branch in node.children]
        if all(sets):
            return CharSet("or", *sets)
    return None


def as_look(node: Node) -> Look:
    """Return the condition of a lookahead at `node` on the next character. NotRegular if it looks at more than one."""
    one = as_set(node)
    if one is not None:
        return Look(one, False)
    if isinstance(node, Look):
        return node
    if isinstance(node, Concat) and not node.children:
        return Look(ANY, True)
    if isinstance(node, Repeat) and node.least <= 1:
        return Look(ANY, True) if node.least == 0 else as_look(node.node)
    if isinstance(node, Alternate):
        looks = [as_look(branch) for branch in node.children]
        return Look(CharSet("or", *(look.set for look in looks)), any(look.end for look in looks))
    raise NotRegular("a lookahead at more than one character")


@functools.cache
def expansions() -> dict[str, str]:
    """Return the characters that full case folding turns into several, as "\u00df" into "ss"."""
    greek = range(0x1F50, 0x1FFD)  # all code points take 16 ms, and the patterns of many published files ignore case
    codes = (0xDF, 0x130, 0x149, 0x1F0, 0x390, 0x3B0, 0x587, *range(0x1E96, 0x1E9F), *greek, *range(0xFB00, 0xFB18))
    folded = {chr(code): chr(code).casefold() for code in codes}
    return {char: text for char, text in folded.items() if len(text) > 1}


def folds_to_several(node: Node) -> bool:
    """Return whether a text in this node equals a single character for Oniguruma, ignoring case."""
    text = _literals(node).casefold()
    return any(several in text for several in expansions().values())


def _literals(node: Node) -> str:
    """Return the characters of a sequence, with a zero for each node that is not one certain character, and around repetitions."""
    if isinstance(node, Concat):
        return "".join(map(_literals, node.children))
    if isinstance(node, Repeat) and node.least == node.most and not node.lazy:
        return _literals(node.node) * min(node.least, 2)
    if isinstance(node, Repeat | Atomic):
        return f"\0{_literals(node.node)}\0"
    ranges: Ranges = node.set.args[0] if isinstance(node, Chars) and node.set.op == "ranges" else ()
    letters = {chr(code).casefold() for low, high in ranges for code in (low, high)}
    is_letter = len(letters) == 1 and all(high - low < 2 for low, high in ranges)  # one in its cases
    return letters.pop() if is_letter else "\0"
