"""The slow twin of the scanner: the same pretokens, by the `regex` module. Patterns that are not regular run here too.

`regex` differs from Rust's engine, which tiktoken uses, so the pattern is rewritten first: `\\s` is White_Space, `$` is
the end of the text only, `\\w` is Unicode's definition, POSIX classes are ASCII, `i` does not match the Turkish i, and
properties have the Unicode version of unicode_tables.py, whatever version `regex` has.

Two bounds stop hostile patterns. One that repeats a part too often is refused before it is compiled, and a search that
backtracks for too long raises a PatternError, as in tiktoken.
"""

from __future__ import annotations

import functools
import sys
import time
from array import array
from collections.abc import Iterator

import regex

from ..errors import PatternError
from .alphabet import Alphabet, property_set
from .syntax import POSIX, repeat_bounds, shown

WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d"
SETS = {"s": r"\p{White_Space}", "d": r"\p{Nd}", "h": "0-9A-Fa-f", "w": WORD}
TURKISH = "[\u0130\u0131]"  # under (?i), `regex` treats these as i and I
MOST_PARTS = 100_000  # of a pattern with its repetitions written out; `regex` takes 0.3 kB for each
SECONDS = 5.0  # of processor time for splitting a text, and more for each of its characters: 20 times what most need
SECONDS_PER_CHARACTER = 20e-6


@functools.cache
def everything() -> str:
    codes = array("I", range(0x110000)).tobytes()  # in a third of the time that map(chr, ...) takes
    return codes.decode(f"utf-32-{sys.byteorder[0]}e", "surrogatepass")


@functools.cache
def property_text(name: str) -> str:
    """`\\p{name}` for `regex`, corrected where its Unicode version differs from that of the tables."""
    text = rf"\p{{{name}}}"
    wanted = property_set(name)
    if wanted is None:
        return text
    alphabet = Alphabet([wanted])
    index = memoryview(alphabet.index).cast("H")
    ours = b"".join(alphabet.pages[i * 128 : i * 128 + 128] for i in index)
    ours = ours.translate(bytes(alphabet.mask(wanted) >> c & 1 for c in range(256)))
    theirs = bytearray(0x110000)
    for found in regex.finditer(f"{text}+", everything()):
        theirs[found.start() : found.end()] = b"\1" * (found.end() - found.start())

    def ranges(of: bytes, but_not: bytes) -> str:
        rest = int.from_bytes(of, "big") & ~int.from_bytes(but_not, "big")
        found = regex.finditer(b"\1+", rest.to_bytes(0x110000, "big"))
        return "".join(rf"\U{m.start():08x}-\U{m.end() - 1:08x}" for m in found)

    if ours == theirs:
        return text
    extra, missing = ranges(theirs, ours), ranges(ours, theirs)
    return f"[{f'[{text}--[{extra}]]' if extra else text}{missing}]"


class Rewriter:
    """Rewrites a pattern in one pass.

    groups: the flags in force in each open group. parts: how many parts each has, its repetitions written out.
    """

    def __init__(self, pattern: str):
        self.pattern = pattern
        self.at = 0
        self.groups = [frozenset[str]()]
        self.parts = [0]

    def take(self, size: int) -> str:
        self.at += size
        return self.pattern[self.at - size : self.at]

    def rewrite(self) -> str:
        out = []
        last = 0  # how many parts the last atom has
        while self.at < len(self.pattern):
            char = self.take(1)
            flags = self.groups[-1]
            if char == ")" and len(self.groups) > 1:
                last = self.parts.pop()
                self.parts[-1] += last
            elif char == "{":
                out.append(char + self.repeat(last))
                continue
            else:
                last = int(char not in "(|*+?")
                self.parts[-1] += last
            if char == "\\":
                out.append(self.escape(False))
            elif char == "[":
                text = self.bracket()
                out.append(f"(?:(?={TURKISH})(?-i:{text})|(?!{TURKISH}){text})" if "i" in flags else text)
            elif char == "(":
                out.append(self.group())
            elif char == ")":
                if len(self.groups) > 1:
                    self.groups.pop()
                out.append(char)
            elif char == "$":
                out.append(r"(?=\n|\Z)" if "m" in flags else r"\Z")
            elif char == "#" and "x" in flags:
                self.at = (self.pattern + "\n").find("\n", self.at) + 1
            elif char in "iI" and "i" in flags:
                out.append("(?-i:[iI])")
            else:
                out.append(char)
        return "".join(out)

    def repeat(self, last: int) -> str:
        """The rest of a quantifier {...} of an atom of `last` parts; PatternError if it makes too many parts."""
        end = self.pattern.find("}", self.at)
        bounds = repeat_bounds(self.pattern[self.at : max(end, 0)])
        if bounds is None:
            self.parts[-1] += 1  # the character {
            return ""
        times = max(1, bounds[0], bounds[1] or 0)
        self.parts[-1] += last * (times - 1)
        if self.parts[-1] > MOST_PARTS or times > MOST_PARTS:
            raise PatternError(
                f"the split pattern {shown(self.pattern)} has more than {MOST_PARTS:,} parts when its repetitions are "
                "written out. Use a smaller number, or * or + for any number."
            )
        return self.take(end + 1 - self.at)

    def group(self) -> str:
        flags = self.groups[-1]
        match = regex.match(r"\?([imsxu]*)(-[imsxu]+)?([:)])", self.pattern, pos=self.at)
        if match is None or match[3] == ":":
            self.parts.append(0)
        if match is None:
            self.groups.append(flags)
            return "("
        self.at = match.end()
        on, off, end = match[1].replace("u", ""), (match[2] or "").replace("u", ""), match[3]
        flags = (flags | set(on)) - set(off)
        if end == ")":
            self.groups[-1] = flags
        else:
            self.groups.append(flags)
        # Rust never does full case folding, under which one character may equal two.
        off = off or ("-f" if "i" in on else "")
        return f"(?{on}{off}{end}" if on or off or end == ":" else ""

    def escape(self, inside: bool) -> str:
        char = self.take(1)
        if char.lower() in SETS:
            items = "".join(
                property_text(p[3:-1]) if p[0] == "\\" and p[1] == "p" else p
                for p in regex.findall(r"\\p\{\w+\}|\\u....|.", SETS[char.lower()])
            )
            return f"[^{items}]" if char.isupper() else items if inside else f"[{items}]"
        if char in "pP":
            name = self.take(1)
            if name == "{":
                end = self.pattern.find("}", self.at)
                name = self.take(end - self.at)
                self.at += 1
            text = property_text(name.removeprefix("^"))
            return text if (char == "P") == name.startswith("^") else f"[^{text}]"
        if char in "xuU" and (match := regex.match(r"\{([0-9A-Fa-f]+)\}", self.pattern, pos=self.at)):
            self.at = match.end()
            return rf"\U{int(match[1], 16):08x}"
        if char == "e":
            return r"\x1b"
        if not inside:
            word = f"[{self.word()}]"
            anchors = {
                "z": r"\Z",
                "Z": r"(?=\n*\Z)",
                "b": f"(?:(?<={word})(?!{word})|(?<!{word})(?={word}))",
                "B": f"(?:(?<={word})(?={word})|(?<!{word})(?!{word}))",
            }
            if char in anchors:
                return anchors[char]
        return "\\" + char

    def word(self) -> str:
        saved, self.pattern, self.at = (self.pattern, self.at), "w", 0
        text = self.escape(True)
        self.pattern, self.at = saved
        return text

    def bracket(self) -> str:
        out = ["["]
        if self.pattern.startswith("^", self.at):
            out.append(self.take(1))
        if self.pattern.startswith("]", self.at):
            out.append("\\" + self.take(1))
        after_set = False
        while self.at < len(self.pattern):
            char = self.take(1)
            if char == "]":
                return "".join([*out, "]"])
            if char == "\\":
                after_set = self.pattern[self.at : self.at + 1] in tuple("pPsSdDwWhH")
                out.append(self.escape(True))
                continue
            if char == "[" and (match := regex.match(r":(\^?)(\w+):\]", self.pattern, pos=self.at)):
                self.at = match.end()
                ends = POSIX.get(match[2], "")
                items = "".join(rf"\x{ord(a):02x}-\x{ord(b):02x}" for a, b in zip(ends[::2], ends[1::2], strict=True))
                out.append(f"[{match[1]}{items}]")
            elif char == "[":
                out.append(self.bracket())
            elif char == "-" and after_set and self.pattern[self.at : self.at + 1] not in "-]":
                out.append(r"\-")  # after a set a hyphen does not begin a range
            else:
                out.append("\\|" if char == "|" else char)
            after_set = False
        return "".join(out)


@functools.cache
def to_regex(pattern: str) -> regex.Pattern:
    """The pattern, compiled by `regex` with the meaning it has in Rust's engine."""
    try:
        return regex.compile(Rewriter(pattern).rewrite(), regex.V1)
    except RecursionError:
        raise PatternError(f"the split pattern {shown(pattern)} has groups nested too deep") from None
    except regex.error as error:
        raise PatternError(f"the split pattern {shown(pattern)} is not a regular expression: {error}") from None


def matches(compiled: regex.Pattern, text: str) -> Iterator[tuple[int, int]]:
    """The matches as Rust's find_iter gives them: after an empty match, the search continues one character later.

    Raises TimeoutError after the processor time that SECONDS and SECONDS_PER_CHARACTER allow.
    """
    end = time.process_time() + SECONDS + SECONDS_PER_CHARACTER * len(text)
    at = 0
    while at <= len(text):
        for found in compiled.finditer(text, at, timeout=max(1e-6, end - time.process_time())):
            yield found.span()
            if found.end() == found.start():
                at = found.end() + 1
                break
        else:
            return


def reference_cuts(pattern: str, text: str) -> list[int]:
    """Where the pretokens of a text end, in characters: at both ends of each match, and at the end of the text."""
    cuts = {len(text)}
    try:
        for span in matches(to_regex(pattern), text):
            cuts.update(span)
    except TimeoutError:
        raise PatternError(
            f"the split pattern {shown(pattern)} takes too long on a text of {len(text):,} characters, cut up to "
            f"character {max(cuts - {len(text)}, default=0):,}: it can match there in too many ways. Rewrite it without "
            "nested repetitions or alternatives that match the same text."
        ) from None
    return sorted(cuts - {0})


def reference_pretokens(patterns: tuple[str, ...], text: str) -> list[str]:
    """The pretokens of a text; each pattern cuts the pretokens of the one before it.

    >>> reference_pretokens((r"\\\\p{N}", r"\\\\s?\\\\S+"), "see 42!")
    ['see', ' ', '4', '2', '!']
    """
    pretokens = [text] if text else []
    for pattern in patterns:
        parts = []
        for pretoken in pretokens:
            cuts = reference_cuts(pattern, pretoken)
            parts += [pretoken[a:b] for a, b in zip([0, *cuts], cuts, strict=False)]
        pretokens = parts
    return pretokens
