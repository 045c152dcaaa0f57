"""The options of training, checked before any text is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ..errors import UsageError
from ..split import Splitter
from ..vocabulary.validation import checked_special_tokens
from .superwords import Superwords

LONGEST = 2**30  # the kernels can hold fewer tokens than this, and tokens of at most as many bytes


@dataclass(frozen=True, kw_only=True)
class Options:
    """What to train. Raises UsageError for an invalid option.

    vocab_size: the number of tokens, including the alphabet (256 bytes) and the special tokens. The vocabulary has fewer
        if the corpus runs out of pairs: see its `n_vocab`.
    special_tokens: control tokens. They get the last ids.
    special_tokens_as_text: see `splitter`.
    min_count: ignore pretokens seen fewer times.
    min_pair_count: stop when the best pair is rarer.
    max_token_bytes: the length of the longest token.
    num_threads: the most threads to use. The result does not depend on it.
    alphabet: "bytes", or "characters" with `coverage` (the share of all characters to keep) and `unknown_token`, the
        name of the token for all other characters. See alphabet.py.
    refine: the threshold T of Picky BPE, above 0 and at most 1; None trains plain BPE. See naive_picky.py.
    algorithm: "heap", or "naive" for the textbook loop.
    superwords: the options of a second stage, whose tokens may span words (SuperBPE); "boundless" for tokens of whole pretokens
        (BoundlessBPE); None for neither.
    """

    vocab_size: int
    special_tokens: Iterable[str] = ()
    min_count: int = 1
    min_pair_count: int = 1
    max_token_bytes: int | None = None
    num_threads: int | None = None
    alphabet: str = "bytes"
    coverage: float = 1.0
    unknown_token: str | None = None
    refine: float | None = None
    algorithm: str = "heap"
    special_tokens_as_text: bool = False
    superwords: Superwords | Literal["boundless"] | None = None

    def __post_init__(self) -> None:
        special_tokens = checked_special_tokens(self.special_tokens)
        for name in ("vocab_size", "min_count", "min_pair_count", "max_token_bytes", "num_threads"):
            value = getattr(self, name)
            if value is not None or name not in ("max_token_bytes", "num_threads"):
                _check_whole(name, value)
        if self.alphabet not in ("bytes", "characters"):
            raise UsageError(f'alphabet is {self.alphabet!r}; choose "bytes" or "characters"')
        check_share("coverage", self.coverage)
        if self.alphabet == "bytes" and (self.coverage != 1 or self.unknown_token is not None):
            raise UsageError('coverage and unknown_token are for alphabet="characters"; with bytes nothing is unknown')
        if self.unknown_token is not None:
            checked_special_tokens([self.unknown_token])
            special_tokens = tuple(text for text in special_tokens if text != self.unknown_token)
        if self.refine is not None:
            check_share("refine", self.refine)
        if self.algorithm not in ("heap", "naive"):
            raise UsageError(f'algorithm is {self.algorithm!r}; choose "heap" or "naive"')
        object.__setattr__(self, "special_tokens", special_tokens)
        if self.superwords is not None:
            self._check_superwords()
        if self.alphabet == "bytes":
            self.check_size(256)
        if self.n_ordinary >= LONGEST:
            raise UsageError(f"vocab_size is {self.vocab_size}; at most {LONGEST} tokens can be trained")

    def splitter(self, split: str | Iterable[str]) -> Splitter:
        """The Splitter for these patterns, which cuts the special tokens out of the text unless they are learned as text."""
        patterns = [split] if isinstance(split, str) else list(split)
        return Splitter(*patterns, special_tokens=() if self.special_tokens_as_text else self.special_tokens)

    @property
    def n_ordinary(self) -> int:
        """The number of wanted tokens that are not special."""
        return self.vocab_size - len(tuple(self.special_tokens))

    @property
    def max_bytes(self) -> int:
        """The length of the longest token allowed, in bytes."""
        return min(self.max_token_bytes or LONGEST, LONGEST)

    def _check_superwords(self) -> None:
        words = self.superwords
        if self.alphabet != "bytes" or self.algorithm != "heap":
            raise UsageError("superwords are trained on bytes, by the heap; leave these options out")
        if self.refine is not None and words != "boundless":
            raise UsageError('SuperBPE is trained without refine; leave it out, or give superwords="boundless"')
        if self.special_tokens_as_text:
            raise UsageError("with superwords, special tokens are always cut out; leave out special_tokens_as_text")
        special = self.vocab_size - self.n_ordinary
        if isinstance(words, Superwords) and not 256 + special <= words.stage1_size <= self.vocab_size:
            raise UsageError(
                f"stage1_size is {words.stage1_size}; it must be from {256 + special}, the bytes and the special tokens, to "
                f"vocab_size, {self.vocab_size}"
            )

    def check_size(self, alphabet_size: int) -> None:
        """Raise UsageError if the alphabet and the special tokens alone are more than vocab_size."""
        special = self.vocab_size - self.n_ordinary
        if self.n_ordinary < alphabet_size:
            what = "the 256 bytes" if self.alphabet == "bytes" else f"the {alphabet_size} characters"
            more = f" and {special} special tokens" if special else ""
            raise UsageError(
                f"vocab_size is {self.vocab_size}, but {what}{more} need at least {alphabet_size + special}"
            )


def exact(share: float) -> Fraction:
    """The decimal number that a share is written as, with a denominator of at most 10**18."""
    return Fraction(str(share)).limit_denominator(10**18)


def _check_whole(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        raise UsageError(f"{name} is {value!r}; it must be a whole number")
    if value < 1:
        raise UsageError(f"{name} is {value}; it must be at least 1")


def check_share(name: str, value: object) -> None:
    """Raise UsageError if `value` is not a number above 0 and at most 1."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
        raise UsageError(f"{name} is {value!r}; it is a share, above 0 and at most 1")
