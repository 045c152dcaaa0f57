"""The filters of the cleaners, each a function that can be switched off by its name.

A filter takes a text and gives it back without what it is against; what it took out it adds to a counter, under its own
name and a specimen. Runs of URLs, hexadecimal, base64 and the like are runs of ASCII characters alone: a script that
writes no spaces is never one long "run", and no letter outside the Latin script is lost to any filter of characters.

They are applied in the order of FILTERS.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

import regex

from ..errors import UsageError
from .wikitext import Segment

__all__ = ["DEFAULT_FILTERS", "FILTERS", "chosen_filters", "clean_segments"]

SPECIMEN_CHARACTERS = 60

# The brackets around a URL or an address go with it.
_URL = re.compile(
    r"([(\[<]\s?)?(?:(?:https?|ftps?|file)://|\bwww\.(?=[A-Za-z0-9-]+\.))[!#-;=?-Z_a-z~]*[A-Za-z0-9/_&=#%~$@+*-]"
    r"(?(1)\s?[)\]>])",
    re.I | re.A,
)
_EMAIL = re.compile(
    r"([(\[<]\s?)?(?<![\w.+-])[A-Za-z0-9][\w.+%-]{0,63}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.)+[A-Za-z]{2,24}\b"
    r"(?(1)\s?[)\]>])",
    re.A,
)
_HEX = re.compile(r"[0-9A-Fa-f]{32,}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
_NO_BASE64 = re.compile(r"[a-z/]+")  # a long word or path: base64 of that length has a capital or a digit
_REPEATED = re.compile(r"(\S)\1{3,}")
_LETTER_NOT_LATIN = regex.compile(r"[[\p{L}\p{M}]--\p{Latin}]", regex.V1)
_LINE_END = re.compile("\r\n|[\r\x85\u2028\u2029]")
_SPACES = re.compile(r"[^\S\n ][^\S\n]*| [^\S\n]+")  # all runs but the single space
_LONG_RUN = re.compile(r"[!-~]{51,}")
# Where a line may begin with what is no text, found fast; and what of that goes: punctuation, white space, and the
# bullets that Unicode calls symbols. A plus is one only before a space, and "$5" keeps its dollar.
_LINE_BEGIN = re.compile(r"\n(?:[^\w\n]|_)+")
_LINE_START = regex.compile(r"(?:[\p{P}\p{White_Space}◦▪▫●○■□▸►▶◆◇★☆✓✔➢➤→⇒|~^`=<>]|\+(?=\s))+", regex.V1)
_LETTER = regex.compile(r"\p{L}")


def line_ends(text: str, removed: Counter) -> str:
    """Every way to end a line as a line feed."""
    return _LINE_END.sub("\n", text) if any(end in text for end in "\r\x85\u2028\u2029") else text


def urls(text: str, removed: Counter) -> str:
    """http, https, ftp and file URLs, and what begins with www."""
    if "://" not in text and "www." not in text.lower():
        return text
    return _URL.sub(
        _remover("url", removed, lambda url: re.sub(r"^\W*(\w+://)?", "", url).partition("/")[0].rstrip(")]> ")), text
    )


def emails(text: str, removed: Counter) -> str:
    """E-mail addresses."""
    return (
        _EMAIL.sub(_remover("e-mail", removed, lambda address: address.strip("([<>]) ")), text) if "@" in text else text
    )


def hex_runs(text: str, removed: Counter) -> str:
    """Runs of 32 and more hexadecimal digits: hashes, keys, dumps."""
    return _HEX.sub(_remover("hex", removed), text)


def base64_runs(text: str, removed: Counter) -> str:
    """Runs of 40 and more characters of base64, unless they are of lower-case letters alone, as long words are."""
    remove = _remover("base64", removed)
    return _BASE64.sub(lambda run: run[0] if _NO_BASE64.fullmatch(run[0]) else remove(run), text)


def repeats(text: str, removed: Counter) -> str:
    """A character repeated four or more times becomes three, set off by spaces: "-----" is " --- ".

    A letter of another script than the Latin stays as often as it stands: some writing repeats them in earnest.

    >>> repeats("Hmmmmm, 哈哈哈哈哈", Counter())
    'H mmm , 哈哈哈哈哈'
    """

    def three(run: re.Match) -> str:
        if _LETTER_NOT_LATIN.match(run[1]):
            return run[0]
        removed[f"repeats: {run[1] * 4}"] += 1
        return f" {run[1] * 3} "

    return _REPEATED.sub(three, text)


def pipes(text: str, removed: Counter) -> str:
    """All but the first two pipes of a line become spaces: a line of a table is no prose."""
    if text.count("|") < 3:
        return text
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if line.count("|") > 2:
            first, second, rest = line.split("|", 2)
            lines[index] = f"{first}|{second}|{rest.replace('|', ' ')}"
            removed["pipes: ||||"] += 1
    return "\n".join(lines)


def long_runs(text: str, removed: Counter) -> str:
    """Unbroken runs of more than 50 ASCII characters."""
    return _LONG_RUN.sub(_remover("long run", removed), text)


def spaces(text: str, removed: Counter) -> str:
    """Unicode's white space as plain spaces, one where there are several, and none at the ends of lines."""
    text = _SPACES.sub(" ", text)
    return text.replace(" \n", "\n").replace("\n ", "\n").strip(" ")


def line_starts(text: str, removed: Counter) -> str:
    """Punctuation, bullets and white space at the begin of a line."""

    def strip(found: re.Match) -> str:
        start = _LINE_START.match(found[0], 1)
        if start is None:
            return found[0]
        if marks := start[0].strip():
            removed[f"line start: {marks[:SPECIMEN_CHARACTERS]}"] += 1
        return "\n" + found[0][start.end() :]

    return _LINE_BEGIN.sub(strip, "\n" + text)[1:]


def letterless_lines(text: str, removed: Counter) -> str:
    """Lines without a letter of any script."""
    kept = []
    for line in text.split("\n"):
        if _LETTER.search(line):
            kept.append(line)
        elif line.strip():
            removed[f"line: {line.strip()[:SPECIMEN_CHARACTERS]}"] += 1
    return "\n".join(kept)


Filter = Callable[[str, Counter], str]

FILTERS: dict[str, Filter] = {
    "line-ends": line_ends,
    "urls": urls,
    "emails": emails,
    "hex": hex_runs,
    "base64": base64_runs,
    "repeats": repeats,
    "pipes": pipes,
    "long-runs": long_runs,
    "spaces": spaces,
    "line-starts": line_starts,
    "letterless-lines": letterless_lines,
}
DEFAULT_FILTERS = tuple(FILTERS)


def chosen_filters(names: Iterable[str] | None) -> tuple[str, ...]:
    """`names` in the order in which they are applied; all of them for None. Raises UsageError for one not known.

    >>> chosen_filters(["spaces", "urls"])
    ('urls', 'spaces')
    """
    wanted = set(FILTERS if names is None else names)
    if unknown := sorted(wanted - set(FILTERS)):
        raise UsageError(f"no filter is called {unknown[0]!r}; there are {', '.join(FILTERS)}")
    return tuple(name for name in FILTERS if name in wanted)


def clean_segments(segments: Iterable[Segment], filters: Iterable[str], removed: Counter) -> str:
    """The text of the segments after the filters, which leave the verbatim ones alone."""
    steps = [FILTERS[name] for name in filters]
    texts = []
    for text, verbatim in segments:
        if not verbatim:
            for step in steps:
                text = step(text, removed)
            text = text.strip("\n")
        if text:
            texts.append(text)
    return "\n".join(texts)


def _remover(name: str, removed: Counter, specimen: Callable[[str], str] = str) -> Callable[[re.Match], str]:
    """A replacement by one space that counts what it removes."""

    def remove(found: re.Match) -> str:
        removed[f"{name}: {specimen(found[0])[:SPECIMEN_CHARACTERS]}"] += 1
        return " "

    return remove
