"""Figures by script, which separate languages in mixed text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numpy as np

from ..counting import WordCounts
from .tables import Column, Table
from .usage import Usage, characters_by_pretoken


def scripts_table(domains: Iterable[tuple[WordCounts, Usage, WordCounts]], pretokens: bool = True) -> Table:
    """Figures by script: a pretoken belongs to the script of its first letter. Separates languages in mixed text.

    domains: the word counts of each, their usage, and the word counts of its text before normalization.
    pretokens: whether the counted words are pretokens; see `has_pretokens`.
    """
    sums = np.zeros((4, len(SCRIPTS)))  # rows: words, tokens, bytes, characters

    def add(first_row: int, counts: WordCounts, *columns: np.ndarray) -> None:
        texts = (pretoken.decode("utf-8", "replace") for pretoken, _ in counts.items())
        scripts_of_texts = (next(filter(None, map(_script_of, text)), 0) for text in texts)
        scripts = np.fromiter(scripts_of_texts, np.int64, len(counts))
        for row, column in enumerate(columns, first_row):
            sums[row] += np.bincount(scripts, column * counts.counts.astype(np.float64), len(SCRIPTS))

    for counts, usage, original in domains:
        add(0, counts, np.ones(len(counts)), usage.tokens_by_pretoken)
        add(2, original, np.diff(original.offsets), characters_by_pretoken(original))
    rows = []
    for script, (words, tokens, size, characters) in zip(SCRIPTS, sums.T.tolist(), strict=True):
        if tokens:
            fertility = tokens / words if pretokens and script != SCRIPTS[0] else None
            rows.append((script, round(size), round(tokens), size / tokens, characters / tokens, fertility))
    rows.sort(key=lambda row: -row[1])
    columns = (
        Column("script"),
        Column("bytes", "count"),
        Column("tokens", "count"),
        Column("bytes per token", "number"),
        Column("characters per token", "number"),
        Column("tokens per pretoken", "number", "of the pretokens that contain a letter"),
    )
    note = (
        "Each pretoken counts for the script of its first letter. Tokens per pretoken is the fertility over the words of the "
        "split pattern. In a script without spaces a pretoken may be a whole sentence; there, characters per token says "
        "more. A space that the tokenizer puts before a text counts too."
        + ("" if pretokens else " Text that a token may span counts as one pretoken.")
    )
    return Table("scripts", "By script", columns, rows, note)


# The most common scripts; index 0 is for pretokens without letters.
SCRIPTS = (
    "no letters", "Latin", "Han", "Cyrillic", "Arabic", "Hiragana", "Katakana", "Hangul", "Greek", "Hebrew", "Devanagari",
    "Bengali", "Tamil", "Telugu", "Kannada", "Malayalam", "Gujarati", "Gurmukhi", "Oriya", "Sinhala", "Thai", "Lao", "Khmer",
    "Myanmar", "Tibetan", "Georgian", "Armenian", "Ethiopic", "Mongolian", "Other",
)  # fmt: skip


@cache
def _script_of(character: str) -> int:
    """The index in SCRIPTS of a character's script, 0 for what is not a letter."""
    import regex

    match = regex.match("|".join(rf"(\p{{Script={name}}})" for name in SCRIPTS[1:-1]), character)
    letter = regex.match(r"\p{L}", character)
    return 0 if not letter else match.lastindex if match else len(SCRIPTS) - 1
