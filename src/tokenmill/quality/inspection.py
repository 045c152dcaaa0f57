"""Everything there is to say about one tokenizer: static faults, and with text its usage, IoS and quality."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

from ..counting import WordCounts
from ..tokenizer import Tokenizer
from .domains import Domains, Text
from .faults import partial_table, reach_of_tokens, unbuilt_table, unreachable_table
from .junk import THRESHOLDS, Swallowed, junk_table, swallowed_tokens, thresholds_table
from .lists import (
    doubles_tables,
    longest_table,
    rare_table,
    repeated_table,
    unused_table,
    white_space_table,
)
from .metrics import baseline_table, domains_table, overview_table, scripts_table, text_table
from .replay import replay
from .tables import Table, tables_to_markdown
from .usage import Usage, ordinary_tokens

__all__ = ["Inspection", "inspect"]

Progress = Callable[[str, int, "int | None"], None]
RARE = 100


@dataclass(eq=False)
class Inspection:
    """What `inspect` found. `tables` in reading order; the rest is what the pictures are drawn from.

    usage, usages: on all text, and by domain; None and empty where no text was given.
    swallowed: each token with its highest IoS; empty where no text was given.
    """

    tok: Tokenizer
    name: str
    tables: list[Table]
    usage: Usage | None
    usages: dict[str, Usage]
    swallowed: list[Swallowed]

    def table(self, key: str) -> Table:
        """The table named `key`; KeyError if there is none."""
        for table in self.tables:
            if table.key == key:
                return table
        raise KeyError(f"no table {key!r}; there are {', '.join(table.key for table in self.tables)}")

    def to_json(self, top: int | None = None) -> dict[str, Any]:
        """All tables as values for json.dumps, lists cut to `top` rows."""
        return {
            "tokenizer": self.name,
            "fingerprint": self.tok.vocabulary.fingerprint(),
            "domains": list(self.usages),
            "tables": [table.head(top).to_json() for table in self.tables],
        }

    def to_markdown(self, top: int | None = 20) -> str:
        """All tables as one Markdown page, lists cut to `top` rows."""
        return tables_to_markdown(f"Inspection of {self.name}", [table.head(top) for table in self.tables])


def inspect(
    tok: Tokenizer,
    text: Text | None = None,
    *,
    baseline: Tokenizer | None = None,
    name: str | None = None,
    baseline_name: str | None = None,
    thresholds: Sequence[float] = THRESHOLDS,
    junk_at: float = 0.9,
    rare_below: int = RARE,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> Inspection:
    """Judge a tokenizer, on `text` if any is given: files, folders, globs, word counts, or a mapping of names to these.

    baseline: a tokenizer to compare the number of tokens with.
    name, baseline_name: what to call them, if not by their own names.
    thresholds, junk_at: the values of IoS to count junk at, and the one to list it at.
    rare_below: list tokens used fewer times than this.

    >>> inspection = inspect(tok, "corpus/*.txt")
    >>> inspection.table("thresholds").column("tokens")
    [212, 141, 96, 51]
    """
    domains = None if text is None else Domains(text, num_threads)
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
        tables.append(thresholds_table(swallowed, len(ordinary_tokens(tok)), thresholds))
        tables.append(junk_table(tok.vocabulary, swallowed, junk_at))
    reach = reach_of_tokens(tok, usage, progress)
    tables += [unreachable_table(tok, reach), unbuilt_table(tok), partial_table(tok, reach, usage)]
    tables += doubles_tables(tok)
    if usage is not None:
        tables += [unused_table(tok, usage), rare_table(tok, usage, rare_below)]
    tables += [longest_table(tok, usage), repeated_table(tok, usage), white_space_table(tok, usage)]
    return Inspection(tok, name or tok.name, tables, usage, usages, swallowed)
