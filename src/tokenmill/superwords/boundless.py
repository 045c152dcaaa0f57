"""BoundlessBPE: superwords of whole pretokens, which compete with the merges inside pretokens.

    Schmidt, Reddy, Tanner, Pinter: Boundless Byte Pair Encoding, 2025 (arXiv 2504.00178); Faster Superword Tokenization, 2026
    (arXiv 2604.05192)

Definitions
    events      those of a training on single pretokens, plain or Picky, of the wanted size
    atom        a token of these events that contains a letter, and to which its bytes are encoded as a pretoken
    segment     neighbouring pretokens of a document, each of which is an atom
    superwords  the merges of BPE on the segments: the most frequent pair first, then the smaller (left id, right id)

Events and superwords are added in turn until the vocabulary is full. A superword comes next if its count is higher
than that of the next event and both its tokens are present; else the next event, with the removals that follow it. All later
events are dropped. Text is encoded by the events first, pretoken by pretoken. Then superwords join neighbouring pretokens that
became one token each.
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
    """Train superwords of whole pretokens. `min_count` applies to the events, `min_pair_count` to both."""
    options = job.options
    Splitter(*job.counts.split_patterns, joins=bytes(1 << 13))  # raises before long work
    first = Training(job.counts, options.without_superwords(), job.show).run()
    segments = _Segments(job, first)
    wanted = options.n_ordinary - _BYTES
    totals = segments.totals()
    counts = np.minimum(first.event_counts[:, 0], 0xFFFF).astype(np.uint16)
    guess = passes.guess(np.concatenate([totals, counts]), wanted)
    for least, (rows, spelt, numbers) in segments.attempts(totals, guess, wanted):
        # A superword beyond `rows` has this count at most.
        unknown = least - 1 if least > options.min_pair_count else 0
        lengths = _select(first, rows.tolist(), numbers[:, 0].tolist(), options.n_ordinary, unknown)
        if lengths is not None:
            n_events, n = lengths
            return _vocabulary(job, first, (rows[:n], spelt, numbers[:n]), n_events)
    raise AssertionError("with all superwords, no word is unknown")


def _select(
    first: Vocabulary, superwords: Sequence[Row], counts: Sequence[int], size: int, unknown: int
) -> tuple[int, int] | None:
    """The numbers of events and superwords for `size` tokens. None if an unknown superword, of count `unknown`, may be next."""
    events = first.events.tolist()
    event_counts = first.event_counts[:, 0].tolist()
    present = {*range(_BYTES)}
    n_events = n = 0
    while len(present) < size:
        count = event_counts[n_events] if n_events < len(events) else 0
        if n < len(superwords) and counts[n] > count and present.issuperset(superwords[n][:2]):
            present.add(superwords[n][2])
            n += 1
            continue
        if n == len(superwords) and unknown > count:
            return None
        if n_events == len(events):
            break
        present.add(events[n_events][2])
        n_events += 1
        while n_events < len(events) and events[n_events][1] < 0:
            present.discard(events[n_events][0])
            n_events += 1
    return n_events, n


def _vocabulary(job: passes.Job, first: Vocabulary, merged: passes.Merged, n_events: int) -> Vocabulary:
    """The vocabulary. Its ids: bytes, tokens of the first events, superwords, special tokens, removed tokens."""
    events, (rows, spelt, numbers) = first.events[:n_events], merged
    is_removed: dict[int, bool] = dict.fromkeys(range(_BYTES), False)  # by id, in the order of the first merges
    for left, right, new in events.tolist():
        is_removed[left if right < 0 else new] = right < 0
    present = [id for id in is_removed if not is_removed[id]] + rows[:, 2].tolist()
    removed = [id for id in is_removed if is_removed[id]]
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
    merges = np.concatenate([vocabulary.events, vocabulary.superwords])
    watch = Watch(job.progress, [token or b"" for token in vocabulary.tokens])
    watch.report(merges, np.concatenate([vocabulary.event_counts, numbers]))
    return vocabulary


class _Segments(passes.Passes):
    """The passes over segments of atoms."""

    def __init__(self, job: passes.Job, first: Vocabulary) -> None:
        tok = Tokenizer(first)
        tokens = [token or b"" for token in first.tokens]
        is_atom = [
            id not in first.removed
            and _LETTER.search(token.decode(errors="ignore")) is not None
            and tok._core.encode_pretoken(token) == [id]
            for id, token in enumerate(tokens)
        ]
        self.atoms = np.array(is_atom, np.uint8)
        atoms = [token for token, atom in zip(tokens, is_atom, strict=True) if atom]
        # Segments continue only after the last byte of an atom and before the first byte of an atom.
        joins = np.zeros((256, 256), bool)
        joins[np.ix_(sorted({token[-1] for token in atoms}), sorted({token[0] for token in atoms}))] = True
        packed = np.packbits(joins, bitorder="little").tobytes()
        special = job.options.special_tokens
        super().__init__(job, tokens, Splitter(*first.split_patterns, special_tokens=special, joins=packed))
        self.pretokens = pretoken_cache(
            [token if atom or len(token) == 1 else None for token, atom in zip(tokens, is_atom, strict=True)]
        )

    def reader(self) -> SegmentReader:
        return SegmentReader(self.splitter.scanner, self.pretokens, self.cache_bytes, None, self.atoms)
