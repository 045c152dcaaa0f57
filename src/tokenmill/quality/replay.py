"""Intersection over self (IoS) of every merge, by replaying a vocabulary's events over word counts.

Definitions (Chizhov, Arnett, Korotkova, Yamshchikov 2024, "BPE Gets Picky", arXiv 2409.04599):

    f(t)                    occurrences of token t in the corpus as it is segmented at that point, weighted by the
                            counts of the pieces
    m                       how often a merge (x1, x2) -> x3 happens: without overlap, from left to right
    IoS(x1 | x1, x2)        m / f(x1), with f taken before the merge; 2 m / f(x1) where x1 = x2

An IoS near 1 says that x1 stands almost nowhere but inside of x3: a rung of the ladder, a slot of the vocabulary
spent on nothing. `count_events` finds how often each event happens, in the kernel; all frequencies follow from that,
since nothing but an event changes them. `count_events_naive` is its slow twin.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..count import WordCounts
from ..errors import UsageError
from ..tokenizer.naive import characters, removal_parts
from ..vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Replay", "count_events_naive", "replay"]

Progress = Callable[[str, int, "int | None"], None]
SLICE = 1 << 16  # symbols that one call of the kernel replays: some hundredths of a second


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
    _check_totals(counts)
    parts = removal_parts(events.tolist())
    replayer = Replayer(events, parts)
    happened = np.zeros(len(events), np.uint64)
    final = np.zeros(len(vocabulary.tokens) + 1, np.uint64)  # the last is for what the alphabet lacks
    start_counts = np.zeros(len(vocabulary.tokens) + 1, np.uint64)
    done = 0
    while done < len(counts):
        stop = _slice_end(counts, done)
        symbols, ends = _symbols(vocabulary, counts, done, stop)
        weights = counts.counts[done:stop]
        np.add.at(start_counts, symbols, np.repeat(weights, np.diff(ends, prepend=np.uint64(0)).astype(np.int64)))
        replayer.run(symbols, ends, weights, happened, final)
        done = stop
        if progress is not None:
            progress("replaying merges", done, len(counts))
    left, right = _frequencies(events, parts, happened, start_counts)
    made = set(events[events[:, 1] >= 0, 2].tolist())
    alphabet = frozenset(i for i, token in enumerate(vocabulary.tokens) if token is not None and i not in made)
    return Replay(events, happened, left, right, final[:-1], alphabet)


def events_of(vocabulary: Vocabulary) -> np.ndarray:
    """The events of `vocabulary`; for one of ranks, the merge that makes each token, in the order of the ranks."""
    if vocabulary.events is not None:
        return vocabulary.events
    from ..formats import derive_merges

    return derive_merges(vocabulary)
