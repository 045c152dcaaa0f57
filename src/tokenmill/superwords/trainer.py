"""Both kinds of superword training behind one class."""

from __future__ import annotations

from ..counting import WordCounts
from ..errors import UsageError
from ..jobs.progress import Progress
from ..jobs.work import JobOptions
from ..jobs.working_folder import WorkingFolder
from ..training import Options
from ..vocabulary import Vocabulary
from .boundless import train_boundless
from .passes import Job
from .resumable_passes import Parts
from .superbpe import train_superbpe
from .text import Text


class SuperwordTraining:
    """Trains superwords. The result does not depend on the memory limit or the number of threads.

    counts: the word counts of `text`.
    options: with `superwords`.
    folder: where a training of files saves its passes, to go on after an interruption. running: how they are done.
    """

    def __init__(
        self,
        counts: WordCounts,
        text: Text,
        options: Options,
        memory_limit: str | int | None = None,
        progress: Progress | None = None,
        folder: WorkingFolder | None = None,
        running: JobOptions | None = None,
    ) -> None:
        if counts.mixture:
            raise UsageError("superwords are not for weighted word counts: stage 2 reads the text as it is")
        parts = None if folder is None else Parts(folder)
        self._job = Job(counts, text, options, memory_limit, progress, parts, running or JobOptions())

    def run(self) -> Vocabulary:
        """Train."""
        return train_boundless(self._job) if self._job.options.superwords == "boundless" else train_superbpe(self._job)

    def n_tokens(self) -> None:
        """None: training cuts the text in another way than the tokenizer."""
