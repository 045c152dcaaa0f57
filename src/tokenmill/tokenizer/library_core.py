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
from ..formats.file_content import Json
from ..formats.huggingface_sections import steps_of
from ..vocabulary import Vocabulary
from ..vocabulary._packed_cy import pack_tokens
from ..vocabulary.lazy import lazy
from ..vocabulary.library_model import LibraryModel, library_call
from .core import Core
from .encoding._cache_cy import PretokenCache
from .encoding._encode_cy import Encoder
from .merging._build_cy import initial_ids, list_merger
from .normalization import repair
from .special import Plan
from .streams import StreamDecoder

_CONTEXT = 32  # ids: more than a decoder looks back

Spans = list[tuple[int, int]]  # of each id, its first character and the one after its last


class SuffixedCore(Core):
    """Encodes with BPE whose words end in a suffix. They are not cut, since only their ends have it."""

    cutter = None

    def __init__(self, vocabulary: Vocabulary, suffix: bytes, cache_bytes: int):
        super().__init__(vocabulary, cache_bytes)
        self.suffix = suffix

    @lazy
    def kernel(self) -> Encoder:
        vocabulary, size = self.vocabulary, len(self.suffix)
        stems = tuple(token[:-size] if token and token.endswith(self.suffix) else None for token in vocabulary.tokens)
        first, last = initial_ids(vocabulary.packed), initial_ids(pack_tokens(stems))
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
    """The core of a vocabulary whose own library encodes. It has no pretokens, no merges and no cache."""

    scanner = kernel = cutter = None

    def __init__(self, vocabulary: Vocabulary, cache_bytes: int):
        super().__init__(vocabulary, cache_bytes)
        assert vocabulary.library is not None
        self.model: LibraryModel = vocabulary.library
        # Control tokens that the library finds by itself. The normalizer may write one that the text does not spell.
        added = self.model.tokenizer.get_added_tokens_decoder() if self.model.library == "tokenizers" else {}
        self._library_special = frozenset(token.content for token in added.values()) & self.added.special
        unknown = getattr(self.model.tokenizer.model, "unk_token", None) if added else None
        self._control_ids = {self.added.by_content[content].id for content in self._library_special - {unknown}}
        self._pattern = lru_cache(8)(_pattern_of)
        suffixed = self.model.suffixed
        self._by_kernels = None if suffixed is None else SuffixedCore(*suffixed, cache_bytes)
        self.plan = (self._by_kernels or self).plan

    @property
    def encoder(self) -> Core:
        return self._by_kernels or self

    def _ordinary_spellings(self) -> list[str | None]:
        """Each token by id as its file spells it: "##ing", "\u2581the"."""
        model = self.model.tokenizer
        if self.model.library == "sentencepiece":
            return [*model.id_to_piece([*range(len(model))]), *[None] * (self.vocabulary.n_vocab - len(model))]
        return [model.id_to_token(id) for id in range(self.vocabulary.n_vocab)]

    @lazy
    def byte_ids(self) -> frozenset[int]:
        """The tokens of byte fallback. Neighbouring ones are decoded together."""
        return frozenset(id for id, text in enumerate(self.spellings) if text and re.fullmatch("<0x[0-9A-F]{2}>", text))

    @lazy
    def changes_joined_text(self) -> bool:
        """True if the decoder changes text after it has joined the tokens, so that a later id may change all of it."""
        decoder = getattr(self.model.tokenizer, "decoder", None)
        steps = [] if decoder is None else [*steps_of(Json(json.loads(decoder.__getstate__()), ""))]
        kinds = [step["type"].value for step in steps]
        joined = next((n for n, kind in enumerate(kinds, 1) if kind in ("ByteLevel", "Fuse")), len(kinds))
        return any(step["type"].value != "Fuse" and step["stop"].value != 0 for step in steps[joined:])

    # Encoding

    def encode(self, text: str | bytes, plan: Plan) -> list[int]:
        if self._by_kernels is not None:
            return self._by_kernels.encode(text, plan)
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
        character_spans: Spans = []
        ids = self._with_spans(text, plan, character_spans)
        starts = [0, *accumulate(len(character.encode()) for character in text)]
        # tokenizers counts the suffix of a word that becomes byte tokens, which is not in the text.
        spans = array("q", [starts[min(index, len(text))] for span in character_spans for index in span])
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
        raw = frozenset(token.content for token in self.vocabulary.added_tokens if not token.normalized)
        normalize = getattr(self.model.tokenizer.normalizer, "normalize_str", str)
        return "".join(section if section in raw else normalize(section) for section in self._pattern(raw).split(text))

    def _with_spans(self, text: str, plan: Plan, spans: Spans | None) -> list[int]:
        """The ids of a text. Append their spans in characters to `spans` unless it is None."""
        self.added.check(text, plan)
        allows_all = self._library_special and plan.allowed == self._library_special == self.added.special
        if allows_all or not self._pattern(self.added.special).search(text):
            ids = self._encode_by_library(self.model.tokenizer, text, 0, spans)
            if allows_all or self._control_ids.isdisjoint(ids):
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
                ids += self._encode_by_library(self.model.ordinary_tokenizer, section, start, spans)
            start += len(section)
        return ids

    def _encode_by_library(self, tokenizer: Any, text: str, start: int, spans: Spans | None) -> list[int]:
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
        ids = [int(id) for id in self.checked_ids(ids)]
        self.decoder.decode_bytes(ids)  # raises for an id that is not in the vocabulary
        options = {"skip_special_tokens": False} if self.model.library == "tokenizers" else {}
        problem = f"{self.model.library} cannot decode these ids"
        return library_call(UsageError, problem, self.model.tokenizer.decode, ids, **options)

    def decode_bytes(self, ids: Any) -> bytes:
        return self.decode(ids, "replace").encode()

    def decode_with_offsets(self, ids: Any) -> tuple[str, list[int]]:
        text = self.decode(ids, "strict")
        starts: list[int] = []
        context: list[int] = []
        before = 0  # characters of the ids before `context`
        for id in ids:
            decoded = self.decode(context, "replace")
            whole = decoded if text.startswith(decoded, before) else decoded.rstrip("\ufffd")  # no incomplete character
            starts.append(max([before + len(whole), *starts[-1:]]))
            context, end = _last_ids(self, context, decoded)
            before += len(decoded) - len(end)
            context = [*context, id]
        return text, starts


class LibraryStreamDecoder(StreamDecoder):
    """The stream decoder of a LibraryCore. Each call decodes the last ids again, and returns text that no later id changes."""

    def __init__(self, core: LibraryCore, skipped_ids: frozenset[int]):
        self._core: LibraryCore = core
        self._skipped_ids = skipped_ids
        self._ids: list[int] = []
        self._returned = ""  # text of `_ids`

    def feed(self, ids: int | Iterable[int]) -> str:
        """Add one id or several. Return the text that is complete now, which may be empty."""
        several = (ids,) if isinstance(ids, Integral) else self._core.checked_ids(ids)
        new = [int(id) for id in several if id not in self._skipped_ids]
        self._ids += new
        if self._core.changes_joined_text or self._core.byte_ids.issuperset(new):
            return ""
        end = len(self._ids)
        while end and self._ids[end - 1] in self._core.byte_ids:
            end -= 1
        text = self._core.decode(self._ids[:end], "replace").rstrip("\ufffd")
        if not text.startswith(self._returned):
            text = self._returned
        rest = text[len(self._returned) :]
        self._ids[:end], self._returned = _last_ids(self._core, self._ids[:end], text)
        return rest

    def finish(self) -> str:
        """End the stream: return the rest of the text, and start again."""
        rest = self._core.decode(self._ids, "replace")[len(self._returned) :]
        self._ids, self._returned = [], ""
        return rest


def _last_ids(core: LibraryCore, ids: list[int], text: str) -> tuple[list[int], str]:
    """Return the last of many ids and their text, if that is the end of `text`; else `ids` and `text`."""
    if len(ids) > 2 * _CONTEXT and (end := core.decode(ids[-_CONTEXT:], "replace")) and text.endswith(end):
        return ids[-_CONTEXT:], end
    return ids, text


def _pattern_of(contents: frozenset[str]) -> re.Pattern[str]:
    """Matches any of `contents`, the longest first, in a group."""
    longest_first = sorted(contents, key=len, reverse=True)
    return re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})")
