"""The pictures: matplotlib drawings as SVG with CSS variables as colours, so one picture fits light and dark pages.

Each function draws one or more tokenizers, the first in the strongest colour. Lines also differ in their dashes and bars
in their hatching. The colours are Okabe and Ito's, which people with colour blindness can distinguish.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import require
from ..tokenizer import Tokenizer
from .junk import Swallowed
from .usage import Usage, ordinary_tokens

# The colours that matplotlib draws with, and the CSS variables that replace them.
COLOURS = {
    "#010101": "var(--ink)",
    "#020202": "var(--soft)",
    "#030303": "var(--line)",
    "#040404": "var(--page)",
    "#110000": "var(--series-1)",
    "#220000": "var(--series-2)",
    "#330000": "var(--series-3)",
    "#440000": "var(--series-4)",
}
INK, SOFT, LINE, PAGE, *SERIES = COLOURS
DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
MOST = 24  # bars of one series in a picture
HATCHES = ("", "////", "....", "xxxx")
STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "hatch.color": PAGE,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """One drawing. svg: for a page that defines the CSS variables. description: what it shows."""

    key: str
    title: str
    description: str
    svg: str


def _picture_of(key: str, title: str, rows: int = 1) -> Callable[..., Callable[..., Picture]]:
    """Make a function that returns a Picture from one that draws on axes, whose docstring is the caption."""

    def decorate(draw: Callable[..., None]) -> Callable[..., Picture]:
        caption = " ".join((draw.__doc__ or "").split())
        return lambda *data: _picture(key, title, caption, lambda axes: draw(axes, *data), rows=rows)

    return decorate


@_picture_of("rank_frequency", "Rank and frequency")
def rank_frequency(axes: Any, usages: Mapping[str, Usage]) -> None:
    """The share of the text's tokens that each token takes, by rank. A straight line falling by one decade a decade
    is Zipf's law; a cliff at the right end is the part of the vocabulary that is hardly used.
    """
    for name, usage, style in zip(usages, usages.values(), _lines(), strict=False):
        used = np.sort(usage.by_id[usage.by_id > 0])[::-1].astype(np.float64) / usage.tokens
        at = np.unique(np.geomspace(1, max(1, len(used)), 400).astype(np.int64))[: len(used)]
        axes.plot(at, used[at - 1], label=name, **style)
    axes.set(xscale="log", yscale="log", xlabel="rank of the token by use", ylabel="share of all tokens")
    axes.xaxis.set_major_formatter(_thousands)
    axes.yaxis.set_major_formatter(_percent)
    _legend(axes, len(usages))


@_picture_of("sizes", "Bytes per token by vocabulary size")
def density_by_size(axes: Any, densities: Mapping[int, float]) -> None:
    """How many bytes a token holds at each vocabulary size. The line bends where a doubling begins to gain less."""
    axes.plot(list(densities), list(densities.values()), marker="o", **_lines()[0])
    axes.set(xscale="log", xlabel="vocabulary size", ylabel="bytes per token")
    axes.set_xticks(list(densities), [f"{size:,}" for size in densities])
    axes.minorticks_off()


@_picture_of("token_lengths", "Token length")
def token_lengths(axes: Any, tokenizers: Mapping[str, Tokenizer], usages: Mapping[str, Usage]) -> None:
    """The lengths of the tokens in the vocabulary, each counted once, and in the text, each as often as used."""
    top = 20
    for name, tok, style in zip(tokenizers, tokenizers.values(), _lines(), strict=False):
        ids = list(ordinary_tokens(tok))
        lengths = np.minimum([len(token) for token in ordinary_tokens(tok).values()], top)
        weights = [("vocabulary", np.ones(len(ids)))]
        if name in usages:
            weights.append(("text", usages[name].by_id[ids].astype(np.float64)))
        for place, (of, weight) in enumerate(weights):
            share = np.bincount(lengths, weight, top + 1)[1:] / max(1.0, weight.sum())
            label = of if len(tokenizers) == 1 else f"{name}, {of}"
            line = _lines()[place] if len(tokenizers) == 1 else style | {"alpha": 1.0 if place == 0 else 0.5}
            axes.plot(range(1, top + 1), share, marker="o", markersize=3.5, label=label, **line)
    axes.set(xlabel="bytes of the token", ylabel="share of tokens", ylim=(0, None), xlim=(0.5, top + 0.5))
    axes.set_xticks([1, 5, 10, 15, top], ["1", "5", "10", "15", f"{top}+"])
    axes.yaxis.set_major_formatter(_percent)
    axes.legend()


@_picture_of("ios", "Distribution of IoS")
def ios_distribution(axes: Any, swallowed: Mapping[str, Sequence[Swallowed]], sizes: Mapping[str, int]) -> None:
    """How much of the vocabulary a threshold would call junk: tokens that lost at least that share of their
    occurrences to one merge.
    """
    thresholds = np.linspace(0.3, 1, 141)
    for name, style in zip(swallowed, _lines(), strict=False):
        values = np.sort([token.ios for token in swallowed[name]])
        reached = len(values) - np.searchsorted(values, thresholds - 1e-12)
        axes.plot(thresholds, reached / max(1, sizes[name]), label=name, **style)
        for threshold in (0.6, 0.7, 0.8, 0.9):
            share = reached[int(np.searchsorted(thresholds, threshold - 1e-9))] / max(1, sizes[name])
            axes.plot([threshold], [share], "o", color=style["color"], markersize=5)
            if len(swallowed) == 1:
                axes.annotate(f"{100 * share:.1f} %", (threshold, share), (4, 6), textcoords="offset points")
    axes.set(xlabel="threshold T", ylabel="share with IoS ≥ T", xlim=(0.3, 1.0), ylim=(0, None))
    axes.yaxis.set_major_formatter(_percent)
    _legend(axes, len(swallowed))


def bars(key: str, title: str, what: str, figures: Mapping[str, Mapping[str, float | None]], note: str) -> Picture:
    """A figure for each tokenizer and domain, language or script, as bars. `what` is the name of the figure."""
    known = dict.fromkeys(group for of in figures.values() for group, value in of.items() if value is not None)
    groups = list(known)[:MOST]

    def draw(axes: Any) -> None:
        height = 0.8 / max(1, len(figures))
        at = np.arange(len(groups), dtype=np.float64)
        for place, (name, of) in enumerate(figures.items()):
            values = [of.get(group) or 0 for group in groups]
            look = {"color": SERIES[place % 4], "hatch": HATCHES[place % 4], "edgecolor": PAGE, "linewidth": 0}
            drawn = axes.barh(at + (place - (len(figures) - 1) / 2) * height, values, height * 0.92, label=name, **look)
            axes.bar_label(drawn, [f"{value:.2f}" if value else "" for value in values], padding=3, fontsize=10)
        axes.set_yticks(at, groups)
        axes.set_ylim(len(groups) - 0.5, -0.5)  # the first on top
        axes.grid(axis="y", visible=False)
        axes.set(xlabel=what)
        axes.margins(x=0.12)
        axes.set_xlim(left=0)
        _legend(axes, len(figures))

    return _picture(key, title, note, draw, 1.0 + len(groups) * (0.1 + 0.22 * len(figures)))


@_picture_of("usage_by_id", "Usage by id", rows=2)
def usage_by_id(axes: Any, tokenizers: Mapping[str, Tokenizer], usages: Mapping[str, Usage]) -> None:
    """By id, in equal steps: how often a token is used on average, and what share is never used. Ids follow the
    order of training, so the curve of a vocabulary that fits the text falls smoothly.
    """
    used_axes, unused_axes = axes
    for name, style in zip(tokenizers, _lines(), strict=False):
        ids = np.array(list(ordinary_tokens(tokenizers[name])), np.int64)
        by_id = usages[name].by_id[ids].astype(np.float64)
        edges = np.unique(np.linspace(0, len(ids), min(128, max(1, len(ids) // 64)) + 1).astype(np.int64))
        if len(edges) < 2:
            continue
        middle = (ids[edges[:-1]] + ids[edges[1:] - 1]) / 2
        sizes = np.diff(edges)
        uses = np.add.reduceat(by_id, edges[:-1]) / sizes
        none = np.add.reduceat((by_id == 0).astype(np.float64), edges[:-1]) / sizes
        used_axes.plot(middle, np.where(uses > 0, uses, np.nan), label=name, drawstyle="steps-mid", **style)
        unused_axes.plot(middle, none, drawstyle="steps-mid", **style)
    used_axes.set(yscale="log", ylabel="mean uses")
    used_axes.yaxis.set_major_formatter(_thousands)
    unused_axes.set(xlabel="id of the token", ylabel="never used", ylim=(0, 1))
    unused_axes.yaxis.set_major_formatter(_percent)
    unused_axes.xaxis.set_major_formatter(_thousands)
    _legend(used_axes, len(tokenizers))


def _lines() -> list[dict[str, Any]]:
    return [{"color": colour, "linestyle": dash} for colour, dash in zip(SERIES, DASHES, strict=True)]


def _legend(axes: Any, series: int = 2) -> None:
    """A legend above the drawing, unless there is only one series."""
    if series > 1:
        handles, labels = axes.get_legend_handles_labels()
        ncols = len(labels) if sum(map(len, labels)) <= 40 else 2
        axes.figure.legend(handles, labels, loc="outside upper left", ncols=ncols, fontsize=10)


def _percent(value: float, place: int) -> str:
    return f"{100 * value:.8f}".rstrip("0").rstrip(".") + " %"


def _thousands(value: float, place: int) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _picture(
    key: str, title: str, description: str, draw: Callable[[Any], None], height: float = 3.4, rows: int = 1
) -> Picture:
    matplotlib = require("matplotlib", "plots", "drawing pictures")
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context({**STYLE, "svg.hashsalt": key}):
        figure = Figure(figsize=(6.0, height), layout="constrained")
        FigureCanvasSVG(figure)
        figure.patch.set_visible(False)
        axes = figure.subplots(rows, 1, sharex=True)
        for each in axes if rows > 1 else [axes]:
            each.patch.set_visible(False)
        draw(axes)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return Picture(key, title, description, _inline(out.getvalue(), key, title))


def _inline(svg: str, key: str, title: str) -> str:
    """The drawing for use inside a page: themed colours, the font of the page, unique ids."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    head = rf'<svg viewBox="\1" role="img" aria-label="{title}">'
    svg = re.sub(r'<svg [^>]*?viewBox="([^"]*)"[^>]*>', head, svg, count=1)
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    for colour, variable in COLOURS.items():
        svg = svg.replace(colour, variable)
    svg = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", svg)  # the notation varies with the version
    svg = re.sub(r"font-family: [^;\"]*;? ?", "", svg)
    used = set(re.findall(r"#([\w.-]+)[\")]", svg))
    svg = re.sub(r' id="([^"]*)"', lambda match: f' id="{key}-{match[1]}"' if match[1] in used else "", svg)
    svg = re.sub(r"#([\w.-]+)([\")])", rf"#{key}-\1\2", svg)
    return re.sub(r"\n\s*", "\n", svg).strip()
