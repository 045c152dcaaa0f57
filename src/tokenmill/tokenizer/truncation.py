"""Cut text to a number of tokens."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING

from ..errors import UsageError
from .normalization import encoded

if TYPE_CHECKING:
    from .core import Core
    from .special import Plan


def truncate(core: Core, text: str, max_tokens: int, plan: Plan) -> str:
    """The slow path of Core.truncate, by the ends of all tokens."""
    _check_number(max_tokens, 0)
    text, data = encoded(text)
    core.added.check(data, plan)
    ends = core.token_ends(data, plan, max_tokens)
    return text if len(ends) <= max_tokens else _first_that_fits(core, data, 0, ends[:max_tokens], max_tokens, plan)


def chunks(core: Core, text: str, max_tokens: int, plan: Plan) -> list[str]:
    """`text` in chunks that end with a token of the text and take at most `max_tokens` tokens each."""
    _check_number(max_tokens, 1)
    text, data = encoded(text)
    core.added.check(data, plan)
    ends = core.token_ends(data, plan)
    ends[-1:] = [len(data)]  # what a normalizer removes at the end of a text belongs to the last token
    result: list[str] = []
    start = first = 0
    while start < len(data):
        chunk = _first_that_fits(core, data, start, ends[first : first + max_tokens], max_tokens, plan)
        if not chunk:
            character = data[start : start + 4].decode(errors="ignore")[:1]
            raise UsageError(f"{character!r} alone takes more than {max_tokens} tokens; allow more")
        result.append(chunk)
        start += len(chunk.encode())
        while first < len(ends) and ends[first] <= start:
            first += 1
    return result


def _check_number(max_tokens: int, least: int) -> None:
    if not isinstance(max_tokens, Integral) or max_tokens < least:
        raise UsageError(f"max_tokens is {max_tokens!r}; give a number, {least} or more")


def _first_that_fits(core: Core, data: bytes, start: int, ends: Iterable[int], max_tokens: int, plan: Plan) -> str:
    """The longest text from `start` to one of `ends` that takes at most `max_tokens` tokens; "" for none.

    A stretch of a text may take more tokens alone than it has in the text, because its pretokens are cut short.
    """
    for end in sorted(dict.fromkeys(ends), reverse=True):
        while start < end < len(data) and 0x80 <= data[end] < 0xC0:  # inside a character
            end -= 1
        chunk = data[start:end].decode()
        if chunk and core.count(chunk, plan) <= max_tokens:
            return chunk
    return ""
