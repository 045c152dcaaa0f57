"""Run the training kernels in slices of a fraction of a second, so that progress is shown and Ctrl-C works.

A `Watch` reports each merge with its count and each removal with its IoS as they happen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, OptionName, UsageError
from ..jobs.progress import Progress
from .options import Options

if TYPE_CHECKING:
    from ._corpus_cy import Corpus
    from ._pairs_cy import Pairs
    from ._tokens_cy import Tokens
    from .alphabet import Alphabet

_SLICE = 1 << 20  # positions that a kernel call visits: 20 to 100 ms
_PRETOKENS = 1 << 16  # pretokens loaded in one call, for the same reason
_FIRST_LOOK = 64  # merges, at least, before the threshold is raised for the first time
_SPARE = 16 << 20  # bytes for dead postings of Picky BPE, in addition to those for each node
_MAX_NODES_32 = 2**32 - 1  # the most nodes for positions of 32 bits

Rows = np.ndarray | Sequence[tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class TrainingEvent:
    """A merge, or the removal of a token by Picky BPE.

    rank: its index among all events, from 0.
    token: the bytes of the new or the removed token.
    left, right: the bytes of the merged tokens; None for a removal.
    count: the count of the pair when it was merged; None for a removal.
    ios: the IoS that caused the removal; None for a merge.
    """

    rank: int
    token: bytes
    left: bytes | None = None
    right: bytes | None = None
    count: int | None = None
    ios: float | None = None


class Watch:
    """Passes events on to `progress.event`, if there is such a method. tokens: the alphabet. rank: of the first event."""

    def __init__(self, progress: Progress | None, tokens: Sequence[bytes], rank: int = 0):
        self.event: Callable[[TrainingEvent], Any] | None = getattr(progress, "event", None)
        self._tokens = list(tokens)
        self._reported = 0
        self._rank = rank

    def report(self, events: Rows, numbers: Rows) -> None:
        """Pass on the new ones of all events so far. numbers: for a merge its count and 0, for a removal its IoS as a / b."""
        if self.event is None:
            return
        tokens, first = self._tokens, self._reported
        rows = zip(*(np.asarray(rows[first:]).tolist() for rows in (events, numbers)), strict=True)
        for rank, ((left, right, new), (a, b)) in enumerate(rows, first + self._rank):
            if right < 0:
                self.event(TrainingEvent(rank, tokens[left], ios=a / b))
                continue
            if new == len(tokens):
                tokens.append(tokens[left] + tokens[right])
            self.event(TrainingEvent(rank, tokens[new], tokens[left], tokens[right], count=a))
        self._reported = len(events)


def load_corpus(start: Alphabet, counts: np.ndarray, min_count: int, progress: Progress) -> tuple[Corpus, int]:
    """The corpus of the pretokens with a count of at least `min_count`, and its `pair_weight`."""
    from ._corpus_cy import Corpus

    order = by_falling_count(counts, min_count)
    weight = pair_weight(start.offsets, counts)
    spans = np.asarray(start.spans or (), np.uint32)
    room = len(order) + 1 + (int(spans[start.ids].sum()) if len(spans) else len(start.ids))
    corpus = Corpus(room, len(order), room > _MAX_NODES_32)
    for done in range(0, len(order), _PRETOKENS):
        progress("load", done, len(order))
        corpus.load(start.ids, start.offsets, counts, order[done : done + _PRETOKENS], spans)
    progress("load", len(order), len(order))
    return corpus, weight


def pair_weight(offsets: np.ndarray, counts: np.ndarray) -> int:
    """The number of pairs in the corpus, each counted as often as its pretoken. UsageError if 64 bits cannot hold it."""
    # np.dot would start threads that go on spinning while the kernels run.
    weight = float(np.multiply(np.diff(offsets), counts, dtype=np.float64).sum())
    if weight >= 2.0**63:
        raise UsageError("the counts add up to 2**63 tokens or more, and 64 bits must hold them; divide the counts")
    return int(weight - float(counts.sum(dtype=np.float64)))


def by_falling_count(counts: np.ndarray, min_count: int) -> np.ndarray:
    """The indices of the pretokens with a count of at least `min_count`, by falling count. InputError if there are none."""
    order = np.argsort(~counts, kind="stable")[: np.count_nonzero(counts >= min_count)].astype(np.int64, copy=False)
    if len(order):
        return order
    least = OptionName("min_count")
    if not counts.any():
        rare = (f" that occurs {min_count} times. Lower ", least) if min_count > 1 else ()
        raise InputError(
            "the corpus is empty: it has no pretoken to train on", *rare, ". Check that the sources contain text"
        )
    most = f" is {min_count}, and the most frequent of {len(counts)} pretokens occurs {int(counts.max())} times. Lower "
    raise InputError("no pretoken is left to train on: ", least, most, least)


# The events and their numbers, as a Vocabulary has them; all tokens by id; the ids of the removed ones
MergeResult = tuple[np.ndarray, np.ndarray, list[bytes], list[int]]


def merge(
    corpus: Corpus,
    alphabet: list[bytes],
    options: Options,
    weight: int,
    progress: Progress,
    watch: Watch | None = None,
    *,
    max_words: int = 0,
) -> MergeResult:
    """Plain BPE. weight: see `pair_weight`. max_words: the largest number of words in a new token; 0 for no limit."""
    from ._merge_cy import MergeLoop
    from ._pairs_cy import Pairs
    from ._tokens_cy import Tokens

    first = len(alphabet)
    wanted = min(options.n_ordinary - first, corpus.n_nodes)  # each merge leaves one token less in the corpus
    tokens = Tokens(alphabet, None, options.max_bytes, max_words)
    threshold = max(options.min_pair_count, _guess_threshold(weight, wanted))
    pairs = Pairs(threshold, corpus.wide, min(2 * corpus.n_nodes, 8 * wanted + (1 << 16)))
    loop = MergeLoop(corpus, pairs, tokens)
    look = max(_FIRST_LOOK, wanted // 64)  # the number of merges at which the threshold is raised next
    while True:
        build_index(corpus, pairs, tokens, progress)
        while tokens.present - first < wanted and loop.run_on(first + min(look, wanted), _SLICE):
            done = _report(tokens, first, wanted, progress, watch)
            if look <= done < wanted:
                pairs.raise_threshold(_estimate_threshold(pairs, wanted - done))
                look = 2 * done
        done = tokens.present - first
        if done == wanted or pairs.threshold == options.min_pair_count:
            return _result(tokens, first, progress, watch)
        # The threshold was too high. Start a phase with a lower one. It must not rise again at once: if many pairs have similar
        # counts, the same estimate would end that phase after a few merges, and so on.
        look = max(look, 2 * done)
        loop.end_phase(max(options.min_pair_count, pairs.threshold // 16))


def refine(
    corpus: Corpus,
    alphabet: Sequence[bytes],
    options: Options,
    progress: Progress,
    *,
    spans: list[int] | None = None,
    gone: Sequence[tuple[bytes, int, int]] = (),
    watch: Watch | None = None,
) -> MergeResult:
    """Picky BPE. Nothing is removed if refine is None.

    spans: the number of nodes of each token of `alphabet`; None if each has one.
    gone: tokens that an earlier training removed, (bytes, left id, right id) with the first pair of each. They may come back.
        Their ids follow `alphabet`, and each spans as many nodes as it has bytes.
    """
    from ._pairs_cy import Pairs
    from ._picky_cy import PickyLoop
    from ._tokens_cy import Tokens

    first, wanted = len(alphabet), options.n_ordinary
    threshold = (0, 0)
    if options.refine is not None:  # the decimal number as written, in 64 bits
        threshold = Fraction(str(options.refine)).limit_denominator(10**18).as_integer_ratio()
    tokens = Tokens(list(alphabet), spans, options.max_bytes)
    tokens.look_up([(token, left, right, len(token)) for token, left, right in gone])
    pairs = Pairs(1, corpus.wide)
    build_index(corpus, pairs, tokens, progress)
    # A training of 32,768 tokens had 14 pairs for each token on English and code, 49 on many languages.
    expected = min(corpus.n_nodes, 16 * wanted)
    loop = PickyLoop(corpus, pairs, tokens, *threshold, options.min_pair_count, expected, _SPARE)
    while tokens.present < wanted and loop.run_on(wanted, _SLICE):
        _report(tokens, first, wanted - first, progress, watch)
    return _result(tokens, first, progress, watch)


def build_index(corpus: Corpus, pairs: Pairs, tokens: Tokens, progress: Progress) -> None:
    progress("index", 0, corpus.n_nodes)
    pairs.index(corpus, tokens)
    progress("index", corpus.n_nodes, corpus.n_nodes)


def _report(tokens: Tokens, first: int, wanted: int, progress: Progress, watch: Watch | None) -> int:
    """Report the progress and the new events. Return the number of new tokens."""
    done = tokens.present - first
    progress("merge", done, wanted)
    if watch is not None and watch.event is not None:  # `events` copies all of them
        watch.report(*tokens.events())
    return done


def _result(tokens: Tokens, first: int, progress: Progress, watch: Watch | None) -> MergeResult:
    _report(tokens, first, tokens.present - first, progress, watch)
    return *tokens.events(), tokens.to_list(), tokens.removed()


def _guess_threshold(weight: int, wanted: int) -> int:
    """An estimate of the count of the last merged pair. If it is too high, another phase follows.

    Equal shares of the corpus would be weight / wanted. At 32,768 and at 100,000 tokens the last pair's count was 20 to
    120 times smaller than that, on English, on 20 languages and on code.
    """
    return weight // max(1, 400 * wanted)


def _estimate_threshold(pairs: Pairs, wanted: int) -> int:
    """An estimate of the count of the last of `wanted` more merges: half the count of the `wanted`-th best pair now.

    New pairs appear and old ones lose counts, and the two nearly cancel out: docs/experiments/training.md.
    """
    counts, stride = pairs.sample_counts(1 << 14)
    counts = counts[counts >= pairs.threshold]
    return half_the_best(counts, wanted // stride)


def half_the_best(counts: np.ndarray, rank: int) -> int:
    """Half the highest count after the `rank` highest; 0 if there are no more."""
    index = len(counts) - 1 - rank
    return int(np.partition(counts, index)[index]) // 2 if index >= 0 else 0
