"""The results of `TransformersTokenizer`."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from transformers import BatchEncoding


class LazyEncoding(BatchEncoding):
    """A BatchEncoding whose `encodings` are made on first use, by encoding again with the Rust library.

    encode: does that.
    """

    def __init__(self, data: dict[str, Any], encode: Callable[[], Any] | None = None, **options: Any):
        self._encode, self._made = encode, None
        super().__init__(data, **options)

    @property
    def _encodings(self) -> Any:
        if self._made is None and self._encode is not None:
            self._made = self._encode().encodings
        return self._made

    @_encodings.setter
    def _encodings(self, encodings: Any) -> None:
        self._made = encodings

    is_fast = True

    def __getstate__(self) -> dict[str, Any]:
        return {"data": self.data, "encodings": self._made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._encode = None
        super().__setstate__(state)


class ChatEncoding(LazyEncoding):
    """Encoded chats. The base class reads the offsets of their tokens for the mask of what the assistant wrote.

    spans: for each row, the first character of each token and the one after its last; 0 and 0 for control tokens and padding.
        None once the mask is made: then `encodings` are those of the Rust library.
    """

    spans: list[np.ndarray] | None = None

    @property
    def encodings(self) -> Any:
        if self.spans is None:
            return super().encodings
        return [SimpleNamespace(offsets=spans.tolist()) for spans in self.spans]
