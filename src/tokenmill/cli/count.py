"""tokenmill count: text to word counts."""

from __future__ import annotations

from typing import Any

from ..counting.job import Count
from . import _commands as opt
from ._console import listed, progress_bar, report, resumable, say_long_documents, shares_row, speed


def count(job: Count, *, json: opt.Json = False) -> None:
    job.check()
    if not job.merge:
        say_long_documents(job.sources, job.options.read.unit)
    with listed() as skips, resumable(job.folder), progress_bar() as progress:
        summary = job.run(progress=progress, on_skip=skips.append)
    pruned = f"{summary.pruned:,} of {summary.pruned + summary.distinct:,}" if summary.pruned else None
    rows: dict[str, Any] = {
        "word_counts": str(job.output),
        "documents": summary.documents,
        "bytes": summary.total_bytes,
        "bytes_counted_before": summary.resumed_bytes,
        "weighted_pretokens" if summary.shares else "pretokens": summary.pretokens,
        "distinct_pretokens": summary.distinct,
        "pruned_pretokens": summary.pruned if json else pruned,
        "left_out": summary.skipped,
        "spills_to_disk": summary.spills,
        **speed(summary.seconds, None if job.merge else summary.total_bytes - summary.resumed_bytes),
    }
    report(rows | shares_row(summary.shares, json), json)
