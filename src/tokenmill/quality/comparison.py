"""Compare several tokenizers on the same text. The first is the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError, suggests_options
from ..jobs.progress import Progress
from ..sources.blocks import ReadOptions
from ..tokenizer import Tokenizer
from .evaluation_text import EvaluationText, Text
from .judgement import Judgement, judge
from .junk import THRESHOLDS
from .metrics import (
    DENSITY,
    RENYI,
    RENYI_CAUTION,
    USED,
    Measure,
    mean_token_characters,
    measured_table,
    ratio,
    word_initial_share,
)
from .names import free_name
from .tables import Column, Table, TableSet
from .usage import ordinary_tokens


@dataclass(eq=False)
class Comparison(TableSet):
    """The result of `compare`: its tables, and what they are made from, by name of the tokenizer."""

    judgements: dict[str, Judgement]
    tables: list[Table]

    def title(self) -> str:
        return "Comparison of " + ", ".join(self.judgements)

    def about(self) -> dict[str, object]:
        return {"tokenizers": {name: of.tok.vocabulary.fingerprint() for name, of in self.judgements.items()}}


@suggests_options()
def compare(
    tokenizers: Mapping[str, Tokenizer] | Sequence[Tokenizer],
    text: Text,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    read: ReadOptions | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare tokenizers on the same text; the first is the baseline.

    tokenizers: by name, or a sequence, which takes the tokenizers' own names.
    read: how text files are cut into documents, and which field or column holds the text.
    text: as for `inspect`. Word counts fit only tokenizers with the split pattern they were counted with.

    >>> compare({"mine": tok, "gpt2": tokenmill.load("gpt2")}, "corpus/*.txt").table("compression").column("bytes per token")
    [4.41, 4.05]
    """
    named = dict(tokenizers) if isinstance(tokenizers, Mapping) else _named(tokenizers)
    if not named:
        raise UsageError("there is no tokenizer to compare: give at least one")
    domains = EvaluationText(text, num_threads, read)
    judged = {name: judge(tok, domains, progress) for name, tok in named.items()}
    fertility = {name: of.fertility() for name, of in judged.items()}
    scripts = {name: of.scripts.pairs("script", "bytes per token") for name, of in judged.items()}
    density = {
        name: {domain: ratio(usage.bytes, usage.tokens) for domain, usage in of.usages.items()}
        for name, of in judged.items()
    }
    tables = [
        _compression(judged),
        _vocabularies(judged, thresholds),
        _side_by_side("domain_bytes", "Bytes per token, by domain", "domain", density),
        _side_by_side("domain_fertility", "Tokens per word (fertility), by domain", "domain", fertility),
        _side_by_side("scripts", "Bytes per token, by script of the pretoken's first letter", "script", scripts),
        _overlap(named),
    ]
    return Comparison(judged, tables)


def _named(tokenizers: Sequence[Tokenizer]) -> dict[str, Tokenizer]:
    named: dict[str, Tokenizer] = {}
    for tok in tokenizers:
        named[free_name(tok.name, named)] = tok
    return named


def _compression(judged: Mapping[str, Judgement]) -> Table:
    base = next(iter(judged.values())).usage.tokens
    help = "tokens of the text as a share of the first tokenizer's; below 100 % is shorter"
    measures = (
        Measure(Column("ordinary tokens", "count"), lambda tok, usage: len(ordinary_tokens(tok))),
        Measure(Column("tokens of the text", "count"), lambda tok, usage: usage.tokens),
        Measure(Column("relative", "share", help), lambda tok, usage: ratio(usage.tokens, base)),
        *DENSITY,
    )
    rows = {name: (of.tok, of.usage) for name, of in judged.items()}
    return measured_table("compression", "Compression", rows, "tokenizer", measures)


def _vocabularies(judged: Mapping[str, Judgement], thresholds: Sequence[float]) -> Table:
    rows = []
    for name, of in judged.items():
        junk = [ratio(sum(token.ios >= value for token in of.swallowed), of.size) for value in thresholds]
        figures = (mean_token_characters(of.tok), word_initial_share(of.tok), RENYI.of(of.tok, of.usage))
        rows.append((name, USED.of(of.tok, of.usage), *junk, *figures))
    help = "tokens that this threshold would call junk"
    columns = (
        Column("tokenizer"),
        USED.column,
        *(Column(f"IoS ≥ {value}", "share", help) for value in thresholds),
        Column("mean token characters", "number"),
        Column("word-initial", "share"),
        RENYI.column,
    )
    return Table("vocabularies", "What the vocabularies are spent on", columns, rows, RENYI_CAUTION)


def _side_by_side(key: str, title: str, first: str, figures: Mapping[str, Mapping[Any, Any]]) -> Table:
    """A column for each name in `figures`, and a row for each of the first one's figures."""
    rows = [(row, *(of.get(row) for of in figures.values())) for row in next(iter(figures.values()))]
    return Table(
        key, title, (Column(first), *(Column(name, "number", digits=3, json_key=name) for name in figures)), rows
    )


def _overlap(named: Mapping[str, Tokenizer]) -> Table:
    tokens = {name: set(ordinary_tokens(tok).values()) for name, tok in named.items()}
    rows = [(name, *(ratio(len(own & other), len(own)) for other in tokens.values())) for name, own in tokens.items()]
    columns = (
        Column("tokens of"),
        *(Column(f"in {name}", "share", digits=1, json_key=f"in_{name}_share") for name in named),
    )
    note = "The share of the row's tokens that the column's vocabulary also has."
    return Table("overlap", "Tokens in common", columns, rows, note)
