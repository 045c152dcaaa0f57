"""Formats: vocabulary to file and back.

    huggingface   a folder with tokenizer.json and tokenizer_config.json
    tiktoken      a .tiktoken file
    merges        a folder with vocab.json and merges.txt
    ddtok         a folder with vocab.ddtok and merges.ddtok
    gguf          a .gguf file, without weights
    sentencepiece a .model file

`read` detects the format from the content. `write` returns notes on losses, and refuses a format that would change ids.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import lazy_names

if TYPE_CHECKING:
    from .libraries import encode_with_library, to_hf, to_tiktoken
    from .published_encodings import PUBLISHED
    from .reading import FORMATS, read
    from .writing import check_output, write

__all__ = ["FORMATS", "PUBLISHED", "check_output", "encode_with_library", "read", "to_hf", "to_tiktoken", "write"]
__getattr__ = lazy_names(
    __name__,
    libraries="encode_with_library to_hf to_tiktoken",
    published_encodings="PUBLISHED",
    reading="FORMATS read",
    writing="check_output write",
)
