"""PipelineEncoder: a text to ids and back, by the steps of a Pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...formats.byte_alphabet import to_text
from ...vocabulary import Vocabulary
from ...vocabulary.pipeline import Pipeline
from .decoders import bytes_of, decoder_of
from .models import Ids, model_of
from .pre_tokenizers import Word, pre_tokenizer_of

_MOST_WORDS = 1 << 16  # in the cache
_LONGEST = 256  # characters of a word in the cache


class Span(NamedTuple):
    """An id and the bytes of the text that it stands for."""

    id: int
    start: int
    end: int


class PipelineEncoder:
    """Encodes text without added tokens, after normalisation. Threads may share it.

    added: the text of each added token by id, as it is decoded.
    """

    def __init__(self, vocabulary: Vocabulary, pipeline: Pipeline, added: Mapping[int, str]):
        self.byte_level, self.mark = pipeline.byte_level, pipeline.mark
        self._cut = pre_tokenizer_of(pipeline.pre_tokenizer)
        self._model = model_of(vocabulary, pipeline)
        self._decode = decoder_of(pipeline.decoder)
        self._texts = list(pipeline.texts)
        self._texts += [None] * (max(added, default=0) + 1 - len(self._texts))
        for id, text in added.items():
            self._texts[id] = text
        self._cache: dict[str, Ids] = {}

    def encode(self, text: str, first: bool = True) -> list[int]:
        """The ids of a text. first: whether nothing is before it."""
        return [id for word in self._cut(text, first) for id in self._ids(word.text)[0]]

    def encode_word(self, word: bytes) -> list[int]:
        """The ids of a word, given as `parts` gives it."""
        return self._ids(self._spelt(word))[0]

    def parts(self, data: bytes) -> list[bytes]:
        """The words of a text, as bytes of the text; characters that a step puts before a word are in it."""
        return [self._bytes(word) for word in self._cut(data.decode("utf-8", "replace"), True)]

    def spans(self, text: str, first: bool = True) -> list[Span]:
        """The ids of a text with their places in it. A character that was put before a word is nowhere."""
        found = []
        place, at = 0, 0  # in characters, or in bytes after ByteLevel; and in bytes
        for word in self._cut(text, first):
            ids, sizes = self._ids(word.text)
            hidden = word.added
            here = word.start
            for id, size in zip(ids, sizes, strict=True):
                size, hidden = max(0, size - hidden), max(0, hidden - size)
                start, end = here, here + size
                here = end
                if not self.byte_level:
                    at += len(text[place:start].encode())
                    place, start = start, at
                    end = at + len(text[place:end].encode())
                found.append(Span(id, start, end))
        return found

    def decode(self, ids: Iterable[int]) -> bytes:
        """The text of ids, as UTF-8."""
        return self._decode([text for id in ids if (text := self._texts[id]) is not None])

    def _ids(self, word: str) -> Ids:
        found = self._cache.get(word)
        if found is None:
            found = self._model(word)
            if len(word) <= _LONGEST:
                if len(self._cache) >= _MOST_WORDS:
                    self._cache.clear()
                self._cache[word] = found
        return found

    def _spelt(self, word: bytes) -> str:
        if self.byte_level:
            return to_text(word)
        text = word.decode("utf-8", "replace")
        return text.replace(" ", self.mark) if self.mark else text

    def _bytes(self, word: Word) -> bytes:
        if self.byte_level:
            return bytes_of(word.text)
        return (word.text.replace(self.mark, " ") if self.mark else word.text).encode()
