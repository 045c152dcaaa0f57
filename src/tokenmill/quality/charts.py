"""The charts of a report, as data: what is drawn, its units, and what it shows. `svg` draws them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from .judgement import Judgement
from .references import Figures, references
from .superwords import LEFT_OUT, with_words_as_pretokens
from .usage import ordinary_tokens

SHOWN = 0.001  # a script with a smaller share of the text is left out of the chart
MOST_BARS = 24  # of one series
LONGEST = 20  # bytes; longer tokens count there
POINTS = 120  # of one line

Unit = Literal["number", "count", "share", "times"]


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis measures. unit: how its figures are written. log: whether equal steps are equal ratios."""

    label: str
    unit: Unit = "number"
    log: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """The figures of one tokenizer. x: numbers, or for bars the names of the groups. marks: points with their own label."""

    name: str
    x: Sequence[float] | Sequence[str]
    y: Sequence[float | None]
    marks: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart.

    key: its name for `Report.svg`.
    note: what it shows, and in which order.
    tokenizers: the names of all tokenizers of the report, since a chart may leave out some.
    """

    key: str
    title: str
    note: str = field(repr=False)
    kind: Literal["lines", "bars"]
    x: Axis
    y: Axis
    series: Sequence[Series] = field(repr=False)
    tokenizers: Sequence[str] = ()

    def places(self) -> list[int]:
        """A number for each series, which gives it its colour: that of its tokenizer in the report."""
        known = {name: place for place, name in enumerate(self.tokenizers)}
        return [known.get(of.name, place) for place, of in enumerate(self.series)]

    def rows(self) -> list[tuple[object, ...]]:
        """The data, as rows for a spreadsheet; the first row names the columns."""
        header = ("tokenizer", self.x.label, self.y.label)
        return [
            header,
            *((of.name, x, y) for of in self.series for x, y in zip(of.x, of.y, strict=True) if y is not None),
        ]


def charts_of(judged: Mapping[str, Judgement], figures: Mapping[str, Figures]) -> list[Chart]:
    """The charts of tokenizers: on a text, where they were judged on one, and on the sample."""
    made = [_parity(figures)]
    if judged:
        domains = {name: list(of.usages) for name, of in judged.items()}
        if len(next(iter(domains.values()))) > 1:
            made.insert(0, _domains(judged))
        made += [_ios(judged), _scripts(judged), _rank_frequency(judged), _lengths(judged)]
    made.append(_beside(figures))  # high charts at both ends, so that two columns can be of the same height
    return [replace(chart, tokenizers=tuple(judged)) for chart in made if chart.series]


def format_figure(value: float, unit: Unit) -> str:
    """A figure as a chart shows it."""
    if unit == "share":
        return f"{100 * value:.{3 if 0 < value < 0.0001 else 2 if 0 < value < 0.001 else 1}f} %"
    if unit == "count":
        return f"{value:,.0f}" if value >= 1 else f"{value:.2g}"
    return f"{value:,.2f}" + "×" * (unit == "times")


def _bars(key: str, title: str, note: str, axis: Axis, figures: Mapping[str, Mapping[str, float | None]]) -> Chart:
    """Bars of each name in `figures`, for all groups that have a figure."""
    known = dict.fromkeys(group for of in figures.values() for group, value in of.items() if value is not None)
    groups = list(known)[:MOST_BARS]
    series = (
        [Series(name, groups, [of.get(group) for group in groups]) for name, of in figures.items()] if groups else []
    )
    return Chart(key, title, note, "bars", Axis("group"), axis, series)


def _domains(judged: Mapping[str, Judgement]) -> Chart:
    figures = {
        name: {domain: usage.bytes / usage.tokens for domain, usage in of.usages.items() if usage.tokens}
        for name, of in judged.items()
    }
    note = "How much text a token holds, by source, in the order given. Longer bars are better."
    return _bars("domains", "Bytes per token, by source", note, Axis("bytes per token"), figures)


def _scripts(judged: Mapping[str, Judgement]) -> Chart:
    alike = with_words_as_pretokens(judged)
    first = next(iter(alike.values())).scripts
    sizes = {str(script): int(size) for script, size in first.pairs("script", "bytes").items()}  # type: ignore[arg-type, call-overload]
    total = sum(sizes.values()) or 1
    labels = {
        script: f"{script} ({format_figure(size / total, 'share')})"
        for script, size in sizes.items()
        if size >= SHOWN * total
    }
    figures = {
        name: {labels[s]: v for s, v in of.scripts.pairs("script", "characters per token").items() if s in labels}  # type: ignore[index]
        for name, of in alike.items()
    }
    note = (
        "How many characters a token holds, by the script of the pretoken's first letter; in brackets the script's share of "
        "the text's bytes, the largest first. Scripts below 0.1 % are only in the table. Longer bars are better."
        + (f" {LEFT_OUT}" if len(alike) < len(judged) else "")
    )
    return _bars("scripts", "Characters per token, by script", note, Axis("characters per token"), figures)  # type: ignore[arg-type]


def _parity(figures: Mapping[str, Figures]) -> Chart:
    shown = {name: of.premiums for name, of in figures.items()}
    if len(shown) == 1:
        best = min(references(figures.values()).items(), key=lambda item: item[1].gini or 1)
        shown[best[0]] = best[1].premiums
    first = next(iter(shown.values()))
    order = sorted(first, key=lambda language: (-first[language], language))
    note = (
        "Tokens for the same messages, as a multiple of the same tokenizer's English; on the sample that comes with "
        "tokenmill. The first tokenizer's most expensive language is on top. Shorter bars are fairer."
    )
    ordered = {name: {language: of[language] for language in order} for name, of in shown.items()}
    return _bars("parity", "What a language costs", note, Axis("tokens, English = 1", "times"), ordered)


def _beside(figures: Mapping[str, Figures]) -> Chart:
    everything = {**references(figures.values()), **figures}
    names = {name: f"▸ {name}" if name in figures else name for name in everything}
    on_sample: dict[str, dict[str, float | None]] = {
        domain: {name: of.bytes_per_token(domain) for name, of in everything.items()}
        for domain in ("English prose", "Python code")
    }
    first = on_sample["English prose"]
    order = sorted(first, key=lambda name: -(first[name] or 0))
    note = (
        "How much text a token holds, on the sample that comes with tokenmill; the best for English is on top. "
        "Larger vocabularies hold more. ▸ marks what this report is about."
    )
    ordered = {domain: {names[name]: of[name] for name in order} for domain, of in on_sample.items()}
    return _bars("references", "Beside published vocabularies", note, Axis("bytes per token"), ordered)


def _ios(judged: Mapping[str, Judgement]) -> Chart:
    thresholds = np.round(np.linspace(0.3, 1, 71), 2)
    marks = [int(np.searchsorted(thresholds, at - 1e-9)) for at in (0.6, 0.7, 0.8, 0.9, 1.0)]
    series = []
    for name, of in judged.items():
        values = np.sort([token.ios for token in of.swallowed])
        reached = len(values) - np.searchsorted(values, thresholds - 1e-12)
        series.append(Series(name, thresholds.tolist(), (reached / max(1, of.size)).tolist(), marks))
    note = (
        "The share of the vocabulary that a threshold would call junk: tokens that lost at least that share of their "
        "occurrences to one merge. Lower is better."
    )
    x, y = Axis("threshold T of IoS"), Axis("share of the vocabulary", "share")
    return Chart("ios", "Tokens swallowed by longer ones", note, "lines", x, y, series)


def _rank_frequency(judged: Mapping[str, Judgement]) -> Chart:
    series = []
    for name, of in judged.items():
        used = np.sort(of.usage.by_id[of.usage.by_id > 0])[::-1].astype(np.float64) / max(1, of.usage.tokens)
        at = np.unique(np.geomspace(1, max(1, len(used)), POINTS).astype(np.int64))[: len(used)]
        series.append(Series(name, at.tolist(), used[at - 1].tolist()))
    note = (
        "Both axes are logarithmic. A straight line with a slope of \u22121 is Zipf's law; a cliff at the right "
        "is the part of the vocabulary that is hardly used."
    )
    x, y = Axis("rank of the token by use", "count", True), Axis("share of the tokens of the text", "share", True)
    return Chart("rank_frequency", "Rank and frequency", note, "lines", x, y, series)


def _lengths(judged: Mapping[str, Judgement]) -> Chart:
    series = []
    for name, of in judged.items():
        ids = list(ordinary_tokens(of.tok))
        lengths = np.minimum([len(token) for token in ordinary_tokens(of.tok).values()], LONGEST)
        weights: Iterable[tuple[str, np.ndarray]] = [("of the text", of.usage.by_id[ids].astype(np.float64))]
        if len(judged) == 1:
            weights = [("of the vocabulary", np.ones(len(ids))), *weights]
        for label, weight in weights:
            share = np.bincount(lengths, weight, LONGEST + 1)[1:] / max(1.0, weight.sum())
            series.append(Series(label if len(judged) == 1 else name, list(range(1, LONGEST + 1)), share.tolist()))
    note = f"The length of the tokens of the text, each as often as it is used. {LONGEST} stands for all longer ones."
    x, y = Axis("bytes of the token", "count"), Axis("share of tokens", "share")
    return Chart("token_lengths", "Length of tokens", note, "lines", x, y, series)
