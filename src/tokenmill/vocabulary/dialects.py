"""The two dialects of split patterns: ours (Rust's, as in tiktoken) and Oniguruma's, which Hugging Face tokenizers uses.

Most of a pattern means the same in both. The differences, which are rewritten here:

    ours            Oniguruma       meaning
    {n,m}+          (?>...{n,m})    possessive; Oniguruma reads {n,m}+ as "one or more times {n,m}"
    {n}?            {n}             lazy; Oniguruma reads {n}? as "{n} or nothing"
    $  ^            \\z  \\A          the end and the start of the text; Oniguruma's are those of every line
    (?m:$) (?m:^)   $  ^            the end and the start of a line
    (?s:.)          (?m:.)          any character, newlines too
    \\pL             \\p{L}
    (?P<x>...)      (...)           names of groups mean nothing to a split pattern

`\\p{N}{1,3}+` in a tokenizer.json is therefore not what it is in tiktoken: it takes a whole run of digits at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..errors import ConversionError

# Compiled where a pattern is rewritten: most programs load one tokenizer, which may have none.
_TOKEN = r"""
      (?P<escape> \\ (?: [pP]\{[^}]*\} | [pP][A-Za-z] | x\{[0-9A-Fa-f]+\} | x[0-9A-Fa-f]{2} | u[0-9A-Fa-f]{4}
                      | [kg]<[^>]*> | [0-9]+ | . ) )
    | (?P<open> \( (?: \?P?<[A-Za-z_]\w*> | \?(?:[:=!>|]|<[=!]) | \?[A-Za-z]*(?:-[A-Za-z]+)?[:)] | \?. )? )
    | (?P<close> \) )
    | (?P<range> (?P<counts> \{ (?: [0-9]+ (?:,[0-9]*)? | ,[0-9]+ ) \} ) [+?]? )
    | (?P<repeat> [*+?][+?]? )
    | (?P<bar> \| )
    | (?P<class> \[ )
    | (?P<other> . )
    """
_CLASS_TOKEN = (
    r"\[:\^?\w+:\]|\\(?:[pP]\{[^}]*\}|[pP][A-Za-z]|x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|.)|&&|--|~~|."
)
_TO_ONIGURUMA = {r"\Z": r"\z"}
_FROM_ONIGURUMA = {
    r"\Z": r"(?=\n?\z)",
    r"\h": "[0-9A-Fa-f]",
    r"\H": "[^0-9A-Fa-f]",
    r"\N": r"[^\n]",
    r"\O": "(?s:.)",
}
_LINE_ANCHOR = r"\(\?m:([$^])\)(?![*+?{])"  # as from_oniguruma writes it


def to_oniguruma(pattern: str) -> str:
    """`pattern` as Oniguruma must read it to cut the same pretokens. ConversionError if it cannot.

    >>> to_oniguruma(r"\\p{N}{1,3}+|\\s++$")
    '(?>\\\\p{N}{1,3})|\\\\s++\\\\z'
    """
    return _Rewriter(pattern, outwards=True).run()


def from_oniguruma(pattern: str) -> str:
    """A pattern of Oniguruma in our dialect, cutting the same pretokens. ConversionError if no pattern does.

    >>> from_oniguruma(r"\\p{N}{1,3}+|\\s+$")
    '(?:\\\\p{N}{1,3})+|\\\\s+(?m:$)'
    """
    return _Rewriter(pattern, outwards=False).run()


def canonical(pattern: str) -> str:
    """The one spelling of a pattern that survives being written to a tokenizer.json and read back.

    >>> canonical(r"\\p{N}{1,3}+|\\pL$") == canonical(r"(?>\\p{N}{1,3})|\\p{L}\\z")
    True
    """
    try:
        return from_oniguruma(to_oniguruma(pattern))
    except ConversionError:
        return pattern


class _Rewriter:
    """One pass over a pattern: copies it token by token, and knows where the last atom began, for its quantifier."""

    def __init__(self, pattern: str, outwards: bool):
        self.pattern, self.outwards = pattern, outwards
        self.out: list[str] = []
        self.atom = 0  # where in `out` the last atom begins
        self.groups: list[tuple[int, bool]] = []  # of the open groups: where each begins, the multi-line flag before it
        self.lines = False  # whether ^ and $ are those of lines (ours; Oniguruma's always are)

    def run(self) -> str:
        position = 0
        tokens, line_anchors = re.compile(_TOKEN, re.VERBOSE | re.DOTALL), re.compile(_LINE_ANCHOR)
        while position < len(self.pattern):
            line_anchor = line_anchors.match(self.pattern, position)
            if line_anchor and self.outwards:
                self.emit(line_anchor[1])
                position = line_anchor.end()
                continue
            found = tokens.match(self.pattern, position)
            assert found is not None  # the last alternative takes any character
            kind, text = found.lastgroup, found.group()
            position = found.end()
            if kind == "class":
                self.emit("".join(self.character_class(position - 1)))
                position = self.class_end
            elif kind == "range":
                self.counted(found["counts"], text[-1])
            elif kind == "open":
                self.open(text)
            elif kind == "close":
                if not self.groups:
                    self.refuse(")", "closes no group")
                self.out.append(text)
                self.atom, self.lines = self.groups.pop()
            elif kind == "escape":
                self.emit(self.escape(text))
            elif kind == "other" and text in "^$":
                self.emit(self.anchor(text))
            elif kind in ("repeat", "bar"):
                self.out.append(text)
            else:
                self.emit(text)
        if self.groups:
            self.refuse("(", "is never closed")
        return "".join(self.out)

    def emit(self, atom: str) -> None:
        self.atom = len(self.out)
        self.out.append(atom)

    def refuse(self, what: str, why: str = "") -> None:
        reader = "Hugging Face's regular expressions (Oniguruma)" if self.outwards else "tokenmill"
        why = why or f"{reader} cannot say"
        raise ConversionError(f"the split pattern {self.pattern!r} holds {what!r}, which {why}")

    def counted(self, text: str, after: str) -> None:
        """A counted repetition `text`, which ends with `after` or has that ? or + after it."""
        if after == "+" or (after == "?" and "," not in text):
            if not self.out:
                self.refuse(text, "repeats nothing")
            body = "".join(self.out[self.atom :]) + text
            if not self.outwards:
                body = f"(?:{body}){after}"
            elif after == "+":
                body = f"(?>{body})"
            self.out[self.atom :] = [body]
        else:
            self.out.append(text + ("?" if after == "?" else ""))

    def open(self, text: str) -> None:
        start, before = len(self.out), self.lines
        flags = re.fullmatch(r"\(\?([A-Za-z]*)(?:-([A-Za-z]+))?([:)])", text)
        if flags and text != "(?:":
            on, off = set(flags[1]), set(flags[2] or "")
            newline_dot, line_anchors = ("s", "m") if self.outwards else ("m", None)
            known = {"i", "x", newline_dot, line_anchors}
            if (on | off) - known:
                self.refuse(text)
            if line_anchors in on | off:
                self.lines = line_anchors in on
            other = "m" if self.outwards else "s"
            rename = {newline_dot: other, line_anchors: ""}
            words = ["".join(sorted(rename.get(flag, flag) for flag in side)) for side in (on, off)]
            text = "(?" + words[0] + (f"-{words[1]}" if words[1] else "") + flags[3]
            if flags[3] == ")":  # flags for the rest of the group, where the two disagree on what a later "|" ends
                if start != (self.groups[-1][0] + 1 if self.groups else 0):
                    self.refuse(text, "stands in the middle of a group: write (?i:...) instead")
                if text != "(?)":
                    self.out.append(text)
                return
        elif re.fullmatch(r"\(\?P?<[A-Za-z_]\w*>", text):
            text = "("
        elif text.startswith("(?") and text not in ("(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!"):
            self.refuse(text)
        self.out.append(text)
        self.groups.append((start, before))

    def anchor(self, text: str) -> str:
        if self.outwards:
            return text if self.lines else {"^": r"\A", "$": r"\z"}[text]
        return f"(?m:{text})"

    def escape(self, text: str) -> str:
        if text[1] in "pP":
            return _property(text, self.outwards)
        if text[1] in ("KGRXhHkg" if self.outwards else "KGRXyYkg"):
            self.refuse(text)
        return (_TO_ONIGURUMA if self.outwards else _FROM_ONIGURUMA).get(text, text)

    def character_class(self, start: int) -> Iterator[str]:
        """The class that begins at `start`, nested classes included; sets `class_end`."""
        depth, position, first = 0, start, False
        tokens = re.compile(_CLASS_TOKEN, re.DOTALL)
        while position < len(self.pattern):
            found = tokens.match(self.pattern, position)
            assert found is not None
            text = found.group()
            position = found.end()
            if text == "[":
                depth, first = depth + 1, True
                if self.pattern[position : position + 1] == "^":
                    text, position = "[^", position + 1
                yield text
                continue
            if text == "]" and not first:
                depth -= 1
                yield text
                if depth == 0:
                    self.class_end = position
                    return
                continue
            first = False
            if text in ("--", "~~") and self.outwards:
                self.refuse(text)
            if text.startswith(("\\p", "\\P")):
                text = _property(text, self.outwards)
            elif text == r"\h" and not self.outwards:
                text = "0-9A-Fa-f"
            yield text if text != "]" else r"\]"
        self.refuse("[", "opens a class that is never closed")


def _property(text: str, outwards: bool) -> str:
    r"""\pL as \p{L}, \p{^L} as \P{L}; outwards also \p{Script=Han} as \p{Han}."""
    letter, name = text[1], text[2:].strip("{}")
    if name.startswith("^"):
        letter, name = ("P" if letter == "p" else "p"), name[1:]
    if outwards:
        name = re.sub(r"^(?:script|sc|general_category|gc)[=:]", "", name, flags=re.IGNORECASE)
    return f"\\{letter}{{{name}}}"
