"""PartEncoders: what encodes long pretokens by their parts, made for one thread after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..merging._build_cy import list_merger, token_cache
from ._cache_cy import PretokenCache
from ._parts_cy import PartEncoder, pairs_inside

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np


class PartEncoders:
    """Makes PartEncoders for a plain BPE of bytes.

    tokens: the bytes of each token by id; the first 256 are the bytes in any order.
    merges: int32 rows (left id, right id, new id).
    cache_bytes: the limit of the cache of one PartEncoder.
    """

    def __init__(self, tokens: Sequence[bytes], merges: np.ndarray, cache_bytes: int) -> None:
        import numpy as np

        starts = {token: id for id, token in enumerate(tokens) if len(token) == 1}
        self._merger = list_merger(tuple(tokens), merges, [starts[bytes([i])] for i in range(256)], None, None)
        self._model = token_cache(self._merger, tuple(tokens))
        self._model.begin()
        self._slots = 4 * len(tokens)
        self._inside = np.frombuffer(pairs_inside(list(tokens)), np.uint64)
        self._sizes = np.array([len(token) for token in tokens], np.uint32)
        self._cache_bytes = cache_bytes

    def new(self) -> PartEncoder:
        """A PartEncoder for one thread."""
        cache = PretokenCache(self._merger, self._model, self._slots)
        return PartEncoder(cache, self._inside, self._sizes, self._cache_bytes)
