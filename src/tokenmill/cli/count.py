"""tokenmill count: text to word counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..counting.job import Count
from ..counting.options import CountSummary
from . import _options as opt
from ._console import progress_bar, report, resumable, say_long_documents, say_skips, shares_row, speed

if TYPE_CHECKING:
    from ..counting.estimate import Estimate
    from ..sources.find import Skip


def count(job: Count, *, json: opt.Json = False) -> None:
    job.check()
    if not job.merge and not job.estimate:
        say_long_documents(job.sources, job.options.read.unit)
    skips: list[Skip] = []
    with resumable(job.output), progress_bar() as progress:
        result = job.run(progress, skips.append)
    say_skips(skips)
    if isinstance(result, CountSummary):
        report({"word_counts": str(job.output), **_counted(result, job.merge), **shares_row(result.shares, json)}, json)
    else:
        report(_prediction(result), json)


def _counted(summary: CountSummary, merged: bool) -> dict[str, Any]:
    return {
        "documents": summary.documents,
        "bytes": summary.total_bytes,
        "bytes_counted_before": summary.resumed_bytes,
        "pretokens": summary.pretokens,
        "distinct_pretokens": summary.distinct,
        "left_out": summary.skipped,
        "spills_to_disk": summary.spills,
        "singletons_dropped": summary.dropped,
        "possible_error_per_pretoken": summary.possible_error,
        **speed(summary.seconds, None if merged else summary.total_bytes - summary.resumed_bytes),
    }


def _prediction(estimate: Estimate) -> dict[str, Any]:
    return {
        "bytes": estimate.total_bytes,
        "bytes_sampled": estimate.sampled,
        "distinct_pretokens": estimate.distinct,
        "growth_exponent": estimate.growth,
        "threads": estimate.threads,
        "memory_limit_mb": estimate.memory_limit // 10**6,
        "memory_without_limit_mb": estimate.memory // 10**6,
        "spills_to_disk": estimate.spills,
        "disk_for_spills_mb": estimate.spill_disk // 10**6,
        "disk_for_word_counts_mb": math.ceil(estimate.disk / 1e6),
        "seconds": estimate.seconds,
    }
