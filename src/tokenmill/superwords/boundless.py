"""BoundlessBPE: superwords of whole pretokens, which compete with the merges inside pretokens.

    Schmidt, Reddy, Tanner, Pinter: Boundless Byte Pair Encoding, 2025 (arXiv 2504.00178); Faster Superword Tokenization, 2026
    (arXiv 2604.05192)

Definitions
    atom        a token of the BPE of single pretokens, plain or Picky and of the size wanted, that holds a letter and that is
                what its own bytes are encoded to as a pretoken
    segment     neighbouring pretokens of a document, each of which is an atom
    superwords  the merges of BPE on the segments: the most frequent pair first, then the smaller (left id, right id)

The events of the single pretokens and the superwords are taken in turn until the vocabulary is full. A superword is taken if
its count is higher than that of the next event and both its parts are there; else that event is taken, with the removals that
follow it. What is left of the events is dropped. Text is encoded by the events first, pretoken by pretoken. Then superwords
join neighbouring pretokens that became one token each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import regex

from ..errors import UsageError
from ..split import Splitter
from ..tokenizer import Tokenizer
from ..tokenizer.encoding.superword_caches import pretoken_cache
from ..training import Training
from ..training.loops import Watch
from ..vocabulary import Vocabulary
from ..vocabulary.surgery import arranged
from . import passes
from ._fragments_cy import SegmentReader

if TYPE_CHECKING:
    from collections.abc import Sequence

_LETTER = regex.compile(r"\p{L}")
_BYTES = 256
Row = tuple[int, int, int]


def train_boundless(job: passes.Job) -> Vocabulary:
    """Train superwords of whole pretokens. `min_count` holds for the events, `min_pair_count` for both."""
    options = job.options
    Splitter(*job.counts.split_patterns, joins=bytes(1 << 13))  # raises before long work
    first = Training(job.counts, options.without_superwords(), job.show).run()
    segments = _Segments(job, first)
    wanted = options.n_ordinary - _BYTES
    totals = segments.totals()
    counts = np.minimum(first.event_counts[:, 0], 0xFFFF).astype(np.uint16)
    guess = passes.guess(np.concatenate([totals, counts]), wanted)
    for least, (rows, spelt, numbers) in segments.attempts(totals, guess, wanted):
        # A superword that was not found has this count at most.
        unknown = least - 1 if least > options.min_pair_count else 0
        taken = _take(first, rows.tolist(), numbers[:, 0].tolist(), options.n_ordinary, unknown)
        if taken is not None:
            n_events, n = taken
            return _vocabulary(job, first, (rows[:n], spelt, numbers[:n]), n_events)
    raise AssertionError("with all superwords, no word is unknown")


def _take(
    first: Vocabulary, superwords: Sequence[Row], counts: Sequence[int], size: int, unknown: int
) -> tuple[int, int] | None:
    """The events and superwords that give `size` tokens. None if one not found, of `unknown` occurrences, may be one."""
    events = first.events.tolist()
    event_counts = first.event_counts[:, 0].tolist()
    there = {*range(_BYTES)}
    at = n = 0
    while len(there) < size:
        count = event_counts[at] if at < len(events) else 0
        if n < len(superwords) and counts[n] > count and there.issuperset(superwords[n][:2]):
            there.add(superwords[n][2])
            n += 1
            continue
        if n == len(superwords) and unknown > count:
            return None
        if at == len(events):
            break
        there.add(events[at][2])
        at += 1
        while at < len(events) and events[at][1] < 0:
            there.discard(events[at][0])
            at += 1
    return at, n


def _vocabulary(job: passes.Job, first: Vocabulary, merged: passes.Merged, n_events: int) -> Vocabulary:
    """The vocabulary. Its ids: bytes, tokens of the first events, superwords, special tokens, removed tokens."""
    events, (rows, spelt, numbers) = first.events[:n_events], merged
    gone: dict[int, bool] = dict.fromkeys([*range(_BYTES), *events[events[:, 1] >= 0, 2].tolist()], False)
    for left, right, new in events.tolist():
        gone[left if right < 0 else new] = right < 0
    present = [id for id in gone if not gone[id]] + rows[:, 2].tolist()
    removed = [id for id in gone if gone[id]]
    tokens = [spelt[id] for id in present]
    if len(set(tokens)) < len(tokens):
        twice = next(token for token in tokens if tokens.count(token) > 1)
        raise UsageError(
            f"the split pattern splits the same text in two ways: {twice!r} is a superword and another token. Give another pattern"
        )
    spelt_by_id, added, final = arranged(spelt, removed, job.options.special_tokens, present)
    vocabulary = Vocabulary(
        tokens=spelt_by_id,
        split_patterns=first.split_patterns,
        order="events",
        events=final[events],
        added_tokens=added,
        whole_pretokens=False,
        refine=first.refine,
        superwords=final[rows],
        event_counts=first.event_counts[:n_events],
    )
    every = np.concatenate([vocabulary.events, vocabulary.superwords])
    told = Watch(job.progress, [token or b"" for token in vocabulary.tokens])
    told.tell(every, np.concatenate([vocabulary.event_counts, numbers]))
    return vocabulary


class _Segments(passes.Passes):
    """Segments are runs of atoms."""

    def __init__(self, job: passes.Job, first: Vocabulary) -> None:
        tok = Tokenizer(first)
        tokens = [token or b"" for token in first.tokens]
        atoms = [
            id not in first.removed
            and _LETTER.search(token.decode(errors="ignore")) is not None
            and tok._core.encode_pretoken(token) == [id]
            for id, token in enumerate(tokens)
        ]
        self.atoms = np.array(atoms, np.uint8)
        found = [token for token, atom in zip(tokens, atoms, strict=True) if atom]
        # Segments go on only where the last byte of an atom is beside the first byte of one.
        joins = np.zeros((256, 256), bool)
        joins[np.ix_(sorted({token[-1] for token in found}), sorted({token[0] for token in found}))] = True
        packed = np.packbits(joins, bitorder="little").tobytes()
        special = job.options.special_tokens
        super().__init__(job, tokens, Splitter(*first.split_patterns, special_tokens=special, joins=packed))
        looked_up = (atom or len(token) == 1 for token, atom in zip(tokens, atoms, strict=True))
        self.known = pretoken_cache([token if known else None for token, known in zip(tokens, looked_up, strict=True)])

    def reader(self) -> SegmentReader:
        return SegmentReader(self.splitter.scanner, self.known, self.cache, None, self.atoms)
