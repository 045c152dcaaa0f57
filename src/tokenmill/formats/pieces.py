"""The pieces of a SentencePiece model, and of a GGUF file of its kind: texts with scores and kinds, read and written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import isnan

from ..errors import ConversionError
from ..vocabulary import AddedToken, Vocabulary
from ..vocabulary.normalization import MARK
from .byte_alphabet import to_text
from .file_content import fail, show

BYTE_TEXT = re.compile("<0x[0-9A-Fa-f]{2}>")
BYTE_TEXTS = [f"<0x{byte:02X}>" for byte in range(256)]  # of the tokens that stand for bytes


class Kind:
    """The kinds of pieces, as a SentencePiece model has them."""

    NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


class Pieces:
    """The pieces of a file by id: text, score and kind. file: for messages.

    special: the ids in order of the pieces of other kinds and of empty ones, which no merges make.
    """

    def __init__(self, texts: list[str], scores: list[float], kinds: list[int], file: str):
        self.texts, self.scores, self.kinds, self.file = texts, scores, kinds, file
        self.special = [id for id, kind in enumerate(kinds) if kind != Kind.NORMAL or not texts[id]]

    def unlisted(self, fallback: bool) -> str | None:
        """Return why a Vocabulary, whose merges join pieces only, would give other ids; None if it gives the same.

        fallback: whether a character without a piece becomes its bytes.
        """
        kinds = (Kind.NORMAL, Kind.USER_DEFINED)
        letters = {text for text, kind in zip(self.texts, self.kinds, strict=True) if len(text) == 1 and kind in kinds}
        if fallback and MARK not in letters:
            return f"a space has no piece, and becomes the bytes of {MARK}"
        if missing := {*"".join(self.texts)} - letters:
            parts = missing.union(self.texts)
            for text, kind in zip(self.texts, self.kinds, strict=True):
                ends = (text[:1], text[1:]), (text[-1:], text[:-1])
                if kind == Kind.NORMAL and any(one in missing and rest in parts for one, rest in ends):
                    return f"the piece {show(text)} is made from a character that has no piece"
        return None


def check_scores(scores: list[float], file: str) -> None:
    """Raise FormatError for a score that is not a number, which cannot be ordered."""
    if isnan(sum(scores)):  # also for infinity minus infinity
        for id, score in enumerate(scores):
            if isnan(score):
                fail(file, f"piece {id}", "its score is not a number")


def added_tokens(pieces: Pieces) -> list[AddedToken]:
    """Return the tokens that are matched before merging: control tokens, the unknown token, and those that the user defined."""
    kinds = {Kind.CONTROL: True, Kind.UNKNOWN: True, Kind.USER_DEFINED: False}
    return [
        AddedToken(text, id, special=kinds[kind], normalized=not kinds[kind])
        for id, text, kind in ((id, pieces.texts[id], pieces.kinds[id]) for id in pieces.special)
        if kind in kinds and text
    ]


def byte_of(text: str, id: int, file: str) -> int:
    if not BYTE_TEXT.fullmatch(text):
        fail(file, f"piece {id}", f"{show(text)} is marked as a byte; expected <0x00> to <0xFF>")
    return int(text[3:5], 16)


def token_texts(vocabulary: Vocabulary, tokens: Iterable[bytes | None]) -> list[str | None]:
    """Return the texts of tokens in files: in the byte alphabet, or for characters with the mark for a space and <0x41> for bytes."""
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
    """Return the text of a token of characters; None for bytes that are not UTF-8."""
    try:
        return None if token is None else token.decode()
    except UnicodeDecodeError:
        return None


def one_name_each(vocabulary: Vocabulary, notes: list[str]) -> list[AddedToken]:
    """Return the added tokens in the order of their ids. Of several with one id only the last, to which it is decoded."""
    by_id = {token.id: token for token in vocabulary.added_tokens}
    for token in vocabulary.added_tokens:
        if by_id[token.id] is not token:
            name = by_id[token.id].content
            notes.append(f"the added token {token.content!r} is left out: its id, {token.id}, is that of {name!r} too")
    return [by_id[id] for id in sorted(by_id)]


def texts_and_kinds(
    vocabulary: Vocabulary, texts: Sequence[str | None], target: str, notes: list[str]
) -> tuple[list[str], list[int]]:
    """Return the text and the kind of each id. texts: those of the ordinary tokens.

    ConversionError for two ids with one text, of which `target` can represent only one. Losses are added to `notes`.
    """
    names = {token.id: token for token in one_name_each(vocabulary, notes)}
    others = {id: token.decode() for id, token in vocabulary.decode_only}
    byte_ids = {*vocabulary.byte_tokens}
    ids: dict[str, int] = {}
    kinds: list[int] = []
    for id in range(max(len(texts), vocabulary.n_vocab)):
        text = texts[id] if id < len(texts) else None
        if id in names:
            text, added = names[id].content, Kind.CONTROL if names[id].special else Kind.USER_DEFINED
            kinds.append(Kind.UNKNOWN if id == vocabulary.unknown else added)
        else:
            kinds.append(Kind.UNUSED if text is None else Kind.BYTE if id in byte_ids else Kind.NORMAL)
        put_text(ids, others.get(id, f"<unused {id}>") if text is None else text, id, target)
    return [*ids], kinds


def put_text(ids: dict[str, int], text: str, id: int, target: str) -> None:
    """Add a token to the ids by text of the file `target`; ConversionError if another token has the same text."""
    if (first := ids.setdefault(text, id)) != id:
        what = f"the ids {first} and {id} are both spelt {text!r}"
        raise ConversionError(f"{what}, and {target} can represent only one of them")
