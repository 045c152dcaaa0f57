"""Prune a vocabulary: remove tokens so that every remaining token can still be built.

A token needs the parts of its merges, and those need theirs. So a token that should be removed stays if a remaining token
needs it. The remaining ids become consecutive in their old order, which keeps the order of the ranks. `id_map` says which
rows of an embedding table to keep.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from ..errors import UsageError, suggests_options
from ..jobs.progress import Progress
from ..sources.blocks import ReadOptions
from ..tokenizer import Tokenizer
from ..vocabulary import Vocabulary
from .evaluation_text import EvaluationText, Text
from .replay import alphabet_of, events_of
from .replay import replay as replay_events


@dataclass(frozen=True, eq=False)
class Pruned:
    """The result of `prune`.

    tok: the smaller tokenizer.
    id_map: int32, the new id by old id; -1 for a removed token.
    needed: the old ids that should have been removed, but that remaining tokens are built from.
    """

    tok: Tokenizer
    id_map: np.ndarray
    needed: list[int]

    @property
    def dropped(self) -> int:
        """The number of removed tokens."""
        return int((self.id_map < 0).sum())


@suggests_options()
def prune(
    tok: Tokenizer,
    ids: Iterable[int] | None = None,
    *,
    unused_on: Text | None = None,
    min_uses: int = 1,
    read: ReadOptions | None = None,
    progress: Progress | None = None,
) -> Pruned:
    """Remove tokens from a vocabulary: those given by id, or those that a text does not use.

    ids: the tokens to remove. Added tokens can be removed, the alphabet (the single bytes) cannot.
    unused_on: files, folders, globs or word counts. Tokens that this text uses fewer than `min_uses` times are removed;
        added tokens stay. With min_uses=1 the text keeps its segmentation, only the ids change.
    read: how text files are cut into documents, and which field or column holds the text.

    >>> smaller = prune(tok, unused_on="corpus/*.txt")
    >>> smaller.tok.n_vocab, smaller.id_map[300]
    (24117, 281)
    """
    if (ids is None) == (unused_on is None):
        raise UsageError("give either ids or unused_on to say which tokens to remove")
    vocabulary = tok.vocabulary
    if len(vocabulary.superwords):
        raise UsageError("a tokenizer with superwords of whole pretokens (BoundlessBPE) cannot be pruned")
    alphabet = _alphabet(vocabulary)
    ordinary = {id for id, token in enumerate(vocabulary.tokens) if token is not None}
    everything = ordinary | {token.id for token in vocabulary.added_tokens}
    if ids is not None:
        removing = set(ids)
        if strangers := sorted(removing - everything):
            raise UsageError(f"{strangers[0]} is not an id of this vocabulary")
        if fixed := sorted(removing & alphabet):
            raise UsageError(
                f"token {fixed[0]} is {vocabulary.tokens[fixed[0]]!r}, a part of the alphabet, and cannot be removed"
            )
        made: set[int] = set()
    else:
        used, made = _used(tok, EvaluationText(unused_on, read=read), min_uses, progress)  # type: ignore[arg-type]
        removing = ordinary - alphabet - used
    needed = sorted((made | _parts_of(vocabulary, (everything - removing) | made)) & removing)
    return _renumber(tok, (everything - removing) | set(needed), needed)


def _used(tok: Tokenizer, text: EvaluationText, min_uses: int, progress: Progress | None) -> tuple[set[int], set[int]]:
    """The tokens that the text uses at least `min_uses` times, and those that must stay to keep its segmentation.

    The latter are all tokens that an event makes on this text, even if a later event takes them apart again.
    """
    usage = reduce(add, text.usages(tok, progress, words=False).values())
    used = {id for id, times in enumerate(usage.by_id.tolist()) if times >= min_uses}
    if min_uses > 1:
        return used, set()
    result = replay_events(tok.vocabulary, text.together(tok), progress)
    made = zip(result.events.tolist(), result.happened.tolist(), strict=True)
    return used, {new for (_, right, new), times in made if times and right >= 0}


def _alphabet(vocabulary: Vocabulary) -> set[int]:
    """The tokens that cannot be removed."""
    unmade = alphabet_of(vocabulary, events_of(vocabulary))
    fixed = {id for id in unmade if vocabulary.alphabet == "characters" or len(vocabulary.tokens[id] or b"") == 1}
    return fixed if vocabulary.unknown is None else fixed | {vocabulary.unknown}


def _parts_of(vocabulary: Vocabulary, staying: set[int]) -> set[int]:
    """All tokens that the tokens in `staying` are merged from, directly or indirectly."""
    parts: dict[int, set[int]] = {}
    for left, right, new in events_of(vocabulary).tolist():
        if right >= 0:
            parts.setdefault(new, set()).update((left, right))
    found: set[int] = set()
    todo = list(staying)
    while todo:
        for part in parts.get(todo.pop(), ()):
            if part not in found:
                found.add(part)
                todo.append(part)
    return found


def _renumber(tok: Tokenizer, staying: set[int], needed: list[int]) -> Pruned:
    vocabulary = tok.vocabulary
    size = max([len(vocabulary.tokens), *(token.id + 1 for token in vocabulary.added_tokens)])
    id_map = np.full(size, -1, np.int32)
    kept = sorted(staying)
    id_map[kept] = np.arange(len(kept), dtype=np.int32)
    tokens = [vocabulary.tokens[id] if id < len(vocabulary.tokens) else None for id in kept]
    while tokens and tokens[-1] is None:
        tokens.pop()
    events = vocabulary.events
    removal = events[:, 1] < 0
    alive = (id_map[events[:, 0]] >= 0) & (removal | ((id_map[events[:, 1]] >= 0) & (id_map[events[:, 2]] >= 0)))
    events = np.where(events < 0, -1, id_map[events])[alive]
    smaller = replace(
        vocabulary,
        tokens=tuple(tokens),
        events=events,
        event_counts=vocabulary.event_counts[alive] if len(vocabulary.event_counts) else (),
        added_tokens=tuple(replace(t, id=int(id_map[t.id])) for t in vocabulary.added_tokens if t.id in staying),
        unknown=None if vocabulary.unknown is None else int(id_map[vocabulary.unknown]),
    )
    return Pruned(Tokenizer(smaller, name=tok.name), id_map, needed)
