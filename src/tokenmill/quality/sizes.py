"""The gain of a larger vocabulary: bytes per token at several sizes of one training."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import log2
from operator import add

from ..jobs.progress import Progress
from ..tokenizer import Tokenizer
from .charts import Axis, Chart, Series
from .evaluation_text import EvaluationText
from .metrics import ratio
from .reporting import Reading, Report
from .tables import Column, Table


def measure_sizes(
    tokenizers: Mapping[int, Tokenizer], text: EvaluationText, note: str, progress: Progress | None = None
) -> Report:
    """Bytes per token of `tokenizers`, by ascending vocabulary size, and what each gains over the one before.

    note: which text is measured.
    The gain of a doubling is (r2 / r1) ** (1 / log2(n2 / n1)) - 1, where r is bytes per token and n the vocabulary size. So
    sizes that are not doublings of each other compare too.
    """
    rows: list[tuple[int, int, float | None, float | None, float | None]] = []
    for size, tok in sorted(tokenizers.items()):
        usage = reduce(add, text.usages(tok, progress, words=False).values())
        density = ratio(usage.bytes, usage.tokens)
        gain = doubling = None
        if rows and density and rows[-1][2]:
            quotient = density / rows[-1][2]
            gain, doubling = quotient - 1, quotient ** (1 / log2(size / rows[-1][0])) - 1
        rows.append((size, usage.tokens, density, gain, doubling))
    columns = (
        Column("vocabulary size", "count"),
        Column("tokens of the text", "count"),
        Column("bytes per token", "number", digits=3),
        Column("gain", "share", "increase in bytes per token over the previous size"),
        Column("gain of a doubling", "share", "the gain as it would be for twice the size before"),
    )
    densities = [(size, density) for size, _, density, *_ in rows if density is not None]
    line = Series("bytes per token", [size for size, _ in densities], [y for _, y in densities], range(len(densities)))
    bend = "Bytes per token at each vocabulary size. The line bends where a doubling begins to gain less."
    size_axis, density_axis = Axis("vocabulary size", "count", True), Axis("bytes per token")
    chart = Chart("sizes", "Bytes per token by vocabulary size", bend, "lines", size_axis, density_axis, [line])
    with Reading(text) as reading:
        return Report(
            title="Vocabulary sizes",
            lead=note,
            about={"text": note},
            sections=[("Sizes", "", ["sizes"])],
            tables=[Table("sizes", "Bytes per token by vocabulary size", columns, rows, note)],
            charts=[chart] if densities else [],
            provenance=reading.provenance({f"{size:,}": tok for size, tok in sorted(tokenizers.items())}),
        )
