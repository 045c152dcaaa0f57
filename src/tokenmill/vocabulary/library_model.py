"""`LibraryModel`: a tokenizer file that another library encodes with, because it is not BPE or needs steps that the kernels lack."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection
from itertools import chain
from typing import Any, TypeVar

from ..errors import require
from .lazy import lazy
from .validation import VocabularyError

Result = TypeVar("Result")
_RUST_TYPES = r"(, expected \w+ [A-Z]| of untagged enum| for struct|, expected tuple struct)\w*.*?(?= at line|$)"


class LibraryModel:
    """The content of a tokenizer file, and its algorithm.

    data: a tokenizer.json, which tokenizers reads, or a SentencePiece model, which sentencepiece reads.
    kind: "WordPiece", "Unigram", "WordLevel", "BPE", ...: the display name of the algorithm.
    suffixed: for BPE whose words end in a suffix, such as CLIP's, what the kernels need for the same ids: a Vocabulary whose merges know
        nothing of the suffix, and the suffix.
    """

    def __init__(self, data: bytes, kind: str, suffixed: tuple[Any, bytes] | None = None):
        self.data, self.kind, self.suffixed = data, kind, suffixed

    @property
    def library(self) -> str:
        """The name of the library: "tokenizers" or "sentencepiece"."""
        return "tokenizers" if self.data.lstrip()[:1] == b"{" else "sentencepiece"

    @lazy
    def tokenizer(self) -> Any:
        """The library's object: tokenizers.Tokenizer or SentencePieceProcessor. Threads share it."""
        return self.open(self.data)

    @lazy
    def ordinary_tokenizer(self) -> Any:
        """The same, but control tokens in text are ordinary text."""
        if self.library == "sentencepiece":
            return self.tokenizer
        tokenizer = self.open(_without_control_tokens(self.data))
        tokenizer.encode_special_tokens = True
        return tokenizer

    def count_dropped(self, text: str, allowed: Collection[str]) -> int:
        """Return the number of characters, after normalization and splitting, that have no token in a BPE model and are dropped.

        allowed: the control tokens that are matched in the text.
        """
        if self._has_token is None:
            return 0
        tokenizer = self.tokenizer
        for token in tokenizer.get_added_tokens_decoder().values():
            text = text if token.special and token.content not in allowed else text.replace(token.content, "")
        if tokenizer.normalizer is not None:
            text = tokenizer.normalizer.normalize_str(text)
        if tokenizer.pre_tokenizer is not None:
            text = "".join(pretoken for pretoken, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text))
        return sum(count for character, count in Counter(text).items() if not self._has_token(character))

    @lazy
    def _has_token(self) -> Callable[[str], bool] | None:
        """A function: True for a character with a token, or with tokens for its bytes. None for a model that drops nothing."""
        import json  # late, like the other import of it: it takes a millisecond, and kernels need none

        if self.library != "tokenizers" or self.kind != "BPE":
            return None
        model = json.loads(self.data)["model"]
        if model.get("unk_token") is not None:
            return None
        vocab = model["vocab"]
        if not model.get("byte_fallback"):
            return vocab.__contains__
        return lambda text: text in vocab or all(f"<0x{byte:02X}>" in vocab for byte in text.encode())

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
        return LibraryModel, (self.data, self.kind, self.suffixed)


def _without_control_tokens(data: bytes) -> bytes:
    """Return a tokenizer.json whose vocabulary has, for control tokens, names that no text spells.

    Under their own names they are ordinary tokens of tokenizers too. Tokens that merges name stay, and those of one character.
    """
    import json

    root = json.loads(data)
    model, vocab = root["model"], root["model"]["vocab"]
    control = {token["content"] for token in root.get("added_tokens") or () if token.get("special")}
    control -= {model.get("unk_token")}
    if "merges" in model:
        if not model.get("ignore_merges"):
            return data
        pairs = [merge.split(" ") if isinstance(merge, str) else merge for merge in model["merges"]]
        control = {text for text in control if len(text) > 1}
        control -= {*chain(*pairs), *map("".join, pairs)}
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
    """Call a function of a library. Exceptions and panics of Rust become `error`, whose message begins with `problem`."""
    try:
        return function(*arguments, **options)
    except (KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit):
        raise
    except BaseException as failure:  # Rust's PanicException is not an Exception
        raise error(f"{problem}: {re.sub(_RUST_TYPES, '', str(failure))}") from failure
