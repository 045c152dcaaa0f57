"""The options of training: what they may be, and what is said of those that cannot be right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from ..errors import UsageError

__all__ = ["LONGEST", "Options", "checked_special_tokens"]

LONGEST = 2**30  # ids, and the bytes of a token, stay below this: the kernels hold them in 30 bits


@dataclass
class Options:
    """The options of `train_from_counts`, checked."""

    vocab_size: int
    special_tokens: tuple[str, ...]
    min_count: int
    min_pair_count: int
    max_token_bytes: int | None
    num_threads: int | None
    alphabet: str
    coverage: float
    unknown_token: str | None
    refine: float | None
    algorithm: str

    def __post_init__(self) -> None:
        self.special_tokens = checked_special_tokens(self.special_tokens)
        _check_whole("vocab_size", self.vocab_size, 1)
        if self.vocab_size >= LONGEST:
            raise UsageError(f"vocab_size is {self.vocab_size}; at most {LONGEST - 1} tokens can be trained")
        _check_whole("min_count", self.min_count, 1)
        _check_whole("min_pair_count", self.min_pair_count, 1)
        if self.max_token_bytes is not None:
            _check_whole("max_token_bytes", self.max_token_bytes, 1)
        if self.num_threads is not None:
            _check_whole("num_threads", self.num_threads, 1)
        if self.alphabet not in ("bytes", "characters"):
            raise UsageError(f'alphabet is {self.alphabet!r}; choose "bytes" or "characters"')
        _check_share("coverage", self.coverage)
        if self.alphabet == "bytes" and (self.coverage != 1 or self.unknown_token is not None):
            raise UsageError('coverage and unknown_token are for alphabet="characters"; with bytes nothing is unknown')
        if self.unknown_token is not None:
            checked_special_tokens([self.unknown_token])
            self.special_tokens = tuple(text for text in self.special_tokens if text != self.unknown_token)
        if self.refine is not None:
            _check_share("refine", self.refine)
        if self.algorithm not in ("heap", "naive"):
            raise UsageError(f'algorithm is {self.algorithm!r}; choose "heap" or "naive"')

    @property
    def max_bytes(self) -> int:
        """The most bytes a token may have."""
        return min(self.max_token_bytes or LONGEST, LONGEST)

    def needs(self, alphabet_size: int) -> None:
        """UsageError unless the vocabulary has room for the alphabet and the special tokens."""
        needed = alphabet_size + len(self.special_tokens)
        if self.vocab_size < needed:
            what = "the 256 bytes" if self.alphabet == "bytes" else f"the {alphabet_size} characters"
            more = f" and {len(self.special_tokens)} special tokens" if self.special_tokens else ""
            raise UsageError(f"vocab_size is {self.vocab_size}, but {what}{more} need at least {needed}")


def exact(share: float) -> Fraction:
    """A share as the decimal number it is written as, with a denominator of at most 10**18."""
    return Fraction(str(share)).limit_denominator(10**18)


def checked_special_tokens(texts: Iterable[str]) -> tuple[str, ...]:
    """The special tokens as a tuple, or a UsageError that says which cannot be one."""
    if isinstance(texts, str | bytes):
        raise UsageError(f"special_tokens is the single text {texts!r}; give a list of texts")
    texts = tuple(texts)
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f"the special token {text!r} is {type(text).__name__}; special tokens are texts (str)")
        if not text:
            raise UsageError("a special token is empty; it would be found everywhere")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"the special token {text!r} holds a lone surrogate, which no UTF-8 text can") from error
        if texts.count(text) > 1:
            raise UsageError(f"the special token {text!r} is given {texts.count(text)} times; give each once")
    return texts


def _check_whole(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"{name} is {value!r}; it must be a whole number")
    if value < least:
        raise UsageError(f"{name} is {value}; it must be at least {least}")


def _check_share(name: str, value: object) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
        raise UsageError(f"{name} is {value!r}; it is a share, above 0 and at most 1")
