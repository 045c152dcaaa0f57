"""`TransformersTokenizer`: a Tokenizer as a PreTrainedTokenizerFast of transformers.

The base class has transformers' interface: arguments, special tokens, chat templates, saving. This one encodes and decodes
with tokenmill's kernels. A whole batch is one array of ids and a table of segments, which NumPy joins: a row is what the
template makes of a text, and a segment is a text (perhaps cut), a control token, or padding.

The base class does the rest with `_tokenizer`, an object of the Rust library tokenizers. It is made on first use, for the words
of tokens (`word_ids`), pairs of texts with overflow, and code that asks for `backend_tokenizer`.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from shutil import copyfile
from typing import Any, NamedTuple

import numpy as np
from tokenizers import AddedToken as RustAddedToken
from transformers import BatchEncoding, PreTrainedTokenizerBase, PreTrainedTokenizerFast
from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils import PaddingStrategy

from ..errors import UnknownTokenError
from ..formats.huggingface import parse_tokenizer_json
from ..formats.merges_txt import roles_of
from ..vocabulary import AddedToken, Template, Vocabulary
from ..vocabulary.lazy import lazy
from .batches import encode_flat
from .core import repair
from .tokenizer import Tokenizer

_FLAGS = AddedToken._fields[2:]
_ON_FIRST_USE = ("_tokenizer", "_texts_of_tokens", "_ids_of_texts", "_spaces")  # made of the vocabulary


class Texts(NamedTuple):
    """The encoded texts of a batch: first the texts 0 of all rows, then the texts 1 where they are pairs.

    spans: for each id, where it begins and ends in its text, in characters; None if nobody asks for it.
    starts, lengths: where the ids of each text are, of shape (1 or 2, rows).
    """

    ids: np.ndarray
    spans: np.ndarray | None
    starts: np.ndarray
    lengths: np.ndarray


class LazyEncoding(BatchEncoding):
    """A BatchEncoding whose `encodings` are made on first use, by encoding again with the Rust library.

    encode: does that.
    """

    def __init__(self, data: dict[str, Any], encode: Callable[[], Any] | None = None, **options: Any):
        self._encode, self._made = encode, None
        super().__init__(data, **options)

    @property
    def _encodings(self) -> Any:
        if self._made is None and self._encode is not None:
            self._made = self._encode().encodings
        return self._made

    @_encodings.setter
    def _encodings(self, encodings: Any) -> None:
        self._made = encodings

    is_fast = True

    def __getstate__(self) -> dict[str, Any]:
        return {"data": self.data, "encodings": self._made}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._encode = None
        super().__setstate__(state)


class ChatEncoding(LazyEncoding):
    """Encoded chats, and the spans of text that the assistant wrote, for the loss mask.

    The base class asks `char_to_token` for the first and the last character of each span, row by row. Its own mask takes all
    tokens to the end of a row for the assistant's if the answer is token 0 or none. So the questions are kept, and
    `assistant_masks` has the tokens that share a character with a span, wherever the row is truncated.

    spans: for each row, the first character of each token and the one after its last; 0 and 0 for control tokens and padding.
    """

    spans: list[np.ndarray]

    def char_to_token(self, row: int, character: int | None = None, sequence_index: int = 0) -> int:
        self.__dict__.setdefault("_asked", []).append((row, character))
        return 0

    def assistant_masks(self) -> list[list[int]]:
        masks = [np.zeros(len(spans), np.int64) for spans in self.spans]
        asked = self.__dict__.get("_asked", [])
        for (row, first), (_, last) in zip(asked[::2], asked[1::2], strict=True):
            starts, ends = self.spans[row].T
            masks[row] |= (starts <= last) & (ends > first) & (starts < ends)
        return [mask.tolist() for mask in masks]


class TransformersTokenizer(PreTrainedTokenizerFast):
    """A Tokenizer with the methods of transformers. Special tokens in texts are found, as in transformers.

    mill: the Tokenizer.
    settings: those of transformers' class. By default, they are those of the file.

    >>> tok.as_transformers()("low lower").input_ids
    [310, 402]
    """

    slow_tokenizer_class = None

    def __init__(self, mill: Tokenizer | None = None, *, tokenizer_object: Any = None, **settings: Any):
        if mill is None:
            mill = _tokenizer_of_rust(tokenizer_object)
        self.mill = mill
        vocabulary = mill.vocabulary
        config = {key: value for key, value in vocabulary.config.items() if not key.endswith("_token")}
        settings = {**config, **roles_of(vocabulary), **settings}
        if not {"extra_special_tokens", "additional_special_tokens", "name_or_path"} & settings.keys():
            named = [str(settings.get(role)) for role in self.SPECIAL_TOKENS_ATTRIBUTES]
            settings["extra_special_tokens"] = [text for text in vocabulary.special_tokens if text not in named]
        for name in ("tokenizer_file", "vocab_file", "merges_file", "post_processor", "vocab", "merges"):
            settings.pop(name, None)
        added: dict[int, RustAddedToken] = settings.pop("added_tokens_decoder", None) or {}
        self._add_bos_token = settings.get("add_bos_token", False)
        self._add_eos_token = settings.get("add_eos_token", False)
        PreTrainedTokenizerBase.__init__(self, **settings)
        self._should_update_post_processor = "add_bos_token" in settings or "add_eos_token" in settings
        roles = [token for token in self._special_tokens_map.values() if token is not None]
        self._add_tokens([token for _, token in sorted(added.items())])
        self._add_tokens([*roles, *self._extra_special_tokens], special_tokens=True)
        if self._should_update_post_processor:
            self.update_post_processor()

    @classmethod
    def convert_to_native_format(cls, trust_remote_code: bool = False, **settings: Any) -> dict[str, Any]:
        """What `from_pretrained` passes on: the Tokenizer of the file that it found."""
        path = settings.pop("tokenizer_file", None) or settings.pop("vocab_file", None)
        return {**settings, "mill": Tokenizer.from_file(path)}

    # The vocabulary

    def _change(self, vocabulary: Vocabulary) -> None:
        """Go on with another vocabulary."""
        self.mill = Tokenizer(vocabulary, name=self.mill.name, cache_bytes=self.mill.core.cache_bytes)
        for name in _ON_FIRST_USE:
            self.__dict__.pop(name, None)

    def _add_tokens(self, new_tokens: Iterable[Any], special_tokens: bool = False) -> int:
        vocabulary = self.mill.vocabulary
        added = {token.content: token for token in vocabulary.added_tokens}
        known, next_id = len(added), vocabulary.n_vocab
        for token in new_tokens:
            if isinstance(token, str):
                token = RustAddedToken(token, special=special_tokens, normalized=not special_tokens)
            if token.content in added or not token.content:
                continue
            id = self._ids_of_texts.get(token.content, next_id)
            next_id = max(next_id, id + 1)
            flags = {name: getattr(token, name) for name in _FLAGS}
            added[token.content] = AddedToken(token.content, id, **{**flags, "special": token.special or special_tokens})
        new = list(added.values())[known:]
        if new and vocabulary.library is None:
            self._change(vocabulary.with_settings(added_tokens=(*added.values(),)))
        elif new:
            rust = self.mill.to_hf()
            rust.add_tokens([RustAddedToken(token.content, **{f: getattr(token, f) for f in _FLAGS}) for token in new])
            self._change(_tokenizer_of_rust(rust).vocabulary)
        return len(new)

    def update_post_processor(self) -> None:
        """Make the template that `add_bos_token` and `add_eos_token` ask for."""
        bos = ((self.bos_token, 0),) if self.add_bos_token and self.bos_token else ()
        eos = ((self.eos_token, 0),) if self.add_eos_token and self.eos_token else ()
        self._add_bos_token, self._add_eos_token = bool(bos), bool(eos)
        single = (*bos, (0, 0), *eos)
        pair = (*single, *((token, 1) for token, _ in bos), (1, 1), *((token, 1) for token, _ in eos))
        vocabulary = self.mill.vocabulary
        self._change(vocabulary.with_settings(template=Template(single, pair, vocabulary.template.trims)))

    @lazy
    def _tokenizer(self) -> Any:
        return self.mill.to_hf()

    @lazy
    def _texts_of_tokens(self) -> list[str | None]:
        """Each token by id as transformers spells it, with SentencePiece's mark for a space."""
        core, vocabulary = self.mill.core, self.mill.vocabulary
        texts = list(core.spelt)
        if vocabulary.alphabet == "characters" and vocabulary.library is None:
            mark = vocabulary.space_mark or " "
            texts = [text and text.replace(" ", mark) for text in texts]
            for byte, id in enumerate(vocabulary.byte_tokens):
                if id is not None:
                    texts[id] = f"<0x{byte:02X}>"
            for token in vocabulary.added_tokens:
                texts[token.id] = token.content
        return texts

    @lazy
    def _ids_of_texts(self) -> dict[str, int]:
        return {text: id for id, text in reversed([*enumerate(self._texts_of_tokens)]) if text is not None}

    @property
    def vocab_size(self) -> int:
        """The number of tokens before the added ones that have the last ids."""
        added, size = {token.id for token in self.mill.vocabulary.added_tokens}, self.mill.n_vocab
        while size - 1 in added:
            size -= 1
        return size

    def __len__(self) -> int:
        return len(self._ids_of_texts)

    def get_vocab(self) -> dict[str, int]:
        return dict(self._ids_of_texts)

    @property
    def added_tokens_decoder(self) -> dict[int, Any]:
        tokens = sorted(self.mill.vocabulary.added_tokens, key=lambda token: token.id)
        return {t.id: RustAddedToken(t.content, **{flag: getattr(t, flag) for flag in _FLAGS}) for t in tokens}

    def _convert_token_to_id_with_added_voc(self, token: str) -> int | None:
        id = self._ids_of_texts.get(token)
        return self.unk_token_id if id is None and token != self._special_tokens_map["unk_token"] else id

    def _convert_id_to_token(self, index: int) -> str | None:
        return self._texts_of_tokens[index] if 0 <= index < self.mill.n_vocab else None

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        if isinstance(ids, int):
            return self._convert_id_to_token(ids)
        skipped = frozenset(self.all_special_ids) if skip_special_tokens else frozenset()
        return [self._convert_id_to_token(id) for id in map(int, ids) if id not in skipped]

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        return sum(isinstance(item, str) for item, _ in self._items(pair, True))

    def _items(self, pair: bool, add_special_tokens: bool) -> tuple[tuple[str | int, int], ...]:
        """The items that a row consists of."""
        template = self.mill.vocabulary.template.of_tokens(self._ids_of_texts) if add_special_tokens else Template()
        return template.pair if pair else template.single

    # Encoding

    def _encode_plus(
        self,
        text: Any,
        text_pair: Any = None,
        add_special_tokens: bool = True,
        padding_strategy: PaddingStrategy = PaddingStrategy.DO_NOT_PAD,
        truncation_strategy: TruncationStrategy = TruncationStrategy.DO_NOT_TRUNCATE,
        max_length: int | None = None,
        stride: int = 0,
        is_split_into_words: bool = False,
        pad_to_multiple_of: int | None = None,
        padding_side: str | None = None,
        return_tensors: Any = None,
        return_token_type_ids: bool | None = None,
        return_attention_mask: bool | None = None,
        return_overflowing_tokens: bool = False,
        return_special_tokens_mask: bool = False,
        return_offsets_mapping: bool = False,
        return_length: bool = False,
        verbose: bool = True,
        split_special_tokens: bool | None = None,
        of_chat: bool = False,
        **more: Any,
    ) -> BatchEncoding:
        arguments = {name: value for name, value in locals().items() if name not in ("self", "more", "of_chat")}

        def by_rust() -> BatchEncoding:
            options = {**arguments, **more, "return_tensors": None}
            return PreTrainedTokenizerFast._encode_plus(self, **options)

        batch, is_batch = _rows_of(text, text_pair, is_split_into_words)
        n_texts = {len(row) for row in batch}
        pair = n_texts == {2}
        truncates = truncation_strategy != TruncationStrategy.DO_NOT_TRUNCATE and max_length is not None
        if len(n_texts) > 1 or (pair and truncates and return_overflowing_tokens) or more.get("sanitize_control_tokens"):
            return PreTrainedTokenizerFast._encode_plus(self, **arguments, **more)

        split_special_tokens = self.split_special_tokens if split_special_tokens is None else split_special_tokens
        sentences = [row[n] for n in range(2 if pair else 1) for row in batch]
        texts = self._encode_texts(sentences, is_split_into_words, split_special_tokens, return_offsets_mapping or of_chat)
        texts = texts._replace(starts=texts.starts.reshape(-1, len(batch)), lengths=texts.lengths.reshape(-1, len(batch)))
        items = self._items(pair, add_special_tokens)
        sample = np.arange(len(batch))
        if truncates:
            room = max(0, max_length - sum(isinstance(item, str) for item, _ in items))  # type: ignore[operator]
            texts, sample = self._truncated(texts, room, truncation_strategy, stride, return_overflowing_tokens)

        n = len(sample)
        padding = padding_strategy != PaddingStrategy.DO_NOT_PAD
        # A row is the items, then the padding. Segments are counted and placed in the ids, then the control tokens, then a pad.
        lengths = np.ones((n, len(items) + 1), np.int64)
        starts = np.empty_like(lengths)
        control = [self._ids_of_texts[item] for item, _ in items if isinstance(item, str)]
        next_control = len(texts.ids)
        for column, (item, _) in enumerate(items):
            if isinstance(item, str):
                starts[:, column] = next_control
                next_control += 1
            else:
                starts[:, column], lengths[:, column] = texts.starts[item], texts.lengths[item]
        content = lengths[:, :-1].sum(1)
        width = max_length or 0 if padding_strategy == PaddingStrategy.MAX_LENGTH else int(content.max(initial=0))
        width += -width % (pad_to_multiple_of or 1)
        starts[:, -1], lengths[:, -1] = next_control, np.maximum(width - content, 0) if padding else 0
        columns = np.arange(len(items) + 1)
        if (padding_side or self.padding_side) == "left":
            columns = np.roll(columns, 1)
        segments = lengths[:, columns].ravel()
        ends = segments.cumsum()
        column = np.repeat(np.tile(columns.astype(np.int8), n), segments)
        places = np.arange(int(segments.sum())) + np.repeat(starts[:, columns].ravel() - (ends - segments), segments)
        places[column == len(items)] = next_control

        kinds = [*(isinstance(item, str) for item, _ in items), True]
        types = [*(type_id for _, type_id in items), self.pad_token_type_id]
        pad = self.pad_token_id if padding else 0
        row_ends = [0, *lengths.sum(1).cumsum().tolist()]
        regular = n > 0 and row_ends == [*range(0, row_ends[-1] + 1, max(1, row_ends[1]))][: n + 1]

        def rows_of(values: np.ndarray) -> Any:
            if regular:
                rows = values.reshape(n, row_ends[1], *values.shape[1:])
                return rows if return_tensors is not None else rows.tolist()
            values = values.tolist()
            return [values[start:end] for start, end in pairwise(row_ends)]

        ids = np.concatenate([texts.ids, control, [pad or 0]]).astype(np.int64)
        data: dict[str, Any] = {"input_ids": rows_of(ids[places])}
        if "token_type_ids" in self.model_input_names if return_token_type_ids is None else return_token_type_ids:
            data["token_type_ids"] = rows_of(np.array(types, np.int64)[column])
        if "attention_mask" in self.model_input_names if return_attention_mask is None else return_attention_mask:
            data["attention_mask"] = rows_of((column < len(items)).astype(np.int64))
        if return_special_tokens_mask:
            data["special_tokens_mask"] = rows_of(np.array(kinds, np.int64)[column])
        if texts.spans is not None:
            spans = np.concatenate([texts.spans, np.zeros((next_control + 1 - len(texts.ids), 2), np.int64)])
        if return_offsets_mapping:
            shown = rows_of(self._trimmed(spans, ids)[places])
            data["offset_mapping"] = [[*map(tuple, row)] for row in shown] if isinstance(shown, list) else shown
        if return_length:
            data["length"] = [end - start for start, end in pairwise(row_ends)]
        if return_overflowing_tokens:
            data["overflow_to_sample_mapping"] = sample.tolist()
        self._eventual_warn_about_too_long_sequence(range(int(lengths.sum(1).max(initial=0))), max_length, verbose)
        if not is_batch and return_tensors is None and not return_overflowing_tokens:
            data = {key: value[0] if isinstance(value[0], list) else value for key, value in data.items()}
        if not of_chat:
            return LazyEncoding(data, by_rust, tensor_type=return_tensors, n_sequences=2 if pair else 1)
        chat = ChatEncoding(data, by_rust, tensor_type=return_tensors, n_sequences=1)
        chat.spans = [spans[places[start:end]] for start, end in pairwise(row_ends)]
        return chat

    def _encode_texts(self, sentences: list[Any], are_words: bool, split_special_tokens: bool, spans: bool) -> Texts:
        """Encode texts, or lists of words, with their offsets if `spans`."""
        core = self.mill.core
        plan = core.plan((), ()) if split_special_tokens else core.plan("all", ())
        flat = [word for words in sentences for word in words] if are_words else sentences
        for each in flat:
            if not isinstance(each, str):
                raise TypeError(f"a text is {each!r:.80}, of type {type(each).__name__}; expected str")
        if spans:
            encoded = [core.encode_with_offsets(repair(text), plan) for text in flat]
            bounds = np.cumsum([0, *(len(each.ids) for each in encoded)])
            ids = np.array([id for each in encoded for id in each.ids], np.int64)
            all_spans = np.concatenate([np.empty((0, 2), np.int64), *(each.characters for each in encoded)])
        else:
            ids, bounds = encode_flat(core, flat, plan, None)
        if are_words:
            bounds = bounds[np.cumsum([0, *map(len, sentences)])]
        return Texts(ids, all_spans if spans else None, bounds[:-1], np.diff(bounds))

    def _truncated(
        self, texts: Texts, room: int, strategy: TruncationStrategy, stride: int, overflow: bool
    ) -> tuple[Texts, np.ndarray]:
        """The texts cut so that those of a row have at most `room` ids, and the row of the batch that each row is of.

        overflow: what is cut off becomes further rows, which begin with `stride` ids of the row before.
        """
        starts, lengths = texts.starts, texts.lengths
        from_left = self.truncation_side == "left"
        sample = np.arange(lengths.shape[1])
        if not overflow:
            kept = _kept_lengths(lengths, room, strategy)
            starts = starts + (lengths - kept) * from_left
            return texts._replace(starts=starts, lengths=kept), sample
        if strategy == TruncationStrategy.ONLY_SECOND:
            raise ValueError("truncation is only_second, and there is no second text")
        if (lengths <= room).all():
            return texts, sample
        if stride >= room:
            raise ValueError(f"stride is {stride}; it must be less than {room}, which max_length leaves for the text")
        extra = np.maximum(lengths[0] - room, 0)
        counts = 1 - (-extra // (room - stride))
        sample = np.repeat(sample, counts)
        whole = lengths[0][sample]
        first = (np.arange(len(sample)) - np.repeat(counts.cumsum() - counts, counts)) * (room - stride)
        size = np.minimum(room, whole - first)
        begins = starts[0][sample] + (whole - first - size if from_left else first)
        return texts._replace(starts=begins[None], lengths=size[None]), sample

    @lazy
    def _spaces(self) -> np.ndarray:
        """How many spaces each token begins and ends with."""
        texts = [text or "" for text in self._texts_of_tokens]
        space = "Ġ \t\n\r" if self.mill.vocabulary.alphabet == "bytes" else " \t\n\r"
        counts = [(len(text) - len(text.lstrip(space)), len(text) - len(text.rstrip(space))) for text in texts]
        return np.array(counts, np.int64).reshape(-1, 2)

    def _trimmed(self, spans: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """The spans of text, without the spaces at their ends if the template says so."""
        trims = self.mill.vocabulary.template.trims
        if not trims:
            return spans
        start, end = spans.T
        before, after = self._spaces[ids].T
        if trims == "prefix":
            before = np.maximum(before - (start == 0), 0)
        start = np.minimum(start + before, end)
        return np.stack([start, np.where(end >= after, np.maximum(end - after, start), end)], 1)

    def tokenize(self, text: str, pair: str | None = None, add_special_tokens: bool = False, **options: Any) -> list[str]:
        return self.convert_ids_to_tokens(self.encode(text, pair, add_special_tokens=add_special_tokens, **options))

    def _encode_without_added_tokens(self, text: str) -> list[int]:
        return self.mill.encode_ordinary(text)

    def apply_chat_template(self, conversation: Any, *arguments: Any, **options: Any) -> Any:
        """As in transformers. The mask of the assistant's tokens is right for every span and every truncation."""
        if not options.get("return_assistant_tokens_mask"):
            return super().apply_chat_template(conversation, *arguments, **options)
        options["tokenizer_kwargs"] = {**(options.get("tokenizer_kwargs") or {}), "of_chat": True}
        chat = super().apply_chat_template(conversation, *arguments, **options)
        masks: Any = chat.assistant_masks()
        if options.get("return_tensors"):
            masks = BatchEncoding({"masks": masks}, tensor_type=options["return_tensors"])["masks"]
        chat["assistant_masks"] = masks if len(np.shape(chat["assistant_masks"])) != 1 else masks[0]
        return chat

    # Decoding

    def _decode(
        self,
        token_ids: int | Sequence[int],
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **more: Any,
    ) -> str:
        if isinstance(token_ids, dict):
            token_ids = token_ids["input_ids"]
        ids = [token_ids] if isinstance(token_ids, int) else list(token_ids)
        try:
            text = self.mill.decode(ids, skip_special_tokens=skip_special_tokens)
        except UnknownTokenError:  # left out, as in transformers
            ids = [id for id in ids if self._convert_id_to_token(id) is not None]
            text = self.mill.decode(ids, skip_special_tokens=skip_special_tokens)
        clean = self.clean_up_tokenization_spaces if clean_up_tokenization_spaces is None else clean_up_tokenization_spaces
        for_bpe = self.clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output
        library = self.mill.vocabulary.library
        if clean and (for_bpe or (library is not None and library.kind != "BPE")):
            text = self.clean_up_tokenization(text)
        return text

    # Saving

    def _save_pretrained(
        self,
        save_directory: Any,
        file_names: tuple[str, ...],
        legacy_format: bool | None = None,
        filename_prefix: str | None = None,
    ) -> tuple[str, ...]:
        """Write the files of the tokenizer next to those of the base class, for AutoTokenizer and for tokenmill."""
        config = json.loads(Path(file_names[0]).read_text())
        config["tokenizer_class"] = "PreTrainedTokenizerFast"
        Path(file_names[0]).write_text(json.dumps(config, ensure_ascii=False, indent=2) + "\n")
        prefix = f"{filename_prefix}-" if filename_prefix else ""
        with tempfile.TemporaryDirectory() as folder:
            self.mill.save(folder, overwrite=True)
            for path in sorted(Path(folder).iterdir()):
                if path.name != "tokenizer_config.json":
                    target = Path(save_directory) / f"{prefix}{path.name}"
                    copyfile(path, target)
                    file_names = (*file_names, str(target))
        return file_names

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _ON_FIRST_USE}


def _tokenizer_of_rust(rust: Any) -> Tokenizer:
    """The Tokenizer of an object of tokenizers."""
    return Tokenizer(parse_tokenizer_json(rust.to_str().encode(), "tokenizer_object"))


def _rows_of(text: Any, text_pair: Any, are_words: bool) -> tuple[list[tuple[Any, ...]], bool]:
    """The texts of each row, one or two, and whether a batch was given. A text may be a list of words."""
    for each in (text, text_pair):
        if not isinstance(each, str | list | tuple | None):
            raise ValueError(f"the text is {each!r:.80}, of type {type(each).__name__}; expected str or a list of str")
    sequence = (list, tuple)
    if not (isinstance(text, sequence) and (not are_words or (len(text) and isinstance(text[0], sequence)))):
        return [(text, text_pair) if text_pair else (text,)], False
    if isinstance(text_pair, str):
        raise TypeError("a batch of texts needs a list of as many second texts, and text_pair is one str")
    if text_pair is not None:
        if len(text) != len(text_pair):
            raise ValueError(f"there are {len(text)} texts and {len(text_pair)} second texts; give as many")
        return [*zip(text, text_pair, strict=True)], True
    is_pair = (lambda row: row and not isinstance(row[0], str)) if are_words else (lambda row: isinstance(row, sequence))
    return [tuple(row) if is_pair(row) else (row,) for row in text], True


def _kept_lengths(lengths: np.ndarray, room: int, strategy: TruncationStrategy) -> np.ndarray:
    """The lengths of the texts of each row once they have together at most `room` ids."""
    extra = np.maximum(lengths.sum(0) - room, 0)
    if strategy != TruncationStrategy.LONGEST_FIRST:
        target = int(strategy == TruncationStrategy.ONLY_SECOND)
        if not extra.any():
            return lengths
        if target >= len(lengths):
            raise ValueError("truncation is only_second, and there is no second text")
        kept = lengths.copy()
        kept[target] -= extra
        if (kept[target] < 0).any() or ((kept[target] == 0) & (extra > 0) & (len(lengths) > 1)).any():
            raise ValueError(f"truncation is {strategy.value}, and that text is shorter than what is to be cut")
        return kept
    if len(lengths) == 1:
        return lengths - extra
    short, long = np.sort(lengths, axis=0)
    long = np.where(short > room, short, np.maximum(short, room - short))
    half = short + long > room
    short, long = np.where(half, room // 2, short), np.where(half, room // 2 + room % 2, long)
    swapped = lengths[0] > lengths[1]
    kept = np.where(swapped, [long, short], [short, long])
    return np.where(extra > 0, kept, lengths)
