"""From word counts to a vocabulary, and from a vocabulary to a larger one: old ids stay, new tokens follow."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..counting import WordCounts
from ..counting.weights import scaled
from ..errors import OptionName, UsageError, plural
from ..jobs.progress import Progress
from ..vocabulary import AddedToken, Normalization, Vocabulary
from ..vocabulary.surgery import arranged
from . import loops
from .alphabet import Alphabet, byte_alphabet, character_alphabet
from .options import Options

LEAST_MEMORY = 12 << 20  # bytes that the libraries for training and saving take


class Training:
    """A training in two steps, so that the word counts can be freed between them.

    The constructor copies the counts that it needs, with special tokens and `cut` cut out. An alphabet of characters contains
    those of `needed`. `run` trains, once. Each step merges the pair with the highest count, of equals the one with the smaller
    (left id, right id).

    >>> counts = WordCounts.from_mapping({b"low": 5, b"lower": 2, b"newest": 6})
    >>> Training(counts, Options(260, special_tokens=["<|end|>"])).run().tokens[256:]
    (b'we', b'lo', b'ewe')
    """

    def __init__(
        self,
        counts: WordCounts,
        options: Options,
        progress: Progress | None = None,
        cut: Iterable[bytes] = (),
        needed: str = "",
    ) -> None:
        self.options = options = limits_of(options, counts)
        self.progress = progress or (lambda stage, done, total: None)
        special = (token.encode() for token in options.special_tokens)
        counts = counts.cut_out([*special, *cut], least=options.min_count)
        self.split_patterns = counts.split_patterns
        if options.alphabet == "bytes":
            start = byte_alphabet(counts)
        else:
            frequent = counts.counts >= options.min_count
            unknown = options.unknown_token is not None
            start = character_alphabet(counts, frequent, options.coverage, unknown, options.characters, needed)
        options.check_size(len(start.tokens))
        self.first_tokens = [token or b"" for token in start.tokens]
        self.unknown = start.unknown
        self.corpus, self.weight = loops.load_corpus(start, counts.counts, options.min_count, self.progress)

    def run(self) -> Vocabulary:
        """Train. In Picky BPE the removed tokens get the highest ids, after the special tokens."""
        options, tokens = self.options, list(self.first_tokens)
        watch = loops.Watch(self.progress, tokens)
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
        """After `run`: the number of tokens of the counted text; None with an unknown token, which the corpus leaves out."""
        return self.corpus.n_tokens if self.unknown is None else None


def estimate_memory(counts: WordCounts, vocab_size: int, *, min_count: int = 1, refine: float | None = None) -> int:
    """An estimate of the bytes that training and saving need at their peak, in addition to a process with the word counts.

    The whole process took at most 101 % of the announced memory on tables of 0.3 to 9 million pretokens, at 32,768 to 1.8
    million tokens. Picky BPE took 78 to 99 % on 0.3 million pretokens of many languages, at thresholds of 0.1 to 0.9 and 33,000
    to 500,000 tokens (two cores, November 2026).
    """
    frequent = counts.counts >= min_count
    nodes = int(np.diff(counts.offsets)[frequent].sum()) + int(np.count_nonzero(frequent))
    ids = min(vocab_size, 256 + nodes)  # each merge joins two nodes at least
    width = 4 if nodes <= loops._MAX_NODES_32 else 8
    # Nodes; postings of pairs above the threshold, and the new ones; tokens and pairs; Python and small arrays.
    needed = 4 * nodes + width * nodes * 11 // 8 + 256 * ids + min(28 << 20, 16 * nodes)
    if refine is None:
        return max(needed, 900 * ids)
    # Each removal adds pairs and events, and a lower threshold means more removals.
    removals = min(1 / refine, 7)
    return round(max(needed * (2 + 0.2 * removals), 1200 * ids * (1 + 0.16 * removals)))


def memory_note(needed: int, free: int, resident: int = 0, stage: str = "training") -> str:
    """A message with the memory that the process will need in a stage, and a warning if that is not free."""
    message = f"{stage} will need up to {math.ceil((needed + resident) / 2**20):,} MiB of memory"
    if needed > free:
        message += f", but only {free >> 20:,} MiB are free. Leave out rare pretokens with --min-count 2 or more."
    return message


def limits_of(options: Options, counts: WordCounts) -> Options:
    """The options with min_count and min_pair_count times the scale of the counts."""
    min_count, min_pair_count = scaled(options.min_count, counts.scale), scaled(options.min_pair_count, counts.scale)
    return replace(options, min_count=min_count, min_pair_count=min_pair_count)


def extend_vocabulary(
    counts: WordCounts,
    vocab_size: int,
    vocabulary: Vocabulary,
    ids: np.ndarray,
    offsets: np.ndarray,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Vocabulary:
    """Continue the training of `vocabulary` on the pretokens of `counts` as it encodes them.

    vocab_size: the `n_vocab` of the result. New tokens get the ids from the old `n_vocab` on, new special tokens the last ones.
    ids, offsets: uint32 and uint64 arrays: pretoken i of `counts`, encoded by `vocabulary`, is ids[offsets[i]:offsets[i + 1]].
    options: special_tokens (the new ones), min_count, min_pair_count, max_token_bytes and refine of `Options`. For a
        vocabulary of events, refine defaults to the threshold it was trained with.
    A pair that spells an old token becomes that token and takes no id. In plain BPE, 300 tokens extended to 400 on the same
    counts are the 400 tokens of one training.

    In Picky BPE the new events follow the old ones. Tokens that were present are never removed, because models have rows for
    them. Removed tokens may come back, as new tokens with new ids. The ids of removed tokens, which encoding never returns,
    change: they are the highest ones again.

    Raises UsageError for a vocabulary of characters.
    """
    progress = progress or (lambda stage, done, total: None)
    wanted = limits_of(checked_options(vocabulary, vocab_size, **options), counts)
    old, gone = vocabulary.n_vocab, sorted(vocabulary.removed)
    tokens = [
        b"" if token is None or id in vocabulary.removed else token for id, token in enumerate(vocabulary.tokens[:old])
    ]
    tokens += [b""] * (old - len(tokens))
    start = Alphabet(tuple(tokens), ids, offsets, spans=[len(token) for token in tokens])
    corpus, _ = loops.load_corpus(start, counts.counts, wanted.min_count, progress)
    # During training, the removed tokens have the ids from `old` on, and new ones follow. The last element is for -1.
    training_id = np.arange(len(vocabulary.tokens) + 1, dtype=np.int32)
    training_id[gone], training_id[-1] = np.arange(old, old + len(gone)), -1
    pairs: dict[int, tuple[int, int]] = {}  # the first pair of each token
    for left, right, new in vocabulary.events.tolist() if gone else ():
        if right >= 0:
            pairs.setdefault(new, (int(training_id[left]), int(training_id[right])))
    recalled = [(vocabulary.tokens[id] or b"", *pairs[id]) for id in gone]
    watch = loops.Watch(progress, [*tokens, *(token for token, _, _ in recalled)])
    events, numbers, known, removed = loops.refine(
        corpus, tokens, wanted, progress, spans=start.spans, gone=recalled, watch=watch
    )
    event_counts: Any = ()
    if vocabulary.order != "ranks":
        if len(vocabulary.event_counts) == len(vocabulary.events):
            event_counts = np.concatenate([vocabulary.event_counts, numbers])
        events = np.concatenate([training_id[vocabulary.events], events])
    spelt, added, final = arranged(known, removed, wanted.special_tokens)
    return vocabulary.replace(
        tokens=spelt,
        events=() if vocabulary.order == "ranks" else final[events],
        added_tokens=(*vocabulary.added_tokens, *added),
        refine=wanted.refine,
        event_counts=event_counts,
    )


def checked_options(vocabulary: Vocabulary, vocab_size: int, **options: Any) -> Options:
    """The options of an extension. UsageError for a vocabulary that cannot be extended, or not with these options."""
    if vocabulary.alphabet != "bytes":
        raise UsageError("a vocabulary of characters cannot be extended; only one of bytes can")
    if vocabulary.dropped or vocabulary.byte_patterns:
        raise UsageError("a vocabulary that drops white space, or cuts the bytes of pretokens, cannot be extended")
    wanted = Options(vocab_size=vocab_size, **options)
    old, special = vocabulary.n_vocab, tuple(wanted.special_tokens)
    if wanted.n_ordinary < old:
        raise UsageError(
            OptionName("vocab_size"),
            f" is {vocab_size}, but the {old} old ids and {plural(len(special), 'special token')} need {old + len(special)}",
        )
    known = {token.content for token in vocabulary.added_tokens}
    clash = next((text for text in special if text in known), None)
    if clash is not None:
        raise UsageError(f"the vocabulary has a special token {clash!r} already")
    refine = wanted.refine
    if vocabulary.order != "events" and refine is not None:
        order = f" is {refine}, but this vocabulary is of order {vocabulary.order!r}; only one of events can be refined"
        raise UsageError(OptionName("refine"), order)
    if vocabulary.order == "events" and (refine := refine or vocabulary.refine) is None:
        unknown = "the files of this Picky tokenizer do not say with which threshold it was trained; give "
        raise UsageError(unknown, OptionName("refine"), ", such as 0.9")
    return replace(wanted, refine=refine)
