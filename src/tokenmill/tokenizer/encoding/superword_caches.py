"""Build the caches that encode superwords, for vocabularies trained in two stages and for those with `superwords`."""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING

from ...vocabulary._packed_cy import pack_tokens, spaced_tokens
from ..merging._build_cy import initial_ids, list_merger, packed_cache
from ._superwords_cy import IdMerger, SuperwordCache, border_filter

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from ...split._scan_cy import Scanner
    from ...vocabulary import Vocabulary
    from ..merging._merger_cy import Merger
    from ._cache_cy import PretokenCache

_SPANS_WORDS = re.compile(r"\w ")


def words_cache(tokens: Sequence[bytes | None], merges: np.ndarray) -> tuple[PretokenCache, np.ndarray]:
    """Return a cache that encodes by plain BPE of bytes, and `inside` of `encode_segments`. merges: rows (left, right, new id)."""
    import numpy as np

    tokens = tuple(tokens)
    packed = pack_tokens(tokens)
    merger = list_merger(packed, merges.reshape(-1), initial_ids(packed)[0], None, None)
    sizes = np.array([len(token or b"") for token in tokens])
    text = np.frombuffer(packed[0], np.uint8).astype(np.uint16)
    pairs = np.delete(text[:-1] << 8 | text[1:], np.cumsum(sizes[sizes > 0])[:-1] - 1)  # none across two tokens
    inside = np.packbits(np.bincount(pairs, minlength=1 << 16) > 0, bitorder="little").view(np.uint64)
    return packed_cache(merger, b"", b""), inside  # not the tokens: merging may not reach one


def pretoken_cache(tokens: Sequence[bytes | None]) -> PretokenCache:
    """Return a cache that encodes a pretoken to its token, or without one to its bytes, all 256 of which are tokens."""
    packed = pack_tokens(tuple(tokens))
    cache = packed_cache(list_merger(packed, array("i"), initial_ids(packed)[0], None, None), *packed)
    cache.begin()
    return cache


def _spans_words(token: bytes) -> bool:
    return _SPANS_WORDS.search(token.decode(errors="ignore")) is not None


def superword_cache(vocabulary: Vocabulary) -> tuple[IdMerger, SuperwordCache] | None:
    """Return the merger and the cache for tokens that span words; None for a vocabulary not trained in two stages.

    Stage 2 begins with the first token with a space after a letter or a number. None if it would be nearly all of
    the vocabulary, if stage 1 uses tokens of stage 2, or if a merge uses a token that a later one makes.
    """
    if vocabulary.order != "merges" or vocabulary.alphabet != "bytes" or vocabulary.unknown is not None:
        return None
    if vocabulary.dropped or vocabulary.byte_patterns:
        return None
    merges = vocabulary.event_numbers
    spaced = spaced_tokens(*vocabulary.packed)
    if not any(map(_spans_words, spaced.values())):
        return None
    ids = merges[2::3].tolist()
    t = next((n for n, id in enumerate(ids) if id in spaced and _spans_words(spaced[id])), len(ids))
    if t == len(ids) or 4 * t < len(ids):
        return None
    tokens, events = vocabulary.tokens, vocabulary.events
    new_ids = events[:, 2].tolist()
    singles = {id for id, token in enumerate(tokens) if token is not None and len(token) == 1}
    first, second = singles.union(events[:t].ravel().tolist()), set(new_ids[t:])
    if len({tokens[id] for id in singles}) < 256 or first & second or len(second) < len(new_ids) - t:
        return None

    import numpy as np

    rows, row_of = np.arange(len(new_ids)), np.full(len(tokens), -1)
    row_of[events[:, 2]] = rows
    if (row_of[events[:, :2]] >= rows[:, None]).any():
        return None
    merger, cache, borders, width = _joining(len(tokens), events[t:], max(first))
    words, inside = words_cache([token if id in first else None for id, token in enumerate(tokens)], events[:t])
    cache.set_stages(words, inside, None, borders, width)
    return merger, cache


def pretoken_superword_cache(vocabulary: Vocabulary, merger: Merger, scanner: Scanner) -> tuple[Merger, SuperwordCache]:
    """Return the merger and the cache of a vocabulary with `superwords`. merger: merges single pretokens."""
    new_ids = {*vocabulary.superwords[:, 2].tolist()}
    last = max(id for id, token in enumerate(vocabulary.tokens) if token is not None and id not in new_ids)
    _, cache, borders, width = _joining(len(vocabulary.tokens), vocabulary.superwords, last)
    cache.set_stages(packed_cache(merger, b"", b""), None, scanner, borders, width)
    return merger, cache


def _joining(n_ids: int, merges: np.ndarray, last: int) -> tuple[IdMerger, SuperwordCache, np.ndarray, int]:
    """The merger of superwords, its cache, the filter of the borders that they cross, and the bytes of an id. last: the highest other id."""
    import numpy as np

    # The first and the last id of stage 1 in each token.
    begins, ends = np.arange(n_ids, dtype=np.uint32), np.arange(n_ids, dtype=np.uint32)
    for left, right, new in merges.tolist():
        begins[new], ends[new] = begins[left], ends[right]
    width = 2 if last < 1 << 16 else 3
    merger = IdMerger(n_ids, [0] * 256)
    merger.set_merges(np.ascontiguousarray(merges), width)
    return merger, SuperwordCache(merger), border_filter(ends[merges[:, 0]], begins[merges[:, 1]]), width
