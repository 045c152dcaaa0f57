"""The pre-tokenizers of a tokenizer.json: a text to the words that the model sees.

Each step takes the words of the step before it. A step may leave text out, put a character before a word, and write other
characters, but never more or fewer of them. Only ByteLevel writes one character for each byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial, reduce
from itertools import chain, pairwise
from typing import Any, NamedTuple

from ...errors import PatternError
from ...formats.byte_alphabet import to_text
from ...split.patterns import PATTERNS, PUNCTUATION
from ...split.splitter import finder_of
from ...vocabulary.pipeline import steps_of
from ..normalization import unassigned_characters

WHITE_SPACE = r"\s"


class Word(NamedTuple):
    """A part of a text as the next step sees it.

    start: where it begins in the text, in characters; in bytes after ByteLevel.
    added: how many characters at its start were put there.
    """

    text: str
    start: int
    added: int = 0

    def part(self, start: int, end: int) -> Word:
        return Word(self.text[start:end], self.start + max(0, start - self.added), max(0, self.added - start))

    def after(self, character: str) -> Word:
        return Word(character + self.text, self.start, self.added + 1)


Span = tuple[int, int, bool]  # start, end, and whether it is a match
Cut = Callable[[Word], Iterable[Word]]
Pattern = str | re.Pattern[str]  # a regular expression in our dialect, or what finds one text
_FIXED: dict[str, list[tuple[Pattern, str, bool]]] = {
    "Whitespace": [(r"\w+|[^\w\s]+", "Removed", True)],
    "WhitespaceSplit": [(WHITE_SPACE, "Removed", False)],
    "BertPreTokenizer": [(WHITE_SPACE, "Removed", False), (PUNCTUATION, "Isolated", False)],
}


def pre_tokenizer_of(section: Mapping[str, Any] | None) -> Callable[[str, bool], list[Word]]:
    """The function that cuts a text into words. Its second argument: whether the text is the start of what is encoded."""
    steps = [(step["type"], _step_of(step)) for step in steps_of(section)]

    def cut(text: str, first: bool) -> list[Word]:
        words = [Word(text, 0)] if text else []
        for kind, step in steps:
            if kind == "ByteLevel":
                words = _in_bytes(words, text)
            words = [part for word in words for part in step(word, first) if part.text]
        return words

    return cut


def _step_of(step: Mapping[str, Any]) -> Callable[[Word, bool], Iterable[Word]]:
    kind = step["type"]
    if kind == "Metaspace":
        adds = "always" if step.get("add_prefix_space", True) else "never"
        scheme = step.get("prepend_scheme") or adds
        return partial(_metaspace, mark=step["replacement"], scheme=scheme, split=step.get("split", True))
    cut = _cut_of(kind, step)
    return lambda word, first: cut(word)


def _cut_of(kind: str, step: Mapping[str, Any]) -> Cut:
    cuts = [_split(*each) for each in _splits_of(step)]
    if kind == "ByteLevel":
        return partial(_byte_level, adds=step.get("add_prefix_space", True), cuts=cuts)
    if kind == "FixedLength":
        length = step.get("length", 5)
        return lambda word: (word.part(i, i + length) for i in range(0, len(word.text), length))
    if kind == "UnicodeScripts":
        return _by_script
    return lambda word: reduce(lambda words, cut: chain.from_iterable(map(cut, words)), cuts, [word])


def _splits_of(step: Mapping[str, Any]) -> list[tuple[Pattern, str, bool]]:
    """The patterns that a step cuts at, one after the other: each with its behaviour, and whether it is inverted."""
    kind = step["type"]
    if kind == "ByteLevel":
        return [(PATTERNS["gpt2"], "Isolated", False)] if step.get("use_regex", True) else []
    if kind == "Split":
        return [(_pattern_of(step["pattern"]), step["behavior"], step.get("invert", False))]
    if kind == "Digits":
        return [(r"\p{N}", "Isolated" if step.get("individual_digits", False) else "Contiguous", False)]
    if kind == "Punctuation":
        return [(PUNCTUATION, step.get("behavior", "Isolated"), False)]
    if kind == "CharDelimiterSplit":
        return [(_literal(step["delimiter"]), "Removed", False)]
    return _FIXED.get(kind, [])


def patterns_of(section: Mapping[str, Any] | None) -> list[str]:
    """The regular expressions that the steps of a pre-tokenizer cut at."""
    return [found for step in steps_of(section) for found, *_ in _splits_of(step) if isinstance(found, str)]


def _pattern_of(pattern: Mapping[str, str]) -> Pattern:
    """The pattern of a Split in our dialect."""
    if pattern.get("Regex") is None:
        return _literal(pattern["String"])
    from ...split.spelling import from_oniguruma  # late: few files have such a pattern

    return from_oniguruma(pattern["Regex"])


def _literal(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text))


# Steps that change text


def _in_bytes(words: Iterable[Word], text: str) -> list[Word]:
    """The words with their starts in bytes."""
    found, at, size = [], 0, 0
    for word in words:
        size += len(text[at : word.start].encode())
        at = word.start
        found.append(word._replace(start=size))
    return found


def _byte_level(word: Word, adds: bool, cuts: list[Cut]) -> Iterator[Word]:
    if adds and not word.text.startswith(" "):
        word = word.after(" ")
    start, added = word.start, word.added
    for part in cuts[0](word) if cuts else [word]:
        data = part.text.encode()
        yield Word(to_text(data), start, min(added, len(data)))
        start, added = start + max(0, len(data) - added), max(0, added - len(data))


def _metaspace(word: Word, first: bool, mark: str, scheme: str, split: bool) -> Iterable[Word]:
    word = word._replace(text=word.text.replace(" ", mark))
    if (scheme == "always" or (scheme == "first" and first and word.start == 0)) and not word.text.startswith(mark):
        word = word.after(mark)
    return _split(_literal(mark), "MergedWithNext")(word) if split else [word]


# Steps that cut


def _split(pattern: Pattern, behavior: str, invert: bool = False) -> Cut:
    """Cuts a word at the matches of a pattern. behavior: what becomes of them."""
    kind = behavior.replace("_", "").lower()

    def cut(word: Word) -> Iterator[Word]:
        spans = _spans(pattern, word.text, invert)
        return (word.part(start, end) for start, end in _joined(spans, kind) if start < end)

    return cut


def _spans(pattern: Pattern, text: str, invert: bool) -> list[Span]:
    """The matches of a pattern and the text between them, which together are `text`."""
    spans: list[Span] = []
    at = 0
    for start, end in _matches(pattern, text):
        if at < start:
            spans.append((at, start, invert))
        spans.append((start, end, not invert))
        at = end
    if at < len(text):
        spans.append((at, len(text), invert))
    return spans


def _matches(pattern: Pattern, text: str) -> Iterable[tuple[int, int]]:
    if not isinstance(pattern, str):
        return (found.span() for found in pattern.finditer(text))
    if (find := finder_of(pattern)) is not None:
        return find(text)
    from ...split.backtracking import matches, to_regex  # late: it is slow to import
    from ...split.syntax import shown

    try:
        return list(matches(to_regex(pattern), text))
    except TimeoutError:
        raise PatternError(
            f"the split pattern {shown(pattern)} takes too long on a text of {len(text):,} characters"
        ) from None


def _joined(spans: list[Span], behavior: str) -> list[tuple[int, int]]:
    """The parts of a text where matches are treated by `behavior`."""
    if behavior == "isolated":
        return [(start, end) for start, end, _ in spans]
    if behavior == "removed":
        return [(start, end) for start, end, match in spans if not match]
    backwards = behavior == "mergedwithnext"
    found: list[tuple[int, int]] = []
    before = False
    for start, end, match in reversed(spans) if backwards else spans:
        joins = match == before if behavior == "contiguous" else match and not before
        if joins and found:
            found[-1] = (start, found[-1][1]) if backwards else (found[-1][0], end)
        else:
            found.append((start, end))
        before = match
    return found[::-1] if backwards else found


# Scripts

# These scripts count as one, as in SentencePiece. A space and what Unicode 9.0 does not assign belong to any script.
_HAN = frozenset(("hira", "kana", "hani"))
# Characters whose script was another in Unicode 9.0, and the long vowel mark, which is common to two.
_OTHERS = {0x0589: "zyyy", 0x061C: "zyyy", 0x0953: "deva", 0x0954: "deva", 0x30FC: "han", 0x20: ""}


@cache
def _scripts() -> dict[int, str]:
    """The script of each character that has one."""
    from ...split.alphabet import properties, property_set  # late: few tokenizers cut at scripts

    found: dict[int, str] = {}
    for name in properties():
        script = property_set(f"script={name}")
        if len(name) == 4 and script is not None and script.op == "ranges":  # the short names, each script once
            known = "han" if name in _HAN else name
            found |= {code: known for start, end in script.args[0] for code in range(start, end + 1)}
    unassigned = unassigned_characters()
    return {code: script for code, script in found.items() if not unassigned[code]} | _OTHERS


def _by_script(word: Word) -> Iterator[Word]:
    """The parts of one script. What is before the first character that has one is left out."""
    scripts = _scripts()
    starts, last = [], ""
    for at, character in enumerate(word.text):
        script = scripts.get(ord(character), "")
        if script and script != last:
            starts.append(at)
        last = script or last
    return (word.part(start, end) for start, end in pairwise([*starts, len(word.text)]))
