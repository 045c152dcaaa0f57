"""The merges of CLIP and of GPT-1's kind, where "</w>" ends a word: bpe_simple_vocab_16e6.txt, alone or beside a vocab.json."""

from __future__ import annotations

import json

from ..vocabulary import AddedToken, Vocabulary
from .byte_alphabet import CHARACTERS
from .file_content import decode_utf8, lines_of
from .huggingface import parse_tokenizer_json
from .huggingface_pretokenizers import BYTE_LEVEL
from .huggingface_text import normalizer_json
from .tokenmill_json import added_json

_END = "</w>"
_START_OF_TEXT, _END_OF_TEXT = "<|startoftext|>", "<|endoftext|>"
_N_MERGES = 49152 - 2 * 256 - 2  # what CLIP takes of a longer file
_SPLIT = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def looks_like_clip_merges(data: bytes) -> bool:
    """Return whether `data` begins like merges of this kind."""
    first = data[: 1 << 12]
    return b"#version" in first.split(b"\n", 1)[0] and f"{_END}\n".encode() in first.replace(b"\r", b"")


def parse_clip_merges(data: bytes, file: str, vocab: dict[str, int] | None = None) -> Vocabulary:
    """The vocabulary of these merges, as the tokenizer.json of CLIP has it. vocab: that of the vocab.json beside, if there is one."""
    merges = [line for line in lines_of(decode_utf8(data, file))[1:] if line]
    if vocab is None:
        merges = merges[:_N_MERGES]
        printable = [character for character in CHARACTERS if ord(character) < 0x100]
        alphabet = [*printable, *(character for character in CHARACTERS if ord(character) >= 0x100)]
        texts = [*alphabet, *(f"{character}{_END}" for character in alphabet)]
        texts += [merge.replace(" ", "") for merge in merges]
        vocab = {text: id for id, text in enumerate([*texts, _START_OF_TEXT, _END_OF_TEXT])}
    ends = [AddedToken(text, vocab[text]) for text in (_START_OF_TEXT, _END_OF_TEXT) if text in vocab]
    byte_level = BYTE_LEVEL | {"add_prefix_space": False}
    root = {
        "version": "1.0",
        "added_tokens": [added_json(token) for token in ends],
        "normalizer": normalizer_json(("NFC", ("ReplaceRegex", r"\s+", " "), "Lowercase")),
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": _SPLIT}, "behavior": "Removed", "invert": True},
                byte_level | {"use_regex": False},
            ],
        },
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "unk_token": _END_OF_TEXT if _END_OF_TEXT in vocab else None,
            "end_of_word_suffix": _END,
            "vocab": vocab,
            "merges": merges,
        },
    }
    return parse_tokenizer_json(json.dumps(root, ensure_ascii=False).encode(), file)
