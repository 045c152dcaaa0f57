"""Vocabularies that another library encodes with (`LibraryModel`): their added tokens, and the bytes that their tokens stand for.

tokenizers      tokenizer.json with WordPiece, WordLevel, Unigram, or BPE behind steps that the kernels do not have;
                WordPiece of GGUF (tokenizer.ggml.model is bert), as the tokenizer.json that gives llama.cpp's ids
sentencepiece   tokenizer.model with Unigram, words, characters, or BPE of a rare kind; Unigram of GGUF (t5)
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from ..errors import FormatError, require
from ..vocabulary import AddedToken, LibraryModel, Vocabulary
from ..vocabulary._packed_cy import pack_tokens
from ..vocabulary.validation import VocabularyError
from ..vocabulary.vocabulary import packed_vocabulary
from .byte_alphabet import to_token
from .file_content import MAX_ID, Json, fail, show
from .huggingface_text import normalizer_json, steps_of
from .pieces import (
    BYTE,
    CONTROL,
    MARK,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Pieces,
    added_tokens,
    byte_of,
    text_or_none,
)
from .tokenmill_json import added_json

_BYTE_TOKEN = re.compile("<0x[0-9A-Fa-f]{2}>")
_UNIGRAM = 1  # the algorithm's number in a SentencePiece model
_MOST_GROWTH = 1_000

# The normalizers that give the words of llama.cpp's WordPiece (llama_vocab::llm_tokenizer_wpm in src/llama-vocab.cpp).
_SIGNS = (  # each is a word: punctuation, symbols of ASCII, and ideographs
    r"\p{P}$+<=>^`|~\x{4e00}-\x{9fff}\x{3400}-\x{4dbf}\x{20000}-\x{2a6df}\x{2a700}-\x{2b73f}\x{2b740}-\x{2b81f}"
    r"\x{2b920}-\x{2ceaf}\x{f900}-\x{faff}\x{2f800}-\x{2fa1f}"
)
_LEADING = tuple(  # the 588 syllables of each leading consonant of Hangul
    ("ReplaceRegex", f"[{chr(0xAC00 + 588 * n)}-{chr(0xAC00 + 588 * n + 587)}]", chr(0x1100 + n)) for n in range(19)
)
_DROPPED = ("ReplaceRegex", r"[\x00\x{fffd}[\p{Cc}\p{Cf}\p{Co}&&[^\s]]]", "")
_WORDS = ("ReplaceRegex", rf"(?=[{_SIGNS}])|(?<![^\s{_SIGNS}])(?=\S)", f" {MARK}")  # before each word


def tokenizer_json_of_library(data: bytes, root: Json, kind: str, notes: Sequence[str]) -> Vocabulary:
    """The vocabulary of a tokenizer.json that tokenizers encodes with. root: the parsed file, perhaps without its tokens."""
    _check_merges(data, root)
    model = LibraryModel(data, kind)
    normalize = getattr(model.tokenizer.normalizer, "normalize_str", str)
    added = [
        AddedToken(token.content, id, *(getattr(token, flag) for flag in AddedToken._fields[2:]))
        for id, token in model.tokenizer.get_added_tokens_decoder().items()
    ]
    if empty := [token.content for token in added if token.normalized and not normalize(token.content)]:
        root["added_tokens"].fail(
            f"nothing is left of {show(empty[0])} after the normalizer, which tokenizers cannot find"
        )
    ids = model.tokenizer.get_vocab(with_added_tokens=False)
    if (highest := max(ids.values(), default=-1)) > MAX_ID:
        root["model"]["vocab"].fail(f"the id {highest} is not from 0 to {MAX_ID}")
    texts = list(map({id: text for text, id in ids.items()}.get, range(highest + 1)))
    return _vocabulary(model, _tokens_of(texts, root, kind), added, notes)


def sentencepiece_of_library(
    data: bytes, pieces: Pieces, kind: str, added: Sequence[AddedToken] | None = None, notes: Sequence[str] = ()
) -> Vocabulary:
    """The vocabulary of a SentencePiece model. added: the added tokens, by default its control tokens."""
    if added is None:
        added = [token for token in added_tokens(pieces) if token.special]
    model = LibraryModel(data, kind)
    try:
        model.tokenizer  # noqa: B018
    except VocabularyError as error:
        raise FormatError(f"{pieces.file}: {error}") from error
    tokens: list[bytes | None] = []
    for id, (text, piece_kind) in enumerate(zip(pieces.texts, pieces.kinds, strict=True)):
        if piece_kind == BYTE:
            tokens.append(bytes([byte_of(text, id, pieces.file)]))
        else:
            tokens.append(text.replace(MARK, " ").encode() if piece_kind in (NORMAL, USER_DEFINED) else None)
    return _vocabulary(model, tokens, added, notes)


def word_piece_of_gguf(
    pieces: Pieces, added: Sequence[AddedToken], unknown: int, lowercase: bool, strip_accents: bool
) -> Vocabulary:
    """The vocabulary of a GGUF file whose model is bert.

    U+2581 begins a word and a token that begins one, where BERT's own files have ## before the other tokens. Characters lose
    their case and marks; of a Hangul syllable the leading consonant is left. unknown: the id of the unknown token.
    """
    vocab: dict[str, int] = {}
    for id, text in enumerate(pieces.texts):
        if vocab.setdefault(text, id) != id:
            fail(pieces.file, f"token {id}", f"{show(text)} is the token {vocab[text]} already")
    marks: tuple[Any, ...] = (
        (*_LEADING, "NFD", _DROPPED, ("ReplaceRegex", r"\p{M}", "")) if strip_accents else (_DROPPED,)
    )
    root = {
        "added_tokens": [added_json(token) for token in added],
        "normalizer": normalizer_json((*marks, "Lowercase", _WORDS) if lowercase else (*marks, _WORDS)),
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "decoder": {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": False},
        "model": {
            "type": "WordPiece",
            "unk_token": pieces.texts[unknown] if 0 <= unknown < len(pieces.texts) else "",
            "continuing_subword_prefix": "",
            "max_input_chars_per_word": 1 << 30,
            "vocab": vocab,
        },
    }  # fmt: skip
    try:
        data = json.dumps(root, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        wrong = next(id for id, piece in enumerate(pieces.texts) if error.object[error.start] in piece)
        fail(pieces.file, f"token {wrong}", f"{show(pieces.texts[wrong])} is not Unicode text")
    return tokenizer_json_of_library(data, Json(root, pieces.file, "$"), "WordPiece", ())


def unigram_of_gguf(
    pieces: Pieces, added: Sequence[AddedToken], unknown: int, charsmap: bytes, prefix: bool, merges_spaces: bool
) -> Vocabulary:
    """The vocabulary of a GGUF file whose model is t5: the SentencePiece model that it was made from.

    Added tokens are found before the model sees a text, as in llama.cpp. charsmap: its `precompiled_charsmap`. prefix: whether a space is put before a text. merges_spaces: whether each word has
    one space before it.
    """
    messages: Any = require("sentencepiece.sentencepiece_model_pb2", "libraries", "a Unigram tokenizer in GGUF")
    model = messages.ModelProto()
    for id, (text, score, kind) in enumerate(zip(pieces.texts, pieces.scores, pieces.kinds, strict=True)):
        kind = UNKNOWN if id == unknown else {UNKNOWN: CONTROL, USER_DEFINED: CONTROL, UNUSED: NORMAL}.get(kind, kind)
        pieces.kinds[id] = kind
        try:
            model.pieces.add(piece=text, score=score, type=kind)
        except (ValueError, UnicodeError):
            fail(
                pieces.file, f"token {id}", f"{show(text)} is not Unicode text, or not of a kind that SentencePiece has"
            )
    model.trainer_spec.model_type = _UNIGRAM
    model.trainer_spec.byte_fallback = BYTE in pieces.kinds
    spec = model.normalizer_spec
    spec.precompiled_charsmap = charsmap
    spec.add_dummy_prefix = prefix or merges_spaces
    spec.remove_extra_whitespaces = merges_spaces
    note = (
        "encoded by sentencepiece, which adds scores in single precision; llama.cpp adds them in double precision and puts no "
        "space before a text of spaces, so a few texts get other ids there"
    )
    return sentencepiece_of_library(model.SerializeToString(deterministic=True), pieces, "Unigram", added, [note])


def check_growth(root: Json) -> None:
    """FormatError if the replacements of a tokenizer.json can make a text so long that it takes all memory."""
    for name in ("normalizer", "decoder"):
        growth = 1
        for step in steps_of(root[name]):
            if step["type"].value == "Replace":
                old, new = step["pattern"]["String"], step["content"].expect(str)
                growth *= max(1, len(new) // (1 if old.absent else max(1, len(old.expect(str)))))
        if growth > _MOST_GROWTH:
            root[name].fail(
                f"its replacements make a text up to {growth:,} times longer; at most {_MOST_GROWTH:,} times is read"
            )


def _check_merges(data: bytes, root: Json) -> None:
    """FormatError for a merge that tokenizers ends the process for: it cuts as many bytes as the prefix has off the right part."""
    if root["model"]["continuing_subword_prefix"].absent:
        return
    size = len(root["model"]["continuing_subword_prefix"].expect(str).encode())
    for n, merge in enumerate(json.loads(data)["model"].get("merges") or ()):
        right = (merge.split(" ") if isinstance(merge, str) else merge)[-1].encode()
        if not (size <= len(right) and text_or_none(right[size:]) is not None):
            Json(None, root.file, f"$.model.merges[{n}]").fail(
                f"{show(merge)} does not end with a token that continues a word"
            )


def _vocabulary(
    model: LibraryModel, tokens: Sequence[bytes | None], added: Sequence[AddedToken], notes: Sequence[str]
) -> Vocabulary:
    ids = {token.id for token in added}
    ordinary = tuple(None if id in ids else token or None for id, token in enumerate(tokens))
    return packed_vocabulary(
        pack_tokens(ordinary),
        split_patterns=(),
        order="library",
        library=model,
        added_tokens=tuple(added),
        whole_pretokens=False,
        alphabet="characters",
        notes=tuple(notes),
    )


def _tokens_of(texts: list[str | None], root: Json, kind: str) -> list[bytes | None]:
    """The bytes that the tokens of a tokenizer.json stand for in text. texts: as the file spells them.

    A token that would stand for nothing, such as one that is only a prefix, stands for its own spelling.
    """
    model = root["model"]
    prefix, suffix = (model[name].value or "" for name in ("continuing_subword_prefix", "end_of_word_suffix"))
    begins = " " if prefix and kind == "WordPiece" else ""  # what a token without the prefix begins with
    steps = [step for name in ("pre_tokenizer", "decoder") for step in steps_of(root[name])]
    mark = MARK if MARK in json.dumps([step.value for step in steps], ensure_ascii=False) else ""
    has_bytes = bool(model["byte_fallback"].value)
    stems = [text and text.removesuffix(suffix) for text in texts]
    ends = [" " if suffix and text and text.endswith(suffix) else "" for text in texts]
    byte_level = any(step["type"].value == "ByteLevel" for step in steps_of(root["pre_tokenizer"]))
    if prefix and not byte_level:
        stems = [stem and (stem[len(prefix) :] if stem.startswith(prefix) else begins + stem) for stem in stems]

    def bytes_of(stem: str) -> bytes:
        if byte_level:
            return to_token(stem) or stem.encode()
        if has_bytes and _BYTE_TOKEN.fullmatch(stem):
            return bytes([int(stem[3:5], 16)])
        return stem.replace(mark or " ", " ").encode()

    named = zip(texts, stems, ends, strict=True)
    return [(bytes_of(stem or "") + end.encode() or text.encode()) if text else None for text, stem, end in named]
