"""Intersection over self (IoS) of every merge, by replaying a vocabulary's events over word counts.

Definitions (Chizhov, Arnett, Korotkova, Yamshchikov 2024, "BPE Gets Picky", arXiv 2409.04599):

    f(t)                    occurrences of token t in the corpus as it is segmented at that point, weighted by the
                            counts of the pretokens
    m                       how often a merge (x1, x2) -> x3 happens: without overlap, from left to right
    IoS(x1 | x1, x2)        m / f(x1), with f taken before the merge; 2 m / f(x1) where x1 = x2

An IoS near 1 says that x1 stands almost nowhere but inside of x3: a rung of the ladder, a slot of the vocabulary
spent on nothing. The kernel finds how often each event happens; all frequencies follow from that,
since nothing but an event changes them. `count_events_naive` is its slow twin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..counting import WordCounts
from ..errors import UsageError
from ..tokenizer.naive import characters, removal_parts
from ..vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Replay", "count_events_naive", "replay"]

Progress = Callable[[str, int, "int | None"], None]
SLICE = 1 << 18  # bytes of pretokens taken at a time
BUDGET = 1 << 18  # steps of one call of the kernel: some hundredths of a second


@dataclass(frozen=True, eq=False)
class Replay:
    """What happened when the events of a vocabulary were replayed over word counts.

    events: int32 (n, 3), as in Vocabulary; for a vocabulary of ranks the merges derived from them.
    happened: uint64 (n,), how often a merge happened, or how many occurrences a removal took apart.
    left, right: uint64 (n,), f of the two parts of a merge before it; `left` is f of the token for a removal.
    final: uint64, by id: f of each token at the end.
    alphabet: ids of the tokens that no event makes.
    """

    events: np.ndarray
    happened: np.ndarray
    left: np.ndarray
    right: np.ndarray
    final: np.ndarray
    alphabet: frozenset[int]

    def ios(self) -> tuple[np.ndarray, np.ndarray]:
        """IoS of the left and of the right part for each event: float64, NaN for removals and where f is 0."""
        import numpy as np

        merge = self.events[:, 1] >= 0
        uses = np.where(self.events[:, 0] == self.events[:, 1], 2.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            left = np.where(merge & (self.left > 0), uses * self.happened / self.left, np.nan)
            right = np.where(merge & (self.right > 0), uses * self.happened / self.right, np.nan)
        return left, right


def replay(vocabulary: Vocabulary, counts: WordCounts, progress: Progress | None = None) -> Replay:
    """Replay every event of `vocabulary` over `counts`, which must be cut by its split pattern.

    >>> from tokenmill.vocabulary import Vocabulary
    >>> import numpy as np
    >>> tokens = (*(bytes([i]) for i in range(256)), b"ow", b"low")
    >>> events = np.array([[111, 119, 256], [108, 256, 257]], np.int32)
    >>> vocabulary = Vocabulary(tokens, (), "merges", events)
    >>> result = replay(vocabulary, WordCounts.from_mapping({b"low": 5, b"lower": 2, b"how": 3}))
    >>> result.happened.tolist(), result.right.tolist(), result.ios()[1].tolist()
    ([10, 7], [10, 10], [1.0, 0.7])
    """
    import numpy as np

    from ._replay_cy import Replayer

    events = events_of(vocabulary)
    parts = removal_parts(events.tolist())
    happened = np.zeros(len(events), np.uint64)
    start = np.zeros(len(vocabulary.tokens) + 1, np.uint64)  # the last is for what the alphabet lacks
    final = np.zeros(len(vocabulary.tokens) + 1, np.uint64)
    part_start = np.zeros(len(events) + 1, np.int64)
    for place, ids in parts.items():
        part_start[place + 1] = len(ids)
    part_ids = np.array([id for place in sorted(parts) for id in parts[place]], np.int32)
    replayer = Replayer(events, _lengths(vocabulary, events), np.cumsum(part_start), part_ids)
    _check_totals(counts)
    first = 0
    while first < len(counts):
        stop = int(np.searchsorted(counts.offsets, counts.offsets[first] + np.uint64(SLICE), "right")) - 1
        stop = min(max(stop, first + 1), len(counts))
        symbols, ends = _symbols(vocabulary, counts, first, stop)
        weights = np.array(counts.counts[first:stop], np.uint64)  # a copy: counts from disk are read-only
        np.add.at(start, symbols, np.repeat(weights, np.diff(ends, prepend=np.uint64(0)).astype(np.int64)))
        replayer.start(symbols, ends, weights)
        while not replayer.advance(happened, final, BUDGET):
            pass
        first = stop
        if progress is not None:
            progress("replay", first, len(counts))
    left, right = _frequencies(events, parts, happened, start)
    return Replay(events, happened, left, right, final[:-1], _alphabet(vocabulary, events))


def events_of(vocabulary: Vocabulary) -> np.ndarray:
    """The events of `vocabulary`; for one of ranks, the merge that makes each token, in the order of the ranks."""
    if vocabulary.order != "ranks":
        return vocabulary.events
    from ..formats.rank_merges import merges_of_ranks

    return merges_of_ranks(vocabulary.tokens)[0]


def _alphabet(vocabulary: Vocabulary, events: np.ndarray) -> frozenset[int]:
    made = set(events[events[:, 1] >= 0, 2].tolist())
    return frozenset(id for id, token in enumerate(vocabulary.tokens) if token is not None and id not in made)


def _lengths(vocabulary: Vocabulary, events: np.ndarray) -> np.ndarray:
    """How many symbols of the alphabet each token spans; what is not in the alphabet spans one too."""
    import numpy as np

    lengths = [1] * (len(vocabulary.tokens) + 1)
    for left, right, new in events.tolist():
        if right >= 0:
            lengths[new] = lengths[left] + lengths[right]
    return np.array(lengths, np.int32)


def _symbols(vocabulary: Vocabulary, counts: WordCounts, first: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
    """The pretokens from `first` to `stop` as ids of the alphabet, int32, and the end of each pretoken among them."""
    import numpy as np

    missing = len(vocabulary.tokens)
    begin, end = int(counts.offsets[first]), int(counts.offsets[stop])
    data = counts.arena[begin:end]
    ends = counts.offsets[first + 1 : stop + 1] - counts.offsets[first]
    if vocabulary.alphabet == "bytes":
        table = np.full(256, missing, np.int32)
        for id, token in enumerate(vocabulary.tokens):
            if token is not None and len(token) == 1:
                table[token[0]] = id
        return table[data], np.ascontiguousarray(ends, np.uint64)
    ids = {token: id for id, token in enumerate(vocabulary.tokens) if token is not None}
    unknown = missing if vocabulary.unknown is None else vocabulary.unknown
    text = data.tobytes()
    symbols: list[int] = []
    symbol_ends = []
    start = 0
    for end in ends.tolist():
        symbols += [ids.get(character, unknown) for character in characters(text[start:end])]
        symbol_ends.append(len(symbols))
        start = end
    return np.array(symbols, np.int32), np.array(symbol_ends, np.uint64)


def _frequencies(
    events: np.ndarray, parts: Mapping[int, list[int]], happened: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """f of both parts before each event, from f at the start and how often each event happened."""
    import numpy as np

    f = start.tolist()
    left = np.zeros(len(events), np.uint64)
    right = np.zeros(len(events), np.uint64)
    for place, ((a, b, new), times) in enumerate(zip(events.tolist(), happened.tolist(), strict=True)):
        left[place] = f[a]
        if b < 0:
            for part in parts[place]:
                f[part] += times
        else:
            right[place] = f[b]
            f[b] -= times
            f[new] += times
        f[a] -= times
    return left, right


def _check_totals(counts: WordCounts) -> None:
    import numpy as np

    lengths = np.diff(counts.offsets).astype(np.float64)
    if len(counts) and float((lengths * counts.counts.astype(np.float64)).sum()) >= 2**63:
        raise UsageError(
            "the word counts stand for 2**63 bytes of text or more; scale the counts down to judge on them"
        )


def count_events_naive(pretokens: Mapping[bytes, int], vocabulary: Vocabulary) -> list[tuple[int, int, int]]:
    """For each event how often it happens and f of its parts before it, straight from the definitions. Slow.

    A removal gives (f of the token, f of the token, 0).
    """
    rows = events_of(vocabulary).tolist()
    parts = removal_parts(rows)
    ids = {token: id for id, token in enumerate(vocabulary.tokens) if token is not None}
    corpus = []
    for pretoken, count in pretokens.items():
        symbols = characters(pretoken) if vocabulary.alphabet == "characters" else [bytes([byte]) for byte in pretoken]
        corpus.append(([ids.get(symbol, vocabulary.unknown) for symbol in symbols], count))

    def frequency(id: int) -> int:
        return sum(segments.count(id) * count for segments, count in corpus)

    results = []
    for place, (left, right, new) in enumerate(rows):
        before = frequency(left), frequency(right)
        happened = 0
        for segments, count in corpus:
            i = 0
            while i < len(segments):
                if right < 0 and segments[i] == left:
                    segments[i : i + 1] = parts[place]
                    happened += count
                elif right >= 0 and segments[i : i + 2] == [left, right]:
                    segments[i : i + 2] = [new]
                    happened += count
                i += 1
        results.append((happened, *before))
    return results
