"""From word counts to a vocabulary: the options, and how the kernels are driven."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..counting import WordCounts
from ..errors import InputError, UsageError
from ..vocabulary import AddedToken, Vocabulary
from .alphabet import BREAK, Alphabet, byte_alphabet, character_alphabet
from .naive import train_naive
from .options import LONGEST, Options

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Training", "estimate_memory", "train_from_counts"]

Progress = Callable[[str, int, "int | None"], None]

_SLICE = 1 << 20  # positions that a kernel looks at before it comes back: 20 to 100 ms
_PIECES = 1 << 16  # pieces laid down at once, for the same reason
_NARROW_LIMIT = 2**32 - 1  # nodes whose positions fit into 32 bits


def train_from_counts(
    counts: WordCounts, vocab_size: int, *, progress: Progress | None = None, **options: Any
) -> Vocabulary:
    """Train byte-pair encoding on word counts. The options are those of `Options`.

    progress: called as progress(stage, done, total).

    Each step merges the pair with the highest count, of equals the one with the smaller (left id, right id).

    >>> counts = WordCounts.from_mapping({b"low": 5, b"lower": 2, b"newest": 6})
    >>> train_from_counts(counts, 260, special_tokens=["<|end|>"]).tokens[256:]
    (b'we', b'lo', b'ewe')
    """
    return Training(counts, Options(vocab_size=vocab_size, **options), progress).run()


class Training:
    """A training in two steps, so that the word counts need not be held to the end.

    The constructor copies what it needs of the counts; `run` trains. Between the two the caller may drop the counts,
    which on a large corpus are a third of the memory.
    """

    def __init__(self, counts: WordCounts, options: Options, progress: Progress | None = None) -> None:
        if not isinstance(counts, WordCounts):
            raise UsageError(
                f"expected WordCounts, got {type(counts).__name__}; WordCounts.from_mapping makes them from a dict"
            )
        self.options = options
        self.n_ordinary = options.n_ordinary
        self.max_bytes = min(options.max_token_bytes or LONGEST, LONGEST)
        self.progress = progress or (lambda stage, done, total: None)
        self.split_patterns = counts.split_patterns

        order = _by_falling_count(counts, options.min_count)
        if not len(order):
            raise InputError(_empty_message(counts, options.min_count))
        if options.alphabet == "bytes":
            start = byte_alphabet(counts)
        else:
            frequent = counts.counts >= options.min_count
            start = character_alphabet(counts, frequent, options.coverage, options.unknown_token is not None)
        self.first_tokens, self.unknown = start.tokens, start.unknown
        options.check_size(len(start.tokens))
        self._load(start, counts.counts, order)

    def _load(self, start: Alphabet, counts: np.ndarray, order: np.ndarray) -> None:
        """Copy the pieces into what the algorithm works on."""
        import numpy as np

        sizes = start.offsets[1:] - start.offsets[:-1]
        if float((sizes * counts.astype(float)).sum()) >= 2.0**63:
            raise UsageError("the counts add up to 2**63 tokens or more, and 64 bits must hold them; divide the counts")
        if self.options.algorithm == "naive":
            self.pieces = _as_lists(start, counts, order)
            return
        from ._corpus_cy import Corpus

        self.corpus = Corpus()
        slices = [order[first : first + _PIECES] for first in range(0, len(order), _PIECES)]
        firsts = [self.corpus.measure(start.offsets, counts, part) for part in slices]
        self.corpus.allocate(_NARROW_LIMIT)
        load = self.corpus.load if start.ids.dtype == np.uint8 else self.corpus.load_ids
        for number, (first, part) in enumerate(zip(firsts, slices, strict=True)):
            self.progress("load", number * _PIECES, len(order))
            load(start.ids, start.offsets, part, first)
        self.progress("load", len(order), len(order))
        inner = np.maximum(sizes, 1) - 1
        self.n_positions = int(inner[order].sum())
        self.weight = int((inner * counts.astype(float)).sum())

    def run(self) -> Vocabulary:
        """Train. Can be called once."""
        import numpy as np

        if self.options.algorithm == "naive":
            tokens = [token or b"" for token in self.first_tokens]
            events = train_naive(self.pieces, tokens, self.n_ordinary, self.options.min_pair_count, self.max_bytes)
        else:
            merges = self._merge()
            tokens = list(self.first_tokens)
            for left, right in zip(merges[:, 0].tolist(), merges[:, 1].tolist(), strict=True):
                tokens.append(tokens[left] + tokens[right])
            new = np.arange(len(self.first_tokens), len(tokens), dtype=np.uint32)
            events = np.column_stack([merges, new])
        return self._vocabulary(tokens, np.asarray(events, np.int32).reshape(-1, 3))

    def _merge(self) -> np.ndarray:
        """The merges as rows (left id, right id), by the kernels."""
        import numpy as np

        from ._index_cy import PairIndex
        from ._merge_cy import MergeLoop
        from ._pairs_cy import Pairs

        first = len(self.first_tokens)
        wanted = min(self.n_ordinary - first, self.n_positions)
        spans = np.ones(first + wanted, np.uint32)
        lengths = np.ones(first + wanted, np.uint32)
        lengths[:first] = [len(token or b"") for token in self.first_tokens]
        merges = np.zeros((wanted, 2), np.uint32)
        counts = np.zeros(wanted, np.uint64)
        threshold = max(self.options.min_pair_count, _guess_threshold(self.weight, wanted))
        pairs = Pairs(threshold, self.corpus.wide)
        done = 0
        index = PairIndex(self.corpus, pairs, spans, lengths, self.max_bytes)
        while True:
            while not index.count(_SLICE):
                self.progress("index", index.at, 2 * self.corpus.nodes)
            index.choose()
            while not index.place(_SLICE):
                self.progress("index", self.corpus.nodes + index.at, 2 * self.corpus.nodes)
            self.progress("index", 2 * self.corpus.nodes, 2 * self.corpus.nodes)
            loop = MergeLoop(self.corpus, pairs, spans, lengths, merges, counts, first + done, done, self.max_bytes)
            while loop.done < wanted and loop.merge(wanted, _SLICE):
                self.progress("merge", loop.done, wanted)
            done = loop.done
            if done == wanted or threshold == self.options.min_pair_count:
                self.progress("merge", done, done)
                return merges[:done]
            threshold = max(self.options.min_pair_count, threshold // 16)
            index = PairIndex(self.corpus, pairs, spans, lengths, self.max_bytes)
            while not index.compact(_SLICE):
                self.progress("index", 0, 2 * self.corpus.nodes)
            pairs.clear(threshold)

    def _vocabulary(self, tokens: list[bytes | None], events: np.ndarray) -> Vocabulary:
        added = []
        if self.unknown is not None:
            tokens[self.unknown] = None
            added.append(AddedToken(str(self.options.unknown_token), self.unknown))
        added += [AddedToken(text, id) for id, text in enumerate(self.options.special_tokens, len(tokens))]
        return Vocabulary(
            tokens=tuple(tokens),
            split_patterns=self.split_patterns,
            order="merges",
            events=events,
            added_tokens=tuple(added),
            alphabet=self.options.alphabet,
            unknown=self.unknown,
        )


def estimate_memory(counts: WordCounts, vocab_size: int) -> int:
    """About how many bytes training needs at its peak, besides the word counts."""
    nodes = int(counts.offsets[-1]) + len(counts)
    wide = 2 if nodes > _NARROW_LIMIT else 1
    # Nodes, positions of byte pairs, positions born later that find no hole, pairs, tokens, the order of the pieces.
    return 4 * nodes + (4 + 2) * wide * nodes + 40 * min(nodes, 30 * vocab_size) + 32 * vocab_size + 24 * len(counts)


def _guess_threshold(weight: int, wanted: int) -> int:
    """A count that the last pair to be merged will surely reach. If the guess is wrong, another phase follows.

    Had all merges equal shares of the corpus, each would take weight / wanted of it. At 32,768 and at 100,000 tokens
    the last pair's count was 20 to 120 times smaller than that, on English, on 20 languages and on code.
    """
    return weight // max(1, 400 * wanted)


def _by_falling_count(counts: WordCounts, min_count: int) -> np.ndarray:
    """The numbers of the pieces seen at least `min_count` times, by falling count."""
    import numpy as np

    # Nearly all counts are small, and NumPy sorts 16 bits by radix: five times as fast as sorting the counts.
    small = counts.counts < 1 << 16
    rare = np.flatnonzero(small & (counts.counts >= min_count))
    rare = rare[np.argsort(~counts.counts[rare].astype(np.uint16), kind="stable")]
    often = np.flatnonzero(~small & (counts.counts >= min_count))
    often = often[np.argsort(~counts.counts[often], kind="stable")]
    return np.concatenate([often, rare]).astype(np.int64, copy=False)


def _empty_message(counts: WordCounts, min_count: int) -> str:
    if not len(counts) or not counts.counts.any():
        return "the corpus is empty: there is not one piece to train on. Check that the sources hold text"
    return (
        f"no piece is left to train on: min_count is {min_count}, and the most frequent of {len(counts)} pieces was seen "
        f"{int(counts.counts.max())} times. Lower min_count"
    )


def _as_lists(start: Alphabet, counts: np.ndarray, order: np.ndarray) -> list[tuple[list[int], int]]:
    """The pieces as lists of ids for the textbook loop; a piece is cut where BREAK stands."""
    pieces = []
    for i in order.tolist():
        part: list[int] = []
        for id in [*start.ids[int(start.offsets[i]) : int(start.offsets[i + 1])].tolist(), BREAK]:
            if id != BREAK:
                part.append(id)
            else:
                pieces.append((part, int(counts[i])))
                part = []
    return pieces
