"""Tokenizer: text to ids and back, with tiktoken's names for tiktoken's verbs."""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import UnknownTokenError, UsageError
from ..vocabulary import AddedToken, Event, Vocabulary
from . import batches, cutting, offsets
from ._decode_cy import Decoder
from ._encode_cy import ForbiddenText
from .encoder import TextEncoder, check_size
from .once import once
from .special import AddedTokens, Plan, refuse
from .stream import StreamDecoder

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import tiktoken
    import tokenizers

    from ..counting import WordCounts
    from .cost import Report, Sample

__all__ = ["Tokenizer"]

Specials = str | Collection[str]
NONE: frozenset[str] = frozenset()


class Tokenizer:
    """Encodes text to token ids and decodes ids to text. Immutable; threads may share it, and processes may fork.

    name: what to call the encoding, for people.
    cache_bytes: what the caches of pretokens already seen may hold, of all threads together.
    The tables to encode with are made when they are first needed, which takes 0.1 to 0.3 s for 100,000 tokens;
    `tokenmill.load` makes them at once.

    >>> tok = Tokenizer(vocabulary)
    >>> tok.decode(tok.encode("low lower lowest"))
    'low lower lowest'
    """

    def __init__(self, vocabulary: Vocabulary, *, name: str = "tokenmill", cache_bytes: int = 256 << 20):
        check_size(vocabulary)
        self._vocabulary, self._name, self._cache_bytes = vocabulary, name, cache_bytes
        self._added = AddedTokens(vocabulary)
        self._usual, self._ordinary = self._added.plan(NONE, "all"), self._added.plan(NONE, NONE)
        self._decoder = Decoder(_tokens_by_id(vocabulary))

    @once
    def _encoder(self) -> TextEncoder:
        return TextEncoder(self._vocabulary, self._cache_bytes)

    @once
    def _simple(self) -> bool:
        """The kernel takes whole texts, added tokens and all."""
        return self._encoder.simple and self._added.simple

    # Encoding

    def encode(self, text: str, *, allowed_special: Specials = NONE, disallowed_special: Specials = "all") -> list[int]:
        """The ids of `text`. Text that spells a special token is an error, unless the caller says what it means.

        allowed_special: the special tokens that text may be turned into, by their texts; "all" allows all.
        disallowed_special: those that raise SpecialTokenError (a ValueError) where the text spells them; "all" means
            all that are not allowed. Spelt tokens that are neither allowed nor disallowed are ordinary text.
        Lone surrogates are encoded as U+FFFD.

        >>> tok.encode("low<|endoftext|>", allowed_special={"<|endoftext|>"})
        [310, 32767]
        """
        if allowed_special or disallowed_special != "all":
            return self._encode(text, self._added.plan(allowed_special, disallowed_special))
        return self._encode(text, self._usual)

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of `text`, where special tokens are ordinary text: `encode(text, disallowed_special=())`."""
        return self._encode(text, self._ordinary)

    def encode_bytes(self, data: bytes) -> list[int]:
        """The ids of bytes, UTF-8 or not; no added tokens, no normalisation. `decode_bytes` gives `data` back.

        Each byte that belongs to no well-formed UTF-8 character is split as a character of its own that is no
        letter, no number and no white space.
        """
        return self._encoder.encode(bytes(data))

    def encode_to_numpy(
        self, text: str | bytes, *, allowed_special: Specials = NONE, disallowed_special: Specials = "all"
    ) -> np.ndarray:
        """The ids of `text` as a uint32 array, without a list in between; options as for `encode`.

        UTF-8 bytes are taken as they are, with special tokens and all, which saves decoding a file that was read.
        """
        import numpy as np

        plan = self._added.plan(allowed_special, disallowed_special)
        return np.frombuffer(batches.encode_to_ids(self, text, plan), np.uint32)

    def encode_to_arrow(
        self, text: str | bytes, *, allowed_special: Specials = NONE, disallowed_special: Specials = "all"
    ) -> pa.UInt32Array:
        """The ids of `text` as a PyArrow array; options as for `encode`."""
        ids = self.encode_to_numpy(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        return batches.arrow_array(ids)

    def encode_batch(
        self,
        texts: Iterable[str],
        *,
        num_threads: int | None = None,
        allowed_special: Specials = NONE,
        disallowed_special: Specials = "all",
    ) -> list[list[int]]:
        """The ids of each text, by several threads (None: all cores); options as for `encode`."""
        return batches.encode_batch(self, texts, self._added.plan(allowed_special, disallowed_special), num_threads)

    def encode_ordinary_batch(self, texts: Iterable[str], *, num_threads: int | None = None) -> list[list[int]]:
        """The ids of each text, where special tokens are ordinary text, by several threads (None: all cores)."""
        return batches.encode_batch(self, texts, self._ordinary, num_threads)

    def encode_batch_to_numpy(
        self,
        texts: Iterable[str],
        *,
        num_threads: int | None = None,
        allowed_special: Specials = NONE,
        disallowed_special: Specials = "all",
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ids of all texts in one uint32 array, and n + 1 int64 offsets: text i has ids[offsets[i]:offsets[i + 1]]."""
        return batches.encode_flat(self, texts, self._added.plan(allowed_special, disallowed_special), num_threads)

    def encode_batch_to_arrow(
        self,
        texts: Iterable[str],
        *,
        num_threads: int | None = None,
        allowed_special: Specials = NONE,
        disallowed_special: Specials = "all",
    ) -> pa.LargeListArray:
        """The ids of each text as a PyArrow array of lists, as a column of a Parquet file takes them."""
        plan = self._added.plan(allowed_special, disallowed_special)
        return batches.arrow_lists(*batches.encode_flat(self, texts, plan, num_threads))

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of one token, special tokens included. Raises UnknownTokenError (a KeyError) if there is none.

        >>> tok.encode_single_token(b"low")
        310
        """
        token = text_or_bytes.encode() if isinstance(text_or_bytes, str) else bytes(text_or_bytes)
        try:
            return self._ids_by_token[token]
        except KeyError:
            raise UnknownTokenError(
                f"no token of the vocabulary is {text_or_bytes!r}; encode it to see its tokens"
            ) from None

    @once
    def _ids_by_token(self) -> dict[bytes, int]:
        tokens = [*enumerate(_tokens_by_id(self._vocabulary))]
        return {token: id for id, token in reversed(tokens) if token is not None}

    def encode_offsets(
        self, text: str, *, allowed_special: Specials = NONE, disallowed_special: Specials = "all"
    ) -> offsets.Offsets:
        """The ids of `text` with their spans in bytes and in characters; options as for `encode`.

        >>> tok.encode_offsets("déjà").bytes.tolist()
        [[0, 1], [1, 3], [3, 6]]
        """
        plan = self._added.plan(allowed_special, disallowed_special)
        self._added.check(text, plan.refused)
        return offsets.encode_offsets(self, text, plan.allowed)

    # Measuring and cutting

    def count_tokens(self, text: str, *, allowed_special: Specials = NONE, disallowed_special: Specials = "all") -> int:
        """How many tokens `text` takes, without a list of them; options as for `encode`."""
        plan = self._added.plan(allowed_special, disallowed_special)
        self._added.check(text, plan.refused)
        return self._count(text, plan.allowed)

    def count_tokens_in(self, counts: WordCounts) -> int:
        """How many tokens the counted text takes: the tokens of each pretoken times its count."""
        encode = self._encoder.kernel.encode_pretoken
        data, bounds, numbers = counts.arena.tobytes(), counts.offsets.tolist(), counts.counts.tolist()
        pretokens = (data[start:end] for start, end in itertools.pairwise(bounds))
        return sum(len(encode(pretoken)) * number for pretoken, number in zip(pretokens, numbers, strict=True))

    def truncate(
        self, text: str, max_tokens: int, *, allowed_special: Specials = NONE, disallowed_special: Specials = "all"
    ) -> str:
        """The longest beginning of `text` that ends with one of its tokens and takes at most `max_tokens` tokens.

        It never ends inside a character. Where the tokenizer normalises text, it is a beginning of the normalised
        text. Encodes no more of the text than that. Options as for `encode`.

        >>> tok.truncate("low lower lowest", 2)
        'low lower'
        """
        plan = self._added.plan(allowed_special, disallowed_special)
        self._added.check(text, plan.refused)
        return cutting.truncate(self, text, max_tokens, plan.allowed)

    def split_at(
        self, text: str, max_tokens: int, *, allowed_special: Specials = NONE, disallowed_special: Specials = "all"
    ) -> list[str]:
        """`text` in chunks of at most `max_tokens` tokens each: each is what `truncate` gives of what is left.

        Joined, they are the text (the normalised text, where the tokenizer normalises). Options as for `encode`.

        >>> tok.split_at("low lower lowest", 2)
        ['low lower', ' lowest']
        """
        plan = self._added.plan(allowed_special, disallowed_special)
        self._added.check(text, plan.refused)
        return cutting.split_at(self, text, max_tokens, plan.allowed)

    # Decoding

    def decode(self, ids: Sequence[int] | np.ndarray, errors: str = "replace") -> str:
        """The text that `ids` stand for. Bytes that are no UTF-8 are treated as `errors` says, as in bytes.decode."""
        return self._decoder.decode(ids if type(ids) is list else _widened(ids), errors)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes that `ids` stand for. Raises UnknownTokenError (a KeyError) for an id that is none."""
        return self._decoder.decode_bytes(ids if type(ids) is list else _widened(ids))

    def decode_tokens_bytes(self, ids: Iterable[int]) -> list[bytes]:
        """The bytes of each token."""
        return list(map(self._decoder.token, ids))

    def decode_single_token_bytes(self, id: int) -> bytes:
        """The bytes of one token, special tokens included. Raises UnknownTokenError (a KeyError) if there is none."""
        return self._decoder.token(id)

    def decode_batch(
        self, batch: Iterable[Sequence[int]], *, errors: str = "replace", num_threads: int | None = None
    ) -> list[str]:
        """The text of each list of ids, by several threads (None: all cores)."""
        return batches.spread(lambda ids: self.decode(ids, errors), batch, num_threads)

    def decode_bytes_batch(self, batch: Iterable[Sequence[int]], *, num_threads: int | None = None) -> list[bytes]:
        """The bytes of each list of ids, by several threads (None: all cores)."""
        return batches.spread(self.decode_bytes, batch, num_threads)

    def decode_with_offsets(self, ids: Sequence[int]) -> tuple[str, list[int]]:
        """The text of `ids`, and for each token the index of the first character that has a byte of it.

        Raises UnicodeDecodeError if the bytes are no UTF-8.
        """
        tokens = self.decode_tokens_bytes(ids)
        starts, characters = [], 0
        for token in tokens:
            starts.append(max(0, characters - (0x80 <= token[0] < 0xC0)))
            characters += sum(not 0x80 <= byte < 0xC0 for byte in token)
        return b"".join(tokens).decode(), starts

    def stream_decoder(self, errors: str = "replace") -> StreamDecoder:
        """A decoder that takes ids as they come and gives out whole characters only."""
        return StreamDecoder(self, errors)

    # What it knows

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary this tokenizer was made from."""
        return self._vocabulary

    @property
    def name(self) -> str:
        """The name of the encoding, for people."""
        return self._name

    @property
    def n_vocab(self) -> int:
        """The highest id plus one: the rows that an embedding table needs."""
        return self._vocabulary.n_vocab

    @property
    def max_token_value(self) -> int:
        """The highest id."""
        return self.n_vocab - 1

    @property
    def special_tokens_set(self) -> set[str]:
        """The texts of the special tokens."""
        return set(self._vocabulary.special_tokens)

    @property
    def eot_token(self) -> int:
        """The id of the special token <|endoftext|>. Raises UnknownTokenError (a KeyError) if there is none."""
        try:
            return self._vocabulary.special_tokens["<|endoftext|>"]
        except KeyError:
            found = ", ".join(self._vocabulary.special_tokens) or "none"
            raise UnknownTokenError(f"the vocabulary has no special token '<|endoftext|>'; it has {found}") from None

    def is_special_token(self, id: int) -> bool:
        """Whether `id` is a special token."""
        return id in self._vocabulary.special_tokens.values()

    @property
    def split_pattern(self) -> str | None:
        """The regular expression that cuts text into pretokens; None where the text is one pretoken."""
        patterns = self._vocabulary.split_patterns
        if len(patterns) > 1:
            raise UsageError(
                f"this tokenizer splits by {len(patterns)} patterns in turn; see tok.vocabulary.split_patterns"
            )
        return patterns[0] if patterns else None

    @property
    def mergeable_ranks(self) -> dict[bytes, int]:
        """The ordinary tokens: bytes -> id, as tiktoken.Encoding takes them."""
        gone = self._vocabulary.removed
        return {token: id for id, token in enumerate(self._vocabulary.tokens) if token is not None and id not in gone}

    @property
    def events(self) -> list[Event]:
        """In training order: ("merge", left id, right id, new id) and ("remove", id)."""
        return self._vocabulary.event_list()

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all ordinary tokens, sorted."""
        return sorted(self.mergeable_ranks)

    def save(
        self, folder: str | os.PathLike, *, sample: Sample | None = None, report: Report = print, **options: Any
    ) -> list[str]:
        """Write a folder that `tokenmill.load` and transformers' AutoTokenizer open: `formats.write`.

        sample: of a Picky tokenizer, text (files, folders, globs, word counts) to measure on how often others that
            read its tokenizer.json get other ids, and how many tokens that costs.
        report: takes the Cost that was measured; unless told, it is printed.
        Returns what the format does not hold, item by item.
        """
        from .. import formats
        from .cost import cost_without_events

        cost = cost_without_events(self, sample)
        notes = formats.write(self._vocabulary, folder, **options)
        if cost is not None:
            report(cost)
        return notes

    @classmethod
    def from_file(cls, path: str | os.PathLike, **options: Any) -> Tokenizer:
        """Load a tokenizer from a file or folder of any known format, told by content: `tokenmill.load`."""
        from .. import formats

        tok = cls(formats.read(path, **options))
        tok._encoder  # noqa: B018  made now: who loads a tokenizer is going to encode
        return tok

    def to_tiktoken(
        self, *, lossy: bool = False, sample: Sample | None = None, report: Report = print
    ) -> tiktoken.Encoding:
        """A tiktoken.Encoding that gives the same ids; ConversionError where none does, such as for Picky BPE.

        lossy: for a Picky tokenizer, give its present tokens, encoded by rank; some texts then get other ids.
        sample, report: how many, and what that costs in tokens, is measured and printed as in `save`.
        """
        from .. import formats
        from .cost import cost_without_events

        encoding = formats.to_tiktoken(self._vocabulary, self._name, lossy=lossy)
        if (cost := cost_without_events(self, sample)) is not None:
            report(cost)
        return encoding

    def to_hf(
        self, *, lossy: bool = False, sample: Sample | None = None, report: Report = print
    ) -> tokenizers.Tokenizer:
        """A tokenizers.Tokenizer (Hugging Face) that gives the same ids; options as for `to_tiktoken`."""
        from .. import formats
        from .cost import cost_without_events

        encoder = formats.to_hf(self._vocabulary, lossy=lossy)
        if (cost := cost_without_events(self, sample)) is not None:
            report(cost)
        return encoder

    def __reduce__(self) -> tuple:
        return _restore, (self._vocabulary, self._name, self._cache_bytes)

    def __copy__(self) -> Tokenizer:
        return self

    def __deepcopy__(self, memo: dict) -> Tokenizer:
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return self._vocabulary.fingerprint() == other._vocabulary.fingerprint()

    def __hash__(self) -> int:
        return hash(self._vocabulary.fingerprint())

    def __repr__(self) -> str:
        return f"<Tokenizer {self._name!r}, {self.n_vocab:,} ids, order {self._vocabulary.order!r}>"

    # Inside

    def _encode(self, text: str | bytes, plan: Plan) -> list[int]:
        if self._simple:
            try:
                return self._encoder.kernel.encode(text, plan.refused_finder, plan.token_finder)
            except ForbiddenText as found:
                refuse(str(found))
            except UnicodeEncodeError:
                pass
        text = repaired(text)
        self._added.check(text, plan.refused)
        ids: list[int] = []
        for section, token, prefix in self._sections(text, plan.allowed):
            if token is not None:
                ids.append(token.id)
            else:
                ids += self._encoder.encode(prefix + section.encode())
        return ids

    def _count(self, text: str, allowed: frozenset[str]) -> int:
        plan = self._added.plan(allowed, NONE)
        if self._simple:
            try:
                return self._encoder.kernel.count(text, None, plan.token_finder)
            except UnicodeEncodeError:
                pass
        return len(self._encode(text, plan))

    def _sections(self, text: str, allowed: frozenset[str]) -> Iterator[tuple[str, AddedToken | None, bytes]]:
        """Each section of `text` with its added token, if it is one, and the bytes that go before it."""
        for section, token in self._added.split(repaired(text), allowed):
            bare = token is None and self._vocabulary.add_prefix_space and not section.startswith(" ")
            yield section, token, b" " if bare else b""


def repaired(text: str | bytes) -> str:
    """The text as UTF-8 can spell it: surrogate pairs become one character, lone surrogates U+FFFD, as in tiktoken."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _widened(ids: Any) -> Any:
    """Ids as the kernel reads them straight from memory: NumPy arrays of narrower types, as in token files, in 64 bits."""
    narrow = getattr(getattr(ids, "dtype", None), "char", "") in ("b", "B", "h", "H", "i")
    return ids.astype("int64") if narrow else ids


def _tokens_by_id(vocabulary: Vocabulary) -> list[bytes | None]:
    """The bytes of every id that may be given out, added tokens included."""
    tokens = list(vocabulary.tokens)
    for id in vocabulary.removed:
        tokens[id] = None
    tokens += [None] * (vocabulary.n_vocab - len(tokens))
    for token in vocabulary.added_tokens:
        tokens[token.id] = token.content.encode()
    return tokens[: vocabulary.n_vocab]


def _restore(vocabulary: Vocabulary, name: str, cache_bytes: int) -> Tokenizer:
    return Tokenizer(vocabulary, name=name, cache_bytes=cache_bytes)
