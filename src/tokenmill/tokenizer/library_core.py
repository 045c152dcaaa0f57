"""LibraryCore: encoding and decoding by tokenizers or sentencepiece, for files whose algorithm is theirs (see LibraryModel)."""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import lru_cache, partial
from itertools import accumulate
from numbers import Integral
from typing import Any

from ..errors import UsageError
from ..vocabulary import Vocabulary
from ..vocabulary._packed_cy import pack_tokens
from ..vocabulary.lazy import lazy
from ..vocabulary.library_model import LibraryModel, library_call
from .core import Core
from .encoding._cache_cy import PretokenCache
from .encoding._encode_cy import Encoder
from .merging._build_cy import list_merger, starts
from .normalization import repair
from .special import Plan
from .streams import StreamDecoder

_KEPT = 32  # ids: more than a decoder looks back

Spans = list[tuple[int, int]]  # of each id, its first character and the one after its last


class SuffixedCore(Core):
    """Encodes with BPE whose words end in a suffix."""

    def __init__(self, vocabulary: Vocabulary, suffix: bytes, cache_bytes: int):
        super().__init__(vocabulary, cache_bytes)
        self.suffix = suffix

    @lazy
    def kernel(self) -> Encoder:
        vocabulary, size = self.vocabulary, len(self.suffix)
        stems = tuple(token[:-size] if token and token.endswith(self.suffix) else None for token in vocabulary.tokens)
        first, last = starts(vocabulary.packed), starts(pack_tokens(stems))
        if vocabulary.alphabet == "bytes":
            first, last = (first[0], None), (last[0], None)
        merger = list_merger(
            vocabulary.packed,
            vocabulary.event_numbers,
            *first,
            vocabulary.unknown,
            dropped=vocabulary.dropped,
            last=last,
        )
        return Encoder(merger, PretokenCache(merger), self.scanner, vocabulary.n_vocab, self.cache_bytes)


class LibraryCore(Core):
    """The methods of Core for a vocabulary whose own library encodes. There are no pretokens, no merges and no cache here."""

    scanner = kernel = cutter = None

    def __init__(self, vocabulary: Vocabulary, cache_bytes: int):
        super().__init__(vocabulary, cache_bytes)
        assert vocabulary.library is not None
        self.model: LibraryModel = vocabulary.library
        # Control tokens that the library finds by itself. The normalizer may write one that the text does not spell.
        own = self.model.tokenizer.get_added_tokens_decoder() if self.model.library == "tokenizers" else {}
        self._found = frozenset(token.content for token in own.values()) & self.added.special
        unknown = getattr(self.model.tokenizer.model, "unk_token", None) if own else None
        self._control = {self.added.by_content[content].id for content in self._found - {unknown}}
        self._pattern = lru_cache(8)(_pattern_of)
        suffixed = self.model.suffixed
        self._by_kernels = None if suffixed is None else SuffixedCore(*suffixed, cache_bytes)
        self.plan = (self._by_kernels or self).plan

    @property
    def encoder(self) -> Core:
        return self._by_kernels or self

    def _spelt_tokens(self) -> list[str | None]:
        """Each token by id as its file spells it: "##ing", "\u2581the"."""
        model = self.model.tokenizer
        if self.model.library == "sentencepiece":
            return [*model.id_to_piece([*range(len(model))]), *[None] * (self.vocabulary.n_vocab - len(model))]
        return [model.id_to_token(id) for id in range(self.vocabulary.n_vocab)]

    @lazy
    def byte_ids(self) -> frozenset[int]:
        """The tokens of byte fallback, of which a run is decoded as a whole."""
        return frozenset(id for id, text in enumerate(self.spelt) if text and re.fullmatch("<0x[0-9A-F]{2}>", text))

    # Encoding

    def encode(self, text: str | bytes, plan: Plan, num_threads: int | None = 1) -> list[int]:
        if self._by_kernels is not None:
            return self._by_kernels.encode(text, plan, num_threads)
        return self._with_spans(repair(text), plan, None)

    def encode_section(self, text: str | bytes) -> list[int]:
        return self.encode(text, self.plan((), ()))

    def encode_pretoken(self, pretoken: bytes) -> list[int]:
        raise UsageError(f"a {self.model.kind} tokenizer does not encode word counts; give the text")

    def encode_spans(self, data: bytes, plan: Plan, normalized: bool = False) -> tuple[bytes, memoryview, bytes]:
        """The ids, their spans and the text, as `offsets.encode_spans` returns them."""
        text = data.decode()
        if normalized:
            return self._after_normalizer.encode_spans(self._normalize(text).encode(), plan)
        of_characters: Spans = []
        ids = self._with_spans(text, plan, of_characters)
        starts = [0, *accumulate(len(character.encode()) for character in text)]
        # tokenizers counts the suffix of a word that becomes byte tokens, which is not in the text.
        spans = array("q", [starts[min(character, len(text))] for span in of_characters for character in span])
        return array("I", ids).tobytes(), memoryview(spans), data

    @lazy
    def _after_normalizer(self) -> LibraryCore:
        """The core for text that its normalizer has changed."""
        if self.model.library != "tokenizers":
            raise UsageError("sentencepiece does not report spans in the normalized text; leave out normalized=True")
        data = json.dumps(json.loads(self.model.data) | {"normalizer": None}).encode()
        return LibraryCore(self.vocabulary.replace(library=LibraryModel(data, self.model.kind)), 0)

    def _normalize(self, text: str) -> str:
        """The text after the normalizer, which leaves the added tokens as they are."""
        kept = frozenset(token.content for token in self.vocabulary.added_tokens if not token.normalized)
        change = getattr(self.model.tokenizer.normalizer, "normalize_str", str)
        return "".join(part if part in kept else change(part) for part in self._pattern(kept).split(text))

    def _with_spans(self, text: str, plan: Plan, spans: Spans | None) -> list[int]:
        """The ids of a text. Their characters are put into `spans` unless it is None."""
        self.added.check(text, plan)
        all_found = self._found and plan.allowed == self._found == self.added.special
        if all_found or not self._pattern(self.added.special).search(text):
            ids = self._of_library(self.model.tokenizer, text, 0, spans)
            if all_found or self._control.isdisjoint(ids):
                return ids
            if spans is not None:
                spans.clear()
        ids, start = [], 0
        for section in self._pattern(plan.allowed).split(text):
            if section in plan.allowed:
                ids.append(self.added.by_content[section].id)
                if spans is not None:
                    spans.append((start, start + len(section)))
            elif section:
                ids += self._of_library(self.model.ordinary_tokenizer, section, start, spans)
            start += len(section)
        return ids

    def _of_library(self, tokenizer: Any, text: str, start: int, spans: Spans | None) -> list[int]:
        call = partial(library_call, UsageError, f"{self.model.library} cannot encode this text")
        if self.model.library == "tokenizers":
            encoding = call(tokenizer.encode, text, add_special_tokens=False)
            if spans is not None:
                spans += [(start + a, start + b) for a, b in encoding.offsets]
            return encoding.ids
        if spans is None:
            return call(tokenizer.encode, text)
        pieces = call(tokenizer.encode, text, return_type="proto").pieces  # their spans are in bytes
        borders = [0, *accumulate(len(character.encode()) for character in text)]
        spans += [(start + bisect_right(borders, p.begin) - 1, start + bisect_left(borders, p.end)) for p in pieces]
        return [piece.id for piece in pieces]

    # Decoding

    def decode(self, ids: Any, errors: str) -> str:
        ids = [int(id) for id in self.listed(ids)]
        self.decoder.decode_bytes(ids)  # raises for an id that is not there
        options = {"skip_special_tokens": False} if self.model.library == "tokenizers" else {}
        problem = f"{self.model.library} cannot decode these ids"
        return library_call(UsageError, problem, self.model.tokenizer.decode, ids, **options)

    def decode_bytes(self, ids: Any) -> bytes:
        return self.decode(ids, "replace").encode()

    def decode_with_offsets(self, ids: Any) -> tuple[str, list[int]]:
        text = self.decode(ids, "strict")
        starts: list[int] = []
        kept: list[int] = []
        before = 0  # characters of the ids that are not kept
        for id in ids:
            found = self.decode(kept, "replace")
            whole = found if text.startswith(found, before) else found.rstrip("\ufffd")  # without a part of a character
            starts.append(max([before + len(whole), *starts[-1:]]))
            kept, own = _last_ids(self, kept, found)
            before += len(found) - len(own)
            kept = [*kept, id]
        return text, starts

    def stream_decoder(self, errors: str, left_out: frozenset[int]) -> LibraryStreamDecoder:
        return LibraryStreamDecoder(self, left_out)


class LibraryStreamDecoder(StreamDecoder):
    """The stream decoder of a LibraryCore: text is given once more ids cannot change it. The last ids are decoded each time."""

    def __init__(self, core: LibraryCore, left_out: frozenset[int]):
        self._core: LibraryCore = core
        self._left_out = left_out
        self._ids: list[int] = []
        self._given = ""

    def feed(self, ids: int | Iterable[int]) -> str:
        """Take one id or several. Return the text that is complete now, which may be empty."""
        taken = (ids,) if isinstance(ids, Integral) else self._core.listed(ids)
        added = [int(id) for id in taken if id not in self._left_out]
        self._ids += added
        if self._core.byte_ids.issuperset(added):
            return ""
        end = len(self._ids)
        while end and self._ids[end - 1] in self._core.byte_ids:
            end -= 1
        text = self._core.decode(self._ids[:end], "replace").rstrip("\ufffd")
        new = self._take(text if text.startswith(self._given) else self._given)
        kept, self._given = _last_ids(self._core, self._ids[:end], self._given)
        self._ids[:end] = kept
        return new

    def finish(self) -> str:
        """End the stream: return the rest of the text, and start again."""
        rest = self._take(self._core.decode(self._ids, "replace"))
        self._ids, self._given = [], ""
        return rest

    def _take(self, text: str) -> str:
        new, self._given = text[len(self._given) :], text
        return new


def _last_ids(core: LibraryCore, ids: list[int], text: str) -> tuple[list[int], str]:
    """The last of many ids, where they alone are decoded to the end of their `text`, and that end; else all."""
    if len(ids) > 2 * _KEPT and (own := core.decode(ids[-_KEPT:], "replace")) and text.endswith(own):
        return ids[-_KEPT:], own
    return ids, text


def _pattern_of(contents: frozenset[str]) -> re.Pattern[str]:
    """Matches any of `contents`, the longest first, in a group."""
    longest_first = sorted(contents, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})")
