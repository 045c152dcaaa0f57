"""Decode ids as they come, and never give out a broken character."""

from __future__ import annotations

import codecs
import numbers
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

__all__ = ["StreamDecoder"]


class StreamDecoder:
    """Turns ids into text pretoken by pretoken: bytes of a character that is not whole yet are held back.

    All that `feed` and the final `finish` give out, joined, is `tokenizer.decode(all ids, errors)`.

    >>> stream = tok.stream_decoder()
    >>> [stream.feed(id) for id in tok.encode_ordinary("🦜")], stream.finish()
    (['', '', '🦜'], '')
    """

    def __init__(self, tokenizer: Tokenizer, errors: str = "replace"):
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)

    def feed(self, ids: int | Iterable[int]) -> str:
        """Take one id or several; return the text that is whole by now, which may be empty."""
        data = self._tokenizer.decode_bytes((ids,) if isinstance(ids, numbers.Integral) else ids)
        return self._decoder.decode(data)

    def finish(self) -> str:
        """End the stream: return what is left of a broken character by `errors`, and begin anew."""
        text = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return text
