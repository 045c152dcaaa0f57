"""Train tokens that span words."""

from __future__ import annotations

from ..vocabulary import Vocabulary
from .boundless import train_boundless
from .passes import Job, file_text, memory_text
from .superbpe import stage2_splitter, train_superbpe

__all__ = ["SuperwordTraining", "file_text", "memory_text", "stage2_splitter"]


class SuperwordTraining(Job):
    """Trains superwords of both kinds. The result does not depend on the memory limit or the number of threads."""

    def run(self) -> Vocabulary:
        return train_boundless(self) if self.options.superwords == "boundless" else train_superbpe(self)

    def n_tokens(self) -> None:
        """None, because training splits the text in another way than the tokenizer."""
