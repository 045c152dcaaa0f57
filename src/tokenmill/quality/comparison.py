"""Compare several tokenizers on the same text. The first is the baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

from ..counting import WordCounts
from ..errors import UsageError, suggests_options
from ..jobs.progress import Progress
from ..tokenizer import Tokenizer
from .evaluation_text import EvaluationText, Text
from .junk import THRESHOLDS, Swallowed, swallowed_tokens
from .metrics import (
    DENSITY,
    RENYI,
    RENYI_CAUTION,
    USED,
    Measure,
    mean_token_characters,
    measured_table,
    ratio,
    scripts_table,
    word_initial_share,
)
from .names import free_name
from .replay import replay
from .tables import Column, Table, TableSet
from .usage import Usage, ordinary_tokens

__all__ = ["Comparison", "compare"]


@dataclass(eq=False)
class Comparison(TableSet):
    """The result of `compare`: its tables, and the data that the pictures show.

    By name of the tokenizer: usages by domain, totals on all text, figures by script, each token with its highest IoS.
    """

    tokenizers: dict[str, Tokenizer]
    tables: list[Table]
    usages: dict[str, dict[str, Usage]]
    totals: dict[str, Usage]
    scripts: dict[str, Table]
    swallowed: dict[str, list[Swallowed]]

    def title(self) -> str:
        return "Comparison of " + ", ".join(self.tokenizers)

    def about(self) -> dict[str, object]:
        return {"tokenizers": {name: tok.vocabulary.fingerprint() for name, tok in self.tokenizers.items()}}


@suggests_options()
def compare(
    tokenizers: Mapping[str, Tokenizer] | Sequence[Tokenizer],
    text: Text,
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare tokenizers on the same text; the first is the baseline.

    tokenizers: by name, or a sequence, which takes the tokenizers' own names.
    text: as for `inspect`. Word counts fit only tokenizers with the split pattern they were counted with.

    >>> compare({"mine": tok, "gpt2": tokenmill.load("gpt2")}, "corpus/*.txt").table("compression").column("bytes per token")
    [4.41, 4.05]
    """
    named = dict(tokenizers) if isinstance(tokenizers, Mapping) else _named(tokenizers)
    if not named:
        raise UsageError("there is no tokenizer to compare: give at least one")
    domains = EvaluationText(text, num_threads)
    usages: dict[str, dict[str, Usage]] = {}
    swallowed: dict[str, list[Swallowed]] = {}
    by_script: dict[str, Table] = {}
    for name, tok in named.items():
        usages[name] = domains.usages(tok, progress)
        parts = [domains.counts(domain, tok) for domain in domains.names]
        swallowed[name] = swallowed_tokens(tok.vocabulary, replay(tok.vocabulary, WordCounts.merge(parts), progress))
        by_script[name] = scripts_table(zip(parts, usages[name].values(), strict=True))
    totals = {name: reduce(add, by_domain.values()) for name, by_domain in usages.items()}
    judged = {name: (tok, totals[name]) for name, tok in named.items()}
    tables = [
        _compression(judged),
        _vocabularies(judged, swallowed, thresholds),
        _by_domain("domain_bytes", "Bytes per token, by domain", usages, lambda u: ratio(u.bytes, u.tokens)),
        _by_domain(
            "domain_fertility", "Tokens per word (fertility), by domain", usages, lambda u: ratio(u.tokens, u.words)
        ),
        _by_script(by_script),
        _overlap(named),
    ]
    return Comparison(named, tables, usages, totals, by_script, swallowed)


def _named(tokenizers: Sequence[Tokenizer]) -> dict[str, Tokenizer]:
    named: dict[str, Tokenizer] = {}
    for tok in tokenizers:
        named[free_name(tok.name, named)] = tok
    return named


def _compression(judged: Mapping[str, tuple[Tokenizer, Usage]]) -> Table:
    base = next(iter(judged.values()))[1].tokens
    help = "tokens of the text as a share of the first tokenizer's; below 100 % is shorter"
    measures = (
        Measure(Column("ordinary tokens", "count"), lambda tok, usage: len(ordinary_tokens(tok))),
        Measure(Column("tokens of the text", "count"), lambda tok, usage: usage.tokens),
        Measure(Column("relative", "share", help), lambda tok, usage: ratio(usage.tokens, base)),
        *DENSITY,
    )
    return measured_table("compression", "Compression", judged, "tokenizer", measures)


def _vocabularies(
    judged: Mapping[str, tuple[Tokenizer, Usage]],
    swallowed: Mapping[str, Sequence[Swallowed]],
    thresholds: Sequence[float],
) -> Table:
    ios = {judged[name][0]: [token.ios for token in found] for name, found in swallowed.items()}

    def junk(threshold: float) -> Measure:
        column = Column(f"IoS ≥ {threshold}", "share", "tokens that this threshold would call junk")
        return Measure(
            column,
            lambda tok, usage: ratio(sum(value >= threshold for value in ios[tok]), len(ordinary_tokens(tok))),
        )

    measures = (
        USED,
        *map(junk, thresholds),
        Measure(Column("mean token characters", "number"), lambda tok, usage: mean_token_characters(tok)),
        Measure(Column("word-initial", "share"), lambda tok, usage: word_initial_share(tok)),
        RENYI,
    )
    table = measured_table("vocabularies", "What the vocabularies are spent on", judged, "tokenizer", measures)
    return replace(table, note=RENYI_CAUTION)


def _by_domain(
    key: str, title: str, usages: Mapping[str, Mapping[str, Usage]], figure: Callable[[Usage], float | None]
) -> Table:
    names = list(usages)
    rows = [(domain, *(figure(usages[name][domain]) for name in names)) for domain in usages[names[0]]]
    return Table(key, title, (Column("domain"), *(Column(name, "number", digits=3) for name in names)), rows)


def _by_script(by_script: Mapping[str, Table]) -> Table:
    names = list(by_script)
    figures = {
        name: dict(zip(table.column("script"), table.column("bytes per token"), strict=True))
        for name, table in by_script.items()
    }
    scripts = by_script[names[0]].column("script")
    rows = [(script, *(figures[name].get(script) for name in names)) for script in scripts]
    columns = (Column("script"), *(Column(name, "number", digits=3) for name in names))
    return Table("scripts", "Bytes per token, by script of the pretoken's first letter", columns, rows)


def _overlap(named: Mapping[str, Tokenizer]) -> Table:
    tokens = {name: set(ordinary_tokens(tok).values()) for name, tok in named.items()}
    rows = [(name, *(ratio(len(own & other), len(own)) for other in tokens.values())) for name, own in tokens.items()]
    columns = (Column("tokens of"), *(Column(f"in {name}", "share", digits=1) for name in named))
    note = "The share of the row's tokens that the column's vocabulary also has."
    return Table("overlap", "Tokens in common", columns, rows, note)
