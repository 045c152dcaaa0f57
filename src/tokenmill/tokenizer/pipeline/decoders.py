"""The decoders of a tokenizer.json: tokens as the file spells them to text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...formats.byte_alphabet import CHARACTERS
from ...vocabulary.pipeline import steps_of
from ..normalization import normalizer_of

Texts = list[str]
_BYTE = re.compile("<0x([0-9A-Fa-f]{2})>")
_BYTE_OF = {character: byte for byte, character in enumerate(CHARACTERS)}
# What the decoder WordPiece writes for what its tokens give (tokenizers, `cleanup`).
_CLEANUP = (
    (" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'"), (" n't", "n't"), (" 'm", "'m"), (" do not", " don't"),
    (" 's", "'s"), (" 've", "'ve"), (" 're", "'re"),
)  # fmt: skip


def decoder_of(section: Mapping[str, Any] | None) -> Callable[[Sequence[str]], bytes]:
    """The function that gives the text of tokens as UTF-8; of bytes in GPT-2's alphabet, these very bytes.

    Without a decoder, a space is between tokens.
    """
    if section is None:
        return lambda texts: " ".join(texts).encode()
    steps = [(step["type"], step) for step in steps_of(section)]

    def decode(texts: Sequence[str]) -> bytes:
        found = list(texts)
        for number, (kind, step) in enumerate(steps):
            if kind == "ByteLevel":
                data = b"".join(map(bytes_of, found))
                if number == len(steps) - 1:
                    return data
                found = [data.decode("utf-8", "replace")]
            else:
                found = _STEPS[kind](found, step)
        return "".join(found).encode()

    return decode


def bytes_of(text: str) -> bytes:
    """The bytes of a text in GPT-2's alphabet; of another text, its UTF-8."""
    values = [_BYTE_OF.get(character) for character in text]
    return text.encode() if None in values else bytes(values)  # type: ignore[arg-type]


def _metaspace(texts: Texts, step: Mapping[str, Any]) -> Texts:
    adds = "always" if step.get("add_prefix_space", True) else "never"
    strips = (step.get("prepend_scheme") or adds) != "never"
    return [text.replace(step["replacement"], "" if strips and n == 0 else " ") for n, text in enumerate(texts)]


def _word_piece(texts: Texts, step: Mapping[str, Any]) -> Texts:
    prefix, found = step.get("prefix", "##"), []
    for n, text in enumerate(texts):
        if n:
            text = text.removeprefix(prefix) if text.startswith(prefix) else f" {text}"
        if step.get("cleanup", True):
            for old, new in _CLEANUP:
                text = text.replace(old, new)
        found.append(text)
    return found


def _bpe(texts: Texts, step: Mapping[str, Any]) -> Texts:
    suffix, last = step.get("suffix", "</w>"), len(texts) - 1
    return [text.replace(suffix, "" if n == last else " ") for n, text in enumerate(texts)]


def _strip(texts: Texts, step: Mapping[str, Any]) -> Texts:
    found = []
    for text in texts:
        start = len(text[: step["start"]]) - len(text[: step["start"]].lstrip(step["content"]))
        tail = text[max(0, len(text) - step["stop"]) :]
        end = len(text) - (len(tail) - len(tail.rstrip(step["content"])))
        found.append(text[start : max(start, end)])
    return found


def _replace(texts: Texts, step: Mapping[str, Any]) -> Texts:
    pattern, new = step["pattern"], step["content"]
    if pattern.get("Regex") is None:
        return [text.replace(pattern["String"], new) for text in texts]
    from ...split.spelling import from_oniguruma  # late: few files have such a pattern

    return list(map(normalizer_of([("ReplaceRegex", from_oniguruma(pattern["Regex"]), new)]), texts))


def _byte_fallback(texts: Texts, step: Mapping[str, Any]) -> Texts:
    found: Texts = []
    for is_byte, run in itertools.groupby(texts, lambda text: _BYTE.fullmatch(text) is not None):
        if not is_byte:
            found += run
            continue
        data = bytes(int(text[3:5], 16) for text in run)
        try:
            found.append(data.decode())
        except UnicodeDecodeError:
            found += ["\ufffd"] * len(data)
    return found


_STEPS: dict[str, Callable[[Texts, Mapping[str, Any]], Texts]] = {
    "Metaspace": _metaspace,
    "WordPiece": _word_piece,
    "BPEDecoder": _bpe,
    "Fuse": lambda texts, step: ["".join(texts)],
    "Strip": _strip,
    "Replace": _replace,
    "ByteFallback": _byte_fallback,
}
