"""The filters in plain Python, slow and simple, for the tests to compare with."""

import itertools
import re
from collections.abc import Callable

import regex

from tokenmill.corpus.filters import _URL, FILTERS


def _characters(text: str, drop: Callable[[str], bool]) -> str:
    return "".join(c for c in text if not drop(c))


def _is_control(c: str) -> bool:
    point = ord(c)
    noncharacter = point & 0xFFFE == 0xFFFE or 0xFDD0 <= point <= 0xFDEF
    return (point < 32 and c not in "\t\n") or 127 <= point < 160 or c == "\ufeff" or noncharacter


def _lines(text: str, change: Callable[[str], str]) -> str:
    return "\n".join(change(line) for line in text.split("\n"))


def _runs(text: str, belongs: Callable[[str], bool], change: Callable[[str], str]) -> str:
    """The text with each longest run of characters that belong changed."""
    groups = itertools.groupby(text, belongs)
    return "".join(change(run) if inside else run for inside, run in ((k, "".join(g)) for k, g in groups))


def _urls(text: str) -> str:
    """The pattern, tried at every place."""
    parts, at = [], 0
    for found in _URL.finditer(text):
        parts += [text[at : found.start()], FILTERS["urls"].replace(found)]
        at = found.end()
    return "".join([*parts, text[at:]])


def _repeats(text: str) -> str:
    def line_of(line: str) -> str:
        runs = ["".join(group) for _, group in itertools.groupby(line)]
        heading = len(runs) > 1 and set(runs[0]) == {"#"} and len(runs[0]) <= 6 and runs[1][0] == " "
        short = [r[:3] if regex.match(r"[\p{P}\p{S}]", r[0]) and r[0] != "_" else r for r in runs]
        return "".join([runs[0] if heading else short[0], *short[1:]]) if runs else ""

    return _lines(text, line_of)


def _spaced_repeats(text: str) -> str:
    runs = ["".join(group) for _, group in itertools.groupby(text)]
    marks = [not (r[0].isalnum() or r[0] == "_" or r[0].isspace()) and len(r) > 3 for r in runs]
    return "".join(f" {r[:3]} " if mark else r for r, mark in zip(runs, marks, strict=True))


def _pipes(line: str) -> str:
    cells = line.split("|")
    kept = [cells[0]]
    for cell in cells[1:3]:
        kept = [*kept[:-1], kept[-1].removesuffix(" "), cell.removeprefix(" ")]
    return " ".join([" | ".join(kept), *cells[3:]])


def _bullet(line: str) -> str:
    rest = line.lstrip(" \t\xa0")
    text = rest.lstrip("•◦▪▫●○■□▸►▶‣⁃∙·➢➤")
    words = text.lstrip(" \t\xa0")
    return f"- {words}" if len(rest) > len(text) > len(words) else line


def _blank_lines(text: str) -> str:
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text


def _hex(run: str) -> str:
    return " " if len(run) >= 32 and not run.isdigit() and not run.isalpha() else run


SLOW: dict[str, Callable[[str], str]] = {
    "line-ends": lambda text: "\n".join(
        part for line in text.split("\r\n") for part in re.split("[\r\x85\u2028\u2029]", line)
    ),
    "controls": lambda text: _characters(text, _is_control),
    "urls": _urls,
    "hex": lambda text: _runs(text, lambda c: c in "0123456789abcdefABCDEF", _hex),
    "repeats": _repeats,
    "spaced-repeats": _spaced_repeats,
    "pipes": lambda text: _lines(text, _pipes),
    "long-runs": lambda text: _runs(text, lambda c: "!" <= c <= "~", lambda run: " " if len(run) > 50 else run),
    "spaces": lambda text: _lines(text, lambda line: " ".join(line.split())),
    "bullets": lambda text: _lines(text, _bullet),
    "letterless-lines": lambda text: "\n".join(line for line in text.split("\n") if regex.search(r"\p{L}", line)),
    "blank-lines": _blank_lines,
}
