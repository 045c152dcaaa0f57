"""Core: the inner interface of Tokenizer, for the modules that build on it (batches, offsets, truncation, quality, ...).

It builds the splitter, the added tokens, the encoding kernel and the decoding kernel of a vocabulary, each on first use.
"""

from __future__ import annotations

import itertools
import re
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from ..errors import UsageError, WrongTypeError
from ..split import Splitter
from ..split._scan_cy import Scanner
from ..split.patterns import LINES
from ..vocabulary import Vocabulary
from ..vocabulary._packed_cy import pack_tokens
from ..vocabulary.lazy import lazy
from .decoding._decode_cy import Decoder
from .encoding._cutter_cy import Cutter
from .encoding._documents_cy import encode_documents, write_ids
from .encoding._encode_cy import Encoder, ForbiddenText
from .encoding.superword_caches import pretoken_superword_cache, superword_cache
from .merging._build_cy import initial_ids, known_built, learning_cache, list_merger, packed_cache, rank_merger
from .merging._merger_kinds_cy import event_merger
from .normalization import leading_spaces, repair
from .special import AddedTokens, Plan, refuse

Memory = bytes | bytearray  # or another object with the buffer protocol, whose items are bytes

CONTINUATION = bytes(range(0x80, 0xC0))  # the bytes of a character after its first
# The last number of a row of State.sections: see _sections_cy.pxd.
PREFIXED_SECTION, ADDED_TOKEN, CHANGED_STRETCH, IN_CHANGED = 1, 2, 3, 4


class Core:
    """Encodes and decodes with one vocabulary. Immutable; threads share it. Texts may be str or UTF-8 bytes.

    cache_bytes: the limit for the pretoken caches of all threads together; 0 for no caches.
    """

    def __init__(self, vocabulary: Vocabulary, cache_bytes: int):
        if cache_bytes < 0:
            raise UsageError(f"cache_bytes is {cache_bytes}; give 0 (no cache) or more")
        self.vocabulary, self.cache_bytes = vocabulary, cache_bytes
        self.added = AddedTokens(vocabulary)
        self.plan = self.added.plan

    @property
    def encoder(self) -> Core:
        """The core that encodes to ids without spans: another one if the kernels can encode instead of a library."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.vocabulary, self.cache_bytes)

    def __deepcopy__(self, memo: object) -> Core:
        return self

    @lazy
    def tokens(self) -> list[bytes | None]:
        """The bytes of every id that `encode` can return, as they are in text after normalization; None for other ids."""
        vocabulary = self.vocabulary
        tokens = [*vocabulary.tokens, *[None] * (vocabulary.n_vocab - len(vocabulary.tokens))]
        for id in vocabulary.removed:
            tokens[id] = None
        for id, content in vocabulary.decoded_bytes.items():
            tokens[id] = content
        for token in vocabulary.added_tokens:
            if token.normalized and vocabulary.normalization.normalizers and token.id not in vocabulary.byte_tokens:
                tokens[token.id] = self.added.normalized_content(token).encode()
        return tokens[: vocabulary.n_vocab]

    @lazy
    def decoder(self) -> Decoder:
        """Decodes single ids to the bytes that they are encoded from."""
        return Decoder(self.tokens)

    @lazy
    def text_decoder(self) -> Decoder:
        """Decodes ids to text, in which special tokens may be other bytes than their content."""
        others = {id: token for id, token in self.vocabulary.decode_only if self.tokens[id] != token}
        before = b" " * (self.vocabulary.normalization.strip_decoded == "joined")
        if not others and not before:
            return self.decoder
        return Decoder([token and before + others.get(id, token) for id, token in enumerate(self.tokens)])

    @lazy
    def decodes_plainly(self) -> bool:
        """True if decoding only joins the bytes of the tokens."""
        return not (self.vocabulary.normalization.strip_decoded or self.vocabulary.byte_tokens)

    @lazy
    def splitter(self) -> Splitter:
        """Cuts text into pretokens."""
        return self.splitter_with(())

    def splitter_with(self, special_tokens: Iterable[str]) -> Splitter:
        """The splitter that leaves these special tokens whole."""
        vocabulary = self.vocabulary
        return Splitter(*vocabulary.split_patterns, special_tokens=special_tokens, joins=vocabulary.joined_bytes())

    @lazy
    def scanner(self) -> Scanner | None:
        """The splitter's kernel. None for a pattern that only the regex module can run: texts are cut into sections first."""
        return self.splitter.scanner

    @lazy
    def kernel(self) -> Encoder:
        """The encoding kernel. Building it takes about 50 ms for 100,000 tokens."""
        vocabulary, scanner = self.vocabulary, self.scanner
        n_ids = max(len(vocabulary.packed[1]) // 4, vocabulary.n_vocab)
        superwords = superword_cache(vocabulary)
        if superwords is not None:
            encoder = Encoder(*superwords, scanner, n_ids, self.cache_bytes)
            if not vocabulary.whole_pretokens or all(
                token is None or encoder.encode_pretoken(token) == [id] for id, token in enumerate(vocabulary.tokens)
            ):
                return encoder
        merger, cache = _merger(vocabulary)
        if vocabulary.has_superwords:
            return Encoder(*pretoken_superword_cache(vocabulary, merger, scanner), scanner, n_ids, self.cache_bytes)
        if not vocabulary.whole_pretokens:
            tokens, dropped = vocabulary.tokens if vocabulary.dropped else (), vocabulary.dropped
            excluded = {id for id, token in enumerate(tokens) if token and token.decode(errors="ignore")[:1] in dropped}
            cache = learning_cache(merger, *(pack_tokens(tokens, excluded) if excluded else vocabulary.packed))
        elif cache is None:
            never = vocabulary.removed.union(vocabulary.byte_tokens) - {None}  # no pretoken is one of these
            cache = packed_cache(merger, *(pack_tokens(vocabulary.tokens, never) if never else vocabulary.packed))
        if vocabulary.alphabet == "bytes" and not vocabulary.byte_patterns:
            events = vocabulary.event_numbers if vocabulary.order != "ranks" else None
            built = partial(known_built, merger, *vocabulary.packed) if vocabulary.whole_pretokens else None
            cache.set_cutter(Cutter(*vocabulary.packed, events, True, built))
        return Encoder(merger, cache, scanner, n_ids, self.cache_bytes, self.cutter)

    @lazy
    def cutter(self) -> Cutter | None:
        """Cuts a pretoken of characters that is a text or a line, where no token spans; None if that could change ids."""
        vocabulary, patterns = self.vocabulary, self.vocabulary.split_patterns
        if vocabulary.alphabet == "bytes" or vocabulary.order == "events" or vocabulary.whole_pretokens:
            return None
        if patterns not in ((), (LINES,)):
            return None
        fused = vocabulary.fuse_unknown and None in initial_ids(vocabulary.packed)[0]
        known = initial_ids(vocabulary.packed, {*vocabulary.byte_tokens})[1] if fused else None
        cutter = Cutter(*vocabulary.packed, vocabulary.event_numbers, False, None, known)
        return None if patterns and cutter.joins_newlines else cutter

    @lazy
    def ids_by_token(self) -> dict[bytes, int]:
        """The id of each token by its bytes, added tokens included; the lowest where two tokens have the same bytes."""
        return {token: id for id, token in reversed([*enumerate(self.tokens)]) if token is not None}

    @lazy
    def spellings(self) -> list[str | None]:
        """Each token by id as Hugging Face spells it: "Ġlow", or "▁low" and "<0x0A>"; added tokens as they are."""
        texts = self._ordinary_spellings()
        for token in self.vocabulary.added_tokens:
            texts[token.id] = token.content
        return texts

    def _ordinary_spellings(self) -> list[str | None]:
        from ..formats.pieces import token_texts

        texts = token_texts(self.vocabulary, self.tokens)
        for id, token in self.vocabulary.decode_only:
            texts[id] = token.decode(errors="replace")
        return texts

    @lazy
    def ids_by_spelling(self) -> dict[str, int]:
        """The id of each token as Hugging Face spells it; the lowest where two tokens have the same spelling."""
        return {text: id for id, text in reversed([*enumerate(self.spellings)]) if text is not None}

    @lazy
    def affixes(self) -> tuple[list[int], list[int]]:
        """The ids that the template puts before a text, and those after it."""
        before, after = self.vocabulary.template.of_tokens(self.ids_by_spelling).affixes
        return [self.ids_by_spelling[token] for token in before], [self.ids_by_spelling[token] for token in after]

    @lazy
    def unknown_runs(self) -> re.Pattern[str]:
        """Matches neighbouring characters without a token, which become one unknown id; or the unknown token's own character."""
        vocabulary, byte_tokens = self.vocabulary, {*self.vocabulary.byte_tokens} - {None}
        ordinary = [(id, token) for id, token in enumerate(vocabulary.tokens) if token and id not in byte_tokens]
        ids = {token.decode(errors="ignore"): id for id, token in ordinary}
        known = {re.escape(text): id for text, id in ids.items() if len(text) == 1}
        unknown = [text for text, id in known.items() if id == vocabulary.unknown]
        without = [] if byte_tokens else [f"[^{''.join(known)}]+" if known else "(?s:.)+"]
        return re.compile("|".join([*unknown, *without]))

    @lazy
    def ordered_tokens(self) -> list[tuple[bytes, int]]:
        """The ordinary tokens with their ids, in the order of their bytes."""
        return sorted((token, id) for id, token in enumerate(self.vocabulary.tokens) if token)

    # Decoding

    def decode(self, ids: Any, errors: str) -> str:
        """The text of `ids`."""
        if type(ids) is not list:
            ids = self.checked_ids(ids)
        if self.decodes_plainly:
            return self.text_decoder.decode(ids, errors)
        stripped, _ = self.stripped_spaces(ids)
        if not self.vocabulary.byte_tokens or errors != "replace":
            return self.text_decoder.decode(ids, errors)[stripped:]
        divided = self.without_text and not self.without_text.isdisjoint(ids[1:-1])
        try:
            text = self.replace_byte_tokens(ids) if divided else self.text_decoder.decode(ids, "strict")
        except UnicodeDecodeError:
            text = self.replace_byte_tokens(ids)
        return text[leading_spaces(text, stripped) :]

    def decode_bytes(self, ids: Any) -> bytes:
        """The bytes of `ids`."""
        if type(ids) is not list:
            ids = self.checked_ids(ids)
        data = self.text_decoder.decode_bytes(ids)  # raises for an id that is not in the vocabulary
        return data if self.decodes_plainly else data[self.stripped_spaces(ids)[0] :]

    def decode_with_offsets(self, ids: list[int]) -> tuple[str, list[int]]:
        """The text of `ids`, and for each token the index of the first character that contains one of its bytes."""
        tokens, data = list(map(self.text_decoder.token, ids)), self.decode_bytes(ids)
        starts, characters = [], len(data) - sum(map(len, tokens))  # decoding strips spaces at the start
        for token in tokens:
            starts.append(max(0, characters - (len(token) > 0 and token[0] in CONTINUATION)))
            characters += len(token.translate(None, CONTINUATION))
        return data.decode(), starts

    @lazy
    def special_ids(self) -> frozenset[int]:
        """The ids of the special tokens."""
        return frozenset(self.vocabulary.special_tokens.values())

    def without_special(self, ids: Any) -> list[int]:
        """`ids` without those of special tokens."""
        try:
            return [id for id in self.checked_ids(ids) if id not in self.special_ids]
        except TypeError:  # no list, or a list of lists
            raise WrongTypeError(f"ids are a list or an array of integers, not {ids!r:.40}") from None

    def checked_ids(self, ids: Any) -> Any:
        """Return `ids` as an object that can be iterated over twice. Raises WrongTypeError if they are not iterable.

        NumPy arrays of narrow integers become int64, whose buffer the kernel reads.
        """
        if type(ids) is list:
            return ids
        if not hasattr(ids, "__iter__") or getattr(ids, "ndim", 1) == 0:  # an integer of NumPy has both
            raise WrongTypeError(f"ids are a list or an array of integers, not {ids!r:.40}")
        if getattr(getattr(ids, "dtype", None), "char", "") in ("b", "B", "h", "H", "i"):
            return ids.astype("int64")
        return ids if hasattr(ids, "__len__") else list(ids)

    def stripped_spaces(self, ids: Any) -> tuple[int, bool]:
        """Return the number of spaces that decoding strips at the start, and whether the next ids may begin with more of them."""
        rule, stripped = self.vocabulary.normalization.strip_decoded, 0
        if not rule:
            return 0, False
        for id in ids:
            token = self.text_decoder.token(id)
            if rule == "joined":
                return 1, False
            spaces = 0 if id in self.never_stripped else len(token) - len(token.lstrip(b" "))
            if rule == "token":
                return spaces, False
            spaces = min(spaces, 1)
            stripped += spaces
            if token and (rule == "space" or spaces < len(token)):
                return stripped, False
        return stripped, True

    @lazy
    def never_stripped(self) -> frozenset[int | None]:
        """The ids whose leading spaces decoding keeps.

        SentencePiece strips the space of a piece, but not of a byte token or of the unknown token. The Metaspace decoder of
        tokenizers strips its mark, but not a space that is in the file.
        """
        vocabulary = self.vocabulary
        if vocabulary.normalization.strip_decoded == "token":
            spaced = {token.id for token in vocabulary.added_tokens if token.content.startswith(" ")}
            return frozenset(spaced.union(id for id, token in vocabulary.decode_only if token.startswith(b" ")))
        return frozenset((vocabulary.unknown, *vocabulary.byte_tokens) if vocabulary.order == "scores" else ())

    @lazy
    def without_text(self) -> frozenset[int]:
        """The ids of tokens that decode to nothing. Two byte tokens around one are not one character."""
        return frozenset(id for id, token in self.vocabulary.decode_only if not token)

    def replace_byte_tokens(self, ids: Iterable[int]) -> str:
        """Return the text, with U+FFFD for each of neighbouring byte tokens that are not UTF-8.

        In SentencePiece, only bytes outside of any character become U+FFFD.
        """
        texts = []
        byte_tokens = {*self.vocabulary.byte_tokens}
        for is_bytes, neighbours in itertools.groupby(ids, byte_tokens.__contains__):
            data = b"".join(map(self.text_decoder.token, neighbours))
            try:
                texts.append(data.decode())
            except UnicodeDecodeError:
                if is_bytes and self.vocabulary.order == "scores":
                    texts.append(re.sub("[\udc80-\udcff]", "\ufffd", data.decode("utf-8", "surrogateescape")))
                else:
                    texts.append("\ufffd" * len(data) if is_bytes else data.decode("utf-8", "replace"))
        return "".join(texts)

    @lazy
    def dividing_splitter(self) -> Splitter | None:
        """The splitter whose certain cuts may divide a text; None if the text on one side may change the ids of the other."""
        if self.scanner is None or not self.added.local:
            return None
        splitter = self.splitter_with(token.content for token in self.vocabulary.added_tokens)
        splitter.cutter = self.cutter
        return splitter

    # Texts with added tokens

    def encode(self, text: str | bytes, plan: Plan) -> list[int]:
        """The ids of `text`. Raises SpecialTokenError for a text that the plan refuses."""
        if self.scanner:
            try:
                return self.kernel.encode(text, plan.refused_finder, plan.sections)
            except (ForbiddenText, UnicodeEncodeError):
                return self._by_kernel("encode", text, plan)
        data = text if isinstance(text, bytes) else repair(text).encode()
        self.added.check(data, plan)
        return self.kernel.id_list(self.encode_sections(data, plan)[0])

    def encode_sections(self, data: bytes, plan: Plan, limit: int = -1) -> tuple[Memory, Memory, list[bytes]]:
        """The ids of a text in UTF-8 (uint32), its rows of State.sections (uint64), and the changed stretches after normalization."""
        by_kernel = self.scanner is not None
        ids, rows, changes = self.kernel.encode_sections(data, plan.sections, limit, by_kernel)
        if by_kernel:
            return ids, rows, changes
        tokens, all_ids = iter(memoryview(ids).cast("I")), array("I")
        fresh_rows = array("Q", bytes(rows))
        for n, kind, text in section_texts(data, rows, changes):
            fresh_rows[4 * n] = len(all_ids)
            all_ids.extend([next(tokens)] if kind == ADDED_TOKEN else self.encode_section(text))
        return all_ids.tobytes(), fresh_rows.tobytes(), changes

    def with_affixes(self, ids: list[int]) -> list[int]:
        """The ids of a text between those that the template puts around it."""
        before, after = self.affixes
        return [*before, *ids, *after]

    def encode_to_array(self, text: str | bytes, plan: Plan) -> Any:
        """The ids of `text` as an object with the buffer protocol, unsigned 32-bit."""
        return self._by_kernel("encode_to_ids", text, plan) if self.scanner else array("I", self.encode(text, plan))

    def encode_documents(
        self,
        text: Any,
        ends: Any,
        plan: Plan,
        goes_on: bool = False,
        end_of_text: int = -1,
        width: int = 4,
        begin_of_text: int = -1,
        continued: bool = False,
    ) -> tuple[bytearray, memoryview]:
        """The ids of the documents of a block, and the end of each in them: see _documents_cy.encode_documents."""
        if self.scanner and plan.refused_finder is None:
            kernel, sections = self.kernel, plan.sections
            return encode_documents(kernel, text, ends, sections, goes_on, end_of_text, width, begin_of_text, continued)
        documents = (bytes(text[start:end]) for start, end in itertools.pairwise([0, *ends]))
        buffers = [memoryview(self.encode_to_array(document, plan)).cast("B") for document in documents]
        id_ends = array("q", itertools.accumulate(len(buffer) // 4 for buffer in buffers))
        ids = array("I", b"".join(buffers))
        out = write_ids(ids, id_ends, goes_on, end_of_text, width, begin_of_text, continued)
        return out, memoryview(id_ends)[: len(id_ends) - goes_on]

    def count(self, text: str | bytes, plan: Plan) -> int:
        """The number of ids of `text`."""
        return self._by_kernel("count", text, plan) if self.scanner else len(self.encode(text, plan))

    def truncate(self, text: str, max_tokens: int, plan: Plan) -> str | None:
        """The text of the first `max_tokens` tokens, or of fewer where that prefix alone has more. None if the kernel cannot tell."""
        vocabulary = self.vocabulary
        by_kernel = self.scanner and not vocabulary.dropped
        if not by_kernel or type(text) is not str or type(max_tokens) is not int or max_tokens < 0:
            return None
        unknown = -1 if vocabulary.unknown is None else vocabulary.unknown
        return self._by_kernel("prefix", text, plan, min(max_tokens, sys.maxsize), vocabulary.packed[1], unknown)

    def _by_kernel(self, method: str, text: str | bytes, plan: Plan, *more: object) -> Any:
        """Return the result of a method of the kernel. Raises SpecialTokenError for a text that the plan refuses."""
        try:
            return getattr(self.kernel, method)(text, plan.refused_finder, plan.sections, *more)
        except ForbiddenText as token:
            refuse(str(token))
        except UnicodeEncodeError:  # lone surrogates
            return self._by_kernel(method, repair(text), plan, *more)

    # Text without added tokens

    def encode_section(self, text: str | bytes) -> list[int]:
        """The ids of text without added tokens. Raises UnicodeEncodeError for lone surrogates."""
        ends = None
        if self.scanner is None:
            ends = self.splitter.ends(text.encode() if isinstance(text, str) else text)
        return self.kernel.encode(text, None, None, ends)

    def encode_pretoken(self, pretoken: bytes) -> list[int]:
        """The ids of one pretoken."""
        return self.kernel.encode_pretoken(pretoken)


def section_texts(data: bytes, row_memory: Memory, changes: Sequence[bytes]) -> Iterator[tuple[int, int, bytes]]:
    """Yield the number of each row of a section or an added token, its last number without IN_CHANGED, and its text as it is encoded."""
    rows = memoryview(row_memory).cast("Q")
    stretch = -1
    for n in range(len(rows) // 4):
        _, start, end, kind = rows[4 * n : 4 * n + 4]
        if kind == CHANGED_STRETCH:
            stretch += 1
            continue
        text = (changes[stretch] if kind & IN_CHANGED else data)[start:end]
        yield n, kind & 3, b" " + text if kind & 3 == PREFIXED_SECTION else text


def _merger(vocabulary: Vocabulary) -> tuple[Any, Any]:
    """The merger, and the cache of all tokens, or None if building the merger did not need that cache."""
    if vocabulary.order == "ranks":
        return rank_merger(vocabulary.packed, vocabulary.unknown)
    byte_ids, code_points = initial_ids(vocabulary.packed, {*vocabulary.byte_tokens})
    byte_ids = [*vocabulary.byte_tokens] or byte_ids
    characters = code_points if vocabulary.alphabet == "characters" else None
    is_events = vocabulary.order == "events"
    if not is_events or not (vocabulary.events[:, 1] < 0).any():
        merger = list_merger(
            vocabulary.packed,
            vocabulary.event_numbers,
            byte_ids,
            characters,
            vocabulary.unknown,
            scores=vocabulary.order == "scores",
            fallback=bool(vocabulary.byte_tokens),
            fuse=vocabulary.fuse_unknown,
            dropped=vocabulary.dropped,
            scanner=Splitter(*vocabulary.byte_patterns).scanner if vocabulary.byte_patterns else None,
        )
        if not is_events or not merger.late:  # an event happens once, and a late merge whenever it can
            return merger, None
    return event_merger(vocabulary, byte_ids, characters), None
