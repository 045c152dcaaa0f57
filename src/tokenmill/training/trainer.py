"""From word counts to a vocabulary."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from ..counting import WordCounts
from ..counting.weights import scaled
from ..errors import InputError, UsageError
from ..jobs.progress import Progress
from ..vocabulary import AddedToken, Vocabulary
from ..vocabulary.surgery import final_ids
from . import loops
from .alphabet import BREAK, Alphabet, byte_alphabet, character_alphabet
from .naive import train_naive
from .options import Options
from .watching import Watch

TELL = 0.1  # seconds between two reports of the textbook loops


class Training:
    """A training in two steps, so that the word counts can be freed between them.

    The constructor copies what it needs of the counts. `run` trains, once. Each step merges the pair with the highest
    count, of equals the one with the smaller (left id, right id).

    >>> counts = WordCounts.from_mapping({b"low": 5, b"lower": 2, b"newest": 6})
    >>> Training(counts, Options(260, special_tokens=["<|end|>"])).run().tokens[256:]
    (b'we', b'lo', b'ewe')
    """

    def __init__(self, counts: WordCounts, options: Options, progress: Progress | None = None) -> None:

        if not isinstance(counts, WordCounts):
            raise UsageError(
                f"expected WordCounts, got {type(counts).__name__}; WordCounts.from_mapping makes them from a dict"
            )
        self.options = options = limits_of(options, counts)
        self.progress = progress or (lambda stage, done, total: None)
        counts = counts.cut_out(token.encode() for token in options.special_tokens)
        self.split_patterns = counts.split_patterns
        order = by_falling_count(counts, options.min_count)
        if options.alphabet == "bytes":
            start = byte_alphabet(counts)
        else:
            frequent = counts.counts >= options.min_count
            unknown = options.unknown_token is not None
            start = character_alphabet(counts, frequent, options.coverage, unknown, options.characters)
        options.check_size(len(start.tokens))
        self.first_tokens = [token or b"" for token in start.tokens]
        self.unknown = start.unknown
        self.weight = pair_weight(start.offsets, counts.counts)
        if options.algorithm == "naive":
            self.pretokens = _as_lists(start, counts.counts, order)
        else:
            self.corpus = loops.load_corpus(start, counts.counts, order, self.progress)

    def run(self) -> Vocabulary:
        """Train. In Picky BPE the removed tokens get the highest ids, after the special tokens."""
        options, tokens = self.options, list(self.first_tokens)
        watch = Watch(self.progress, tokens)
        if options.algorithm == "naive":
            rows, removed = self._textbook(tokens, watch)
            events = np.array(rows, np.int32).reshape(-1, 3)
        elif options.refine is None:
            events, tokens, removed = loops.merge(self.corpus, tokens, options, self.weight, self.progress, watch)
        else:
            events, tokens, removed = loops.refine(self.corpus, tokens, options, self.progress, watch=watch)
        if options.refine is None:
            return self._vocabulary(tokens, [], events, watch, "merges")
        present, final = final_ids(len(tokens), removed, options.vocab_size - options.n_ordinary)
        spelt, gone_too = [tokens[id] for id in present], [tokens[id] for id in removed]
        return self._vocabulary(spelt, gone_too, final[events], watch, "events")

    def _textbook(self, tokens: list[bytes], watch: Watch) -> tuple[list[tuple[int, int, int]], list[int]]:
        """The events and the ids of the removed tokens by the textbook loops. New tokens are appended to `tokens`."""
        options, size, first = self.options, self.options.n_ordinary, len(tokens)
        events: list[tuple[int, int, int]] = []
        numbers: list[tuple[int, int]] = []
        told = 0.0

        def tell() -> None:
            watch.tell(np.array(events, np.int32).reshape(-1, 3), np.array(numbers, np.uint64).reshape(-1, 2))

        def step(event: tuple[int, int, int], pair: tuple[int, int]) -> None:
            events.append(event)
            numbers.append(pair)
            nonlocal told
            self.progress("merge", len(tokens) - first, size - first)
            if watch.event is not None and time.monotonic() - told > TELL:
                tell()
                told = time.monotonic()

        limits = (options.min_pair_count, options.max_bytes)
        train_naive(self.pretokens, tokens, size, options.refine, *limits, step=step)
        tell()
        is_removed = {left if right < 0 else new: right < 0 for left, right, new in events}  # the last event counts
        return events, sorted(id for id, gone in is_removed.items() if gone)

    def n_tokens(self) -> int | None:
        """Return the number of tokens in the corpus: those of each pretoken times its count.

        None with the textbook loops, or with an unknown token, which the corpus does not hold.

        After `run`, the vocabulary encodes the pretokens of at least `min_count` to as many tokens.
        """
        if self.options.algorithm == "naive" or self.unknown is not None:
            return None
        return self.corpus.n_tokens()

    def _vocabulary(
        self, tokens: list[Any], removed: list[bytes], events: np.ndarray, watch: Watch, order: Any
    ) -> Vocabulary:
        """The vocabulary of the tokens by id; the special and the removed tokens are added here."""
        added = []
        if self.unknown is not None:
            tokens[self.unknown] = None
            added.append(AddedToken(str(self.options.unknown_token), self.unknown))
        special = [AddedToken(text, id) for id, text in enumerate(self.options.special_tokens, len(tokens))]
        if removed:
            tokens += [None] * len(special) + removed
        return Vocabulary(
            tokens=tuple(tokens),
            split_patterns=self.split_patterns,
            normalizers=self.options.normalizers,
            order=order,
            events=events,
            added_tokens=(*added, *special),
            # In plain BPE a pretoken that is a token always becomes that token. In event order it may not.
            whole_pretokens=order == "merges",
            alphabet=self.options.alphabet,
            unknown=self.unknown,
            refine=self.options.refine,
            event_counts=watch.numbers,
        )


def estimate_memory(counts: WordCounts, vocab_size: int, *, min_count: int = 1, refine: float | None = None) -> int:
    """An estimate of the bytes that training needs at its peak, besides what the process has with the word counts.

    With it, the whole process took at most 101 % of the announced memory on tables of 0.3 to 9 million pretokens, at 32,768
    and 131,072 tokens, Picky BPE included (two cores, November 2026).
    """
    frequent = counts.counts >= min_count
    nodes = int(np.diff(counts.offsets)[frequent].sum()) + int(np.count_nonzero(frequent))
    place = 4 if nodes <= loops._MAX_NODES_32 else 8
    # Nodes; positions of pairs above the threshold, and their order; tokens and pairs; Python and small arrays.
    needed = 4 * nodes + place * nodes * 11 // 8 + 256 * vocab_size + min(28 << 20, 16 * nodes)
    return needed if refine is None else needed * 19 // 10


def limits_of(options: Options, counts: WordCounts) -> Options:
    """The options with min_count and min_pair_count as they are compared with weighted counts."""
    least, pair = (scaled(each, counts.scale) for each in (options.min_count, options.min_pair_count))
    return replace(options, min_count=least, min_pair_count=pair)


def pair_weight(offsets: np.ndarray, counts: np.ndarray) -> int:
    """The number of pairs in the corpus, each counted as often as its pretoken. UsageError if 64 bits cannot hold it."""
    # np.dot would start threads that keep spinning beside the kernels.
    weight = float(np.multiply(np.diff(offsets), counts, dtype=np.float64).sum())
    if weight >= 2.0**63:
        raise UsageError("the counts add up to 2**63 tokens or more, and 64 bits must hold them; divide the counts")
    return int(weight - float(counts.sum(dtype=np.float64)))


def by_falling_count(counts: WordCounts, min_count: int) -> np.ndarray:
    """The numbers of the pretokens seen at least `min_count` times, by falling count. InputError if there are none."""
    # Nearly all counts are small, and NumPy sorts 16-bit numbers by radix, five times as fast.
    order = np.argsort(~np.minimum(counts.counts, 0xFFFF).astype(np.uint16), kind="stable")
    often = order[: np.count_nonzero(counts.counts >= 0xFFFF)]
    often[:] = often[np.argsort(~counts.counts[often], kind="stable")]
    order = order[: np.count_nonzero(counts.counts >= min_count)].astype(np.int64, copy=False)
    if len(order):
        return order
    if not len(counts) or not counts.counts.any():
        raise InputError(
            "the corpus is empty: it has no pretoken to train on"
            + (f" that occurs {min_count} times. Lower min_count" if min_count > 1 else "")
            + ". Check that the sources contain text"
        )
    raise InputError(
        f"no pretoken is left to train on: min_count is {min_count}, and the most frequent of {len(counts)} pretokens occurs "
        f"{int(counts.counts.max())} times. Lower min_count"
    )


def _as_lists(start: Alphabet, counts: np.ndarray, order: np.ndarray) -> list[tuple[list[int], int]]:
    """The pretokens as lists of ids for the textbook loops, cut at each BREAK."""
    pretokens = []
    for i in order.tolist():
        part: list[int] = []
        for id in [*start.ids[int(start.offsets[i]) : int(start.offsets[i + 1])].tolist(), BREAK]:
            if id != BREAK:
                part.append(id)
            else:
                pretokens.append((part, int(counts[i])))
                part = []
    return pretokens
