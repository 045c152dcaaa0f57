"""Judge one tokenizer: tokens that text cannot produce, and, on a text, its usage, IoS and compression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from ..counting import WordCounts
from ..errors import suggests_options
from ..jobs.progress import Progress
from ..tokenizer import Tokenizer
from .evaluation_text import EvaluationText, Text
from .junk import THRESHOLDS, Swallowed, junk_table, swallowed_tokens, thresholds_table
from .metrics import baseline_table, domains_table, overview_table, scripts_table, text_table
from .reachability import partial_table, reach_of_tokens, unbuilt_table, unreachable_table
from .replay import replay
from .tables import Table, TableSet
from .token_lists import (
    doubles_tables,
    longest_table,
    rare_table,
    repeated_table,
    unused_table,
    white_space_table,
)
from .usage import Usage, ordinary_tokens

__all__ = ["Inspection", "InspectionOptions", "inspect"]


@dataclass(frozen=True, kw_only=True)
class InspectionOptions:
    """What an inspection counts and lists.

    thresholds: count the tokens whose IoS reaches each of these values.
    junk_at: list the tokens whose IoS reaches this value.
    rare_below: list the tokens used fewer times than this.
    """

    thresholds: Sequence[float] = THRESHOLDS
    junk_at: float = 0.9
    rare_below: int = 100


@dataclass(eq=False)
class Inspection(TableSet):
    """The result of `inspect`: its tables, and the data that the pictures show.

    usage, usages: of all text, and by domain; None and empty without a text.
    swallowed: each token with its highest IoS; empty without a text.
    """

    tok: Tokenizer
    name: str
    tables: list[Table]
    usage: Usage | None
    usages: dict[str, Usage]
    swallowed: list[Swallowed]

    def title(self) -> str:
        return f"Inspection of {self.name}"

    def about(self) -> dict[str, object]:
        return {
            "tokenizer": self.name,
            "fingerprint": self.tok.vocabulary.fingerprint(),
            "domains": list(self.usages),
        }


@suggests_options()
def inspect(
    tok: Tokenizer,
    text: Text | None = None,
    *,
    baseline: Tokenizer | None = None,
    name: str | None = None,
    baseline_name: str | None = None,
    options: InspectionOptions = InspectionOptions(),
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> Inspection:
    """Judge a tokenizer, by itself or on `text`: files, folders, globs, word counts, or a mapping of names to these.

    baseline: a tokenizer to compare the number of tokens with.
    name, baseline_name: names for the report; by default those of the tokenizers.

    >>> inspection = inspect(tok, "corpus/*.txt")
    >>> inspection.table("thresholds").column("tokens")
    [212, 141, 96, 51]
    """
    domains = None if text is None else EvaluationText(text, num_threads)
    usages: dict[str, Usage] = {}
    swallowed: list[Swallowed] = []
    usage = None
    tables = [overview_table(tok)]
    if domains is not None:
        usages = domains.usages(tok, progress)
        usage = reduce(add, usages.values())
        parts = [domains.counts(domain, tok) for domain in domains.names]
        tables += [text_table(tok, usage), domains_table(tok, usages)]
        if baseline is not None:
            tables.append(baseline_table(usages, domains.usages(baseline, progress), baseline_name or baseline.name))
        tables.append(scripts_table(zip(parts, usages.values(), strict=True)))
        swallowed = swallowed_tokens(tok.vocabulary, replay(tok.vocabulary, WordCounts.merge(parts), progress))
        tables.append(thresholds_table(swallowed, len(ordinary_tokens(tok)), options.thresholds))
        tables.append(junk_table(tok.vocabulary, swallowed, options.junk_at))
    reach = reach_of_tokens(tok, usage, progress)
    tables += [unreachable_table(tok, reach), unbuilt_table(tok), partial_table(tok, reach, usage)]
    tables += doubles_tables(tok)
    if usage is not None:
        tables += [unused_table(tok, usage), rare_table(tok, usage, options.rare_below)]
    tables += [longest_table(tok, usage), repeated_table(tok, usage), white_space_table(tok, usage)]
    return Inspection(tok, name or tok.name, tables, usage, usages, swallowed)
