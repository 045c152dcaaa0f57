"""A vocabulary as a GGUF file without weights: the metadata that llama.cpp reads its tokenizer from.

    gpt2    byte-level merges, whose split pattern llama.cpp has a name for
    llama   scores, as in SentencePiece, with byte fallback

What decides ids and has no place in the metadata is a ConversionError. llama.cpp finds added tokens in the text as it is.
"""

from __future__ import annotations

import struct
from functools import cache, reduce
from typing import Any

from ..errors import ConversionError, OptionName
from ..split.patterns import PATTERNS
from ..split.spelling import canonical
from ..vocabulary import Vocabulary
from .byte_alphabet import to_text
from .gguf import CHAT_TEMPLATE, ENDS_OF_TEXT, MAGIC, NAMES_OF_PATTERNS, WHOLE_PRETOKENS
from .merges_txt import roles_of
from .pieces import MARK, NORMAL, piece_texts, texts_and_kinds
from .rank_merges import merges_by_rank
from .sentencepiece_model import piece_scores
from .tokens_and_merges import refuse_flags, tokens_and_merges

_ALIGNMENT = 32
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_FORMS = {_UINT32: "I", _INT32: "i", _FLOAT32: "f", _BOOL: "?"}
_DIGITS = r"\p{N}"
_NUMBERS = (8, 9, 10)  # categories: Nd, Nl, No
_SPECIAL = {"bos_token": "bos", "eos_token": "eos", "pad_token": "padding", "unk_token": "unknown"}


def gguf_bytes(vocabulary: Vocabulary, *, lossy: bool = False) -> tuple[bytes, list[str]]:
    """`vocabulary` as the content of a GGUF file, and what that file does not hold, item by item.

    lossy: allow superwords where two neighbouring numbers of a rare kind get other ids.
    ConversionError if llama.cpp would give other ids.
    """
    refuse_flags(vocabulary, "GGUF")
    if vocabulary.library is None and vocabulary.alphabet == "bytes":
        fields, notes = _byte_level(vocabulary, lossy)
    elif vocabulary.library is None and vocabulary.order == "scores":
        fields, notes = _scored(vocabulary)
    else:
        raise ConversionError(
            "GGUF stores byte-level merges, and tokens with scores (tokenizer.model), and this vocabulary is neither: "
            f"order {vocabulary.order!r}, alphabet {vocabulary.alphabet!r}. Write tokenizer.json instead."
        )
    names = {token.id for token in vocabulary.added_tokens}
    for id, text in enumerate(fields["tokens"][1]):
        if text in ENDS_OF_TEXT and id not in names:
            raise ConversionError(
                f"llama.cpp takes {text!r} as the end of a text, but here it is an ordinary token (id {id})"
            )
    known = vocabulary.special_tokens
    roles = roles_of(vocabulary)
    ids = {name: known[roles[role]] for role, name in _SPECIAL.items() if roles.get(role) in known}
    values = [_value(f"tokenizer.ggml.{name}", kind, value) for name, (kind, value) in fields.items()]
    values += [_value(f"tokenizer.ggml.{name}_token_id", _UINT32, id) for name, id in ids.items()]
    values += [_value(f"tokenizer.ggml.add_{name}_token", _BOOL, False) for name in ("bos", "eos")]
    templates = vocabulary.config.get("chat_template") or []
    for each in [{"name": "default", "template": templates}] if isinstance(templates, str) else templates:
        name = "" if each["name"] == "default" else f".{each['name']}"
        values.append(_value(CHAT_TEMPLATE + name, _STRING, each["template"]))
    values.insert(0, _value("general.architecture", _STRING, "llama"))
    data = MAGIC + struct.pack("<IQQ", 3, 0, len(values)) + b"".join(values)
    return data + bytes(-len(data) % _ALIGNMENT), notes


def _byte_level(vocabulary: Vocabulary, lossy: bool) -> tuple[dict[str, tuple[int, Any]], list[str]]:
    if any(vocabulary.normalization):
        what = "normalizes text" if vocabulary.normalization.normalizers else "puts a space before a text"
        raise ConversionError(f"this vocabulary {what}, which GGUF cannot represent. Write tokenizer.json instead.")
    notes: list[str] = []
    if _comparable(vocabulary.split_patterns) == [_DIGITS] and vocabulary.order == "merges":
        pre, whole = "superbpe", False
        notes = _numbers_joined(vocabulary, lossy)
    else:
        pre, whole = _pre_of(vocabulary)
    tokens, rows, more = tokens_and_merges(vocabulary, "GGUF", whole_pretokens=whole)
    texts, kinds = texts_and_kinds(vocabulary, [None if token is None else to_text(token) for token in tokens])
    merges = [f"{texts[left]} {texts[right]}" for left, right, _ in rows]
    return {
        "model": (_STRING, "gpt2"),
        "pre": (_STRING, pre),
        "tokens": (_STRING, texts),
        "token_type": (_INT32, kinds),
        "merges": (_STRING, merges),
    }, notes + more


def _pre_of(vocabulary: Vocabulary) -> tuple[str, bool]:
    """The name of the split patterns in llama.cpp, and whether a pretoken that is a token is not merged there."""
    patterns = _comparable(vocabulary.split_patterns)
    found = [
        name
        for name, theirs in NAMES_OF_PATTERNS.items()
        if patterns in (_comparable(theirs), _comparable(_in_full(theirs)))
    ]
    if not found:
        held = " then ".join(vocabulary.split_patterns) or "none"
        raise ConversionError(
            f"GGUF stores the name of a split pattern, and llama.cpp has none for this one: {held}. Write tokenizer.json instead."
        )
    same = [name for name in found if (name in WHOLE_PRETOKENS) == vocabulary.whole_pretokens]
    name = [*same, *found][0]
    return name, name in WHOLE_PRETOKENS


@cache
def _comparable(patterns: tuple[str, ...]) -> list[str]:
    """The patterns in one spelling: newlines and quotation marks may be escaped."""
    spellings = (("\n", "\\n"), ("\r", "\\r"), ('\\"', '"'))
    return [reduce(lambda text, pair: text.replace(*pair), spellings, canonical(pattern)) for pattern in patterns]


def _numbers_joined(vocabulary: Vocabulary, lossy: bool) -> list[str]:
    """Each number is a pretoken here. llama.cpp has a name for three in a pretoken, counted from the right ("superbpe").

    The ids are the same if no merge joins the bytes of two neighbouring numbers. Else this is a ConversionError, or a note.
    It is enough to try pairs: the first merge across a border sees on each side what the merges make of one number alone.
    """
    from ..split.alphabet import category

    numbers = [chr(code).encode() for code in range(0x30, 0x20000) if category(code) in _NUMBERS]
    starts = {number[:i] for number in numbers for i in range(1, len(number) + 1)}
    ends = {number[i:] for number in numbers for i in range(len(number))}
    merged = merges_by_rank(vocabulary.tokens, vocabulary.events.tolist())
    cuts = ((token[:i], token[i:]) for token in vocabulary.tokens if token for i in range(1, len(token)))
    joined = [
        (left + right).decode()
        for end, start in {cut for cut in cuts if cut[0] in ends and cut[1] in starts}
        for left in numbers
        if left.endswith(end)
        for right in numbers
        if right.startswith(start) and merged(left + right) != merged(left) + merged(right)
    ]
    if not joined:
        return []
    what = f"llama.cpp gives other ids to {len(joined):,} of the {len(numbers)} x {len(numbers)} pairs of numbers, such as {joined[0]}"
    if not lossy:
        raise ConversionError(
            f"{what}, since GGUF has no name for this split pattern. Pass ", OptionName("lossy", True), " to write it."
        )
    return [what]


def _in_full(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """The patterns with GPT-2's as other files write it: llama.cpp leaves out alternatives for what no other matches."""
    short = NAMES_OF_PATTERNS["gpt-2"][0]
    return tuple(PATTERNS["gpt2"] if pattern == short else pattern for pattern in patterns)


def _scored(vocabulary: Vocabulary) -> tuple[dict[str, tuple[int, Any]], list[str]]:
    normalization = vocabulary.normalization
    late = [token.content for token in vocabulary.added_tokens if token.normalized]
    if late or normalization.add_prefix_space:
        raise ConversionError(
            f"the added token {late[0]!r} is matched after spaces are replaced, but llama.cpp matches it in the original text"
            if late
            else "GGUF cannot represent where this vocabulary puts a space before a text"
        )
    if normalization.other_steps or normalization.space_mark != MARK:
        raise ConversionError(
            "this vocabulary changes text by more than spaces (a character map, or white space that is removed), which GGUF "
            "cannot represent"
        )
    if len(vocabulary.byte_tokens) != 256 or None in vocabulary.byte_tokens:
        raise ConversionError(
            "this vocabulary has no byte fallback, and llama.cpp needs the 256 tokens <0x00> to <0xFF>"
        )
    texts, kinds = texts_and_kinds(vocabulary, piece_texts(vocabulary, vocabulary.tokens))
    ranks = piece_scores(vocabulary)
    scores = [ranks[id] if kind == NORMAL else 0.0 for id, kind in enumerate(kinds)]
    return {
        "model": (_STRING, "llama"),
        "pre": (_STRING, "default"),
        "tokens": (_STRING, texts),
        "scores": (_FLOAT32, scores),
        "token_type": (_INT32, kinds),
        "add_space_prefix": (_BOOL, normalization.prepends),
    }, []


def _value(key: str, kind: int, value: object) -> bytes:
    if isinstance(value, list):
        head = struct.pack("<IIQ", _ARRAY, kind, len(value))
        items = b"".join(map(_text, value)) if kind == _STRING else struct.pack(f"<{len(value)}{_FORMS[kind]}", *value)
        return _text(key) + head + items
    body = _text(str(value)) if kind == _STRING else struct.pack(f"<{_FORMS[kind]}", value)
    return _text(key) + struct.pack("<I", kind) + body


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data
