"""The real objects of other libraries, made from a vocabulary without a file: tiktoken.Encoding, tokenizers.Tokenizer."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from ..errors import MissingExtraError, UsageError
from ..vocabulary import Vocabulary
from .file_content import read_bytes
from .huggingface import tokenizer_json
from .rank_merges import present_by_rank
from .tiktoken_file import covering_pattern, looks_like_tiktoken, parse_tiktoken, tiktoken_tokens

if TYPE_CHECKING:
    import tiktoken
    import tokenizers

__all__ = ["LibraryEncoder", "encode_with_library", "to_hf", "to_tiktoken"]


class LibraryEncoder:
    """Encodes text with the library that a file is made for, all special tokens allowed.

    library: its name and version.
    """

    def __init__(self, library: ModuleType, encode: Callable[[str], list[int]]):
        from importlib.metadata import version

        self.library = f"{library.__name__} {version(library.__name__)}"
        self._encode = encode

    def __call__(self, text: str) -> list[int]:
        return self._encode(text)


def encode_with_library(
    path: str | os.PathLike, vocabulary: Vocabulary, *, missing_ok: bool = False
) -> LibraryEncoder | None:
    """The file or folder at `path` opened by tokenizers (tokenizer.json) or tiktoken (.tiktoken).

    vocabulary: what tokenmill reads from it; tiktoken takes the split pattern and the special tokens from there.
    missing_ok: give None where there is no such library, or it is not installed, instead of an error.
    """
    place = Path(path)
    if place.is_dir():
        place /= "tokenizer.json"
    data = read_bytes(place) if place.is_file() else b""
    try:
        if data.lstrip().startswith(b"{") and b'"model"' in data:
            import tokenizers

            hf = tokenizers.Tokenizer.from_str(data.decode())
            return LibraryEncoder(tokenizers, lambda text: hf.encode(text, add_special_tokens=False).ids)
        if looks_like_tiktoken(data):
            import tiktoken

            tokens = parse_tiktoken(data, str(place))
            encoding = _encoding("file", tokens, vocabulary)
            return LibraryEncoder(tiktoken, lambda text: encoding.encode(text, allowed_special="all"))
    except ImportError as error:
        if missing_ok:
            return None
        raise MissingExtraError(f"{error.name} is not installed: pip install {error.name}") from error
    if missing_ok:
        return None
    raise UsageError(f"{path}: no other library reads this: tokenizer.json is for tokenizers, .tiktoken for tiktoken")


def to_tiktoken(vocabulary: Vocabulary, name: str = "tokenmill", *, lossy: bool = False) -> tiktoken.Encoding:
    """A tiktoken.Encoding that gives the same ids. ConversionError where none does.

    lossy: for a Picky vocabulary, give its present tokens, encoded by rank; some texts then get other ids.
    """
    try:
        import tiktoken  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("to_tiktoken() needs tiktoken, which is not installed: pip install tiktoken") from error
    if vocabulary.order == "events" and lossy:
        vocabulary = present_by_rank(vocabulary)
    tokens, _ = tiktoken_tokens(vocabulary)
    return _encoding(name, tokens, vocabulary)


def _encoding(name: str, tokens: Sequence[bytes | None], vocabulary: Vocabulary) -> tiktoken.Encoding:
    import tiktoken

    return tiktoken.Encoding(
        name,
        pat_str=covering_pattern(vocabulary.split_patterns[0]),
        mergeable_ranks={token: id for id, token in enumerate(tokens) if token is not None},
        special_tokens=vocabulary.special_tokens,
    )


def to_hf(vocabulary: Vocabulary, *, lossy: bool = False) -> tokenizers.Tokenizer:
    """A tokenizers.Tokenizer that gives the same ids. ConversionError where none does.

    lossy: for a Picky vocabulary, give its present tokens, encoded by rank; some texts then get other ids.
    """
    try:
        import tokenizers
    except ImportError as error:
        raise MissingExtraError("to_hf() needs tokenizers, which is not installed: pip install tokenizers") from error
    if vocabulary.order == "events" and lossy:
        vocabulary = present_by_rank(vocabulary)
    data, _ = tokenizer_json(vocabulary)
    return tokenizers.Tokenizer.from_str(data.decode())
