"""Figures that judge a tokenizer on text: compression, fertility, the share of the vocabulary in use.

bytes, characters, words per token    how much text a token holds; a word is a run of non-white-space
fertility                             tokens per word (Rust et al. 2021, "How Good is Your Tokenizer?")
word-initial                          a token that starts with white space and continues with something else
Rényi efficiency                      Zouhar et al. 2023, "Tokenization and the Noiseless Channel", arXiv 2306.16842:
                                      H_a(p) / log |V| with H_a(p) = log(sum p ** a) / (1 - a), a = 2.5, where p is how
                                      often each token is used and |V| the number of tokens that text can produce
Gini coefficient                      of the token costs c of n languages, in ascending order (Foroutan, Meister et al. 2025,
                                      "Parity-Aware Byte-Pair Encoding", arXiv 2508.04796):
                                      (n + 1 - 2 * sum((n + 1 - i) * c[i] for i in 1..n) / sum(c)) / n
                                      0 if all languages cost the same, at most 1 - 1/n. The cost is the number of tokens where
                                      texts are translations of each other, else tokens per byte, which favours scripts with
                                      many bytes to a character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..counting import WordCounts
from ..tokenizer import Tokenizer
from ..tokenizer.display import ORDERS
from ..tokenizer.normalization import STRIPPED
from ..vocabulary import Vocabulary
from .tables import Best, Cell, Column, Figure, Table
from .usage import Usage, characters_by_pretoken, ordinary_tokens

if TYPE_CHECKING:
    from .evaluation_text import Judgement, Judgements

ALPHA = 2.5
RENYI_CAUTION = (
    "Rényi efficiency is high if no token takes much more than its share of the text. It correlated with translation "
    "quality in Zouhar et al. 2023, but it can be gamed: Cognetta et al. 2024 (arXiv 2402.14614) raise it arbitrarily "
    "with worse tokenizers. Only compare it between tokenizers of one kind and size, together with other figures."
)
_SPACE = b"|".join(character.encode() for character in STRIPPED)
_WORD_INITIAL = re.compile(b"(?s)(?:%b)(?!%b)." % (_SPACE, _SPACE))


def renyi_efficiency(by_id: np.ndarray, vocab_size: int) -> float | None:
    """H_a of the usage over log(vocab_size): 1 if all tokens are used equally. None if nothing is used.

    >>> import numpy as np
    >>> renyi_efficiency(np.array([5, 5, 5, 5]), 4), renyi_efficiency(np.array([20, 0, 0, 0]), 4)
    (1.0, 0.0)
    """
    total = float(by_id.sum(dtype=np.float64))
    if total == 0 or vocab_size < 2:
        return None
    p = by_id[by_id > 0] / total
    return abs(float(np.log((p**ALPHA).sum()) / (1 - ALPHA) / np.log(vocab_size)))


@lru_cache(maxsize=4)
def word_initial_ids(vocabulary: Vocabulary) -> list[int]:
    """The word-initial tokens: they start with white space and continue with something else."""
    return [id for id, token in ordinary_tokens(vocabulary).items() if _WORD_INITIAL.match(token)]


def word_initial_share(tok: Tokenizer) -> float | None:
    """The share of the vocabulary that is word-initial."""
    return ratio(len(word_initial_ids(tok.vocabulary)), len(ordinary_tokens(tok.vocabulary)))


def mean_token_characters(tok: Tokenizer) -> float | None:
    """The mean length of the tokens, in characters counted at their first bytes."""
    tokens = ordinary_tokens(tok.vocabulary).values()
    first_bytes = (np.frombuffer(b"".join(tokens), np.uint8) & 0xC0) != 0x80
    return ratio(int(first_bytes.sum()), len(tokens))


def used_tokens(tok: Tokenizer, usage: Usage) -> int:
    """The number of ordinary tokens that the text uses."""
    return int((usage.by_id[list(ordinary_tokens(tok.vocabulary))] > 0).sum())


class Measure(NamedTuple):
    """A figure of a tokenizer on a text: its column in tables, and how it is computed."""

    column: Column
    of: Callable[[Judgement], float | None]


def _total(name: str) -> Measure:
    return Measure(Column(name, "count"), lambda judged: getattr(judged.usage, name))


def _quotient(name: str, help: str = "", best: Best = "max") -> Measure:
    """The measure of two totals of a Usage, such as "bytes per token"."""
    above, below = name.split(" per ")
    column = Column(name, "number", help, 3, best=best)
    return Measure(column, lambda judged: ratio(getattr(judged.usage, above), getattr(judged.usage, f"{below}s")))


BYTES, TOKENS = _total("bytes"), _total("tokens")
DENSITY = (
    _quotient("bytes per token"),
    _quotient("characters per token"),
    _quotient("words per token"),
    _quotient("tokens per word", "fertility", "min"),
)
USED = Measure(
    Column("vocabulary used", "share", best="max"),
    lambda judged: ratio(used_tokens(judged.tok, judged.usage), judged.size),
)
RENYI = Measure(
    Column("Rényi efficiency", "number", f"alpha {ALPHA}", 4),
    lambda judged: renyi_efficiency(judged.usage.by_id, judged.size),
)
TEXT_MEASURES = (
    BYTES,
    _total("characters"),
    _total("words"),
    _total("pretokens"),
    TOKENS,
    *DENSITY,
    _quotient("tokens per pretoken", best=""),
    USED,
    Measure(Column("tokens used", "count"), lambda judged: used_tokens(judged.tok, judged.usage)),
    Measure(
        Column("word-initial, of the tokens of the text", "share"),
        lambda judged: ratio(
            int(judged.usage.by_id[word_initial_ids(judged.tok.vocabulary)].sum()), judged.usage.tokens
        ),
    ),
    RENYI,
)


def overview_table(tok: Tokenizer) -> Table:
    """Facts about the vocabulary that do not depend on a text."""
    vocabulary = tok.vocabulary
    tokens = ordinary_tokens(tok.vocabulary).values()
    count, number = Column("", "count"), Column("", "number", digits=3)
    rows: list[tuple[Cell, ...]] = [
        ("ordinary tokens", Figure(len(tokens), count)),
        ("added tokens", Figure(len(vocabulary.added_tokens), count)),
        ("ids (rows of an embedding table)", Figure(vocabulary.n_vocab, count)),
        ("removed tokens", Figure(len(vocabulary.removed), count)),
        (
            "merging",
            ORDERS[vocabulary.order] + ("; then superwords of whole pretokens" if vocabulary.has_superwords else ""),
        ),
        ("alphabet", vocabulary.alphabet),
        ("split pattern", " then ".join(vocabulary.split_patterns) or "none: a text is one pretoken"),
        ("mean bytes of a token", Figure(ratio(sum(map(len, tokens)), len(tokens)), number)),
        ("mean characters of a token", Figure(mean_token_characters(tok), number)),
        ("word-initial tokens", Figure(word_initial_share(tok), Column("", "share"))),
        ("fingerprint", vocabulary.fingerprint()),
    ]
    return Table("vocabulary", "The vocabulary", (Column("what"), Column("value", "figure")), rows)


def text_table(judged: Judgement) -> Table:
    """The figures of a text, in one column. Pretokens are counted where the split pattern alone decides what they are."""
    usage, vocabulary = judged.usage, judged.tok.vocabulary
    pretokens = bool(vocabulary.split_patterns) and not vocabulary.has_superwords and usage.pretokens > 0
    shown = [measure for measure in TEXT_MEASURES if pretokens or "pretoken" not in measure.column.name]
    rows = [(column.name, Figure(of(judged), column)) for column, of in shown]
    unknown = " Word counts alone do not record how many there are." if usage.words is None else ""
    note = f"A word is a run of characters other than white space.{unknown} {RENYI_CAUTION}"
    return Table("text", "On this text", (Column("what"), Column("value", "figure")), rows, note)


def measured_table(
    key: str, title: str, judged: Judgements, measures: Sequence[Measure], note: str = "", first: str = "tokenizer"
) -> Table:
    """A row of measures for each name in `judged`; `first` is the heading of the names."""
    rows = [(name, *(measure.of(each) for measure in measures)) for name, each in judged.items()]
    return Table(key, title, (Column(first), *(measure.column for measure in measures)), rows, note)


def domains_table(judged: Judgement) -> Table:
    """The figures of each domain: a file, a folder, a language."""
    apart = {name: replace(judged, usage=usage) for name, usage in judged.usages.items()}
    measures = [Measure(replace(of.column, best=""), of.of) for of in (BYTES, TOKENS, *DENSITY, USED, RENYI)]
    return measured_table("domains", "By source", apart, measures, first="source")


def gini(costs: Iterable[float]) -> float | None:
    """The Gini coefficient of positive costs; None for fewer than two of them.

    >>> gini([3, 3, 3]), gini([1, 3])
    (0.0, 0.25)
    """
    ordered = sorted(costs)
    n, total = len(ordered), sum(ordered)
    if n < 2 or not total:
        return None
    weighted = sum((n - place) * cost for place, cost in enumerate(ordered))
    return (n + 1 - 2 * weighted / total) / n


def languages_table(judged: Mapping[str, Mapping[str, Usage]]) -> Table:
    """A row for each tokenizer: how unequal its domains are, and which costs most. judged: usage by tokenizer and domain."""
    rows = []
    for name, usages in judged.items():
        density = {domain: usage.tokens / usage.bytes for domain, usage in usages.items() if usage.bytes}
        dearest = max(density, key=density.__getitem__, default=None)
        of_tokens = gini(usage.tokens for usage in usages.values() if usage.tokens)
        most = None if dearest is None else ratio(1, density[dearest])
        rows.append((name, of_tokens, gini(density.values()), dearest, most))
    columns = (
        Column("tokenizer"),
        Column("Gini of tokens", "number", "0: every language takes the same number of tokens", 3, best="min"),
        Column("Gini of tokens per byte", "number", "for texts that are not translations of each other", 3, best="min"),
        Column("costs most"),
        Column("its bytes per token", "number", digits=3, best="max"),
    )
    note = (
        "The Gini coefficient of tokens compares languages only where the sources are "
        "translations of each other; elsewhere read that of tokens per byte."
    )
    return Table("languages", "Parity between languages", columns, rows, note)


def scripts_table(parts: Iterable[tuple[WordCounts, Usage]]) -> Table:
    """Figures by script: a pretoken belongs to the script of its first letter. Separates languages in mixed text."""
    sums = np.zeros((len(SCRIPTS), 4))  # pretokens, bytes, characters, tokens
    for counts, usage in parts:
        scripts, weights = script_of_pretokens(counts), counts.counts.astype(np.float64)
        sizes = np.diff(counts.offsets), characters_by_pretoken(counts), usage.tokens_by_pretoken
        for place, values in enumerate((np.ones(len(counts)), *sizes)):
            sums[:, place] += np.bincount(scripts, values * weights, len(SCRIPTS))
    rows = []
    for script, (pretokens, size, characters, tokens) in zip(SCRIPTS, sums.tolist(), strict=True):
        if tokens:
            fertility = None if script == SCRIPTS[0] else tokens / pretokens
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
        "more."
    )
    return Table("scripts", "By script", columns, rows, note)


# The most common scripts; index 0 is for pretokens without letters.
SCRIPTS = (
    "no letters", "Latin", "Han", "Cyrillic", "Arabic", "Hiragana", "Katakana", "Hangul", "Greek", "Hebrew", "Devanagari",
    "Bengali", "Tamil", "Telugu", "Kannada", "Malayalam", "Gujarati", "Gurmukhi", "Oriya", "Sinhala", "Thai", "Lao", "Khmer",
    "Myanmar", "Tibetan", "Georgian", "Armenian", "Ethiopic", "Mongolian", "Other",
)  # fmt: skip


def script_of_pretokens(counts: WordCounts) -> np.ndarray:
    """int64: for each pretoken the index in SCRIPTS of the script of its first letter, 0 without a letter."""
    script = _Scripts().__getitem__
    texts = (pretoken.decode("utf-8", "replace") for pretoken, _ in counts.items())
    return np.fromiter((next(filter(None, map(script, text)), 0) for text in texts), np.int64, len(counts))


class _Scripts(dict[str, int]):
    """By character the index in SCRIPTS of its script, 0 for what is not a letter."""

    def __missing__(self, character: str) -> int:
        import regex

        match = regex.match("|".join(rf"(\p{{Script={name}}})" for name in SCRIPTS[1:-1]), character)
        letter = regex.match(r"\p{L}", character)
        self[character] = 0 if not letter else match.lastindex if match else len(SCRIPTS) - 1
        return self[character]


def ratio(above: float | None, below: float | None) -> float | None:
    return None if above is None or not below else above / below
