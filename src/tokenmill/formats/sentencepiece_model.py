"""SentencePiece's own file, tokenizer.model: a protobuf message with pieces, their scores and kinds, and a normalizer.

A piece of a BPE model has a score. Any two neighbours that spell a piece merge, the one of the highest score first, and the
leftmost of several. That is the order "scores" of a Vocabulary, which lists each pair of pieces that spells one. The same
rule is used by llama.cpp for GGUF files of this kind, so `scored_vocabulary` serves both.
"""

from __future__ import annotations

import binascii
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..vocabulary import AddedToken, Normalization, Vocabulary
from ..vocabulary.normalization import Step, Stripped
from ..vocabulary.vocabulary import packed_vocabulary
from ._bpe_tables_cy import tables_of
from ._protobuf_cy import read_fields, read_pieces
from .file_content import MAX_ID, fail, show
from .pieces import BYTE, CONTROL, MARK, UNKNOWN, UNUSED, USER_DEFINED, Pieces, added_tokens, byte_of, check_scores

UNIGRAM, BPE = 1, 2
UNKNOWN_SURFACE = " \u2047 ".encode()  # unless the trainer's unk_surface says otherwise
_ALGORITHMS = {UNIGRAM: "Unigram", BPE: "BPE", 3: "word", 4: "character"}


class NormalizerSpec(NamedTuple):
    """The settings of a model's normalizer."""

    precompiled_charsmap: bytes
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool

    def normalization(self, kept: Sequence[str] = (), in_text: bool = False) -> Normalization:
        """Return the `Normalization` that a Vocabulary with these settings has.

        kept: the symbols of the user, which the character map leaves as they are.
        in_text: whether the space before a text is not one of the steps, but `add_prefix_space`.
        """
        prefix, removes = self.add_dummy_prefix, self.remove_extra_whitespaces
        steps: list[Step] = []
        if self.precompiled_charsmap:
            map = binascii.b2a_base64(self.precompiled_charsmap, newline=False).decode()
            steps.append(("CharacterMap", map, "\0".join(sorted(kept))))
        if removes:
            steps += [("ReplaceRegex", f"^ +|[ {MARK}]+$", ""), ("ReplaceRegex", " {2,}", " ")]
        if prefix and not in_text:  # before a map that may leave nothing of the text
            steps.insert(len(steps) if removes else 0, ("Prepend", MARK))
        steps.append(("Replace", " ", MARK))
        stripped: Stripped = "spaces" if removes else "space" if prefix else ""
        return Normalization(tuple(steps), "text" if prefix and in_text else False, MARK, stripped)


def looks_like_sentencepiece(data: bytes) -> bool:
    """Whether `data` begins with a piece, as the message ModelProto does: field 1, a length, and in it field 1, a text."""
    return len(data) > 8 and data[0] == 0x0A and data[1] < 0x80 and data[2] == 0x0A and data[3] < data[1]


def parse_sentencepiece(data: bytes, file: str) -> Vocabulary:
    """The vocabulary of a model. FormatError names what is wrong."""
    try:
        texts, scores, kinds, messages = read_pieces(data)
        training, normalizing = read_fields(messages.get(2, b"")), read_fields(messages.get(3, b""))
    except ValueError as error:
        where = f"piece {error}" if str(error) else ""
        fail(file, where, "not a SentencePiece model, cut short, or with text that is not UTF-8")
    if not texts:
        fail(file, "", "contains no pieces")
    algorithm = training.get(3, UNIGRAM)
    if algorithm not in _ALGORITHMS:
        fail(file, "", f"this is a SentencePiece model of the unknown algorithm {algorithm}")
    pieces = Pieces(texts, scores, kinds, file)
    check_scores(scores, file)
    map = normalizing.get(2, b"")
    normalizer = NormalizerSpec(map if isinstance(map, bytes) else b"", *(bool(normalizing.get(n, 1)) for n in (3, 4)))
    kept = [texts[id] for id in pieces.special if kinds[id] == USER_DEFINED]
    unused = any(kinds[id] == UNUSED for id in pieces.special)
    # 24: treat_whitespace_as_suffix
    if algorithm != BPE or unused or training.get(24) or _meets_spaces(normalizer, kept):
        from .library_files import sentencepiece_of_library  # late: most models need only the kernels

        return sentencepiece_of_library(data, pieces, _ALGORITHMS[algorithm])
    added = added_tokens(pieces)
    in_text = any(not token.special for token in added)
    surface = training.get(44)
    return scored_vocabulary(
        pieces,
        added,
        normalization=normalizer.normalization(kept, in_text),
        fallback=bool(training.get(35)),
        unknown_surface=surface if isinstance(surface, bytes) else UNKNOWN_SURFACE,
    )


def _meets_spaces(normalizer: NormalizerSpec, kept: Sequence[str]) -> bool:
    """Whether symbols of the user decide which spaces are put before a text or removed, which steps cannot say."""
    prefix, removes = normalizer.add_dummy_prefix, normalizer.remove_extra_whitespaces
    if any(not text.strip(MARK + " \n") for text in kept) and (prefix or removes):
        return True
    if prefix and any(text.startswith(MARK) for text in kept):  # the space before a text begins such a symbol
        return True
    return bool(kept and normalizer.precompiled_charsmap) and prefix and not removes


def scored_vocabulary(
    pieces: Pieces, added: Sequence[AddedToken], *, fallback: bool, unknown_surface: bytes | None = None, **fields: Any
) -> Vocabulary:
    """The Vocabulary of pieces with scores. `fields`: further fields of it.

    fallback: whether bytes stand for characters.
    unknown_surface: what the unknown token is decoded to, where control tokens are decoded to nothing.
    """
    kinds = pieces.kinds
    if len(kinds) > MAX_ID:
        fail(pieces.file, "", f"contains {len(kinds)} pieces, more than {MAX_ID}")
    texts: list[str | None] = list(pieces.texts)  # of the pieces that merges make
    byte_tokens: list[int | None] = [None] * 256
    bytes_of: dict[int, int] = {}
    decode_only: dict[int, bytes] = {}
    for id in pieces.special:
        text, kind, texts[id] = pieces.texts[id], kinds[id], None
        if kind == BYTE:
            bytes_of[id] = byte_of(text, id, pieces.file)
            byte_tokens[bytes_of[id]] = id
        elif kind == USER_DEFINED and " " in text:
            decode_only[id] = text.encode()
        elif unknown_surface is not None and text and kind in (CONTROL, UNKNOWN):
            decode_only[id] = unknown_surface if kind == UNKNOWN else b""
    try:
        tables = tables_of(texts)
    except ValueError as error:
        id = int(str(error))
        first = texts.index(texts[id])
        what = "is not Unicode text" if first == id else f"is piece {first} already"
        fail(pieces.file, f"piece {id}", f"{show(texts[id])} {what}")
    tables.put_scored(pieces.scores)
    unused = tables.place(MARK, bytes_of)  # a text with a space is never found
    *packed, rows = tables.finish(unused, (), ())
    used = fallback and any(id is not None for id in byte_tokens)
    unknown = kinds.index(UNKNOWN) if UNKNOWN in kinds else None
    return packed_vocabulary(
        (packed[0], packed[1]),
        rows,
        split_patterns=(),
        order="scores",
        added_tokens=tuple(added),
        whole_pretokens=False,
        alphabet="characters",
        unknown=unknown,
        byte_tokens=tuple(byte_tokens) if used else (),
        fuse_unknown=unknown is not None,
        decode_only=tuple(decode_only.items()),
        **fields,
    )
