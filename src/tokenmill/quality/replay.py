"""Intersection over self (IoS) of every merge, from a replay of a vocabulary's events over word counts.

Definitions (Chizhov, Arnett, Korotkova, Yamshchikov 2024, "BPE Gets Picky", arXiv 2409.04599):

    f(t)                    occurrences of token t in the corpus as it is segmented at that point, weighted by the
                            counts of the pretokens
    m                       how often a merge (x1, x2) -> x3 happens: without overlap, from left to right
    IoS(x1 | x1, x2)        m / f(x1), with f taken before the merge; 2 m / f(x1) where x1 = x2

An IoS near 1 means that x1 hardly occurs except inside x3: it takes a slot of the vocabulary and is rarely used. The
kernel counts how often each event happens. All frequencies follow from these counts, since only events change them.

A plain vocabulary merges by rank, as its encoder does. In some, such as Yi's and Gemma's, a merge takes tokens that a later
merge makes. So f counts all occurrences of the token, except those that earlier merges take. Elsewhere that is the same.

Junk are the tokens whose IoS reaches a threshold.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..counting import WordCounts
from ..events import event_table
from ..formats.byte_alphabet import to_text, to_token
from ..formats.rank_merges import merges_of_ranks
from ..jobs.progress import Progress
from ..split import Splitter
from ..training.loops import pair_weight
from ..vocabulary import Vocabulary
from .tables import Column, Table, Token
from .usage import ordinary_tokens, slices

if TYPE_CHECKING:
    from ..events._replay_cy import EventTable


@dataclass(frozen=True, eq=False)
class Replay:
    """The result of replaying a vocabulary's events over word counts.

    events: int32 (n, 3), as in Vocabulary; for a vocabulary of ranks the merges derived from them.
    happened: uint64 (n,), the number of times that a merge happened, or of occurrences that a removal split into their parts.
    left, right: uint64 (n,), f of the two parts of a merge before it; `left` is f of the token for a removal. 0 for an event
        that never happens.
    final: uint64 (n_tokens,), f of each token at the end.
    alphabet: ids of the tokens that no event makes.
    """

    events: np.ndarray
    happened: np.ndarray
    left: np.ndarray
    right: np.ndarray
    final: np.ndarray
    alphabet: frozenset[int]


def replay(vocabulary: Vocabulary, counts: WordCounts, progress: Progress | None = None) -> Replay:
    """Replay every event of `vocabulary` over `counts`, which must be split by its split pattern."""
    events, counts = events_of(vocabulary), _merged_parts(vocabulary, counts)
    table = event_table(vocabulary, events)
    happened = np.zeros(len(events), np.uint64)
    start = np.zeros(len(vocabulary.tokens) + 1, np.uint64)  # the last element is for symbols without a token
    final = np.zeros(len(vocabulary.tokens) + 1, np.uint64)
    pair_weight(counts.offsets, counts.counts)  # raises UsageError if 64 bits cannot hold the frequencies
    for rows, data, offsets in slices(counts):
        symbols, ends = _symbols(vocabulary, data, offsets)
        weights = np.array(counts.counts[rows], np.uint64)
        np.add.at(start, symbols, np.repeat(weights, np.diff(ends, prepend=np.uint64(0)).astype(np.int64)))
        table.tally(symbols, ends, weights, happened, final)
        if progress is not None:
            progress("replay", rows.stop, len(counts))
    left, right = _frequencies(events, table if vocabulary.order == "events" else None, happened, start)
    return Replay(events, happened, left, right, final[:-1], alphabet_of(vocabulary, events))


def _merged_parts(vocabulary: Vocabulary, counts: WordCounts) -> WordCounts:
    """Return the counts of the parts of pretokens in which merges happen: what `byte_patterns` cut, nothing of dropped pretokens."""
    if not vocabulary.dropped and not vocabulary.byte_patterns:
        return counts
    splitter, parts = Splitter(*vocabulary.byte_patterns), Counter[bytes]()
    for pretoken, times in counts.items():
        if pretoken.decode("utf-8", "replace")[0] in vocabulary.dropped:
            continue
        spelt = to_text(pretoken).encode()
        for start, end in pairwise([0, *splitter.ends(spelt)]):
            parts[to_token(spelt[start:end].decode()) or b""] += times
    return WordCounts.from_mapping(parts)


@lru_cache(maxsize=4)
def events_of(vocabulary: Vocabulary) -> np.ndarray:
    """Return the events of `vocabulary`; for one of ranks, the merge that makes each token, in the order of the ranks."""
    if vocabulary.order != "ranks":
        return vocabulary.events
    merges, _ = merges_of_ranks(vocabulary.tokens)
    merges.flags.writeable = False  # it is shared
    return merges


@lru_cache(maxsize=1)  # 200 bytes for each token
def parts_by_token(vocabulary: Vocabulary) -> dict[int, set[int]]:
    """Return for each token the parts of all merges that make it, in a vocabulary without removals."""
    parts: dict[int, set[int]] = defaultdict(set)
    for left, right, new in events_of(vocabulary).tolist():
        parts[new] |= {left, right}
    return parts


def alphabet_of(vocabulary: Vocabulary, events: np.ndarray) -> frozenset[int]:
    """Return the tokens that no event makes."""
    merged = {*events[events[:, 1] >= 0, 2].tolist()}
    return frozenset(id for id, token in enumerate(vocabulary.tokens) if token is not None and id not in merged)


def _symbols(vocabulary: Vocabulary, data: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return pretokens as ids of the alphabet (uint32), and the end of each pretoken among them."""
    ids = _ids_of_alphabet(vocabulary)
    if vocabulary.alphabet == "bytes":
        return ids[data], offsets[1:]
    text = data.tobytes()
    words = [text[start:end].decode("utf-8", "surrogateescape") for start, end in pairwise(offsets.tolist())]
    codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32)
    return ids[codes], np.cumsum([*map(len, words)], dtype=np.uint64)


@lru_cache(maxsize=4)
def _ids_of_alphabet(vocabulary: Vocabulary) -> np.ndarray:
    """Return the id of each byte or code point (uint32); for those without a token the unknown id, or one that is not in use."""
    in_bytes = vocabulary.alphabet == "bytes"
    unknown = len(vocabulary.tokens) if in_bytes or vocabulary.unknown is None else vocabulary.unknown
    ids = np.full(256 if in_bytes else 0x110000, unknown, np.uint32)
    byte_ids = {*vocabulary.byte_tokens}
    # The token of a character replaces that of a byte, and of equal tokens the lowest id counts, as in encoding.
    for id in sorted(reversed(range(len(vocabulary.tokens))), key=lambda id: id not in byte_ids):
        token = vocabulary.tokens[id]
        if token and len(token) <= 4:
            symbol = token if in_bytes else token.decode("utf-8", "surrogateescape")
            if len(symbol) == 1:
                ids[ord(symbol)] = id
    return ids


def _frequencies(events: np.ndarray, table: EventTable | None, happened: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return f of both tokens of each event that happened, before it: (2, n). start: f before the first event.

    table: None where merges apply by rank.
    """
    if table is None:
        start = start.copy()
        np.add.at(start, events[:, 2], happened)
    f, before = start.tolist(), np.zeros((2, len(events)), np.uint64)
    numbers = np.flatnonzero(happened)
    rows = zip(numbers.tolist(), events[numbers].tolist(), happened[numbers].tolist(), strict=True)
    for number, (left, right, new), times in rows:
        before[:, number] = f[left], f[right] if right >= 0 else 0
        f[left] -= times
        if right >= 0:
            f[right] -= times
        if table is None:
            continue
        for produced in (new,) if right >= 0 else table.parts_of(number):  # a removal produces the parts of the token
            f[produced] += times
    return before


THRESHOLDS = (0.6, 0.7, 0.8, 0.9, 1.0)
ENOUGH = 100  # occurrences before the merge; fewer make an IoS that may be chance


class Swallowed(NamedTuple):
    """The merge in which a token has its highest IoS. by: the id of the merged token.

    before, merged, alone: occurrences of the token before the merge, those in the merge, and those at the end.
    """

    id: int
    ios: float
    by: int
    before: int
    merged: int
    alone: int


def swallowed_tokens(vocabulary: Vocabulary, replay: Replay) -> list[Swallowed]:
    """Return every ordinary token that a merge used, with its highest IoS, the highest first; without the alphabet."""
    merges = np.flatnonzero((replay.happened > 0) & (replay.events[:, 1] >= 0))
    columns = (column[merges].tolist() for column in (replay.events, replay.happened, replay.left, replay.right))
    candidates, final = ordinary_tokens(vocabulary).keys() - replay.alphabet, replay.final.tolist()
    tokens: dict[int, Swallowed] = {}
    for (left, right, new), times, *befores in zip(*columns, strict=True):
        merged = 2 * times if left == right else times
        for id, before in zip((left, right), befores, strict=True):
            if id in candidates and (id not in tokens or merged / before > tokens[id].ios):
                tokens[id] = Swallowed(id, merged / before, new, before, merged, final[id])
    return sorted(tokens.values(), key=lambda token: (-token.ios, -token.before, token.id))


def thresholds_table(swallowed: Sequence[Swallowed], size: int, thresholds: Sequence[float] = THRESHOLDS) -> Table:
    """The number of tokens that reach each threshold. size: the number of tokens of the vocabulary."""
    rows = []
    for threshold in thresholds:
        junk = [token for token in swallowed if token.ios >= threshold]
        enough = [token for token in junk if token.before >= ENOUGH]
        rows.append((threshold, len(junk), len(junk) / size if size else None, len(enough)))
    columns = (
        Column("T", "number", digits=1),
        Column("tokens", "count", "tokens with an IoS of at least T in a merge"),
        Column("of the vocabulary", "share"),
        Column(
            f"seen {ENOUGH} times or more", "count", "of these, frequent enough before the merge to rule out chance"
        ),
    )
    note = (
        "The IoS (intersection over self) of a token in a merge is the share of its occurrences that the merge takes; 1 if "
        "none is left. It is counted by replaying all merges on this text, and removes only what the vocabulary itself "
        "removes. Training with a threshold removes tokens as it goes, which changes later merges."
    )
    return Table("thresholds", "Tokens that a threshold would call junk", columns, rows, note)


def junk_table(vocabulary: Vocabulary, swallowed: Sequence[Swallowed], threshold: float) -> Table:
    """The tokens whose IoS reaches `threshold`, each with the token that swallowed it."""

    def cell(id: int) -> Token:
        return Token(id, vocabulary.token_bytes(id) or b"")

    rows = [
        (cell(token.id), cell(token.by), token.ios, token.before, token.merged, token.alone)
        for token in swallowed
        if token.ios >= threshold
    ]
    columns = (
        Column("token", "token"),
        Column("swallowed by", "token"),
        Column("IoS", "ios"),
        Column("before", "count", "occurrences before the merge"),
        Column("merged", "count", "occurrences that the merge took"),
        Column("alone", "count", "occurrences left at the end, after all merges"),
    )
    return Table("junk", f"Tokens with an IoS of {threshold} or more", columns, rows, listing=True)
