"""The pieces of a SentencePiece model, and of a GGUF file of its kind: texts with scores and kinds, read and written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import isnan

from ..errors import ConversionError
from ..vocabulary import AddedToken, Vocabulary
from .byte_alphabet import to_text
from .file_content import fail, show

BYTE_TEXT = re.compile("<0x[0-9A-Fa-f]{2}>")
BYTE_TEXTS = [f"<0x{byte:02X}>" for byte in range(256)]  # of the tokens that stand for bytes


class Kind:
    """The kinds of pieces, as a SentencePiece model has them."""

    NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


class Pieces:
    """The pieces of a file by id: text, score and kind. file: for messages.

    special: the ids of the pieces that merges do not make, in order: those of another kind, and empty ones.
    """

    def __init__(self, texts: list[str], scores: list[float], kinds: list[int], file: str):
        self.texts, self.scores, self.kinds, self.file = texts, scores, kinds, file
        self.special = [id for id, kind in enumerate(kinds) if kind != Kind.NORMAL or not texts[id]]


def check_scores(scores: list[float], file: str) -> None:
    """Raise FormatError for a score that is not a number, which has no place in an order."""
    if isnan(sum(scores)):  # or infinity minus infinity
        for id, score in enumerate(scores):
            if isnan(score):
                fail(file, f"piece {id}", "its score is not a number")


def added_tokens(pieces: Pieces) -> list[AddedToken]:
    """The tokens that are found before merging: control tokens, the unknown token, and those that the user defined.

    One with a space in it is never found, because the text has the mark there.
    """
    kinds = {Kind.CONTROL: True, Kind.UNKNOWN: True, Kind.USER_DEFINED: False}
    return [
        AddedToken(text, id, special=kinds[kind], normalized=not kinds[kind])
        for id, text, kind in ((id, pieces.texts[id], pieces.kinds[id]) for id in pieces.special)
        if kind in kinds and text and not (kind == Kind.USER_DEFINED and " " in text)
    ]


def byte_of(text: str, id: int, file: str) -> int:
    if not BYTE_TEXT.fullmatch(text):
        fail(file, f"piece {id}", f"{show(text)} is marked as a byte; expected <0x00> to <0xFF>")
    return int(text[3:5], 16)


def token_texts(vocabulary: Vocabulary, tokens: Iterable[bytes | None]) -> list[str | None]:
    """The tokens as files have them: in the byte alphabet; or of characters as text, those of bytes as <0x41>, with the mark for a space."""
    if vocabulary.alphabet == "bytes":
        return [None if token is None else to_text(token) for token in tokens]
    texts = [text_or_none(token) for token in tokens]
    if mark := vocabulary.normalization.space_mark:
        texts = [text and text.replace(" ", mark) for text in texts]
    for text, id in zip(BYTE_TEXTS, vocabulary.byte_tokens, strict=False):
        if id is not None:
            texts[id] = text
    return texts


def text_or_none(token: bytes | None) -> str | None:
    """The text of a token of characters; None for a byte that belongs to no character, which no text has."""
    try:
        return None if token is None else token.decode()
    except UnicodeDecodeError:
        return None


def one_name_each(vocabulary: Vocabulary, notes: list[str]) -> list[AddedToken]:
    """The added tokens by id. Of several with one id the file can hold one: the last, which decoding gives."""
    by_id = {token.id: token for token in vocabulary.added_tokens}
    for token in vocabulary.added_tokens:
        if by_id[token.id] is not token:
            name = by_id[token.id].content
            notes.append(f"the added token {token.content!r} is left out: its id, {token.id}, is that of {name!r} too")
    return [by_id[id] for id in sorted(by_id)]


def texts_and_kinds(
    vocabulary: Vocabulary, texts: Sequence[str | None], target: str, notes: list[str]
) -> tuple[list[str], list[int]]:
    """The text and the kind of each id. No text gives an id that is unused. texts: those of the ordinary tokens.

    ConversionError for two ids with one text, of which `target` can represent only one. What is left out is noted.
    """
    names = {token.id: token for token in one_name_each(vocabulary, notes)}
    others = {id: token.decode() for id, token in vocabulary.decode_only}
    bytes_of = {*vocabulary.byte_tokens}
    found: list[str] = []
    kinds: list[int] = []
    for id in range(max(len(texts), vocabulary.n_vocab)):
        text = texts[id] if id < len(texts) else None
        if id in names:
            found.append(names[id].content)
            kinds.append(
                Kind.UNKNOWN if id == vocabulary.unknown else Kind.CONTROL if names[id].special else Kind.USER_DEFINED
            )
        else:
            found.append(others.get(id, f"<unused {id}>") if text is None else text)
            kinds.append(Kind.UNUSED if text is None else Kind.BYTE if id in bytes_of else Kind.NORMAL)
    ids: dict[str, int] = {}
    for id, text in enumerate(found):
        put_text(ids, text, id, target)
    return found, kinds


def put_text(ids: dict[str, int], text: str, id: int, target: str) -> None:
    """Put a token into the table that `target` holds; ConversionError if another one is spelt like it."""
    if (first := ids.setdefault(text, id)) != id:
        what = f"the ids {first} and {id} are both spelt {text!r}"
        raise ConversionError(f"{what}, and {target} can represent only one of them")
