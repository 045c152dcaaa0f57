"""The pieces of a SentencePiece model, and of a GGUF file of its kind: texts with scores and kinds."""

from __future__ import annotations

from itertools import compress, count, repeat
from math import isnan
from operator import ne
from typing import NamedTuple

from ..vocabulary import AddedToken
from .file_content import fail, show

MARK = "\u2581"  # stands for a space
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # kinds of pieces


class Pieces(NamedTuple):
    """The pieces of a file by id: text, score and kind. file: for messages."""

    texts: list[str]
    scores: list[float]
    kinds: list[int]
    file: str


def check_scores(pieces: Pieces) -> None:
    """Raise FormatError for a score that is not a number, which has no place in an order."""
    if isnan(sum(pieces.scores)):  # or infinity minus infinity
        for id, score in enumerate(pieces.scores):
            if isnan(score):
                fail(pieces.file, f"piece {id}", "its score is not a number")


def added_tokens(pieces: Pieces) -> list[AddedToken]:
    """The tokens that are found before merging: control tokens, the unknown token, and those that the user defined.

    One with a space in it is never found, because the text has the mark there.
    """
    kinds = {CONTROL: True, UNKNOWN: True, USER_DEFINED: False}
    return [
        AddedToken(text, id, special=kinds[kind], normalized=not kinds[kind])
        for id, text, kind in ((id, pieces.texts[id], pieces.kinds[id]) for id in special_ids(pieces))
        if kind in kinds and text and not (kind == USER_DEFINED and " " in text)
    ]


def special_ids(pieces: Pieces) -> list[int]:
    """The ids of the pieces that merges do not make: those of another kind, and empty ones."""
    ids = {*compress(count(), map(ne, pieces.kinds, repeat(NORMAL)))}
    if "" in pieces.texts:
        ids |= {id for id, text in enumerate(pieces.texts) if not text}
    return sorted(ids)


def byte_of(text: str, id: int, file: str) -> int:
    if len(text) == 6 and text.startswith("<0x") and text.endswith(">"):
        try:
            return int(text[3:5], 16)
        except ValueError:
            pass
    fail(file, f"piece {id}", f"{show(text)} is said to be a byte; expected <0x00> to <0xFF>")
