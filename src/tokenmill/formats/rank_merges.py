"""From ranks to merges and back: where the two kinds of byte-pair encoding give the same ids.

Rank order (tiktoken) joins any two neighbours whose joined bytes are a token, the lowest id first. Merge order (Hugging
Face) joins only listed pairs, the earliest first. To write a ranked vocabulary as merges, each token needs the pair that
rank order would build it from.

Definitions. Encode the bytes of token t with the tokens of lower rank only. If two parts are left, t is *built* by that
pair. If more are left, no pair of lower tokens builds t: it is made only where a whole pretoken is t, or from a part
with a higher id.

Why one pair for each built token is enough: a merge never crosses bytes that stay two whole neighbours, so wherever
exactly the bytes of t are two or more whole tokens once the lower ranks are done, these are the parts that encoding t alone
gives. Hence no other pair can ever be joined to t, and the two orders agree.

The pair of t is the cut (x, y) at which no merge of a lower rank than t crosses from x to y. It is found without
encoding: go back in rank down the right edge of x and the left edge of y, and check for each two neighbours that exist at
the same rank whether they would have been joined before either became part of something larger.
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

_Part = TypeVar("_Part", bytes, int)


def merges_of_ranks(tokens: Sequence[bytes | None]) -> tuple[np.ndarray, list[int]]:
    """Merges that give the same ids as the ranks do, and the tokens that no pair of lower tokens builds.

    Returns an int32 array of rows (left id, right id, new id) in rank order, and the ids of the tokens that only the
    whole-pretoken rule makes. Where such a token joins tokens with higher ids, those merges are listed too.

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
        parts = encode_by_rank(token, ranks, id)
        if len(parts) == 2 and -1 not in parts:  # built, but from parts that were not
            others.append((parts[0], parts[1], id))
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
    """The ids of `token` by merges to ids below `below` only; -1 for a byte without a token."""
    parts = [token[i : i + 1] for i in range(len(token))]

    def join(left: bytes, right: bytes) -> tuple[int, bytes] | None:
        rank = ranks.get(left + right, below)
        return (rank, left + right) if rank < below else None

    return [ranks.get(part, -1) for part in _merge(parts, join)]


def _merge(parts: list[_Part], join: Callable[[_Part, _Part], tuple[int, _Part] | None]) -> list[_Part]:
    """Merge neighbours, the lowest rank first, then the leftmost. join(left, right): the rank and the result, or None."""
    while True:
        found = [(joined[0], i, joined[1]) for i, pair in enumerate(pairwise(parts)) if (joined := join(*pair))]
        if not found:
            return parts
        _, i, made = min(found)
        parts[i : i + 2] = [made]


def present_by_rank(vocabulary: Vocabulary) -> Vocabulary:
    """The present tokens of a vocabulary with events under their ids, encoded by rank instead of by events.

    With superwords, text is split by the pattern of SuperBPE instead, which does not cut between words. A vocabulary of another
    order is returned as it is.
    """
    if vocabulary.order != "events":
        return vocabulary
    tokens = tuple(None if id in vocabulary.removed else token for id, token in enumerate(vocabulary.tokens))
    changes: dict[str, Any] = {"superwords": (), "split_patterns": (SUPERWORDS,)} if vocabulary.has_superwords else {}
    return vocabulary.replace(tokens=tokens, order="ranks", events=(), whole_pretokens=True, refine=None, **changes)


def ranks_of(vocabulary: Vocabulary, target: str) -> tuple[list[bytes | None], list[str]]:
    """The tokens by id, such that rank order gives the ids of `vocabulary`, and notes on what was left out.

    ConversionError, which names `target` and the first token in question, where rank order gives other ids.
    """
    tokens = list(vocabulary.tokens)
    if vocabulary.order == "ranks":
        return tokens, []
    if vocabulary.order == "events":
        raise ConversionError(
            f"{target} has no removals and no superwords of whole pretokens, so its ids would differ from those of this "
            "vocabulary, which encodes by its events. Pass ",
            OptionName("lossy", True),
            " to export the tokens that are present, encoded by rank.",
        )
    rows = [tuple(row) for row in vocabulary.events.tolist()]
    made = {new for _, _, new in rows}
    notes = []
    longer = [id for id, token in enumerate(tokens) if token and len(token) > 1]
    if unreachable := [id for id in longer if id not in made and not vocabulary.whole_pretokens]:
        example = f"{tokens[unreachable[0]]!r} (id {unreachable[0]})"
        notes.append(f"left out {plural(len(unreachable), 'token')} that no merge makes, such as {example}")
        for id in unreachable:
            tokens[id] = None
    instead = f"so {target}, which merges by rank, would give other ids. Write tokenizer.json instead."
    for place, ((_, _, before), (_, _, new)) in enumerate(pairwise(rows), 1):
        if new < before:
            raise ConversionError(
                f"merge {place} makes {tokens[new]!r} (id {new}) after {tokens[before]!r} (id {before}), "
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
    """The lowest id of a token that the merges `rows` do not make from its bytes; None if they make every token."""
    merged = merges_by_rank(tokens, rows)
    found = (id for id, token in enumerate(tokens) if token is not None and len(token) > 1 and merged(token) != [id])
    return next(found, None)


def merges_by_rank(
    tokens: Sequence[bytes | None], rows: list[list[int]], characters: bool = False
) -> Callable[[bytes], list[int]]:
    """A function from a short pretoken to its ids by the merges `rows`; -1 for a byte or character without a token."""
    listed = {(left, right): (place, new) for place, (left, right, new) in enumerate(rows)}
    starts = {token: id for id, token in enumerate(tokens) if token is not None and (characters or len(token) == 1)}

    def merged(pretoken: bytes) -> list[int]:
        units = [each.encode() for each in pretoken.decode()] if characters else [bytes([byte]) for byte in pretoken]
        parts = [starts.get(unit, -1) for unit in units]
        return _merge(parts, lambda left, right: listed.get((left, right)))

    return merged
