"""Evaluate tokenizers: `inspect` one, `compare` several on the same text, `measure_sizes` of one training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from math import log2
from typing import Annotated, Any

import numpy as np

from ..counting import WordCounts
from ..errors import OptionName, UsageError, plural, suggests_options
from ..jobs.progress import Progress, drawn, part_of
from ..options import Option, Options, refuse_given
from ..sources.blocks import ReadOptions
from ..tokenizer import Tokenizer
from ..tokenizer.batches import gc_paused
from . import metrics, token_lists
from .charts import Axis, Chart, Series, charts_of
from .comparing import bootstrap, compared, compared_summary, differences_table
from .content import Tile, provenance_of
from .evaluation_text import EvaluationText, Judgement, Judgements, Text, judge
from .extending import worth_table
from .metrics import Measure, languages_table
from .names import free_name, tokenizer_name
from .reachability import partial_table, reach_of_tokens, unreachable_table
from .references import JUNK, Samples, on_sample, references_table
from .replay import THRESHOLDS, junk_table, thresholds_table
from .reporting import Report
from .tables import Best, Column, Table, cell_text
from .token_lists import most_used_table, superwords_of
from .usage import ordinary_tokens, ratio
from .verdict import Subject, summary, verdict

LEAST_GROWTH = 1.25  # of the vocabulary; the gain of a doubling is not computed for less


@dataclass(frozen=True, kw_only=True)
class InspectionOptions(Options):
    """Options of an inspection.

    thresholds: count the tokens whose IoS reaches each of these values.
    """

    thresholds: Sequence[float] = THRESHOLDS
    junk_at: Annotated[float, Option("List tokens with an IoS of at least this.", "--threshold", min=0, max=1)] = 0.9
    rare_below: Annotated[int, Option("List tokens used fewer times than this.", min=1)] = 100
    read: ReadOptions = field(default_factory=ReadOptions)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_thresholds(self.thresholds)


def _check_thresholds(thresholds: Sequence[float]) -> None:
    for value in thresholds:
        if not 0 <= value <= 1:
            raise UsageError(OptionName("thresholds"), f" contains {value!r}; an IoS is a number from 0 to 1")


@dataclass(eq=False, kw_only=True, repr=False)
class Inspection(Report):
    """The result of `inspect`: a `Report` with the tokenizer, its name, and its judgement (None without a text)."""

    tok: Tokenizer
    name: str
    judgement: Judgement | None


@dataclass(eq=False, kw_only=True, repr=False)
class Comparison(Report):
    """The result of `compare`: a `Report` with the `Judgement` of each tokenizer by its name."""

    judgements: dict[str, Judgement]


TILES = (  # tables and columns
    ("compression", "bytes per token"),
    ("references", "Gini of 20 languages"),
    ("vocabularies", f"IoS ≥ {JUNK}"),
    ("vocabularies", "vocabulary used"),
)


@suggests_options
def inspect(
    tok: Tokenizer,
    *,
    text: Text | None = None,
    name: str | None = None,
    options: InspectionOptions = InspectionOptions(),
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Inspection:
    """Evaluate a tokenizer, by itself or on `text`: files, folders, globs, word counts, or a mapping of names to these.

    name: the tokenizer's name in the report, by default its own, or that of its file.
    options: an `InspectionOptions`: thresholds, and how text files are read.
    num_threads: the threads that count and encode (None: all cores).

    >>> inspection = inspect(tok, text="corpus/*.txt")
    >>> inspection.table("thresholds").column("tokens")
    [212, 141, 96, 51, 14]
    """
    if not isinstance(options, InspectionOptions):
        raise UsageError(f"options is {options!r}; give tokenmill.InspectionOptions(...)")
    name = name or tokenizer_name(tok.name)
    if text is None:
        refuse_given(options, "an inspection without text", num_threads=num_threads)
    domains = None if text is None else _domains(text, num_threads, options.read)
    with gc_paused(), drawn(progress) as show:
        tables = [metrics.overview_table(tok)]
        judged = usage = None
        lead = "Judged without a text, from the vocabulary alone."
        if domains is not None:
            domains.refuse_pipes([tok])
            judged = judge(tok, domains, show)
            usage = judged.usage
            sizes = f"{plural(usage.bytes, 'byte')}, {plural(usage.tokens, 'token')}"
            lead = f"Judged on {', '.join(domains.names)}: {sizes}.{_weighted(domains)}"
            tables += [metrics.text_table(judged, domains.scale), metrics.domains_table(judged)]
            tables += [languages_table({name: judged})] if domains.are_parallel else []
            tables.append(judged.scripts)
            if judged.swallowed is not None:
                tables.append(thresholds_table(judged.swallowed, judged.size, options.thresholds))
                tables.append(junk_table(tok.vocabulary, judged.swallowed, options.junk_at))
        figures = on_sample(tok, show)
        tables.append(references_table({name: figures}))
        unreachable = None
        if tok.vocabulary.library is None:  # a few texts do not show what WordPiece and Unigram cannot produce
            reach = reach_of_tokens(tok, usage, show)
            unreachable = {id for id, each in reach.items() if each.reason}
            tables += [unreachable_table(tok, reach), partial_table(tok, reach, usage)]
        if usage is not None and tok.vocabulary.alphabet == "bytes" and not tok.vocabulary.has_superwords:
            tables.append(worth_table(tok, usage))
        if tok.vocabulary.removed:
            tables.append(token_lists.removed_table(tok, usage))
        if judged is not None and usage is not None:
            tables += [token_lists.unused_table(tok, usage), token_lists.rare_table(tok, usage, options.rare_below)]
            tables += [most_used_table(name, judged)] if superwords_of(tok) else []
        tables.append(token_lists.longest_table(tok, usage))
        inspection = Inspection(
            tok=tok,
            name=name,
            judgement=judged,
            title=f"Inspection of {name}",
            lead=lead,
            about={
                "tokenizer": name,
                "fingerprint": tok.vocabulary.fingerprint(),
                "domains": domains.names if domains else [],
            },
            tables=tables,
            summary=summary(figures),
            findings=verdict(Subject(tok, figures, domains), judged, unreachable),
            charts=charts_of({name: judged} if judged else {}, {name: figures}),
            provenance=provenance_of({name: tok}, domains),
        )
        inspection.tiles = _tiles(inspection)
        return inspection


def _weighted(text: EvaluationText) -> str:
    """Return a sentence on weighted word counts; "" for text that is not weighted."""
    return f" Counts are times {text.scale:,}, the common denominator of the weights." if text.scale > 1 else ""


def _domains(text: Text, num_threads: int | None, read: ReadOptions | None) -> EvaluationText:
    domains = EvaluationText(text, num_threads, read)
    if all(isinstance(source, WordCounts) for source in domains.sources.values()):
        refuse_given(domains.read, "word counts")
    return domains


@suggests_options
def compare(
    tokenizers: Mapping[str, Tokenizer] | Sequence[Tokenizer],
    text: Text,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    read: ReadOptions | None = None,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Comparison:
    """Compare tokenizers on the same text; the first is the baseline.

    tokenizers: by name, or a sequence, which uses the tokenizers' own names.
    text: as for `inspect`. Word counts fit only tokenizers with the split pattern they were counted with.
    thresholds: count the tokens whose IoS reaches each of these values.
    read: how text files are cut into documents, and which field or column contains the text.

    >>> comparison = compare({"mine": tok, "gpt2": tokenmill.load("gpt2")}, "corpus/*.txt")
    >>> comparison.table("compression").column("bytes per token")
    [4.41, 4.05]
    """
    named = _by_name(tokenizers)
    _check_thresholds(thresholds)
    domains = _domains(text, num_threads, read)
    domains.refuse_pipes(named.values())
    with gc_paused(), drawn(progress) as show:
        judged, figures = {}, {}
        for number, (name, tok) in enumerate(named.items()):
            progress_of_tok = part_of(show, number, len(named))
            judged[name] = judge(tok, domains, progress_of_tok)
            figures[name] = on_sample(tok, progress_of_tok)
        (base, first), *others = named.items()
        sample = domains.surveyed[1]
        base_tokens = sample.tokens(first) if others else np.zeros(0, np.int64)
        differences = {name: bootstrap(sample.tokens(tok), base_tokens) for name, tok in others}
        tables = _tables(judged, figures, thresholds, domains.are_parallel)
        if others:
            tables.insert(1, differences_table(base, differences, len(sample.excerpts)))
        comparison = Comparison(
            judgements=judged,
            title=f"Comparison of {', '.join(named)}",
            lead=f"Judged on {', '.join(domains.names)}: {plural(judged[base].usage.bytes, 'byte')}.{_weighted(domains)} Relative figures compare with the first tokenizer.",
            about={"tokenizers": {name: tok.vocabulary.fingerprint() for name, tok in named.items()}},
            tables=tables,
            findings=compared(judged, figures, differences),
            summary=compared_summary(judged, figures),
            charts=charts_of(judged, figures),
            provenance=provenance_of(named, domains),
        )
        figures_of_tiles = ((comparison.table(key), heading) for key, heading in TILES)
        comparison.tiles = [
            _tile(table, heading, len(named))
            for table, heading in figures_of_tiles
            if heading in [column.name for column in table.columns]
        ]
        return comparison


@suggests_options
def report(
    tokenizers: Tokenizer | Mapping[str, Tokenizer] | Sequence[Tokenizer],
    *,
    text: Text | None = None,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Report:
    """Return a report on one tokenizer, or a comparison of several on `text`. Notebooks show it as a page.

    `inspect` and `compare` make the same reports, and accept more options.

    >>> tokenmill.report(tok, text="corpus/*.txt").save("report.html")
    """
    if isinstance(tokenizers, Tokenizer):
        return inspect(tokenizers, text=text, num_threads=num_threads, progress=progress)
    named = _by_name(tokenizers)
    if text is None:
        raise UsageError("there is no text to compare on: give text=")
    return compare(named, text, num_threads=num_threads, progress=progress)


def _by_name(tokenizers: Mapping[str, Tokenizer] | Sequence[Tokenizer]) -> dict[str, Tokenizer]:
    named = dict(tokenizers) if isinstance(tokenizers, Mapping) else {}
    for tok in () if isinstance(tokenizers, Mapping) else tokenizers:
        named[free_name(tokenizer_name(tok.name), named)] = tok
    if not named:
        raise UsageError("there is no tokenizer to compare: give at least one")
    return named


def _tables(judged: Judgements, figures: Samples, thresholds: Sequence[float], parallel: bool) -> list[Table]:
    total = next(iter(judged.values())).usage.tokens
    shorter = "tokens of the text as a share of the first tokenizer's; below 100% is shorter"
    compression = (
        Measure(Column("ordinary tokens", "count"), lambda judged: judged.size),
        Measure(Column("tokens of the text", "count"), lambda judged: judged.usage.tokens),
        Measure(Column("relative", "share", shorter, best="min"), lambda judged: ratio(judged.usage.tokens, total)),
        *metrics.DENSITY,
    )
    lost = "tokens that lost at least this share of their occurrences to one merge, so that they hardly occur alone"
    junk = [Column(f"IoS ≥ {value}", "share", lost, best="min") for value in thresholds]
    composition = (
        metrics.USED,
        *map(Measure, junk, (partial(Judgement.junk_share, ios=value) for value in thresholds)),
        Measure(Column("mean token characters", "number"), lambda judged: metrics.mean_token_characters(judged.tok)),
        Measure(Column("word-initial", "share"), lambda judged: metrics.word_initial_share(judged.tok)),
        metrics.RENYI,
    )
    composition_title = "Composition of the vocabularies"
    fertility = {name: each.fertility() for name, each in judged.items()}
    density = {name: each.density() for name, each in judged.items()}
    comparable = token_lists.with_words_as_pretokens(judged)
    scripts = {name: each.scripts.pairs("script", "bytes per token") for name, each in comparable.items()}
    note = token_lists.LEFT_OUT if len(comparable) < len(judged) else ""
    base, *others = judged
    with_superwords = {name: each for name, each in judged.items() if superwords_of(each.tok)}
    by_script = "Bytes per token, by script of the pretoken's first letter"
    return [
        metrics.measured_table("compression", "Compression", judged, compression),
        metrics.measured_table("vocabularies", composition_title, judged, composition, metrics.RENYI_CAUTION),
        references_table(figures),
        _side_by_side("domain_bytes", "Bytes per token, by source", "source", density, "max"),
        _side_by_side("domain_fertility", "Tokens per word (fertility), by source", "source", fertility, "min"),
        *([languages_table(judged)] if parallel else []),
        _side_by_side("scripts", by_script, "script", scripts, "max", note),
        _overlap(judged),
        *(token_lists.exchanged_table(base, other, judged) for other in others),
        *([token_lists.superwords_table(judged)] if with_superwords else []),
        *(most_used_table(name, each) for name, each in with_superwords.items()),
    ]


def _tiles(inspection: Inspection) -> list[Tile]:
    values = {"ordinary tokens": f"{len(ordinary_tokens(inspection.tok.vocabulary)):,}"}
    if inspection.judgement is not None:
        text = inspection.table("text").pairs("what", "value")
        values |= {name: str(text[name]) for name in ("bytes per token", "tokens per word")}
        values["of the vocabulary used"] = str(text["vocabulary used"])
        if (swallowed := inspection.judgement.swallowed) is not None:
            values[f"tokens with IoS ≥ {JUNK}"] = f"{sum(token.ios >= JUNK for token in swallowed):,}"
    lists = {"unreachable": "tokens that no text produces", "partial": "tokens that are not whole UTF-8"}
    values |= {lists[table.key]: f"{len(table.rows):,}" for table in inspection.tables if table.key in lists}
    return [(label, [("", value, False)]) for label, value in values.items() if value != "unknown"]


def _tile(table: Table, heading: str, tokenizers: int) -> Tile:
    """Return the figure of each tokenizer in a column of a table, and whether it is the best."""
    i = [column.name for column in table.columns].index(heading)
    column = replace(table.columns[i], best=table.columns[i].best or "max")
    own = Table("", "", (table.columns[0], column), [(row[0], row[i]) for row in table.rows[:tokenizers]])
    best = own.best()
    figures = [(str(name), cell_text(value, column) or "–") for name, value in own.rows]
    return heading, [(name, figure, (row, 1) in best) for row, (name, figure) in enumerate(figures)]


def _side_by_side(
    key: str, title: str, first: str, figures: Mapping[str, Mapping[Any, Any]], best: Best, note: str = ""
) -> Table:
    """A column for each name in `figures`, and a row for each figure that one of them has."""
    rows = [(row, *(column.get(row) for column in figures.values())) for row in dict.fromkeys(chain(*figures.values()))]
    columns = (Column(name, "number", digits=3, json_key=free_name(name, [first])) for name in figures)
    return Table(key, title, (Column(first), *columns), rows, note, best_in_rows=best)


def _overlap(judged: Judgements) -> Table:
    tokens = {name: set(ordinary_tokens(each.tok.vocabulary).values()) for name, each in judged.items()}
    rows = [(name, *(ratio(len(own & other), len(own)) for other in tokens.values())) for name, own in tokens.items()]
    columns = (Column(f"in {name}", "share", digits=1, json_key=f"in_{name}_share") for name in judged)
    note = "The share of the row's tokens that the column's vocabulary also has."
    return Table("overlap", "Tokens in common", (Column("tokens of"), *columns), rows, note)


def measure_sizes(
    tokenizers: Mapping[int, Tokenizer], text: EvaluationText, note: str, progress: Progress | None = None
) -> Report:
    """Return the bytes per token of `tokenizers` by vocabulary size, with their gains over the size before. note: on the text.

    The gain of a doubling is (r2 / r1) ** (1 / log2(n2 / n1)) - 1, where r is bytes per token and n the vocabulary size. It
    is not computed if the training text had too few pairs for n2, or if n2 is less than LEAST_GROWTH * n1.
    """
    if short := [tok.n_vocab for size, tok in tokenizers.items() if tok.n_vocab < size]:
        note += f" The training text ran out of pairs at {short[0]:,} ids, so larger sizes have the same tokens."
    rows: list[tuple[int, int, float | None, float | None, float | None]] = []
    for size, tok in sorted(tokenizers.items()):
        usage = text.usage(tok, progress)
        text.refuse_empty(usage.bytes)
        density = ratio(usage.bytes, usage.tokens)
        gain = doubling = None
        if rows and density and (density_before := rows[-1][2]):
            quotient, growth = density / density_before, size / rows[-1][0]
            gain = quotient - 1
            if tok.n_vocab == size and growth >= LEAST_GROWTH:
                doubling = quotient ** (1 / log2(growth)) - 1
        rows.append((size, usage.tokens // text.scale, density, gain, doubling))
    columns = (
        Column("vocabulary size", "count"),
        Column("tokens of the text", "count"),
        Column("bytes per token", "number", digits=3),
        Column("gain", "share", "increase in bytes per token over the previous size"),
        Column("gain of a doubling", "share", "the gain as it would be for twice the size before"),
    )
    measured = [(size, density) for size, _, density, *_ in rows if density is not None]
    line = Series("bytes per token", [size for size, _ in measured], [y for _, y in measured], range(len(measured)))
    bend = "Bytes per token at each vocabulary size. The line bends where a doubling begins to gain less."
    size_axis, density_axis = Axis("vocabulary size", "count", True), Axis("bytes per token")
    chart = Chart("sizes", "Bytes per token by vocabulary size", bend, "lines", size_axis, density_axis, [line])
    return Report(
        title="Vocabulary sizes",
        lead=note,
        about={"text": note},
        tables=[Table("sizes", "Bytes per token by vocabulary size", columns, rows, note)],
        charts=[chart] if measured else [],
        provenance=provenance_of({f"{size:,}": tok for size, tok in sorted(tokenizers.items())}, text),
    )
