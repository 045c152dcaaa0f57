"""SentencePiece's own file, tokenizer.model: a protobuf message with pieces, their scores and kinds, and a normalizer.

A piece of a BPE model has a score. Any two neighbours that spell a piece merge, the one of the highest score first, and the
leftmost of several. That is the order "scores" of a Vocabulary, which lists each pair of pieces that spells one. The same
rule is used by llama.cpp for GGUF files of this kind, so `scored_vocabulary` serves both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..vocabulary import AddedToken, Pipeline, Vocabulary
from ..vocabulary._packed_cy import pack_tokens
from ..vocabulary.packed import PackedVocabulary
from ..vocabulary.vocabulary import Step
from ._bpe_tables_cy import scored_pieces
from ._protobuf_cy import read_fields, read_pieces
from .file_content import MAX_ID, fail, show

MARK = "\u2581"  # stands for a space
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)  # kinds of pieces
UNIGRAM, BPE = 1, 2
_ALGORITHMS = {3: "word", 4: "character"}


class Pieces(NamedTuple):
    """The pieces of a file by id: text, score and kind. file: for messages."""

    texts: list[str]
    scores: list[float]
    kinds: list[int]
    file: str


class NormalizerSpec(NamedTuple):
    """The normalizer of a model."""

    precompiled_charsmap: bytes
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool


def looks_like_sentencepiece(data: bytes) -> bool:
    """Whether `data` begins with a piece, as the message ModelProto does: field 1, a length, and in it field 1, a text."""
    return len(data) > 8 and data[0] == 0x0A and data[1] < 0x80 and data[2] == 0x0A and data[3] < data[1]


def parse_sentencepiece(data: bytes, file: str) -> Vocabulary:
    """The vocabulary of a BPE model. FormatError names what is wrong, or another algorithm."""
    try:
        texts, scores, kinds, messages = read_pieces(data)
        training, normalizing = read_fields(messages.get(2, b"")), read_fields(messages.get(3, b""))
    except ValueError as error:
        where = f"piece {error}" if str(error) else ""
        fail(file, where, "not a SentencePiece model, cut short, or with text that is not UTF-8")
    if not texts:
        fail(file, "", "holds no pieces")
    algorithm = training.get(3, UNIGRAM)
    if algorithm not in (BPE, UNIGRAM):
        name = _ALGORITHMS.get(algorithm, "unknown")
        fail(file, "", f"this is a SentencePiece model of the algorithm {name}; tokenmill reads BPE and Unigram")
    if training.get(24):
        fail(file, "", "puts the space behind a word (treat_whitespace_as_suffix), which tokenmill does not do")
    map = normalizing.get(2, b"")
    normalizer = NormalizerSpec(map if isinstance(map, bytes) else b"", *(bool(normalizing.get(n, 1)) for n in (3, 4)))
    fallback = bool(training.get(35))
    pieces = Pieces(texts, scores, kinds, file)
    kept = [texts[id] for id in special_ids(pieces) if kinds[id] == USER_DEFINED]
    if algorithm == UNIGRAM:
        return _unigram(pieces, normalizer_steps(normalizer, kept), fallback, normalizer.add_dummy_prefix)
    added = added_tokens(pieces)
    in_text = any(not token.special for token in added)
    prefix: Any = "text" if in_text and normalizer.add_dummy_prefix else False
    steps = normalizer_steps(normalizer, kept, in_text)
    return scored_vocabulary(
        pieces,
        added,
        normalizers=steps,
        add_prefix_space=prefix,
        strip_decoded="space" if normalizer.add_dummy_prefix else "",
        fallback=fallback,
    )


def normalizer_steps(normalizer: NormalizerSpec, kept: Sequence[str], in_text: bool = False) -> tuple[Step, ...]:
    """The steps of a normalizer.

    kept: the symbols of the user, which the character map leaves as they are.
    in_text: whether the space before a text is not one of the steps, but `add_prefix_space`.
    """
    steps: list[Step] = []
    if normalizer.precompiled_charsmap:
        steps.append(character_map(normalizer.precompiled_charsmap, kept))
    if normalizer.remove_extra_whitespaces:
        steps += [("ReplaceRegex", f"^ +|[ {MARK}]+$", ""), ("ReplaceRegex", " {2,}", " ")]
    if normalizer.add_dummy_prefix and not in_text:  # before a map that may leave nothing of the text
        steps.insert(len(steps) if normalizer.remove_extra_whitespaces else 0, ("Prepend", MARK))
    return (*steps, ("Replace", " ", MARK))


def character_map(data: bytes, kept: Sequence[str] = ()) -> Step:
    """The step of a `precompiled_charsmap`, which leaves the texts `kept` as they are."""
    import base64

    return "CharacterMap", base64.b64encode(data).decode(), "\0".join(sorted(kept))


def _unigram(pieces: Pieces, steps: tuple[Step, ...], fallback: bool, prefix: bool) -> Vocabulary:
    """The vocabulary of a Unigram model. Symbols that the user defined are ordinary tokens that win against others."""
    kinds = pieces.kinds
    settings = {
        "type": "Unigram", "unk_id": kinds.index(UNKNOWN) if UNKNOWN in kinds else None, "byte_fallback": fallback,
        "single_precision": True, "left_out": [id for id, kind in enumerate(kinds) if kind != NORMAL],
        "user_defined": [id for id, kind in enumerate(kinds) if kind == USER_DEFINED],
    }  # fmt: skip
    added = [token for token in added_tokens(pieces) if token.special]
    return unigram_vocabulary(pieces, added, settings, steps, prefix)


def unigram_vocabulary(
    pieces: Pieces, added: Sequence[AddedToken], settings: dict[str, Any], steps: tuple[Step, ...], prefix: bool
) -> Vocabulary:
    """The vocabulary of a Unigram model with these settings. prefix: whether decoding leaves out a space at the start."""
    if len(pieces.kinds) > MAX_ID:
        fail(pieces.file, "", f"holds {len(pieces.kinds)} pieces, more than {MAX_ID}")
    decoders: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"String": MARK}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ]
    if prefix:
        decoders.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    names = {token.id for token in added}
    tokens = [
        None
        if id in names or kind not in (NORMAL, USER_DEFINED, BYTE) or not text
        else text.replace(MARK, " ").encode()
        for id, (text, kind) in enumerate(zip(pieces.texts, pieces.kinds, strict=True))
    ]
    for id, kind in enumerate(pieces.kinds):
        if kind == BYTE:
            tokens[id] = bytes([_byte_of(pieces.texts[id], id, pieces.file)])
    return PackedVocabulary.of(
        pack_tokens(tuple(tokens)),
        b"",
        split_patterns=(),
        order="unigram",
        added_tokens=tuple(added),
        whole_pretokens=False,
        alphabet="characters",
        normalizers=steps,
        decode_only=tuple(
            (id, pieces.texts[id].encode()) for id, token in enumerate(tokens) if token is None and id not in names
        ),
        pipeline=Pipeline(
            tuple(pieces.texts), settings, None, {"type": "Sequence", "decoders": decoders}, tuple(pieces.scores)
        ),
    )


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
    return [id for id, kind in enumerate(pieces.kinds) if kind != NORMAL or not pieces.texts[id]]


def scored_vocabulary(pieces: Pieces, added: Sequence[AddedToken], *, fallback: bool, **fields: Any) -> Vocabulary:
    """The Vocabulary of pieces with scores. `fields`: further fields of it. fallback: whether bytes stand for characters."""
    kinds = pieces.kinds
    if len(kinds) > MAX_ID:
        fail(pieces.file, "", f"holds {len(kinds)} pieces, more than {MAX_ID}")
    if UNUSED in kinds:
        fail(
            pieces.file,
            f"piece {kinds.index(UNUSED)}",
            "is unused: SentencePiece takes it apart again, tokenmill does not",
        )
    texts: list[str | None] = list(pieces.texts)  # of the pieces that merges make
    byte_tokens: list[int | None] = [None] * 256
    bytes_of: dict[int, int] = {}
    decode_only: dict[int, bytes] = {}
    for id in special_ids(pieces):
        text, kind, texts[id] = pieces.texts[id], kinds[id], None
        if kind == BYTE:
            bytes_of[id] = _byte_of(text, id, pieces.file)
            byte_tokens[bytes_of[id]] = id
        elif kind == USER_DEFINED and " " in text:
            decode_only[id] = text.encode()
    packed, rows = _tables(pieces, texts, bytes_of)
    used = fallback and any(id is not None for id in byte_tokens)
    unknown = kinds.index(UNKNOWN) if UNKNOWN in kinds else None
    return PackedVocabulary.of(
        packed,
        rows,
        split_patterns=(),
        order="scores",
        added_tokens=tuple(added),
        whole_pretokens=False,
        alphabet="characters",
        unknown=unknown,
        space_mark=MARK,
        byte_tokens=tuple(byte_tokens) if used else (),
        fuse_unknown=unknown is not None,
        decode_only=tuple(decode_only.items()),
        **fields,
    )


def _byte_of(text: str, id: int, file: str) -> int:
    if len(text) == 6 and text.startswith("<0x") and text.endswith(">"):
        try:
            return int(text[3:5], 16)
        except ValueError:
            pass
    fail(file, f"piece {id}", f"{show(text)} is said to be a byte; expected <0x00> to <0xFF>")


def _tables(pieces: Pieces, texts: list[str | None], bytes_of: dict[int, int]) -> tuple[tuple[bytes, bytes], bytes]:
    """The packed tokens, and each two pieces that spell a piece, the highest score first."""
    order = [id for id, text in enumerate(texts) if text is not None]
    order.sort(key=pieces.scores.__getitem__, reverse=True)  # stable, so that of equal scores the lowest id is first
    try:
        tables = scored_pieces(texts, order, bytes_of, MARK.encode())
    except ValueError as error:
        fail(pieces.file, f"piece {error}", f"{show(texts[int(str(error))])} is not Unicode text")
    if tables is None:
        ids: dict[str | None, int] = {}
        for id in sorted(order):
            if (first := ids.setdefault(texts[id], id)) != id:
                fail(pieces.file, f"piece {id}", f"{show(texts[id])} is piece {first} already")
    return tables
