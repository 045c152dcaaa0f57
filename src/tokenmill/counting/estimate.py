"""What a count would take, from a sample: distinct pretokens, memory, disk, time.

Distinct pretokens grow with the text by Heaps' law, V(n) = K * n**b, with b between 0.4 and 0.9 for real text. K and b come
from the sample. As b itself falls slowly with n, the prediction errs on the high side, and the more so the smaller a
part of the text the sample is.
"""

from __future__ import annotations

import math
import random
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..kernels.machine import threads_for
from ..sources.blocks import BLOCK, Block, BlockSource, Span, StreamSource
from ..sources.documents import spans_of
from ..sources.find import COMPRESSIONS, Source, find_sources, is_url, report_skips, size_of
from ._table_cy import CountTable
from .memory import memory_limit_of
from .options import CountOptions, make_splitter
from .spill import Spill
from .storage import About, write_file
from .tables import ENTRY, merge_tables
from .text_sources import cut_of, opener
from .threads import Counter

if TYPE_CHECKING:
    from ..split import Splitter
    from .count_files import Paths

SAMPLE = 64 << 20  # bytes of text
TYPICAL_GROWTH = 0.6  # where the sample is too small to tell
MERGE_SECONDS = 2e-7  # to merge and write a row, measured


@dataclass(frozen=True)
class Estimate:
    """What a count would take. Sizes are bytes.

    sampled: how much text the prediction rests on.
    growth: the exponent of Heaps' law.
    memory: what the tables would take without a limit; beyond `memory_limit` they go to disk.
    spills, spill_disk: how often, and how large all runs together would be.
    disk: the size of the word counts.
    seconds: with `threads` threads, reading and merging included.
    """

    total_bytes: int
    sampled: int
    distinct: int
    growth: float
    threads: int
    memory_limit: int
    memory: int
    spills: int
    spill_disk: int
    disk: int
    seconds: float


def estimate(
    sources: Paths,
    split: str | Iterable[str] | Splitter = "cl100k",
    options: CountOptions | None = None,
    *,
    num_threads: int | None = None,
    sample: int = SAMPLE,
) -> Estimate:
    """Count a sample of `sample` bytes from all over the sources, and predict what a count of all would take."""
    splitter, options = make_splitter(split), options or CountOptions()
    paths = find_sources(sources)
    threads, limit = threads_for(num_threads), memory_limit_of(options.memory_limit)
    counter = Counter(splitter, 1 << 62, Spill(Path()), lambda: None)
    seen: list[tuple[int, int]] = []  # bytes and distinct pretokens after each block
    ratios: dict[str, list[int]] = {}
    seconds = -time.perf_counter()
    for block in _sample(paths, splitter, options, sample, ratios):
        counter.count(block)
        seen.append((counter.total_bytes, len(counter.table)))
    seconds += time.perf_counter()
    sampled, distinct = counter.total_bytes, len(counter.table)
    total = max(sampled, int(sum(size_of(path) * _ratio(ratios, path) for path in paths)))
    growth = _growth(seen)

    def distinct_in(nbytes: float) -> float:
        return distinct * (nbytes / sampled) ** growth if sampled else 0.0

    table = counter.table
    long = table.arena_bytes / distinct if distinct else 0.0
    # Tables double when they are half full, so they are a third full on average, and hold the old slots while growing.
    memory = threads * distinct_in(total / threads) * (ENTRY * 3 + long)
    row, saved = _sizes(table)
    spills = 0
    if memory > limit:
        at_once = limit / (ENTRY / 0.7 + long)  # pretokens in full tables
        text = sampled * (at_once / threads / distinct) ** (1 / growth) * threads
        spills = math.ceil(total / text)
    pretokens = distinct_in(total)
    spilled = spills * min(pretokens, limit / (ENTRY / 0.7 + long)) if spills else 0.0
    speed = sampled / seconds if sampled else 1.0
    return Estimate(
        total_bytes=total,
        sampled=sampled,
        distinct=int(pretokens),
        growth=round(growth, 3),
        threads=threads,
        memory_limit=limit,
        memory=int(memory),
        spills=spills,
        spill_disk=int(spilled * row),
        disk=int(pretokens * saved),
        seconds=round(total / speed / threads + (pretokens + spilled) * MERGE_SECONDS / threads, 1),
    )


def _growth(seen: list[tuple[int, int]]) -> float:
    """The exponent of Heaps' law over the second half of the sample."""
    if len(seen) < 8:
        return TYPICAL_GROWTH
    (half, distinct_in_half), (whole, distinct) = seen[len(seen) // 2 - 1], seen[-1]
    if whole == half:
        return TYPICAL_GROWTH
    return min(1.0, max(0.05, math.log(distinct / distinct_in_half) / math.log(whole / half)))


def _sample(
    paths: list[Source],
    splitter: Splitter,
    options: CountOptions,
    sample: int,
    ratios: dict[str, list[int]],
) -> Iterator[Block]:
    """Blocks from all over the sources, in random order, since neighbouring text is alike.

    A compressed file can only be read from its front.

    ratios: by suffix, the bytes read on disk and the bytes of text that came out of them, to be added to.
    """
    open = opener(splitter, options.read, options.binary)
    draws: list[tuple[Source, Span | None]] = []  # the first block of a span, or the next of a whole file
    total = sum(size_of(path) for path in paths)
    credit = float(BLOCK)  # so that there is one block at least
    for path in paths:
        size = size_of(path)
        credit += sample * size / max(1, total)
        packed = is_url(path) or Path(path).suffix.lower() in (*COMPRESSIONS, ".parquet", ".pq")
        n = int((credit if packed else min(credit, size + BLOCK)) // BLOCK)  # a packed file has more text than bytes
        spans = [span for span, _ in spans_of(path, options.read, max(BLOCK, size // max(1, n)), cut_of(splitter))]
        if spans != [None]:
            n = min(n, len(spans))
        credit = min(credit - n * BLOCK, BLOCK) if n else credit
        draws += [(path, spans[i * len(spans) // n]) for i in range(n)]
    random.Random(1).shuffle(draws)
    whole: dict[Source, BlockSource] = {}
    block = Block()
    try:
        for path, span in draws:
            before = whole[path].stored_position() if path in whole else 0
            source = whole.get(path) or open(path, span=span)
            if span is None:
                whole[path] = source
            if source.draw(block):
                raw = block.nbytes
                block.finish()
                report_skips(block.skips, None)
                yield block
                plain = span is not None and isinstance(source, StreamSource)
                read_bytes = ratios.setdefault(Path(path).suffix, [0, 0])
                read_bytes[0] += raw if plain else source.stored_position() - before
                read_bytes[1] += block.nbytes
            if span is not None:
                source.close()
    finally:
        for source in whole.values():
            source.close()


def _ratio(ratios: dict[str, list[int]], path: Source) -> float:
    """How much text comes out of a byte on disk of this source."""
    on_disk, text = ratios.get(Path(path).suffix, (1, 1))
    return text / max(1, on_disk)


def _sizes(table: CountTable) -> tuple[float, float]:
    """Bytes for each pretoken in a run and in the word counts, as the sample's are when they are written."""
    if len(table) == 0:
        return 0.0, 0.0
    rows = merge_tables([table])
    with tempfile.TemporaryDirectory(prefix="tokenmill-estimate-") as folder:
        path = Path(folder) / "sample.parquet"
        write_file(path, About(), [rows])
        return len(rows[0]) / len(table) + 16, path.stat().st_size / len(table)
