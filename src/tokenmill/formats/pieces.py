"""The pieces of a SentencePiece model, and of a GGUF file of its kind: texts with scores and kinds."""

from __future__ import annotations

from itertools import compress, count, repeat
from math import isnan
from operator import ne

from ..vocabulary import AddedToken
from .file_content import fail, show

MARK = "\u2581"  # stands for a space
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # kinds of pieces


class Pieces:
    """The pieces of a file by id: text, score and kind. file: for messages.

    special: the ids of the pieces that merges do not make, in order: those of another kind, and empty ones.
    """

    def __init__(self, texts: list[str], scores: list[float], kinds: list[int], file: str):
        self.texts, self.scores, self.kinds, self.file = texts, scores, kinds, file
        ids = {*compress(count(), map(ne, kinds, repeat(NORMAL)))}
        if "" in texts:
            ids |= {id for id, text in enumerate(texts) if not text}
        self.special = sorted(ids)


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
    kinds = {CONTROL: True, UNKNOWN: True, USER_DEFINED: False}
    return [
        AddedToken(text, id, special=kinds[kind], normalized=not kinds[kind])
        for id, text, kind in ((id, pieces.texts[id], pieces.kinds[id]) for id in pieces.special)
        if kind in kinds and text and not (kind == USER_DEFINED and " " in text)
    ]


def byte_of(text: str, id: int, file: str) -> int:
    if len(text) == 6 and text.startswith("<0x") and text.endswith(">"):
        try:
            return int(text[3:5], 16)
        except ValueError:
            pass
    fail(file, f"piece {id}", f"{show(text)} is said to be a byte; expected <0x00> to <0xFF>")
