"""`TransformersTokenizer`: a tokenizer as a PreTrainedTokenizerFast of transformers.

The base class has transformers' interface: arguments, special tokens, chat templates, saving. This one encodes and decodes
with tokenmill's kernels, a batch at a time; rows.py builds the rows.

For the words of tokens (`word_ids`), pairs of texts, and code that uses `backend_tokenizer`, the base class uses `_tokenizer`, an
object of the Rust library tokenizers, which is built on first use.
"""

from __future__ import annotations

import inspect
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from shutil import copyfile
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
from tokenizers import AddedToken as RustAddedToken
from tokenizers.processors import ByteLevel
from transformers import BatchEncoding, PreTrainedTokenizerBase, PreTrainedTokenizerFast
from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils import PaddingStrategy, TensorType

from ..errors import FAILURES, ConversionError, TokenmillError, UnknownTokenError, UsageError, refuse_wrong_types
from ..formats import read, to_hf, write
from ..formats.huggingface import parse_tokenizer_json
from ..formats.merges_txt import roles_of
from ..vocabulary import AddedToken, Template, Vocabulary
from ..vocabulary.lazy import lazy
from .batches import encode_flat
from .core import Core
from .cores import core_of
from .offsets import encode_with_offsets
from .rows import Rows, Texts
from .special import Plan

_FLAGS = AddedToken._fields[2:]
_PARAMETERS = inspect.signature(PreTrainedTokenizerFast._encode_plus).parameters
_OPTIONS = {name: option.default for name, option in _PARAMETERS.items() if option.default is not option.empty}

# The types of settings. Other settings are stored, for code that looks for them.
_TOKEN = str | RustAddedToken | None
_SIDE = Literal["left", "right"]
_SETTINGS: dict[str, Any] = {
    **dict.fromkeys(PreTrainedTokenizerFast.SPECIAL_TOKENS_ATTRIBUTES, _TOKEN),
    "padding_side": _SIDE,
    "truncation_side": _SIDE,
    "model_max_length": float | None,
    "chat_template": str | Mapping[str, str] | None,
    "extra_special_tokens": Sequence[_TOKEN] | Mapping[str, _TOKEN] | None,
    "model_input_names": Sequence[str],
    "clean_up_tokenization_spaces": bool | None,
    "split_special_tokens": bool,
    "add_bos_token": bool | None,
    "add_eos_token": bool | None,
}


def with_settings(core: Core, settings: dict[str, Any]) -> TransformersTokenizer:
    """Return the tokenizer of a core. Raises UsageError for settings that transformers does not accept."""
    refuse_wrong_types(settings, _SETTINGS, {})
    for name in settings.keys() - _SETTINGS.keys():
        if similar := get_close_matches(name, _SETTINGS, 1, 0.9):  # not bos_token for eot_token
            raise UsageError(f"as_transformers() has no option {name!r}. Did you mean {similar[0]!r}?")
    try:
        return TransformersTokenizer(core, **settings)
    except TokenmillError:
        raise
    except FAILURES as error:
        names = ", ".join(settings)
        raise UsageError(
            f"transformers does not accept the settings {names}: {error}. See PreTrainedTokenizerFast."
        ) from error


class TransformersTokenizer(PreTrainedTokenizerFast):
    """A tokenizer with the methods of transformers. Special tokens in texts are matched, as in transformers.

    core: encodes and decodes.
    settings: arguments of transformers' class. By default, they are those of the file.

    >>> tok.as_transformers()("low lower").input_ids
    [310, 402]
    """

    slow_tokenizer_class = None

    def __init__(self, *core: Core, **settings: Any):
        rust, path = settings.pop("tokenizer_object", None), settings.pop("tokenizer_file", None)
        if not core:
            vocabulary = _vocabulary_of(rust) if rust is not None else read(path or settings["vocab_file"])
            core = (core_of(vocabulary),)
        self.core, self._built = core[0], _Built(core[0])
        vocabulary = self.vocabulary
        arguments = settings.keys()
        settings = {**vocabulary.config, **roles_of(vocabulary), **settings}
        if not {"extra_special_tokens", "additional_special_tokens", "name_or_path"} & settings.keys():
            named = [str(settings.get(role)) for role in self.SPECIAL_TOKENS_ATTRIBUTES]
            settings["extra_special_tokens"] = [text for text in vocabulary.special_tokens if text not in named]
        for name in ("vocab_file", "merges_file", "post_processor", "vocab", "merges"):
            settings.pop(name, None)
        added: dict[int, RustAddedToken] = settings.pop("added_tokens_decoder", None) or {}
        self._add_bos_token = settings.get("add_bos_token", False)
        self._add_eos_token = settings.get("add_eos_token", False)
        PreTrainedTokenizerBase.__init__(self, **{"backend": "tokenizers", **settings})
        self.add_prefix_space = settings.get("add_prefix_space", False)
        self._should_update_post_processor = "add_bos_token" in settings or "add_eos_token" in settings
        roles = {role: token for role, token in self._special_tokens_map.items() if token is not None}
        self._add_tokens([token for _, token in sorted(added.items())])
        known = {token.content: token for token in self.vocabulary.added_tokens}
        new = [token for token in (*roles.values(), *self._extra_special_tokens) if str(token) not in known]
        # As in transformers, a role in the files makes a token special.
        from_files = [str(token) for role, token in roles.items() if added or role not in arguments]
        self._add_tokens(
            [*(_rust_token(known[text]) for text in from_files if text in known), *new], special_tokens=True
        )
        if self._should_update_post_processor:
            self.update_post_processor()

    @classmethod
    def convert_to_native_format(cls, trust_remote_code: bool = False, **settings: Any) -> dict[str, Any]:
        """Return the arguments that `from_pretrained` passes on: all of them."""
        return settings

    # The vocabulary

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary, with the tokens that were added here."""
        return self.core.vocabulary

    def _change(self, vocabulary: Vocabulary) -> None:
        """Replace the vocabulary."""
        self.core = core_of(vocabulary, self.core.cache_bytes)
        self._built = _Built(self.core)

    def _add_tokens(self, new_tokens: Iterable[Any], special_tokens: bool = False) -> int:
        vocabulary = self.vocabulary
        added = {token.content: token for token in vocabulary.added_tokens}
        new, next_id = {}, vocabulary.n_vocab
        for token in new_tokens:
            if isinstance(token, str):
                token = RustAddedToken(token, special=special_tokens, normalized=not special_tokens)
            known, special = added.get(token.content), token.special or special_tokens
            if not token.content or (known and known.special >= special):
                continue
            id = self.core.ids_by_spelling.get(token.content, next_id)
            next_id = max(next_id, id + 1)
            flags = {name: getattr(token, name) for name in _FLAGS} | {"special": special}
            added[token.content] = new[token.content] = AddedToken(token.content, id, **flags)
        if new and vocabulary.library is None:
            self._change(vocabulary.replace(added_tokens=(*added.values(),)))
        elif new:
            rust = to_hf(vocabulary)
            rust.add_tokens([_rust_token(token) for token in new.values()])
            self._change(_vocabulary_of(rust))
        return len(new)

    def update_post_processor(self) -> None:
        """Set the template for `add_bos_token` and `add_eos_token`."""
        bos = (self.bos_token,) if self.add_bos_token and self.bos_token else ()
        eos = (self.eos_token,) if self.add_eos_token and self.eos_token else ()
        self._add_bos_token, self._add_eos_token = bool(bos), bool(eos)
        vocabulary = self.vocabulary
        self._change(vocabulary.replace(template=Template.around(bos, eos, vocabulary.template.trims)))

    @property
    def _tokenizer(self) -> Any:
        return self._built.rust

    @_tokenizer.setter
    def _tokenizer(self, rust: Any) -> None:
        self._change(_vocabulary_of(rust))

    @property
    def vocab_size(self) -> int:
        """The number of tokens before the added ones that have the last ids."""
        added, size = {token.id for token in self.vocabulary.added_tokens}, self.vocabulary.n_vocab
        while size - 1 in added:
            size -= 1
        return size

    def __len__(self) -> int:
        return len(self.core.ids_by_spelling)

    def get_vocab(self) -> dict[str, int]:
        return dict(self.core.ids_by_spelling)

    @property
    def added_tokens_decoder(self) -> dict[int, Any]:
        tokens = sorted(self.vocabulary.added_tokens, key=lambda token: token.id)
        return {token.id: _rust_token(token) for token in tokens}

    def _convert_token_to_id_with_added_voc(self, token: str) -> Any:
        id = self.core.ids_by_spelling.get(token)
        return self.unk_token_id if id is None and token != self._special_tokens_map["unk_token"] else id

    def _convert_id_to_token(self, index: int) -> str | None:
        return self.core.spellings[index] if 0 <= index < self.vocabulary.n_vocab else None

    def convert_ids_to_tokens(self, ids: Any, skip_special_tokens: bool = False) -> Any:
        if isinstance(ids, int):
            return self._convert_id_to_token(ids)
        skipped = frozenset(self.all_special_ids) if skip_special_tokens else frozenset()
        return [self._convert_id_to_token(id) for id in map(int, ids) if id not in skipped]

    def num_special_tokens_to_add(self, pair: bool = False) -> int:
        return sum(isinstance(item, str) for item, _ in self._items(pair, True))

    def _items(self, pair: bool, add_special_tokens: bool) -> tuple[tuple[str | int, int], ...]:
        """The items of a row."""
        template = self.vocabulary.template.of_tokens(self.core.ids_by_spelling if add_special_tokens else ())
        return template.pair if pair else template.single

    # Encoding

    def _encode_plus(  # type: ignore[override]
        self, text: Any, text_pair: Any = None, of_chat: bool = False, **arguments: Any
    ) -> BatchEncoding:
        """The method of transformers with all its options. of_chat: the encodings have the spans of a chat."""
        args = SimpleNamespace(**_OPTIONS | arguments)
        max_length = args.max_length or 0

        def by_rust() -> BatchEncoding:
            return PreTrainedTokenizerFast._encode_plus(self, text, text_pair, **arguments | {"return_tensors": None})

        batch, is_batch = _batch_of(text, text_pair, args.is_split_into_words)
        only_second = args.truncation_strategy == TruncationStrategy.ONLY_SECOND
        sides = {args.padding_side or self.padding_side, self.truncation_side}
        if not sides <= {"left", "right"} or min(max_length, args.stride) < 0:
            raise UsageError(
                f"max_length {args.max_length}, stride {args.stride}, sides {sorted(sides)}: numbers are 0 or more, sides left or right"
            )
        if batch is None or only_second or arguments.get("sanitize_control_tokens"):
            return PreTrainedTokenizerFast._encode_plus(self, text, text_pair, **arguments)

        split_special = self.split_special_tokens if args.split_special_tokens is None else args.split_special_tokens
        plan = self.core.plan(() if split_special else "all", ())
        truncates = args.truncation_strategy != TruncationStrategy.DO_NOT_TRUNCATE and args.max_length is not None
        offsets, from_left = args.return_offsets_mapping, self.truncation_side == "left"
        pads = args.padding_strategy != PaddingStrategy.DO_NOT_PAD
        names = self.model_input_names
        with_types = "token_type_ids" in names if args.return_token_type_ids is None else args.return_token_type_ids
        with_mask = "attention_mask" in names if args.return_attention_mask is None else args.return_attention_mask
        others = args.return_special_tokens_mask, args.return_length, args.return_overflowing_tokens
        if isinstance(text, str) and not (pads or with_types or offsets or of_chat or any(others)):
            before, after = self.core.affixes if args.add_special_tokens else ([], [])
            ids = self.core.encode(text, plan)
            if truncates and len(ids) > (room := max(0, max_length - len(before + after))):
                ids = ids[len(ids) - room :] if from_left else ids[:room]
            ids = [*before, *ids, *after]
            self._eventual_warn_about_too_long_sequence(ids, args.max_length, args.verbose)
            data: dict[str, Any] = {"input_ids": ids} | ({"attention_mask": [1] * len(ids)} if with_mask else {})
            if args.return_tensors is not None:
                data = {name: [np.array(row, np.int64)] for name, row in data.items()}
            return LazyEncoding(data, by_rust, tensor_type=args.return_tensors, n_sequences=1)

        texts = self._encode_texts(batch, args.is_split_into_words, plan, offsets or of_chat)
        items = self._items(False, args.add_special_tokens)
        columns = [self.core.ids_by_spelling[item] if isinstance(item, str) else None for item, _ in items]
        sample = np.arange(len(batch))
        if truncates:
            room = max(0, max_length - sum(id is not None for id in columns))
            if args.return_overflowing_tokens:
                texts, sample = texts.windows(room, args.stride, from_left)
            else:
                texts = texts.cut(room, from_left)
        width = max_length if args.padding_strategy == PaddingStrategy.MAX_LENGTH else "longest" if pads else 0
        pad_left, pad_id = (args.padding_side or self.padding_side) == "left", self.pad_token_id if pads else 0
        rows = Rows(texts, columns, width, args.pad_to_multiple_of, pad_left, args.return_tensors is None)

        data = {"input_ids": rows.divided(rows.ids(pad_id), self._id_list)}
        if with_types:
            data["token_type_ids"] = rows.by_column([type_id for _, type_id in items], self.pad_token_type_id)
        if with_mask:
            data["attention_mask"] = rows.by_column([1] * len(columns), 0)
        if args.return_special_tokens_mask:
            data["special_tokens_mask"] = rows.by_column([int(id is not None) for id in columns], 1)
        if offsets:
            data["offset_mapping"] = rows.divided(
                self._trimmed(rows, pad_id), lambda spans: [*map(tuple, spans.tolist())]
            )
        # PyTorch converts a list of arrays directly, and flattens an array first.
        if args.return_tensors in ("pt", TensorType.PYTORCH):
            data = {name: [*value] for name, value in data.items()}
        if args.return_length:
            data["length"] = rows.lengths
        if args.return_overflowing_tokens:
            data["overflow_to_sample_mapping"] = sample.tolist()
        self._eventual_warn_about_too_long_sequence(range(max(rows.lengths, default=0)), args.max_length, args.verbose)  # type: ignore[arg-type]
        if not is_batch and args.return_tensors is None and not args.return_overflowing_tokens:
            data = {key: value[0] if isinstance(value[0], list) else value for key, value in data.items()}
        encoding = LazyEncoding(data, by_rust, tensor_type=args.return_tensors, n_sequences=1)
        if of_chat:
            spans = np.split(rows.spans(), rows.ends[1:-1])
            encoding._encodings = [SimpleNamespace(offsets=array.tolist()) for array in spans]
        return encoding

    def _encode_texts(self, sentences: list[Any], are_words: bool, plan: Plan, spans: bool) -> Texts:
        """Encode texts, or lists of words. spans: with the span of each id."""
        core = self.core
        flat = [word for words in sentences for word in words] if are_words else sentences
        if spans:
            encoded = [encode_with_offsets(core, text, plan) for text in flat]
            bounds = np.cumsum([0, *(len(offsets.ids) for offsets in encoded)])
            ids = np.array([id for offsets in encoded for id in offsets.ids], np.uint32)
            all_spans = np.concatenate([np.empty((0, 2), np.int64), *(offsets.characters for offsets in encoded)])
        else:
            ids, bounds = encode_flat(core, flat, plan, None)
        if are_words:
            bounds = bounds[np.cumsum([0, *map(len, sentences)])]
        return Texts(ids, all_spans if spans else None, bounds[:-1], np.diff(bounds))

    def _id_list(self, ids: np.ndarray) -> list[int]:
        """A list of ids. The kernel reuses the int objects."""
        kernel = self.core.kernel
        return ids.tolist() if kernel is None else kernel.id_list(ids.astype(np.uint32).view(np.uint8))

    def _trimmed(self, rows: Rows, pad_id: int) -> np.ndarray:
        """The spans of all rows, without the spaces at their ends if the template trims them."""
        trims, spans = self.vocabulary.template.trims, rows.spans()
        if not trims or self.vocabulary.library is not None:  # trimmed by the library
            return spans
        start, end = spans.T
        before, after = self._built.spaces[rows.ids(pad_id)].T
        if trims == "prefix":
            before = np.maximum(before - (start == 0), 0)
        start = np.minimum(start + before, end)
        return np.stack([start, np.where(end >= after, np.maximum(end - after, start), end)], 1)

    def tokenize(
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **options: Any
    ) -> list[str]:
        return self.convert_ids_to_tokens(self.encode(text, pair, add_special_tokens=add_special_tokens, **options))

    def _encode_without_added_tokens(self, text: str) -> list[int]:
        return self.core.encode(text, self.core.plan((), ()))

    def apply_chat_template(self, conversation: Any, *arguments: Any, **options: Any) -> Any:
        """See transformers' method."""
        if not options.get("return_assistant_tokens_mask"):
            return super().apply_chat_template(conversation, *arguments, **options)
        options["tokenizer_kwargs"] = {**(options.get("tokenizer_kwargs") or {}), "of_chat": True}
        chat: Any = super().apply_chat_template(conversation, *arguments, **options)
        del chat._encodings  # later uses get those of the Rust library
        return chat

    # Decoding

    def _decode(
        self,
        token_ids: Any,
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **more: Any,
    ) -> str:
        if isinstance(token_ids, dict):
            token_ids = token_ids["input_ids"]
        ids = [token_ids] if isinstance(token_ids, int) else list(token_ids)
        core = self.core
        if skip_special_tokens:
            ids = core.without_special(ids)
        try:
            text = core.decode(ids, "replace")
        except UnknownTokenError:  # left out, as in transformers
            text = core.decode([id for id in ids if self._convert_id_to_token(id) is not None], "replace")
        if clean_up_tokenization_spaces is None:
            clean_up_tokenization_spaces = self.clean_up_tokenization_spaces
        for_bpe = self.clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output
        library = self.vocabulary.library
        if clean_up_tokenization_spaces and (for_bpe or (library is not None and library.kind != "BPE")):
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
            write(self.vocabulary, folder, overwrite=True, tokenizer=_encoder_of)
            for path in sorted(Path(folder).iterdir()):
                if path.name != "tokenizer_config.json":
                    target = Path(save_directory) / f"{prefix}{path.name}"
                    copyfile(path, target)
                    file_names = (*file_names, str(target))
        return file_names


class _Built:
    """The parts of a TransformersTokenizer that are built on first use. Pickles and the hashes of datasets contain only the core."""

    def __init__(self, core: Core):
        self.core = core

    def __reduce__(self) -> tuple[Any, ...]:
        return _Built, (self.core,)

    @lazy
    def rust(self) -> Any:
        """The object of tokenizers. Raises ConversionError if none returns the same ids."""
        rust = to_hf(self.core.vocabulary)
        if rust.post_processor is None:
            rust.post_processor = ByteLevel(trim_offsets=False)  # changes nothing, and distinguishes text from padding
        return rust

    @lazy
    def spaces(self) -> np.ndarray:
        """The number of spaces that each token begins and ends with."""
        texts = [text or "" for text in self.core.spellings]
        space = "Ġ \t\n\r" if self.core.vocabulary.alphabet == "bytes" else " \t\n\r"
        counts = [(len(text) - len(text.lstrip(space)), len(text) - len(text.rstrip(space))) for text in texts]
        return np.array(counts, np.int64).reshape(-1, 2)


class LazyEncoding(BatchEncoding):
    """A BatchEncoding whose `encodings` are computed on first use, by `encode` with the Rust library."""

    is_fast = True

    def __init__(self, data: dict[str, Any], encode: Callable[[], Any], **options: Any):
        super().__init__(data, **options)
        self._encode = encode
        del self._encodings  # the base class has set it to None

    @lazy
    def _encodings(self) -> Any:
        return self._encode().encodings

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {"data": self.data, "encodings": None}
        with suppress(ConversionError):
            state["encodings"] = self._encodings
        return state


def _rust_token(token: AddedToken) -> Any:
    return RustAddedToken(token.content, **{flag: getattr(token, flag) for flag in _FLAGS})


def _vocabulary_of(rust: Any) -> Vocabulary:
    """The vocabulary of an object of tokenizers."""
    return parse_tokenizer_json(rust.to_str().encode(), "tokenizer_object")


def _encoder_of(vocabulary: Vocabulary) -> Any:
    """Return the object with which `formats.write` checks a file."""
    core = core_of(vocabulary, 0)
    return SimpleNamespace(encode=lambda text, **special: core.encode(text, core.plan(**special)))


def _batch_of(text: Any, text_pair: Any, are_words: bool) -> tuple[list[Any] | None, bool]:
    """Return the texts or lists of words, and whether they are a batch. None for pairs of texts, and for objects that are no texts."""
    sequence = (list, tuple)
    is_batch = isinstance(text, sequence) and (not are_words or (len(text) > 0 and isinstance(text[0], sequence)))
    batch = [*text] if is_batch else [text]
    fits = not text_pair and not isinstance(text_pair, sequence)
    if are_words:
        fits = fits and all(isinstance(words, sequence) for words in batch)
    texts = [word for words in batch for word in words] if fits and are_words else batch
    return batch if fits and all(isinstance(item, str) for item in texts) else None, is_batch
