"""The tokenizer of a job: how it is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from ..options import Option, Options
from .loading import load
from .tokenizer import Tokenizer

TokenizerOption = Annotated[Any, Option("The tokenizer: a file, a folder, or the name of a published encoding.")]


@dataclass(frozen=True)
class Opening(Options):
    """The options for opening a tokenizer."""

    split: Annotated[str | None, Option("The split pattern, for a tokenizer file that does not have it.")] = None
    download: Annotated[bool, Option("Allow the download of a published encoding.", "--download")] = False

    def load(self, tokenizer: str | Tokenizer) -> Tokenizer:
        """Load the tokenizer of a file, a folder or a name. A Tokenizer is returned unchanged."""
        if isinstance(tokenizer, Tokenizer):
            return tokenizer
        return load(tokenizer, **vars(self))


@dataclass(frozen=True)
class EncoderOpening(Opening):
    """The options for opening a tokenizer that encodes."""

    # fmt: off
    drop_unknown: Annotated[bool, Option("Drop characters without a token, as tokenizers does.", "--drop-unknown")] = False
    # fmt: on
