"""The parser of split patterns: from the text of a regular expression to a syntax tree.

There are two dialects: that of Rust's `fancy_regex`, which tiktoken and tokenmill use, and Oniguruma's, of tokenizer.json.
The tree has the same meaning for both. Their differences:

    Rust            Oniguruma       meaning
    {n,m}+          (?>...{n,m})    possessive; Oniguruma reads {n,m}+ as "one or more times {n,m}"
    {n}?            {n}             lazy; Oniguruma reads {n}? as "{n} or nothing"
    $  ^            \\z  \\A          the end and the start of the text; Oniguruma's are those of every line
    (?s:.)          (?m:.)          any character, newlines too
    \\w              [\\w--\\u200c\\u200d]  Oniguruma's has no joiners, but outside of a class the Latin-1 numbers
                                    \u00b2\u00b3\u00b9\u00bc\u00bd\u00be
    [[:alpha:]]     [A-Za-z]        POSIX classes are Unicode's in Oniguruma
    (?i)[\\p{Lu}]   (?i)\\p{Lu}     any letter with case; alone, a property keeps its meaning in Oniguruma

`\\p{N}{1,3}+` therefore differs in a tokenizer.json and in tiktoken: in the former it matches a whole run of digits.
An invalid regular expression raises a PatternError with the position of the mistake.
"""

from __future__ import annotations

import contextlib
import re
from typing import Literal

from ..errors import PatternError
from .alphabet import ANY, MAX, WHITE_SPACE, CharSet, NotRegular, property_set
from .tree import (
    NEWLINE,
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
    as_look,
    expansions,
    folds_to_several,
    is_condition,
)

Dialect = Literal["rust", "oniguruma"]


DIGIT = CharSet("categories", (8,))
HEXADECIMAL = CharSet("ranges", ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)))
CONTROLS = {"n": 10, "t": 9, "r": 13, "f": 12, "v": 11, "a": 7, "e": 27}
POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": r"\0-\x7f", "blank": r"\t ", "cntrl": r"\0-\x1f\x7f", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r"\t-\r ", "upper": "A-Z",
    "word": "0-9A-Z_a-z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
UNICODE_POSIX = {
    "alnum": r"\p{Alphabetic}\p{Nd}", "alpha": r"\p{Alphabetic}", "ascii": r"\0-\x7f", "blank": r"\t\p{Zs}",
    "cntrl": r"\p{Cc}", "digit": r"\p{Nd}", "graph": r"^\s\p{Cc}\p{Cn}\p{Cs}", "lower": r"\p{Lowercase}",
    "print": r"^\p{Zl}\p{Zp}\p{Cc}\p{Cn}\p{Cs}", "punct": r"\p{P}\p{S}", "space": r"\s", "upper": r"\p{Uppercase}",
    "word": r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
WORDS: dict[Dialect, str] = {
    "rust": UNICODE_POSIX["word"] + r"\u200c\u200d",
    "oniguruma": UNICODE_POSIX["word"] + r"\xb2\xb3\xb9\xbc-\xbe",
}
REFERENCE = re.compile(r"\\[1-9k]")
MOST_DEPTH = 100


def class_set(items: str) -> CharSet:
    """Return the set of a class [...] with these items."""
    return Parser(items + "]").bracket(0)


def combined(operator: str, a: CharSet, b: CharSet) -> CharSet:
    """Return the set of `a&&b`, `a--b` or `a~~b`."""
    if operator == "~~":
        return CharSet("or", combined("--", a, b), combined("--", b, a))
    return CharSet("and", a, b if operator == "&&" else CharSet("not", b))


def single(set: CharSet) -> int | None:
    """Return the only character of a set that names it, else None."""
    match set.op, *set.args:
        case "ranges", ((low, high),) if low == high:
            return low
    return None


def shown(pattern: str) -> str:
    """Return a pattern for a message, cut to 200 characters."""
    return repr(pattern) if len(pattern) <= 200 else f"{pattern[:200]!r}... ({len(pattern):,} characters)"


def repeat_bounds(text: str) -> tuple[int, int | None] | None:
    """Return the bounds inside a `{...}`, None for no upper bound; None if it is not a quantifier, as with a space in it.

    >>> repeat_bounds("3"), repeat_bounds("1,3"), repeat_bounds("2,"), repeat_bounds("x")
    ((3, 3), (1, 3), (2, None), None)
    """
    least, comma, most = text.partition(",")
    if not (least or most) or not all(d.isdecimal() and d.isascii() for d in (least, most) if d):
        return None
    # int() refuses 5,000 digits
    low, high = (int(d[:10] or 0) if len(d.lstrip("0")) <= 9 else 10**9 for d in (least, most))
    return low, (high if most else None) if comma else low


class Parser:
    def __init__(self, pattern: str, dialect: Dialect = "rust"):
        self.pattern = pattern
        self.dialect = dialect
        self.rust = dialect == "rust"
        self.refers = REFERENCE.search(pattern) is not None
        self.groups: dict[str, int] = {}  # of those with a name: the number
        self.count = 0
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

    def until(self, end: str, what: str, start: int) -> str:
        """Return the text before the next `end`, and go on after it. Without one, raise an error about `what` at `start`."""
        at = self.pattern.find(end, self.at)
        if at < 0:
            raise self.error(what, start)
        text, self.at = self.pattern[self.at : at], at + len(end)
        return text

    def next(self, inside: str) -> str:
        if self.at == len(self.pattern):
            raise self.error(f"it ends inside {inside}")
        self.at += 1
        return self.pattern[self.at - 1]

    def skip_comments(self) -> None:
        while True:
            start, spaced = self.at, "x" in self.flags
            if self.take("(?#"):
                self.until(")", "a comment that is not closed", start)
            elif spaced and self.pattern[self.at : self.at + 1].isspace():
                self.at += 1
            elif spaced and self.peek("#"):
                end = self.pattern.find("\n", self.at)
                self.at = len(self.pattern) if end < 0 else end + 1
            else:
                return

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MOST_DEPTH:
            raise self.error(f"groups or classes nested more than {MOST_DEPTH} deep")

    def alternatives(self) -> Node:
        self.enter()
        branches = [self.sequence()]
        while self.take("|"):
            branches.append(self.sequence())
        self.depth -= 1
        return branches[0] if len(branches) == 1 else Alternate(branches)

    def sequence(self) -> Node:
        items: list[Node] = []
        while True:
            self.skip_comments()
            if self.at == len(self.pattern) or self.pattern[self.at] in "|)":
                whole = items[0] if len(items) == 1 else Concat(items)
                if "i" in self.flags and not self.rust and folds_to_several(whole):
                    raise self.error("ignoring case, Oniguruma takes one character for two here, as '\u00df' for 'ss'")
                return whole
            start = self.at
            if (node := self.atom()) is not None:
                items.append(self.quantified(node, start))

    def quantified(self, node: Node, start: int) -> Node:
        self.skip_comments()
        counted = self.peek("{")
        bounds = self.bounds()
        if bounds is None:
            return node
        if not self.rust and is_condition(node):
            raise self.error("Oniguruma does not repeat a condition, such as (?=...) or \\b", start)
        if isinstance(node, Concat) and len(node.children) == 2 and node.children[0] == Concat([]):
            node = node.children[1]  # with (?:) before it, Oniguruma does
        least, most = bounds
        if most is not None and most < least:
            raise self.error(f"the lower bound of the repetition {{{least},{most}}} exceeds its upper bound", start)
        self.skip_comments()
        plain = counted and not self.rust  # {n,m}+ and {n}? are two quantifiers there
        possessive = not plain and self.take("+")
        lazy = not possessive and not (plain and least == most) and self.take("?")
        node = Repeat(node, least, most, lazy)
        if possessive:
            node = Atomic(node)
        if not self.rust:
            return self.quantified(node, start)
        self.skip_comments()
        if self.bounds() is not None:
            raise self.error("a quantifier follows a quantifier; put the first in a group (?:...)")
        return node

    def bounds(self) -> tuple[int, int | None] | None:
        for char, simple in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(char):
                return simple
        if self.peek("{"):
            end = self.pattern.find("}", self.at)
            inside = self.pattern[self.at + 1 : max(end, 0)]
            if self.rust and "x" in self.flags:
                inside = ",".join(map(str.strip, inside.split(",")))
            bounds = repeat_bounds(inside)
            self.at = self.at if bounds is None else end + 1
            return bounds
        return None

    def chars(self, set: CharSet) -> CharSet:
        return set.fold() if "i" in self.flags else set

    def atom(self) -> Node | None:
        """Return the next atom; None for a group that only sets flags."""
        start = self.at
        char = self.next("nothing")
        if char == "(":
            return self.group(start)
        if char == "[":
            members = self.bracket(start)
            if "i" in self.flags and not self.rust and members.op != "not":
                for char, text in expansions().items():
                    if ord(char) in members:
                        raise self.error(f"ignoring case, Oniguruma takes {text!r} for {char!r} in this class", start)
            return Chars(members)
        if char == ".":
            return Chars(ANY if ("s" if self.rust else "m") in self.flags else CharSet("not", NEWLINE))
        lines = "m" in self.flags or not self.rust
        if char == "$":
            return Look(NEWLINE if lines else NOTHING, True)
        if char == "^":
            return Alternate([Start(), Around(Chars(NEWLINE), False, False)]) if lines else Start()
        if char in "*+?":
            raise self.error(f"there is nothing to repeat before {char!r}; write '\\{char}' for the character", start)
        if char == "\\":
            if (anchor := self.anchor()) is not None:
                return anchor
            has_case = self.rust or self.pattern[self.at] not in "pPwW"
            members = self.escape(start)
            return Chars(self.chars(members) if has_case else members)
        return Chars(self.chars(CharSet.chars(ord(char))))

    def anchor(self) -> Node | None:
        """Return the node of an escape that is an anchor; None for any other."""
        following = self.next("an escape")
        if following == "z":
            return Look(NOTHING, True)
        if following == "Z":
            newlines = Repeat(Chars(NEWLINE), 0, None if self.rust else 1, False)
            return Around(Concat([newlines, Look(NOTHING, True)]), True, False)
        if following == "A":
            return Start()
        if following in "bB":
            word = Chars(self.words(False))
            sides = [[Around(word, ahead, ahead == first) for ahead in (False, True)] for first in (False, True)]
            if following == "B":
                sides = [[Around(word, ahead, negated) for ahead in (False, True)] for negated in (False, True)]
            return Alternate([Concat(list(side)) for side in sides])
        if following == "R" and not self.rust:
            ends = CharSet("ranges", ((10, 13), (0x85, 0x85), (0x2028, 0x2029)))
            return Atomic(Alternate([Concat([Chars(CharSet.chars(13)), Chars(NEWLINE)]), Chars(ends)]))
        if following in "NO" and not self.rust:
            return Chars(CharSet("not", NEWLINE) if following == "N" else ANY)
        if following in "123456789":
            while self.pattern[self.at : self.at + 1].isdecimal():
                following += self.next("a reference")
            return Reference(int(following[:4]))
        if following == "k" and self.take("<"):
            name = self.until(">", "a reference \\k<...> that is not closed", self.at)
            if name not in self.groups:
                raise self.error(f"a reference to {name!r}, and no group before it has that name")
            return Reference(self.groups[name])
        if following in "GKRXNkgyYO":
            raise self.error(f"\\{following} is not one of the escapes that a split pattern may have", self.at - 2)
        self.at -= 1
        return None

    def group(self, start: int) -> Node | None:
        outer = self.flags
        wrap = ""
        number = 0
        if self.take("?"):
            wrap = next((kind for kind in (">", "=", "!", "<=", "<!", ":") if self.take(kind)), "")
            if not wrap and (self.take("<") or (self.rust and self.take("P<"))):
                at = self.at
                name = self.until(">", "a group name that is not an identifier", at)
                if not name.isidentifier():
                    raise self.error("a group name that is not an identifier", at)
                self.count += 1
                number = self.groups[name] = self.count
            elif not wrap:
                self.read_flags(start)
                if self.take(")"):  # the flags are for the rest of the enclosing group
                    if self.rust:
                        return None
                    rest = self.alternatives()  # a "|" after it ends only what follows it
                    self.flags = outer
                    return rest
                if not self.take(":"):
                    raise self.error("a group of an unknown kind", start)
        else:
            self.count += 1
            number = self.count
        node = self.alternatives()
        if not self.take(")"):
            raise self.error("a group that is not closed; write '\\(' for the character", start)
        self.flags = outer
        if wrap == ">":
            return Atomic(node)
        if wrap in ("=", "!", "<=", "<!"):
            ahead, negated = wrap[0] != "<", wrap[-1] == "!"
            with contextlib.suppress(NotRegular):
                if ahead:
                    look = as_look(node)
                    return Look(CharSet("not", look.set), not look.end) if negated else look
            return Around(node, ahead, negated)
        return Group(node, number) if number and self.refers else node

    def read_flags(self, start: int) -> None:
        on = True
        while self.at < len(self.pattern) and self.pattern[self.at] not in ":)":
            flag = self.next("the flags of a group")
            if flag == "-" and on:
                on = False
            elif flag in ("imsx" if self.rust else "imx"):
                self.flags = self.flags | {flag} if on else self.flags - {flag}
            elif flag != "u" or not on:
                raise self.error(f"the flag {flag!r} is not one of i, m, s, x" if self.rust else f"the flag {flag!r}")
        if self.at == len(self.pattern):
            raise self.error("a group that is not closed", start)

    def escape(self, start: int, in_class: bool = False) -> CharSet:
        """Return the set of an escape; self.at is after the backslash."""
        char = self.next("an escape")
        if char in CONTROLS:
            return CharSet.chars(CONTROLS[char])
        if char in "xuU":
            return CharSet.chars(self.code(char, start))
        if char in "pP":
            name = self.next("a property")
            if name != "{" and not self.rust:
                raise self.error(f"\\{char} without the braces of a property", start)
            if name == "{":
                name = self.until("}", "a property \\p{...} that is not closed", start)
            negated = (char == "P") != name.startswith("^")
            name = name.removeprefix("^")
            if not self.rust and (posix := name.lower()) in ("graph", "print", "word", "xdigit"):
                members = self.words(in_class) if posix == "word" else class_set(UNICODE_POSIX[posix])
            else:
                known = property_set(name) if self.rust or not {"=", "&"}.intersection(name) else None
                members = known or CharSet("property", name, name=name)
            if negated:
                return CharSet("not", self.chars(members) if self.rust or in_class else members)
            return members
        if char in "dDsSwWhH":
            members = {"d": DIGIT, "s": WHITE_SPACE, "h": HEXADECIMAL}.get(char.lower()) or self.words(in_class)
            return CharSet("not", members) if char.isupper() else members
        if char.isalnum() and char.isascii():
            raise self.error(f"\\{char} is not a known escape", start)
        return CharSet.chars(ord(char))

    def words(self, in_class: bool) -> CharSet:
        """Return the set of `\\w`: Alphabetic, marks, decimal digits, connectors, and the dialect's additions."""
        return class_set(UNICODE_POSIX["word"] if in_class and not self.rust else WORDS[self.dialect])

    def code(self, kind: str, start: int) -> int:
        if not self.rust and (kind == "U" or (kind == "u" and self.peek("{"))):
            raise self.error(f"\\{kind} with these digits is not a code point in Oniguruma", start)
        wrong = f"\\{kind} without the hexadecimal digits of a code point"
        if self.take("{"):
            digits = self.until("}", wrong, start)
        else:
            length = {"x": 2, "u": 4, "U": 8}[kind]
            digits, self.at = self.pattern[self.at : self.at + length].ljust(length), self.at + length
        if not re.fullmatch("[0-9A-Fa-f]+", digits) or int(digits, 16) > MAX:
            raise self.error(wrong, start)
        return int(digits, 16)

    def bracket(self, start: int) -> CharSet:
        """Return the set of a class [...]; self.at is after the bracket."""
        self.enter()
        negated = self.take("^")
        whole: CharSet | None = None
        operator = ""  # before the items
        items: list[CharSet] = []
        first = True
        while True:
            while "x" in self.flags and self.rust and self.pattern[self.at : self.at + 1].isspace():
                self.at += 1
            at = self.at
            if at == len(self.pattern):
                raise self.error("a class [...] that is not closed; write '\\[' for the character", start)
            operators = ("&&", "--", "~~") if self.rust else ("&&",)
            following = next((op for op in operators if self.peek(op) and not (first and op == "--")), "")
            ends = self.peek("]") and not first
            first = False
            if ends or following:
                operand = items[0] if len(items) == 1 else CharSet("or", NOTHING, *items)
                whole = operand if whole is None else combined(operator, whole, operand)
                self.at += len(following) or 1
                if ends:
                    self.depth -= 1
                    return CharSet("not", whole) if negated else whole
                operator, items = following, []
            elif self.peek("[:") and (end := self.pattern.find(":]", at)) > 0:
                name = self.pattern[at + 2 : end]
                contents = (POSIX if self.rust else UNICODE_POSIX).get(name.removeprefix("^"))
                if contents is None:
                    raise self.error(f"{name!r} is not a POSIX class")
                item = self.chars(class_set(contents))
                items.append(CharSet("not", item) if name.startswith("^") else item)
                self.at = end + 2
            elif self.take("["):
                items.append(self.bracket(at))
            else:
                items.append(self.chars(self.item(at)))

    def item(self, start: int) -> CharSet:
        """Return the set of a character, a range or an escape inside a class."""
        low = self.member(start)
        if not (self.peek("-") and not self.peek("-]") and not self.peek("--")):
            return low
        first = single(low)
        if first is None:
            return low  # as in [\\w-.]: the next item is the hyphen itself
        self.at += 1
        last = single(self.member(start))
        if last is None:
            raise self.error("a range [a-b] whose end is not a single character", start)
        if first > last:
            raise self.error("a range [a-b] whose end is before its start", start)
        return CharSet("ranges", ((first, last),))

    def member(self, start: int) -> CharSet:
        char = self.next("a class [...]")
        if char != "\\":
            return CharSet.chars(ord(char))
        if self.take("b"):
            return CharSet.chars(8)
        if self.take("0"):
            return CharSet.chars(0)
        return self.escape(start, in_class=True)


def parse(pattern: str, dialect: Dialect = "rust") -> Node:
    """Return the syntax tree of a pattern."""
    parser = Parser(pattern, dialect)
    node = parser.alternatives()
    if parser.at < len(pattern):
        raise parser.error("a ')' without its '('; write '\\)' for the character")
    return node
