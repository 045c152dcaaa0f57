"""The options of superword training."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from ..errors import UsageError
from ..split.patterns import SUPERWORDS

MOST_WORDS = 62


@dataclass(frozen=True, kw_only=True)
class Superwords:
    """How tokens that span words are trained: SuperBPE. Raises UsageError for an invalid option.

    stage1_size: the number of tokens after stage 1, including the 256 bytes and the special tokens.
    stage2_split: the pattern that cuts the lines of the text in stage 2, and text when the tokenizer encodes.
    max_words: the most words in a token of stage 2, parts between spaces; 0 for no limit.
    colon_veto: make no token of stage 2 that contains a colon and a space after it.
    """

    stage1_size: int
    stage2_split: str = SUPERWORDS
    max_words: int = 4
    colon_veto: bool = True

    def __post_init__(self) -> None:
        for name, least in (("stage1_size", 1), ("max_words", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise UsageError(f"{name} is {value!r}; it must be a whole number of at least {least}")
        if self.max_words > MOST_WORDS:
            raise UsageError(f"max_words is {self.max_words}; it must be at most {MOST_WORDS}, or 0 for no limit")


def take_superwords(given: dict[str, Any]) -> Superwords | Literal["boundless"] | None:
    """Take the options of superwords out of `given`; None if they are not wanted. UsageError for invalid ones."""
    kind = given.pop("superwords", None)
    options = {field.name: given.pop(field.name) for field in fields(Superwords) if field.name in given}
    if kind is None:
        if options:
            raise UsageError(f'{", ".join(options)} belong to superwords; give superwords="superbpe" too')
        return None
    if kind == "boundless":
        if options:
            raise UsageError(
                f'{", ".join(options)} belong to superwords="superbpe"; "boundless" has no options of its own'
            )
        return "boundless"
    if kind != "superbpe":
        raise UsageError(f'superwords is {kind!r}; it must be "superbpe", "boundless" or None')
    if "stage1_size" not in options:
        raise UsageError('superwords="superbpe" needs stage1_size: at how many tokens stage 2 begins')
    return Superwords(**options)
