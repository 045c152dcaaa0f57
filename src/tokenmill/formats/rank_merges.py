"""From ranks to merges and back, for vocabularies whose ids are the same in both kinds of byte-pair encoding.

Rank order (tiktoken) joins any two neighbours whose joined bytes are a token, the lowest id first. Merge order (Hugging
Face) joins only listed pairs, the earliest first. To write a ranked vocabulary as merges, each token needs the pair that
rank order would build it from.

Definitions. Encode the bytes of token t with the tokens of lower rank only. If two tokens remain, t is *built* by that
pair. If more remain, no pair of lower tokens builds t: it results only from a whole pretoken t, or from a token with a
higher id.

One pair for each built token is enough. A merge never crosses a border between two whole tokens that stay neighbours. So
wherever the bytes of t are two or more whole tokens after the merges of the lower ranks, these are the tokens of t encoded
alone. Hence no other pair can ever be joined to t, and the two orders agree.

The pair of t is the cut (x, y) at which no merge of a lower rank than t crosses from x to y. To find it without encoding,
go back in rank down the right edge of x and the left edge of y, and check for each two neighbours that exist at the same
rank whether they would have been joined before either was joined into a larger token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import ConversionError, OptionName, plural
from ..split.patterns import SUPERWORDS
from ..vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np

_Token = TypeVar("_Token", bytes, int)


def merges_of_ranks(tokens: Sequence[bytes | None]) -> tuple[np.ndarray, list[int]]:
    """Return merges that give the same ids as the ranks, and the tokens that no pair of lower tokens builds.

    The merges are an int32 array of rows (left id, right id, new id) in rank order. The others are the ids of the tokens that only
    the whole-pretoken rule makes. If such a token joins tokens with higher ids, those merges are listed too.

    >>> ids = [bytes([i]) for i in range(256)] + [b"lo", b"low", b"xyz"]
    >>> merges, unbuilt = merges_of_ranks(ids)
    >>> merges.tolist(), unbuilt
    ([[108, 111, 256], [256, 119, 257]], [258])
    """
    import numpy as np

    from ._rank_merges_cy import Builder  # late: loading does not need it

    ranks = {token: id for id, token in enumerate(tokens) if token is not None}
    left, right = np.full((2, len(tokens)), -1, np.int32)
    unbuilt: list[int] = []
    others: list[tuple[int, int, int]] = []
    for id in Builder([*tokens], ranks, left, right).build():
        token = tokens[id] or b""
        pair = encode_by_rank(token, ranks, id)
        if len(pair) == 2 and -1 not in pair:  # built, but from tokens that are not
            others.append((pair[0], pair[1], id))
        else:
            unbuilt.append(id)
            cuts = ((ranks.get(token[:cut], -1), ranks.get(token[cut:], -1)) for cut in range(1, len(token)))
            others += [(x, y, id) for x, y in cuts if x >= 0 and y >= 0]
    built = np.flatnonzero(left >= 0)
    rows = np.array([left[built], right[built], built], np.int32).T
    if others:
        rows = np.concatenate([rows, np.array(others, np.int32)])
        rows = rows[np.argsort(rows[:, 2], kind="stable")]
    return np.ascontiguousarray(rows), unbuilt


def encode_by_rank(token: bytes, ranks: dict[bytes, int], below: int) -> list[int]:
    """Return the ids of `token` by merges to ids below `below` only; -1 for a byte without a token."""

    def join(left: bytes, right: bytes) -> tuple[int, bytes] | None:
        rank = ranks.get(left + right, below)
        return (rank, left + right) if rank < below else None

    return [ranks.get(unit, -1) for unit in _merge([bytes([byte]) for byte in token], join)]


def _merge(tokens: list[_Token], join: Callable[[_Token, _Token], tuple[int, _Token] | None]) -> list[_Token]:
    """Merge neighbours, the lowest rank first, then the leftmost. join(left, right): the rank and the result, or None."""
    while merges := [(joined[0], i, joined[1]) for i, pair in enumerate(pairwise(tokens)) if (joined := join(*pair))]:
        _, i, new = min(merges)
        tokens[i : i + 2] = [new]
    return tokens


def present_by_rank(vocabulary: Vocabulary) -> Vocabulary:
    """Return a vocabulary with events as one of ranks: the present tokens with their ids.

    With superwords, text is split by the pattern of SuperBPE instead, which does not cut between words. A vocabulary of another
    order is returned as it is.
    """
    if vocabulary.order != "events":
        return vocabulary
    tokens = tuple(None if id in vocabulary.removed else token for id, token in enumerate(vocabulary.tokens))
    changes: dict[str, Any] = {"superwords": (), "split_patterns": (SUPERWORDS,)} if vocabulary.has_superwords else {}
    return vocabulary.replace(tokens=tokens, order="ranks", events=(), whole_pretokens=True, refine=None, **changes)


def ranks_of(vocabulary: Vocabulary, target: str) -> tuple[list[bytes | None], list[str]]:
    """Return the tokens by id with which rank order gives the ids of `vocabulary`, and notes on losses.

    ConversionError, which names `target` and the first token in question, if rank order gives other ids.
    """
    tokens = list(vocabulary.tokens)
    if vocabulary.order == "ranks" and vocabulary.whole_pretokens:
        return tokens, []
    if vocabulary.order == "events":
        raise ConversionError(
            f"{target} has no removals and no superwords of whole pretokens, so its ids would differ from those of this "
            "vocabulary, which encodes by its events. Pass ",
            OptionName("lossy", True),
            " to export the tokens that are present, encoded by rank.",
        )
    events = merges_of_ranks(tokens)[0] if vocabulary.order == "ranks" else vocabulary.events
    rows = [tuple(row) for row in events.tolist()]
    merged = {new for _, _, new in rows}
    notes = []
    longer = [id for id, token in enumerate(tokens) if token and len(token) > 1]
    if unreachable := [id for id in longer if id not in merged and not vocabulary.whole_pretokens]:
        example = f"{tokens[unreachable[0]]!r} (id {unreachable[0]})"
        notes.append(f"left out {plural(len(unreachable), 'token')} that no merge makes, such as {example}")
        for id in unreachable:
            tokens[id] = None
    instead = f"so {target}, which merges by rank, would give other ids. Write tokenizer.json instead."
    for index, ((_, _, before), (_, _, new)) in enumerate(pairwise(rows), 1):
        if new < before:
            raise ConversionError(
                f"merge {index} makes {tokens[new]!r} (id {new}) after {tokens[before]!r} (id {before}), "
                f"but ids must ascend in the order of the merges, {instead}"
            )
    derived, unbuilt = merges_of_ranks(tokens)
    ranks = {token: id for id, token in enumerate(tokens) if token is not None}
    listed = set(rows)
    for left, right, new in derived.tolist():
        if (left, right, new) not in listed:
            raise ConversionError(
                f"by rank, {tokens[left]!r} + {tokens[right]!r} would merge to {tokens[new]!r} (id {new}), "
                f"which no merge lists, {instead}"
            )
    for id in unbuilt:
        if not vocabulary.whole_pretokens and encode_by_rank(tokens[id] or b"", ranks, len(tokens)) != [id]:
            raise ConversionError(f"{tokens[id]!r} (id {id}) is a token that its merges never make, {instead}")
    return tokens, notes


def only_whole(tokens: Sequence[bytes | None], rows: list[list[int]]) -> int | None:
    """Return the lowest id of a token that the merges `rows` do not make from its bytes; None if they make every token."""
    encode = merges_by_rank(tokens, rows)
    unmade = (id for id, token in enumerate(tokens) if token is not None and len(token) > 1 and encode(token) != [id])
    return next(unmade, None)


def merges_by_rank(
    tokens: Sequence[bytes | None], rows: list[list[int]], characters: bool = False
) -> Callable[[bytes], list[int]]:
    """Return a function from a short pretoken to its ids by the merges `rows`; -1 for a byte or character without a token."""
    merges = {(left, right): (rank, new) for rank, (left, right, new) in enumerate(rows)}
    starts = {token: id for id, token in enumerate(tokens) if token is not None and (characters or len(token) == 1)}

    def encode(pretoken: bytes) -> list[int]:
        units = [each.encode() for each in pretoken.decode()] if characters else [bytes([byte]) for byte in pretoken]
        return _merge([starts.get(unit, -1) for unit in units], lambda left, right: merges.get((left, right)))

    return encode
