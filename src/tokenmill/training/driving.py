"""How the kernels are driven: in slices of a fraction of a second, so that progress shows and Ctrl-C works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from ._corpus_cy import Corpus
    from .alphabet import Alphabet

__all__ = ["lay_down", "merge", "refine", "spell"]

Progress = Callable[[str, int, "int | None"], None]

_SLICE = 1 << 20  # positions that a kernel looks at before it comes back: 20 to 100 ms
_PRETOKENS = 1 << 16  # pretokens laid down at once, for the same reason
_FIRST_LOOK = 64  # merges, at least, before the threshold is raised for the first time
_NARROW_LIMIT = 2**32 - 1  # nodes whose positions fit into 32 bits


def lay_down(start: Alphabet, counts: np.ndarray, order: np.ndarray, progress: Progress) -> Corpus:
    """The corpus of the pretokens order[0], order[1], ..., whose counts must not rise."""
    import numpy as np

    from ._corpus_cy import Corpus

    corpus = Corpus()
    slices = [order[first : first + _PRETOKENS] for first in range(0, len(order), _PRETOKENS)]
    sizes = start.offsets if start.nodes is None else start.nodes
    firsts = [corpus.measure(sizes, counts, part) for part in slices]
    corpus.allocate(_NARROW_LIMIT)
    for number, (first, part) in enumerate(zip(firsts, slices, strict=True)):
        progress("load", number * _PRETOKENS, len(order))
        if start.ids.dtype == np.uint8:
            corpus.load(start.ids, start.offsets, part, first)
        elif start.nodes is None:
            corpus.load_ids(start.ids, start.offsets, part, first)
        else:
            corpus.load_spread(start.ids, start.offsets, part, first, np.asarray(start.spans, np.uint32))
    progress("load", len(order), len(order))
    return corpus


def merge(
    corpus: Corpus,
    tokens: Sequence[bytes],
    wanted: int,
    weight: int,
    min_pair_count: int,
    max_bytes: int,
    progress: Progress,
) -> np.ndarray:
    """Plain BPE: up to `wanted` merges as int32 rows (left id, right id, new id).

    tokens: the alphabet. weight: how many pairs stand in the corpus, each counted as often as its pretoken.
    """
    import numpy as np

    from ._index_cy import PairIndex
    from ._merge_cy import MergeLoop
    from ._pairs_cy import Pairs
    from ._queue_cy import Queue

    first = len(tokens)
    wanted = min(wanted, corpus.nodes)  # each merge takes a token away
    spans = np.zeros(first + wanted, np.uint32)
    spans[:first] = 1
    lengths = np.zeros(first + wanted, np.uint32)
    lengths[:first] = [len(token) for token in tokens]
    merges = np.zeros((wanted, 3), np.int32)
    if corpus.nodes * max(map(len, tokens)) <= max_bytes:
        max_bytes = 2**64 - 1  # no token can be too long, and none is asked
    threshold = max(min_pair_count, _guess_threshold(weight, wanted))
    pairs = Pairs(threshold, corpus.wide, min(2 * corpus.nodes, 8 * wanted + (1 << 16)))
    queue = Queue(pairs)
    index = PairIndex(corpus, queue, spans, lengths, max_bytes)
    done = 0
    while True:
        _build(index, corpus, progress)
        loop = MergeLoop(corpus, queue, spans, lengths, merges, first + done, done, max_bytes)
        look = max(_FIRST_LOOK, wanted // 64)
        while loop.done < wanted and loop.merge(min(look, wanted), _SLICE):
            progress("merge", loop.done, wanted)
            if look <= loop.done < wanted:
                threshold = pairs.raise_threshold(wanted - loop.done)
                look = 2 * loop.done
        done = loop.done
        if done == wanted or threshold == min_pair_count:
            progress("merge", done, done)
            return merges[:done]
        threshold = max(min_pair_count, threshold // 16)
        index = PairIndex(corpus, queue, spans, lengths, max_bytes)
        while not index.compact(_SLICE):
            progress("index", 0, 2 * corpus.nodes)
        pairs.clear(threshold)
        queue.clear()


def spell(tokens: list[bytes], merges: np.ndarray) -> None:
    """Append to the tokens by id the one that each merge makes."""
    from ._merge_cy import append_tokens

    append_tokens(tokens, merges)


def refine(
    corpus: Corpus,
    tokens: Sequence[bytes],
    spans: Sequence[int] | None,
    wanted: int,
    threshold: tuple[int, int],
    min_pair_count: int,
    max_bytes: int,
    progress: Progress,
    gone: Sequence[tuple[bytes, int, int]] = (),
) -> tuple[np.ndarray, list[bytes], list[int]]:
    """Picky BPE until `wanted` tokens are present: the events, all tokens by id, and the ids of the removed ones.

    spans: the nodes that each token of `tokens` lies on, where the corpus was laid down so; None where it is 1.
    threshold: T as a fraction, (0, 0) to remove nothing.
    gone: tokens removed in an earlier training, with the pair that each was first made from. They get the ids after
        `tokens`, lie on as many nodes as they have bytes, and may come back.
    """
    import numpy as np

    from ._index_cy import PairIndex
    from ._pairs_cy import Pairs
    from ._picky_cy import PickyLoop
    from ._queue_cy import Queue
    from ._tokens_cy import Tokens

    known = Tokens(list(tokens), list(spans or [1] * len(tokens)))
    known.recall([(token, left, right, len(token)) for token, left, right in gone])
    lengths = np.array([len(token) for token in tokens], np.uint32)
    queue = Queue(Pairs(1, corpus.wide))
    widths = np.asarray(spans or [1] * len(tokens), np.uint32)
    _build(PairIndex(corpus, queue, widths, lengths, max_bytes, spans is not None), corpus, progress)
    # English and code met 14 pairs for each token of 32,768, many languages 49.
    expected = min(corpus.nodes, 16 * wanted)
    loop = PickyLoop(corpus, queue, known, *threshold, min_pair_count, max_bytes, expected)
    while loop.run_on(wanted, _SLICE):
        progress("merge", loop.present - len(tokens), wanted - len(tokens))
    progress("merge", loop.present - len(tokens), loop.present - len(tokens))
    events = np.frombuffer(known.event_bytes(), np.int32).reshape(-1, 3)
    return events, known.to_list(), known.removed()


def _build(index, corpus: Corpus, progress: Progress) -> None:
    while not index.count(_SLICE):
        progress("index", index.at, 2 * corpus.nodes)
    index.choose()
    while not index.place(_SLICE):
        progress("index", corpus.nodes + index.at, 2 * corpus.nodes)
    progress("index", 2 * corpus.nodes, 2 * corpus.nodes)


def _guess_threshold(weight: int, wanted: int) -> int:
    """A count that the last pair to be merged will surely reach, for a beginning: `Pairs.raise_threshold` knows better
    once there are pairs of many kinds. If the guess is wrong, another phase follows.

    Had all merges equal shares of the corpus, each would take weight / wanted of it. At 32,768 and at 100,000 tokens
    the last pair's count was 20 to 120 times smaller than that, on English, on 20 languages and on code.
    """
    return weight // max(1, 400 * wanted)
