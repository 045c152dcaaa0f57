"""Descriptions of files that are no vocabulary, for the error message."""

from __future__ import annotations

import json
import re
from typing import Any

from .file_content import BLANK

_SETTINGS = {  # by a key of other files in the folder of a tokenizer.json
    "tokenizer_class": "the settings of a tokenizer (tokenizer_config.json); its vocabulary is in tokenizer.json",
    "model_type": "the configuration of a model (config.json), not a tokenizer",
    "bos_token": "a map of special tokens (special_tokens_map.json); the vocabulary is in tokenizer.json",
    "weight_map": "the index of a model's weights, not a tokenizer",
}
_BEGINNINGS = {  # regular expressions
    rb"PK\x03\x04": "a zip archive. Unpack it first",
    rb"PAR1": "a Parquet file. Word counts are a folder: give it to the command train",
    rb"version https://git-lfs": "a pointer of Git LFS, not the file itself. Run git lfs pull in its repository, or download the file",
    rb"(?i)\s*<(!doctype html|html)[\s>]": (
        "a web page, such as one that asks to sign in, not the file itself. Download the file from the page of the model"
    ),
    rb"(?s).{6}\0\0\{": (  # the length of the JSON after it, as uint64
        "the weights of a model (safetensors), not a tokenizer. Load the tokenizer.json or the folder of the model"
    ),
    rb"1 '\\x00' 1\r?(\n|\Z)": "a vocabulary of RWKV, which is not BPE",
}


def describe(data: bytes) -> str | None:
    """Return a description of `data`; None for what may be half of a vocabulary, {"token": id, ...}.

    >>> describe(b'{"model": {"type": "WordPiece", "vocab": {"##ing": 0}}}')
    'a tokenizer.json whose model is WordPiece, and which is damaged or incomplete'
    """
    for beginning, description in _BEGINNINGS.items():
        if re.match(beginning, data):
            return description
    lines = data[: 1 << 16].splitlines()
    if b"[UNK]" in lines or sum(re.fullmatch(rb"##[^\s#]+", line) is not None for line in lines) > 3:
        return "a WordPiece vocabulary (vocab.txt), which does not say how text is normalized; load the tokenizer.json of the model"
    if data.lstrip(BLANK)[:1] in (b"{", b"["):
        if len(data) > 1 << 20 and re.match(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\d', data):
            return None  # a large vocab.json: it is not parsed twice
        try:
            return _describe_json(json.loads(data.decode("utf-8-sig")))
        except (ValueError, RecursionError):
            return None  # damaged: the reader of vocab.json names the mistake
    return "not a vocabulary" if data else "an empty file"


def _describe_json(value: Any) -> str | None:
    if not isinstance(value, dict):
        if isinstance(value, list) and len(value) > 1 and all(isinstance(text, str) for text in value):
            return "a list of tokens without merges or scores, which do not say how text is encoded"
        return f"JSON, but {'an array' if isinstance(value, list) else 'a single value'}, not a vocabulary"
    if isinstance(value.get("model"), dict):
        return f"a tokenizer.json whose model is {model_kind(value['model'])}, and which is damaged or incomplete"
    if value and all(isinstance(id, int) for id in value.values()):
        return None
    for key, description in _SETTINGS.items():
        if key in value:
            return description
    keys = [repr(key) for key in list(value)[:4]] + ["..."] * (len(value) > 4)
    return f"JSON with the keys {', '.join(keys)}, which is not a vocabulary" if keys else "an empty JSON object"


def model_kind(model: dict[str, Any]) -> str:
    """Return the type of a tokenizer.json's model. Older files do not name it."""
    if isinstance(model.get("type"), str):
        return str(model["type"])
    if "merges" in model:
        return "BPE"
    if isinstance(model.get("vocab"), list):
        return "Unigram"
    return "WordPiece" if "continuing_subword_prefix" in model else "WordLevel"
