"""Objects of other libraries, made from a vocabulary without a file: tiktoken.Encoding and tokenizers.Tokenizer."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import MissingExtraError, UsageError
from ..vocabulary import Vocabulary
from .file_content import read_bytes
from .huggingface import tokenizer_json
from .rank_merges import present_by_rank
from .tiktoken_file import covering_pattern, looks_like_tiktoken, parse_tiktoken, tiktoken_tokens

if TYPE_CHECKING:
    import tiktoken
    import tokenizers


class LibraryEncoder(NamedTuple):
    """The name and version of a library, and its encoding of text with all special tokens allowed."""

    library: str
    encode: Callable[[str], list[int]]


def encode_with_library(
    path: str | os.PathLike, vocabulary: Vocabulary, *, missing_ok: bool = False
) -> LibraryEncoder | None:
    """The file or folder at `path` opened by tokenizers (tokenizer.json) or tiktoken (.tiktoken).

    vocabulary: what tokenmill reads from it; tiktoken takes the split pattern and the special tokens from there.
    missing_ok: return None if no library reads the file, or it is not installed, instead of an error.
    """
    from importlib.metadata import version

    place = Path(path)
    if place.is_dir():
        place /= "tokenizer.json"
    data = read_bytes(place) if place.is_file() else b""
    try:
        if data.lstrip().startswith(b"{") and b'"model"' in data:
            hf = _hf_tokenizer(data)
            return LibraryEncoder(
                f"tokenizers {version('tokenizers')}", lambda text: hf.encode(text, add_special_tokens=False).ids
            )
        if looks_like_tiktoken(data):
            encoding = _encoding("file", parse_tiktoken(data, str(place)), vocabulary)
            return LibraryEncoder(
                f"tiktoken {version('tiktoken')}", lambda t: encoding.encode(t, allowed_special="all")
            )
    except MissingExtraError:
        if not missing_ok:
            raise
    if missing_ok:
        return None
    raise UsageError(f"{path}: no other library reads this: tokenizer.json is for tokenizers, .tiktoken for tiktoken")


def _imported(library: str) -> Any:
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise MissingExtraError(f"{library} is not installed: pip install {library}") from error


def to_tiktoken(vocabulary: Vocabulary, name: str = "tokenmill", *, lossy: bool = False) -> tiktoken.Encoding:
    """A tiktoken.Encoding that gives the same ids; ConversionError if no object does.

    lossy: export the present tokens of a Picky vocabulary, encoded by rank; some texts then get other ids.
    """
    vocabulary = present_by_rank(vocabulary) if lossy else vocabulary
    return _encoding(name, tiktoken_tokens(vocabulary)[0], vocabulary)


def _encoding(name: str, tokens: Sequence[bytes | None], vocabulary: Vocabulary) -> tiktoken.Encoding:
    return _imported("tiktoken").Encoding(
        name,
        pat_str=covering_pattern(vocabulary.split_patterns[0]),
        mergeable_ranks={token: id for id, token in enumerate(tokens) if token is not None},
        special_tokens=vocabulary.special_tokens,
    )


def to_hf(vocabulary: Vocabulary, *, lossy: bool = False) -> tokenizers.Tokenizer:
    """A tokenizers.Tokenizer that gives the same ids; ConversionError if no object does.

    lossy: as for `to_tiktoken`.
    """
    return _hf_tokenizer(tokenizer_json(present_by_rank(vocabulary) if lossy else vocabulary)[0])


def _hf_tokenizer(data: bytes) -> tokenizers.Tokenizer:
    return _imported("tokenizers").Tokenizer.from_str(data.decode())
