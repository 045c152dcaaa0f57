"""tokenmill clean: a dump to shards of clean text."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from ..corpus import CleaningReport
from ..corpus.cleaning import Clean, report_path
from ..errors import plural
from . import _commands as opt
from ._console import progress_bar, resumable, say, say_long_documents, say_skips
from ._console import report as print_report


def clean(job: Clean, *, json: opt.Json = False) -> None:
    start = time.perf_counter()
    if job.kind == "text":
        say_long_documents(job.sources, job.options.read.unit, "is cut into documents of some megabytes")
    with resumable(job.output, job.output / ".unfinished"), progress_bar() as progress:
        report = job.run(progress=progress)
    if json:
        print_report(report.to_json(), True)
    else:
        _show(report, job.output, time.perf_counter() - start)


def _show(report: CleaningReport, output: Path, seconds: float) -> None:
    rows: dict[str, Any] = {"documents in": report.documents_in, "  kept": report.documents_kept}
    rows |= {f"  dropped: {reason}": count for reason, count in report.dropped.items()}
    rows |= {
        "  skipped: could not be read": report.skipped_count,
        "bytes in": report.bytes_in,
        "bytes out": report.bytes_out,
        "shards": len(report.shards),
        "seconds": f"{seconds:,.1f}",
    }
    if report.changed:
        rows["characters changed by filters"] = ""
        for name, change in report.changed.items():
            before, after = change["examples"][0]
            rows[f"  {name}"] = f"{change['characters']:,}, such as {before[:40]!r} to {after[:40]!r}"
    if report.most_removed:
        rows |= {"removed most often": "", **{f"  {what}": count for what, count in report.most_removed}}
    print_report(rows, False)
    say_skips(report.skipped, report.skipped_count, f", listed in {report_path(output)}")
    lost = report.documents_lost
    if 2 * sum(lost.values()) > report.documents_kept + sum(lost.values()):
        reason, count = max(lost.items(), key=lambda item: item[1])
        say(
            f"more than half was left out: {plural(count, 'document')}, {reason}. See {report_path(output)}. To keep more, change "
            "what a document is (--unit, --max-document), how long it must be (--min-chars) or the filters (--filters)."
        )
