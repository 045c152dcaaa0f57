"""Tokenizer: text to ids and back, with tiktoken's method names."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Never, Unpack

from .. import formats
from ..errors import (
    UnknownTokenError,
    UsageError,
    checked_argument,
    checks_methods,
    refuse_unknown,
    require,
    suggests_options,
)
from ..vocabulary import Event, Vocabulary, surgery
from ..vocabulary.validation import checked_special_tokens
from . import batches
from .batches import LONG_TEXT, encode_divided
from .cores import CACHE_BYTES, core_of, stream_decoder
from .special import NONE, SpecialOptions, Specials

if TYPE_CHECKING:
    import numpy as np
    import tiktoken
    import tokenizers
    import transformers

    from ..counting import WordCounts
    from ..formats.finding import Origin
    from .display import TokenView
    from .offsets import Offsets
    from .special import Plan
    from .streams import StreamDecoder, StreamEncoder


@checks_methods
class Tokenizer:
    """Encodes text to token ids and decodes ids to text. Immutable. Threads may share it, and processes may fork.

    name: display name; by default the path or name it was loaded from.
    cache_bytes: the memory limit of the pretoken caches, of all threads together; 0 means no caches.
    source: what it was loaded from.

    >>> tok = Tokenizer(vocabulary)
    >>> tok.decode(tok.encode("low lower lowest"))
    'low lower lowest'
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        name: str = "tokenmill",
        cache_bytes: int = CACHE_BYTES,
        source: Origin | None = None,
    ):
        if not isinstance(vocabulary, Vocabulary):
            raise UsageError(f"expected a Vocabulary, not {vocabulary!r}; tokenmill.load opens files and names")
        self._name, self._source = name, source
        self._core = core_of(vocabulary, cache_bytes)  # for tokenmill's own modules
        self._default, self._ordinary = self._core.plan(NONE, "all"), self._core.plan(NONE, NONE)

    def encode(
        self,
        text: str,
        *,
        allowed_special: Specials = NONE,
        disallowed_special: Specials = "all",
        add_special_tokens: bool = False,
        num_threads: int | None = None,
        **unknown: Never,
    ) -> list[int]:
        """The ids of `text`. Text that contains a special token raises SpecialTokenError unless the options cover it.

        allowed_special: the texts of the special tokens to recognize; "all" recognizes all.
        disallowed_special: the special tokens that raise SpecialTokenError (a ValueError) if the text contains them;
            "all" means all that are not allowed. Special tokens in neither set are ordinary text.
        add_special_tokens: put the tokens of the file's template around the text, such as BOS and EOS.
        num_threads: the threads that encode a text of a million characters or more (None: all cores).
        Lone surrogates are encoded as U+FFFD.

        >>> tok.encode("low<|endoftext|>", allowed_special={"<|endoftext|>"})
        [310, 32767]
        """
        if unknown:
            refuse_unknown("encode", unknown, [*SpecialOptions.__annotations__, "add_special_tokens", "num_threads"])
        plan = self._default
        if allowed_special or disallowed_special != "all":
            plan = self._core.plan(allowed_special, disallowed_special)
        long = num_threads is not None or type(text) is not str or len(text) >= LONG_TEXT
        divided = encode_divided(self._core, text, plan, num_threads) if long else None
        ids = self._core.encode(text, plan) if divided is None else self._core.encoder.kernel.id_list(divided)
        return self._core.with_affixes(ids) if add_special_tokens else ids

    def encode_ordinary(self, text: str, **unknown: Never) -> list[int]:
        """Return `encode(text, disallowed_special=())`: special tokens are ordinary text."""
        if unknown:
            refuse_unknown("encode_ordinary", unknown, ["text"])
        return self._core.encode(text, self._ordinary)

    def encode_bytes(self, data: bytes | bytearray | memoryview) -> list[int]:
        """The ids of bytes, UTF-8 or not, without added tokens and normalization. `decode_bytes` returns `data`.

        For the split pattern, a byte outside of any well-formed UTF-8 character is a character of its own, and not a
        letter, number or white space. WordPiece and Unigram vocabularies encode it as U+FFFD.
        """
        if isinstance(data, str):  # NumPy's str also has a buffer, of UTF-32
            raise TypeError
        return self._core.encode_section(data if type(data) is bytes else bytes(memoryview(data)))

    @suggests_options
    def encode_to_numpy(
        self, text: str | bytes, *, num_threads: int | None = None, **special: Unpack[SpecialOptions]
    ) -> np.ndarray:
        """Return the ids of `text` as a uint32 array, without an intermediate list; options as for `encode`.

        `text` may be UTF-8 bytes, which saves decoding the contents of a file. Bytes that are not UTF-8 are encoded as they are,
        but as U+FFFD by WordPiece and Unigram vocabularies. In a str, lone surrogates become U+FFFD.
        """
        import numpy as np

        plan = self._plan(special)
        ids = encode_divided(self._core, text, plan, num_threads)
        return np.frombuffer(self._core.encode_to_array(text, plan) if ids is None else ids, np.uint32)

    @suggests_options
    def encode_batch(
        self,
        texts: Iterable[str],
        *,
        add_special_tokens: bool = False,
        num_threads: int | None = None,
        **special: Unpack[SpecialOptions],
    ) -> list[list[int]]:
        """The ids of each text; options as for `encode`.

        texts: any iterable of str, also an array of PyArrow, NumPy or pandas.
        num_threads: the number of threads (None: all cores).
        """
        lists = batches.encode_batch(self._core, texts, self._plan(special), num_threads)
        return list(map(self._core.with_affixes, lists)) if add_special_tokens else lists

    def encode_ordinary_batch(self, texts: Iterable[str], *, num_threads: int | None = None) -> list[list[int]]:
        """The ids of each text, with special tokens as ordinary text, on `num_threads` threads (None: all cores)."""
        return batches.encode_batch(self._core, texts, self._ordinary, num_threads)

    @suggests_options
    def encode_batch_to_numpy(
        self, texts: Iterable[str], *, num_threads: int | None = None, **special: Unpack[SpecialOptions]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The ids of all texts in one uint32 array, and n + 1 int64 offsets: text i is ids[offsets[i]:offsets[i + 1]]."""
        return batches.encode_flat(self._core, texts, self._plan(special), num_threads)

    def show(self, text: str, **special: Unpack[SpecialOptions]) -> TokenView:
        """The tokens of `text` for display, coloured in a notebook; options as for `encode`.

        >>> tok.show("low lower")
        low ·low er
        310 422  270
        """
        from .display import TokenView

        ids = self.encode(text, **special)
        return TokenView(ids, self.decode_tokens_bytes(ids))

    def stream_encoder(self, **special: Unpack[SpecialOptions]) -> StreamEncoder:
        """An encoder that accepts text in parts and returns ids as soon as they are certain; options as for `encode`."""
        from .streams import StreamEncoder

        return StreamEncoder(self._core, self._plan(special))

    def encode_single_token(self, text_or_bytes: str | bytes, **unknown: Never) -> int:
        """The id of one token, special tokens included. Raises UnknownTokenError (a KeyError) if it is not in the vocabulary.

        >>> tok.encode_single_token(b"low")
        310
        """
        token: Any = text_or_bytes
        if unknown or type(token) not in (str, bytes):
            token = bytes(token) if isinstance(token, bytearray | memoryview) else token
            token = checked_argument("encode_single_token", unknown, str | bytes, text_or_bytes=token)
        data = token.encode("utf-8", "surrogatepass") if isinstance(token, str) else token
        if (id := self._core.ids_by_token.get(data)) is None:
            raise UnknownTokenError(f"{token!r} is not a token of the vocabulary; encode it to see its tokens")
        return id

    def encode_with_offsets(self, text: str, *, normalized: bool = False, **special: Unpack[SpecialOptions]) -> Offsets:
        """The ids of `text` with their spans in it, in bytes and in characters; options as for `encode`.

        normalized: spans in the text after the normalizers, which is `text` of the result.

        >>> tok.encode_with_offsets("déjà").bytes.tolist()
        [[0, 1], [1, 3], [3, 6]]
        """
        from .offsets import encode_with_offsets

        return encode_with_offsets(self._core, text, self._plan(special), normalized)

    def count_tokens(self, text: str, *, num_threads: int | None = None, **special: Unpack[SpecialOptions]) -> int:
        """The number of tokens of `text`. No list is built. Options as for `encode`."""
        plan = self._plan(special)
        ids = encode_divided(self._core, text, plan, num_threads)
        return self._core.count(text, plan) if ids is None else len(ids)

    @suggests_options
    def count_dropped(self, text: str, **special: Unpack[SpecialOptions]) -> int:
        """The number of characters of `text`, or of bytes in a byte-level tokenizer.json, that have no token and are dropped.

        0 unless the tokenizer was loaded with `drop_unknown`, or its own library drops them. `allowed_special` as for `encode`.
        """
        plan, model = self._plan(special), self.vocabulary.library
        if not isinstance(text, str):
            raise TypeError
        return 0 if model is None else model.count_dropped(text, plan.allowed)

    def count_tokens_in(self, counts: WordCounts) -> int:
        """The number of tokens of the counted text: the tokens of each pretoken times its count.

        Raises UsageError for superwords of whole pretokens: the counts do not record where they are.
        """
        if len(self.vocabulary.superwords):
            raise UsageError("word counts do not record where superwords are; count the tokens of the text")
        encode = self._core.encode_pretoken
        return sum(len(encode(pretoken)) * number for pretoken, number in counts.items())

    def encode_with_unstable(self, text: str, **special: Unpack[SpecialOptions]) -> tuple[list[int], list[list[int]]]:
        """The ids that no later text can change, and each sequence of ids that may come after them, as in tiktoken.

        For text that is still being typed. Every token that may complete the last pretoken is tried: a long one is slow.

        >>> tok.encode_with_unstable("low lowe")
        ([258], [[262], [265]])
        """
        from .streams import encode_with_unstable

        return encode_with_unstable(self._core, text, self._plan(special))

    def truncate(self, text: str, max_tokens: int, **special: Unpack[SpecialOptions]) -> str:
        """The text of the first `max_tokens` tokens of `text`, or of fewer where that prefix alone has more tokens.

        It never ends inside a character. The rest is not encoded. Lone surrogates become U+FFFD. Options as for `encode`.

        >>> tok.truncate("low lower lowest", 2)
        'low lower'
        """
        plan = self._plan(special)
        prefix = self._core.truncate(text, max_tokens, plan)
        if prefix is not None:
            return prefix
        from .offsets import truncate

        return truncate(self._core, text, max_tokens, plan)

    def chunks(self, text: str, max_tokens: int, **special: Unpack[SpecialOptions]) -> list[str]:
        """Split `text` at token boundaries into chunks of at most `max_tokens` tokens.

        The concatenated chunks are `text`, with U+FFFD for lone surrogates. Options as for `encode`.

        >>> tok.chunks("low lower lowest", 2)
        ['low lower', ' lowest']
        """
        from .offsets import chunks

        return chunks(self._core, text, max_tokens, self._plan(special))

    # Decoding

    def decode(
        self, ids: Iterable[int], errors: str = "replace", *, skip_special_tokens: bool = False, **unknown: Never
    ) -> str:
        """The text of `ids`.

        errors: what to do with bytes that are not UTF-8, as in bytes.decode.
        skip_special_tokens: leave out the special tokens, such as <|endoftext|>. Those of a tokenizer.model are left out in any
            case, and its unknown token is " ⁇ ", as in sentencepiece.
        """
        if unknown or errors != "replace":
            refuse_unknown("decode", unknown, ["ids", "errors", "skip_special_tokens"])
            batches.refuse_unknown_handler(errors)
        if skip_special_tokens:
            ids = self._core.without_special(ids)
        return self._core.decode(ids, errors)

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of `ids`. Raises UnknownTokenError (a KeyError) for an id that is not in the vocabulary."""
        return self._core.decode_bytes(ids)

    def decode_tokens_bytes(self, ids: Iterable[int]) -> list[bytes]:
        """The bytes of each token."""
        return list(map(self._core.decoder.token, ids))

    def decode_single_token_bytes(self, id: int, **unknown: Never) -> bytes:
        """The bytes of one token, special tokens included. Raises UnknownTokenError (a KeyError) for an unknown id."""
        if unknown or type(id) is not int:
            id = int(checked_argument("decode_single_token_bytes", unknown, int, id=id))
        return self._core.decoder.token(id)

    def decode_batch(
        self,
        batch: Iterable[Iterable[int]],
        *,
        errors: str = "replace",
        skip_special_tokens: bool = False,
        num_threads: int | None = None,
    ) -> list[str]:
        """The text of each list of ids; options as for `decode`. Long batches use `num_threads` threads (None: all cores)."""
        decode: Callable = functools.partial(self.decode, errors=errors, skip_special_tokens=skip_special_tokens)
        return batches.decode_batch(decode, batch, num_threads)

    def decode_bytes_batch(self, batch: Iterable[Iterable[int]], *, num_threads: int | None = None) -> list[bytes]:
        """The bytes of each list of ids. Long batches use `num_threads` threads (None: all cores)."""
        return batches.decode_batch(self.decode_bytes, batch, num_threads)

    def decode_with_offsets(self, ids: Iterable[int]) -> tuple[str, list[int]]:
        """Return the text of `ids`, and for each token the index of the first character that contains one of its bytes.

        Raises UnicodeDecodeError if the bytes are not UTF-8.
        """
        return self._core.decode_with_offsets(list(ids))

    def stream_decoder(self, *, errors: str = "replace", skip_special_tokens: bool = False) -> StreamDecoder:
        """A decoder that accepts ids as they arrive and returns only whole characters; options as for `decode`."""
        batches.refuse_unknown_handler(errors)
        return stream_decoder(self._core, errors, self._core.special_ids if skip_special_tokens else frozenset())

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary that this tokenizer encodes with."""
        return self._core.vocabulary

    @property
    def name(self) -> str:
        """The display name."""
        return self._name

    @property
    def source(self) -> Origin | None:
        """The file it was loaded from: path, revision on the hub and SHA-256; None if it was not loaded from a file."""
        return self._source

    @property
    def n_vocab(self) -> int:
        """The highest id plus one: the number of rows of an embedding table."""
        return self.vocabulary.n_vocab

    @property
    def max_token_value(self) -> int:
        """The highest id."""
        return self.n_vocab - 1

    @property
    def special_tokens_set(self) -> set[str]:
        """The texts of the special tokens."""
        return set(self.vocabulary.special_tokens)

    @property
    def eot_token(self) -> int:
        """The id of the special token <|endoftext|>. Raises UnknownTokenError (a KeyError) if there is none."""
        if (id := self.vocabulary.special_tokens.get("<|endoftext|>")) is None:
            names = list(self.vocabulary.special_tokens)
            listed = (", ".join(names[:12]) or "none") + f" and {len(names) - 12:,} more" * (len(names) > 12)
            raise UnknownTokenError(f"the vocabulary has no special token '<|endoftext|>'; it has {listed}")
        return id

    def is_special_token(self, id: int, **unknown: Never) -> bool:
        """Return whether `id` is a special token."""
        if unknown or type(id) is not int:
            id = int(checked_argument("is_special_token", unknown, int, id=id))
        return id in self._core.special_ids

    @property
    def split_pattern(self) -> str | None:
        """The regular expression that cuts text into pretokens; None if the whole text is one pretoken."""
        patterns = self.vocabulary.split_patterns
        if len(patterns) > 1:
            raise UsageError(f"the tokenizer splits by {len(patterns)} patterns; see tok.vocabulary.split_patterns")
        return patterns[0] if patterns else None

    @property
    def mergeable_ranks(self) -> dict[bytes, int]:
        """The ordinary tokens: bytes -> id, as tiktoken.Encoding accepts them."""
        removed = self.vocabulary.removed
        return {token: id for id, token in enumerate(self.vocabulary.tokens) if token is not None and id not in removed}

    @property
    def events(self) -> list[Event]:
        """In training order: ("merge", left id, right id, new id) and ("remove", id)."""
        return self.vocabulary.event_list()

    # Methods with Hugging Face's names and spellings: the token " low" is "Ġlow".

    def __len__(self) -> int:
        return self.n_vocab

    def get_vocab(self) -> dict[str, int]:
        """The id of each token, added tokens included."""
        return dict(self._core.ids_by_spelling)

    def token_to_id(self, token: str | bytes, **unknown: Never) -> int | None:
        """The id of a token, as `get_vocab` spells it or as its bytes; None if it is not in the vocabulary.

        >>> tok.token_to_id("Ġlow") == tok.token_to_id(b" low")
        True
        """
        if type(token) is str and not unknown:
            return self._core.ids_by_spelling.get(token)
        token = checked_argument("token_to_id", unknown, str | bytes, token=token)
        ids: Mapping = self._core.ids_by_token if isinstance(token, bytes) else self._core.ids_by_spelling
        return ids.get(token)

    def id_to_token(self, id: int, **unknown: Never) -> str | None:
        """The token with this id, as `get_vocab` spells it; None if there is none."""
        if unknown or type(id) is not int:
            id = int(checked_argument("id_to_token", unknown, int, id=id))
        spellings = self._core.spellings
        return spellings[id] if 0 <= id < len(spellings) else None

    def add_special_tokens(self, texts: Iterable[str]) -> Tokenizer:
        """A new tokenizer with more control tokens. All existing ids stay the same.

        The new tokens get the ids from `n_vocab` on, in the order given. Tokens that already exist keep their ids.

        >>> chat = tok.add_special_tokens(["<|user|>", "<|assistant|>"])
        >>> chat.encode("<|user|>low", allowed_special="all")
        [32768, 310]
        """
        return self._with(surgery.with_special_tokens(self.vocabulary, checked_special_tokens(texts)))

    def prefix(self, vocab_size: int) -> Tokenizer:
        """The tokenizer that the same training would have produced with a smaller `vocab_size`; the whole one if it is not smaller.

        Exact for every kind of training but BoundlessBPE; for SuperBPE with the same `stage1_size`. Raises UsageError for
        BoundlessBPE, and for a vocabulary that did not come from a single training, such as an extended one, or has ranks
        and no merges.

        >>> large = tokenmill.train("corpus/*.txt", 64_000)
        >>> large.prefix(32_000) == tokenmill.train("corpus/*.txt", 32_000)
        True
        """
        return self._with(surgery.prefix(self.vocabulary, vocab_size))

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all ordinary tokens, sorted."""
        return sorted(self.mergeable_ranks)

    def save(
        self, path: str | os.PathLike, *, format: str = "huggingface", lossy: bool = False, overwrite: bool = False
    ) -> list[str]:
        """Write a folder that `tokenmill.load` and transformers' AutoTokenizer open, or another format.

        format: "huggingface", "tiktoken", "gguf" or "sentencepiece" (one file), "merges" or "ddtok"; with lossy also
            "longest-match", a tokenizer.json that encodes by the longest token each time.
        lossy: write the remaining tokens of a Picky tokenizer without its events; `tokenmill.export_loss` measures the effect.
        overwrite: replace an existing tokenizer. Without it, an existing one raises OutputError.
        Returns notes on what the format cannot store. Raises ConversionError if ids would change.
        """
        return formats.write(self.vocabulary, path, format, lossy=lossy, overwrite=overwrite, tokenizer=Tokenizer)

    @classmethod
    def from_ranks(
        cls,
        mergeable_ranks: Mapping[bytes, int],
        *,
        split: str,
        special_tokens: Mapping[str, int] | None = None,
        name: str = "tokenmill",
    ) -> Tokenizer:
        """Make a tokenizer from the arguments of tiktoken.Encoding.

        split: tiktoken's pat_str, or the name of a pattern.

        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> tokenmill.Tokenizer.from_ranks(ranks, split="cl100k").encode("ab")
        [97, 98]
        """
        return cls(surgery.of_ranks(mergeable_ranks, split, special_tokens or {}), name=name)

    def to_tiktoken(self, *, lossy: bool = False) -> tiktoken.Encoding:
        """A tiktoken.Encoding that returns the same ids. Raises ConversionError if that is impossible, as for Picky BPE.

        lossy: for a Picky tokenizer, export its remaining tokens, encoded by rank. Some texts then get different ids;
            `tokenmill.export_loss` measures how many.
        """
        return formats.to_tiktoken(self.vocabulary, self._name, lossy=lossy)

    def as_transformers(self, **settings: Any) -> transformers.PreTrainedTokenizerFast:
        """Return this tokenizer as a transformers object, for code that expects a PreTrainedTokenizerFast.

        settings: arguments of that class, such as pad_token, padding_side, model_max_length and chat_template. By default,
            they are those of the file.

        >>> hf = tok.as_transformers(pad_token="<|pad|>")
        >>> hf(["low", "low lower"], padding=True, return_tensors="pt").input_ids
        tensor([[  310, 32768], [  310,   402]])
        """
        require("transformers", "transformers", "as_transformers", oldest=(5, 24))
        from .transformers_tokenizer import with_settings

        return with_settings(self._core, settings)

    def to_hf(self, *, lossy: bool = False) -> tokenizers.Tokenizer:
        """A tokenizers.Tokenizer (Hugging Face) that returns the same ids; options as for `to_tiktoken`."""
        return formats.to_hf(self.vocabulary, lossy=lossy)

    def __reduce__(self) -> tuple:
        make = functools.partial(Tokenizer, name=self._name, cache_bytes=self._core.cache_bytes, source=self._source)
        return make, (self.vocabulary,)

    def __deepcopy__(self, memo: object = None) -> Tokenizer:
        return self

    __copy__ = __deepcopy__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return self.vocabulary.fingerprint() == other.vocabulary.fingerprint()

    def __hash__(self) -> int:
        return hash(self.vocabulary.fingerprint())

    def __repr__(self) -> str:
        return f"<Tokenizer {self._name!r}, {self.n_vocab:,} ids, order {self.vocabulary.order!r}>"

    def _plan(self, special: SpecialOptions) -> Plan:
        """Return the plan for the options `special` of the method that calls this."""
        if not special:
            return self._default
        try:
            return self._core.plan(**special)
        except TypeError:
            method = sys._getframe(1).f_code
            own = method.co_varnames[1 : method.co_argcount + method.co_kwonlyargcount]
            refuse_unknown(method.co_name, special, [*own, *SpecialOptions.__annotations__])
            raise

    def _with(self, vocabulary: Vocabulary) -> Tokenizer:
        return Tokenizer(vocabulary, name=self._name, cache_bytes=self._core.cache_bytes)
