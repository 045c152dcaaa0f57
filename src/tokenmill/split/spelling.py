"""The writer of patterns: a syntax tree as a regular expression of Rust, of Oniguruma or of the `regex` module.

A set without a name in an engine, or whose name means something else there, such as `\\w`, is spelled out.
"""

from __future__ import annotations

import functools
import sys
from array import array
from typing import Literal

from ..errors import ConversionError, PatternError
from .alphabet import ANY, CATEGORIES, WHITE_SPACE, CharSet, NotRegular, classes_of, property_set
from .syntax import Dialect, parse
from .tree import (
    NOTHING,
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
    Start,
    all_sets,
    is_condition,
)

ESCAPES = {9: r"\t", 10: r"\n", 13: r"\r"}
SHORT = {(0, None): "*", (1, None): "+", (0, 1): "?"}  # by the bounds of a repetition


def to_oniguruma(pattern: str) -> str:
    """Return `pattern` in Oniguruma's dialect, with the same pretokens. ConversionError if that is impossible.

    >>> to_oniguruma(r"\\p{N}{1,3}+|\\s++$")
    '(?>\\\\p{N}{1,3})|\\\\s++\\\\z'
    """
    return _translated(pattern, "rust", "oniguruma")


def from_oniguruma(pattern: str) -> str:
    """Return a pattern of Oniguruma in our dialect, with the same pretokens. ConversionError if that is impossible.

    >>> from_oniguruma(r"\\p{N}{1,3}+|\\s+$")
    '(?:\\\\p{N}{1,3})+|\\\\s+(?![^\\\\n])'
    """
    return _translated(pattern, "oniguruma", "rust")


def canonical(pattern: str) -> str:
    """Return the one spelling of all patterns with the same syntax tree.

    >>> canonical(r"\\p{N}{1,3}+|\\pL$") == canonical(r"(?>\\p{N}{1,3})|\\p{L}\\z")
    True
    """
    try:
        return Spelling("rust").alternatives(parse(pattern))
    except PatternError:
        return pattern


def distinguishes(pattern: str, a: str, b: str) -> bool:
    """Return whether a text may have other pretokens if each character `b` becomes `a`.

    >>> distinguishes(r"\\w+|\\W", " ", "_"), distinguishes(r"\\p{L}+", " ", "_")
    (True, False)
    """
    try:  # `leaves` raises NotRegular for a property that is not known
        return any((ord(a) in s) != (ord(b) in s) for s in all_sets(parse(pattern)) if [*s.leaves()])
    except (NotRegular, PatternError):
        return True


@functools.lru_cache(64)
def _translated(pattern: str, source: Dialect, target: Dialect) -> str:
    """Return the pattern itself if it means the same in both dialects, else its tree written in the other."""
    try:
        tree = parse(pattern, source)
    except PatternError as error:
        raise ConversionError(str(error)) from None
    spelt = Spelling(target).alternatives(tree)  # raises for what the other dialect cannot say
    try:
        return pattern if parse(pattern, target) == tree else spelt
    except PatternError:
        return spelt


class Spelling:
    """Writes a tree in one dialect. A set that ignores case is written with both cases of its letters."""

    def __init__(self, dialect: Dialect | Literal["regex"]):
        self.dialect = dialect

    def alternatives(self, node: Node) -> str:
        return "|".join(map(self.sequence, node.children if isinstance(node, Alternate) else [node]))

    def sequence(self, node: Node) -> str:
        return "".join(map(self.atom, node.children)) if isinstance(node, Concat) else self.atom(node)

    def atom(self, node: Node) -> str:
        """Write a node such that a quantifier after it applies to all of it."""
        if isinstance(node, Chars):
            return self.set(node.set)
        if isinstance(node, Alternate | Concat):
            return f"(?:{self.alternatives(node)})"
        if isinstance(node, Repeat):
            return self.repeat(node, "?" if node.lazy else "")
        if isinstance(node, Atomic):
            inner = node.node
            if (
                isinstance(inner, Repeat)
                and not inner.lazy
                and (self.dialect != "oniguruma" or (inner.least, inner.most) in SHORT)
            ):
                return self.repeat(inner, "+")
            return f"(?>{self.alternatives(inner)})"
        if isinstance(node, Look):
            if node.set == NOTHING and node.end:
                return r"\Z" if self.dialect == "regex" else r"\z"
            if not node.end:
                return f"(?={self.set(node.set)})"
            others = node.set.args[0] if node.set.op == "not" else CharSet("not", node.set)
            return f"(?!{self.set(others)})"
        if isinstance(node, Around):
            return f"(?{'' if node.ahead else '<'}{'!' if node.negated else '='}{self.alternatives(node.node)})"
        if isinstance(node, Group):
            return f"({self.alternatives(node.node)})"
        if isinstance(node, Reference):
            return f"(?:\\{node.number})"
        assert isinstance(node, Start)
        return r"\A"

    def repeat(self, node: Repeat, after: str) -> str:
        body = self.atom(node.node)
        if self.dialect == "oniguruma" and is_condition(node.node):  # which it does not repeat alone
            body = f"(?:(?:){body})"
        elif isinstance(node.node, Repeat | Look | Around | Start) or (
            isinstance(node.node, Atomic) and body[:3] != "(?>"
        ):
            body = f"(?:{body})"
        short = SHORT.get((node.least, node.most))
        if short is None:
            most = "" if node.most is None else str(node.most)
            short = f"{{{most}}}" if node.least == node.most else f"{{{node.least},{most}}}"
            if after == "?" and node.least == node.most:
                after = ""
        return body + short + after

    def set(self, set: CharSet) -> str:
        """Write a set as an atom."""
        if set.op == "not" and len(inner := self.items(set.args[0])) > 1:
            return f"[^{''.join(inner)}]"
        items = self.items(set)
        if len(items) == 1:
            return {r"\-": "-", r"\&": "&", r"\~": "~"}.get(items[0], items[0])
        return f"[{''.join(items)}]"

    def items(self, set: CharSet) -> list[str]:
        """Return the items of a class for a set. A range is two of them: it cannot be outside of a class."""
        if set == WHITE_SPACE:
            return [self.property("White_Space") if self.dialect == "regex" else r"\s"]
        if set == ANY:
            return [r"\p{Any}"]
        if set.op == "property" and self.dialect == "oniguruma":
            raise ConversionError(f"the split pattern contains \\p{{{set.name}}}, which tokenizers may not know")
        if set.name:
            return [self.property(set.name)]
        if set.op == "ranges":
            spans = ([self.char(a)] if a == b else [f"{self.char(a)}-", self.char(b)] for a, b in set.args[0])
            return [item for span in spans for item in span]
        if set.op == "categories":
            return [self.property(name) for name in _category_names(set.args[0])]
        if set.op == "or":
            return [item for arg in set.args if arg != NOTHING for item in self.items(arg)] or [r"\P{Any}"]
        operands = ["".join(self.items(arg)) for arg in set.args]
        if set.op == "and":
            return ["[" + "&&".join(f"[{operand}]" for operand in operands) + "]"]
        (inner,) = operands
        if inner[:2] in (r"\p", r"\s") and len(self.items(set.args[0])) == 1:
            return [inner[0] + inner[1].upper() + inner[2:]]
        return [f"[^{inner}]"]

    def char(self, code: int) -> str:
        if code in ESCAPES:
            return ESCAPES[code]
        char = chr(code)
        if code > 126 or code < 32:
            return f"\\U{code:08x}" if self.dialect == "regex" else char if char.isalpha() else f"\\x{{{code:x}}}"
        return char if char.isalnum() or char in " _'\"!%,/:;<=>@`" else "\\" + char

    def property(self, name: str) -> str:
        return property_text(name) if self.dialect == "regex" else f"\\p{{{name}}}"


def _category_names(numbers: tuple[int, ...]) -> list[str]:
    """Return the shortest names of categories: L for all that begin with it."""
    names = [CATEGORIES[number] for number in numbers]
    short: list[str] = []
    for group in dict.fromkeys(name[0] for name in names):
        members = [name for name in names if name[0] == group]
        complete = len(members) == sum(name[0] == group for name in CATEGORIES)
        short += [group] if complete else members
    return short


@functools.cache
def everything() -> str:
    codes = array("I", range(0x110000)).tobytes()  # 3x faster than map(chr, ...)
    return codes.decode(f"utf-32-{sys.byteorder[0]}e", "surrogatepass")


@functools.cache
def property_text(name: str) -> str:
    """Return `\\p{name}` for `regex`, corrected where its Unicode version differs from that of the tables."""
    import regex  # late: it takes long to import

    text = rf"\p{{{name}}}"
    wanted = property_set(name)
    if wanted is None:
        return text
    alphabet, classes = classes_of([wanted])
    ours = alphabet.flags(classes[wanted])
    theirs = bytearray(0x110000)
    for match in regex.finditer(f"{text}+", everything()):
        theirs[match.start() : match.end()] = b"\1" * (match.end() - match.start())

    def ranges(flags: bytes | bytearray, excluded: bytes | bytearray) -> str:
        rest = int.from_bytes(flags, "big") & ~int.from_bytes(excluded, "big")
        matches = regex.finditer(b"\1+", rest.to_bytes(0x110000, "big"))
        return "".join(rf"\U{m.start():08x}-\U{m.end() - 1:08x}" for m in matches)

    if ours == theirs:
        return text
    extra, missing = ranges(theirs, ours), ranges(ours, theirs)
    return f"[{f'[{text}--[{extra}]]' if extra else text}{missing}]"
