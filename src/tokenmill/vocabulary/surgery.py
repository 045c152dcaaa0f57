"""Vocabularies made from ranks or from other vocabularies: with new ids, with more special tokens, or cut to a smaller size.

Pruning, replacing and cutting all use `renumber`, which assigns each token a new id or leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..split import Splitter
from .vocabulary import AddedToken, Vocabulary

if TYPE_CHECKING:
    import numpy as np


def of_ranks(ranks: Mapping[bytes, int], split: str, special_tokens: Mapping[str, int]) -> Vocabulary:
    """Return the vocabulary of the arguments of tiktoken.Encoding."""
    if not ranks:
        raise UsageError("mergeable_ranks is empty")
    tokens = {id: token for token, id in ranks.items()}
    if min(tokens) < 0 or len(tokens) < len(ranks):
        raise UsageError("mergeable_ranks has a negative id, or one that two tokens share")
    Splitter(split)  # raises the error of the pattern now, not at the first text
    return with_special_ids(Vocabulary(tuple(map(tokens.get, range(max(tokens) + 1))), (split,)), special_tokens)


def with_special_ids(vocabulary: Vocabulary, special_tokens: Mapping[str, int]) -> Vocabulary:
    """Return the vocabulary with more control tokens. UsageError if an id is that of another token."""
    known = {token.content: token.id for token in vocabulary.added_tokens}
    for content, id in special_tokens.items():
        if known.get(content, id) != id:
            raise UsageError(f"the special token {content!r} has the id {known[content]}, not {id}")
    new = [AddedToken(content, id) for content, id in special_tokens.items() if content not in known]
    extended = vocabulary.replace(added_tokens=(*vocabulary.added_tokens, *new))
    for content, id in ((token.content, token.id) for token in new if token.id not in known.values()):
        if (text := vocabulary.token_bytes(id)) not in (None, content.encode()):
            raise UsageError(f"the special token {content!r} cannot have the id {id}: it is that of the token {text!r}")
    return extended


def all_ids(vocabulary: Vocabulary) -> set[int]:
    """Return the ids of all tokens, including removed tokens of a Picky vocabulary."""
    return {id for id, token in enumerate(vocabulary.tokens) if token is not None} | vocabulary.decoded_bytes.keys()


def renumber(vocabulary: Vocabulary, id_map: np.ndarray, n_events: int | None = None) -> Vocabulary:
    """Return the vocabulary with new ids. id_map: int32, the new id by old id, -1 for a token to leave out with its events.

    n_events: the number of first events to keep; by default all.
    """
    import numpy as np

    tokens: list[bytes | None] = [None] * (1 + int(id_map.max(initial=-1)))
    for token, id in zip(vocabulary.tokens, id_map.tolist(), strict=False):
        if id >= 0 and token is not None:
            tokens[id] = token
    while tokens and tokens[-1] is None:
        tokens.pop()
    events = vocabulary.events[:n_events]
    removal = events[:, 1] < 0
    alive = (id_map[events[:, 0]] >= 0) & (removal | ((id_map[events[:, 1]] >= 0) & (id_map[events[:, 2]] >= 0)))
    counts, superwords = vocabulary.event_counts[:n_events], vocabulary.superwords
    return vocabulary.replace(
        tokens=tuple(tokens),
        events=np.where(events < 0, -1, id_map[events])[alive],
        event_counts=counts[alive] if len(counts) else (),
        superwords=id_map[superwords] if len(superwords) else (),
        added_tokens=tuple(t._replace(id=int(id_map[t.id])) for t in vocabulary.added_tokens if id_map[t.id] >= 0),
        unknown=None if vocabulary.unknown is None else int(id_map[vocabulary.unknown]),
        byte_tokens=tuple(None if id is None else int(id_map[id]) for id in vocabulary.byte_tokens),
        decode_only=tuple((int(id_map[id]), text) for id, text in vocabulary.decode_only if id_map[id] >= 0),
    )


def with_removals(vocabulary: Vocabulary, ids: Iterable[int]) -> Vocabulary:
    """Return a vocabulary of events without the tokens `ids`: their removals follow the other events. All ids stay the same."""
    import numpy as np

    rows = np.array([(id, -1, -1) for id in sorted(ids)], np.int32).reshape(-1, 3)
    return vocabulary.replace(events=np.concatenate([vocabulary.events, rows]), event_counts=())


def with_special_tokens(vocabulary: Vocabulary, texts: Iterable[str]) -> Vocabulary:
    """Return the vocabulary with more control tokens; see `Tokenizer.add_special_tokens`. The ids of removed tokens move up."""
    import numpy as np

    new = [text for text in texts if text not in vocabulary.special_tokens]
    first = vocabulary.n_vocab
    id_map = np.arange(max(first, len(vocabulary.tokens)), dtype=np.int32)
    id_map[first:] += len(new)
    larger = renumber(vocabulary, id_map)
    added = (AddedToken(text, id) for id, text in enumerate(new, first))
    return larger.replace(added_tokens=(*larger.added_tokens, *added))


def prefix(vocabulary: Vocabulary, vocab_size: int) -> Vocabulary:
    """Return the vocabulary that the same training would have produced with this `vocab_size`; see `Tokenizer.prefix`.

    No step of a training depends on the size of the vocabulary, so a smaller one takes the same steps and ends earlier. This
    is true of plain, Picky and parity-aware BPE, and of SuperBPE with the same `stage1_size`.
    """
    import numpy as np

    special = [token.id for token in vocabulary.added_tokens if token.id != vocabulary.unknown]
    size = vocabulary.n_vocab - len(special)
    merged = vocabulary.events[vocabulary.events[:, 1] >= 0, 2]
    first = size + len(vocabulary.removed) - len(np.unique(merged))
    contiguous = special == [*range(size, vocabulary.n_vocab)] and not (merged < first).any()
    made = [id for id in dict.fromkeys(merged.tolist()) if id < vocabulary.n_vocab]
    ascending = made == sorted(made)  # unless an extension made a removed token again
    if vocabulary.has_superwords:
        raise UsageError(
            "superwords of whole pretokens (BoundlessBPE) depend on the size of the vocabulary: train each size on its own"
        )
    if vocabulary.order not in ("merges", "events") or not contiguous or not ascending:
        raise UsageError(
            "this vocabulary cannot be cut to a smaller size: only one from a single training can, without published "
            "ranks, added tokens or an extension"
        )
    if vocab_size < first + len(special):
        raise UsageError(
            f"vocab_size is {vocab_size}, but the alphabet and the special tokens need {first + len(special)}"
        )
    # Replay the events until `vocab_size` tokens are present.
    created: dict[int, None] = {}
    removed: set[int] = set()
    present, n_events = first + len(special), len(vocabulary.events)
    for number, (left, right, new) in enumerate(vocabulary.events.tolist()):
        if right < 0:
            removed.add(left)
            present -= 1
        elif present >= vocab_size:
            n_events = number
            break
        elif new not in created or new in removed:
            created[new] = None
            removed.discard(new)
            present += 1
    ids = [*range(first), *created]
    order = [*(id for id in ids if id not in removed), *special, *(id for id in ids if id in removed)]
    id_map = np.full(max(len(vocabulary.tokens), vocabulary.n_vocab), -1, np.int32)
    id_map[order] = np.arange(len(order))
    return renumber(vocabulary, id_map, n_events)


def arranged(
    spelt: Sequence[bytes], removed: Sequence[int], special: Iterable[str], present: Sequence[int] | None = None
) -> tuple[tuple[bytes | None, ...], tuple[AddedToken, ...], np.ndarray]:
    """Assign the final ids of a training: present tokens first, then special tokens, then the removed ones.

    spelt: the bytes by the id that the token had in training, b"" for no token. present: by default all but the removed ones.
    Returns the tokens, the special tokens, and an int32 array, the final id by the id in training. It has one more element,
    -1, for the -1 of a removal.
    """
    import numpy as np

    special = tuple(special)
    ids = np.delete(np.arange(len(spelt)), np.array(removed, np.int64)) if present is None else np.array(present)
    final = np.full(len(spelt) + 1, -1, np.int32)
    final[ids] = np.arange(len(ids))
    tokens = [spelt[id] or None for id in ids.tolist()]
    added = tuple(AddedToken(text, id) for id, text in enumerate(special, len(ids)))
    if removed:
        final[removed] = len(ids) + len(special) + np.arange(len(removed))
        tokens += [*[None] * len(special), *(spelt[id] for id in removed)]
    return tuple(tokens), added, final
