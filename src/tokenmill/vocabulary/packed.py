"""`PackedVocabulary`: tokens and events in flat memory, which become Python objects on first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import validation
from ._packed_cy import pack_tokens, unpack_tokens
from .lazy import lazy
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    import numpy as np


class PackedVocabulary(Vocabulary):
    """A vocabulary of plain merges whose tokens and events were checked before, by what packed them.

    packed: the bytes of all tokens and their sizes, as `pack_tokens` returns them.
    event_numbers: the numbers of all events in a row, as a buffer of int32.
    read_counts: returns the event counts of a vocabulary.
    """

    read_counts: Callable[[Vocabulary], Any] = staticmethod(lambda vocabulary: ())

    @lazy
    def event_counts(self) -> np.ndarray:  # type: ignore[override]
        return validation.checked_event_counts(self.read_counts(self), len(self.event_numbers) // 3)

    tokens = lazy(lambda self: unpack_tokens(*self.packed))  # type: ignore[assignment]
    events = lazy(lambda self: rows(self.event_numbers, "int32", 3))  # type: ignore[assignment]
    superwords = lazy(lambda self: rows(b"", "int32", 3))  # type: ignore[assignment]

    def __new__(cls, *arguments: Any, **fields: Any) -> Vocabulary:  # type: ignore[misc]
        """An ordinary Vocabulary of these fields, which are checked: what dataclasses.replace asks for."""
        return Vocabulary(*arguments, **fields)

    @property
    def has_superwords(self) -> bool:
        return False

    @staticmethod
    def of_ranks(tokens: Sequence[bytes | None], **settings: Any) -> PackedVocabulary:
        """The vocabulary of ranks of these tokens, no two of which are equal. The other fields, by name, are checked."""
        return PackedVocabulary.of(pack_tokens(tuple(tokens)), b"", **settings)

    @staticmethod
    def of(packed: tuple[bytes, bytes], events: bytes, **settings: Any) -> PackedVocabulary:
        """The vocabulary of these tokens and merges. The other fields, by name, are checked.

        events: the merges as int32 numbers.
        """
        made = object.__new__(PackedVocabulary)
        made.__dict__.update(settings, packed=packed, event_numbers=memoryview(events).cast("i"))
        made._check_settings()
        return made

    def with_companion(self, settings: dict[str, Any], read_counts: Callable[[Vocabulary], Any] | None) -> Vocabulary:
        """The vocabulary with these settings, which are checked. Order "ranks" leaves the merges out."""
        if settings.get("order") == "ranks":
            settings = settings | {"event_numbers": memoryview(b"").cast("i")}
        made = self.with_settings(**settings)
        if settings["byte_tokens"] or settings["decode_only"]:
            validation.check_bytes_apart(made.byte_tokens, made.decode_only, made.tokens)
        if read_counts is not None:
            made._put("read_counts", read_counts)
        return made


def rows(data: Any, kind: str, columns: int) -> np.ndarray:
    """A read-only array of the numbers in `data`."""
    import numpy as np

    return np.frombuffer(data, kind).reshape(-1, columns)
