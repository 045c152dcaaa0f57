"""The charts of a report: as data, with what is drawn, its units, and what it shows; and as inline SVG for a page.

The SVG takes its colours from the page's CSS variables, so it follows the theme. Each figure has `data-tip`, which the page's
script shows as a tooltip. Series differ in colour, lightness and dashes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from .evaluation_text import Judgements
from .metrics import ordinary_tokens
from .references import CODE, PROSE, Samples, asset, references
from .token_lists import LEFT_OUT, with_words_as_pretokens

SHOWN = 0.001  # a script with a smaller share of the text is left out of the chart
MOST_BARS = 24  # of one series
LONGEST = 20  # bytes; longer tokens count there
POINTS = 120  # of one line

# Of the drawing.
WIDTH, HEIGHT = 430, 250
RIGHT, TOP, BOTTOM = 14, 14, 40
CHARACTER = 7.2  # units; the width of a character of the labels, of wide fonts too
LONGEST_LABEL = 20  # characters beside a bar or at the end of a line
MOST_CHARACTERS = 52  # of a name over its bars
BAR, GAP = 13, 9

Unit = Literal["number", "count", "share", "times"]
Scale = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Axis:
    """The quantity on an axis. unit: the unit of its figures. log: whether equal steps are equal ratios."""

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


@dataclass(frozen=True, slots=True, repr=False)
class Chart:
    """One chart.

    key: its name for `Report.svg`.
    note: what it shows, and in which order.
    tokenizers: the names of all tokenizers of the report, since a chart may leave out some.
    """

    key: str
    title: str
    note: str
    kind: Literal["lines", "bars"]
    x: Axis
    y: Axis
    series: Sequence[Series]
    tokenizers: Sequence[str] = ()

    def __repr__(self) -> str:
        return f"<Chart {self.key!r}: {self.title}>"

    def _repr_svg_(self) -> str:
        """The chart as an SVG file that needs no page, for a notebook: its style is inside."""
        head, _, rest = draw(self).partition(">")
        width, height = re.findall(r"\d+", head.split("viewBox=")[1])[2:4]
        head = head.replace("<svg", f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"', 1)
        return f"{head}><style>{asset('report.css')}</style>{rest}"

    def rows(self) -> list[tuple[object, ...]]:
        """The data, as rows for a spreadsheet; the first row names the columns."""
        header = ("tokenizer", self.x.label, self.y.label)
        points = ((of.name, x, y) for of in self.series for x, y in zip(of.x, of.y, strict=True) if y is not None)
        return [header, *points]


def charts_of(judged: Judgements, figures: Samples) -> list[Chart]:
    """The charts of tokenizers: on a text, where they were judged on one, and on the sample."""
    made = [_parity(figures)]
    if judged:
        if len(next(iter(judged.values())).usages) > 1:
            density = {name: of.density() for name, of in judged.items()}
            note = "Sources in the order given. Longer bars are better."
            made.insert(0, _bars("domains", "Bytes per token, by source", note, Axis("bytes per token"), density))
        made += [_ios(judged), _scripts(judged), _rank_frequency(judged), _lengths(judged)]
    made.append(_beside(figures))  # high charts at both ends, so that two columns can be of the same height
    return [replace(chart, tokenizers=tuple(judged)) for chart in made if chart.series]


def format_figure(value: float, unit: Unit) -> str:
    """A figure as a chart shows it."""
    if unit == "share":
        return f"{100 * value:.{3 if 0 < value < 0.0001 else 2 if 0 < value < 0.001 else 1}f}%"
    if unit == "count":
        return f"{value:,.0f}" if value >= 1 else f"{value:.2g}"
    return f"{value:,.2f}" + "×" * (unit == "times")


def _bars(key: str, title: str, note: str, axis: Axis, figures: Mapping[str, Mapping[Any, Any]]) -> Chart:
    """Bars of each name in `figures`, for all groups that have a figure."""
    known = dict.fromkeys(group for of in figures.values() for group, value in of.items() if value is not None)
    groups = list(known)[:MOST_BARS]
    series = [Series(name, groups, [of.get(group) for group in groups]) for name, of in figures.items() if groups]
    return Chart(key, title, note, "bars", Axis("group"), axis, series)


def _scripts(judged: Judgements) -> Chart:
    alike = with_words_as_pretokens(judged)
    first = next(iter(alike.values())).scripts
    total = sum(map(int, first.column("bytes"))) or 1  # type: ignore[arg-type]
    shares = {script: int(size) / total for script, size in first.pairs("script", "bytes").items()}  # type: ignore[arg-type]
    labels = {s: f"{s} ({format_figure(share, 'share')})" for s, share in shares.items() if share >= SHOWN}
    figures = {
        name: {labels[s]: v for s, v in of.scripts.pairs("script", "characters per token").items() if s in labels}
        for name, of in alike.items()
    }
    note = (
        "By the script of the pretoken's first letter; in brackets the script's share of "
        "the text's bytes, the largest first. Scripts below 0.1% are only in the table. Longer bars are better."
        + (f" {LEFT_OUT}" if len(alike) < len(judged) else "")
    )
    return _bars("scripts", "Characters per token, by script", note, Axis("characters per token"), figures)


def _parity(figures: Samples) -> Chart:
    shown = {name: of.premiums for name, of in figures.items()}
    if len(shown) == 1:
        best = min(references(figures.values()).items(), key=lambda item: item[1].gini or 1)
        shown[best[0]] = best[1].premiums
    name, first = next(iter(shown.items()))
    shown[name] = dict(sorted(first.items(), key=lambda item: (-item[1], item[0])))
    note = (
        "Tokens for the same messages, as a multiple of the same tokenizer's English; on the sample that comes with "
        "tokenmill. The first tokenizer's most expensive language is on top. Shorter bars are fairer."
    )
    return _bars("parity", "Cost of a language", note, Axis("tokens, English = 1", "times"), shown)


def _beside(figures: Samples) -> Chart:
    everything = {**references(figures.values()), **figures}
    order = sorted(everything.items(), key=lambda item: -(item[1].bytes_per_token(PROSE) or 0))
    density = {
        domain: {f"▸ {name}" if name in figures else name: of.bytes_per_token(domain) for name, of in order}
        for domain in (PROSE, CODE)
    }
    note = (
        "On the sample that comes with tokenmill; the best for English is on top. "
        "Larger vocabularies have more bytes per token. ▸ marks what this report is about."
    )
    return _bars("references", "Compared with published vocabularies", note, Axis("bytes per token"), density)


def _ios(judged: Judgements) -> Chart:
    thresholds = np.round(np.linspace(0.3, 1, 71), 2)
    marks = [int(np.searchsorted(thresholds, at - 1e-9)) for at in (0.6, 0.7, 0.8, 0.9, 1.0)]
    series = []
    for name, of in judged.items():
        if of.swallowed is None:
            continue
        values = np.sort([token.ios for token in of.swallowed])
        reached = len(values) - np.searchsorted(values, thresholds - 1e-12)
        series.append(Series(name, thresholds.tolist(), (reached / max(1, of.size)).tolist(), marks))
    note = (
        "The share of the vocabulary that a threshold would call junk: tokens that lost at least that share of their "
        "occurrences to one merge. Lower is better."
    )
    x, y = Axis("threshold T of IoS"), Axis("share of the vocabulary", "share")
    return Chart("ios", "Tokens swallowed by longer ones", note, "lines", x, y, series)


def _rank_frequency(judged: Judgements) -> Chart:
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


def _lengths(judged: Judgements) -> Chart:
    series = []
    for name, of in judged.items():
        ids = list(ordinary_tokens(of.tok.vocabulary))
        lengths = np.minimum([len(token) for token in ordinary_tokens(of.tok.vocabulary).values()], LONGEST)
        weights: Iterable[tuple[str, np.ndarray]] = [("of the text", of.usage.by_id[ids].astype(np.float64))]
        if len(judged) == 1:
            weights = [("of the vocabulary", np.ones(len(ids))), *weights]
        for label, weight in weights:
            share = np.bincount(lengths, weight, LONGEST + 1)[1:] / max(1.0, weight.sum())
            series.append(Series(label if len(judged) == 1 else name, list(range(1, LONGEST + 1)), share.tolist()))
    once = ", and of those of the vocabulary, each once" if len(judged) == 1 else ""
    note = f"The length of the tokens of the text, each as often as it is used{once}. {LONGEST} stands for all longer ones."
    x, y = Axis("bytes of the token", "count"), Axis("share of tokens", "share")
    return Chart("token_lengths", "Length of tokens", note, "lines", x, y, series)


def places(chart: Chart) -> list[int]:
    """A number for each series, the colour of its tokenizer in the report."""
    known = {name: place for place, name in enumerate(chart.tokenizers)}
    return [known.get(of.name, place) for place, of in enumerate(chart.series)]


def draw(chart: Chart) -> str:
    """The chart as one <svg> element."""
    return _drawn_bars(chart) if chart.kind == "bars" else _drawn_lines(chart)


def _svg(chart: Chart, height: float, parts: Sequence[str]) -> str:
    label = escape(f"{chart.title}. {chart.note}")
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{label}" class="{chart.kind}">{"".join(parts)}</svg>'


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'


def _scale(low: float, high: float, start: float, stop: float, log: bool) -> Scale:
    place = math.log10 if log else float
    span = (place(high) - place(low)) or 1.0
    return lambda value: start + (place(value) - place(low)) / span * (stop - start)


def _ticks(low: float, high: float, log: bool, most: int = 6) -> list[float]:
    """Round figures from `low` to `high`."""
    if log:
        lowest, highest = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        return [10.0**power for power in range(lowest, highest + 1, max(1, -(-(highest - lowest + 1) // most)))]
    rough = (high - low) / most or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [place * step for place in range(first, math.floor(high / step + 1e-9) + 1)]


def _tick_text(value: float, axis: Axis) -> str:
    if axis.unit == "share":
        return f"{100 * value:.6f}".rstrip("0").rstrip(".") + " %"
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def _drawn_lines(chart: Chart) -> str:
    points = [(float(x), y) for of in chart.series for x, y in zip(of.x, of.y, strict=True) if y is not None]  # type: ignore[arg-type]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    low = min(ys) if chart.y.log else 0.0
    high = max(ys) or 1.0
    last = [(of, next(y for y in reversed(of.y) if y is not None)) for of in chart.series]
    up = _scale(low, high * (1 if chart.y.log else 1.06), HEIGHT - BOTTOM, TOP + 12, chart.y.log)
    ends = sorted(up(y) for _, y in last)
    longest = max(len(of.name) for of in chart.series)
    labelled = len(ends) > 1 and longest <= LONGEST_LABEL and all(b - a > 12 for a, b in pairwise(ends))
    right = RIGHT + (longest * CHARACTER + 6 if labelled else 0)
    upward = _ticks(low, high, chart.y.log)
    left = 12 + max((len(_tick_text(value, chart.y)) for value in upward), default=0) * CHARACTER
    across = _scale(min(xs), max(xs), left, WIDTH - right, chart.x.log)
    parts = []
    for value in upward:
        parts.append(f'<path class="grid" d="M{left:.1f} {up(value):.1f}H{WIDTH - right:.0f}"/>')
        parts.append(_text(left - 6, up(value) + 4, _tick_text(value, chart.y), "tick", "end"))
    for value in _ticks(min(xs), max(xs), chart.x.log, 5):
        shown = _tick_text(value, chart.x)
        place = min(across(value), WIDTH - len(shown) * CHARACTER / 2)  # all of it is inside the picture
        parts.append(_text(place, HEIGHT - BOTTOM + 16, shown, "tick", "middle"))
    parts.append(f'<path class="axis" d="M{left:.1f} {HEIGHT - BOTTOM}H{WIDTH - right:.0f}"/>')
    parts.append(_text(2, TOP - 2, chart.y.label, "label"))
    parts.append(_text((left + WIDTH - right) / 2, HEIGHT - 6, chart.x.label, "label", "middle"))
    for place, (of, y) in zip(places(chart), last, strict=True):
        parts += _line(chart, of, place + 1, across, up)
        if labelled:
            parts.append(_text(WIDTH - right + 5, up(y) + 4, of.name, "end"))
    return _svg(chart, HEIGHT, parts)


def _line(chart: Chart, of: Series, number: int, across: Scale, up: Scale) -> list[str]:
    given: Any = zip(of.x, of.y, strict=True)
    places = [(across(float(x)), up(y), x, y) for x, y in given if y is not None]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y, _, _ in places)
    parts = [f'<path class="line s{number}" d="{path}"/>']
    step = max(1, len(places) // 60)
    for x, y, value, figure in places[::step]:
        shown = _tick_text(round(float(value), 2), chart.x)
        tip = f"{of.name}: {format_figure(figure, chart.y.unit)} at {chart.x.label} {shown}"
        parts.append(f'<circle class="hit s{number}" cx="{x:.1f}" cy="{y:.1f}" r="5" data-tip="{escape(tip)}"/>')
    free = 0.0  # where the last label ends
    for place in of.marks:
        x, y, _, figure = places[place]
        parts.append(f'<circle class="mark s{number}" cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>')
        if len(chart.series) == 1:
            falls = place > 0 and places[place - 1][1] < y  # then the line is above the mark, at its left
            shown = format_figure(figure, chart.y.unit)
            size = len(shown) * CHARACTER
            first = x + 3 if falls else x - size / 2
            first = min(first, WIDTH - size)  # all of it is inside the picture
            above = -7 if first >= free else 16 if y + 16 < HEIGHT - BOTTOM else -19  # and none of it on the axis
            parts.append(_text(first + size / 2, y + above, shown, "value", "middle"))
            free = first + size
    return parts


def _drawn_bars(chart: Chart) -> str:
    groups = [str(group) for group in chart.series[0].x]
    above = max(map(len, groups)) > LONGEST_LABEL  # such names go over their bars
    left = 2.0 if above else max(map(len, groups)) * CHARACTER + 14
    high = max(y for of in chart.series for y in of.y if y is not None) or 1.0
    values = [format_figure(y, chart.y.unit) for of in chart.series for y in of.y if y is not None]
    across = _scale(0, high, left, WIDTH - RIGHT - max(map(len, values)) * CHARACTER, False)
    step = BAR * (len(chart.series) + above) + GAP
    parts = [_text(left, TOP, f"{chart.y.label} →", "label")]
    for row, group in enumerate(groups):
        top = TOP + 10 + row * step + BAR * above
        if above:
            name = group if len(group) <= MOST_CHARACTERS else group[:MOST_CHARACTERS] + "…"
            parts.append(_text(left, top - 3, name))
        else:
            parts.append(_text(left - 7, top + BAR * len(chart.series) / 2 + 4, group, "group", "end"))
        for number, (place, of) in enumerate(zip(places(chart), chart.series, strict=True)):
            value, y = of.y[row], top + BAR * number
            if value is None:
                continue
            shown = format_figure(value, chart.y.unit)
            tip = escape(f"{group}, {of.name}: {shown} {chart.y.label}")
            size = across(value) - left
            parts.append(
                f'<rect class="bar s{place + 1}" x="{left:.1f}" y="{y:.1f}" width="{size:.1f}" height="{BAR - 2}" data-tip="{tip}"/>'
            )
            parts.append(_text(across(value) + 4, y + BAR - 4, shown, "value"))
    height = TOP + 10 + len(groups) * step
    parts.append(f'<path class="axis" d="M{left:.1f} {TOP + 6}V{height - GAP + 2:.0f}"/>')
    return _svg(chart, height, parts)
