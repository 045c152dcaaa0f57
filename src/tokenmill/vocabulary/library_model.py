"""`LibraryModel`: a tokenizer file that another library encodes with, because it is not BPE or needs steps that the kernels lack."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import require
from .lazy import lazy
from .validation import VocabularyError

Result = TypeVar("Result")


class LibraryModel:
    """The content of a tokenizer file, and its algorithm.

    data: a tokenizer.json, which tokenizers reads, or a SentencePiece model, which sentencepiece reads.
    kind: "WordPiece", "Unigram", "WordLevel", "BPE", ...; for people.
    """

    def __init__(self, data: bytes, kind: str):
        self.data, self.kind = data, kind

    @property
    def library(self) -> str:
        """The library that reads the file."""
        return "tokenizers" if self.data.lstrip()[:1] == b"{" else "sentencepiece"

    @lazy
    def tokenizer(self) -> Any:
        """The library's object: tokenizers.Tokenizer or SentencePieceProcessor. Threads share it."""
        return self.open(self.data)

    @lazy
    def ordinary_tokenizer(self) -> Any:
        """The same, where control tokens in text are ordinary text, and never found in it."""
        if self.library == "sentencepiece":
            return self.tokenizer
        tokenizer = self.open(_without_control_tokens(self.data))
        tokenizer.encode_special_tokens = True
        return tokenizer

    def count_dropped(self, text: str) -> int:
        """The number of characters, after normalization and splitting, that have no token in a BPE model and are dropped."""
        if self.library != "tokenizers" or self.kind != "BPE":
            return 0
        import json  # late, like the other import of it: it takes a millisecond, and kernels need none

        model = json.loads(self.data)["model"]
        if model.get("unk_token") is not None:
            return 0
        steps, known = self.tokenizer, model["vocab"].keys()
        text = text if steps.normalizer is None else steps.normalizer.normalize_str(text)
        parts = (
            [text] if steps.pre_tokenizer is None else [part for part, _ in steps.pre_tokenizer.pre_tokenize_str(text)]
        )
        missing = [each for part in parts for each in part if each not in known]
        fallback = model.get("byte_fallback", False)
        return sum(not fallback or any(f"<0x{byte:02X}>" not in known for byte in each.encode()) for each in missing)

    def open(self, data: bytes) -> Any:
        """Return a new object of the library. VocabularyError if it cannot read `data`."""
        library: Any = require(self.library, "libraries", f"a {self.kind} tokenizer")
        problem = f"{self.library} {library.__version__} cannot read this file"
        if self.library == "sentencepiece":
            return library_call(VocabularyError, problem, library.SentencePieceProcessor, model_proto=data)
        tokenizer = library_call(VocabularyError, problem, library.Tokenizer.from_buffer, data)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def __reduce__(self) -> tuple[Any, ...]:
        return LibraryModel, (self.data, self.kind)


def _without_control_tokens(data: bytes) -> bytes:
    """The content of a tokenizer.json whose control tokens have, in the vocabulary, names that no text spells.

    tokenizers takes a control token that is in the vocabulary for an ordinary token too. Tokens that merges make stay.
    """
    import json

    root = json.loads(data)
    model, vocab = root["model"], root["model"]["vocab"]
    if "merges" in model:
        return data
    control = {token["content"] for token in root.get("added_tokens") or () if token.get("special")}
    control -= {model.get("unk_token")}
    hidden = f"\0{os.urandom(16).hex()}"
    if isinstance(vocab, list):
        control &= {text for text, _ in vocab}
        model["vocab"] = [[hidden + text if text in control else text, score] for text, score in vocab]
    else:
        control &= vocab.keys()
        model["vocab"] = {hidden + text if text in control else text: id for text, id in vocab.items()}
    # The others are numbered in turn by tokenizers, so they stay in the list.
    root["added_tokens"] = [token for token in root.get("added_tokens") or () if token["content"] not in control]
    return json.dumps(root).encode()


def library_call(
    error: type[Exception], problem: str, function: Callable[..., Result], *arguments: Any, **options: Any
) -> Result:
    """Call a function of a library. Its exceptions, and panics of Rust, become `error`, whose message begins with `problem`."""
    try:
        return function(*arguments, **options)
    except (KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit):
        raise
    except BaseException as failure:  # Rust's PanicException is not an Exception
        raise error(f"{problem}: {failure}") from failure
