"""Train tokens that span words."""

from __future__ import annotations

from collections.abc import Iterable

from ..split import Splitter
from ..training import Options
from ..vocabulary import Vocabulary
from .boundless import train_boundless
from .passes import Job, file_text, memory_text
from .superbpe import stage2_splitter, train_superbpe

__all__ = ["SuperwordTraining", "check_patterns", "file_text", "memory_text"]


def check_patterns(options: Options, patterns: Iterable[str]) -> None:
    """Raise an error for split patterns that superwords cannot be trained with. patterns: those of the word counts."""
    if options.superwords == "boundless":
        Splitter(*patterns, joins=bytes(1 << 13))
    else:
        stage2_splitter(options)


class SuperwordTraining(Job):
    """Trains superwords of both kinds. The result does not depend on the memory limit or the number of threads."""

    def run(self) -> Vocabulary:
        check_patterns(self.options, self.counts.split_patterns)
        return train_boundless(self) if self.options.superwords == "boundless" else train_superbpe(self)

    def n_tokens(self) -> None:
        """None: training cuts the text in another way than the tokenizer."""
