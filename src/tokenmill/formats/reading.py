"""Read a vocabulary from a file or folder. The content determines the format."""

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
from .finding import PAIRS, TokenizerFile, find, inode_of

# The reader of each format is imported when a file needs it, because most programs load one tokenizer.

FORMATS = ("huggingface", "tiktoken", "merges", "ddtok", "gguf", "sentencepiece")

# A vocabulary, and whether its file contains the split pattern.
_Parsed = tuple[Vocabulary, bool]


def read(
    path: str | os.PathLike,
    split: str | None = None,
    *,
    special_tokens: Mapping[str, int] | None = None,
    download: bool = False,
) -> Vocabulary:
    """Return the vocabulary in a file or folder of any format. `tokenmill.load` describes the options."""
    return parse(find(path, download), split, special_tokens)


def parse(
    file: TokenizerFile,
    split: str | None = None,
    special_tokens: Mapping[str, int] | None = None,
    force: bool = False,
    drop_unknown: bool = False,
) -> Vocabulary:
    """Return the vocabulary in a file; options as for `tokenmill.load`."""
    path, name, contents = file[:3]
    try:
        if name is not None:
            known = published_encodings.PUBLISHED[name]
            vocabulary, has_split = published_encodings.published_vocabulary(known, contents, name), True
        else:
            vocabulary, has_split = _read_file(path, contents[0])
            if inode_of(path) != file.inode:  # other files in the folder may belong to another tokenizer
                raise InputError(f"{path}: another file took its place while it was read. Load it again.")
        if split is not None:
            patterns = tuple(Splitter(split).patterns)
            if has_split and vocabulary.split_patterns != patterns:
                current = " and ".join(map(repr, vocabulary.split_patterns)) or "none"
                if not force:
                    raise UsageError(
                        f"{path}: the file contains its split pattern ({current}), which is not {split!r}. Leave out ",
                        OptionName("split"),
                        ".",
                    )
                warnings.warn(
                    f"{path}: text is split by {split!r}, not by the pattern of the file; ids may differ from those that "
                    "are published for it",
                    stacklevel=4,
                )
            vocabulary = vocabulary.replace(split_patterns=patterns)
        elif not has_split and not vocabulary.split_patterns:
            why = "the file does not contain its split pattern, and it is not a published encoding"
            raise UsageError(
                f"{path}: {vocabulary.notes[0] if vocabulary.notes else why}. Name the pattern: ",
                OptionName("split", "cl100k"),
                f", one of {', '.join(PATTERNS)} or any regular expression.",
            )
        if special_tokens:
            vocabulary = with_special_ids(vocabulary, special_tokens)
        return _dropping(vocabulary, path, contents[0]) if drop_unknown else vocabulary
    except VocabularyError as error:
        raise FormatError(f"{path}: {error}") from error


def _dropping(vocabulary: Vocabulary, path: Path, data: bytes) -> Vocabulary:
    """Return the vocabulary that tokenizers encodes with, which drops characters without a token; the same one if none is dropped."""
    alphabet = {token for token in vocabulary.tokens if token is not None and len(token) == 1}
    if (vocabulary.alphabet == "bytes" and len(alphabet) == 256) or vocabulary.unknown is not None:
        return vocabulary
    from .huggingface import looks_like_tokenizer_json, read_by_library

    if not looks_like_tokenizer_json(data):
        raise UsageError(f"{path}: only a tokenizer.json drops characters without a token; leave out drop_unknown")
    warnings.warn(f"{path}: characters without a token are dropped, as in tokenizers", stacklevel=5)
    return read_by_library(parse_json(data, str(path)), data).replace(config=vocabulary.config)


def _read_file(path: Path, data: bytes) -> _Parsed:
    file, is_object = str(path), starts_object(data)
    if is_object:
        if b'"bpe_ranks"' in data or b'"token_bytes"' in data:
            from .rank_files import parse_rank_json

            if (ranks := parse_rank_json(data, file)) is not None:
                return ranks, True
        from .huggingface import looks_like_tokenizer_json

        if looks_like_tokenizer_json(data):
            return _read_huggingface(path, data)
        if b'"id2int"' in data:
            from .picky_json import parse_picky_json

            return parse_picky_json(parse_json(data, file)), True
    else:
        if (vocabulary := _read_binary(data, file)) is not None:
            return vocabulary, vocabulary.alphabet != "bytes" or bool(vocabulary.split_patterns)
        from .rank_files import looks_like_tiktoken

        if looks_like_tiktoken(data):
            return _read_tiktoken(path, data)
        from . import ddtok, merges_txt

        if merges_txt.looks_like_clip_merges(data):
            vocab = path.with_name(path.name.replace(*PAIRS[0][::-1]))
            if vocab == path or not vocab.is_file():
                return parse_content(merges_txt.clip_json(data, file), file), True
        if ddtok.looks_like_ddtok(data) or merges_txt.looks_like_merges(data, path.name):
            return _read_pair(path)
    from . import unknown_files

    what = unknown_files.describe(data)
    if what is not None or not is_object:
        what = what or "not a vocabulary"
        raise FormatError(f"{path}: this is {what}. The formats that can be read are {', '.join(FORMATS)}.")
    if not path.name.endswith(tuple(name for names in PAIRS for name in names)):
        parse_json(data, file)  # a file that was cut off is damaged, not half of a vocabulary
    return _read_pair(path)


def parse_content(data: bytes, file: str) -> Vocabulary:
    """Return the vocabulary in the content of a tokenizer.json, GGUF or SentencePiece file. file: its name in messages."""
    from .huggingface import parse_tokenizer_json

    return _read_binary(data, file) or parse_tokenizer_json(data, file)


def _read_binary(data: bytes, file: str) -> Vocabulary | None:
    """Return the vocabulary of a GGUF or SentencePiece file; None for text."""
    if data.startswith(b"GGUF"):
        from .gguf import parse_gguf

        return parse_gguf(data, file)
    from .sentencepiece_model import looks_like_sentencepiece, parse_sentencepiece

    return parse_sentencepiece(data, file) if looks_like_sentencepiece(data) else None


def _read_huggingface(path: Path, data: bytes) -> _Parsed:
    from .huggingface import parse_tokenizer_json

    vocabulary = parse_tokenizer_json(data, str(path))
    companion = companions.read_companion(path.with_name(companions.NAME), data)
    counts = read_beside(path.with_name(companions.EVENT_COUNTS)) or b""
    read_counts = partial(companions.parse_counts, counts)  # late: only reports and further training use them
    complete = partial(companion.complete, event_counts=read_counts) if companion else None
    events = path.with_name(companions.EVENTS)
    if (lines := read_beside(events)) is not None:
        return companions.parse_events(lines, str(events), vocabulary, complete), True
    if companion and companion.order == "events":
        raise FormatError(
            f"{events}: missing, and this tokenizer encodes by the events in it. Copy it from the folder that was saved. "
            f"To read the merges of {path.name} without them, which gives other ids, delete {companions.NAME}."
        )
    return complete(vocabulary) if complete else vocabulary, True


def _read_tiktoken(path: Path, data: bytes) -> _Parsed:
    from .rank_files import companion_path, parse_tiktoken

    # The companion comes first: it may name other special tokens than the published encoding has.
    companion = companions.read_companion(companion_path(path), data)
    if companion is None and (known := published_encodings.known_by_hash(data)) is not None:
        return published_encodings.published_vocabulary(known, [data], str(path)), True
    vocabulary = packed_vocabulary(parse_tiktoken(data, str(path)), split_patterns=())
    return (companion.complete(vocabulary), True) if companion else (vocabulary, False)


def _read_pair(path: Path) -> _Parsed:
    """Return the vocabulary in two files; `path` is one of them."""
    from . import ddtok, merges_txt

    vocab_path, merges_path = _partner(path)
    vocab_data, merges_data = read_bytes(vocab_path), read_bytes(merges_path)
    files = vocab_data, merges_data, str(vocab_path), str(merges_path)
    if merges_txt.looks_like_clip_merges(merges_data):
        vocab = parse_json(vocab_data, str(vocab_path)).expect(dict)
        return parse_content(merges_txt.clip_json(merges_data, str(merges_path), vocab), str(merges_path)), True
    is_ddtok = ddtok.looks_like_ddtok(vocab_data) or ddtok.looks_like_ddtok(merges_data)
    parse: Callable[..., Vocabulary] = ddtok.parse_ddtok if is_ddtok else merges_txt.parse_pair
    companion = companions.read_companion(vocab_path.with_name(companions.NAME), vocab_data + merges_data)
    if companion:
        return companion.complete(parse(*files, companion.fields["added_tokens"])), True
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


def _partner(path: Path) -> tuple[Path, Path]:
    """Return the paths of the vocabulary and of its merges; `path` is one of them. model-vocab.json goes with model-merges.txt."""
    for names in PAIRS:
        for own, other in (names, names[::-1]):
            if path.name.endswith(own):
                partner = path.with_name(path.name.removesuffix(own) + other)
                if partner.is_file():
                    return (path, partner) if own == names[0] else (partner, path)
                raise InputError(
                    f"{path}: this is half of a vocabulary. Put the other half, {partner.name}, in the same folder."
                )
    names_text = "; ".join(" and ".join(names) for names in PAIRS)
    raise InputError(
        f"{path}: this is half of a vocabulary, and the name of the other half does not follow from its name. Rename them. "
        f"The names are: {names_text}"
    )
