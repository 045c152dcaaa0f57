"""Read a vocabulary from any file or folder, told by content, and write one in any format."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from ..errors import ConversionError, FormatError, InputError, UsageError
from ..jobs.outputs import atomic_file, atomic_folder, refuse_existing
from ..split import Splitter
from ..vocabulary import PATTERNS, AddedToken, Vocabulary
from ..vocabulary.validation import VocabularyError
from . import ddtok, events_file, gguf, published_encodings, tokenmill_json, unknown_files
from .file_content import read_beside, read_bytes
from .finding import PAIRS, Found, find
from .gguf_writer import gguf_bytes
from .huggingface import (
    longest_match_json,
    looks_like_tokenizer_json,
    parse_tokenizer_json,
    tokenizer_config_json,
    tokenizer_json,
)
from .merges_txt import pair_bytes, parse_pair, read_side_files
from .rank_json import parse_rank_json
from .rank_merges import present_by_rank
from .sentencepiece_model import looks_like_sentencepiece, parse_sentencepiece
from .sentencepiece_writer import model_bytes
from .tiktoken_file import companion_path, looks_like_tiktoken, parse_tiktoken, tiktoken_bytes

FORMATS = ("huggingface", "tiktoken", "merges", "ddtok", "gguf", "sentencepiece")
_ONE_FILE = ("gguf", "sentencepiece")
LONGEST_MATCH = "longest-match"  # read back as WordPiece

# A vocabulary, and whether its file tells how text is split.
_Found = tuple[Vocabulary, bool]

_OURS = ("tokenizer.json", "tokenizer_config.json", tokenmill_json.NAME, *PAIRS[0], *PAIRS[2])
_OURS += (events_file.NAME, events_file.COUNTS)


def read(
    path: str | os.PathLike,
    split: str | None = None,
    *,
    special_tokens: Mapping[str, int] | None = None,
    download: bool = False,
) -> Vocabulary:
    """The vocabulary in a file or folder of any format, compressed or not. The format is told by content, never by name.

    path: a tokenizer.json or its folder, a .tiktoken file, vocab.json or merges.txt (each finds the other), vocab.ddtok or
        merges.ddtok, tokenizer.model of SentencePiece, tekken.json, a .gguf file, or the name of a published encoding
        ("o200k_base") or of a model that uses it ("gpt-4o").
    split: the split pattern, by name or as a regular expression, for a file that does not hold it (an unknown
        .tiktoken). It is never guessed: without it, reading such a file is a UsageError.
    special_tokens: text -> id, for a file that does not hold them.
    download: whether a published encoding may be downloaded if it is not on this machine.

    >>> read("cl100k_base.tiktoken").n_vocab
    100277
    """
    return parse(find(path, download), split, special_tokens)


def parse(found: Found, split: str | None = None, special_tokens: Mapping[str, int] | None = None) -> Vocabulary:
    """The vocabulary in a file that is found; options as for `read`."""
    place, name, contents, _ = found
    try:
        if name is not None:
            known = published_encodings.PUBLISHED[name]
            read = published_encodings.published_vocabulary(known, contents, name), True
        else:
            read = _read_file(place, contents[0])
        return _with_options(*read, split, special_tokens, place)
    except VocabularyError as error:
        raise FormatError(f"{place}: {error}") from error


def _read_file(place: Path, data: bytes) -> _Found:
    start = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
    if data.startswith(gguf.MAGIC):
        return gguf.parse_gguf(data, str(place)), True
    if ddtok.looks_like_ddtok(data):
        return _read_pair(place, ddtok.parse_ddtok)
    has_ranks = start.startswith(b"{") and (b'"bpe_ranks"' in data or b'"token_bytes"' in data)
    if has_ranks and (ranks := parse_rank_json(data, str(place))) is not None:
        return ranks, True
    if looks_like_tokenizer_json(data):
        return _read_huggingface(place, data)
    if start.startswith(b"#version") or (start.startswith(b"{") and unknown_files.describe(data) is None):
        return _read_pair(place, parse_pair)
    if looks_like_tiktoken(data):
        return _read_tiktoken(place, data)
    if looks_like_sentencepiece(data):
        return parse_sentencepiece(data, str(place)), True
    found = unknown_files.describe(data) or "not a vocabulary"
    raise FormatError(f"{place}: this is {found}. The formats that can be read are {', '.join(FORMATS)}.")


def _read_huggingface(place: Path, data: bytes) -> _Found:
    vocabulary = parse_tokenizer_json(data, str(place))
    beside = tokenmill_json.read_companion(place.with_name(tokenmill_json.NAME), data)
    events = place.with_name(events_file.NAME)
    if (listed := read_beside(events)) is not None:
        patterns = beside.fields["split_patterns"] if beside else None
        vocabulary = events_file.parse_events(listed, str(events), vocabulary, patterns)
    if beside and (counts := read_beside(place.with_name(events_file.COUNTS))) is not None:
        beside.fields["event_counts"] = events_file.parse_counts(counts, vocabulary)
    return beside.complete(vocabulary) if beside else vocabulary, True


def _read_tiktoken(place: Path, data: bytes) -> _Found:
    known = published_encodings.known_by_hash(data)
    if known is not None:
        return published_encodings.published_vocabulary(known, [data], str(place)), True
    vocabulary = Vocabulary(parse_tiktoken(data, str(place)), ())
    beside = tokenmill_json.read_companion(companion_path(place), data)
    return (beside.complete(vocabulary), True) if beside else (vocabulary, False)


def _read_pair(place: Path, parse: Callable[..., Vocabulary]) -> _Found:
    """The vocabulary of two files, of which `place` is one."""
    vocab_path, merges_path = _partner(place)
    vocab_data, merges_data = read_bytes(vocab_path), read_bytes(merges_path)
    known = published_encodings.known_by_hash(vocab_data)
    if known is not None and published_encodings.known_by_hash(merges_data) is known:
        return published_encodings.published_vocabulary(known, [vocab_data, merges_data], str(vocab_path)), True
    files = vocab_data, merges_data, str(vocab_path), str(merges_path)
    beside = tokenmill_json.read_companion(vocab_path.with_name(tokenmill_json.NAME), vocab_data + merges_data)
    if beside:
        return beside.complete(parse(*files, beside.fields["added_tokens"])), True
    if parse is ddtok.parse_ddtok:
        return dataclasses.replace(parse(*files), split_patterns=(ddtok.SPLIT,)), False
    added, split, prefix = read_side_files(vocab_path.parent, vocab_data)
    vocabulary = parse(*files, added)
    if split is None:
        return vocabulary, False
    return dataclasses.replace(vocabulary, split_patterns=(split,), add_prefix_space=prefix), True


def _partner(place: Path) -> tuple[Path, Path]:
    """The vocabulary and the merges, of which `place` is one; model-vocab.json goes with model-merges.txt."""
    for names in PAIRS:
        for own, other in (names, names[::-1]):
            if place.name.endswith(own):
                partner = place.with_name(place.name.removesuffix(own) + other)
                if partner.is_file():
                    return (place, partner) if own == names[0] else (partner, place)
                raise InputError(f"{place}: half of a vocabulary. Put the other half, {partner.name}, beside it.")
    names_text = "; ".join(" and ".join(names) for names in PAIRS)
    raise InputError(
        f"{place}: this is half of a vocabulary, and its name does not tell the name of the other half. Rename them. "
        f"The names are: {names_text}"
    )


def _with_options(
    vocabulary: Vocabulary, told: bool, split: str | None, special_tokens: Mapping[str, int] | None, place: Path
) -> Vocabulary:
    """`vocabulary` with what the caller named, where the file did not tell it."""
    if split is not None:
        patterns = tuple(Splitter(split).patterns)
        if told and vocabulary.split_patterns != patterns:
            held = " and ".join(map(repr, vocabulary.split_patterns)) or "none"
            raise UsageError(
                f"{place}: the file tells its split pattern ({held}), which is not {split!r}. Leave out split (--split)."
            )
        vocabulary = dataclasses.replace(vocabulary, split_patterns=patterns)
    elif not told and not vocabulary.split_patterns:
        raise UsageError(
            f"{place}: the file does not hold its split pattern, and it is not a published encoding. Name the pattern: "
            f'split="cl100k" (--split cl100k), one of {", ".join(PATTERNS)} or any regular expression.'
        )
    if special_tokens:
        held_ids = {token.content: token.id for token in vocabulary.added_tokens}
        for content, id in special_tokens.items():
            if held_ids.get(content, id) != id:
                raise UsageError(f"{place}: the special token {content!r} has the id {held_ids[content]}, not {id}")
        added = (AddedToken(content, id) for content, id in special_tokens.items() if content not in held_ids)
        vocabulary = dataclasses.replace(vocabulary, added_tokens=(*vocabulary.added_tokens, *added))
    return vocabulary


def write(
    vocabulary: Vocabulary,
    path: str | os.PathLike,
    format: str = "huggingface",
    *,
    lossy: bool = False,
    overwrite: bool = False,
) -> list[str]:
    """Write `vocabulary` to `path`, whole or not at all. Returns what the format itself does not hold, item by item.

    path: a file for "tiktoken", "gguf" and "sentencepiece", a folder for the others, which may hold other files, such as a model.
    overwrite: replace a tokenizer that is there. Without it that is an OutputError.
    lossy: write the present tokens of a Picky vocabulary without its events, to be encoded by rank. The format
        "longest-match" is only for this: a tokenizer.json whose WordPiece model takes the longest token each time.
        For "gguf", also write superwords where llama.cpp gives other ids to a few pairs of numbers.
    A format that would change ids is a ConversionError. The events of a Picky vocabulary are a file beside
    tokenizer.json; the other formats cannot hold them.
    """
    if format not in (*FORMATS, LONGEST_MATCH):
        raise UsageError(f"the format is {format!r}; expected one of {', '.join((*FORMATS, LONGEST_MATCH))}")
    if format == LONGEST_MATCH and vocabulary.order != "events":
        raise ConversionError(
            "longest match would change ids. It is for Picky tokenizers; the other formats keep the ids."
        )
    if format == LONGEST_MATCH and not lossy:
        raise ConversionError(
            "text encoded by longest match gets other ids than by events. Pass lossy=True (--lossy) to write it."
        )
    check_output(path, format, overwrite=overwrite)
    target, notes = Path(path), []
    if format == LONGEST_MATCH:
        main, notes = longest_match_json(vocabulary)
        _write_folder(target, {"tokenizer.json": main, "tokenizer_config.json": tokenizer_config_json(vocabulary)})
        return ["text is encoded by the longest token each time, so some texts get other ids", *notes]
    if vocabulary.order == "events" and lossy:
        left_out = f"{len(vocabulary.removed)} removed tokens and the events are left out"
        notes = [f"{left_out}: text is encoded by rank, and some texts get other ids"]
        if len(vocabulary.superwords):
            notes.append("text is split by the pattern of SuperBPE, since superwords span pretokens")
        vocabulary = present_by_rank(vocabulary)
    if format == "tiktoken":
        data, more = tiktoken_bytes(vocabulary)
        _write_files({companion_path(target): tokenmill_json.companion_bytes(vocabulary, data), target: data})
    elif format in _ONE_FILE:
        data, more = gguf_bytes(vocabulary, lossy=lossy) if format == "gguf" else model_bytes(vocabulary)
        _write_files({target: data})
    else:
        files, more = _huggingface_files(vocabulary) if format == "huggingface" else _pair_files(vocabulary, format)
        _write_folder(target, files)
    return notes + more


def check_output(path: str | os.PathLike, format: str = "huggingface", *, overwrite: bool = False) -> None:
    """Raise an OutputError if there is a tokenizer at `path` that `write` must not replace; before long work."""
    target = Path(path)
    if format in _ONE_FILE:
        refuse_existing(target, overwrite=overwrite)
    elif format == "tiktoken":
        refuse_existing(target, companion_path(target), overwrite=overwrite)
    else:
        refuse_existing(*([target / name for name in _OURS] if target.is_dir() else [target]), overwrite=overwrite)


def _huggingface_files(vocabulary: Vocabulary) -> tuple[dict[str, bytes], list[str]]:
    main, notes = tokenizer_json(present_by_rank(vocabulary))
    files = {
        "tokenizer.json": main,
        "tokenizer_config.json": tokenizer_config_json(vocabulary),
        tokenmill_json.NAME: tokenmill_json.companion_bytes(vocabulary, main),
    }
    if len(vocabulary.event_counts):
        files[events_file.COUNTS] = events_file.counts_bytes(vocabulary)
    if vocabulary.order == "events":
        files[events_file.NAME] = events_file.events_bytes(vocabulary)
        notes.append(
            f"the events are in {events_file.NAME}, which only tokenmill reads: elsewhere some texts get other ids"
        )
    return files, notes


def _pair_files(vocabulary: Vocabulary, format: str) -> tuple[dict[str, bytes], list[str]]:
    names, content = (PAIRS[0], pair_bytes) if format == "merges" else (PAIRS[2], ddtok.ddtok_bytes)
    vocab, merges, notes = content(vocabulary)
    companion = tokenmill_json.companion_bytes(vocabulary, vocab + merges)
    return {names[0]: vocab, names[1]: merges, tokenmill_json.NAME: companion}, notes


def _write_files(files: dict[Path, bytes]) -> None:
    for path, content in files.items():
        with atomic_file(path) as file:
            file.write(content)


def _write_folder(target: Path, files: dict[str, bytes]) -> None:
    """Write `files` as the new folder `target`, or into `target` where other files are in it, such as a model."""
    if target.is_dir() and any(path.name not in _OURS for path in target.iterdir()):
        _write_files({target / name: content for name, content in files.items()})
        for name in {events_file.NAME, events_file.COUNTS} - files.keys():  # the events of another vocabulary
            if "tokenizer.json" in files:
                (target / name).unlink(missing_ok=True)
        return
    with atomic_folder(target) as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
