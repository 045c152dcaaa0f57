"""The filters of the cleaners. Each is a function with a name, and a run can choose them by name or by set.

A filter takes a text and returns it without what the filter is against. It adds what it removed to a counter, under the
filter's own name with an example. Filters run in the order of FILTERS.

The careful sets change only what is not text. `ddtokens` is the set of a published clean-up recipe, which cuts deeper.
Runs of hexadecimal, base64 and the like are runs of ASCII characters, so a script that writes no spaces is never one
long run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

import regex

from ..errors import UsageError
from .wikitext import Segment

EXAMPLE_CHARACTERS = 60

# Letters of scripts that put spaces between words may belong to a host or path. The letters of the others may not: in
# Chinese or Thai the text that follows a URL often follows it without a space.
_SPACED = r"[\p{L}\p{M}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"
_PATH = rf"[!-'*-;=?-Z_a-z~[{_SPACED}]]*+"
_URL = regex.compile(
    rf"(?:(?:https?|ftps?|file)://(?:(?:[\w-]++\.)+(?:[A-Za-z]{{2,24}}+|[[{_SPACED}]]{{2,24}}+)|[A-Za-z0-9-]++|(?=/))"
    r"|(?<!\w)www\.(?=[\w-]++\.))"
    rf"{_PATH}(?:\({_PATH}\){_PATH})*+",
    regex.I | regex.V1,
)
_URL_OPENING = re.compile(r"[(\[<]\s?\Z")  # brackets around a URL go with it
_URL_CLOSING = re.compile(r"\s?[)\]>]")
_SCHEME = re.compile(r"^\w+://")
_DATA_URL = re.compile(r"\bdata:[a-z]{2,20}/[\w.+-]{1,60}(?:;[\w=-]{1,40}){0,4},[A-Za-z0-9+/=%_.~-]*", re.A | re.I)
_EMAIL = re.compile(
    r"([(\[<]\s?)?(?:\bmailto:)?(?<![\w.+-])[A-Za-z0-9][\w.+%-]{0,63}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.)+[A-Za-z]{2,24}\b"
    r"(?(1)\s?[)\]>])",
    re.A,
)
_HEX = re.compile(r"[0-9A-Fa-f]{32,}")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
_REPEATED = regex.compile(  # but not the marks of a heading
    r"(?!^#{1,6} )(?<!#(?=#))([\p{P}\p{S}--_])\1{3,}", regex.V1 | regex.M
)
_REPEATED_STRICT = re.compile(r"([^\w\s])\1{3,}")
_LINE_END = re.compile("\r\n|[\r\x85\u2028\u2029]")
_CONTROL = regex.compile(r"[\p{Cc}\p{Noncharacter_Code_Point}\uFEFF--[\t\n]]+", regex.V1)
_SPACES = re.compile(r"[^\S\n ][^\S\n]*| [^\S\n]+")  # every run except a single space
_BLANK_LINES = re.compile(r"\n{3,}")
_LONG_RUN = re.compile(r"[!-~]{51,}")
_BULLET = re.compile(r"^[ \t\xa0]*[•◦▪▫●○■□▸►▶‣⁃∙·➢➤]+[ \t\xa0]+", re.M)
# The start of a line that is not text, found fast; and the part of it that `leading-marks` removes: punctuation, white
# space and the bullets that Unicode calls symbols. A plus goes only before a space, and "$5" keeps its dollar.
_LINE_BEGIN = re.compile(r"\n(?:[^\w\n]|_)+")
_LEADING_MARKS = regex.compile(r"(?:[\p{P}\p{White_Space}◦▪▫●○■□▸►▶◆◇★☆✓✔➢➤→⇒|~^`=<>]|\+(?=\s))+", regex.V1)
_LETTER = regex.compile(r"\p{L}")


def line_ends(text: str, removed: Counter) -> str:
    """Writes every end of a line as a line feed."""
    return _LINE_END.sub("\n", text) if any(end in text for end in "\r\x85\u2028\u2029") else text


def controls(text: str, removed: Counter) -> str:
    """Removes control characters other than tab and line feed, byte order marks, and Unicode's noncharacters."""

    def remove(found: regex.Match) -> str:
        removed[f"control: U+{ord(found[0][0]):04X}"] += len(found[0])
        return ""

    return text if text.isprintable() else _CONTROL.sub(remove, text)


def urls(text: str, removed: Counter) -> str:
    """Removes http, https, ftp and file URLs, data URLs, and what begins with www."""
    if "data:" in text:
        text = _DATA_URL.sub(_remover("url", removed, lambda url: "data:"), text)
    if "://" not in text and "www." not in text.lower():
        return text
    out: list[str] = []
    at = 0
    for found in _URL.finditer(text):
        start, end = found.start(), found.end()
        end = start + len(found[0].rstrip("!\"'*,.:;?"))
        opening = _URL_OPENING.search(text, max(at, start - 2), start)
        closing = _URL_CLOSING.match(text, end) if opening else None
        removed[f"url: {_SCHEME.sub('', found[0]).partition('/')[0][:EXAMPLE_CHARACTERS]}"] += 1
        out += [text[at : opening.start() if opening and closing else start], " "]
        at = closing.end() if closing else end
    return "".join([*out, text[at:]])


def emails(text: str, removed: Counter) -> str:
    """Removes e-mail addresses, with a `mailto:` before them."""
    if "@" not in text:
        return text
    return _EMAIL.sub(_remover("e-mail", removed, lambda address: address.strip("([<>]) ")), text)


def hex_runs(text: str, removed: Counter) -> str:
    """Removes runs of 32 or more hexadecimal digits (hashes, keys, dumps). A run of only digits or letters stays."""
    remove = _remover("hex", removed)
    return _HEX.sub(lambda run: run[0] if run[0].isdigit() or run[0].isalpha() else remove(run), text)


def base64_runs(text: str, removed: Counter) -> str:
    """Removes runs of 40 or more characters of base64.

    Base64 of that length has digits, many capitals, many small letters and few slashes. DNA, long words and paths stay.

    >>> base64_runs("ACGT" * 14, Counter()) == "ACGT" * 14
    True
    """
    remove = _remover("base64", removed)

    def decide(found: re.Match) -> str:
        run = found[0]
        capitals, small = sum(map(str.isupper, run)), sum(map(str.islower, run))
        mixed = 8 * min(capitals, small) >= len(run) >= 16 * run.count("/")
        return remove(found) if mixed and any(map(str.isdigit, run)) else run

    return _BASE64.sub(decide, text)


def repeats(text: str, removed: Counter) -> str:
    """Shortens a mark that stands four or more times in a row to three. Letters, digits and `_` stay.

    >>> repeats("Wait..... 1000000", Counter())
    'Wait... 1000000'
    """
    return _REPEATED.sub(_three(removed, "{}"), text)


def spaced_repeats(text: str, removed: Counter) -> str:
    """Like `repeats`, for every character that is not a word character, and with a space on both sides.

    >>> spaced_repeats("a-----b", Counter())
    'a --- b'
    """
    return _REPEATED_STRICT.sub(_three(removed, " {} "), text)


def pipes(text: str, removed: Counter) -> str:
    """Turns all pipes of a line but the first two into spaces."""
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
    """Removes unbroken runs of more than 50 ASCII characters."""
    return _LONG_RUN.sub(_remover("long run", removed), text)


def spaces(text: str, removed: Counter) -> str:
    """Writes runs of white space inside a line as one space, and removes white space at both ends of a line."""
    text = _SPACES.sub(" ", text)
    return text.replace(" \n", "\n").replace("\n ", "\n").strip(" ")


def blank_lines(text: str, removed: Counter) -> str:
    """Leaves at most one blank line in a row."""
    return _BLANK_LINES.sub("\n\n", text)


def bullets(text: str, removed: Counter) -> str:
    """Writes a bullet at the start of a line as "- ".

    >>> bullets("• one\\n-5 degrees", Counter())
    '- one\\n-5 degrees'
    """

    def replace(found: re.Match) -> str:
        removed[f"bullet: {found[0].strip()}"] += 1
        return "- "

    return _BULLET.sub(replace, text)


def leading_marks(text: str, removed: Counter) -> str:
    """Removes punctuation, bullets and white space at the start of a line."""

    def strip(found: re.Match) -> str:
        start = _LEADING_MARKS.match(found[0], 1)
        if start is None:
            return found[0]
        if marks := start[0].strip():
            removed[f"line start: {marks[:EXAMPLE_CHARACTERS]}"] += 1
        return "\n" + found[0][start.end() :]

    return _LINE_BEGIN.sub(strip, "\n" + text)[1:]


def letterless_lines(text: str, removed: Counter) -> str:
    """Removes lines without a letter of any script."""
    kept = []
    for line in text.split("\n"):
        if _LETTER.search(line):
            kept.append(line)
        elif line.strip():
            removed[f"line: {line.strip()[:EXAMPLE_CHARACTERS]}"] += 1
    return "\n".join(kept)


Filter = Callable[[str, Counter], str]

FILTERS: dict[str, Filter] = {
    "line-ends": line_ends,
    "controls": controls,
    "urls": urls,
    "emails": emails,
    "hex": hex_runs,
    "base64": base64_runs,
    "repeats": repeats,
    "spaced-repeats": spaced_repeats,
    "pipes": pipes,
    "long-runs": long_runs,
    "spaces": spaces,
    "bullets": bullets,
    "leading-marks": leading_marks,
    "letterless-lines": letterless_lines,
    "blank-lines": blank_lines,
}
FILTER_SETS: dict[str, tuple[str, ...]] = {
    # For text that somebody cleaned before, and for text that may hold code: nothing that can be text changes.
    "minimal": ("line-ends", "controls"),
    # For the text of pages, whose markup is gone and whose code blocks no filter sees.
    "careful": (
        *("line-ends", "controls", "urls", "emails", "hex", "base64", "repeats", "spaces", "bullets", "blank-lines"),
    ),
    # The rules of the ddtokens clean-up scripts.
    "ddtokens": (
        *("line-ends", "urls", "emails", "hex", "base64", "spaced-repeats", "pipes", "long-runs", "spaces"),
        *("leading-marks", "letterless-lines"),
    ),
}


def chosen_filters(names: Iterable[str]) -> tuple[str, ...]:
    """The filters that `names` names, alone or as sets, in the order in which they run.

    Raises UsageError for a name that is neither a filter nor a set.

    >>> chosen_filters(["spaces", "urls"]), chosen_filters(["minimal"])
    (('urls', 'spaces'), ('line-ends', 'controls'))
    """
    wanted: set[str] = set()
    for name in names:
        if name not in FILTERS and name not in FILTER_SETS:
            raise UsageError(
                f"there is no filter {name!r}. The filters are {', '.join(FILTERS)}; "
                f"the sets of filters are {', '.join(FILTER_SETS)}."
            )
        wanted.update(FILTER_SETS.get(name, (name,)))
    return tuple(name for name in FILTERS if name in wanted)


def clean_segments(segments: Iterable[Segment], filters: Iterable[str], removed: Counter) -> str:
    """The text of the segments after the filters, a blank line between two. Verbatim segments stay as they are."""
    steps = [FILTERS[name] for name in filters]
    texts = []
    for text, verbatim in segments:
        if not verbatim:
            for step in steps:
                text = step(text, removed)
            text = text.strip("\n")
        if text:
            texts.append(text)
    return "\n\n".join(texts)


def _remover(name: str, removed: Counter, example: Callable[[str], str] = str) -> Callable[[re.Match], str]:
    """A replacement by one space that counts what it removes."""

    def remove(found: re.Match) -> str:
        removed[f"{name}: {example(found[0])[:EXAMPLE_CHARACTERS]}"] += 1
        return " "

    return remove


def _three(removed: Counter, form: str) -> Callable[[re.Match], str]:
    """A replacement of a run by three of its characters."""

    def replace(found: re.Match) -> str:
        removed[f"repeats: {found[1] * 4}"] += 1
        return form.format(found[1] * 3)

    return replace
