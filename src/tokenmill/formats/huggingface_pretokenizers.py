"""Hugging Face's pre-tokenizers of the byte-level BPE family, as split patterns.

    ByteLevel                   the gpt2 pattern if use_regex, and the byte alphabet
    Split, isolated             its regular expression or string
    Split, removed and invert   the same, where its matches leave nothing between them
    Split, contiguous           matches that touch are one pretoken: only where every match is one character
    Digits                      \\p{N}, or \\p{N}+ unless individual_digits
    Punctuation                 ASCII punctuation and \\p{P}; isolated or contiguous
    Split, merged_with_...      a match is joined to the text before or after it: only where every match is one character
    FixedLength                 so many characters
    Metaspace                   a space is U+2581; with `split`, each begins a pretoken
    Sequence                    one inside the other

Others, such as those that drop or change text, are left to tokenizers (library_files.py).
"""

from __future__ import annotations

import re
from typing import Any, Literal

from ..errors import ConversionError
from ..split.names import is_plain_word
from ..split.patterns import PATTERNS, PUNCTUATION
from ..split.spelling import distinguishes, from_oniguruma, to_oniguruma
from ..vocabulary import Normalization, Vocabulary
from .file_content import Json, show
from .huggingface_text import steps_of

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}

METASPACE_SPLIT = r" ?[^ ]+| "


class PreTokenizer:
    """The settings of the `pre_tokenizer` section: the split patterns, whether it writes bytes as characters, where it adds a space.

    space_mark: what the normalizer, and then what the section writes for a space. A Vocabulary splits the text that has the space
        itself.
    Raises Unsupported for a section that is not of the family.
    """

    def __init__(self, node: Json, space_mark: str):
        self.split_patterns: list[str] = []
        self.byte_level = False
        self.add_prefix_space: bool | Literal["first"] = False
        self._is_metaspace = False
        steps = [*steps_of(node)]
        # Tokens of bytes contain the mark itself, so the patterns see it too.
        self.space_mark = "" if any(step["type"].value == "ByteLevel" for step in steps) else space_mark
        for step in steps:
            self._read(step)

    def _read(self, node: Json) -> None:
        kind, earlier = node["type"].expect(str), bool(self.split_patterns)
        if self.byte_level:
            node.unsupported(
                f"{kind} comes after ByteLevel, so it cuts bytes instead of characters, which tokenmill cannot do"
            )
        if kind == "ByteLevel":
            if self._is_metaspace:
                node.unsupported(
                    "ByteLevel comes after Metaspace, so the bytes are those of its mark instead of spaces"
                )
            self.byte_level = True
            self.add_prefix_space = node.get("add_prefix_space", bool, True)
            if node.get("use_regex", bool, True):
                self.split_patterns.append(PATTERNS["gpt2"])
        elif kind == "Metaspace":
            mark = node["replacement"].expect(str)
            if self._is_metaspace and mark != self.space_mark:
                node.unsupported(f"{self.space_mark} stands for spaces already")
            self.space_mark, self._is_metaspace = mark, True
            adds = node.get("add_prefix_space", bool, True)
            scheme = node.get("prepend_scheme", str, "always" if adds else "never")
            if scheme not in ("always", "first", "never"):
                node["prepend_scheme"].fail(f"expected always, first or never, found {show(scheme)}")
            self.add_prefix_space = "first" if scheme == "first" else scheme == "always"
            if node.get("split", bool, True):
                self.split_patterns.append(METASPACE_SPLIT)
        elif kind == "Split":
            self.split_patterns += _split_patterns(node, self.space_mark)
        elif kind == "Digits":
            pattern = r"\p{N}" if node.get("individual_digits", bool, False) else r"\p{N}+"
            self.split_patterns.append(_of_marked(pattern, self.space_mark, node))
        elif kind == "FixedLength":
            self.split_patterns.append(f"(?s:.){{1,{node.get('length', int, 5)}}}")
        elif kind == "Punctuation":
            pattern = _of_marked(PUNCTUATION, self.space_mark, node)
            self.split_patterns.append(_of_matches(pattern, _behavior(node["behavior"], "Isolated"), node))
        else:
            node.unsupported(f"the pre-tokenizer {kind!r} drops or changes text")
        if kind in ("ByteLevel", "Metaspace") and self.add_prefix_space is True and earlier:
            node.unsupported(
                f"{kind} puts a space before every pretoken of an earlier split, which tokenmill cannot do"
            )


def _behavior(node: Json, default: str) -> str:
    """The behaviour, written Isolated or isolated."""
    text = default if node.absent else node.expect(str)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower()


def _split_patterns(node: Json, mark: str) -> list[str]:
    """The pattern of a Split, or none where it never matches: a space, in text that has `mark` for each."""
    holder = node["pattern"]
    if not holder["Regex"].absent:
        text = holder["Regex"].expect(str)
        try:
            pattern = from_oniguruma(text)
        except ConversionError as error:
            holder["Regex"].unsupported(str(error))
        _of_marked(pattern, mark, holder["Regex"])
    elif not holder["String"].absent:
        text = holder["String"].expect(str)
        if mark and " " in text:
            return []
        pattern = re.sub(r"([^\w\s])", r"\\\1", text.replace(mark or " ", " "), flags=re.ASCII)
    else:
        holder.fail(f'expected {{"Regex": ...}} or {{"String": ...}}, found {show(holder.value)}')
    if not pattern:
        holder.fail("the split pattern is empty")
    if is_plain_word(pattern):  # these letters, and not the pattern that a Vocabulary takes them as the name of
        pattern = f"(?:{pattern})"
    return [_of_matches(pattern, _behavior(node["behavior"], ""), node)]


def _of_marked(pattern: str, mark: str, node: Json) -> str:
    """`pattern`, which sees `mark` for each space. Unsupported if it distinguishes the two."""
    if len(mark) == 1 and distinguishes(pattern, " ", mark):
        node.unsupported(f"the split pattern distinguishes spaces from {mark}, which tokenmill does not do")
    return pattern


def _of_matches(pattern: str, behavior: str, node: Json) -> str:
    """The pattern whose pretokens are what `behavior` makes of the matches of `pattern`."""
    invert = node.get("invert", bool, False)
    if behavior == "isolated":
        return pattern
    if behavior == "removed" and invert:
        from ..split.compiler import covers_all_text  # late: few files need the compiler

        if covers_all_text(pattern):
            return pattern
    if _one_character(pattern) and not invert:
        if behavior == "contiguous":
            return f"{pattern}+"
        if behavior == "merged_with_previous":  # of several matches in a row, the first is joined
            return f"(?:(?!{pattern})(?s:.))+{pattern}?|{pattern}"
        if behavior == "merged_with_next":  # and here the last
            return f"{pattern}?(?:(?!{pattern})(?s:.))+|{pattern}"
    inverted = " and invert" if invert else ""
    node["behavior"].unsupported(
        f"the behaviour {behavior!r}{inverted} by {show(pattern)} is not one that tokenmill has: it reads isolated, "
        "removed with invert where the pattern covers all text, and the others where a match is one character"
    )


def _one_character(pattern: str) -> bool:
    """Whether `pattern` is one character or one class, so that touching matches are `pattern+`."""
    one = r"\[\^?(?:[^\[\]\\]|\\.)+\]|\\[pP]\{[^}]*\}|\\?[^\w\\]|\\[wdsWDS]|\w"
    return pattern == PUNCTUATION or re.fullmatch(one, pattern) is not None


def pre_tokenizer_json(vocabulary: Vocabulary) -> dict[str, Any] | None:
    """The `pre_tokenizer` section that cuts text as `vocabulary` does; None where nothing cuts or changes text."""
    split_patterns, prefix = vocabulary.split_patterns, vocabulary.normalization.add_prefix_space
    if vocabulary.normalization.space_mark:
        return _metaspace_json(split_patterns, vocabulary.normalization)
    steps: list[dict[str, Any]] = [
        {"type": "Split", "pattern": {"Regex": to_oniguruma(pattern)}, "behavior": "Isolated", "invert": False}
        for pattern in split_patterns
    ]
    use_regex = split_patterns == (PATTERNS["gpt2"],)  # in full, so that other readers know it
    if prefix and (prefix == "first" or (steps and not use_regex) or vocabulary.alphabet != "bytes"):
        raise ConversionError("tokenizer.json can put a space before a text only with the gpt2 pattern or with none")
    if vocabulary.alphabet == "bytes":
        level = BYTE_LEVEL | {"add_prefix_space": prefix, "use_regex": use_regex}
        steps = [level] if use_regex else [*steps, level]
    if len(steps) < 2:
        return steps[0] if steps else None
    return {"type": "Sequence", "pretokenizers": steps}


def _metaspace_json(split_patterns: tuple[str, ...], normalization: Normalization) -> dict[str, Any] | None:
    prefix, mark = normalization.add_prefix_space, normalization.space_mark
    if split_patterns not in ((), (METASPACE_SPLIT,)):
        raise ConversionError(f"tokenizer.json cannot split by {split_patterns[0]!r} where {mark} stands for a space")
    if not split_patterns and not prefix and ("Replace", " ", mark) in normalization.normalizers:
        return None
    scheme = "first" if prefix == "first" else "always" if prefix else "never"
    return {"type": "Metaspace", "replacement": mark, "prepend_scheme": scheme, "split": bool(split_patterns)}
