"""tokenmill clean: a dump to shards of clean text."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from . import _options as opt
from ._console import progress_bar, resumable, say, say_long_documents, say_skips
from ._console import report as print_report

if TYPE_CHECKING:
    from ..corpus import CleaningReport


class Limits(opt.Group):
    """What a document may take."""

    max_document: Annotated[int, opt.reading(**opt.number, help="Skip documents with more bytes.")] = "16MiB"  # type: ignore[assignment]  # parsed like an argument
    strict: Annotated[bool, opt.reading(help="Stop at the first document that cannot be read.")] = False
    time_limit: Annotated[float, opt.job(help="Seconds of processor time for one document.")] = 30.0
    document_memory: Annotated[int, opt.job(**opt.number, help="Bytes of memory for one document.")] = "1GiB"  # type: ignore[assignment]  # parsed like an argument
    shard_size: Annotated[int, opt.output(**opt.number, help="Close a shard once it holds so many bytes of text.")] = (
        "256MiB"  # type: ignore[assignment]  # parsed like an argument
    )


def clean(
    kind: Annotated[str, opt.Argument(help="What the sources are: wikipedia, stackexchange, fineweb or text.")],
    sources: opt.Sources,
    documents: opt.Documents,
    limits: Limits,
    running: opt.Running,
    result: opt.Result,
    output: Annotated[Path, opt.Option("--output", "-o", help="The folder for the shards; the report goes beside it.")],
    format: Annotated[str, opt.Option(help="jsonl: shards of JSON lines (.jsonl.zst); text: of plain text.")] = "jsonl",
    filters: Annotated[
        str | None,
        opt.Option(
            help="Filters and sets of filters, with commas between; '' for none. By default careful for wikipedia and "
            "stackexchange, minimal for fineweb and text. ddtokens is the stricter set of a published recipe."
        ),
    ] = None,
    no_filter: Annotated[list[str] | None, opt.Option(help="A filter not to apply; may be given again.")] = None,
    min_chars: Annotated[
        int | None, opt.Option(help="Drop shorter documents; by default 100 for wikipedia and stackexchange, else 1.")
    ] = None,
    keep_code: Annotated[bool, opt.Option(help="Keep code blocks, exactly as they are.")] = True,
) -> None:
    """Clean a dump into shards of text, with a report beside them.

    Run the same command again to resume an interrupted run.

    tokenmill clean wikipedia enwiki-*-pages-articles-multistream.xml.bz2 -o wiki
    """
    from ..corpus import CleanOptions
    from ..corpus import clean as clean_sources
    from ..corpus.filters import chosen_filters

    names = None if filters is None else [name.strip() for name in filters.split(",") if name.strip()]
    unwanted = chosen_filters(no_filter or [])
    filters_of_kind = CleanOptions(filters=None if names is None else tuple(names)).for_kind(kind).filters or ()
    chosen = tuple(name for name in filters_of_kind if name not in unwanted)
    start = time.perf_counter()
    if kind == "text":
        say_long_documents(sources, documents.unit, "is cut into documents of some megabytes")
    with resumable(output, output / ".unfinished"), progress_bar() as progress:
        report = clean_sources(
            kind,
            sources,
            output,
            CleanOptions(
                format,
                chosen,
                min_chars,
                keep_code,
                limits.strict,
                limits.time_limit,
                limits.document_memory,
                limits.shard_size,
                replace(documents.read, max_document_bytes=limits.max_document),
            ),
            job=running.job(overwrite=result.force),
            progress=progress,
        )
    if result.json:
        import json

        print(json.dumps(report.to_json(), ensure_ascii=False))
    else:
        _show(report, output, time.perf_counter() - start)


def _show(report: CleaningReport, output: Path, seconds: float) -> None:
    """The report as a table on stderr."""
    from ..corpus.cleaning import report_path

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
            f"more than half was left out: {count:,} documents, {reason}. See {report_path(output)}. To keep more, change "
            "what a document is (--unit, --max-document), how long it must be (--min-chars) or the filters (--filters)."
        )
