"""The charts of a report as figures of matplotlib, to change, print or put into a paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import require
from .charts import Axis, Chart, format_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people with colour blindness can distinguish, from dark to light.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#000000", "#f0e442")
DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
HATCHES = ("", "////", "....", "xxxx")


def plot(chart: Chart) -> Figure:
    """Draw a chart. The figure belongs to no window: `figure.savefig("ios.pdf")` writes it.

    >>> plot(inspection.chart("ios")).savefig("ios.pdf")
    """
    require("matplotlib", "plots", "drawing figures")
    from matplotlib.figure import Figure

    bars = chart.kind == "bars"
    height = 1.2 + 0.22 * len(chart.series) * len(chart.series[0].x) if bars else 3.6
    figure = Figure(figsize=(6.4, height), layout="constrained")
    axes = figure.subplots()
    for number, (place, of) in enumerate(zip(chart.places(), chart.series, strict=True)):
        colour = COLOURS[place % len(COLOURS)]
        if bars:
            size = 0.8 / len(chart.series)
            at = [row + (number - (len(chart.series) - 1) / 2) * size for row in range(len(of.x))]
            widths = [value or 0 for value in of.y]
            drawn = axes.barh(
                at, widths, size * 0.92, label=of.name, color=colour, hatch=HATCHES[place % 4], edgecolor="white"
            )
            axes.bar_label(drawn, ["" if y is None else format_figure(y, chart.y.unit) for y in of.y], padding=3)
        else:
            axes.plot(of.x, of.y, label=of.name, color=colour, linestyle=DASHES[place % 4], markevery=list(of.marks), marker="o" if of.marks else "")  # fmt: skip
    if bars:
        axes.set_yticks(range(len(chart.series[0].x)), [str(group) for group in chart.series[0].x])
        axes.invert_yaxis()
        axes.margins(x=0.12)
        axes.set_xlabel(chart.y.label)
        _percents(axes.xaxis, chart.y)
    else:
        axes.set(xlabel=chart.x.label, ylabel=chart.y.label)
        axes.set(xscale="log" if chart.x.log else "linear", yscale="log" if chart.y.log else "linear")
        axes.grid(alpha=0.4)
        _percents(axes.yaxis, chart.y)
    axes.set_title(chart.title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    if len(chart.series) > 1:
        axes.legend(frameon=False)
    return figure


def _percents(axis: object, of: Axis) -> None:
    if of.unit == "share":
        axis.set_major_formatter(lambda value, place: format_figure(value, "share"))  # type: ignore[attr-defined]
