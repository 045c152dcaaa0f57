"""Options to load the tokenizer of a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from ..errors import UsageError
from ..options import Option, Options
from ..split.names import pattern_names
from .loading import load
from .tokenizer import Tokenizer

TokenizerOption = Annotated[
    Any, Option("A file, a folder, a published encoding (cl100k_base), or a hub name (org/name).")
]


@dataclass(frozen=True)
class Opening(Options):
    """The options to load a tokenizer."""

    # fmt: off
    split: Annotated[str | None, Option("The split pattern, for a tokenizer file that does not have it.", known=pattern_names)] = None
    # fmt: on
    download: Annotated[bool, Option("Allow downloads of published encodings and from the hub.", "--download")] = False

    def load(self, tokenizer: str | Tokenizer) -> Tokenizer:
        """Load the tokenizer of a file, a folder or a name. A Tokenizer is returned unchanged."""
        if isinstance(tokenizer, Tokenizer):
            return tokenizer
        return load(tokenizer, **vars(self))

    def load_each(self, tokenizers: Sequence[str]) -> list[Tokenizer]:
        """Load several tokenizers. Files without a split pattern get `split`. Raises UsageError if all files have one."""
        loaded, needed = [], self.split is None
        for tokenizer in tokenizers:
            try:
                loaded.append(replace(self, split=None).load(tokenizer))
            except UsageError:
                loaded.append(self.load(tokenizer))
                needed = True
        if not needed:
            self.load(tokenizers[0])
        return loaded


@dataclass(frozen=True)
class EncoderOpening(Opening):
    """The options to load a tokenizer that encodes."""

    # fmt: off
    drop_unknown: Annotated[bool, Option("Drop characters without a token, as tokenizers does.", "--drop-unknown")] = False
    # fmt: on
