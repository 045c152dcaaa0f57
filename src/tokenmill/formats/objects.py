"""The real objects of other libraries, made from a vocabulary without a file: tiktoken.Encoding, tokenizers.Tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import MissingExtraError
from ..vocabulary import Vocabulary
from .huggingface import tokenizer_json
from .rank_merges import present_by_rank
from .tiktoken_file import covering_pattern, tiktoken_tokens

if TYPE_CHECKING:
    import tiktoken
    import tokenizers

__all__ = ["to_hf", "to_tiktoken"]


def to_tiktoken(vocabulary: Vocabulary, name: str = "tokenmill", *, lossy: bool = False) -> tiktoken.Encoding:
    """A tiktoken.Encoding that gives the same ids. ConversionError where none does.

    lossy: for a Picky vocabulary, give its present tokens, encoded by rank; some texts then get other ids.
    """
    try:
        import tiktoken
    except ImportError as error:
        raise MissingExtraError("to_tiktoken() needs tiktoken, which is not installed: pip install tiktoken") from error
    if vocabulary.order == "events" and lossy:
        vocabulary = present_by_rank(vocabulary)
    tokens, _ = tiktoken_tokens(vocabulary)
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
