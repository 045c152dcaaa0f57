"""The slow twin of the scanner: the same pretokens, by rewriting the text of a pattern for the `regex` module.

It shares no code with tokenmill. It reads the two files of Unicode's tables itself, since `regex` may have another version
of Unicode.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import zlib
from array import array
from collections.abc import Iterator
from pathlib import Path

import regex

TABLES = Path(importlib.util.find_spec("tokenmill").submodule_search_locations[0], "split")
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()
POSIX = {
    "alnum": "09AZaz", "alpha": "AZaz", "ascii": "\0\x7f", "blank": "\t\t  ", "cntrl": "\0\x1f\x7f\x7f", "digit": "09",
    "graph": "!~", "lower": "az", "print": " ~", "punct": "!/:@[`{~", "space": "\t\r  ", "upper": "AZ",
    "word": "09AZ__az", "xdigit": "09AFaf",
}  # fmt: skip
WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d"
SETS = {"s": r"\p{White_Space}", "d": r"\p{Nd}", "h": "0-9A-Fa-f", "w": WORD}
TURKISH = "[\u0130\u0131]"  # under (?i), `regex` treats these as i and I


@functools.cache
def everything() -> str:
    codes = array("I", range(0x110000)).tobytes()  # in a third of the time that map(chr, ...) takes
    return codes.decode(f"utf-32-{sys.byteorder[0]}e", "surrogatepass")


@functools.cache
def members(name: str) -> bytes | None:
    """1 for each code point with a category, a group of them or another property; None where the tables have none."""
    chosen = [CATEGORIES.index(each) for each in CATEGORIES if each == name or each[0] == name]
    if chosen:
        data = zlib.decompress((TABLES / "categories.zlib").read_bytes())
        pages, numbers = data[2 * 8704 :], array("H", data[: 2 * 8704])
        is_member = bytes(number in chosen for number in range(256))
        return b"".join(pages[n * 128 : n * 128 + 128] for n in numbers).translate(is_member)
    plain = name.lower().replace("_", "")
    for line in zlib.decompress((TABLES / "properties.zlib").read_bytes()).decode().split("\n"):
        names, *numbers = line.split(" ")
        if plain in names.lower().replace("_", "").split("="):
            found, at = bytearray(0x110000), 0
            for gap, length in zip(numbers[::2], numbers[1::2], strict=True):
                first, at = at + int(gap, 16), at + int(gap, 16) + int(length, 16)
                found[first : at + 1] = b"\1" * (at + 1 - first)
            return bytes(found)
    return None


@functools.cache
def property_text(name: str) -> str:
    """`\\p{name}` for `regex`, corrected where its Unicode version differs from that of the tables."""
    text = rf"\p{{{name}}}"
    ours = members(name)
    if ours is None:
        return text
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
    """Rewrites a pattern in one pass. groups: the flags in force in each open group."""

    def __init__(self, pattern: str):
        self.pattern = pattern
        self.at = 0
        self.groups = [frozenset[str]()]

    def take(self, size: int) -> str:
        self.at += size
        return self.pattern[self.at - size : self.at]

    def rewrite(self) -> str:
        out = []
        while self.at < len(self.pattern):
            char = self.take(1)
            flags = self.groups[-1]
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

    def group(self) -> str:
        flags = self.groups[-1]
        match = regex.match(r"\?([imsxu]*)(-[imsxu]+)?([:)])", self.pattern, pos=self.at)
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
    return regex.compile(Rewriter(pattern).rewrite(), regex.V1)


def matches(compiled: regex.Pattern, text: str) -> Iterator[tuple[int, int]]:
    """The matches as Rust's find_iter gives them: after an empty match, the search continues one character later."""
    at = 0
    while at <= len(text):
        match = compiled.search(text, at)
        if match is None:
            return
        yield match.span()
        at = match.end() + (match.end() == match.start())


def reference_cuts(pattern: str, text: str) -> list[int]:
    """Where the pretokens of a text end, in characters: at both ends of each match, and at the end of the text."""
    cuts = {len(text)}
    for span in matches(to_regex(pattern), text):
        cuts.update(span)
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
