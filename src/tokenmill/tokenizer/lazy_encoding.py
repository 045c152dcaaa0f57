"""The results of `TransformersTokenizer`."""

from __future__ import annotations

from collections.abc import Callable
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
    """Encoded chats, and the spans of text that the assistant wrote, for the loss mask.

    The base class asks `char_to_token` for the first and the last character of each span, row by row. Its own mask takes all
    tokens to the end of a row for the assistant's if the answer is token 0 or none. So the questions are kept, and
    `assistant_masks` has the tokens that share a character with a span, wherever the row is truncated.

    spans: for each row, the first character of each token and the one after its last; 0 and 0 for control tokens and padding.
    """

    spans: list[np.ndarray]
    asked: tuple[tuple[int, int | None], ...] | None = ()

    def char_to_token(self, row: int, character: int | None = None, sequence_index: int = 0) -> int:
        if self.asked is None:
            return super().char_to_token(row, character, sequence_index)
        self.asked = (*self.asked, (row, character))
        return 0

    def assistant_masks(self) -> list[list[int]]:
        masks = [np.zeros(len(spans), np.int64) for spans in self.spans]
        asked, self.asked = self.asked or (), None
        for (row, first), (_, last) in zip(asked[::2], asked[1::2], strict=True):
            starts, ends = self.spans[row].T
            masks[row] |= (starts <= last) & (ends > first) & (starts < ends)
        return [mask.tolist() for mask in masks]
