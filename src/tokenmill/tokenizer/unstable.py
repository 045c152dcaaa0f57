"""Ids of a text that may go on: those that stay, and what the end may become (tiktoken's `encode_with_unstable`)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    from .core import Core
    from .special import Plan


def encode_with_unstable(core: Core, text: str, plan: Plan) -> tuple[list[int], list[list[int]]]:
    """The ids that stay, and each sequence of ids that the text after them may begin with, sorted."""
    vocabulary = core.vocabulary
    if vocabulary.alphabet != "bytes" or vocabulary.normalization.normalizers or vocabulary.library is not None:
        raise UsageError(
            "encode_with_unstable is for byte-level vocabularies that do not normalize text, as tiktoken's"
        )
    ids = core.encode(text, plan)
    tokens = [core.decoder.token(id) for id in ids]
    unstable = _unstable_tokens(core, ids, tokens)
    if unstable == 0:
        return ids, []
    end = b"".join(tokens[-unstable:])
    return ids[:-unstable], sorted(map(list, set(_completions(core, end))))


def _unstable_tokens(core: Core, ids: list[int], tokens: list[bytes]) -> int:
    """Return the number of tokens that more text may change: those of the last pretoken, and of white space before it."""
    added = {token.id for token in core.vocabulary.added_tokens}
    tail = next((i for i, id in enumerate(reversed(ids)) if id in added), len(ids))
    if tail == 0:
        return 0
    pretokens = core.splitter.split(b"".join(tokens[-tail:]).decode("utf-8", "replace"))
    size, count = len(pretokens[-1].encode()), 0
    while size > 0:
        count += 1
        size -= len(tokens[-count])
    if not tokens[-count].strip(b" \n\t"):
        while count < len(tokens) and not tokens[-count - 1].strip(b" \n\t"):
            count += 1
    return count


def _completions(core: Core, end: bytes) -> Iterator[tuple[int, ...]]:
    """Return the possible first ids of a text that begins with `end`, up to the token in which `end` ends."""
    for id in _tokens_with_prefix(core, end):
        yield (id,)
    ordinary = core.plan((), ())
    for cut in range(1, len(end)):
        for id in _tokens_with_prefix(core, end[cut:]):
            ids, size = [], 0
            for each in _ids_of(core, end[:cut] + core.decoder.token(id), ordinary):
                ids.append(each)
                size += len(core.decoder.token(each))
                if size >= len(end):
                    break
            yield tuple(ids)
    last = end.decode("utf-8", "replace")[-1]
    size = len(last.encode())
    if len(end) > size and last.isspace():  # a pattern may leave one space to the next word, as in \s+(?!\S)
        yield (*core.encode_pretoken(end[:-size]), *core.encode_pretoken(end[-size:]))


def _ids_of(core: Core, data: bytes, ordinary: Plan) -> list[int]:
    try:
        return core.encode(data.decode(), ordinary)
    except UnicodeDecodeError:
        return core.encode_pretoken(data)


def _tokens_with_prefix(core: Core, prefix: bytes) -> Iterator[int]:
    ordered = core.ordered_tokens
    for i in range(bisect_left(ordered, (prefix, 0)), len(ordered)):
        token, id = ordered[i]
        if not token.startswith(prefix):
            break
        yield id
