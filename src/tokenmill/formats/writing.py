"""Write a vocabulary in any format."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import (
    ConversionError,
    FormatError,
    MissingExtraError,
    OptionName,
    OutputError,
    TokenmillError,
    UsageError,
)
from ..jobs.outputs import atomic_files, atomic_folder, is_device, named, open_output, refuse_existing, refuse_folder
from ..vocabulary import Vocabulary
from ..vocabulary.library_model import library_call
from . import companions, ddtok
from .file_content import MAX_ID
from .finding import EVENTS, OWN_FILES, PAIRS
from .huggingface import longest_match_json, tokenizer_config_json, tokenizer_json
from .merges_txt import pair_bytes, roles_of
from .rank_files import companion_path, tiktoken_bytes
from .rank_merges import present_by_rank
from .reading import FORMATS

_ONE_FILE = ("gguf", "sentencepiece")
_ROLES_OF_FILES = ("bos_token", "eos_token", "pad_token", "unk_token")  # that these files store
_SUFFIXES = (".json", ".tiktoken", ".gguf", ".model")  # of files
LONGEST_MATCH = "longest-match"  # read back as WordPiece
_MORE = ("id_map.npy", "new_rows.json")  # written by the commands that change a tokenizer
_LONGEST = 200  # the number of the longest tokens, and of added tokens, in the texts of _check_ids
_TEXTS = (
    "", " ", "  ", " a", "a ", "  a  b  ", "\n", " \n\t\r\n ", "a\u00a0b\u3000c", "Hello, world! don't DON'T", "½ ² 12 345 6789",
    "x\u2581y \u2581", "e\u0301 n\u0303 \ufb01 \u212b ǅ", "naïve Ærø, Русский, 漢字 한국어 ไทย हिन्दी", "👩‍👩‍👧 🏳️‍🌈 🇩🇪 \U0001f600", "\x00\x7f\ufffd\u200b",
    "if(a!=b){return\tx**2;}\n    # https://a.b/c?d=%20", "<unk> <s></s>[INST]<0x0A>",
)  # fmt: skip


def write(
    vocabulary: Vocabulary,
    path: str | os.PathLike,
    format: str = "huggingface",
    *,
    lossy: bool = False,
    overwrite: bool = False,
    more: Mapping[str, bytes] | None = None,
    tokenizer: Callable[[Vocabulary], Any] | None = None,
) -> list[str]:
    """Write `vocabulary` to `path`, whole or not at all; formats, `lossy` and `overwrite` as for `Tokenizer.save`.

    A folder may contain other files, such as a model. For "gguf", `lossy` also allows superwords where llama.cpp gives other
    ids to a few pairs of numbers.
    more: further files of the folder, by name.
    tokenizer: the class Tokenizer, which checks content that is not equal by construction before it is written.
    Returns notes on losses. ConversionError for a format that would change ids.
    """
    if format not in (*FORMATS, LONGEST_MATCH):
        raise UsageError(f"the format is {format!r}; expected one of {', '.join((*FORMATS, LONGEST_MATCH))}")
    if format == LONGEST_MATCH and vocabulary.order != "events":
        raise ConversionError(
            "longest match would change ids. It is for Picky tokenizers; the other formats keep the ids."
        )
    if format == LONGEST_MATCH and not lossy:
        raise ConversionError(
            "text encoded by longest match gets other ids than by events. Pass ",
            OptionName("lossy", True),
            " to write it.",
        )
    if vocabulary.n_vocab > MAX_ID + 1:
        raise ConversionError(f"the highest id is {vocabulary.n_vocab - 1:,}; files have ids up to {MAX_ID:,}")
    check_output(path, format, overwrite=overwrite)
    target = Path(path)
    notes: list[str] = []
    if format == LONGEST_MATCH:
        notes = ["text is encoded by longest match, so some texts get other ids"]
    elif vocabulary.order == "events" and lossy:
        notes = [
            f"{len(vocabulary.removed)} removed tokens and the events are left out: text is encoded by rank, and some texts get "
            "other ids"
        ]
        if vocabulary.has_superwords:
            notes.append("text is split by the pattern of SuperBPE, since superwords span pretokens")
        vocabulary = present_by_rank(vocabulary)
    files, losses = checked_files(vocabulary, target, format, lossy=lossy, tokenizer=tokenizer)
    if format in (*_ONE_FILE, "tiktoken"):
        atomic_files({target.with_name(name): content for name, content in files.items()}, overwrite=overwrite)
    else:
        _write_folder(target, {**files, **(more or {})}, overwrite)
    return notes + losses


def check_writable(vocabulary: Vocabulary, format: str) -> None:
    """Raise ConversionError if "huggingface", "tiktoken", "gguf" or "sentencepiece" would change the ids of `vocabulary`."""
    if vocabulary.order == "events":
        raise ConversionError("only tokenmill encodes by events, as Picky BPE and superwords need")
    _files_of(vocabulary, Path("tokenizer"), format)


def checked_files(
    vocabulary: Vocabulary,
    target: Path,
    format: str = "huggingface",
    *,
    lossy: bool = False,
    tokenizer: Callable[[Vocabulary], Any] | None = None,
) -> tuple[dict[str, bytes], list[str]]:
    """Return the files and notes of `_files_of`. ConversionError for files that would give other ids. tokenizer: see `write`."""
    files, notes = _files_of(vocabulary, target, format, lossy)
    if format in (*_ONE_FILE, "huggingface"):
        _check_ids(vocabulary, next(iter(files.values())), tokenizer)
    return files, notes + _lost_settings(vocabulary, format)


def _lost_settings(vocabulary: Vocabulary, format: str) -> list[str]:
    """Return notes on the settings that the format lacks. No id of plain text depends on them."""
    if format in ("huggingface", LONGEST_MATCH):
        return []
    stored = _ROLES_OF_FILES if format in _ONE_FILE else ()
    roles, by_name = roles_of(vocabulary), roles_of(vocabulary.replace(config={}))
    lost = [f"{role} {roles[role]!r}" for role in roles if role not in stored and roles[role] != by_name.get(role)]
    notes = [f"the roles of special tokens are not in the file: {', '.join(lost)}"] if lost else []
    if vocabulary.config.get("chat_template") and format != "gguf":
        notes.append("the chat template is not in the file")
    before, after = vocabulary.template.affixes
    if format == "gguf":  # it has whether BOS and EOS are added
        before = [] if before == [roles.get("bos_token")] else before
        after = [] if after == [roles.get("eos_token")] else after
    if before or after:
        notes.append(f"that a template adds {', '.join((*before, *after))} to a text is not in the file")
    return notes


def _files_of(
    vocabulary: Vocabulary, target: Path, format: str, lossy: bool = False
) -> tuple[dict[str, bytes], list[str]]:
    """Return the files of a format by name, that of the tokenizer first, and notes on losses."""
    if (vocabulary.dropped or vocabulary.byte_patterns) and format != "huggingface":
        what = "drops white space" if vocabulary.dropped else "cuts pretokens into parts by their bytes"
        raise ConversionError(f"{format} cannot represent a tokenizer that {what}; write huggingface")
    if format in _ONE_FILE:
        from . import gguf, sentencepiece_model  # late: other formats need neither

        if format == "gguf":
            main, notes = gguf.gguf_bytes(vocabulary, lossy=lossy)
        else:
            main, notes = sentencepiece_model.model_bytes(vocabulary)
        return {target.name: main}, notes
    if format == "tiktoken":
        main, notes = tiktoken_bytes(vocabulary)
        companion = {companion_path(target).name: companions.companion_bytes(vocabulary, main)}
        return {target.name: main, **({} if is_device(target) else companion)}, notes
    if format in ("merges", "ddtok"):
        names, pair = (PAIRS[0], pair_bytes) if format == "merges" else (PAIRS[2], ddtok.ddtok_bytes)
        vocab, merges, notes = pair(vocabulary)
        companion = {companions.NAME: companions.companion_bytes(vocabulary, vocab + merges)}
        return {names[0]: vocab, names[1]: merges, **companion}, notes
    if format == LONGEST_MATCH:
        main, notes = longest_match_json(vocabulary)
        return {"tokenizer.json": main, "tokenizer_config.json": tokenizer_config_json(vocabulary)}, notes
    main, notes = tokenizer_json(present_by_rank(vocabulary))
    files = {"tokenizer.json": main, "tokenizer_config.json": tokenizer_config_json(vocabulary)}
    files |= companions.files_beside(vocabulary, main)
    if companions.EVENTS in files:
        notes.append(
            f"the events are in {companions.EVENTS}, which only tokenmill reads: elsewhere some texts get other ids"
        )
    return files, notes


def _check_ids(vocabulary: Vocabulary, data: bytes, tokenizer: Callable[[Vocabulary], Any] | None) -> None:
    """Raise ConversionError if `data`, the content of a file, gives other ids here, or in its library if that is installed.

    Bytes without normalizers, prefixes and flags of added tokens are equal by construction. No such file has events.
    """
    flags = any(any(token[3:]) for token in vocabulary.added_tokens)  # lstrip, rstrip, single_word, normalized
    equal = vocabulary.alphabet == "bytes" and not (any(vocabulary.normalization) or flags)
    if tokenizer is None or equal or vocabulary.order in ("events", "library"):
        return
    from . import libraries, reading  # late: writing needs them only here

    original, readers = tokenizer(vocabulary), []
    try:
        converted = tokenizer(reading.parse_content(data, "the converted tokenizer"))
        readers.append(("tokenmill", converted.encode, True))
        if (library := libraries.encoder_of_content(data)) is not None:
            readers.append(library)
    except MissingExtraError:
        pass
    except FormatError as error:
        raise ConversionError(f"the written file cannot be read back: {error}") from error
    texts = [*_TEXTS]  # on which tokenizers differ
    for token in vocabulary.added_tokens[:_LONGEST]:
        texts += (token.content, f"{token.content}½", f" {token.content} //a", f"a{token.content}{token.content}b")
    for content in sorted(filter(None, vocabulary.tokens), key=len)[-_LONGEST:]:
        text = content.decode(errors="ignore")
        texts += (text, f"1{text}  {text}\n")
    for text in sorted(texts, key=len):
        for name, encode, specials in readers:
            options: dict[str, Any] = {"allowed_special": "all"} if specials else {"disallowed_special": ()}
            try:
                expected = original.encode(text, **options)
            except TokenmillError:  # a character without a token
                continue
            more = options if name == "tokenmill" else {}
            ids = library_call(ConversionError, f"{name} cannot encode {text!r} with it", encode, text, **more)
            if ids != expected:
                raise ConversionError(
                    f"the format cannot represent this vocabulary: {name} would give {text!r} the ids {ids[:20]}, not {expected[:20]}. "
                    "Write the format that it was read from."
                )


def check_output(
    path: str | os.PathLike, format: str = "huggingface", *, overwrite: bool = False, sources: Iterable[Any] = ()
) -> None:
    """Raise an error if `write` must not replace the file or folder at `path`. Called before long work.

    sources: the sources of the command, which are never replaced.
    """
    target = named(path)
    folder = format not in (*_ONE_FILE, "tiktoken")
    if folder and target.suffix in _SUFFIXES and not target.exists():
        raise UsageError(f"{target} is the name of a file, but the format {format} is a folder. Name the folder.")
    if not folder or _stays(target):
        refuse_existing(*paths_of(target, format), overwrite=overwrite, sources=sources)
    else:
        refuse_folder(path, _is_own, overwrite=overwrite, sources=sources)


def paths_of(target: Path, format: str) -> list[Path]:
    """Return the files that `write` may write."""
    if format in _ONE_FILE or is_device(target):
        return [target]
    return [target, companion_path(target)] if format == "tiktoken" else [target / name for name in OWN_FILES]


def _is_own(path: Path) -> bool:
    return path.name in (*OWN_FILES, *_MORE) and path.is_file()


def _stays(target: Path) -> bool:
    """Return whether files are written into the folder `target` one by one, because it has others, such as a model, or must stay."""
    try:
        refuse_folder(target, _is_own, overwrite=True)
    except OutputError:
        return target.is_dir()
    return False


def _write_folder(target: Path, files: dict[str, bytes], overwrite: bool) -> None:
    """Write `files` as the new folder `target`, or into `target` if it contains other files, such as a model."""
    if _stays(target):
        old = {target / name for name in EVENTS if "tokenizer.json" in files} - {target / name for name in files}
        atomic_files({target / name: content for name, content in files.items()}, old, overwrite=overwrite)
        return
    with atomic_folder(target, _is_own, overwrite=overwrite) as folder:
        for name, content in files.items():
            with open_output(folder / name) as file:
                file.write(content)
