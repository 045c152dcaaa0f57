"""tokenmill count: text to word counts."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import UsageError
from . import _options as opt
from ._console import progress_bar, report, resumable, say_long_documents, say_skips, shares_row

if TYPE_CHECKING:
    from ..counting import Summary
    from ..counting.estimate import Estimate
    from ..sources.find import Skip


def count(
    sources: opt.Sources,
    documents: opt.Documents,
    running: opt.Running,
    result: opt.Result,
    output: Annotated[Path | None, opt.Option("--output", "-o", help="The folder for the word counts.")] = None,
    merge: Annotated[bool, opt.Option("--merge", help="Add up word counts (folders, .ddfreq, .tsv) into -o.")] = False,
    estimate: Annotated[
        bool, opt.Option("--estimate", help="Only predict memory, disk and time, from a sample.")
    ] = False,
    split: opt.TrainingSplit = None,
    special_token: Annotated[
        list[str] | None, opt.Option(help="Cut this text out: it ends a document. May be repeated.")
    ] = None,
    memory_limit: Annotated[
        str | None,
        opt.job(help="What the tables may take, such as 4GB; beyond it they go to disk. Half of what is free."),
    ] = None,
    min_count: Annotated[
        int, opt.Option(**opt.number, help="Leave out pretokens seen fewer times, at the end: exact.")
    ] = 1,
    approximate_prune: Annotated[
        bool, opt.Option("--approximate-prune", help="Whenever the tables go to disk, drop what was seen once since.")
    ] = False,
    binary: opt.Binary = "error",
    skip_damaged: opt.SkipDamaged = False,
    weight: opt.Weights = None,
) -> None:
    """Count the distinct pretokens of text and save them, to train on once or often.

    tokenmill count corpus/*.txt --split cl100k -o my-counts
    """
    from ..counting import CountOptions
    from ..counting.count_jobs import count_to_folder
    from ..counting.sum_saved import add_up
    from ..split import Splitter

    options = CountOptions(min_count, memory_limit, approximate_prune, documents.read, binary, weight or ())  # type: ignore[arg-type]
    splitter = Splitter(*(split or ["cl100k"]), special_tokens=special_token or ())
    if estimate:
        from ..counting.estimate import estimate as estimate_counts

        report(_prediction(estimate_counts(sources, splitter, options, num_threads=running.num_threads)), result.json)
        return
    if output is None:
        raise UsageError("name the folder for the word counts with -o, or only predict with --estimate")
    if output.suffix in (".ddfreq", ".tsv") and not merge:
        raise UsageError(f"count into a folder first; then: tokenmill count --merge FOLDER -o {output}")
    if not merge:
        say_long_documents(sources, documents.unit)
    skips: list[Skip] = []
    start = time.perf_counter()
    with resumable(output), progress_bar() as progress:
        if merge:
            summary = add_up(
                sources,
                output,
                memory_limit=memory_limit,
                min_count=min_count,
                weights=weight or (),
                overwrite=result.force,
                progress=progress,
            )
        else:
            summary = count_to_folder(
                sources,
                output,
                splitter,
                options,
                on_skip=skips.append if skip_damaged else None,
                job=running.job(overwrite=result.force),
                progress=progress,
            )
    say_skips(skips)
    counted = _counted(output, summary, time.perf_counter() - start, merge)
    report({**counted, **shares_row(summary.shares, result.json)}, result.json)


def _counted(output: Path, summary: Summary, seconds: float, merged: bool) -> dict[str, Any]:
    speed = (summary.total_bytes - summary.resumed_bytes) / 1e6 / max(seconds, 1e-9)
    return {
        "word_counts": str(output),
        "documents": summary.documents,
        "bytes": summary.total_bytes,
        "bytes_counted_before": summary.resumed_bytes,
        "pretokens": summary.pretokens,
        "distinct_pretokens": summary.distinct,
        "left_out": summary.skipped,
        "spills_to_disk": summary.spills,
        "singletons_dropped": summary.dropped,
        "possible_error_per_pretoken": summary.possible_error,
        "seconds": round(seconds, 3),
        "mb_per_second": None if merged else round(speed, 1),
    }


def _prediction(found: Estimate) -> dict[str, Any]:
    return {
        "bytes": found.total_bytes,
        "bytes_sampled": found.sampled,
        "distinct_pretokens": found.distinct,
        "growth_exponent": found.growth,
        "threads": found.threads,
        "memory_limit_mb": found.memory_limit // 10**6,
        "memory_without_limit_mb": found.memory // 10**6,
        "spills_to_disk": found.spills,
        "disk_for_spills_mb": found.spill_disk // 10**6,
        "disk_for_word_counts_mb": math.ceil(found.disk / 1e6),
        "seconds": found.seconds,
    }
