"""The job of cleaning: a dump to shards of clean text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from ..jobs.work import JobOptions
from ..options import Argument, Option, Options
from ..sources.blocks import INPUT, MAX_DOCUMENT_BYTES
from .options import CleanOptions

if TYPE_CHECKING:
    from ..jobs.progress import Progress
    from .report import CleaningReport


@dataclass(frozen=True, kw_only=True)
class Clean(Options):
    """Clean a dump into shards of text, and report what was removed.

    Run the same command again to resume an interrupted run.

    tokenmill clean wikipedia enwiki-*-pages-articles-multistream.xml.bz2 -o wiki
    """

    # fmt: off
    kind: Annotated[Literal["wikipedia", "stackexchange", "fineweb", "text"], Argument("What the sources are: wikipedia, stackexchange, fineweb or text.")]
    sources: Annotated[Sequence[str], Argument("Files, folders, globs, URLs, plain or compressed; - is standard input.")]
    output: Annotated[Path, Option("The folder for the shards; the report is written next to it.", "-o", "--output")]
    max_document_bytes: Annotated[int, Option("Skip documents with more bytes.", "--max-document", min=1, section=INPUT)] = MAX_DOCUMENT_BYTES
    # fmt: on
    options: CleanOptions = field(default_factory=CleanOptions)
    job: JobOptions = field(default_factory=JobOptions)

    def run(self, *, progress: Progress | None = None) -> CleaningReport:
        """Clean, or resume an interrupted run."""
        from .cleaning import clean

        read = replace(self.options.read, max_document_bytes=self.max_document_bytes)
        options = replace(self.options, read=read)
        return clean(self.kind, self.sources, self.output, options=options, job=self.job, progress=progress)
