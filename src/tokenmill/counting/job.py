"""The job of counting: text to saved word counts, or a sum of saved counts."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import OptionName
from ..jobs.outputs import refuse_existing, remove
from ..jobs.work import JobOptions
from ..jobs.working_folder import alone
from ..options import Option, Options, fields_of
from ..sources.blocks import ReadOptions
from .ddfreq import SUFFIX, write_ddfreq
from .options import CountOptions, CountSummary, Sources, SpecialTokens, Split

if TYPE_CHECKING:
    from ..jobs.progress import Progress
    from ..sources.find import OnSkip


@dataclass(frozen=True, kw_only=True)
class Count(Options):
    """Count the distinct pretokens of text and save them, to train on once or often.

    tokenmill count corpus/*.txt --split cl100k -o my-counts
    """

    sources: Sources
    output: Annotated[Path, Option("The folder for the word counts; or a .ddfreq file.", "-o", "--output")]
    merge: Annotated[bool, Option("Add up word counts (folders, .ddfreq) into -o.", "--merge")] = False
    split: Split = ()
    special_tokens: SpecialTokens = ()
    options: CountOptions = field(default_factory=CountOptions)
    job: JobOptions = field(default_factory=JobOptions)

    def _unused(self) -> Iterator[tuple[Sequence[Any], Collection[str]]]:
        if self.merge:
            text = {"split", "special_tokens", "binary", "num_threads"}
            running = {"engine", "ray_address", "resume"}
            yield (OptionName("merge", True),), text | running | {*fields_of(ReadOptions)}

    def check(self) -> None:
        """Raise UsageError for options that do not go together."""
        self._refuse_unused()

    @property
    def folder(self) -> Path:
        """The folder to count into. For a .ddfreq file, a hidden temporary folder next to it."""
        as_file = self.output.suffix == SUFFIX and not self.merge
        return self.output.with_name(f".{self.output.name}.counts") if as_file else self.output

    def run(self, *, progress: Progress | None = None, on_skip: OnSkip | None = None) -> CountSummary:
        """Count or add up. on_skip: called for all that `skip_damaged` leaves out, in place of a warning."""
        from ..split import Splitter
        from ..split.patterns import DEFAULT
        from .add_saved import add_up
        from .store import SavedCounts
        from .to_folder import count_to_folder

        self.check()
        options, job, output = self.options, self.job, self.output
        start = time.perf_counter()
        splitter = Splitter(*(self.split or [DEFAULT]), special_tokens=self.special_tokens)
        skip = on_skip if options.read.skip_damaged else None
        count = partial(count_to_folder, split=splitter, options=options, on_skip=skip, progress=progress)
        if self.merge:
            more: dict[str, Any] = {"min_count": options.min_count, "weights": options.weights, "progress": progress}
            summary = add_up(self.sources, output, memory_limit=options.memory_limit, overwrite=job.overwrite, **more)
        elif self.folder == output:
            summary = count(self.sources, output, job=job)
        else:
            refuse_existing(output, overwrite=job.overwrite, sources=self.sources)
            with alone(output):
                try:
                    summary = count(self.sources, self.folder, job=replace(job, overwrite=True))
                    refuse_existing(output, overwrite=job.overwrite)
                    write_ddfreq(output, SavedCounts(self.folder).row_groups())
                finally:
                    remove(self.folder)
        return replace(summary, seconds=time.perf_counter() - start)
