"""Vocabularies that another library encodes with (`LibraryModel`): their added tokens, and the bytes of their tokens.

tokenizers      tokenizer.json with WordPiece, WordLevel, Unigram, or BPE after steps that the kernels do not have
sentencepiece   tokenizer.model with Unigram, words, characters, or BPE of a rare kind
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Sequence

from ..errors import FormatError
from ..vocabulary import AddedToken, LibraryModel, Vocabulary
from ..vocabulary._packed_cy import pack_tokens
from ..vocabulary.normalization import MARK
from ..vocabulary.validation import VocabularyError
from ..vocabulary.vocabulary import packed_vocabulary
from .byte_alphabet import to_token
from .file_content import MAX_ID, Json, show
from .huggingface_sections import steps_of
from .pieces import BYTE_TEXT, Kind, Pieces, added_tokens, byte_of, text_or_none

_MOST_GROWTH = 1_000


def tokenizer_json_of_library(data: bytes, root: Json, kind: str) -> Vocabulary:
    """Return the vocabulary of a tokenizer.json that tokenizers encodes with. root: the parsed file, perhaps without its tokens."""
    _check_merges(data, root)
    _check_character_maps(root)
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
    return _vocabulary(model, _tokens_of(texts, root, kind), added)


def sentencepiece_of_library(data: bytes, pieces: Pieces, kind: str) -> Vocabulary:
    """Return the vocabulary of a SentencePiece model. Its control tokens are the added tokens."""
    model = LibraryModel(data, kind)
    try:
        model.tokenizer  # noqa: B018
    except VocabularyError as error:
        raise FormatError(f"{pieces.file}: {error}") from error
    tokens: list[bytes | None] = []
    for id, (text, piece_kind) in enumerate(zip(pieces.texts, pieces.kinds, strict=True)):
        if piece_kind == Kind.BYTE:
            tokens.append(bytes([byte_of(text, id, pieces.file)]))
        else:
            tokens.append(text.replace(MARK, " ").encode() if piece_kind in (Kind.NORMAL, Kind.USER_DEFINED) else None)
    added = [token for token in added_tokens(pieces) if token.special]
    return _vocabulary(model, tokens, added)


def check_growth(root: Json) -> None:
    """Raise FormatError if the replacements of a tokenizer.json can make a text too long for the memory."""
    for name in ("normalizer", "decoder"):
        growth = 1
        for step in steps_of(root[name]):
            if step["type"].value == "Replace":
                old, new = step["pattern"]["String"], step["content"].expect(str)
                growth *= max(1, len(new) // (1 if old.absent else max(1, len(old.expect(str)))))
        if growth > _MOST_GROWTH:
            root[name].fail(
                f"its replacements can make a text {growth:,} times longer; at most {_MOST_GROWTH:,} times is read"
            )


def _check_merges(data: bytes, root: Json) -> None:
    """Raise FormatError for a merge that makes tokenizers end the process: it removes the bytes of the prefix from the right token."""
    if root["model"]["continuing_subword_prefix"].absent:
        return
    size = len(root["model"]["continuing_subword_prefix"].expect(str).encode())
    for merge in Json(json.loads(data)["model"].get("merges"), root.file, "$.model.merges"):
        pair = merge.value.split(" ") if isinstance(merge.value, str) else merge.value
        right = pair[-1] if isinstance(pair, list) and pair else None
        end = right.encode("utf-8", "surrogatepass") if isinstance(right, str) else b""
        if len(end) < size or text_or_none(end[size:]) is None:
            merge.fail(f"{show(merge.value)} does not end with a token that continues a word")


def _check_character_maps(root: Json) -> None:
    """Raise FormatError for a character map that makes tokenizers panic. A map is a size, a trie of this size, and text."""
    for step in steps_of(root["normalizer"]):
        if step["type"].value == "Precompiled":
            try:
                map = binascii.a2b_base64(step["precompiled_charsmap"].expect(str), strict_mode=True)
                end = 4 + int.from_bytes(map[:4], "little") // 4 * 4
                map[end:].decode()
            except ValueError as error:
                step["precompiled_charsmap"].fail(f"the character map is damaged: {error}")
            if end > len(map) or len(map) < 4:
                step["precompiled_charsmap"].fail("the character map is cut short")


def _vocabulary(model: LibraryModel, tokens: Sequence[bytes | None], added: Sequence[AddedToken]) -> Vocabulary:
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
        decode_only=tuple((id, b"") for id, token in enumerate(tokens) if token == b"" and id not in ids),
    )


def _tokens_of(texts: list[str | None], root: Json, kind: str) -> list[bytes | None]:
    """Return the bytes of tokens in text by their spellings; the spelling itself if that would be nothing."""
    model = root["model"]
    prefix, suffix = (model[name].value or "" for name in ("continuing_subword_prefix", "end_of_word_suffix"))
    begins = " " if prefix and kind == "WordPiece" else ""  # the start of a token without the prefix
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
        if has_bytes and BYTE_TEXT.fullmatch(stem):
            return bytes([int(stem[3:5], 16)])
        return stem.replace(mark or " ", " ").encode()

    named = zip(texts, stems, ends, strict=True)
    return [None if text is None else bytes_of(stem or "") + end.encode() or text.encode() for text, stem, end in named]
