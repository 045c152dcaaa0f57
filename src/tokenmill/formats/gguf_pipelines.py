"""WordPiece and Unigram in GGUF, as llama.cpp encodes them (src/llama-vocab.cpp), as a `Pipeline`.

WordPiece (tokenizer.ggml.model is bert): U+2581 begins a word, and a token that begins one, where BERT's own files have ## before
the other tokens. Characters lose their case and marks; of a Hangul syllable the leading consonant is left.
Unigram (t5): sums of scores in double precision, characters without a token are one unknown token, and no bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from ..vocabulary import AddedToken, Vocabulary
from ..vocabulary.vocabulary import Step
from .file_content import Json, fail, show
from .huggingface_pipeline import read_pipeline
from .sentencepiece_model import MARK, NORMAL, UNUSED, Pieces, character_map, unigram_vocabulary

_NO_LIMIT = 1 << 30  # characters of a word
_SIGNS = (  # each is a word: punctuation, symbols of ASCII, and ideographs
    r"\p{P}$+<=>^`|~\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{20000}-\x{2a6df}\x{2a700}-\x{2b73f}\x{2b740}-\x{2b81f}"
    r"\x{2b920}-\x{2ceaf}\x{f900}-\x{faff}\x{2f800}-\x{2fa1f}"
)
_LEADING = tuple(  # the 588 syllables of each leading consonant
    ("ReplaceRegex", f"[{chr(0xAC00 + 588 * n)}-{chr(0xAC00 + 588 * n + 587)}]", chr(0x1100 + n)) for n in range(19)
)
_DROPPED = ("ReplaceRegex", r"[\x00\x{fffd}[\p{Cc}\p{Cf}\p{Co}&&[^\s]]]", "")
_WORDS = ("ReplaceRegex", rf"(?=[{_SIGNS}])|(?<![^\s{_SIGNS}])(?=\S)", f" {MARK}")  # before each word


def read_word_piece(
    pieces: Pieces, added: Sequence[AddedToken], unknown: int, lowercase: bool, strip_accents: bool
) -> Vocabulary:
    """The vocabulary of a file whose model is bert. unknown: the id of the unknown token."""
    check_texts(pieces)
    vocab: dict[str, int] = {}
    for id, text in enumerate(pieces.texts):
        if vocab.setdefault(text, id) != id:
            fail(pieces.file, f"token {id}", f"{show(text)} is the token {vocab[text]} already")
    model = {
        "type": "WordPiece",
        "continuing_subword_prefix": "",
        "max_input_chars_per_word": _NO_LIMIT,
        "vocab": vocab,
    }
    if unknown < len(pieces.texts):
        model["unk_token"] = pieces.texts[unknown]
    decoder = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": False}
    steps: tuple[Step, ...] = (
        (*_LEADING, "NFD", _DROPPED, ("ReplaceRegex", r"\p{M}", "")) if strip_accents else (_DROPPED,)
    )
    steps = (*steps, "Lowercase", _WORDS) if lowercase else (*steps, _WORDS)
    root = Json({"model": model, "pre_tokenizer": {"type": "WhitespaceSplit"}, "decoder": decoder}, pieces.file, "$")
    return read_pipeline(root, "WordPiece", steps, lambda _: added, [])


def read_unigram(
    pieces: Pieces,
    added: Sequence[AddedToken],
    unknown: int,
    charsmap: list[int] | None,
    prefix: bool,
    merges_spaces: bool,
) -> Vocabulary:
    """The vocabulary of a file whose model is t5.

    charsmap: the bytes of the `precompiled_charsmap`. prefix: whether a space is put before a text. merges_spaces: whether each
    word has one space before it.
    """
    check_texts(pieces)
    steps: list[Any] = []
    if charsmap:
        steps.append(character_map(bytes(value & 255 for value in charsmap)))
    if merges_spaces:
        steps += [("ReplaceRegex", "^ +| +$", ""), ("ReplaceRegex", " {2,}", " "), ("Prepend", MARK)]
    elif prefix:
        steps.append(("ReplaceRegex", "^(?= *[^ ])", MARK))  # a text of spaces only stays as it is
    steps.append(("Replace", " ", MARK))
    scores = [score for score, kind in zip(pieces.scores, pieces.kinds, strict=True) if kind == NORMAL]
    [below] = struct.unpack("f", struct.pack("f", min(scores, default=0.0) - 10))
    settings = {
        "type": "Unigram", "unk_id": unknown if unknown < len(pieces.texts) else None, "unknown_score": below,
        "left_out": [id for id, kind in enumerate(pieces.kinds) if kind not in (NORMAL, UNUSED)],
    }  # fmt: skip
    kinds = [NORMAL if kind == UNUSED else kind for kind in pieces.kinds]  # llama.cpp finds those too
    return unigram_vocabulary(pieces._replace(kinds=kinds), added, settings, tuple(steps), prefix or merges_spaces)


def check_texts(pieces: Pieces) -> None:
    """FormatError if a token is not Unicode text."""
    for id, text in enumerate(pieces.texts):
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            fail(pieces.file, f"token {id}", f"{show(text)} is not Unicode text")
