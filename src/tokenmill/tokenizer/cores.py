"""The core for a vocabulary, and the decoder of streams for a core."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..vocabulary import Vocabulary
from .core import Core

if TYPE_CHECKING:
    from .streams import StreamDecoder

CACHE_BYTES = 256 << 20  # by default


def core_of(vocabulary: Vocabulary, cache_bytes: int = CACHE_BYTES) -> Core:
    """The core that encodes with the kernels, or with the library of the vocabulary."""
    if vocabulary.library is None:
        return Core(vocabulary, cache_bytes)
    from .library_core import LibraryCore  # late: few vocabularies need it

    return LibraryCore(vocabulary, cache_bytes)


def stream_decoder(core: Core, errors: str, skipped_ids: frozenset[int]) -> StreamDecoder:
    """A decoder that accepts ids as they arrive, and skips some."""
    if core.vocabulary.library is None:
        from .streams import StreamDecoder

        return StreamDecoder(core, errors, skipped_ids)
    from .library_core import LibraryCore, LibraryStreamDecoder

    assert isinstance(core, LibraryCore)
    return LibraryStreamDecoder(core, skipped_ids)
