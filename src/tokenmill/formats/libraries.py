"""Encoders of other libraries, from a file; and tiktoken.Encoding and tokenizers.Tokenizer from a vocabulary."""

from __future__ import annotations

import importlib
import os
import unicodedata
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import FormatError, MissingExtraError, UsageError
from ..vocabulary import LibraryModel, Vocabulary
from ..vocabulary.validation import VocabularyError
from .finding import find
from .gguf import MAGIC as GGUF
from .huggingface import looks_like_tokenizer_json, tokenizer_json
from .rank_files import covering_pattern, looks_like_tiktoken, tiktoken_tokens
from .rank_merges import present_by_rank
from .sentencepiece_model import looks_like_sentencepiece

if TYPE_CHECKING:
    import tiktoken
    import tokenizers


class LibraryEncoder(NamedTuple):
    """The name and version of a library, and its function to encode. specials: whether it matches all special tokens."""

    library: str
    encode: Callable[[str], list[int]]
    specials: bool = True


def encode_with_library(
    path: str | os.PathLike, vocabulary: Vocabulary, *, missing_ok: bool = False
) -> LibraryEncoder | None:
    """Open the file or folder at `path` with its own library.

    That is tokenizers for tokenizer.json, sentencepiece for tokenizer.model, llama.cpp for .gguf, and tiktoken for ranks, which are
    .tiktoken, tekken.json and the ranks in JSON of npm's tiktoken.
    vocabulary: the one that tokenmill reads from it. tiktoken gets its split pattern and special tokens.
    missing_ok: return None if no library reads the file, or it is not installed, instead of an error.
    """
    file = find(path)
    data = file.contents[0]
    try:
        if (encoder := encoder_of_content(data)) is not None:
            return encoder
        if data.startswith(GGUF):
            return _llama_cpp(file.path)
        if looks_like_tiktoken(data) or vocabulary.order == "ranks":
            encoding = _encoding("file", vocabulary.tokens, vocabulary)
            # Normalization forms of Unicode, which the publisher's program applies before tiktoken.
            forms: Any = vocabulary.normalization.normalizers

            def encode(text: str) -> list[int]:
                text = reduce(lambda text, form: unicodedata.normalize(form, text), forms, text)
                return encoding.encode(text, allowed_special="all")

            return _named("tiktoken", encode)
    except VocabularyError as error:
        raise FormatError(f"{path}: {error}") from error
    except MissingExtraError:
        if not missing_ok:
            raise
    if missing_ok:
        return None
    raise UsageError(
        f"{path}: no other library reads this here: tokenizer.json is for tokenizers, tokenizer.model for sentencepiece, .gguf "
        "for llama-cpp-python, ranks are for tiktoken"
    )


def encoder_of_content(data: bytes) -> LibraryEncoder | None:
    """Open the content of a tokenizer.json or a tokenizer.model with its library; None for any other file."""
    is_json = looks_like_tokenizer_json(data)
    if not is_json and not looks_like_sentencepiece(data):
        return None
    tokenizer = LibraryModel(data, "tokenizer.json" if is_json else "SentencePiece").tokenizer
    if is_json:
        return _named("tokenizers", lambda text: tokenizer.encode(text, add_special_tokens=False).ids)
    return _named("sentencepiece", tokenizer.encode, specials=False)


def _llama_cpp(file: Path) -> LibraryEncoder:
    """Open a file with llama.cpp."""
    llama_cpp = _imported("llama_cpp", "llama-cpp-python")
    with open(file, "rb") as start:
        compressed = start.read(4) != GGUF
    if compressed:
        raise UsageError(f"{file}: llama.cpp reads only files that are not compressed. Decompress it.")
    try:
        model = llama_cpp.Llama(str(file), vocab_only=True, verbose=False)
    except ValueError as error:
        raise UsageError(f"{file}: llama.cpp does not open this file ({error})") from error
    return _named("llama-cpp-python", lambda text: model.tokenize(text.encode(), add_bos=False, special=True))


def _named(library: str, encode: Callable[[str], list[int]], specials: bool = True) -> LibraryEncoder:
    from importlib.metadata import version

    return LibraryEncoder(f"{library} {version(library)}", encode, specials)


def _imported(library: str, package: str = "") -> Any:
    try:
        return importlib.import_module(library)
    except ImportError as error:
        package = package or library
        raise MissingExtraError(f"{package} is not installed: pip install {package}") from error


def to_tiktoken(vocabulary: Vocabulary, name: str = "tokenmill", *, lossy: bool = False) -> tiktoken.Encoding:
    """Return a tiktoken.Encoding that gives the same ids; see `Tokenizer.to_tiktoken`."""
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
    """Return a tokenizers.Tokenizer that gives the same ids; see `Tokenizer.to_hf`."""
    data = tokenizer_json(present_by_rank(vocabulary) if lossy else vocabulary)[0]
    return _imported("tokenizers").Tokenizer.from_buffer(data)
