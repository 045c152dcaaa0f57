"""From word counts to a vocabulary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..counting import WordCounts
from ..counting.weights import scaled
from ..errors import UsageError
from ..jobs.progress import Progress
from ..vocabulary import AddedToken, Normalization, Vocabulary
from ..vocabulary.surgery import arranged
from . import loops
from .alphabet import byte_alphabet, character_alphabet
from .options import Options
from .watching import Watch


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
        counts = counts.cut_out((token.encode() for token in options.special_tokens), least=options.min_count)
        self.split_patterns = counts.split_patterns
        if options.alphabet == "bytes":
            start = byte_alphabet(counts)
        else:
            frequent = counts.counts >= options.min_count
            unknown = options.unknown_token is not None
            start = character_alphabet(counts, frequent, options.coverage, unknown, options.characters)
        options.check_size(len(start.tokens))
        self.first_tokens = [token or b"" for token in start.tokens]
        self.unknown = start.unknown
        self.corpus, self.weight = loops.load_corpus(start, counts.counts, options.min_count, self.progress)

    def run(self) -> Vocabulary:
        """Train. In Picky BPE the removed tokens get the highest ids, after the special tokens."""
        options, tokens = self.options, list(self.first_tokens)
        watch = Watch(self.progress, tokens)
        if options.refine is None:
            trained = loops.merge(self.corpus, tokens, options, self.weight, self.progress, watch)
        else:
            trained = loops.refine(self.corpus, tokens, options, self.progress, watch=watch)
        events, numbers, tokens, removed = trained
        spelt, added, final = arranged(tokens, removed, options.special_tokens)
        if self.unknown is not None:
            added = (AddedToken(str(options.unknown_token), self.unknown), *added)
        return Vocabulary(
            tokens=spelt,
            split_patterns=self.split_patterns,
            normalization=Normalization(options.normalizers),
            order="merges" if options.refine is None else "events",
            events=final[events],
            added_tokens=added,
            # In plain BPE a pretoken that is a token always becomes that token. In event order it may not.
            whole_pretokens=options.refine is None,
            alphabet=options.alphabet,
            unknown=self.unknown,
            refine=options.refine,
            event_counts=numbers,
        )

    def n_tokens(self) -> int | None:
        """Return the number of tokens in the corpus: those of each pretoken times its count.

        None with an unknown token, which the corpus does not hold.

        After `run`, the vocabulary encodes the pretokens of at least `min_count` to as many tokens.
        """
        return self.corpus.n_tokens if self.unknown is None else None


def estimate_memory(counts: WordCounts, vocab_size: int, *, min_count: int = 1, refine: float | None = None) -> int:
    """An estimate of the bytes that training and saving need at their peak, besides what the process has with the word counts.

    With it, the whole process took at most 101 % of the announced memory on tables of 0.3 to 9 million pretokens, at 32,768
    to 1.8 million tokens. Picky BPE took 78 to 99 % on 0.3 million pretokens of many languages, at thresholds of 0.1 to 0.9
    and 33,000 to 500,000 tokens (two cores, November 2026).
    """
    frequent = counts.counts >= min_count
    nodes = int(np.diff(counts.offsets)[frequent].sum()) + int(np.count_nonzero(frequent))
    ids = min(vocab_size, 256 + nodes)  # each merge takes one node at least
    place = 4 if nodes <= loops._MAX_NODES_32 else 8
    # Nodes; positions of pairs above the threshold, and their order; tokens and pairs; Python and small arrays.
    needed = 4 * nodes + place * nodes * 11 // 8 + 256 * ids + min(28 << 20, 16 * nodes)
    if refine is None:
        return max(needed, 900 * ids)
    # A removal splits the token again, which adds pairs and events. The lower the threshold, the more often that happens.
    removals = min(1 / refine, 7)
    return round(max(needed * (2 + 0.2 * removals), 1200 * ids * (1 + 0.16 * removals)))


def limits_of(options: Options, counts: WordCounts) -> Options:
    """The options with min_count and min_pair_count as they are compared with weighted counts."""
    least, pair = (scaled(each, counts.scale) for each in (options.min_count, options.min_pair_count))
    return replace(options, min_count=least, min_pair_count=pair)
