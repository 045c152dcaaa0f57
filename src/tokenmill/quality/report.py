"""One self-contained HTML page: figures, pictures and sortable tables. It loads nothing from a network.

Everything from a vocabulary or a file name passes through `html.escape`. A Content-Security-Policy in the page allows its
one script, by hash, and no requests.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from itertools import islice
from typing import Any

from ..errors import require
from ..jobs.outputs import atomic_file, refuse_existing
from ..tokenizer.display import visible
from .comparison import Comparison
from .inspection import Inspection
from .judgement import Judgement
from .plots import Picture, bars, density_by_size, ios_distribution, rank_frequency, token_lengths, usage_by_id
from .sizes import Sizes
from .tables import NUMERIC, Column, Table, Token, cell_text
from .usage import ordinary_tokens

Section = tuple[str, str, Sequence[Picture | Table]]  # title, introduction, content
LONG = 20  # a table with more rows scrolls and can be searched
MOST_SERIES = 4  # lines that can be distinguished in one picture


def require_plots() -> None:
    """Raise MissingExtraError now, not after an hour of counting, if pictures cannot be drawn."""
    require("matplotlib", "plots", "drawing pictures")


def write_report(
    found: Inspection | Comparison | Sizes,
    path: str | os.PathLike[str],
    top: int | None = 200,
    *,
    overwrite: bool = False,
) -> None:
    """Write the page for `found` to `path`; lists are cut to `top` rows. An existing file is an OutputError."""
    refuse_existing(path, overwrite=overwrite)
    if isinstance(found, Sizes):
        page = _page(
            found.title(), found.note, [], [("Sizes", "", [density_by_size(found.bytes_per_token()), *found.tables])]
        )
    else:
        page = render_inspection(found, top) if isinstance(found, Inspection) else render_comparison(found, top)
    with atomic_file(path, "w") as file:
        file.write(page)


def render_inspection(found: Inspection, top: int | None = 200) -> str:
    """The page for one tokenizer."""
    tables = {table.key: table.head(top) for table in found.tables}
    judged = found.judgement
    pictures = _pictures({found.name: judged}) if judged else [token_lengths({found.name: found.tok}, {})]
    contents: list[tuple[str, str, Sequence[str]]] = [
        ("By domain and script", "", ("domains", "baseline", "scripts")),
        (
            "Junk",
            "Tokens that were frequent during training, then became part of a longer token, and hardly occur alone.",
            ("thresholds", "junk"),
        ),
        (
            "Tokens that cannot be reached, or only in part",
            "These follow from the vocabulary and its split pattern, without a text.",
            ("unreachable", "unbuilt", "partial"),
        ),
        ("Doubles", "", [key for key in tables if key.startswith("doubles")]),
        ("Unused and rare tokens", "", ("unused", "rare", "worth_replacing", "under_trained")),
        ("Tokens worth a look", "", ("longest", "repeated", "white_space")),
    ]
    sections: list[Section] = [
        ("Overview", "", [tables[key] for key in ("vocabulary", "text") if key in tables]),
        ("Pictures", "", pictures),
    ]
    sections += [(title, lead, [tables[key] for key in keys if key in tables]) for title, lead, keys in contents]
    lead = f"Judged on {', '.join(judged.usages)}." if judged else "Judged without a text, from the vocabulary alone."
    return _page(found.title(), lead, _headlines(found), [section for section in sections if section[2]])


def render_comparison(found: Comparison, top: int | None = 200) -> str:
    """The page for several tokenizers. Pictures show the first four."""
    tables = {table.key: table.head(top) for table in found.tables}
    shown = dict(islice(found.judgements.items(), MOST_SERIES))
    introduction = f"Of the first {MOST_SERIES} tokenizers." if len(shown) < len(found.judgements) else ""
    sections: list[Section] = [
        ("Side by side", "", [tables["compression"], tables["vocabularies"]]),
        ("Pictures", introduction, _pictures(shown)),
        ("By domain and script", "", [tables[key] for key in ("domain_bytes", "domain_fertility", "scripts")]),
        ("The vocabularies", "", [tables["overlap"]]),
    ]
    domains = ", ".join(next(iter(found.judgements.values())).usages)
    return _page(found.title(), f"Judged on {domains}. Figures are relative to the first.", [], sections)


def _pictures(judged: Mapping[str, Judgement]) -> list[Picture]:
    """The pictures of tokenizers on a text; fertility only if the words are known, by domain."""
    toks = {name: of.tok for name, of in judged.items()}
    usages = {name: of.usage for name, of in judged.items()}
    scripts: Any = {name: of.scripts.pairs("script", "characters per token") for name, of in judged.items()}
    note = "How many characters a token holds, by the script of the pretoken's first letter. More is better."
    pictures = [
        rank_frequency(usages),
        usage_by_id(toks, usages),
        token_lengths(toks, usages),
        ios_distribution({name: of.swallowed for name, of in judged.items()}, {n: of.size for n, of in judged.items()}),
        bars("by_script", "Characters per token, by script", "characters per token", scripts, note),
    ]
    first = next(iter(judged.values()))
    if first.usage.words is not None and (len(judged) > 1 or len(first.usages) > 1):
        note = "Tokens per word by domain, a word being a run of anything but white space. Fewer is better."
        fertility = {name: of.fertility() for name, of in judged.items()}
        pictures.insert(0, bars("fertility", "Fertility", "tokens per word", fertility, note))
    return pictures


def _headlines(found: Inspection) -> list[tuple[str, str]]:
    """The figures at the top of the page."""
    values = {"ordinary tokens": f"{len(ordinary_tokens(found.tok)):,}"}
    if found.judgement is not None:
        text = dict(found.table("text").rows)
        values |= {name: str(text[name]) for name in ("bytes per token", "tokens per word")}
        values["of the vocabulary used"] = str(text["vocabulary used"])
        values["tokens with IoS ≥ 0.9"] = f"{sum(token.ios >= 0.9 for token in found.judgement.swallowed):,}"
    values["tokens that no text produces"] = f"{len(found.table('unreachable').rows):,}"
    values["tokens that are not whole UTF-8"] = f"{len(found.table('partial').rows):,}"
    return [(name, value) for name, value in values.items() if value != "unknown"]


def _page(title: str, lead: str, figures: Sequence[tuple[str, str]], sections: Sequence[Section]) -> str:
    from .. import __version__

    style, script = _asset("report.css"), _asset("report.js")
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{script_hash}'; base-uri 'none'; form-action 'none'"
    links, parts = [], []
    for number, (heading, introduction, content) in enumerate(sections, 1):
        links.append(f'<li><a href="#s{number}">{escape(heading)}</a></li>')
        parts.append(f'<section id="s{number}" aria-labelledby="h{number}"><h2 id="h{number}">{escape(heading)}</h2>')
        if introduction:
            parts.append(f"<p>{escape(introduction)}</p>")
        pictures = [item for item in content if isinstance(item, Picture)]
        if pictures:
            parts.append('<div class="pictures">' + "".join(map(_figure, pictures)) + "</div>")
        tables = [item for item in content if isinstance(item, Table)]
        if any(_is_overview(table) for table in tables):
            parts.append('<div class="overview">' + "".join(map(_overview, filter(_is_overview, tables))) + "</div>")
        parts += [_table(table) for table in tables if not _is_overview(table)]
        parts.append("</section>")
    strip = "".join(f"<div><dt>{escape(label)}</dt><dd>{escape(value)}</dd></div>" for label, value in figures)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the report</a>
<div class="layout">
<header>
<h1>{escape(title)}</h1>
<p class="lead">{escape(lead)}</p>
{f'<dl class="figures">{strip}</dl>' if strip else ""}
</header>
<div class="columns">
<nav aria-labelledby="contents"><h2 id="contents">Contents</h2><ol>{"".join(links)}</ol></nav>
<main id="main">
{"".join(parts)}
</main>
</div>
<footer>Made by tokenmill {escape(__version__)}. In tokens, <span class="token"><span class="space">·</span></span> is a space,
<span class="token"><span class="space">⇥</span></span> a tab, <span class="token"><span class="space">⏎</span></span> a line feed,
<span class="token"><span class="escape">FF</span></span> a byte that is not a character; the small number after a token is its id.
Click a column's heading to sort the table.</footer>
</div>
<script>{script}</script>
</body>
</html>
"""


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _figure(picture: Picture) -> str:
    return (
        f"<figure><h3>{escape(picture.title)}</h3>{picture.svg}"
        f"<figcaption>{escape(picture.description)}</figcaption></figure>"
    )


def _is_overview(table: Table) -> bool:
    return any(column.kind == "figure" for column in table.columns)


def _overview(table: Table) -> str:
    """A table of names and values, which cannot be sorted."""
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(str(value))}</td></tr>' for name, value in table.rows
    )
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    return f'<div><h3 id="{table.key}">{escape(table.title)}</h3><table class="values"><tbody>{rows}</tbody></table>{note}</div>'


def _table(table: Table) -> str:
    out = [f'<h3 id="{table.key}">{escape(table.title)}</h3>']
    if table.note:
        out.append(f'<p class="note">{escape(table.note)}</p>')
    if not table.rows:
        return "".join([*out, '<p class="empty">None.</p>'])
    if table.total is not None and table.total > len(table.rows):
        out.append(f'<p class="cut">The first {len(table.rows):,} of {table.total:,}.</p>')
    long = len(table.rows) > LONG
    if long:
        out.append(
            f'<label class="filter" hidden>Search <input type="search" data-table="t-{table.key}"><output></output></label>'
        )
    box = f'<div class="scroll{" long" if long else ""}" tabindex="0" role="region" aria-labelledby="{table.key}">'
    sortable = ' class="sortable"' if len(table.rows) > 1 else ""
    out.append(f'{box}<table id="t-{table.key}"{sortable}><thead><tr>')
    out += map(_head, table.columns)
    out.append("</tr></thead><tbody>")
    for row in table.rows:
        find = f' data-find="{escape(" ".join(_found(value) for value in row))}"' if long else ""
        out.append(f"<tr{find}>" + "".join(map(_cell, row, table.columns)) + "</tr>")
    out.append("</tbody></table></div>")
    return "".join(out)


def _head(column: Column) -> str:
    kind = ' class="num"' if column.kind in NUMERIC else ""
    help = f' title="{escape(column.help)}"' if column.help else ""
    # A file name may be wrapped at a sign between letters.
    name = re.sub(r"(?<=\w)([._/-])(?=[^\W\d])", r"\1<wbr>", escape(column.name))
    return f'<th scope="col"{kind}{help}>{name}</th>'


def _cell(value: object, column: Column) -> str:
    if isinstance(value, Token):
        return f'<td class="text" data-value="{value.id:010d}">{_token(value)}</td>'
    if isinstance(value, tuple):
        return '<td class="text">' + "<wbr>".join(map(_token, value)) + "</td>"
    if column.kind == "sample" and isinstance(value, str):
        return f'<td class="text"><span class="token">{_signs(value.encode())}</span></td>'
    if column.kind in NUMERIC:
        return f'<td class="num" data-value="{"" if value is None else value}">{escape(cell_text(value, column))}</td>'
    return f'<td class="text">{escape(cell_text(value, column))}</td>'


def _token(token: Token) -> str:
    return f'<span class="token">{_signs(token.content)}</span><span class="id">{token.id}</span>'


def _signs(content: bytes) -> str:
    return "".join(
        escape(text) if kind == "text" else f'<span class="{kind}">{escape(text)}</span>'
        for kind, text in visible(content)
    )


def _found(value: object) -> str:
    """The text of a cell that a search matches."""
    if isinstance(value, Token):
        return f"{value.content.decode('utf-8', 'replace')} {value.id}"
    if isinstance(value, tuple):
        return " ".join(map(_found, value))
    return "" if value is None else str(value)
