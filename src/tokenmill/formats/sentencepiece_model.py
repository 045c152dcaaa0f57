"""SentencePiece's own file, tokenizer.model: a protobuf message with pieces, their scores and kinds, and a normalizer.

A piece of a BPE model has a score. Any two neighbours that spell a piece merge, the one of the highest score first, and the
leftmost of several. That is the order "scores" of a Vocabulary, which lists each pair of pieces that spells one. llama.cpp has
the same rule for GGUF files of this kind, so `scored_vocabulary` serves both. A vocabulary of merges or ranks cannot be
written to such a file.
"""

from __future__ import annotations

import binascii
import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..errors import ConversionError, require
from ..vocabulary import AddedToken, Normalization, Vocabulary
from ..vocabulary.normalization import EXTRA_SPACES, MARK, Step, Stripped
from ..vocabulary.vocabulary import packed_vocabulary
from ._bpe_tables_cy import tables_of
from ._protobuf_cy import read_fields, read_pieces
from .file_content import MAX_ID, fail, show
from .pieces import BYTE_TEXTS, Kind, Pieces, added_tokens, byte_of, check_scores, texts_and_kinds, token_texts

UNIGRAM, BPE = 1, 2
UNKNOWN_SURFACE = " \u2047 ".encode()  # the default of the trainer's unk_surface
# The numbers of the trainer's settings for the tokens with roles, and the default names.
_ROLES = {"unk": (45, "<unk>"), "bos": (46, "<s>"), "eos": (47, "</s>"), "pad": (48, "<pad>")}
_ALGORITHMS = {UNIGRAM: "Unigram", BPE: "BPE", 3: "word", 4: "character"}


class NormalizerSpec(NamedTuple):
    """The settings of a model's normalizer."""

    precompiled_charsmap: bytes
    add_dummy_prefix: bool
    remove_extra_whitespaces: bool

    def normalization(self, kept: Sequence[str] = (), in_text: bool = False) -> Normalization:
        """Return the `Normalization` of a Vocabulary with these settings.

        kept: the symbols of the user, which the character map leaves as they are.
        in_text: whether the space before a text is `add_prefix_space` instead of a step.
        """
        prefix, removes = self.add_dummy_prefix, self.remove_extra_whitespaces
        steps: list[Step] = []
        if self.precompiled_charsmap:
            map = binascii.b2a_base64(self.precompiled_charsmap, newline=False).decode()
            steps.append(("CharacterMap", map, "\0".join(sorted(kept))))
        if removes:
            steps += EXTRA_SPACES
        if prefix and not in_text:  # before a map that may leave nothing of the text
            steps.insert(len(steps) if removes else 0, ("Prepend", MARK))
        steps.append(("Replace", " ", MARK))
        stripped: Stripped = "spaces" if removes else "space" if prefix else ""
        return Normalization(tuple(steps), "text" if prefix and in_text else False, MARK, stripped)


def looks_like_sentencepiece(data: bytes) -> bool:
    """Return whether `data` begins with a piece, as the message ModelProto does: field 1, a length, and in it field 1, a text."""
    return len(data) > 8 and data[0] == 0x0A and data[1] < 0x80 and data[2] == 0x0A and data[3] < data[1]


def parse_sentencepiece(data: bytes, file: str) -> Vocabulary:
    """Return the vocabulary of a model. FormatError names the mistake."""
    try:
        texts, scores, kinds, messages = read_pieces(data)
        training, normalizing = read_fields(messages.get(2, b"")), read_fields(messages.get(3, b""))
    except ValueError as error:
        piece = f"piece {error}" if str(error) else ""
        fail(file, piece, "not a SentencePiece model, cut short, or with text that is not UTF-8")
    algorithm = training.get(3, UNIGRAM)
    if algorithm not in _ALGORITHMS:
        fail(file, "", f"this is a SentencePiece model of the unknown algorithm {algorithm}")
    pieces = Pieces(texts, scores, kinds, file)
    check_scores(scores, file)
    map = normalizing.get(2, b"")
    normalizer = NormalizerSpec(map if isinstance(map, bytes) else b"", *(bool(normalizing.get(n, 1)) for n in (3, 4)))
    kept = [texts[id] for id in pieces.special if kinds[id] == Kind.USER_DEFINED]
    unused = any(kinds[id] == Kind.UNUSED for id in pieces.special)
    fallback = bool(training.get(35))
    # 24: treat_whitespace_as_suffix
    if algorithm != BPE or unused or training.get(24) or _meets_spaces(normalizer, kept) or pieces.unlisted(fallback):
        from .library_files import sentencepiece_of_library  # late: most models need only the kernels

        return _with_roles(sentencepiece_of_library(data, pieces, _ALGORITHMS[algorithm]), training)
    # Text has the mark in place of a space, so that no symbol with a space is matched.
    added = [token for token in added_tokens(pieces) if token.special or " " not in token.content]
    in_text = any(not token.special for token in added)
    surface = training.get(44)
    vocabulary = scored_vocabulary(
        pieces,
        added,
        normalization=normalizer.normalization(kept, in_text),
        fallback=fallback,
        unknown_surface=surface if isinstance(surface, bytes) else UNKNOWN_SURFACE,
    )
    return _with_roles(vocabulary, training)


def _with_roles(vocabulary: Vocabulary, training: dict[int, Any]) -> Vocabulary:
    from .merges_txt import with_roles  # late: reading needs no merges of others

    pieces = {f"{role}_token": training.get(field, text.encode()) for role, (field, text) in _ROLES.items()}
    texts = {role: piece.decode(errors="replace") for role, piece in pieces.items() if isinstance(piece, bytes)}
    return with_roles(vocabulary, texts)


def _meets_spaces(normalizer: NormalizerSpec, kept: Sequence[str]) -> bool:
    """Return whether symbols of the user decide which spaces are added before a text or removed, which steps cannot express."""
    prefix, removes = normalizer.add_dummy_prefix, normalizer.remove_extra_whitespaces
    if any(not text.strip(MARK + " \n") for text in kept) and (prefix or removes):
        return True
    if prefix and any(text.startswith(MARK) for text in kept):  # the space before a text begins such a symbol
        return True
    return bool(kept and normalizer.precompiled_charsmap) and prefix and not removes


def scored_vocabulary(
    pieces: Pieces, added: Sequence[AddedToken], *, fallback: bool, unknown_surface: bytes | None = None, **fields: Any
) -> Vocabulary:
    """Return the Vocabulary of pieces with scores. fields: its other fields.

    fallback: whether bytes stand for characters without a token.
    unknown_surface: the decoded unknown token of a model whose control tokens are decoded to nothing; None for other models.
    """
    kinds, matched = pieces.kinds, {token.id for token in added}
    if len(kinds) > MAX_ID:
        fail(pieces.file, "", f"contains {len(kinds)} pieces, more than {MAX_ID}")
    texts: list[str | None] = list(pieces.texts)  # of the pieces that merges make
    bytes_of: dict[int, int] = {}
    decode_only: dict[int, bytes] = {}
    for id in pieces.special:
        text, kind, texts[id] = pieces.texts[id], kinds[id], None
        if kind == Kind.BYTE:
            bytes_of[id] = byte_of(text, id, pieces.file)
        elif kind == Kind.USER_DEFINED and id not in matched:
            decode_only[id] = text.encode()
        elif unknown_surface is not None and text and kind in (Kind.CONTROL, Kind.UNKNOWN):
            decode_only[id] = unknown_surface if kind == Kind.UNKNOWN else b""
    try:
        tables = tables_of(texts)
    except ValueError as error:
        id = int(str(error))
        first = texts.index(texts[id])
        what = "is not Unicode text" if first == id else f"is piece {first} already"
        fail(pieces.file, f"piece {id}", f"{show(texts[id])} {what}")
    tables.put_scored(pieces.scores)
    unmerged = tables.make_tokens(MARK, bytes_of)  # texts with a space, which are never matched
    tokens, sizes, rows = tables.finish(unmerged, (), matched)
    byte_ids = {byte: id for id, byte in bytes_of.items()}
    unknown = kinds.index(Kind.UNKNOWN) if Kind.UNKNOWN in kinds else None
    return packed_vocabulary(
        (tokens, sizes),
        rows,
        split_patterns=(),
        order="scores",
        added_tokens=tuple(added),
        whole_pretokens=False,
        alphabet="characters",
        unknown=unknown,
        byte_tokens=tuple(map(byte_ids.get, range(256))) if fallback and byte_ids else (),
        fuse_unknown=unknown is not None,
        decode_only=tuple(decode_only.items()),
        **fields,
    )


def as_pieces(trained: Vocabulary, size: int) -> Vocabulary:
    """Return a vocabulary trained on characters as one of order "scores", as SentencePiece writes it.

    The ids are those of the unknown token, the special tokens, the bytes if they are among these, the merged tokens with the
    scores 0, -1 and so on, and the characters. A token that is spelt as another, such as U+2581, which stands for a space, and
    bytes that are not UTF-8 are left out, and the last merged tokens if there are more than `size` ids.
    """
    if trained.normalization.normalizers:
        raise ConversionError("a SentencePiece model has its own normalizer. Train without normalization.")
    kinds: dict[str, int] = {}
    for token in sorted(trained.added_tokens, key=lambda token: token.id != trained.unknown):  # the unknown token first
        known_kind = Kind.BYTE if token.content in BYTE_TEXTS else Kind.CONTROL
        kinds[token.content] = Kind.UNKNOWN if token.id == trained.unknown else known_kind
    merged = dict.fromkeys(trained.events[:, 2].tolist())  # without a second merge of the same token
    texts: dict[bool, dict[str, int]] = {True: {}, False: {}}  # of merged tokens, and of characters
    for id, token in [*((id, trained.tokens[id]) for id in merged), *enumerate(trained.tokens)]:
        with contextlib.suppress(UnicodeDecodeError):
            if (text := (token or b"").decode().replace(" ", MARK)) and text not in kinds:
                texts[id in merged].setdefault(text, Kind.NORMAL)
    longer = [text for text in texts[True] if text not in texts[False]]
    kinds |= dict.fromkeys([*longer[: size - len(kinds) - len(texts[False])], *texts[False]], Kind.NORMAL)
    first = len(trained.added_tokens)
    pieces = Pieces([*kinds], [float(min(0, first - id)) for id in range(len(kinds))], [*kinds.values()], "training")
    return scored_vocabulary(
        pieces,
        added_tokens(pieces),
        normalization=NormalizerSpec(b"", True, False).normalization(),
        fallback=Kind.BYTE in pieces.kinds,
        unknown_surface=UNKNOWN_SURFACE,
        config=trained.config,
    )


def piece_scores(vocabulary: Vocabulary) -> list[float]:
    """Return a score for each token by id that gives the order of the merges: 0 for the first merged token, then -1 and so on."""
    ranks = {new: rank for rank, new in enumerate(dict.fromkeys(vocabulary.events[:, 2].tolist()))}
    return [float(-ranks.get(id, len(ranks))) for id in range(len(vocabulary.tokens))]


def model_bytes(vocabulary: Vocabulary) -> tuple[bytes, list[str]]:
    """Return a tokenizer.model, and notes on losses. ConversionError if sentencepiece would give other ids."""
    if (library_model := vocabulary.library) is not None and library_model.library == "sentencepiece":
        return library_model.data, []
    if vocabulary.order != "scores":
        raise ConversionError(
            f"tokenizer.model stores tokens with scores, and this vocabulary is of order {vocabulary.order!r}: sentencepiece would "
            "give other ids. Write tokenizer.json instead."
        )
    if vocabulary.unknown is None:
        raise ConversionError("tokenizer.model needs an unknown token, and this vocabulary has none")
    messages: Any = require("sentencepiece.sentencepiece_model_pb2", "libraries", "writing tokenizer.model")
    model = messages.ModelProto()
    notes: list[str] = []
    _add_pieces(model, vocabulary, notes)
    spec = model.trainer_spec
    spec.model_type, spec.vocab_size = BPE, len(model.pieces)
    spec.byte_fallback = bool(vocabulary.byte_tokens)
    if (surface := dict(vocabulary.decode_only).get(vocabulary.unknown)) is not None:
        spec.unk_surface = surface.decode(errors="replace")
    for role, (_, text) in _ROLES.items():
        id = vocabulary.special_tokens.get(vocabulary.config.get(f"{role}_token", text), -1)
        id = vocabulary.unknown if role == "unk" else id
        setattr(spec, f"{role}_id", id)
        if id >= 0:
            setattr(spec, f"{role}_piece", model.pieces[id].piece)
    _set_normalizer(model, vocabulary)
    return model.SerializeToString(deterministic=True), notes


def _add_pieces(model: Any, vocabulary: Vocabulary, notes: list[str]) -> None:
    names = {token.id: token for token in vocabulary.added_tokens}
    raw = [token.content for token in names.values() if not token.special and not token.normalized]
    if raw:
        raise ConversionError(
            f"the added token {raw[0]!r} is matched in the original text, but sentencepiece matches it after spaces are replaced"
        )
    from .merges_txt import refuse_flags  # late: reading needs no merges of others

    refuse_flags(vocabulary, "tokenizer.model")
    texts, kinds = texts_and_kinds(vocabulary, token_texts(vocabulary, vocabulary.tokens), "tokenizer.model", notes)
    kinds[vocabulary.unknown] = Kind.UNKNOWN  # type: ignore[index]
    scores, others = piece_scores(vocabulary), dict(vocabulary.decode_only)
    for id, (text, kind) in enumerate(zip(texts, kinds, strict=True)):
        if kind == Kind.UNUSED and id < len(vocabulary.tokens) and (token := vocabulary.tokens[id]) is not None:
            raise ConversionError(f"the token {token!r} is not UTF-8, so it cannot be a piece")
        if kind == Kind.UNUSED:
            kind = Kind.USER_DEFINED if id in others else Kind.CONTROL  # one with a space is never matched
        model.pieces.add(piece=text, score=scores[id] if kind == Kind.NORMAL else 0.0, type=kind)


def _set_normalizer(model: Any, vocabulary: Vocabulary) -> None:
    """Set the normalizer. ConversionError for steps that its settings cannot express."""
    spec = model.normalizer_spec
    steps, in_text = vocabulary.normalization.normalizers, vocabulary.normalization.add_prefix_space == "text"
    names = [step[0] for step in steps]
    spec.add_dummy_prefix = "Prepend" in names or in_text
    spec.remove_extra_whitespaces = "ReplaceRegex" in names
    spec.escape_whitespaces = True
    if "CharacterMap" in names:
        spec.precompiled_charsmap = binascii.a2b_base64(steps[names.index("CharacterMap")][1])
    kept = [piece.piece for piece in model.pieces if piece.type == Kind.USER_DEFINED]
    written = NormalizerSpec(spec.precompiled_charsmap, spec.add_dummy_prefix, spec.remove_extra_whitespaces)
    if written.normalization(kept, in_text) != vocabulary.normalization:
        raise ConversionError("the normalizer of this vocabulary is not one that tokenizer.model can represent")
