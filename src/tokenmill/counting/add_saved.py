"""Add up saved word counts, and convert them to other formats, in bounded memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..errors import InputError, UsageError, suggests_options
from ..jobs.outputs import atomic_folder, named, refuse_existing, refuse_folder
from ..jobs.progress import Progress
from ..jobs.working_folder import alone
from .ddfreq import SUFFIX, read_ddfreq, write_ddfreq
from .options import CountSummary, memory_limit_of, summary_of
from .rows import RowSource, merge_all, sort_rows, text_bytes, times
from .spill import temporary_spill
from .store import CountsMetadata, SavedCounts, is_own, write_counts
from .weights import Weighing, Weight, scaled
from .word_counts import sum_of

SAVED = 16 << 20  # bytes of memory for a row group of a folder


@suggests_options
def add_up(
    inputs: Iterable[str | os.PathLike],
    output: str | os.PathLike,
    *,
    memory_limit: str | int | None = None,
    min_count: int = 1,
    weights: Mapping[str, Weight] | Iterable[tuple[str, Weight]] = (),
    overwrite: bool = False,
    progress: Progress | None = None,
) -> CountSummary:
    """Add up word counts: folders and .ddfreq files. With one input, this converts it to another format.

    output: a folder, or a file whose name ends with .ddfreq.
    min_count: leave out pretokens with a lower weighted sum.
    weights: of the inputs, as in `CountOptions`.
    overwrite: replace an existing output. Without it that is an OutputError.
    Raises UsageError if the inputs were split by different patterns, FormatError if one is damaged.
    """
    paths = [Path(path) for path in inputs]
    output = named(output)
    limit = memory_limit_of(memory_limit)
    if not paths:
        raise UsageError("no word counts were given to add up")
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: no such file or folder. Check the path.")
        if not path.is_dir() and path.suffix != SUFFIX:
            raise UsageError(f"{path} is neither a folder of word counts nor a {SUFFIX} file")
    if output.suffix == SUFFIX:
        refuse_existing(output, overwrite=overwrite, sources=paths)
    else:
        refuse_folder(output, is_own, overwrite=overwrite, sources=paths)
    weighing = Weighing(paths, weights)
    summands: list[CountsMetadata] = []
    with alone(output) as folder, temporary_spill(folder or output.parent) as spill:
        sources: list[RowSource] = []
        for number, path in enumerate(paths):
            factor = weighing.factors[weighing.group(path)]
            saved = SavedCounts(path, factor) if path.is_dir() else None
            if saved is not None and saved.metadata is not None:
                if len(sources) == max(2, limit // SAVED):
                    spill.add(sources)
                    sources = []
                sources.append(saved)
                summands.append(saved.metadata)
            else:  # in any order, maybe with equal pretokens
                total_bytes = 0
                for rows in saved.row_groups() if saved else (times(rows, factor) for rows in read_ddfreq(path)):
                    total_bytes += text_bytes(rows)
                    spill.add(sort_rows(rows))
                summands.append(CountsMetadata(total_bytes=total_bytes // factor))
            if progress is not None:
                progress("read", number + 1, len(paths))
        spill.compact()
        metadata = _sum(summands, weighing, paths)
        sources += spill.runs
        least = scaled(min_count, metadata.scale)
        if output.suffix == SUFFIX:
            totals = write_ddfreq(output, merge_all(sources), least)
        else:
            with atomic_folder(output, is_own, overwrite=overwrite) as beside:
                totals = write_counts(beside, metadata, sources, progress=progress, min_count=least)
    return summary_of(metadata, totals)


def _sum(summands: list[CountsMetadata], weighing: Weighing, paths: Sequence[Path]) -> CountsMetadata:
    """The metadata of the weighted sum of `paths`."""
    whole = sum_of(summands)
    bytes_of = [0] * len(weighing.factors)
    for path, metadata in zip(paths, summands, strict=True):
        bytes_of[weighing.group(path)] += metadata.total_bytes
    mixture = weighing.mixture(bytes_of)
    if mixture and whole.mixture:
        raise UsageError("word counts of weighted sources cannot be weighted again. Count with all weights at once")
    return whole._replace(mixture=mixture or whole.mixture)
