"""What a count would take, from a sample: distinct pretokens, memory, disk, time.

Distinct pretokens grow with the text by Heaps' law, V(n) = K * n**b, with b between 0.4 and 0.9 for real text. K and b come
from the sample. As b itself falls slowly with n, the prediction errs on the high side, and the more so the smaller a
part of the text the sample is.
"""

from __future__ import annotations

import contextlib
import io
import math
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..kernels.machine import threads_for
from ..sources.blocks import BLOCK, Block, BlockSource, StreamSource
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
    from .file_count import Paths

SAMPLE = 64 << 20  # bytes of text
READ = 1 << 30  # stored bytes that are read through of files that cannot be read from the middle
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
    ratios: dict[str, _Ratio] = {}
    start = time.perf_counter()
    blocks = _sample(paths, splitter, options, sample, ratios)
    reading = time.perf_counter() - start
    for block in blocks:
        counter.count(block)
        seen.append((counter.total_bytes, len(counter.table)))
    counting = time.perf_counter() - start - reading
    sampled, distinct = counter.total_bytes, len(counter.table)
    sizes = {path: size_of(path) for path in paths}
    total = max(sampled, int(sum(size * ratios.get(_suffixes(path), _Ratio()).of() for path, size in sizes.items())))
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
    was_read = sum(ratio.stored * ratio.of() for ratio in ratios.values())  # as text, with what was not counted
    seconds = total * (reading / max(1, was_read) + counting / max(1, sampled)) + (pretokens + spilled) * MERGE_SECONDS
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
        seconds=round(seconds / threads, 1),
    )


def _growth(seen: list[tuple[int, int]]) -> float:
    """The exponent of Heaps' law over the second half of the sample."""
    if len(seen) < 8:
        return TYPICAL_GROWTH
    (half, distinct_in_half), (whole, distinct) = seen[len(seen) // 2 - 1], seen[-1]
    if whole == half:
        return TYPICAL_GROWTH
    return min(1.0, max(0.05, math.log(distinct / distinct_in_half) / math.log(whole / half)))


class _Ratio:
    """How much text comes out of a byte on disk: from stored bytes to drawn ones, and by parsing to text."""

    stored = drawn = parsed = text = 0

    def of(self) -> float:
        return self.drawn / max(1, self.stored) * self.text / max(1, self.parsed) if self.text else 1.0


def _sample(
    paths: list[Source], splitter: Splitter, options: CountOptions, sample: int, ratios: dict[str, _Ratio]
) -> list[Block]:
    """Blocks from all over the sources, in random order, since neighbouring text is alike.

    A source that cannot be read from the middle, such as a compressed one, is read through, up to READ stored bytes of all
    such sources, and gives every so many blocks.

    ratios: by suffixes, to be filled.
    """
    open = opener(cut_of(splitter), options.read, options.binary)
    blocks: list[Block] = []
    total = sum(size_of(path) for path in paths)
    credit = float(BLOCK)  # so that there is one block at least
    for path in paths:
        size = size_of(path)
        credit += sample * size / max(1, total)
        packed = is_url(path) or Path(path).suffix.lower() in (*COMPRESSIONS, ".parquet", ".pq")
        n = int((credit if packed else min(credit, size + BLOCK)) // BLOCK)  # a packed file has more text than bytes
        if not n:
            continue
        ratio = ratios.setdefault(_suffixes(path), _Ratio())
        spans = [span for span, _ in spans_of(path, options.read, max(BLOCK, size // n), cut_of(splitter))]
        if spans == [None]:
            with contextlib.closing(open(path)) as source:
                blocks += _through(source, n, size, int(READ * size / max(1, total)), ratio)
        else:
            n = min(n, len(spans))
            for span in (spans[i * len(spans) // n] for i in range(n)):
                with contextlib.closing(open(path, span=span)) as source:
                    if source.draw(block := Block()):
                        ratio.stored += block.nbytes if isinstance(source, StreamSource) else source.stored_position()
                        ratio.drawn += block.nbytes
                        blocks.append(_finished(block, ratio))
        credit = min(credit - n * BLOCK, BLOCK)
    random.Random(1).shuffle(blocks)
    return blocks


def _through(source: BlockSource, n: int, size: int, limit: int, ratio: _Ratio) -> Iterator[Block]:
    """About n blocks of a source of `size` stored bytes, evenly spaced, from its first `limit` bytes."""
    position = given = 0
    block = Block()
    while (position <= limit or not given) and source.draw(block):
        ratio.drawn += block.nbytes
        if given < n and position >= given * min(size, limit) // n:
            given += 1
            yield _finished(block, ratio)
            block = Block()
        position = source.stored_position()
    ratio.stored += position


def _finished(block: Block, ratio: _Ratio) -> Block:
    ratio.parsed += block.nbytes
    block.finish()
    report_skips(block.skips, None)
    ratio.text += block.nbytes
    return block


def _suffixes(path: Source) -> str:
    return "".join(Path(path).suffixes[-2:])


def _sizes(table: CountTable) -> tuple[float, float]:
    """Bytes for each pretoken in a run and in the word counts, as the sample's are when they are written."""
    if len(table) == 0:
        return 0.0, 0.0
    rows = merge_tables([table])
    file = io.BytesIO()
    write_file(file, About(), [rows])
    return len(rows[0]) / len(table) + 16, file.tell() / len(table)
