"""Formats: vocabulary to file and back.

    huggingface   a folder with tokenizer.json and tokenizer_config.json
    tiktoken      a .tiktoken file
    merges        a folder with vocab.json and merges.txt
    ddtok         a folder with vocab.ddtok and merges.ddtok
    gguf          a .gguf file, without weights
    sentencepiece a .model file

`read` tells the format by content. `write` returns what the format does not hold, item by item, and refuses what would
change ids.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .libraries import encode_with_library, to_hf, to_tiktoken
    from .published_encodings import PUBLISHED
    from .reading import FORMATS, read
    from .writing import check_output, write

__all__ = ["FORMATS", "PUBLISHED", "check_output", "encode_with_library", "read", "to_hf", "to_tiktoken", "write"]
_MODULES = {"PUBLISHED": "published_encodings", "FORMATS": "reading", "read": "reading"}
_MODULES |= {"check_output": "writing", "write": "writing"}


def __getattr__(name: str) -> Any:
    """Import a name on first use: to load a saved tokenizer, no format is needed."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES.get(name, 'libraries')}", __name__), name)
