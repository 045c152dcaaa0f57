"""Figures of a tokenizer on counted text: compression, fertility, share of tokens in use, parity of languages.

bytes, characters, words per token    the text in a token; a word is a run of characters other than white space
fertility                             tokens per word (Rust et al. 2021, "How Good is Your Tokenizer?")
word-initial                          a token that starts with white space and continues with something else
Rényi efficiency                      Zouhar et al. 2023, "Tokenization and the Noiseless Channel", arXiv 2306.16842:
                                      H_a(p) / log |V| with H_a(p) = log(sum p ** a) / (1 - a), a = 2.5, where p are the
                                      shares of the tokens in the text and |V| the number of tokens that text can produce
Gini coefficient                      of the token costs c of n languages, in ascending order (Foroutan, Meister et al. 2025,
                                      "Parity-Aware Byte-Pair Encoding", arXiv 2508.04796):
                                      (n + 1 - 2 * sum((n + 1 - i) * c[i] for i in 1..n) / sum(c)) / n
                                      0 if all languages cost the same, at most 1 - 1/n. The cost is the number of tokens where
                                      texts are translations of each other, else tokens per byte, which favours scripts with
                                      many bytes to a character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..tokenizer import Tokenizer
from ..tokenizer.display import ORDERS
from ..tokenizer.normalization import STRIPPED
from ..vocabulary import Vocabulary
from .evaluation_text import Judgement, Judgements
from .tables import Best, Cell, Column, Figure, Table
from .usage import decode_only_ids, has_pretokens, ordinary_tokens, ratio, unknown_ids, used_tokens

ALPHA = 2.5
RENYI_CAUTION = (
    "Rényi efficiency is high if no token takes much more than its share of the text. It correlated with translation "
    "quality in Zouhar et al. 2023, but it can be gamed: Cognetta et al. 2024 (arXiv 2402.14614) raise it arbitrarily "
    "with worse tokenizers. Only compare it between tokenizers of one kind and size, together with other figures."
)
_SPACE = b"|".join(character.encode() for character in STRIPPED)
_WORD_INITIAL = re.compile(b"(?s)(?:%b)(?!%b)." % (_SPACE, _SPACE))


def renyi_efficiency(by_id: np.ndarray, vocab_size: int) -> float | None:
    """Return H_a of the uses over log(vocab_size): 1 if all tokens are used equally. None if nothing is used.

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
    return [id for id, token in ordinary_tokens(vocabulary).items() if _WORD_INITIAL.match(token)]


def word_initial_share(tok: Tokenizer) -> float | None:
    return ratio(len(word_initial_ids(tok.vocabulary)), len(ordinary_tokens(tok.vocabulary)))


def mean_token_characters(tok: Tokenizer) -> float | None:
    """The mean length of the tokens, in characters counted at their first bytes."""
    tokens = ordinary_tokens(tok.vocabulary).values()
    first_bytes = (np.frombuffer(b"".join(tokens), np.uint8) & 0xC0) != 0x80
    return ratio(int(first_bytes.sum()), len(tokens))


class Measure(NamedTuple):
    """A figure of a tokenizer on a text: its column in tables, and the function that computes it."""

    column: Column
    compute: Callable[[Judgement], float | None]


def _total(name: str) -> Measure:
    return Measure(Column(name, "count"), lambda judged: getattr(judged.usage, name))


def _quotient(name: str, help: str = "", best: Best = "max") -> Measure:
    """Return the measure for the ratio of two totals of a Usage, such as "bytes per token"."""
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
WORD_INITIAL = Measure(
    Column("word-initial, of the tokens of the text", "share"),
    lambda judged: ratio(int(judged.usage.by_id[word_initial_ids(judged.tok.vocabulary)].sum()), judged.usage.tokens),
)
RENYI = Measure(
    Column("Rényi efficiency", "number", f"alpha {ALPHA}", 4),
    lambda judged: renyi_efficiency(judged.usage.by_id, judged.size),
)
LOSSES = (  # what the tokens do not represent
    Measure(
        Column("unknown tokens", "count"),
        lambda judged: int(judged.usage.by_id[[*unknown_ids(judged.tok.vocabulary)]].sum()),
    ),
    Measure(Column("dropped characters", "count"), lambda judged: judged.usage.dropped),
)
TEXT_MEASURES = (
    BYTES,
    _total("characters"),
    _total("words"),
    _total("pretokens"),
    TOKENS,
    *LOSSES,
    *DENSITY,
    _quotient("tokens per pretoken", best=""),
    USED,
    Measure(Column("tokens used", "count"), lambda judged: used_tokens(judged.tok, judged.usage)),
    WORD_INITIAL,
    RENYI,
)


def overview_table(tok: Tokenizer) -> Table:
    """Facts about the vocabulary that do not depend on a text."""
    vocabulary = tok.vocabulary
    tokens, decode_only = ordinary_tokens(vocabulary).values(), decode_only_ids(vocabulary)
    count, number = Column("", "count"), Column("", "number", digits=3)
    superwords = "; then superwords of whole pretokens" if vocabulary.has_superwords else ""
    without_pattern = "by the library" if vocabulary.library else "none: a text is one pretoken"
    rows: list[tuple[Cell, ...]] = [
        ("ordinary tokens", Figure(len(tokens), count)),
        ("added tokens", Figure(len(vocabulary.added_tokens), count)),
        ("ids (rows of an embedding table)", Figure(vocabulary.n_vocab, count)),
        ("removed tokens", Figure(len(vocabulary.removed), count)),
        *([("decode-only tokens", Figure(len(decode_only), count))] if decode_only else []),
        ("merging", ORDERS[vocabulary.order] + superwords),
        ("alphabet", vocabulary.alphabet),
        ("split pattern", " then ".join(vocabulary.split_patterns) or without_pattern),
        ("mean bytes of a token", Figure(ratio(sum(map(len, tokens)), len(tokens)), number)),
        ("mean characters of a token", Figure(mean_token_characters(tok), number)),
        ("word-initial tokens", Figure(word_initial_share(tok), Column("", "share"))),
        ("fingerprint", vocabulary.fingerprint()),
    ]
    return Table("vocabulary", "The vocabulary", (Column("what"), Column("value", "figure")), rows)


def text_table(judged: Judgement, scale: int = 1) -> Table:
    """The figures of a text, in one column, with those of LOSSES if it has any. scale: see `EvaluationText.scale`.

    Those of pretokens are left out where more than the split pattern decides on them.
    """
    usage, pretokens = judged.usage, has_pretokens(judged.tok.vocabulary)
    measures = [measure for measure in TEXT_MEASURES if pretokens or "pretoken" not in measure.column.name]
    measures = [measure for measure in measures if measure not in LOSSES or measure.compute(judged)]
    rows = [(column.name, Figure(compute(judged), column)) for column, compute in measures]
    rows += [("counts are multiplied by", Figure(scale, BYTES.column))] if scale > 1 else []
    unknown = " Word counts alone do not record how many there are." if usage.words is None else ""
    note = f"A word is a run of characters other than white space.{unknown} {RENYI_CAUTION}"
    return Table("text", "On this text", (Column("what"), Column("value", "figure")), rows, note)


def measured_table(
    key: str, title: str, judged: Judgements, measures: Sequence[Measure], note: str = "", first: str = "tokenizer"
) -> Table:
    """A row of measures for each name in `judged`. first: the heading of the names."""
    rows = [(name, *(measure.compute(each) for measure in measures)) for name, each in judged.items()]
    return Table(key, title, (Column(first), *(measure.column for measure in measures)), rows, note)


def domains_table(judged: Judgement) -> Table:
    """The figures of each domain: a file, a folder, a language."""
    by_domain = {name: replace(judged, usage=usage) for name, usage in judged.usages.items()}
    measures = (BYTES, TOKENS, *DENSITY, USED, RENYI)
    plain = [Measure(replace(column, best=""), compute) for column, compute in measures]
    return measured_table("domains", "By source", by_domain, plain, first="source")


def gini(costs: Iterable[float]) -> float | None:
    """Return the Gini coefficient of positive costs; None for fewer than two of them.

    >>> gini([3, 3, 3]), gini([1, 3])
    (0.0, 0.25)
    """
    ordered = sorted(costs)
    n, total = len(ordered), sum(ordered)
    if n < 2 or not total:
        return None
    weighted = sum((n - i) * cost for i, cost in enumerate(ordered))
    return (n + 1 - 2 * weighted / total) / n


def languages_table(judged: Judgements) -> Table:
    """A row for each tokenizer: the inequality of its domains, and the most expensive of them."""
    rows = []
    for name, judgement in judged.items():
        usages = judgement.usages
        costs = {domain: usage.tokens / usage.bytes for domain, usage in usages.items() if usage.bytes}
        dearest = max(costs, key=costs.__getitem__, default=None)
        gini_of_tokens = gini(usage.tokens for usage in usages.values() if usage.tokens)
        density = None if dearest is None else ratio(1, costs[dearest])
        rows.append((name, gini_of_tokens, gini(costs.values()), dearest, density))
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
