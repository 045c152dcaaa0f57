"""A vocabulary with scores as SentencePiece's tokenizer.model. A vocabulary of merges or ranks has no place there."""

from __future__ import annotations

import base64
import contextlib
from typing import Any

from ..errors import ConversionError, require
from ..vocabulary import Vocabulary
from .pieces import (
    BYTE,
    BYTE_TEXTS,
    CONTROL,
    MARK,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Pieces,
    added_tokens,
    piece_texts,
    texts_and_kinds,
)
from .sentencepiece_model import BPE, UNKNOWN_SURFACE, NormalizerSpec, scored_vocabulary
from .tokens_and_merges import refuse_flags


def as_pieces(trained: Vocabulary, size: int) -> Vocabulary:
    """A vocabulary trained on characters as the pieces of a SentencePiece model, whose rule it encodes by.

    The ids are those of the unknown token, the special tokens, the bytes if they are among these, the merged tokens with the
    scores 0, -1 and so on, and the characters. Left out: a token that is spelt as another, such as U+2581, which stands for a
    space, and bytes that are not UTF-8. Of the merged tokens, the first are kept, so that there are at most `size` ids.
    """
    if trained.normalization.normalizers:
        raise ConversionError("a SentencePiece model changes text in ways of its own. Train without normalizers.")
    kinds: dict[str, int] = {}
    for token in sorted(trained.added_tokens, key=lambda token: token.id != trained.unknown):  # the unknown token first
        kind = UNKNOWN if token.id == trained.unknown else BYTE if token.content in BYTE_TEXTS else CONTROL
        kinds[token.content] = kind
    merged = dict.fromkeys(trained.events[:, 2].tolist())  # without a second merge of the same token
    texts: dict[bool, dict[str, int]] = {True: {}, False: {}}  # of merged tokens, and of characters
    for id, token in [*((id, trained.tokens[id]) for id in merged), *enumerate(trained.tokens)]:
        with contextlib.suppress(UnicodeDecodeError):
            if (text := (token or b"").decode().replace(" ", MARK)) and text not in kinds:
                texts[id in merged].setdefault(text, NORMAL)
    made = [text for text in texts[True] if text not in texts[False]]
    kinds |= dict.fromkeys([*made[: size - len(kinds) - len(texts[False])], *texts[False]], NORMAL)
    first = len(trained.added_tokens)
    pieces = Pieces([*kinds], [float(min(0, first - id)) for id in range(len(kinds))], [*kinds.values()], "training")
    return scored_vocabulary(
        pieces,
        added_tokens(pieces),
        normalization=NormalizerSpec(b"", True, False).normalization(),
        fallback=BYTE in pieces.kinds,
        unknown_surface=UNKNOWN_SURFACE,
        config=trained.config,
    )


def piece_scores(vocabulary: Vocabulary) -> list[float]:
    """A score for each token by id that gives the order of the merges: 0 for the first token that is made, then -1 and so on."""
    places: dict[int, int] = {}
    for new in vocabulary.events[:, 2].tolist():
        places.setdefault(new, len(places))
    return [float(-places.get(id, len(places))) for id in range(len(vocabulary.tokens))]


def model_bytes(vocabulary: Vocabulary) -> tuple[bytes, list[str]]:
    """`vocabulary` as the content of a tokenizer.model, and what that file does not hold, item by item.

    ConversionError if sentencepiece would give other ids.
    """
    own = vocabulary.library
    if own is not None and own.library == "sentencepiece" and all(token.special for token in vocabulary.added_tokens):
        return own.data, []  # other added tokens are found before the model sees a text
    if vocabulary.order != "scores":
        raise ConversionError(
            f"tokenizer.model stores tokens with scores, and this vocabulary is of order {vocabulary.order!r}: sentencepiece would "
            "give other ids. Write tokenizer.json instead."
        )
    if vocabulary.unknown is None:
        raise ConversionError("tokenizer.model needs an unknown token, and this vocabulary has none")
    messages: Any = require("sentencepiece.sentencepiece_model_pb2", "libraries", "writing tokenizer.model")
    model = messages.ModelProto()
    _add_pieces(model, vocabulary)
    spec = model.trainer_spec
    spec.model_type, spec.vocab_size = BPE, len(model.pieces)
    spec.byte_fallback = bool(vocabulary.byte_tokens)
    if (surface := dict(vocabulary.decode_only).get(vocabulary.unknown)) is not None:
        spec.unk_surface = surface.decode(errors="replace")
    for role, id in _roles(vocabulary, model).items():
        setattr(spec, f"{role}_id", id)
        if id >= 0:
            setattr(spec, f"{role}_piece", model.pieces[id].piece)
    _set_normalizer(model, vocabulary)
    return model.SerializeToString(deterministic=True), []


def _roles(vocabulary: Vocabulary, model: Any) -> dict[str, int]:
    """The ids of the tokens with a role; -1 for a role that none has."""
    known = vocabulary.special_tokens
    roles = {role: known.get(vocabulary.config.get(f"{role}_token", text), -1) for role, text in
             (("bos", "<s>"), ("eos", "</s>"), ("pad", "<pad>"))}  # fmt: skip
    return roles | {"unk": next((id for id, piece in enumerate(model.pieces) if piece.type == UNKNOWN), -1)}


def _add_pieces(model: Any, vocabulary: Vocabulary) -> None:
    names = {token.id: token for token in vocabulary.added_tokens}
    raw = [token.content for token in names.values() if not token.special and not token.normalized]
    if raw:
        raise ConversionError(
            f"the added token {raw[0]!r} is found in the text as it is, and sentencepiece finds it after spaces are replaced"
        )
    refuse_flags(vocabulary, "tokenizer.model")
    texts, kinds = texts_and_kinds(vocabulary, piece_texts(vocabulary, vocabulary.tokens))
    kinds[vocabulary.unknown] = UNKNOWN  # type: ignore[index]
    scores, others = piece_scores(vocabulary), dict(vocabulary.decode_only)
    for id, (text, kind) in enumerate(zip(texts, kinds, strict=True)):
        if kind == UNUSED and id < len(vocabulary.tokens) and (token := vocabulary.tokens[id]) is not None:
            raise ConversionError(f"the token {token!r} is not UTF-8, and tokenmill can put it into no piece")
        if kind == UNUSED:
            kind = USER_DEFINED if id in others else CONTROL  # one with a space is never found
        model.pieces.add(piece=text, score=scores[id] if kind == NORMAL else 0.0, type=kind)


def _set_normalizer(model: Any, vocabulary: Vocabulary) -> None:
    """Set what the normalizer does; ConversionError for steps that no settings of it give."""
    spec = model.normalizer_spec
    steps, in_text = vocabulary.normalization.normalizers, vocabulary.normalization.add_prefix_space == "text"
    names = [step[0] for step in steps]
    spec.add_dummy_prefix = "Prepend" in names or in_text
    spec.remove_extra_whitespaces = "ReplaceRegex" in names
    spec.escape_whitespaces = True
    if "CharacterMap" in names:
        spec.precompiled_charsmap = base64.b64decode(steps[names.index("CharacterMap")][1])
    kept = [piece.piece for piece in model.pieces if piece.type == USER_DEFINED]
    written = NormalizerSpec(spec.precompiled_charsmap, spec.add_dummy_prefix, spec.remove_extra_whitespaces)
    if written.normalization(kept, in_text) != vocabulary.normalization:
        raise ConversionError("the normalizer of this vocabulary is not one that tokenizer.model can represent")
