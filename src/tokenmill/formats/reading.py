"""Read a vocabulary from any file or folder, told by content."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from ..errors import FormatError, InputError, OptionName, UsageError
from ..split import Splitter
from ..vocabulary import PATTERNS, Normalization, Vocabulary
from ..vocabulary.surgery import with_special_ids
from ..vocabulary.validation import VocabularyError
from ..vocabulary.vocabulary import packed_vocabulary
from . import companions, published_encodings
from .file_content import parse_json, read_beside, read_bytes, starts_object
from .finding import PAIRS, Found, find, inode_of

# The reader of each format is imported where a file has it, because most programs load one tokenizer.

FORMATS = ("huggingface", "tiktoken", "merges", "ddtok", "gguf", "sentencepiece")

# A vocabulary, and whether its file tells how text is split.
_Found = tuple[Vocabulary, bool]


def read(
    path: str | os.PathLike,
    split: str | None = None,
    *,
    special_tokens: Mapping[str, int] | None = None,
    download: bool = False,
) -> Vocabulary:
    """The vocabulary in a file or folder of any format, told by content. `tokenmill.load` describes the options."""
    return parse(find(path, download), split, special_tokens)


def parse(
    found: Found,
    split: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    force: bool = False,
    drop_unknown: bool = False,
) -> Vocabulary:
    """The vocabulary in a file that is found; options as for `tokenmill.load`."""
    place, name, contents = found[:3]
    try:
        if name is not None:
            known = published_encodings.PUBLISHED[name]
            vocabulary, told = published_encodings.published_vocabulary(known, contents, name), True
        else:
            vocabulary, told = _read_file(place, contents[0])
            if inode_of(place) != found.inode:  # the files beside it may belong to another tokenizer
                raise InputError(f"{place}: another file took its place while it was read. Load it again.")
        if split is not None:
            patterns = tuple(Splitter(split).patterns)
            if told and vocabulary.split_patterns != patterns:
                held = " and ".join(map(repr, vocabulary.split_patterns)) or "none"
                if not force:
                    raise UsageError(
                        f"{place}: the file contains its split pattern ({held}), which is not {split!r}. Leave out ",
                        OptionName("split"),
                        ".",
                    )
                warnings.warn(
                    f"{place}: text is split by {split!r}, not by the pattern of the file; ids may differ from those that "
                    "are published for it",
                    stacklevel=4,
                )
            vocabulary = vocabulary.replace(split_patterns=patterns)
        elif not told and not vocabulary.split_patterns:
            why = "the file does not contain its split pattern, and it is not a published encoding"
            raise UsageError(
                f"{place}: {vocabulary.notes[0] if vocabulary.notes else why}. Name the pattern: ",
                OptionName("split", "cl100k"),
                f", one of {', '.join(PATTERNS)} or any regular expression.",
            )
        if special_tokens:
            vocabulary = with_special_ids(vocabulary, special_tokens)
        return _dropping(vocabulary, place, contents[0]) if drop_unknown else vocabulary
    except VocabularyError as error:
        raise FormatError(f"{place}: {error}") from error


def _dropping(vocabulary: Vocabulary, place: Path, data: bytes) -> Vocabulary:
    """The vocabulary that tokenizers encodes with, which drops what has no token; the same one if every text has tokens."""
    bytes_known = {token for token in vocabulary.tokens if token is not None and len(token) == 1}
    complete = vocabulary.alphabet == "bytes" and len(bytes_known) == 256
    if complete or vocabulary.unknown is not None:
        return vocabulary
    from .huggingface import looks_like_tokenizer_json, read_by_library

    if not looks_like_tokenizer_json(data):
        raise UsageError(f"{place}: only a tokenizer.json drops characters without a token; leave out drop_unknown")
    warnings.warn(f"{place}: characters without a token are dropped, as in tokenizers", stacklevel=5)
    return read_by_library(parse_json(data, str(place)), data).replace(config=vocabulary.config)


def _read_file(place: Path, data: bytes) -> _Found:
    file, is_object = str(place), starts_object(data)
    if is_object:
        if b'"bpe_ranks"' in data or b'"token_bytes"' in data:
            from .rank_files import parse_rank_json

            if (ranks := parse_rank_json(data, file)) is not None:
                return ranks, True
        from .huggingface import looks_like_tokenizer_json

        if looks_like_tokenizer_json(data):
            return _read_huggingface(place, data)
        if b'"id2int"' in data:
            from .picky_json import parse_picky_json

            return parse_picky_json(parse_json(data, file)), True
    else:
        if (vocabulary := _read_binary(data, file)) is not None:
            return vocabulary, vocabulary.alphabet != "bytes" or bool(vocabulary.split_patterns)
        from .rank_files import looks_like_tiktoken

        if looks_like_tiktoken(data):
            return _read_tiktoken(place, data)
        from . import ddtok, merges_txt

        if merges_txt.looks_like_clip_merges(data):
            vocab = place.with_name(place.name.replace(*PAIRS[0][::-1]))
            if vocab == place or not vocab.is_file():
                return parse_content(merges_txt.clip_json(data, file), file), True
        if ddtok.looks_like_ddtok(data) or merges_txt.looks_like_merges(data, place.name):
            return _read_pair(place)
    from . import unknown_files

    what = unknown_files.describe(data)
    if what is not None or not is_object:
        what = what or "not a vocabulary"
        raise FormatError(f"{place}: this is {what}. The formats that can be read are {', '.join(FORMATS)}.")
    if not place.name.endswith(tuple(name for names in PAIRS for name in names)):
        parse_json(data, file)  # a file that was cut off is damaged, not half of a vocabulary
    return _read_pair(place)


def parse_content(data: bytes, file: str) -> Vocabulary:
    """The vocabulary in the content of a tokenizer.json, GGUF or SentencePiece file alone. file: for messages."""
    if (vocabulary := _read_binary(data, file)) is None:
        from .huggingface import parse_tokenizer_json

        vocabulary = parse_tokenizer_json(data, file)
    return vocabulary


def _read_binary(data: bytes, file: str) -> Vocabulary | None:
    """The vocabulary of a GGUF or SentencePiece file; None for text."""
    if data.startswith(b"GGUF"):
        from .gguf import parse_gguf

        return parse_gguf(data, file)
    from .sentencepiece_model import looks_like_sentencepiece, parse_sentencepiece

    return parse_sentencepiece(data, file) if looks_like_sentencepiece(data) else None


def _read_huggingface(place: Path, data: bytes) -> _Found:
    from .huggingface import parse_tokenizer_json

    vocabulary = parse_tokenizer_json(data, str(place))
    beside = companions.read_companion(place.with_name(companions.NAME), data)
    counts = read_beside(place.with_name(companions.EVENT_COUNTS)) or b""
    read_counts = partial(companions.parse_counts, counts)  # late: only reports and further training ask for them
    complete = partial(beside.complete, event_counts=read_counts) if beside else None
    events = place.with_name(companions.EVENTS)
    if (listed := read_beside(events)) is not None:
        return companions.parse_events(listed, str(events), vocabulary, complete), True
    if beside and beside.order == "events":
        raise FormatError(
            f"{events}: missing, and this tokenizer encodes by the events in it. Copy it from the folder that was saved. "
            f"To read the merges of {place.name} without them, which gives other ids, delete {companions.NAME}."
        )
    return complete(vocabulary) if complete else vocabulary, True


def _read_tiktoken(place: Path, data: bytes) -> _Found:
    from .rank_files import companion_path, parse_tiktoken

    # The companion comes first: it may name other special tokens than the published encoding has.
    beside = companions.read_companion(companion_path(place), data)
    if beside is None and (known := published_encodings.known_by_hash(data)) is not None:
        return published_encodings.published_vocabulary(known, [data], str(place)), True
    vocabulary = packed_vocabulary(parse_tiktoken(data, str(place)), split_patterns=())
    return (beside.complete(vocabulary), True) if beside else (vocabulary, False)


def _read_pair(place: Path) -> _Found:
    """The vocabulary in two files; `place` is one of them."""
    from . import ddtok, merges_txt

    vocab_path, merges_path = _partner(place)
    vocab_data, merges_data = read_bytes(vocab_path), read_bytes(merges_path)
    files = vocab_data, merges_data, str(vocab_path), str(merges_path)
    if merges_txt.looks_like_clip_merges(merges_data):
        vocab = parse_json(vocab_data, str(vocab_path)).expect(dict)
        return parse_content(merges_txt.clip_json(merges_data, str(merges_path), vocab), str(merges_path)), True
    is_ddtok = ddtok.looks_like_ddtok(vocab_data) or ddtok.looks_like_ddtok(merges_data)
    parse: Callable[..., Vocabulary] = ddtok.parse_ddtok if is_ddtok else merges_txt.parse_pair
    beside = companions.read_companion(vocab_path.with_name(companions.NAME), vocab_data + merges_data)
    if beside:
        return beside.complete(parse(*files, beside.fields["added_tokens"])), True
    known = published_encodings.known_by_hash(vocab_data)
    if known is not None and published_encodings.known_by_hash(merges_data) is known:
        return published_encodings.published_vocabulary(known, [vocab_data, merges_data], str(vocab_path)), True
    if is_ddtok:
        return parse(*files).replace(split_patterns=(ddtok.SPLIT,)), False
    added, split, prefix = merges_txt.read_side_files(vocab_path.parent, vocab_data)
    vocabulary = parse(*files, added)
    if split is None:
        return vocabulary, False
    return vocabulary.replace(split_patterns=(split,), normalization=Normalization((), prefix)), True


def _partner(place: Path) -> tuple[Path, Path]:
    """The paths of the vocabulary and of its merges; `place` is one of them. model-vocab.json goes with model-merges.txt."""
    for names in PAIRS:
        for own, other in (names, names[::-1]):
            if place.name.endswith(own):
                partner = place.with_name(place.name.removesuffix(own) + other)
                if partner.is_file():
                    return (place, partner) if own == names[0] else (partner, place)
                raise InputError(
                    f"{place}: this is half of a vocabulary. Put the other half, {partner.name}, in the same folder."
                )
    names_text = "; ".join(" and ".join(names) for names in PAIRS)
    raise InputError(
        f"{place}: this is half of a vocabulary, and the name of the other half does not follow from its name. Rename them. "
        f"The names are: {names_text}"
    )
