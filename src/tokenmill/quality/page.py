"""Renders a report as one self-contained HTML page: verdict, charts and sortable tables. It loads nothing from a network.

All text from a vocabulary or a file name passes through `html.escape`. The Content-Security-Policy of the page allows its
one script, by hash, and no requests.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from itertools import groupby
from string import Template

from ..tokenizer.display import visible
from .charts import Chart, colors, draw
from .content import ReportContent
from .references import asset
from .tables import NUMERIC, Column, Table, Token, cell_text

LONG = 20  # a table with more rows scrolls and can be searched
SHORT = 20  # characters; a name up to this is never wrapped
UNBROKEN = "≥\u00a0"  # no line ends inside a comparison
LABEL = 26  # characters; the name of a value up to this is wrapped only on narrow screens
MOST_SERIES = 4  # lines that can be distinguished in one chart

# The sections of a page: a heading, an introduction, and the keys of the tables. "superwords" includes "superwords_gpt2" and the
# like. Sections without tables are not shown.
SECTIONS: Sequence[tuple[str, str, Sequence[str]]] = (
    ("Overview", "", ("vocabulary", "text")),
    ("Side by side", "", ("compression", "differences", "vocabularies")),
    ("Compared with others", "", ("references",)),
    ("By source and script", "", ("domain_bytes", "domain_fertility", "domains", "languages", "scripts")),
    (
        "Junk",
        "Tokens that were frequent during training, then became part of a longer token, and hardly occur alone.",
        ("thresholds", "junk"),
    ),
    (
        "Tokens that cannot be reached, or only in part",
        "These follow from the vocabulary and its split pattern, without a text.",
        ("unreachable", "partial"),
    ),
    ("Unused and rare tokens", "", ("unused", "rare", "worth_replacing")),
    ("The vocabularies", "", ("overlap", "exchanged")),
    ("Superwords", "", ("superwords",)),
    ("Training", "", ("removed",)),
    ("Tokens worth a look", "", ("longest",)),
    ("Sizes", "", ("sizes",)),
)

# The page explains these terms where they first occur in a heading or a finding, and at its end.
GLOSSARY = {
    "IoS": "Intersection over self: of all occurrences of a token just before a merge, the share that the merge takes. 1 means "
    "that none is left. (Chizhov et al. 2024)",
    "Gini coefficient": "Inequality of the figures: 0 if all are equal, near 1 if one has everything. Here of the tokens that "
    "languages need. (arXiv 2508.04796)",
    "Rényi efficiency": "High if no token takes much more than its share of the text. It can be gamed: compare it only between "
    "tokenizers of one kind and size. (Zouhar et al. 2023)",
    "fertility": "Tokens per word, a word being a run of anything but white space. Lower means fewer tokens.",
    "pretoken": "A part into which the split pattern cuts text before merges; plain BPE never merges across two.",
    "split pattern": "The regular expression that cuts text into pretokens before BPE.",
    "merge": "Joining two neighbouring tokens into one, a step of BPE; its rank is its place in the order.",
    "bytes per token": "Bytes of text in UTF-8 for each token. Higher means fewer tokens for a text.",
    "bootstrap": "Drawing documents with replacement, again and again, to see how much a figure depends on which documents the "
    "text happens to contain. 95% of the draws lie in the interval. (Efron 1979)",
    "superword": "A token that spans several words.",
    "word-initial": "A token that starts with white space and continues with something else.",
    "UTF-8": "The encoding of text as bytes; a character takes one to four. A token that ends inside a character is not text.",
}
_TERM = re.compile(r"\b(" + "|".join(sorted(map(re.escape, GLOSSARY), key=len, reverse=True)) + r")s?\b", re.IGNORECASE)
_EXPLANATIONS = {term.lower(): text for term, text in GLOSSARY.items()}


def render(report: ReportContent, top: int | None) -> str:
    """Return the page, lists cut to `top` rows."""
    tables = [table.head(top) for table in report.tables]
    charts = f'<div class="charts">{"".join(map(_chart, report.charts))}</div>' if report.charts else ""
    sections = [("Verdict", _verdict(report)), ("Charts", charts)]
    for heading, lead, keys in SECTIONS:
        if shown := [table for key in keys for table in tables if table.key == key or table.key.startswith(f"{key}_")]:
            sections.append((heading, (f"<p>{_explained(lead)}</p>" if lead else "") + _tables(shown)))
    sections.append(("Provenance", _tables(report.provenance.tables())))
    sections.append(("Terms", _terms(_tiles(report) + "".join(content for _, content in sections))))
    links, main = [], []
    for number, (heading, content) in enumerate((section for section in sections if section[1]), 1):
        links.append(f'<li><a href="#s{number}">{escape(heading)}</a></li>')
        title = f'<h2 id="h{number}">{escape(heading)}</h2>'
        main.append(f'<section id="s{number}" aria-labelledby="h{number}">{title}{content}</section>')
    script = asset("report.js")
    return Template(asset("report.html")).substitute(
        policy=f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed(script)}; base-uri 'none'; form-action 'none'",
        title=escape(report.title),
        style=asset("report.css"),
        heading=" ".join(f"<span>{_breakable(word)}</span>" for word in report.title.split(" ")),
        lead=escape(report.lead),
        tiles=_tiles(report),
        links="".join(links),
        main="".join(main),
        version=escape(report.provenance.version),
        date=escape(report.provenance.date),
        script=script,
    )


def allowed(text: str) -> str:
    """Return the source expression that allows an inline script or style sheet in a policy: its hash."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _terms(content: str) -> str:
    """Return the list of terms that occur in the content of a page, or in the explanations of such terms."""
    shown: set[str] = set()
    terms = {match[1].lower() for match in _TERM.finditer(re.sub("<[^>]*>", " ", content))}
    while terms - shown:
        shown |= terms
        terms = {match[1].lower() for term in shown for match in _TERM.finditer(_EXPLANATIONS[term])}
    listed = ((escape(term), escape(text)) for term, text in GLOSSARY.items() if term.lower() in shown)
    rows = "".join(f"<dt>{term}</dt><dd>{text}</dd>" for term, text in listed)
    return f'<dl class="terms">{rows}</dl>'


def _explained(text: str) -> str:
    """Return the text as HTML, with the explanation of each term at its first occurrence."""
    seen: set[str] = set()

    def explain(match: re.Match[str]) -> str:
        term = match[1].lower()
        if term in seen:
            return match[0]
        seen.add(term)
        return f'<abbr tabindex="0" data-tip="{escape(_EXPLANATIONS[term])}">{match[0]}</abbr>'

    parts = escape(text, quote=False).split("`")  # every other one is code
    # A command may wrap between its words, and not after the hyphens of an option.
    parts[1::2] = (re.sub(r"--\S+", r'<span class="short">\g<0></span>', code) for code in parts[1::2])
    marked = (f"<code>{part}</code>" if i % 2 else _TERM.sub(explain, part) for i, part in enumerate(parts))
    return "".join(marked).replace("≥ ", UNBROKEN)


def _breakable(name: str) -> str:
    """Allow line breaks in a long name, after signs between letters only."""
    if len(name) <= SHORT:
        return escape(name)
    return re.sub(r"(?<=\w)([._/-])(?=[^\W\d])", r"\1<wbr>", escape(name))


def _tiles(report: ReportContent) -> str:
    tiles = []
    for label, figures in report.tiles:
        several = len(figures) > 1
        rows = "".join(
            f"<dd{' class=best' if best and several else ''}>{f'<span>{_breakable(name)}</span> ' if several else ''}"
            f"<strong>{escape(figure)}</strong>{'<em>best</em>' if best and several else ''}</dd>"
            for name, figure, best in figures
        )
        tiles.append(f"<div><dt>{_explained(label)}</dt>{rows}</div>")
    if not tiles:
        return ""
    return f'<dl class="figures{" several" if any("<span>" in tile for tile in tiles) else ""}">{"".join(tiles)}</dl>'


def _verdict(report: ReportContent) -> str:
    items = "".join(
        f'<li class="{finding.level}"><span class="level">{finding.level.capitalize()}</span>'
        f'<div><p class="statement">{_explained(finding.statement)}</p><p>{_explained(finding.meaning)} '
        f"{(_explained if finding.level in ('good', 'ungraded') else _strong)(finding.advice)}</p>"
        f'<p class="threshold">Threshold: {_explained(finding.threshold)}.</p></div></li>'
        for finding in report.findings
    )
    summary = f"<p>{_strong(report.summary)}</p>" if report.summary else ""
    return summary + (f'<ul class="verdict">{items}</ul>' if items else "")


def _strong(text: str) -> str:
    return f"<strong>{_explained(text)}</strong>" if text else ""


def _chart(chart: Chart) -> str:
    drawn = [series for color, series in zip(colors(chart), chart.series, strict=True) if color < MOST_SERIES]
    shown = replace(chart, series=drawn) if drawn else replace(chart, series=chart.series[:MOST_SERIES], tokenizers=())
    bar, line = '<rect class="bar s{}" width="24" height="10"/>', '<path class="line s{}" d="M0 5H24"/>'
    key = bar if chart.kind == "bars" else line
    legend = "".join(
        f'<li><svg viewBox="0 0 24 10" aria-hidden="true" class="{chart.kind}">{key.format(color + 1)}</svg>'
        f"{_breakable(series.name)}</li>"
        for color, series in zip(colors(shown), shown.series, strict=True)
    )
    legend = f'<ul class="legend">{legend}</ul>' if len(shown.series) > 1 else ""
    more = f" Only the first {MOST_SERIES} tokenizers are drawn." if len(shown.series) < len(chart.series) else ""
    data = "\n".join(
        "\t".join(f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row) for row in chart.rows()
    )
    return (
        f'<figure id="c-{chart.key}"><h3>{escape(chart.title)}</h3>{legend}{draw(shown)}'
        f"<figcaption>{_explained(chart.note + more)}</figcaption>"
        f'<details><summary>Data</summary><button type="button" hidden>Copy</button><pre tabindex="0">{escape(data)}</pre></details>'
        "</figure>"
    )


def _tables(tables: list[Table]) -> str:
    overviews = "".join(_overview(table) for table in tables if table.is_overview)
    others = "".join(_table(table) for table in tables if not table.is_overview)
    return (f'<div class="overview">{overviews}</div>' if overviews else "") + others


def _overview(table: Table) -> str:
    """Return a table of names and values, which cannot be sorted."""
    rows = "".join(
        f'<tr><th scope="row"{" class=short" if len(str(name)) <= LABEL else ""}>{_explained(str(name))}</th><td>{escape(str(value))}</td></tr>'
        for name, value in table.rows
    )
    return f'<div>{_title(table)}<table class="values"><tbody>{rows}</tbody></table>{_note(table)}</div>'


def _title(table: Table) -> str:
    return f'<h3 id="{escape(table.key)}">{_explained(table.title)}</h3>'


def _note(table: Table) -> str:
    return f'<p class="note">{_explained(table.note)}</p>' if table.note else ""


def _table(table: Table) -> str:
    key, above, scroll = escape(table.key), _title(table) + _note(table), "scroll"
    if not table.rows:
        return above + '<p class="empty">None.</p>'
    if table.shown:
        above += f'<p class="cut">The {table.shown}.</p>'
    if len(table.rows) > LONG:
        scroll = "scroll long"
        above += (
            f'<label class="filter" hidden>Search <input type="search" data-table="t-{key}"><output></output></label>'
        )
    sortable = ' class="sortable"' if len(table.rows) > 1 else ""
    columns = [i for i in range(len(table.columns)) if any(row[i] not in (None, "") for row in table.rows)]
    best, body = table.best(), []
    for number, row in enumerate(table.rows):
        cells = (_cell(row[i], table.columns[i], (number, i) in best) for i in columns)
        body.append(f"<tr>{''.join(cells)}</tr>")
    heads = "".join(_head(table.columns[i]) for i in columns)
    return (
        f'{above}<div class="{scroll}" tabindex="0" role="region" aria-labelledby="{key}"><table id="t-{key}"{sortable}>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _head(column: Column) -> str:
    short = len(column.name) <= SHORT and " " not in column.name
    classes = " ".join(["num"] * (column.kind in NUMERIC) + ["short"] * short)
    class_attribute = f' class="{classes}"' if classes else ""
    help = column.help or next((_EXPLANATIONS[match[1].lower()] for match in _TERM.finditer(column.name)), "")
    tip = f' data-tip="{escape(help)}"' if help else ""
    return f'<th scope="col"{class_attribute}{tip}>{_breakable(column.name).replace("≥ ", UNBROKEN)}</th>'


def _cell(value: object, column: Column, best: bool) -> str:
    if isinstance(value, Token):
        token = f'<span class="token">{_signs(value.content)}</span><span class="id">{value.id}</span>'
        return f'<td class="text" data-value="{value.id:010d}">{token}</td>'
    if column.kind == "sample" and isinstance(value, str):
        return f'<td class="text sample"><span class="token">{_signs(value.encode())}</span></td>'
    if column.kind in NUMERIC:
        classes = "num best" if best else "num"
        if value is None:
            return f'<td class="{classes}" data-value="">–</td>'
        return f'<td class="{classes}" data-value="{value}">{escape(cell_text(value, column))}</td>'
    shown = cell_text(value, column)
    return f'<td class="text{" short" if len(shown) <= SHORT else ""}">{_breakable(shown)}</td>'


def _signs(content: bytes) -> str:
    html = []
    for kind, runs in groupby(visible(content), lambda run: run[0]):
        texts = [escape(text) for _, text in runs]
        if kind == "escape":
            html += [f'<span class="escape">{text}</span>' for text in texts]
        else:
            html.append("".join(texts) if kind == "text" else f'<span class="space">{"".join(texts)}</span>')
    return "".join(html)
