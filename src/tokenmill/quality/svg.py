"""A chart as inline SVG for a page: it takes its colours from the page's CSS variables, so it follows the theme.

Each figure has `data-tip`, which the page's script shows as a tooltip. Series differ in colour, lightness and dashes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise
from typing import Any

from .charts import Axis, Chart, Series, format_figure

WIDTH, HEIGHT = 430, 250
RIGHT, TOP, BOTTOM = 14, 14, 40
CHARACTER = 7.2  # units; the width of a character of the labels, of wide fonts too
LONGEST_LABEL = 20  # characters beside a bar or at the end of a line
MOST_CHARACTERS = 52  # of a name over its bars
BAR, GAP = 13, 9

Scale = Callable[[float], float]


def draw(chart: Chart) -> str:
    """The chart as one <svg> element."""
    return _bars(chart) if chart.kind == "bars" else _lines(chart)


def _svg(chart: Chart, height: float, parts: Sequence[str]) -> str:
    label = escape(f"{chart.title}. {chart.note}")
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{label}" class="{chart.kind}">{"".join(parts)}</svg>'


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'


def _scale(low: float, high: float, start: float, stop: float, log: bool) -> Scale:
    if log:
        low, high = math.log10(low), math.log10(high)
    span = (high - low) or 1.0

    def scale(value: float) -> float:
        return start + ((math.log10(value) if log else value) - low) / span * (stop - start)

    return scale


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


def _lines(chart: Chart) -> str:
    points = [(float(x), y) for of in chart.series for x, y in zip(of.x, of.y, strict=True) if y is not None]  # type: ignore[arg-type]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    low = min(ys) if chart.y.log else 0.0
    high = max(ys) or 1.0
    last = [(of, next(y for y in reversed(of.y) if y is not None)) for of in chart.series]
    up = _scale(low, high * (1 if chart.y.log else 1.06), HEIGHT - BOTTOM, TOP + 12, chart.y.log)
    ends = sorted(up(y) for _, y in last)
    labelled = (
        len(ends) > 1
        and all(b - a > 12 for a, b in pairwise(ends))
        and max(len(of.name) for of, _ in last) <= LONGEST_LABEL
    )
    right = RIGHT + (max(len(of.name) for of, _ in last) * CHARACTER + 6 if labelled else 0)
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
    for place, (of, y) in zip(chart.places(), last, strict=True):
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
    for place in of.marks:
        x, y, _, figure = places[place]
        parts.append(f'<circle class="mark s{number}" cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>')
        if len(chart.series) == 1:
            falls = place > 0 and places[place - 1][1] < y  # then the line is above the mark, at its left
            anchor = "end" if x > WIDTH - 40 else "start" if falls else "middle"
            parts.append(
                _text(x + 3 * (anchor == "start"), y - 7, format_figure(figure, chart.y.unit), "value", anchor)
            )
    return parts


def _bars(chart: Chart) -> str:
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
            parts.append(
                _text(left, top - 3, group if len(group) <= MOST_CHARACTERS else group[:MOST_CHARACTERS] + "…")
            )
        else:
            parts.append(_text(left - 7, top + BAR * len(chart.series) / 2 + 4, group, "group", "end"))
        for number, (place, of) in enumerate(zip(chart.places(), chart.series, strict=True)):
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
