"""Write a vocabulary in any format."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import ConversionError, OptionName, UsageError
from ..jobs.outputs import atomic_file, atomic_folder, refuse_existing
from ..vocabulary import Vocabulary
from . import ddtok, events_file, tokenmill_json
from .finding import PAIRS
from .huggingface import longest_match_json, tokenizer_config_json, tokenizer_json
from .merges_txt import pair_bytes
from .rank_merges import present_by_rank
from .reading import FORMATS
from .tiktoken_file import companion_path, tiktoken_bytes

_ONE_FILE = ("gguf", "sentencepiece")
LONGEST_MATCH = "longest-match"  # read back as WordPiece
_EVENTS = (tokenmill_json.EVENTS, tokenmill_json.EVENT_COUNTS)
_OURS = ("tokenizer.json", "tokenizer_config.json", tokenmill_json.NAME, *PAIRS[0], *PAIRS[2], *_EVENTS)


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
            "text encoded by longest match gets other ids than by events. Pass ",
            OptionName("lossy", True),
            " to write it.",
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
        from .gguf_writer import gguf_bytes
        from .sentencepiece_writer import model_bytes

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
        files[tokenmill_json.EVENT_COUNTS] = events_file.counts_bytes(vocabulary)
    if vocabulary.order == "events":
        files[tokenmill_json.EVENTS] = events_file.events_bytes(vocabulary)
        notes.append(
            f"the events are in {tokenmill_json.EVENTS}, which only tokenmill reads: elsewhere some texts get other ids"
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
        for name in {*_EVENTS} - files.keys():  # the events of another vocabulary
            if "tokenizer.json" in files:
                (target / name).unlink(missing_ok=True)
        return
    with atomic_folder(target) as folder:
        for name, content in files.items():
            (folder / name).write_bytes(content)
