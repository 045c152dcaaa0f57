"""tokenmill makes, uses and judges byte-level BPE tokenizers.

>>> import tokenmill
>>> tok = tokenmill.train_from_iterator(["low low low low low", "lower newest"], vocab_size=260)
>>> tok.decode(tok.encode("lowest"))
'lowest'

The names below are loaded when they are first used, so that `import tokenmill` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import load, train, train_from_counts, train_from_iterator
    from .counting import WordCounts, count, count_iterator
    from .split import Splitter
    from .token_files import encode_files, load_tokens
    from .tokenizer import Tokenizer
    from .vocabulary import AddedToken, Vocabulary

__version__ = "0.1.0"

__all__ = [
    "AddedToken",
    "Splitter",
    "Tokenizer",
    "Vocabulary",
    "WordCounts",
    "count",
    "count_iterator",
    "encode_files",
    "errors",
    "load",
    "load_tokens",
    "train",
    "train_from_counts",
    "train_from_iterator",
]

_HOMES = {
    "AddedToken": "vocabulary",
    "Splitter": "split",
    "Tokenizer": "tokenizer",
    "Vocabulary": "vocabulary",
    "WordCounts": "counting",
    "count": "counting",
    "count_iterator": "counting",
    "encode_files": "token_files",
    "load": "api",
    "load_tokens": "token_files",
    "train": "api",
    "train_from_counts": "api",
    "train_from_iterator": "api",
}


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module(".errors", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'tokenmill' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
