"""The core for a vocabulary."""

from __future__ import annotations

from ..vocabulary import Vocabulary
from .core import Core

CACHE_BYTES = 256 << 20  # by default


def core_of(vocabulary: Vocabulary, cache_bytes: int = CACHE_BYTES) -> Core:
    """The core that encodes with the kernels, or with the library of the vocabulary."""
    if vocabulary.library is None:
        return Core(vocabulary, cache_bytes)
    from .library_core import LibraryCore  # late: few vocabularies need it

    return LibraryCore(vocabulary, cache_bytes)
