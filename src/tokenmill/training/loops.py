"""Run the training kernels in slices of a fraction of a second, so that progress is shown and Ctrl-C works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..jobs.progress import Progress
from .options import Options, exact
from .watching import Watch

if TYPE_CHECKING:
    from ._corpus_cy import Corpus
    from ._limits_cy import Limits
    from ._pairs_cy import Pairs
    from .alphabet import Alphabet

_SLICE = 1 << 20  # positions that a kernel call looks at: 20 to 100 ms
_PRETOKENS = 1 << 16  # pretokens loaded in one call, for the same reason
_FIRST_LOOK = 64  # merges, at least, before the threshold is raised for the first time
_MAX_NODES_32 = 2**32 - 1  # up to so many nodes, positions have 32 bits
_NO_LIMIT = 2**64 - 1


def load_corpus(start: Alphabet, counts: np.ndarray, order: np.ndarray, progress: Progress) -> Corpus:
    """The corpus of the pretokens order[0], order[1], ..., whose counts must not rise."""
    from ._corpus_cy import Corpus

    spans = np.asarray(start.spans or (), np.uint32)
    room = len(order) + 1 + (int(spans[start.ids].sum()) if len(spans) else len(start.ids))
    corpus = Corpus(room, room > _MAX_NODES_32)
    for done in range(0, len(order), _PRETOKENS):
        progress("load", done, len(order))
        corpus.load(start.ids, start.offsets, counts, order[done : done + _PRETOKENS], spans)
    progress("load", len(order), len(order))
    return corpus


# (left id, right id, new id), or (removed id, -1, -1), as int32 rows; all tokens by id; the ids of the removed ones
Trained = tuple[np.ndarray, list[bytes], list[int]]


def merge(
    corpus: Corpus,
    tokens: list[bytes],
    options: Options,
    weight: int,
    progress: Progress,
    watch: Watch | None = None,
    *,
    max_words: int = 0,
) -> Trained:
    """Plain BPE.

    tokens: the alphabet. weight: the number of pairs in the corpus, each counted as often as its pretoken.
    watch: gets the count of each merge.
    max_words: the most words in a token that is made; 0 for no limit.
    """
    from ._limits_cy import Limits
    from ._merge_cy import MergeLoop
    from ._pairs_cy import Pairs

    first = len(tokens)
    wanted = min(options.n_ordinary - first, corpus.n_nodes)  # each merge leaves one token less in the corpus
    merges = np.zeros((wanted, 3), np.int32)
    numbers = np.zeros((wanted, 2), np.uint64)
    watch = watch or Watch(None, ())
    can_be_too_long = corpus.n_nodes * max(map(len, tokens)) > options.max_bytes
    limits = Limits(tokens, first + wanted, options.max_bytes if can_be_too_long else _NO_LIMIT, max_words)
    threshold = max(options.min_pair_count, _guess_threshold(weight, wanted))
    pairs = Pairs(threshold, corpus.wide, min(2 * corpus.n_nodes, 8 * wanted + (1 << 16)))
    loop = MergeLoop(corpus, pairs, limits, merges, numbers, first)
    look = max(_FIRST_LOOK, wanted // 64)  # the number of merges at which the threshold is raised next
    while True:
        build_index(corpus, pairs, limits, progress)
        while loop.n_merges < wanted and loop.merge(min(look, wanted), _SLICE):
            progress("merge", loop.n_merges, wanted)
            if watch.event is not None:
                watch.tell(merges[: loop.n_merges], numbers[: loop.n_merges])
            if look <= loop.n_merges < wanted:
                pairs.raise_threshold(_estimate_threshold(pairs, wanted - loop.n_merges))
                look = 2 * loop.n_merges
        done = loop.n_merges
        if done == wanted or pairs.threshold == options.min_pair_count:
            progress("merge", done, done)
            watch.tell(merges[:done], numbers[:done])
            return merges[:done], loop.spell(tokens), []
        # The threshold was too high. Start a phase with a lower one, which must not rise again at once: where many pairs
        # have like counts, the same estimate would end that phase after a few merges, and so on.
        look = max(look, 2 * done)
        loop.end_phase(max(options.min_pair_count, pairs.threshold // 16))


def refine(
    corpus: Corpus,
    tokens: Sequence[bytes],
    options: Options,
    progress: Progress,
    *,
    spans: list[int] | None = None,
    gone: Sequence[tuple[bytes, int, int]] = (),
    watch: Watch | None = None,
) -> Trained:
    """Picky BPE. Nothing is removed if refine is None.

    spans: the number of nodes of each token of `tokens`, if the corpus was loaded that way; None if each has one.
    gone: tokens removed in an earlier training, with the pair that each was first made from. Their ids follow `tokens`, they
        span as many nodes as they have bytes, and they may come back.
    watch: gets the count of each merge and the IoS of each removal.
    """
    from ._limits_cy import Limits
    from ._pairs_cy import Pairs
    from ._picky_cy import PickyLoop
    from ._tokens_cy import Tokens

    wanted = options.n_ordinary
    threshold = (0, 0) if options.refine is None else exact(options.refine).as_integer_ratio()
    known = Tokens(list(tokens), spans or [1] * len(tokens))
    known.recall([(token, left, right, len(token)) for token, left, right in gone])
    pairs = Pairs(1, corpus.wide)
    build_index(corpus, pairs, Limits(list(tokens), len(tokens), options.max_bytes, spans=spans), progress)
    # English and code met 14 pairs for each token of 32,768, many languages 49.
    expected = min(corpus.n_nodes, 16 * wanted)
    loop = PickyLoop(corpus, pairs, known, *threshold, options.min_pair_count, options.max_bytes, expected)
    watch = watch or Watch(None, ())
    while loop.run_on(wanted, _SLICE):
        progress("merge", loop.present - len(tokens), wanted - len(tokens))
        if watch.event is not None:
            watch.tell(*known.events())
    progress("merge", loop.present - len(tokens), loop.present - len(tokens))
    events, numbers = known.events()
    watch.tell(events, numbers)
    return events, known.to_list(), known.removed()


def build_index(corpus: Corpus, pairs: Pairs, limits: Limits, progress: Progress) -> None:
    """Find the pairs of the corpus."""
    from ._index_cy import index_pairs

    progress("index", 0, corpus.n_nodes)
    index_pairs(corpus, pairs, limits)
    progress("index", corpus.n_nodes, corpus.n_nodes)


def _guess_threshold(weight: int, wanted: int) -> int:
    """A count that the last merged pair will probably reach. `_estimate_threshold` does better once there are pairs of many
    kinds. If the guess is too high, another phase follows.

    If all merges had equal shares of the corpus, each would take weight / wanted of it. At 32,768 and at 100,000 tokens
    the last pair's count was 20 to 120 times smaller than that, on English, on 20 languages and on code.
    """
    return weight // max(1, 400 * wanted)


def _estimate_threshold(pairs: Pairs, wanted: int) -> int:
    """Half the count of the `wanted`-th best pair there is now: a count that the last of so many more merges will probably reach.

    New pairs come up and old ones lose counts, and the two nearly cancel out: docs/experiments/training.md.
    """
    counts, stride = pairs.sample_counts(1 << 14)
    counts = counts[counts >= pairs.threshold]
    rank = wanted // stride
    if rank >= len(counts):
        return 0
    return int(np.partition(counts, len(counts) - 1 - rank)[len(counts) - 1 - rank]) // 2
