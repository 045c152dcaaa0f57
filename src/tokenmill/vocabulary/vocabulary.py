"""`Vocabulary`, `AddedToken` and `Template`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, get_args

from ..errors import PatternError, refuse_unknown, suggests_options
from ..split.names import regular_expressions
from . import validation
from ._packed_cy import pack_tokens, unpack_tokens
from .lazy import lazy
from .library_model import LibraryModel
from .normalization import NO_NORMALIZATION, Normalization
from .validation import EventError, VocabularyError

if TYPE_CHECKING:
    import numpy as np

NO_TOKEN = 0xFFFFFFFF  # the size of an id without a token
Order = Literal["ranks", "merges", "scores", "events", "library"]
_TUPLES = ("split_patterns", "byte_patterns", "added_tokens", "byte_tokens", "decode_only", "notes")
_CHOICES = {
    "order": get_args(Order),
    "alphabet": ("bytes", "characters"),
    "whole_pretokens": (True, False),
    "fuse_unknown": (True, False),
}
_DERIVED = ("special_tokens", "n_vocab", "decoded_bytes", "_fingerprint")  # lazy attributes that depend on settings
Trims = Literal["", "all", "prefix"]
Items = tuple[tuple[str | int, int], ...]
Event = tuple[Literal["merge"], int, int, int] | tuple[Literal["remove"], int]


class AddedToken(NamedTuple):
    """A token matched as a whole string before the text is split into pretokens.

    `special` tokens (control tokens) are matched only where the caller allows them. The others are
    matched in any text, as Hugging Face does. The other flags have Hugging Face's meaning: `lstrip` and `rstrip`
    include the white space next to the token, `single_word` matches only between non-word characters, `normalized`
    matches in the text after normalization rather than before.
    """

    content: str
    id: int
    special: bool = True
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False


class Template(NamedTuple):
    """The order of texts and control tokens, for one text and for a pair: items, each with its type id (BERT's segment).

    An item is the content of a token, or the number of a text, 0 or 1.
    trims: whether offsets leave out the spaces at both ends of a token. "prefix" keeps the first one at the start of a text.

    >>> Template(single=(("<s>", 0), (0, 0))).affixes
    (['<s>'], [])
    """

    single: Items = ((0, 0),)
    pair: Items = ((0, 0), (1, 1))
    trims: Trims = ""

    @property
    def affixes(self) -> tuple[list[str], list[str]]:
        """The tokens before a text, and those after it."""
        contents = [content for content, _ in self.single]
        text = contents.index(0)
        return contents[:text], contents[text + 1 :]  # type: ignore[return-value]

    @classmethod
    def around(cls, before: Iterable[str], after: Iterable[str], trims: Trims = "") -> Template:
        """Return the template that puts the same tokens around each text."""
        before, after = tuple(before), tuple(after)
        first, second = (tuple((item, n) for item in (*before, n, *after)) for n in (0, 1))
        return cls(first, first + second, trims)

    def of_tokens(self, contents: Collection[str]) -> Template:
        """Return the template with only the tokens in `contents`."""
        single, pair = (
            tuple(item for item in items if isinstance(item[0], int) or item[0] in contents)
            for items in (self.single, self.pair)
        )
        return self._replace(single=single, pair=pair)


NO_TEMPLATE = Template()


class Vocabulary:
    """Token bytes by id, the rule that merges them, the split patterns and the added tokens. Immutable.

    A Vocabulary is always valid. The constructor checks every field, and raises a FormatError for a wrong one: an id out
    of range, a merge that does not spell its token, a token used before its merge, a token or a pair that occurs twice, a
    field that does not fit `order`.

    Tokens and merges:

    tokens: the bytes of each ordinary token by id; None where an id is unused or belongs to an added token. Removed
        tokens of a Picky vocabulary (never returned) keep their bytes here, at the highest ids, because events name them.
    order: the kind of vocabulary, which is the rule that merges a pretoken.
        "ranks": any two neighbours whose joined bytes are a token merge, the lowest id first (tiktoken).
        "merges": the merges listed in `events`, the earliest first (Hugging Face, plain training).
        "scores": the same, but successive merges of one token have one rank, and of these the leftmost pair in the text
            is first (SentencePiece, where a token has a score and any two tokens that spell it merge).
        "events": merges and removals replayed in training order (Picky BPE), then `superwords`.
        "library": what the library of `library` returns (WordPiece, Unigram and others).
    events: a read-only int32 array of shape (n, 3), in training order. A row (left id, right id, new id) is a merge, a
        row (id, -1, -1) a removal. Orders "merges" and "scores" have merges only; "ranks" and "library" have none.
    superwords: for order "events", a read-only int32 array of shape (n, 3), the merges of neighbouring pretokens (BoundlessBPE),
        as rows (left id, right id, new id). After the events, the earliest of these merges comes first, between tokens that are
        whole pretokens or results of such a merge.
    whole_pretokens: whether a pretoken that is a token becomes that token at once (tiktoken's rule; `ignore_merges` in
        Hugging Face).
    alphabet: "bytes", or "characters" where training began with characters; then `unknown` is the id that stands
        for any character outside of the alphabet.
    byte_tokens: with the alphabet "characters", the ids of 256 tokens that stand for the bytes of a character that has no
        token (byte fallback), None for a byte without one. Nothing merges with them.
    fuse_unknown: whether neighbouring unknown characters become one unknown token.
    removed: the ids of the tokens that Picky training removed and that did not come back.
    library: for order "library", the file that tokenizers or sentencepiece encodes with. Its normalizers and patterns are not in
        the other fields.

    Before merging:

    normalization: what changes a text before it is split; see `Normalization`.
    split_patterns: the patterns that cut text into pretokens, each applied to the pretokens of the one before it.
        Usually one; none means that the text is one pretoken. Text between two matches is a pretoken too. A name, such as
        "gpt2", is replaced by the regular expression it stands for.
    dropped: the characters that no token stands for, such as white space after Hugging Face's Whitespace. The split patterns put
        them into separate pretokens. Below U+10000, for order "merges" without whole_pretokens and a prefix space.
    byte_patterns: the patterns that then cut the bytes of a pretoken, each as its character of GPT-2's byte alphabet, such as those
        after Falcon's ByteLevel. Only for order "merges" on bytes without whole_pretokens.

    Added tokens and decoding:

    added_tokens: the tokens that are matched as a whole, before or after normalization; see `AddedToken`.
    decode_only: ids that no text is encoded to, with the bytes that they are decoded to; and special tokens that are
        decoded to other bytes than their content, such as none for the control tokens of SentencePiece.
    template: the control tokens that encoding adds to a text on request.

    Without effect on ids:

    config: other entries of transformers' tokenizer_config.json: "chat_template", "eos_token", "padding_side" and similar ones.
    notes: other contents of the file in words, such as a decoder that differs.
    refine: the threshold T at which Picky training removed tokens, if it is known. Further training uses it.
    event_counts: a read-only uint64 array of shape (n, 2), a row for each event: (count of the pair, 0) for a merge, the IoS
        a / b as (a, b) for a removal. Empty if they are not known. The constructor also accepts a function from the vocabulary
        to the counts.
    """

    split_patterns: tuple[str, ...]
    order: Order
    added_tokens: tuple[AddedToken, ...]
    whole_pretokens: bool
    alphabet: Literal["bytes", "characters"]
    unknown: int | None
    normalization: Normalization
    byte_tokens: tuple[int | None, ...]
    fuse_unknown: bool
    decode_only: tuple[tuple[int, bytes], ...]
    library: LibraryModel | None
    notes: tuple[str, ...]
    refine: float | None
    config: Mapping[str, Any]
    template: Template
    dropped: str
    byte_patterns: tuple[str, ...]
    removed: frozenset[int] = frozenset()

    def __init__(
        self,
        tokens: Sequence[bytes | None],
        split_patterns: Iterable[str],
        order: Order = "ranks",
        events: np.ndarray | Sequence[Sequence[int]] = (),
        added_tokens: Iterable[AddedToken] = (),
        whole_pretokens: bool = True,
        alphabet: Literal["bytes", "characters"] = "bytes",
        unknown: int | None = None,
        normalization: Normalization = NO_NORMALIZATION,
        byte_tokens: Iterable[int | None] = (),
        fuse_unknown: bool = False,
        decode_only: Iterable[tuple[int, bytes]] = (),
        library: LibraryModel | None = None,
        notes: Iterable[str] = (),
        refine: float | None = None,
        superwords: np.ndarray | Sequence[Sequence[int]] = (),
        config: Mapping[str, Any] = {},
        event_counts: np.ndarray | Sequence[Sequence[int]] | Callable[[Vocabulary], Any] = (),
        template: Template = NO_TEMPLATE,
        dropped: str = "",
        byte_patterns: Iterable[str] = (),
    ) -> None:
        self._set({name: value for name, value in locals().items() if name != "self"})
        own = self.__dict__
        own["tokens"] = validation.as_tuple("tokens", self.tokens)
        validation.check_tokens(self.tokens, distinct=self.order == "ranks")
        own["events"] = validation.checked_events(self.events, self.order, self.tokens)
        self._check_ids(own)
        own["superwords"] = self._checked_superwords()
        if self.order == "events":
            unmerged = {token.id for token in self.added_tokens} | {self.unknown, *self.superwords[:, 2].tolist()}
            own["removed"] = validation.removed_tokens(self.events, self.tokens, unmerged)

    def replace(self, **fields: Any) -> Vocabulary:
        """Return the vocabulary with other values of these fields, which are checked.

        Unchanged tokens and merges are not checked again, because that takes seconds for 500,000 merges.
        """
        refuse_unknown("replace", fields, FIELDS)
        # In order "events", which tokens are removed depends on the added tokens.
        if self.order == "events" or not fields.keys() <= _SETTINGS:
            return Vocabulary(**{name: getattr(self, name) for name in FIELDS} | fields)
        copy = object.__new__(Vocabulary)
        copy._set({name: value for name, value in self.__dict__.items() if name not in _DERIVED} | fields)
        copy._check_ids(fields)
        return copy

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Vocabulary cannot be changed: use vocabulary.replace({name}=...)")

    def _set(self, fields: dict[str, Any]) -> None:
        """Set the fields, and check those that need no tokens and no events."""
        if "event_counts" in fields:
            fields["_unchecked_counts"] = fields.pop("event_counts")
        self.__dict__.update(fields)
        for name, choices in _CHOICES.items():
            validation.check_choice(name, getattr(self, name), choices)
        for name in _TUPLES:
            self.__dict__[name] = validation.as_tuple(name, getattr(self, name))
        Normalization.check(self.normalization)
        validation.check_added_tokens(self.added_tokens)
        try:
            self.__dict__["split_patterns"] = regular_expressions(self.split_patterns)
        except PatternError as error:
            raise VocabularyError(str(error)) from error
        fits = isinstance(self.dropped, str) and max(self.dropped, default="") <= "\uffff"
        others = self.order != "merges" or self.whole_pretokens or self.normalization.add_prefix_space
        if not fits or (self.dropped and others):
            what = f"dropped is {validation.show(self.dropped)}; it is text below U+10000"
            raise VocabularyError(f'{what}, for order "merges" without whole_pretokens and without a prefix space')
        if self.byte_patterns and (self.order, self.alphabet, self.whole_pretokens) != ("merges", "bytes", False):
            raise VocabularyError('byte_patterns are for order "merges" on bytes without whole_pretokens')
        refine, is_number = self.refine, isinstance(self.refine, int | float) and not isinstance(self.refine, bool)
        if refine is not None and not (self.order == "events" and is_number and 0 < refine <= 1):
            what = f"refine is {refine!r} for order {self.order!r}"
            raise VocabularyError(f"{what}; only 'events' has it, above 0 and at most 1")
        if (self.library is None) == (self.order == "library"):
            raise VocabularyError(
                f"the order is {self.order!r}; a vocabulary has a library model if it is 'library', and only then"
            )

    def _check_ids(self, fields: Mapping[str, Any]) -> None:
        """Check those of `fields` that name single ids."""
        if fields.get("byte_tokens") or fields.get("decode_only"):
            validation.check_byte_tokens(self.byte_tokens, self.decode_only, self.tokens)
        if (unknown := fields.get("unknown")) is not None and (
            type(unknown) is not int or self.token_bytes(unknown) is None
        ):
            raise VocabularyError(f"the unknown token has the id {unknown!r}, and no token has it")

    def _checked_superwords(self) -> np.ndarray:
        """Return the superwords as a read-only int32 array of shape (n, 3). Each spells its token, from tokens made before it."""
        n_events = len(self.events)
        try:
            rows = validation.checked_events(self.superwords, "merges", self.tokens)
        except EventError as error:
            raise EventError(n_events + error.event, error.what) from error
        if not len(rows):
            return rows
        if (self.order, self.alphabet, self.whole_pretokens, len(self.split_patterns)) != ("events", "bytes", False, 1):
            raise VocabularyError(
                'superwords are for order "events" on bytes, without whole_pretokens, and one split pattern'
            )
        later = set(rows[:, 2].tolist())
        if len(later) < len(rows) or not later.isdisjoint(self.events.ravel().tolist()):
            raise VocabularyError("a token of the superwords is made twice")
        for n, (left, right, new) in enumerate(rows.tolist()):
            if left in later or right in later:
                raise EventError(n_events + n, "a part of this superword is made after it")
            later.discard(new)
        return rows

    def __repr__(self) -> str:
        return f"<Vocabulary of {self.n_vocab:,} ids, order {self.order!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, tuple(getattr(self, name) for name in FIELDS)

    @lazy
    def special_tokens(self) -> dict[str, int]:
        """The control tokens: text -> id."""
        return {token.content: token.id for token in self.added_tokens if token.special}

    @lazy
    def n_vocab(self) -> int:
        """The highest id that encoding may return, plus one: the number of rows of an embedding table."""
        sizes = memoryview(self.packed[1]).cast("I")
        last = len(sizes) - 1
        while last >= 0 and (sizes[last] == NO_TOKEN or last in self.removed):
            last -= 1
        return max([last, *self.decoded_bytes, -1 if self.unknown is None else self.unknown]) + 1

    # Tokens and events are passed as Python objects or packed in flat memory. The other form is computed on first use.

    @lazy
    def tokens(self) -> tuple[bytes | None, ...]:
        return unpack_tokens(*self.packed)

    @lazy
    def packed(self) -> tuple[bytes, bytes]:
        """The bytes of all tokens, and their sizes, as `pack_tokens` returns them."""
        return pack_tokens(self.tokens)

    @lazy
    def events(self) -> np.ndarray:
        import numpy as np

        return np.frombuffer(self.event_numbers, np.int32).reshape(-1, 3)

    @lazy
    def event_numbers(self) -> Any:
        """The numbers of all events in a row, as a buffer of int32."""
        return self.events.reshape(-1)

    @lazy
    def superwords(self) -> np.ndarray:
        return self.events[:0]

    @lazy
    def event_counts(self) -> np.ndarray:
        import numpy as np

        counts = self.__dict__.get("_unchecked_counts", ())
        counts = counts(self) if callable(counts) else counts
        fit = len(counts) == len(self.event_numbers) // 3  # those of other events are dropped
        rows = np.array(counts if fit else (), np.uint64).reshape(-1, 2)
        rows.flags.writeable = False
        return rows

    @lazy
    def decoded_bytes(self) -> dict[int, bytes]:
        """The decoded bytes of added tokens and of `decode_only`, by id.

        An added token that is a byte token, <0x0A>, stands for that byte.
        """
        bytes_of, mark = {id: bytes([byte]) for byte, id in enumerate(self.byte_tokens)}, self.normalization.space_mark
        added = {t.id: bytes_of.get(t.id, t.content.replace(mark or " ", " ").encode()) for t in self.added_tokens}
        return dict(self.decode_only) | added

    @suggests_options
    def token_bytes(self, id: int) -> bytes | None:
        """Return the bytes of `id`, added tokens included, or None for an unused id."""
        if id in self.decoded_bytes:
            return self.decoded_bytes[id]
        return self.tokens[id] if 0 <= id < len(self.tokens) else None

    @property
    def has_superwords(self) -> bool:
        return len(self.__dict__.get("superwords", ())) > 0

    def joined_bytes(self) -> bytes | None:
        """Return a bit for each pair of bytes left << 8 | right, 8,192 bytes: 1 if a superword joins two pretokens at that pair.

        None without superwords.
        """
        if not self.has_superwords:
            return None
        import numpy as np

        pairs = {((self.tokens[a] or b"")[-1], (self.tokens[b] or b"")[0]) for a, b, _ in self.superwords.tolist()}
        bits = np.zeros(1 << 16, bool)
        bits[[left << 8 | right for left, right in pairs]] = True
        return np.packbits(bits, bitorder="little").tobytes()

    def event_list(self) -> list[Event]:
        """Return the events as tuples, ("merge", left, right, new) and ("remove", id); empty for the order "ranks"."""
        return [("remove", a) if b < 0 else ("merge", a, b, c) for a, b, c in self.events.tolist()]

    def fingerprint(self) -> str:
        """Return the SHA-256 of everything that determines the ids of a text and the text of an id, as hex digits.

        Spellings of a split pattern with the same syntax tree have the same hash.
        """
        return self._fingerprint

    @lazy
    def _fingerprint(self) -> str:
        import hashlib  # OpenSSL's library takes 3 MiB, and counting has no use for it
        import json

        from ..split.spelling import canonical  # late: encoding needs no fingerprint

        blob, sizes = self.packed
        n = len(sizes) // 4
        while n and sizes[4 * n - 4 : 4 * n] == b"\xff\xff\xff\xff":  # NO_TOKEN: unused ids at the end mean nothing
            n -= 1
        names = ("order", "whole_pretokens", "alphabet", "unknown", "byte_tokens", "fuse_unknown")
        flags = attrgetter("id", "content", "special", "lstrip", "rstrip", "single_word", "normalized")
        head = {name: getattr(self, name) for name in names} | self.normalization._asdict()
        head |= {
            "split_patterns": [canonical(pattern) for pattern in self.split_patterns],
            "added_tokens": sorted(map(flags, self.added_tokens)),
            "decode_only": [(id, token.hex()) for id, token in sorted(self.decode_only)],
            "tokens": n,
        }
        if self.dropped:
            head["dropped"] = sorted(self.dropped)
        if self.byte_patterns:
            head["byte_patterns"] = [canonical(pattern) for pattern in self.byte_patterns]
        if self.library is not None:
            head["library"] = hashlib.sha256(self.library.data).hexdigest()
        digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
        digest.update(sizes[: 4 * n])
        digest.update(blob)
        digest.update(self.event_numbers)
        if self.has_superwords:
            digest.update(self.superwords.tobytes())
        return digest.hexdigest()


FIELDS = tuple(name for name in Vocabulary.__init__.__annotations__ if name != "return")
_DEFAULTS = dict(zip(FIELDS[2:], Vocabulary.__init__.__defaults__ or (), strict=True))
_SETTINGS = frozenset(FIELDS) - {"tokens", "order", "events", "superwords"}
del _DEFAULTS["events"], _DEFAULTS["superwords"]


def packed_vocabulary(packed: tuple[bytes, bytes], events: bytes = b"", **settings: Any) -> Vocabulary:
    """Return the vocabulary of tokens and merges that were checked before. The other fields, by name, are checked.

    packed: the bytes of all tokens and their sizes, as `pack_tokens` returns them. events: the merges as int32 numbers.
    """
    vocabulary = object.__new__(Vocabulary)
    vocabulary._set(_DEFAULTS | settings | {"packed": packed, "event_numbers": memoryview(events).cast("i")})
    return vocabulary
