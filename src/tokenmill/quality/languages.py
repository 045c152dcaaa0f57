"""How alike languages are treated: bytes per token and tokens of each, and one figure for how unequal they are.

Gini coefficient of the token costs c of n languages, in ascending order (Foroutan, Meister et al. 2025, "Parity-Aware Byte-Pair
Encoding", arXiv 2508.04796):

    G = (n + 1 - 2 * sum((n + 1 - i) * c[i] for i in 1..n) / sum(c)) / n

0 if all languages cost the same; at most 1 - 1/n. The cost is the number of tokens where the texts are translations of each
other, else tokens per byte, which favours scripts with many bytes to a character.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .metrics import ratio
from .tables import Column, Table
from .usage import Usage

FAIR = 0.2  # a higher Gini coefficient is reported; the published vocabularies of our sample have 0.11 to 0.38


def gini(costs: Iterable[float]) -> float | None:
    """The Gini coefficient of positive costs; None for fewer than two of them.

    >>> gini([3, 3, 3]), gini([1, 3])
    (0.0, 0.25)
    """
    ordered = sorted(costs)
    n, total = len(ordered), sum(ordered)
    if n < 2 or not total:
        return None
    weighted = sum((n - place) * cost for place, cost in enumerate(ordered))
    return (n + 1 - 2 * weighted / total) / n


def languages_table(judged: Mapping[str, Mapping[str, Usage]]) -> Table:
    """A row for each tokenizer: how unequal its domains are, and which costs most. judged: usage by tokenizer and domain."""
    rows = []
    for name, usages in judged.items():
        density = {domain: usage.tokens / usage.bytes for domain, usage in usages.items() if usage.bytes}
        dearest = max(density, key=density.__getitem__, default=None)
        rows.append(
            (
                name,
                gini(usage.tokens for usage in usages.values() if usage.tokens),
                gini(density.values()),
                dearest,
                ratio(1, density[dearest]) if dearest is not None else None,
            )
        )
    columns = (
        Column("tokenizer"),
        Column("Gini of tokens", "number", "0: every language takes the same number of tokens", 3, best="min"),
        Column("Gini of tokens per byte", "number", "for texts that are not translations of each other", 3, best="min"),
        Column("costs most"),
        Column("its bytes per token", "number", digits=3, best="max"),
    )
    note = (
        "The Gini coefficient of tokens compares languages only where the sources are "
        "translations of each other; elsewhere read that of tokens per byte."
    )
    return Table("languages", "How alike languages are treated", columns, rows, note)
