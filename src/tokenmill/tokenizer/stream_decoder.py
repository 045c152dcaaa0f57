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

    def __init__(
        self,
        decode_bytes: Callable[[Iterable[int]], bytes],
        errors: str = "replace",
        decode_first: Callable[[Iterable[int]], bytes] | None = None,
    ):
        """decode_first: decodes the ids at the start of the stream, where it is another function."""
        self._decode_bytes, self._decode_first = decode_bytes, decode_first or decode_bytes
        self._started = False
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)

    def feed(self, ids: int | Iterable[int]) -> str:
        """Take one id or several. Return the characters that are complete now, which may be none."""
        ids = (ids,) if isinstance(ids, numbers.Integral) else tuple(ids)
        decode = self._decode_bytes if self._started else self._decode_first
        self._started = self._started or bool(ids)
        return self._decoder.decode(decode(ids))

    def finish(self) -> str:
        """End the stream: return what is left of an incomplete character, treated by `errors`, and start again."""
        text = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        self._started = False
        return text
