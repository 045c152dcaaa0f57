"""The verdict on several tokenizers: the best at each measure, and the confidence in that.

Confidence comes from a bootstrap (Efron 1979): documents are drawn from a sample with replacement, again and again. The spread
of a figure over the draws shows how much it depends on the choice of documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..errors import plural
from .content import Finding
from .evaluation_text import EXCERPT, Judgement, Judgements
from .metrics import LOSSES, USED
from .references import JUNK, Samples
from .tables import Cell, Column, Table
from .verdict import by_cost, listed, percent

ALIKE = 0.01  # a smaller difference is not worth a choice
ALIKE_SIZES = 1.25  # ratio; the shares of vocabularies that differ more in size are not compared
FEWEST = 20  # documents; fewer have no meaningful spread
DRAWS = 1000


class Interval(NamedTuple):
    """A ratio, and the limits between which 95% of the draws lie."""

    ratio: float
    low: float
    high: float


Differences = Mapping[str, Interval | None]  # tokens relative to those of the first tokenizer, by name


def bootstrap(above: np.ndarray, below: np.ndarray) -> Interval | None:
    """Return sum(above) / sum(below) with its 95% interval; None for fewer than FEWEST documents.

    The draws come from a fixed seed, so that the same text gives the same interval.

    >>> bootstrap(np.arange(1, 101), np.arange(1, 101))
    Interval(ratio=1.0, low=1.0, high=1.0)
    """
    n = len(above)
    if n < FEWEST or not below.sum():
        return None
    drawn = np.random.default_rng(0).integers(0, n, (DRAWS, n))
    ratios = above[drawn].sum(1) / np.maximum(1, below[drawn].sum(1))
    low, high = np.quantile(ratios, (0.025, 0.975)).tolist()
    return Interval(float(above.sum() / below.sum()), low, high)


def differences_table(base: str, differences: Differences, documents: int) -> Table:
    """Tokens relative to the first tokenizer, `base`, with their intervals. documents: their number in the sample."""
    rows: list[tuple[Cell, ...]] = []
    for name, interval in differences.items():
        if interval is None:
            rows.append((name, None, None, None, documents, f"too few documents (at least {FEWEST})"))
        else:
            unsure = interval.low <= 1 <= interval.high
            result = "not told apart" if unsure else "fewer tokens" if interval.ratio < 1 else "more tokens"
            rows.append((name, *interval, documents, result))
    columns = (
        Column("tokenizer"),
        Column("tokens, relative", "share", f"tokens as a share of {base}'s"),
        Column("from", "share", "the lower end of the 95% interval"),
        Column("to", "share", "the upper end of the 95% interval"),
        Column("documents", "count", "documents sampled, or parts of long ones"),
        Column("result"),
    )
    note = (
        f"Tokens relative to {base}, on an even sample of the documents, with a 95% interval by bootstrap: documents are drawn "
        f"with replacement {DRAWS:,} times. A document longer than {EXCERPT // 1024} KiB counts as several parts."
    )
    return Table("differences", f"Tokens relative to {base}, with confidence", columns, rows, note)


def compared(judged: Judgements, figures: Samples, differences: Differences) -> list[Finding]:
    """Return the findings on several tokenizers. differences: tokens relative to the first, with their intervals."""
    if len(judged) == 1:
        return []
    swallowed = {name: share for name, each in judged.items() if (share := each.junk_share(JUNK)) is not None}
    unused = {name: 1 - (USED.compute(each) or 0) for name, each in judged.items()}
    ginis = _ginis(figures)
    sizes = [each.size for each in judged.values()]
    alike = max(sizes) <= ALIKE_SIZES * min(sizes)
    findings = [
        _least("swallowed", swallowed, alike) if swallowed else None,
        _least("unused", unused, alike),
        _fewest(judged, differences, alike),
        _least("languages", ginis, True) if ginis else None,
    ]
    return by_cost(findings)


def compared_summary(judged: Judgements, figures: Samples) -> str:
    """Return one sentence: the tokenizers that need the fewest tokens, and those that treat languages most evenly."""
    if len(judged) == 1:
        return "There is no other tokenizer to compare with."
    least_tokens = min(each.usage.tokens for each in judged.values())
    least = [name for name, each in judged.items() if each.usage.tokens == least_tokens]
    lossy = ", but cannot represent all of it" if any(_losses(judged[name]) for name in least) else ""
    fair = _near_least(ginis) if (ginis := _ginis(figures)) else []
    unlike = len(fair) < len(ginis)
    fairest = f"; {listed(fair)} {'treat' if fair[1:] else 'treats'} languages most evenly" if unlike else ""
    return f"{listed(least)} {'need' if least[1:] else 'needs'} the fewest tokens for this text{lossy}{fairest}."


def _losses(judgement: Judgement) -> str:
    """Return what the tokenizer does with text that has no token, such as "drops 5 characters"; "" if there is none."""
    unknown, dropped = (int(compute(judgement) or 0) for _, compute in LOSSES)
    losses = [f"uses its unknown token {plural(unknown, 'time')}"] if unknown else []
    losses += [f"drops {plural(dropped, 'character')}"] if dropped else []
    return " and ".join(losses)


def _ginis(figures: Samples) -> dict[str, float]:
    """Return the Gini coefficients; none if that of a tokenizer that is worse than another in all languages is the smallest."""
    ginis = {name: each.gini for name, each in figures.items() if each.gini is not None}
    fairest, *others = sorted(ginis, key=ginis.__getitem__) or [""]
    own = figures[fairest].languages if others else {}
    worse = (all(own[language] >= n for language, n in figures[other].languages.items()) for other in others)
    return {} if not others or any(worse) else ginis


def _near_least(values: Mapping[str, float]) -> list[str]:
    """Return the names of the least value, and of those that hardly differ from it."""
    return [name for name, value in values.items() if value - min(values.values()) < ALIKE]


def _fewest(judged: Judgements, differences: Differences, alike: bool) -> Finding:
    tokens = {name: each.usage.tokens for name, each in judged.items()}
    base = next(iter(tokens))
    best, second = sorted(tokens, key=tokens.__getitem__)[:2]
    other = second if best == base else base
    interval = differences.get(second if best == base else best)
    if interval is not None and best == base:  # `interval` is relative to the best
        interval = Interval(1 / interval.ratio, 1 / interval.high, 1 / interval.low)
    saved = 1 - tokens[best] / max(1, tokens[other])
    fewer = percent(saved) if saved >= 0.0005 else "less than 0.1%"
    statement = f"{best} needs the fewest tokens: {fewer} fewer than {other}"
    if not saved:
        statement = f"{best} and {other} need the same number of tokens, the fewest"
    elif interval is not None:
        statement += f" (95% interval {percent(1 - interval.high)} to {percent(1 - interval.low)})"
    meaning = "Fewer tokens mean less compute for the same text."
    if not alike:
        meaning += " The vocabularies differ in size, and a larger one should need fewer."
    unsure = not saved or interval is None or interval.low <= 1 <= interval.high
    advice = f"Use {best} for text like this."
    if losses := _losses(judged[best]):
        advice = f"{best} {losses}: it cannot represent all of this text."
    elif unsure:
        advice = "Compare on more documents: this text does not tell them apart."
    return Finding(
        "density",
        "look" if unsure or losses or best != base else "good",
        statement + ".",
        "an interval that does not contain 0%, by bootstrap over documents",
        meaning,
        advice,
        saved,
    )


# Measures of which the least is best: a description, and its meaning.
LEAST = {
    "swallowed": (
        "share of tokens that were almost always swallowed by longer ones",
        "IoS is the share of a token's occurrences that a single merge consumes. Such tokens are intermediate steps to longer ones.",
    ),
    "unused": (
        "share of tokens that never occur in this text",
        "If the model sees only text like this, their rows are never trained. A larger vocabulary leaves more unused.",
    ),
    "languages": (
        "Gini coefficient over 20 languages of the public sample",
        "0 means that the same messages need the same number of tokens in every language.",
    ),
}


def _least(key: str, values: Mapping[str, float], alike: bool) -> Finding:
    """Return the finding on a measure of LEAST. alike: whether the vocabularies have about the same size, so that it decides."""
    description, meaning = LEAST[key]
    best, worst = _near_least(values), max(values, key=values.__getitem__)
    difference = values[worst] - min(values.values())
    shown = "{:.2f}".format if key == "languages" else percent
    low, high = (shown(limit(values[name] for name in best)) for limit in (min, max))
    least = low if low == high else f"{low} to {high}"
    smallest = f"{listed(best)} {'have' if best[1:] else 'has'} the smallest {description}: {least}"
    statement, advice = f"{smallest}; {worst} has {shown(values[worst])}.", ""
    if len(values) == 1:
        statement = f"The {description} is {low} for {worst}."
    elif difference < ALIKE:
        statement = f"The tokenizers have about the same {description}: {least}."
    if difference >= ALIKE:
        advice = f"If all else is equal, use {' or '.join(best)}."
    return Finding(
        key,
        "look" if difference >= ALIKE and alike else "good",
        statement,
        f"a difference of {shown(ALIKE)}",
        meaning,
        advice if alike else "The vocabularies differ in size, so this decides nothing.",
        difference if alike else 0.0,
    )
