"""Hugging Face's pre-tokenizers of the byte-level BPE family, as split patterns.

    ByteLevel                   the gpt2 pattern if use_regex, and the byte alphabet
    Split, isolated             its regular expression or string
    Split, removed and invert   the same, where its matches leave nothing between them
    Split, contiguous           matches that touch are one pretoken: only where every match is one character
    Digits                      \\p{N}, or \\p{N}+ unless individual_digits
    Punctuation                 ASCII punctuation and \\p{P}; isolated or contiguous
    Sequence                    one inside the other

A pre-tokenizer that drops or changes text (Whitespace, BertPreTokenizer, Metaspace, ...) is refused by name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..errors import ConversionError
from ..split.compiler import covers_all_text
from ..vocabulary.dialects import from_oniguruma, to_oniguruma
from ..vocabulary.names import is_plain_word
from ..vocabulary.patterns import PATTERNS
from .file_content import Json, show

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}

# char::is_ascii_punctuation or Unicode's general category P, as Punctuation tests it.
_PUNCTUATION = r"[\p{P}$+<=>^`|~]"


@dataclass
class PreTokenizer:
    """What a pre-tokenizer says: the split patterns, whether it writes bytes as characters, whether it adds a space."""

    split_patterns: list[str]
    byte_level: bool = False
    add_prefix_space: bool = False


def read_pre_tokenizer(node: Json) -> PreTokenizer:
    """The split patterns of the `pre_tokenizer` section; FormatError for one that is not of the family."""
    found = PreTokenizer([])
    if not node.absent:
        _read(node, found)
    return found


def _read(node: Json, found: PreTokenizer) -> None:
    kind = node["type"].expect(str)
    if kind == "Sequence":
        for step in node["pretokenizers"]:
            _read(step, found)
        return
    if found.byte_level:
        node.fail(f"{kind} comes after ByteLevel, so it cuts bytes instead of characters, which tokenmill cannot do")
    if kind == "ByteLevel":
        found.byte_level = True
        found.add_prefix_space = node.get("add_prefix_space", bool, True)
        if found.add_prefix_space and found.split_patterns:
            node.fail("ByteLevel puts a space before every pretoken of an earlier split, which tokenmill cannot do")
        if node.get("use_regex", bool, True):
            found.split_patterns.append(PATTERNS["gpt2"])
    elif kind == "Split":
        found.split_patterns.append(_split_pattern(node))
    elif kind == "Digits":
        found.split_patterns.append(r"\p{N}" if node.get("individual_digits", bool, False) else r"\p{N}+")
    elif kind == "Punctuation":
        behavior = _behavior(node["behavior"], "Isolated")
        if behavior not in ("isolated", "contiguous"):
            node["behavior"].fail(f"the behaviour {behavior!r} of Punctuation is not one that tokenmill has")
        found.split_patterns.append(_PUNCTUATION if behavior == "isolated" else f"{_PUNCTUATION}+")
    else:
        node.fail(
            f"the pre-tokenizer {kind!r} drops or changes text; tokenmill reads those of the byte-level BPE family only"
        )


def _behavior(node: Json, default: str) -> str:
    """The behaviour, written Isolated or isolated."""
    text = default if node.absent else node.expect(str)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower()


def _split_pattern(node: Json) -> str:
    holder = node["pattern"]
    if not holder["Regex"].absent:
        text = holder["Regex"].expect(str)
        try:
            pattern = from_oniguruma(text)
        except ConversionError as error:
            holder["Regex"].fail(str(error))
    elif not holder["String"].absent:
        text = holder["String"].expect(str)
        pattern = re.sub(r"([^\w\s])", r"\\\1", text, flags=re.ASCII)
    else:
        holder.fail(f'expected {{"Regex": ...}} or {{"String": ...}}, found {show(holder.value)}')
    if not pattern:
        holder.fail("the split pattern is empty")
    if is_plain_word(pattern):  # these letters, and not the pattern that a Vocabulary takes them as the name of
        pattern = f"(?:{pattern})"
    behavior = _behavior(node["behavior"], "")
    invert = node.get("invert", bool, False)
    if behavior == "isolated":
        return pattern
    if behavior == "removed" and invert and covers_all_text(pattern):
        return pattern
    if behavior == "contiguous" and _one_character(pattern):
        return f"{pattern}+"
    inverted = " and invert" if invert else ""
    node["behavior"].fail(
        f"a Split with the behaviour {behavior!r}{inverted} by {show(text)} is not one that tokenmill has: it reads isolated, "
        "removed with invert where the pattern covers all text, and contiguous where a match is one character"
    )


def _one_character(pattern: str) -> bool:
    """Whether `pattern` is one character or one class, so that touching matches are `pattern+`."""
    return re.fullmatch(r"\[\^?(?:[^\[\]\\]|\\.)+\]|\\[pP]\{[^}]*\}|\\?[^\w\\]|\\[wdsWDS]|\w", pattern) is not None


def pre_tokenizer_json(
    split_patterns: tuple[str, ...], byte_level: bool, add_prefix_space: bool
) -> dict[str, Any] | None:
    """The `pre_tokenizer` section that cuts text as `split_patterns` do; None where nothing cuts or changes text."""
    steps: list[dict[str, Any]] = [
        {"type": "Split", "pattern": {"Regex": to_oniguruma(pattern)}, "behavior": "Isolated", "invert": False}
        for pattern in split_patterns
    ]
    if byte_level:
        use_regex = split_patterns == (PATTERNS["gpt2"],)  # in full, so that other readers know it
        if add_prefix_space and steps and not use_regex:
            what = "tokenizer.json can put a space before a text only with the gpt2 pattern or with none"
            raise ConversionError(what)
        level = BYTE_LEVEL | {"add_prefix_space": add_prefix_space, "use_regex": use_regex}
        steps = [level] if use_regex else [*steps, level]
    if len(steps) < 2:
        return steps[0] if steps else None
    return {"type": "Sequence", "pretokenizers": steps}
