"""Decode ids as they arrive, without ever giving out a broken character."""

from __future__ import annotations

import codecs
import numbers
from collections.abc import Callable, Iterable


class StreamDecoder:
    """Turns ids into text as they arrive. The bytes of an incomplete character are held back.

    The results of all `feed` calls and of the last `finish`, joined, are `tokenizer.decode(all_ids, errors)`.

    >>> stream = tok.stream_decoder()
    >>> [stream.feed(id) for id in tok.encode_ordinary("🦜")], stream.finish()
    (['', '', '🦜'], '')
    """

    def __init__(self, decode_bytes: Callable[[Iterable[int]], bytes], errors: str = "replace"):
        self._decode_bytes = decode_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)

    def feed(self, ids: int | Iterable[int]) -> str:
        """Take one id or several. Return the characters that are complete now, which may be none."""
        return self._decoder.decode(self._decode_bytes((ids,) if isinstance(ids, numbers.Integral) else ids))

    def finish(self) -> str:
        """End the stream: return what is left of an incomplete character, treated by `errors`, and start again."""
        text = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return text
