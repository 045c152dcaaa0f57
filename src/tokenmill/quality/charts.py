"""The charts of a report: as data with units and a note, and as inline SVG for a page.

The SVG takes its colours from the page's CSS variables, so it follows the theme. Each figure has `data-tip`, which the page's
script shows as a tooltip. Series differ in colour, lightness and dashes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import chain, pairwise
from typing import Any, Literal

import numpy as np

from .evaluation_text import Judgements
from .references import CODE, PROSE, Samples, asset, references
from .token_lists import LEFT_OUT, with_words_as_pretokens
from .usage import ordinary_tokens

SHOWN = 0.001  # a script with a smaller share of the text is left out of the chart
MOST_BARS = 24  # of one series
LONGEST = 20  # bytes; longer tokens count there
POINTS = 120  # of one line

# Sizes in units of the SVG.
WIDTH, HEIGHT = 430, 250
RIGHT, TOP, BOTTOM = 14, 14, 40
CHARACTER = 7.2  # the width of a character of the labels, even in wide fonts
LONGEST_LABEL = 20  # characters of a name next to its bars or at the end of its line
MOST_CHARACTERS = 52  # of a name above its bars
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

    def points(self) -> list[tuple[Any, float]]:
        """Return the points that have a figure."""
        return [(x, y) for x, y in zip(self.x, self.y, strict=True) if y is not None]


@dataclass(frozen=True, slots=True, repr=False)
class Chart:
    """One chart.

    key: its name for `Report.svg`. note: the content and its order, in words.
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
        """Return the chart as a self-contained SVG file, for a notebook."""
        head, _, rest = draw(self).partition(">")
        width, height = re.findall(r"\d+", head.split("viewBox=")[1])[2:4]
        head = head.replace("<svg", f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"', 1)
        return f"{head}><style>{asset('report.css')}</style>{rest}"

    def rows(self) -> list[tuple[object, ...]]:
        """Return the data as rows for a spreadsheet. The first row names the columns."""
        header = ("tokenizer", self.x.label, self.y.label)
        return [header, *((series.name, x, y) for series in self.series for x, y in series.points())]


def charts_of(judged: Judgements, figures: Samples) -> list[Chart]:
    """Return the charts of tokenizers on their text, if they were judged on one, and on the sample."""
    charts = [_parity(figures)]
    if judged:
        if len(next(iter(judged.values())).usages) > 1:
            density = {name: each.density() for name, each in judged.items()}
            note = "Sources in the order given. Longer bars are better."
            charts.insert(0, _bars("domains", "Bytes per token, by source", note, Axis("bytes per token"), density))
        charts += [_ios(judged), _scripts(judged), _rank_frequency(judged), _lengths(judged)]
    charts.append(_references(figures))  # tall charts at both ends, so that two columns can have the same height
    return [replace(chart, tokenizers=tuple(judged)) for chart in charts if chart.series]


def format_figure(value: float, unit: Unit) -> str:
    if unit == "share":
        return f"{100 * value:.{3 if 0 < value < 0.0001 else 2 if 0 < value < 0.001 else 1}f}%"
    if unit == "count":
        return f"{value:,.0f}" if value >= 1 else f"{value:.2g}"
    return f"{value:,.2f}" + "×" * (unit == "times")


def _bars(key: str, title: str, note: str, axis: Axis, figures: Mapping[str, Mapping[Any, Any]]) -> Chart:
    """The bars of each name in `figures`, for all groups that have a figure."""
    groups = dict.fromkeys(group for row in figures.values() for group, value in row.items() if value is not None)
    shown = list(groups)[:MOST_BARS]
    series = [Series(name, shown, [row.get(group) for group in shown]) for name, row in figures.items() if shown]
    return Chart(key, title, note, "bars", Axis("group"), axis, series)


def _scripts(judged: Judgements) -> Chart:
    comparable = with_words_as_pretokens(judged)
    first = next(iter(comparable.values())).scripts
    total = sum(map(int, first.column("bytes"))) or 1  # type: ignore[arg-type]
    shares = {script: int(size) / total for script, size in first.pairs("script", "bytes").items()}  # type: ignore[arg-type]
    labels = {s: f"{s} ({format_figure(share, 'share')})" for s, share in shares.items() if share >= SHOWN}
    figures = {}
    for name, each in comparable.items():
        density = each.scripts.pairs("script", "characters per token")
        figures[name] = {labels[script]: value for script, value in density.items() if script in labels}
    note = (
        "By the script of the pretoken's first letter; in brackets the script's share of "
        "the text's bytes, the largest first. Scripts below 0.1% are only in the table. Longer bars are better."
        + (f" {LEFT_OUT}" if len(comparable) < len(judged) else "")
    )
    return _bars("scripts", "Characters per token, by script", note, Axis("characters per token"), figures)


def _parity(figures: Samples) -> Chart:
    premiums = {name: each.premiums for name, each in figures.items()}
    if len(premiums) == 1:
        best = min(references(figures.values()).items(), key=lambda item: item[1].gini or 1)
        premiums[best[0]] = best[1].premiums
    name, first = next(iter(premiums.items()))
    premiums[name] = dict(sorted(first.items(), key=lambda item: (-item[1], item[0])))
    note = (
        "Tokens for the same messages, as a multiple of the same tokenizer's English; on the sample that comes with "
        "tokenmill. The first tokenizer's most expensive language is on top. Shorter bars are fairer."
    )
    return _bars("parity", "Cost of a language", note, Axis("tokens, English = 1", "times"), premiums)


def _references(figures: Samples) -> Chart:
    rows = {**references(figures.values()), **figures}
    order = sorted(rows, key=lambda name: -(rows[name].bytes_per_token(PROSE) or 0))
    labels = {name: f"▸ {name}" if name in figures else name for name in order}
    density = {domain: {labels[name]: rows[name].bytes_per_token(domain) for name in order} for domain in (PROSE, CODE)}
    note = (
        "On the sample that comes with tokenmill; the best for English is on top. "
        "Larger vocabularies have more bytes per token. ▸ marks what this report is about."
    )
    return _bars("references", "Compared with published vocabularies", note, Axis("bytes per token"), density)


def _ios(judged: Judgements) -> Chart:
    thresholds = np.round(np.linspace(0.3, 1, 71), 2)
    marks = [int(np.searchsorted(thresholds, at - 1e-9)) for at in (0.6, 0.7, 0.8, 0.9, 1.0)]
    series = []
    for name, each in judged.items():
        if each.swallowed is None:
            continue
        values = np.sort([token.ios for token in each.swallowed])
        tokens = len(values) - np.searchsorted(values, thresholds - 1e-12)
        series.append(Series(name, thresholds.tolist(), (tokens / max(1, each.size)).tolist(), marks))
    note = (
        "The share of the vocabulary that a threshold would call junk: tokens that lost at least that share of their "
        "occurrences to one merge. Lower is better."
    )
    x, y = Axis("threshold T of IoS"), Axis("share of the vocabulary", "share")
    return Chart("ios", "Tokens swallowed by longer ones", note, "lines", x, y, series)


def _rank_frequency(judged: Judgements) -> Chart:
    series = []
    for name, each in judged.items():
        uses = each.usage.by_id
        shares = np.sort(uses[uses > 0])[::-1].astype(np.float64) / max(1, each.usage.tokens)
        ranks = np.unique(np.geomspace(1, max(1, len(shares)), POINTS).astype(np.int64))[: len(shares)]
        series.append(Series(name, ranks.tolist(), shares[ranks - 1].tolist()))
    note = (
        "Both axes are logarithmic. A straight line with a slope of \u22121 is Zipf's law; a cliff at the right "
        "is the part of the vocabulary that is hardly used."
    )
    x, y = Axis("rank of the token by use", "count", True), Axis("share of the tokens of the text", "share", True)
    return Chart("rank_frequency", "Rank and frequency", note, "lines", x, y, series)


def _lengths(judged: Judgements) -> Chart:
    series = []
    for name, each in judged.items():
        tokens = ordinary_tokens(each.tok.vocabulary)
        lengths = np.minimum([*map(len, tokens.values())], LONGEST)
        weights = {name: each.usage.by_id[[*tokens]].astype(np.float64)}
        if len(judged) == 1:
            weights = {"of the vocabulary": np.ones(len(tokens)), "of the text": weights[name]}
        for label, weight in weights.items():
            share = np.bincount(lengths, weight, LONGEST + 1)[1:] / max(1.0, weight.sum())
            series.append(Series(label, list(range(1, LONGEST + 1)), share.tolist()))
    once = ", and of those of the vocabulary, each once" if len(judged) == 1 else ""
    note = f"The length of the tokens of the text, each as often as it is used{once}. {LONGEST} stands for all longer ones."
    x, y = Axis("bytes of the token", "count"), Axis("share of tokens", "share")
    return Chart("token_lengths", "Length of tokens", note, "lines", x, y, series)


def colors(chart: Chart) -> list[int]:
    """Return the number of each series' colour, which is that of its tokenizer in the report."""
    numbers = {name: number for number, name in enumerate(chart.tokenizers)}
    return [numbers.get(series.name, number) for number, series in enumerate(chart.series)]


def draw(chart: Chart) -> str:
    return _draw_bars(chart) if chart.kind == "bars" else _draw_lines(chart)


def _svg(chart: Chart, height: float, elements: Sequence[str]) -> str:
    label = escape(f"{chart.title}. {chart.note}")
    head = f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{label}" class="{chart.kind}">'
    return f"{head}{''.join(elements)}</svg>"


def _text(x: float, y: float, text: str, css_class: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{css_class}">{escape(text)}</text>'


def _scale(low: float, high: float, start: float, stop: float, log: bool) -> Scale:
    """Return the function that maps figures from `low` to `high` to coordinates from `start` to `stop`."""
    measure = math.log10 if log else float
    span = (measure(high) - measure(low)) or 1.0
    return lambda value: start + (measure(value) - measure(low)) / span * (stop - start)


def _ticks(low: float, high: float, log: bool, most: int = 6) -> list[float]:
    """Return about `most` round figures from `low` to `high`."""
    if log:
        lowest, highest = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
        return [10.0**power for power in range(lowest, highest + 1, max(1, -(-(highest - lowest + 1) // most)))]
    rough = (high - low) / most or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _tick_text(value: float, axis: Axis) -> str:
    if axis.unit == "share":
        return f"{100 * value:.6f}".rstrip("0").rstrip(".") + "%"
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def _draw_lines(chart: Chart) -> str:
    lines: list[list[tuple[float, float]]] = [[*series.points()] for series in chart.series]  # type: ignore[misc]
    xs, ys = zip(*chain(*lines), strict=True)
    low = min(ys) if chart.y.log else 0.0
    high = max(ys) or 1.0
    up = _scale(low, high * (1 if chart.y.log else 1.06), HEIGHT - BOTTOM, TOP + 12, chart.y.log)
    ends = sorted(up(line[-1][1]) for line in lines)
    longest = max(len(series.name) for series in chart.series)
    labelled = len(ends) > 1 and longest <= LONGEST_LABEL and all(b - a > 12 for a, b in pairwise(ends))
    right = RIGHT + (longest * CHARACTER + 6 if labelled else 0)
    y_ticks = _ticks(low, high, chart.y.log)
    left = 12 + max((len(_tick_text(value, chart.y)) for value in y_ticks), default=0) * CHARACTER
    across = _scale(min(xs), max(xs), left, WIDTH - right, chart.x.log)
    elements = []
    for value in y_ticks:
        elements.append(f'<path class="grid" d="M{left:.1f} {up(value):.1f}H{WIDTH - right:.0f}"/>')
        elements.append(_text(left - 6, up(value) + 4, _tick_text(value, chart.y), "tick", "end"))
    for value in _ticks(min(xs), max(xs), chart.x.log, 5):
        label = _tick_text(value, chart.x)
        x = min(across(value), WIDTH - len(label) * CHARACTER / 2)  # so that all of it is inside the picture
        elements.append(_text(x, HEIGHT - BOTTOM + 16, label, "tick", "middle"))
    elements.append(f'<path class="axis" d="M{left:.1f} {HEIGHT - BOTTOM}H{WIDTH - right:.0f}"/>')
    elements.append(_text(2, TOP - 2, chart.y.label, "label"))
    elements.append(_text((left + WIDTH - right) / 2, HEIGHT - 6, chart.x.label, "label", "middle"))
    for color, series, line in zip(colors(chart), chart.series, lines, strict=True):
        elements += _line(chart, series, line, color + 1, across, up)
        if labelled:
            elements.append(_text(WIDTH - right + 5, up(line[-1][1]) + 4, series.name, "end"))
    return _svg(chart, HEIGHT, elements)


def _line(
    chart: Chart, series: Series, figures: Sequence[tuple[float, float]], number: int, across: Scale, up: Scale
) -> list[str]:
    points = [(across(x), up(y)) for x, y in figures]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    elements = [f'<path class="line s{number}" d="{path}"/>']
    step = max(1, len(points) // 60)
    for (x, y), (value, figure) in zip(points[::step], figures[::step], strict=True):
        shown = _tick_text(round(float(value), 2), chart.x)
        tip = f"{series.name}: {format_figure(figure, chart.y.unit)} at {chart.x.label} {shown}"
        elements.append(f'<circle class="hit s{number}" cx="{x:.1f}" cy="{y:.1f}" r="5" data-tip="{escape(tip)}"/>')
    last_end = 0.0  # of the labels
    for i in series.marks:
        x, y = points[i]
        elements.append(f'<circle class="mark s{number}" cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>')
        if len(chart.series) == 1:
            falls = i > 0 and points[i - 1][1] < y  # then the line is above the mark, at its left
            label = format_figure(figures[i][1], chart.y.unit)
            size = len(label) * CHARACTER
            start = min(x + 3 if falls else x - size / 2, WIDTH - size)  # so that all of it is inside the picture
            shift = -7 if start >= last_end else 16 if y + 16 < HEIGHT - BOTTOM else -19  # and none of it on the axis
            elements.append(_text(start + size / 2, y + shift, label, "value", "middle"))
            last_end = start + size
    return elements


def _draw_bars(chart: Chart) -> str:
    groups = [str(group) for group in chart.series[0].x]
    above = max(map(len, groups)) > LONGEST_LABEL  # such names go above their bars
    left = 2.0 if above else max(map(len, groups)) * CHARACTER + 14
    figures = [y for series in chart.series for _, y in series.points()]
    longest = max(len(format_figure(y, chart.y.unit)) for y in figures)
    across = _scale(0, max(figures) or 1.0, left, WIDTH - RIGHT - longest * CHARACTER, False)
    step = BAR * (len(chart.series) + above) + GAP
    elements = [_text(left, TOP, f"{chart.y.label} →", "label")]
    for row, group in enumerate(groups):
        top = TOP + 10 + row * step + BAR * above
        if above:
            name = group if len(group) <= MOST_CHARACTERS else group[:MOST_CHARACTERS] + "…"
            elements.append(_text(left, top - 3, name))
        else:
            elements.append(_text(left - 7, top + BAR * len(chart.series) / 2 + 4, group, "group", "end"))
        for number, (color, series) in enumerate(zip(colors(chart), chart.series, strict=True)):
            value, y = series.y[row], top + BAR * number
            if value is None:
                continue
            label = format_figure(value, chart.y.unit)
            tip = escape(f"{group}, {series.name}: {label} {chart.y.label}")
            box = f'x="{left:.1f}" y="{y:.1f}" width="{across(value) - left:.1f}" height="{BAR - 2}"'
            elements.append(f'<rect class="bar s{color + 1}" {box} data-tip="{tip}"/>')
            elements.append(_text(across(value) + 4, y + BAR - 4, label, "value"))
    height = TOP + 10 + len(groups) * step
    elements.append(f'<path class="axis" d="M{left:.1f} {TOP + 6}V{height - GAP + 2:.0f}"/>')
    return _svg(chart, height, elements)
