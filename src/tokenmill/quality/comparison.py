"""Compare several tokenizers on the same text. The first is the baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from ..counting import WordCounts
from ..errors import UsageError, suggests_options
from ..jobs.progress import Progress
from ..tokenizer import Tokenizer
from .evaluation_text import EvaluationText, Text
from .junk import THRESHOLDS, Swallowed, swallowed_tokens
from .metrics import (
    ALPHA,
    RENYI_CAUTION,
    mean_token_characters,
    ratio,
    renyi_efficiency,
    scripts_table,
    word_initial_share,
)
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
    tables = [
        _compression(named, totals),
        _vocabularies(named, totals, swallowed, thresholds),
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
        name, number = tok.name, 2
        while name in named:
            name, number = f"{tok.name} ({number})", number + 1
        named[name] = tok
    return named


def _compression(named: Mapping[str, Tokenizer], totals: Mapping[str, Usage]) -> Table:
    base = next(iter(totals.values())).tokens
    rows = []
    for name, usage in totals.items():
        rows.append(
            (
                name,
                len(ordinary_tokens(named[name])),
                usage.tokens,
                ratio(usage.tokens, base),
                ratio(usage.bytes, usage.tokens),
                ratio(usage.characters, usage.tokens),
                ratio(usage.words, usage.tokens),
                ratio(usage.tokens, usage.words),
            )
        )
    columns = (
        Column("tokenizer"),
        Column("ordinary tokens", "count"),
        Column("tokens of the text", "count"),
        Column("relative", "share", "tokens of the text as a share of the first tokenizer's; below 100 % is shorter"),
        Column("bytes per token", "number", digits=3),
        Column("characters per token", "number", digits=3),
        Column("words per token", "number", digits=3),
        Column("tokens per word", "number", "fertility", 3),
    )
    return Table("compression", "Compression", columns, rows)


def _vocabularies(
    named: Mapping[str, Tokenizer],
    totals: Mapping[str, Usage],
    swallowed: Mapping[str, Sequence[Swallowed]],
    thresholds: Sequence[float],
) -> Table:
    import numpy as np

    rows = []
    for name, tok in named.items():
        ids = list(ordinary_tokens(tok))
        by_id = totals[name].by_id
        junk = [sum(token.ios >= threshold for token in swallowed[name]) for threshold in thresholds]
        rows.append(
            (
                name,
                ratio(int(np.count_nonzero(by_id[ids])), len(ids)),
                *(ratio(number, len(ids)) for number in junk),
                mean_token_characters(tok),
                word_initial_share(tok),
                renyi_efficiency(by_id, len(ids)),
            )
        )
    columns = (
        Column("tokenizer"),
        Column("vocabulary used", "share"),
        *(
            Column(f"IoS ≥ {threshold}", "share", "tokens that this threshold would call junk")
            for threshold in thresholds
        ),
        Column("mean token characters", "number"),
        Column("word-initial", "share"),
        Column("Rényi efficiency", "number", f"alpha {ALPHA}", 4),
    )
    return Table("vocabularies", "What the vocabularies are spent on", columns, rows, RENYI_CAUTION)


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
    """The share of the row's tokens that the column's vocabulary also has."""
    tokens = {name: set(ordinary_tokens(tok).values()) for name, tok in named.items()}
    rows = [(name, *(ratio(len(own & other), len(own)) for other in tokens.values())) for name, own in tokens.items()]
    columns = (Column("tokens of"), *(Column(f"in {name}", "share", digits=1) for name in named))
    return Table(
        "overlap",
        "Tokens in common",
        columns,
        rows,
        "The share of the row's tokens that the column's vocabulary also has.",
    )
