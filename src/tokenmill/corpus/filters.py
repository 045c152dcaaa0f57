"""The filters of the cleaners: patterns and their replacements.

A run chooses filters by name, or by the name of a set. They run in the order of FILTERS. Most filters match nothing in
most texts: one pass over the text detects which may match.

The careful sets change only what is not text. `ddtokens` is the set of a published clean-up recipe, which removes more.
Runs of hexadecimal, base64 and the like are runs of ASCII characters, so text of a script without spaces is not a run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import regex

from ..errors import UsageError
from . import _traits_cy as has
from .report import EXAMPLES, Tally
from .wikitext import Segment

NAME_CHARACTERS = 60
CONTEXT = 20  # characters of an example before and after what changes

# Only letters of scripts with spaces between words may belong to a host or path: in Chinese or Thai, text often follows
# a URL without a space.
_SPACED = r"[\p{L}\p{M}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"
_PATH = rf"[!#-'*-;=?-Z_a-z~[{_SPACED}]]*+"
_OPEN = r"(?P<bracket>[(\[<])\s?(?:(?:see|at|via|from|source|link|url):?[ ]{1,2})?"  # before a URL
_BODY = (
    rf"(?:(?:(?:https?|ftps?|file)://(?:(?:[\w-]++\.)+(?:[A-Za-z]{{2,24}}+|[[{_SPACED}]]{{2,24}}+)|[A-Za-z0-9-]++|(?=/))"
    rf"|(?<!\w)www\.(?=[\w-]++\.)){_PATH}(?:\({_PATH}\){_PATH})*+"
    r"|(?<![A-Za-z0-9_])data:[a-z]{2,20}/[A-Za-z0-9_.+-]{1,60}(?:;[A-Za-z0-9_=-]{1,40}){0,4},[A-Za-z0-9+/=%_.~-]*)"
)
_MORE = rf"(?:\s{{1,2}}(?:(?:and|or|&|[|/])\s)?{_BODY})++(?=\s?[)\]>])"  # URLs that share the brackets with the first
_URL = regex.compile(
    rf"(?P<item>^[ \t]*(?:[-*]|\d+\.)[ \t]+)?(?P<open>{_OPEN})?(?P<url>{_BODY}(?(bracket)(?:{_MORE})?))"
    r"(?P<close>\s?[)\]>])?(?P<end>[ \t]*(?:\n|\Z))?",
    regex.I | regex.M | regex.V1,
)
_STOPS = "!'*,.:;?"  # at the end of a URL, they belong to the sentence
# A fast search for a possible URL; and the scheme before "://".
_URL_HINT = re.compile(r"://|www\.|Www\.|WWW\.|data:|DATA:")
_SCHEME = re.compile(r"(?:https?|ftps?|file)\Z", re.I)
_BEFORE_URL = re.compile(rf"(?:^[ \t]*(?:[-*]|\d+\.)[ \t]+)?(?:{_OPEN})?\Z", re.I | re.M)
_EMAIL = re.compile(
    r"([(\[<]\s?)?(?:\bmailto:)?(?<![\w.+-])[A-Za-z0-9][\w.+%-]{0,63}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.)+[A-Za-z]{2,24}\b"
    r"(?(1)\s?[)\]>])",
    re.A,
)
_MARK = regex.compile(r"[\p{P}\p{S}]")
_BULLETS = "•◦▪▫●○■□▸►▶‣⁃∙·➢➤"
# A fast search for a line that does not begin with text; and the marks that `leading-marks` removes: punctuation, white
# space and the bullets that Unicode calls symbols. A plus is removed only before a space, and "$5" keeps its dollar.
_PIPE = re.compile(r" ?\| ?")
_LINE_BEGIN = re.compile(r"\n(?:[^\w\n]|_)+")
_LEADING_MARKS = regex.compile(r"(?:[\p{P}\p{White_Space}◦▪▫●○■□▸►▶◆◇★☆✓✔➢➤→⇒|~^`=<>]|\+(?=\s))+", regex.V1)


class Filter(NamedTuple):
    r"""A filter.

    does: one sentence for the documentation.
    trait: of every text that the filter changes; see `_traits_cy.traits`.
    find: returns the matches in a text.
    replace: returns the replacement of a match, or the match itself to keep it.
    thing: returns the name of a match for the report. None: matches are not counted.
    lines: whether the pattern begins with the "\n" before a line; the first line gets one too.
    """

    name: str
    does: str
    trait: int
    find: Callable[[str], Iterator[re.Match[str]]]
    replace: Callable[[re.Match[str]], str]
    thing: Callable[[re.Match[str]], str] | None = lambda match: match[0].strip()
    lines: bool = False

    def __call__(self, text: str, tally: Tally) -> str:
        """Return the text after the filter, and count the changes in the tally."""
        text = "\n" + text if self.lines else text
        pieces: list[str] = []
        at = 0
        for match in self.find(text):
            old, new, (start, end) = match[0], self.replace(match), match.span()
            if new == old:
                continue
            tally.characters[self.name] += _changed(old, new)
            if self.thing is not None and (thing := self.thing(match)):
                tally.removed[f"{self.name}: {thing[:NAME_CHARACTERS]}"] += 1
            examples = tally.examples.setdefault(self.name, [])
            if len(examples) < EXAMPLES:
                before, after = text[max(0, start - CONTEXT) : start], text[end : end + CONTEXT]
                examples.append([before + _short(piece) + after for piece in (old, new)])
            pieces += (text[at:start], new)
            at = end
        text = "".join([*pieces, text[at:]]) if pieces else text
        return text[1:] if self.lines else text


def _short(text: str) -> str:
    return text if len(text) <= NAME_CHARACTERS else f"{text[: NAME_CHARACTERS - 1]}…"


def _changed(old: str, new: str) -> int:
    """Return the number of characters of `old` between the common prefix and suffix with `new`."""
    prefix = suffix = 0
    shorter = min(len(old), len(new))
    while prefix < shorter and old[prefix] == new[prefix]:
        prefix += 1
    while suffix < shorter - prefix and old[-1 - suffix] == new[-1 - suffix]:
        suffix += 1
    return len(old) - prefix - suffix


def _find_urls(text: str) -> Iterator[re.Match]:
    at = 0
    for hint in _URL_HINT.finditer(text):
        start = hint.start()
        if hint[0] == "://":
            scheme = _SCHEME.search(text, max(at, start - 5), start)
            if scheme is None:
                continue
            start = scheme.start()
        line = max(at, start - 40, text.rfind("\n", max(at, start - 40), start) + 1)
        before = _BEFORE_URL.search(text, line, start)
        if start >= at and (match := _URL.match(text, before.start() if before else start)):
            yield match
            at = match.end()


def _without_url(match: re.Match) -> str:
    """Replace the URL, its brackets and the URLs that share them by a space; a list item of nothing else by nothing.

    Punctuation after a URL stays.
    """
    url = match["url"].rstrip(_STOPS)
    rest = match["url"][len(url) :]
    item, opening, closing, end = (match[name] or "" for name in ("item", "open", "close", "end"))
    if not rest and bool(opening) == bool(closing):
        opening = closing = ""
        if item and match["end"] is not None:
            return ""
    return f"{item}{opening} {rest}{closing}{end}"


def _host(match: re.Match) -> str:
    return re.sub(r"^\w+://", "", match["url"].rstrip(_STOPS)).partition("/")[0]


def _without_base64(match: re.Match) -> str:
    """Remove base64: digits, many capitals, many small letters and few slashes. DNA, long words and paths stay."""
    run = match[0]
    capitals, small = sum(map(str.isupper, run)), sum(map(str.islower, run))
    mixed = 8 * min(capitals, small) >= len(run) >= 16 * run.count("/")
    return " " if mixed and any(map(str.isdigit, run)) else run


def _two_pipes(match: re.Match) -> str:
    before, *cells = _PIPE.split(match[0], maxsplit=2)
    return " | ".join([before, *cells[:-1], cells[-1].replace("|", " ")])


def _without_leading_marks(match: re.Match) -> str:
    marks = _LEADING_MARKS.match(match[0], 1)
    return "\n" + match[0][marks.end() :] if marks else match[0]


def _three_marks(match: re.Match) -> str:
    """Return three of the mark, unless they begin a heading."""
    text, (start, end) = match.string, match.span()
    heading = (
        match[1] == "#" and end - start <= 6 and text[start - 1 : start] in ("", "\n") and text[end : end + 1] == " "
    )
    return match[1] * 3 if _MARK.match(match[1]) and not heading else match[0]


def _one_space(match: re.Match) -> str:
    """Return one space, "" at the ends of a line."""
    text, (start, end) = match.string, match.span()
    return " " if text[start - 1 : start] not in ("", "\n") and text[end : end + 1] not in ("", "\n") else ""


# fmt: off
_FILTERS = (
    Filter("line-ends", "Converts every kind of line ending to a line feed.", has.LINE_END,
           re.compile("\r\n|[\r\x85\u2028\u2029]").finditer, lambda match: "\n", None),
    Filter("controls", "Removes control characters other than tab and line feed, byte order marks, and Unicode's noncharacters.",
           has.CONTROL, regex.compile(r"[\p{Cc}\p{Noncharacter_Code_Point}\uFEFF--[\t\n]]+", regex.V1).finditer,
           lambda match: "", lambda match: f"U+{ord(match[0][0]):04X}"),
    Filter("urls", "Removes http, https, ftp and file URLs, data URLs, and addresses that begin with `www.`.", has.URL,
           _find_urls, _without_url, _host),
    Filter("emails", "Removes e-mail addresses, and `mailto:` before them.", has.EMAIL,
           _EMAIL.finditer, lambda match: " ", lambda match: match[0].strip("([<>]) ")),
    Filter("hex", "Removes runs of 32 or more hexadecimal digits (hashes, keys, dumps). Runs of only digits or only letters stay.",
           has.RUN_32, re.compile(r"[0-9A-Fa-f]{32,}").finditer,
           lambda run: run[0] if run[0].isdigit() or run[0].isalpha() else " "),
    Filter("base64", "Removes runs of 40 or more characters of base64. DNA, long words and paths stay.", has.RUN_40,
           re.compile(r"[A-Za-z0-9+/]{40,}={0,2}").finditer, _without_base64),
    Filter("repeats", "Shortens a run of four or more of the same mark to three. Letters, digits and `_` stay.", has.REPEAT,
           re.compile(r"([!-/:-@\[-^`{-~\x80-\U0010ffff])\1{3,}").finditer, _three_marks, lambda match: match[1] * 4),
    Filter("spaced-repeats", "Like `repeats`, but for every non-word character, and with spaces around the three.", has.REPEAT,
           re.compile(r"([^\w\s])\1{3,}").finditer, lambda match: f" {match[1] * 3} ", lambda match: match[1] * 4),
    Filter("pipes", "Puts spaces around the first two pipes of a line, and replaces the others with spaces.", has.PIPES,
           re.compile(r" ?\|[^\n]*").finditer, _two_pipes, None),
    Filter("long-runs", "Removes unbroken runs of more than 50 ASCII characters.", has.RUN_51,
           re.compile(r"[!-~]{51,}").finditer, lambda match: " "),
    Filter("spaces", "Replaces each run of white space within a line with one space, and trims the line.", has.SPACES,
           re.compile(r"[^\S\n](?:[^\S\n]+|(?<! )|(?=\n|\Z)|(?<![^\n] ))").finditer, _one_space, None),
    Filter("bullets", 'Replaces a bullet at the start of a line with "- ".', has.BULLET,
           re.compile(rf"^[ \t\xa0]*[{_BULLETS}]+[ \t\xa0]+", re.M).finditer, lambda match: "- "),
    Filter("leading-marks", "Removes punctuation, bullets and white space at the start of a line.", has.ANY,
           _LINE_BEGIN.finditer, _without_leading_marks, lines=True),
    Filter("letterless-lines", "Removes lines without a letter of any script.", has.ANY,
           regex.compile(r"\n[^\p{L}\n]*(?=\n|\Z)").finditer, lambda match: "", lines=True),
    Filter("blank-lines", "Leaves at most one blank line in a row.", has.BLANK_LINES,
           re.compile(r"\n\n(\n+)").finditer, lambda match: "\n\n", None),
)
# fmt: on
FILTERS = {filter.name: filter for filter in _FILTERS}
FILTER_SETS: dict[str, tuple[str, ...]] = {
    # For text that was cleaned before, or that may contain code.
    "minimal": ("line-ends", "controls"),
    # For the text of pages, without markup. Their code blocks are not filtered.
    "careful": tuple("line-ends controls urls emails hex base64 repeats spaces bullets blank-lines".split()),
    # The rules of the ddtokens clean-up scripts.
    "ddtokens": tuple(
        "line-ends urls emails hex base64 spaced-repeats pipes long-runs spaces leading-marks letterless-lines".split()
    ),
}


def chosen_filters(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of filters for names of filters and sets, in the order in which they run.

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


def clean_segments(segments: Iterable[Segment], filters: Iterable[str], tally: Tally) -> str:
    """Join the filtered segments with blank lines. Verbatim segments stay unchanged.

    >>> clean_segments([Segment("See https://a.org/x !!!!!")], ["urls", "repeats"], tally := Tally())
    'See   !!!'
    >>> tally.characters, tally.examples["repeats"]
    (Counter({'urls': 15, 'repeats': 2}), [['See   !!!!!', 'See   !!!']])
    """
    steps = [FILTERS[name] for name in filters]
    texts = []
    for text, verbatim in segments:
        if not verbatim:
            present = has.traits(text)
            for step in steps:
                if present & step.trait:
                    changed = step(text, tally)
                    present = present if changed is text else has.traits(changed)
                    text = changed
            text = text.strip("\n")
        if text:
            texts.append(text)
    return "\n\n".join(texts)
