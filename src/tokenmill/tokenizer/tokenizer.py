"""Tokenizer: text to ids and back, with tiktoken's names for tiktoken's verbs."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UnknownTokenError, UsageError
from ..vocabulary import AddedToken, Event, Vocabulary
from .encoder import OrdinaryEncoder
from .special import AddedTokens
from .stream import StreamDecoder

if TYPE_CHECKING:
    import numpy as np
    import tiktoken
    import tokenizers

    from ..counting import WordCounts

__all__ = ["Offsets", "Tokenizer"]


class Offsets(NamedTuple):
    """The ids of a text with the stretch of text that each stands for.

    ids: the ids, as `encode` gives them.
    bytes: int64 array of shape (n, 2): token i is the bytes bytes[i, 0] to bytes[i, 1] of `text` as UTF-8.
    characters: the same in characters; a character that several tokens share is in the span of each.
    text: what the spans refer to. It is the text given, unless the tokenizer normalises text first or lone
        surrogates had to be replaced.
    """

    ids: list[int]
    bytes: np.ndarray
    characters: np.ndarray
    text: str


class Tokenizer:
    """Encodes text to token ids and decodes ids to text. Immutable; threads may share it, and processes may fork.

    name: what to call the encoding, for people.
    cache_bytes: what the caches of pieces already seen may hold, of all threads together.

    >>> tok = Tokenizer(vocabulary)
    >>> tok.decode(tok.encode("low lower lowest"))
    'low lower lowest'
    """

    def __init__(self, vocabulary: Vocabulary, *, name: str = "tokenmill", cache_bytes: int = 256 << 20):
        self._vocabulary, self._name, self._cache_bytes = vocabulary, name, cache_bytes
        self._encoder = OrdinaryEncoder(vocabulary, cache_bytes)
        self._added = AddedTokens(vocabulary)
        ids = range(max([vocabulary.n_vocab, *(token.id + 1 for token in vocabulary.added_tokens)]))
        self._bytes = [None if id in vocabulary.removed else vocabulary.token_bytes(id) for id in ids]
        self._ids = {token: id for id, token in reversed([*enumerate(self._bytes)]) if token is not None}

    # Encoding

    def encode(
        self,
        text: str,
        *,
        allowed_special: str | Collection[str] = frozenset(),
        disallowed_special: str | Collection[str] = "all",
    ) -> list[int]:
        """The ids of `text`. Text that spells a special token is an error, unless the caller says what it means.

        allowed_special: the special tokens that text may be turned into, by their texts; "all" allows all.
        disallowed_special: those that raise SpecialTokenError (a ValueError) where the text spells them; "all" means
            all that are not allowed. Spelt tokens that are neither allowed nor disallowed are ordinary text.
        Lone surrogates are encoded as U+FFFD.

        >>> tok.encode("low<|endoftext|>", allowed_special={"<|endoftext|>"})
        [310, 32767]
        """
        allowed = self._added.allowed(allowed_special)
        self._added.check(text, allowed, disallowed_special)
        return self._encode(text, allowed)

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of `text`, where special tokens are ordinary text: `encode(text, disallowed_special=())`."""
        return self._encode(text, frozenset())

    def encode_bytes(self, data: bytes) -> list[int]:
        """The ids of bytes, UTF-8 or not; no special tokens, no normalisation. `decode_bytes` gives `data` back.

        Each byte that belongs to no well-formed UTF-8 character is split as a character of its own that is no
        letter, no number and no white space.
        """
        return self._encoder.encode(bytes(data))

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: str | Collection[str] = frozenset(),
        disallowed_special: str | Collection[str] = "all",
    ) -> np.ndarray:
        """The ids of `text` as a uint32 array; options as for `encode`."""
        import numpy as np

        return np.array(
            self.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special), np.uint32
        )

    def encode_batch(
        self,
        texts: Iterable[str],
        *,
        num_threads: int | None = None,
        allowed_special: str | Collection[str] = frozenset(),
        disallowed_special: str | Collection[str] = "all",
    ) -> list[list[int]]:
        """The ids of each text, by several threads (None: all cores); options as for `encode`."""
        allowed = self._added.allowed(allowed_special)

        def encode(text: str) -> list[int]:
            self._added.check(text, allowed, disallowed_special)
            return self._encode(text, allowed)

        return self._map(encode, texts, num_threads)

    def encode_ordinary_batch(self, texts: Iterable[str], *, num_threads: int | None = None) -> list[list[int]]:
        """The ids of each text, where special tokens are ordinary text, by several threads (None: all cores)."""
        return self._map(self.encode_ordinary, texts, num_threads)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of one token, special tokens included. Raises UnknownTokenError (a KeyError) if there is none.

        >>> tok.encode_single_token(b"low")
        310
        """
        token = text_or_bytes.encode() if isinstance(text_or_bytes, str) else bytes(text_or_bytes)
        try:
            return self._ids[token]
        except KeyError:
            raise UnknownTokenError(
                f"no token of the vocabulary is {text_or_bytes!r}; encode it to see its tokens"
            ) from None

    def encode_offsets(
        self,
        text: str,
        *,
        allowed_special: str | Collection[str] = frozenset(),
        disallowed_special: str | Collection[str] = "all",
    ) -> Offsets:
        """The ids of `text` with their spans in bytes and in characters; options as for `encode`.

        >>> tok.encode_offsets("déjà").bytes.tolist()
        [[0, 1], [1, 3], [3, 6]]
        """
        import numpy as np

        allowed = self._added.allowed(allowed_special)
        self._added.check(text, allowed, disallowed_special)
        ids: list[int] = []
        ends: list[int] = []
        whole: list[str] = []
        start = 0
        for section, token, prefix in self._sections(text, allowed):
            data = section.encode()
            if token is not None:
                ids.append(token.id)
                ends.append(start + len(data))
            else:
                end = start - len(prefix)
                for id in self._encoder.encode(prefix + data):
                    end += self._length(id, data, end - start)
                    ids.append(id)
                    ends.append(max(start, end))
            whole.append(section)
            start += len(data)
        spans = np.empty((len(ids), 2), np.int64)
        spans[:, 1] = ends
        spans[:1, 0] = 0
        spans[1:, 0] = ends[:-1]
        joined = "".join(whole)
        leads = (np.frombuffer(joined.encode(), np.uint8) & 0xC0) != 0x80
        before = np.concatenate([[0], np.cumsum(leads)])
        characters = np.stack([before[spans[:, 0]], before[spans[:, 1]]], axis=1)
        inside = (spans[:, 0] < start) & (spans[:, 0] < spans[:, 1])
        characters[inside, 0] = before[spans[inside, 0] + 1] - 1
        return Offsets(ids, spans, characters, joined)

    def _length(self, id: int, data: bytes, at: int) -> int:
        if id == self._vocabulary.unknown:
            end = at + 1
            while end < len(data) and 0x80 <= data[end] < 0xC0:
                end += 1
            return end - at
        return len(self._vocabulary.tokens[id] or b"")

    # Measuring and cutting

    def count_tokens(
        self,
        text: str,
        *,
        allowed_special: str | Collection[str] = frozenset(),
        disallowed_special: str | Collection[str] = "all",
    ) -> int:
        """How many tokens `text` takes: the length of `encode` with the same options."""
        return len(self.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special))

    def count_tokens_in(self, counts: WordCounts) -> int:
        """How many tokens the counted text takes: the tokens of each piece times its count."""
        return sum(len(self._encoder.encode_piece(piece)) * count for piece, count in counts.items())

    def truncate(
        self,
        text: str,
        max_tokens: int,
        *,
        allowed_special: str | Collection[str] = frozenset(),
        disallowed_special: str | Collection[str] = "all",
    ) -> str:
        """The longest beginning of `text` that ends with one of its tokens and takes at most `max_tokens` tokens.

        It never ends inside a character. Where the tokenizer normalises text, it is a beginning of the normalised
        text. Options as for `encode`.

        >>> tok.truncate("low lower lowest", 2)
        'low lower'
        """
        if max_tokens < 0:
            raise UsageError(f"max_tokens is {max_tokens}; give 0 or more")
        allowed = self._added.allowed(allowed_special)
        ids, _, characters, whole = self.encode_offsets(
            text, allowed_special=allowed_special, disallowed_special=disallowed_special
        )
        if len(ids) <= max_tokens:
            return whole
        for last in range(max_tokens, 0, -1):
            cut = int(characters[last, 0])  # the next token's first character is left out, even if it began before
            if len(self._encode(whole[:cut], allowed)) <= max_tokens:
                return whole[:cut]
        return ""

    def split_at(
        self,
        text: str,
        max_tokens: int,
        *,
        allowed_special: str | Collection[str] = frozenset(),
        disallowed_special: str | Collection[str] = "all",
    ) -> list[str]:
        """`text` in chunks of at most `max_tokens` tokens each: each is what `truncate` gives of what is left.

        Joined, they are the text (the normalised text, where the tokenizer normalises). Options as for `encode`.

        >>> tok.split_at("low lower lowest", 2)
        ['low lower', ' lowest']
        """
        chunks = []
        text = "".join(section for section, _, _ in self._sections(text, self._added.allowed(allowed_special)))
        while text:
            chunk = self.truncate(
                text, max_tokens, allowed_special=allowed_special, disallowed_special=disallowed_special
            )
            if not chunk:
                raise UsageError(f"the character {text[0]!r} alone takes more than {max_tokens} tokens; allow more")
            chunks.append(chunk)
            text = text[len(chunk) :]
        return chunks

    # Decoding

    def decode(self, ids: Sequence[int], errors: str = "replace") -> str:
        """The text that `ids` stand for. Bytes that are no UTF-8 are treated as `errors` says, as in bytes.decode."""
        return self.decode_bytes(ids).decode("utf-8", errors)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes that `ids` stand for. Raises UnknownTokenError (a KeyError) for an id that is none."""
        return b"".join(self.decode_tokens_bytes(ids))

    def decode_tokens_bytes(self, ids: Iterable[int]) -> list[bytes]:
        """The bytes of each token."""
        return [self.decode_single_token_bytes(id) for id in ids]

    def decode_single_token_bytes(self, id: int) -> bytes:
        """The bytes of one token, special tokens included. Raises UnknownTokenError (a KeyError) if there is none."""
        token = self._bytes[id] if 0 <= id < len(self._bytes) else None
        if token is None:
            raise UnknownTokenError(f"{id} is no id of this vocabulary, whose ids are from 0 to {len(self._bytes) - 1}")
        return token

    def decode_batch(
        self, batch: Iterable[Sequence[int]], *, errors: str = "replace", num_threads: int | None = None
    ) -> list[str]:
        """The text of each list of ids."""
        return self._map(lambda ids: self.decode(ids, errors), batch, num_threads)

    def decode_bytes_batch(self, batch: Iterable[Sequence[int]], *, num_threads: int | None = None) -> list[bytes]:
        """The bytes of each list of ids."""
        return self._map(self.decode_bytes, batch, num_threads)

    def decode_with_offsets(self, ids: Sequence[int]) -> tuple[str, list[int]]:
        """The text of `ids`, and for each token the index of the first character that has a byte of it.

        Raises UnicodeDecodeError if the bytes are no UTF-8.
        """
        tokens = self.decode_tokens_bytes(ids)
        offsets, characters = [], 0
        for token in tokens:
            offsets.append(max(0, characters - (0x80 <= token[0] < 0xC0)))
            characters += sum(not 0x80 <= byte < 0xC0 for byte in token)
        return b"".join(tokens).decode(), offsets

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
        """The regular expression that cuts text into pieces; None where the text is one piece."""
        patterns = self._vocabulary.split_patterns
        if len(patterns) > 1:
            raise UsageError(
                f"this tokenizer splits by {len(patterns)} patterns in turn; see tok.vocabulary.split_patterns"
            )
        return patterns[0] if patterns else None

    @property
    def mergeable_ranks(self) -> dict[bytes, int]:
        """The ordinary tokens: bytes -> id, as tiktoken.Encoding takes them."""
        return {
            t: id
            for id, t in enumerate(self._vocabulary.tokens)
            if t is not None and id not in self._vocabulary.removed
        }

    @property
    def events(self) -> list[Event]:
        """In training order: ("merge", left id, right id, new id) and ("remove", id)."""
        return self._vocabulary.event_list()

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all ordinary tokens, sorted."""
        return sorted(self.mergeable_ranks)

    def save(self, folder: str | os.PathLike, **options: Any) -> None:
        """Write a folder that `tokenmill.load` and transformers' AutoTokenizer open."""
        from .. import formats

        formats.write(self._vocabulary, folder, **options)  # type: ignore[attr-defined]

    @classmethod
    def from_file(cls, path: str | os.PathLike, **options: Any) -> Tokenizer:
        """Load a tokenizer from a file or folder of any known format, told by content: `tokenmill.load`."""
        from .. import formats

        return cls(formats.read(path, **options))  # type: ignore[attr-defined]

    def to_tiktoken(self, *, lossy: bool = False) -> tiktoken.Encoding:
        """A tiktoken.Encoding that gives the same ids; ConversionError where none does, such as for Picky BPE.

        lossy: for a Picky tokenizer, give its present tokens, encoded by rank; some texts then get other ids.
        """
        from .. import formats

        return formats.to_tiktoken(self._vocabulary, self._name, lossy=lossy)

    def to_hf(self, *, lossy: bool = False) -> tokenizers.Tokenizer:
        """A tokenizers.Tokenizer (Hugging Face) that gives the same ids; options as for `to_tiktoken`."""
        from .. import formats

        return formats.to_hf(self._vocabulary, lossy=lossy)

    def __reduce__(self) -> tuple:
        return _restore, (self._vocabulary, self._name, self._cache_bytes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return self._vocabulary.fingerprint() == other._vocabulary.fingerprint()

    def __hash__(self) -> int:
        return hash(self._vocabulary.fingerprint())

    def __repr__(self) -> str:
        return f"<Tokenizer {self._name!r}, {self.n_vocab:,} ids, order {self._vocabulary.order!r}>"

    # Inside

    def _sections(self, text: str, allowed: frozenset[str]) -> Iterator[tuple[str, AddedToken | None, bytes]]:
        """Each section of `text` with its added token, if it is one, and the bytes that go before it."""
        try:
            text.encode()
        except UnicodeEncodeError:  # as tiktoken: surrogate pairs become one character, lone surrogates U+FFFD
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        for section, token in self._added.split(text, allowed):
            bare = token is None and self._vocabulary.add_prefix_space and not section.startswith(" ")
            yield section, token, b" " if bare else b""

    def _encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        ids: list[int] = []
        for section, token, prefix in self._sections(text, allowed):
            if token is not None:
                ids.append(token.id)
            else:
                ids += self._encoder.encode(prefix + section.encode())
        return ids

    def _map(self, function, items, num_threads: int | None) -> list:
        threads = num_threads or os.cpu_count() or 1
        if threads < 1:
            raise UsageError(f"num_threads is {num_threads}; give 1 or more, or None for all cores")
        if threads == 1:
            return list(map(function, items))
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(function, items))


def _restore(vocabulary: Vocabulary, name: str, cache_bytes: int) -> Tokenizer:
    return Tokenizer(vocabulary, name=name, cache_bytes=cache_bytes)
