"""The parser of split patterns: from the text of a regular expression to a syntax tree.

The dialect is that of Rust's `fancy_regex`, which tiktoken uses. A construct that no automaton can run (backreferences,
general lookaround, `\\b`...) raises NotRegular; the caller then falls back to the `regex` module. An invalid regular
expression raises a PatternError that says where the mistake is.
"""

from __future__ import annotations

from ..errors import PatternError
from .alphabet import ANY, MAX, WHITE_SPACE, CharSet, NotRegular, property_set


class Part:
    """A part of a pattern. Its arguments become its attributes, in the order of __slots__."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, *values: object):
        for name, value in zip(self.__slots__, values, strict=True):
            setattr(self, name, value)


class Chars(Part):
    """One character of a set."""

    __slots__ = ("set",)
    set: CharSet


class Concat(Part):
    """Parts in sequence. An empty sequence matches the empty text."""

    __slots__ = ("parts",)
    parts: list[Node]


class Alternate(Part):
    """Alternatives, the preferred first."""

    __slots__ = ("parts",)
    parts: list[Node]


class Repeat(Part):
    """`node`, `least` to `most` times (None: no limit); kind is "greedy", "lazy" or "possessive"."""

    __slots__ = ("node", "least", "most", "kind")  # noqa: RUF023  the order of the arguments
    node: Node
    least: int
    most: int | None
    kind: str


class Look(Part):
    """A condition on the next character: it is in `set`, or, if `end` is true, the text ends here."""

    __slots__ = ("set", "end")  # noqa: RUF023  the order of the arguments
    set: CharSet
    end: bool


class Atomic(Part):
    """A group that is not re-entered by backtracking once it has matched."""

    __slots__ = ("node",)
    node: Node


Node = Chars | Concat | Alternate | Repeat | Look | Atomic  # a part of a pattern
NOTHING = CharSet("not", ANY)
NEWLINE = CharSet.chars(10)
DIGIT = CharSet("categories", (8,))
HEXADECIMAL = CharSet("ranges", ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)))
CONTROLS = {"n": 10, "t": 9, "r": 13, "f": 12, "v": 11, "a": 7, "e": 27}
POSIX = {
    "alnum": "09AZaz", "alpha": "AZaz", "ascii": "\0\x7f", "blank": "\t\t  ", "cntrl": "\0\x1f\x7f\x7f", "digit": "09",
    "graph": "!~", "lower": "az", "print": " ~", "punct": "!/:@[`{~", "space": "\t\r  ", "upper": "AZ",
    "word": "09AZ__az", "xdigit": "09AFaf",
}  # fmt: skip
MOST_REPEATS = 1000
MOST_DEPTH = 100


def word_set() -> CharSet:
    """`\\w`: Alphabetic, marks, decimal digits, connectors and the two joiners."""
    parts = [property_set(name) for name in ("Alphabetic", "M", "Nd", "Pc")]
    return CharSet("or", *parts, CharSet("ranges", ((0x200C, 0x200D),)))


def as_set(node: Node) -> CharSet | None:
    """The set of a node that always matches exactly one character, else None."""
    if isinstance(node, Chars):
        return node.set
    if isinstance(node, Atomic):
        return as_set(node.node)
    if isinstance(node, Concat) and len(node.parts) == 1:
        return as_set(node.parts[0])
    if isinstance(node, Alternate):
        sets = [as_set(part) for part in node.parts]
        if all(sets):
            return CharSet("or", *sets)
    return None


def as_look(node: Node) -> Look:
    """The condition that a lookahead at `node` puts on the next character."""
    one = as_set(node)
    if one is not None:
        return Look(one, False)
    if isinstance(node, Look):
        return node
    if isinstance(node, Concat):
        if not node.parts:
            return Look(ANY, True)
        if len(node.parts) == 1:
            return as_look(node.parts[0])
    if isinstance(node, Repeat) and node.least <= 1 and node.kind != "possessive":
        return Look(ANY, True) if node.least == 0 else as_look(node.node)
    if isinstance(node, Alternate):
        looks = [as_look(part) for part in node.parts]
        return Look(CharSet("or", *(look.set for look in looks)), any(look.end for look in looks))
    raise NotRegular("a lookahead at more than one character")


def shown(pattern: str) -> str:
    """A pattern for a message, cut to 200 characters."""
    return repr(pattern) if len(pattern) <= 200 else f"{pattern[:200]!r}... ({len(pattern):,} characters)"


def repeat_bounds(text: str) -> tuple[int, int | None] | None:
    """The bounds inside a `{...}`, None for no upper bound; None if it is not a quantifier.

    >>> repeat_bounds("3"), repeat_bounds("1,3"), repeat_bounds("2,"), repeat_bounds("x")
    ((3, 3), (1, 3), (2, None), None)
    """
    least, comma, most = text.partition(",")
    digits = [part.strip() for part in (least, most)]
    if not any(digits) or not all(d.isdecimal() and d.isascii() for d in digits if d):
        return None
    low, high = (int(d[:10] or 0) if len(d.lstrip("0")) <= 9 else 10**9 for d in digits)  # int() refuses 5,000 digits
    return low, (high if digits[1] else None) if comma else low


class Parser:
    def __init__(self, pattern: str):
        self.pattern = pattern
        self.at = 0
        self.flags = frozenset[str]()
        self.depth = 0

    def error(self, what: str, at: int | None = None) -> PatternError:
        at = self.at if at is None else at
        return PatternError(f"the split pattern {shown(self.pattern)} is wrong at character {at + 1}: {what}")

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def take(self, text: str) -> bool:
        if self.peek(text):
            self.at += len(text)
            return True
        return False

    def next(self, inside: str) -> str:
        if self.at == len(self.pattern):
            raise self.error(f"it ends inside {inside}")
        self.at += 1
        return self.pattern[self.at - 1]

    def skip_comments(self) -> None:
        while "x" in self.flags and self.at < len(self.pattern):
            if self.pattern[self.at].isspace():
                self.at += 1
            elif self.peek("#"):
                end = self.pattern.find("\n", self.at)
                self.at = len(self.pattern) if end < 0 else end + 1
            else:
                return

    def parse(self) -> Node:
        node = self.alternatives()
        if self.at < len(self.pattern):
            raise self.error("a ')' without its '('; write '\\)' for the character")
        return node

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise self.error(f"groups or classes nested more than {MOST_DEPTH} deep")

    def alternatives(self) -> Node:
        self.enter()
        parts = [self.sequence()]
        while self.take("|"):
            parts.append(self.sequence())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else Alternate(parts)

    def sequence(self) -> Node:
        parts: list[Node] = []
        while True:
            self.skip_comments()
            if self.at == len(self.pattern) or self.pattern[self.at] in "|)":
                return parts[0] if len(parts) == 1 else Concat(parts)
            start = self.at
            node = self.atom()
            if node is not None:
                parts.append(self.quantified(node, start))

    def quantified(self, node: Node, start: int) -> Node:
        self.skip_comments()
        bounds = self.bounds()
        if bounds is None:
            return node
        if isinstance(node, Look):
            raise NotRegular("a quantifier on a condition")
        least, most = bounds
        if most is not None and most < least:
            raise self.error(f"the lower bound of the repetition {{{least},{most}}} exceeds its upper bound", start)
        if max(least, most or 0) > MOST_REPEATS:
            raise NotRegular(f"more than {MOST_REPEATS} repetitions")
        self.skip_comments()
        kind = "possessive" if self.take("+") else "lazy" if self.take("?") else "greedy"
        self.skip_comments()
        if self.bounds() is not None:
            raise self.error("a quantifier follows a quantifier; put the first in a group (?:...)")
        return Repeat(node, least, most, kind)

    def bounds(self) -> tuple[int, int | None] | None:
        for char, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(char):
                return bounds
        if self.peek("{"):
            end = self.pattern.find("}", self.at)
            bounds = repeat_bounds(self.pattern[self.at + 1 : max(end, 0)])
            self.at = self.at if bounds is None else end + 1
            return bounds
        return None

    def chars(self, found: CharSet) -> CharSet:
        return found.fold() if "i" in self.flags else found

    def atom(self) -> Node | None:
        """The next atom; None for a group that only sets flags."""
        start = self.at
        char = self.next("nothing")
        if char == "(":
            return self.group(start)
        if char == "[":
            return Chars(self.bracket(start))
        if char == ".":
            return Chars(ANY if "s" in self.flags else CharSet("not", NEWLINE))
        if char == "$":
            return Look(NEWLINE if "m" in self.flags else NOTHING, True)
        if char == "^":
            raise NotRegular("the anchor ^")
        if char in "*+?":
            raise self.error(f"there is nothing to repeat before {char!r}; write '\\{char}' for the character", start)
        if char == "\\":
            following = self.pattern[self.at : self.at + 1]
            if following == "z":
                self.at += 1
                return Look(NOTHING, True)
            if following in tuple("bBAZGKRXN123456789kg0"):
                raise NotRegular(f"\\{following}")
            return Chars(self.chars(self.escape(start)))
        return Chars(self.chars(CharSet.chars(ord(char))))

    def group(self, start: int) -> Node | None:
        outer = self.flags
        wrap = None
        if self.take("?"):
            if self.take("#"):
                end = self.pattern.find(")", self.at)
                if end < 0:
                    raise self.error("a comment that is not closed", start)
                self.at = end + 1
                return None
            if self.take(">"):
                wrap = "atomic"
            elif self.take("="):
                wrap = "ahead"
            elif self.take("!"):
                wrap = "not ahead"
            elif self.take("<=") or self.take("<!"):
                raise NotRegular("a lookbehind")
            elif self.take("P<") or self.take("<"):
                end = self.pattern.find(">", self.at)
                if end < 0 or not self.pattern[self.at : end].isidentifier():
                    raise self.error("a group name that is not an identifier")
                self.at = end + 1
            elif not self.take(":"):
                self.read_flags(start)
                if self.take(")"):
                    return None  # (?i) holds to the end of the enclosing group
                if not self.take(":"):
                    raise NotRegular("a group of an unknown kind")
        node = self.alternatives()
        if not self.take(")"):
            raise self.error("a group that is not closed; write '\\(' for the character", start)
        self.flags = outer
        if wrap == "atomic":
            return Atomic(node)
        if wrap is not None:
            look = as_look(node)
            return look if wrap == "ahead" else Look(CharSet("not", look.set), not look.end)
        return node

    def read_flags(self, start: int) -> None:
        on = True
        while self.at < len(self.pattern) and self.pattern[self.at] not in ":)":
            flag = self.next("the flags of a group")
            if flag == "-" and on:
                on = False
            elif flag in "imsx":
                self.flags = self.flags | {flag} if on else self.flags - {flag}
            elif flag != "u" or not on:
                raise NotRegular(f"the flag {flag!r}")
        if self.at == len(self.pattern):
            raise self.error("a group that is not closed", start)

    def escape(self, start: int) -> CharSet:
        """The set that an escape stands for; self.at is after the backslash."""
        char = self.next("an escape")
        if char in CONTROLS:
            return CharSet.chars(CONTROLS[char])
        if char in "xuU":
            return CharSet.chars(self.code(char, start))
        if char in "pP":
            name = self.next("a property")
            if name == "{":
                end = self.pattern.find("}", self.at)
                if end < 0:
                    raise self.error("a property \\p{...} that is not closed", start)
                name, self.at = self.pattern[self.at : end], end + 1
            negated = name.startswith("^")
            found = property_set(name[1:] if negated else name)
            if found is None:
                raise NotRegular(f"the property {name!r}")
            return CharSet("not", self.chars(found)) if (char == "P") != negated else found
        if char in "dDsSwWhH":
            found = {"d": DIGIT, "s": WHITE_SPACE, "h": HEXADECIMAL}.get(char.lower()) or word_set()
            return CharSet("not", found) if char.isupper() else found
        if char.isalnum() and char.isascii():
            raise self.error(f"\\{char} is not a known escape", start)
        return CharSet.chars(ord(char))

    def code(self, kind: str, start: int) -> int:
        if self.take("{"):
            end = self.pattern.find("}", self.at)
            digits, self.at = self.pattern[self.at : end], end + 1
        else:
            length = {"x": 2, "u": 4, "U": 8}[kind]
            digits, self.at = self.pattern[self.at : self.at + length], self.at + length
            if len(digits) < length:
                digits = ""
        if not digits or not all(d in "0123456789abcdefABCDEF" for d in digits) or int(digits, 16) > MAX:
            raise self.error(f"\\{kind} without the hexadecimal digits of a code point", start)
        return int(digits, 16)

    def bracket(self, start: int) -> CharSet:
        """A class [...]; self.at is after the bracket."""
        self.enter()
        negated = self.take("^")
        whole: CharSet | None = None
        operator = ""
        items: list[CharSet] = []
        first = True
        while True:
            if "x" in self.flags:
                while self.at < len(self.pattern) and self.pattern[self.at].isspace():
                    self.at += 1
            at = self.at
            if self.at == len(self.pattern):
                raise self.error("a class [...] that is not closed; write '\\[' for the character", start)
            ends = self.peek("]") and not first
            found = "" if ends else next((op for op in ("&&", "--", "~~") if self.peek(op)), "")
            if found == "--" and first:
                found = ""
            if ends or found:
                operand = items[0] if len(items) == 1 else CharSet("or", NOTHING, *items)
                kinds = {"&&": "and", "--": "minus", "~~": "xor"}
                whole = operand if whole is None else CharSet(kinds[operator], whole, operand)
                self.at += len(found) or 1
                if ends:
                    self.depth -= 1
                    return CharSet("not", whole) if negated else whole
                operator, items = found, []
                first = False
                continue
            first = False
            if self.peek("[:") and (end := self.pattern.find(":]", self.at)) > 0:
                name = self.pattern[self.at + 2 : end]
                ends_of = POSIX.get(name.removeprefix("^"))
                if ends_of is None:
                    raise self.error(f"{name!r} is not a POSIX class")
                pairs = tuple((ord(a), ord(b)) for a, b in zip(ends_of[::2], ends_of[1::2], strict=True))
                item = self.chars(CharSet("ranges", pairs))
                items.append(CharSet("not", item) if name.startswith("^") else item)
                self.at = end + 2
            elif self.take("["):
                items.append(self.bracket(at))
            else:
                items.append(self.chars(self.item(at)))

    def item(self, start: int) -> CharSet:
        """A character, a range or an escape inside a class."""
        low = self.member(start)
        if not (self.peek("-") and not self.peek("-]") and not self.peek("--")):
            return low
        if low.op != "ranges" or len(low.args[0]) != 1 or low.args[0][0][0] != low.args[0][0][1]:
            return low  # as in [\\w-.]: the next item is the hyphen itself
        self.at += 1
        high = self.member(start)
        if high.op != "ranges" or len(high.args[0]) != 1 or high.args[0][0][0] != high.args[0][0][1]:
            raise self.error("a range [a-b] whose end is not a single character", start)
        a, b = low.args[0][0][0], high.args[0][0][0]
        if a > b:
            raise self.error("a range [a-b] whose end is before its start", start)
        return CharSet("ranges", ((a, b),))

    def member(self, start: int) -> CharSet:
        char = self.next("a class [...]")
        if char != "\\":
            return CharSet.chars(ord(char))
        if self.take("b"):
            return CharSet.chars(8)
        return self.escape(start)


def parse(pattern: str) -> Node:
    """The syntax tree of a pattern."""
    return Parser(pattern).parse()
