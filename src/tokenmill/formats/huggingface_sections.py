"""The sections of a tokenizer.json around its model, read and written: normalizer, pre-tokenizer, decoder and post-processor.

A file of the SentencePiece kind writes a space as U+2581, by the normalizer Replace or by the pre-tokenizer Metaspace, and
its decoder turns it back. A Vocabulary contains the space itself, and the character as `space_mark`.

Pre-tokenizers of the byte-level BPE family become split patterns:

    ByteLevel                   the gpt2 pattern if use_regex, and the byte alphabet
    Split, isolated             its regular expression or string
    Split, removed and invert   the same, if its matches cover all text; or, in the first step, all but some characters that no match
                                contains (Vocabulary.dropped)
    Split, contiguous           matches that touch are one pretoken: only if every match is one character
    Digits                      \\p{N}, or \\p{N}+ unless individual_digits
    Punctuation                 ASCII punctuation and \\p{P}; isolated or contiguous
    Split, merged_with_...      a match is joined to the text before or after it: only if every match is one character
    FixedLength                 pretokens of `length` characters
    Whitespace, WhitespaceSplit, BertPreTokenizer, CharDelimiterSplit; Split, removed, where its matches are runs of a class of
                                characters: the first step, whose characters no token stands for (Vocabulary.dropped)
    Metaspace                   a space is U+2581; with `split`, each begins a pretoken
    Sequence                    one inside the other

Split, Digits, Punctuation and FixedLength after ByteLevel cut the characters of bytes (Vocabulary.byte_patterns).

tokenizers encodes with the others, such as UnicodeScripts (library_files.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, repeat
from typing import Any, Literal

from ..errors import ConversionError
from ..split import Splitter
from ..split.alphabet import NotRegular, members
from ..split.names import is_plain_word
from ..split.patterns import PATTERNS, PUNCTUATION
from ..split.spelling import distinguishes, from_oniguruma, to_oniguruma
from ..split.syntax import parse
from ..split.tree import Repeat, as_set, may_be_empty
from ..vocabulary import Normalization, Template, Vocabulary
from ..vocabulary.normalization import STEPS, Step, Stripped
from ..vocabulary.vocabulary import NO_TEMPLATE, Items, Trims
from .file_content import Json, show

WHITE_SPACE = r"\s+"
WORDS = r"\w+|[^\w\s]+"
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
_ONE = r"\[\^?(?:[^\[\]\\]|\\.)+\]|\\[pP]\{[^}]*\}|\\?[^\w\\]|\\[wdsWDS]|\w"  # a pattern of one character
METASPACE_SPLIT = r" ?[^ ]+| "
TokenOf = Callable[[Json, Json], str]  # the token of a template by the nodes of its name and its id


def steps_of(node: Json) -> Iterator[Json]:
    """Yield the steps of a section of tokenizer.json in order, those of a Sequence one by one."""
    if node.absent:
        return
    if node["type"].value != "Sequence":
        yield node
        return
    name = next((name for name in ("normalizers", "pretokenizers", "processors") if not node[name].absent), "decoders")
    for step in node[name]:
        yield from steps_of(step)


def read_step(node: Json) -> Step:
    """Return a step of the `normalizer` section. Unsupported for one that tokenmill does not have."""
    kind = node["type"].expect(str)
    if kind == "Prepend":
        return kind, node["prepend"].expect(str)
    if kind == "Replace":
        old, new = node["pattern"], node["content"].expect(str)
        if old["Regex"].absent:
            return kind, old["String"].expect(str), new
        pattern = _regex(old["Regex"])
        if may_be_empty(parse(pattern)):
            old["Regex"].unsupported("it can match no character, which tokenizers replaces in its own way")
        return "ReplaceRegex", pattern, new
    if kind == "Strip":
        return kind, node.get("strip_left", bool, True), node.get("strip_right", bool, True)
    if STEPS.get(kind) != 0:
        known = ", ".join(step for step in STEPS if step not in ("CharacterMap", "ReplaceRegex"))
        node.unsupported(f"the normalizer {kind!r} is not one that tokenmill has ({known})")
    return kind


def normalizer_json(steps: tuple[Step, ...]) -> dict[str, Any] | None:
    """Return the `normalizer` section of these steps, None without one."""
    sections = [_step_json(*((step,) if isinstance(step, str) else step)) for step in steps]
    return {"type": "Sequence", "normalizers": sections} if len(sections) > 1 else [*sections, None][0]


def _step_json(name: str, *arguments: Any) -> dict[str, Any]:
    if name in ("Replace", "ReplaceRegex"):
        old = {"String": arguments[0]} if name == "Replace" else {"Regex": to_oniguruma(arguments[0])}
        return {"type": "Replace", "pattern": old, "content": arguments[1]}
    if name == "CharacterMap":
        raise ConversionError(
            "tokenizer.json cannot represent a SentencePiece character map: tokenizers applies it by grapheme"
        )
    names = {"Prepend": ("prepend",), "Strip": ("strip_left", "strip_right")}
    return {"type": name} | dict(zip(names.get(name, ()), arguments, strict=True))


def read_decoder(
    node: Json, byte_level: bool, mark: str, byte_fallback: bool, dropping: bool, notes: list[str]
) -> Stripped:
    """Return Normalization.strip_decoded. Unsupported for a decoder that changes text in another way.

    byte_fallback: whether tokens such as <0x41> stand for bytes. dropping: whether no token stands for white space.
    """
    steps = list(steps_of(node))
    kinds = [step["type"].expect(str) for step in steps]
    if dropping and not kinds:
        if byte_level:
            node.unsupported("there is no decoder, and tokenizers puts spaces between the characters of bytes")
        return "joined"
    if not mark and kinds == (["ByteLevel"] if byte_level else ["ByteFallback", "Fuse"] if byte_fallback else ["Fuse"]):
        return ""
    if mark and kinds == ["Metaspace"] and steps[0]["replacement"].value == mark and not byte_fallback:
        adds = steps[0].get("add_prefix_space", bool, True)
        return "token" if steps[0].get("prepend_scheme", str, "always" if adds else "never") != "never" else ""
    in_order = kinds == [kind for kind in ("Replace", "ByteFallback", "Fuse", "Strip") if kind in kinds]
    if mark and kinds[:1] == ["Replace"] and in_order and ("ByteFallback" in kinds or not byte_fallback):
        replaced = steps[0]["pattern"]["String"].value, steps[0]["content"].value
        stripped = [steps[-1][name].value for name in ("content", "start", "stop")] if kinds[-1] == "Strip" else []
        if replaced == (mark, " ") and stripped in ([], [" ", 0, 0]):
            return ""
        # Without Fuse, each token is stripped.
        if replaced == (mark, " ") and stripped == [" ", 1, 0] and "Fuse" in kinds:
            return "space"
    if kinds:
        node.unsupported(f"the decoder {' + '.join(kinds)} does not give back the text")
    notes.append("there is no decoder; tokenmill decodes to the very text that was encoded")
    return ""


def decoder_json(vocabulary: Vocabulary) -> dict[str, Any] | None:
    """Return the `decoder` section of a vocabulary whose alphabet is characters."""
    mark, strip_decoded = vocabulary.normalization.space_mark, vocabulary.normalization.strip_decoded
    if strip_decoded == "joined":
        return None
    bytes_and_fuse: list[dict[str, Any]] = [{"type": "ByteFallback"}, {"type": "Fuse"}][not vocabulary.byte_tokens :]
    if not mark:
        return {"type": "Sequence", "decoders": bytes_and_fuse} if vocabulary.byte_tokens else {"type": "Fuse"}
    if strip_decoded == "token":
        return {"type": "Metaspace", "replacement": mark, "prepend_scheme": "always", "split": False}
    steps: list[dict[str, Any]] = [{"type": "Replace", "pattern": {"String": mark}, "content": " "}, *bytes_and_fuse]
    if strip_decoded:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}


def check_mark(mark: str, steps: tuple[Step, ...], node: Json) -> None:
    """Raise FormatError unless `mark` is one character, and Unsupported if a step follows the one that writes it."""
    if len(mark) != 1:
        node.fail(f"the replacement of a space is {show(mark)}; expected one character")
    last = [step for step in steps if isinstance(step, tuple) and step[0] == "Replace" and step[2] == mark]
    if last and steps[-1] != last[-1]:
        node.unsupported(
            f"the normalizer changes text after it has replaced spaces by {show(mark)}, which tokenmill does not read"
        )


def read_post_processor(node: Json, token_of: TokenOf) -> Template:
    """Return the template of a post-processor; `node` may be absent or a sequence."""
    single: list[Items] = [((0, 0),)]
    pair: list[Items] = [((0, 0),), ((1, 1),)]
    trims: Trims = ""
    for step in steps_of(node):
        single, pair = _processed(step, single, token_of), _processed(step, pair, token_of)
        trims = trims or _read_trims(step)
    if not single:
        node.fail("a template makes more than two parts of a text, so that tokenizers cannot apply the next one")
    return Template(tuple(chain(*single)), tuple(chain(*pair)), trims)


def _processed(node: Json, parts: list[Items], token_of: TokenOf) -> list[Items]:
    """Return the parts of a text after a post-processor, to which the next one applies; none if tokenizers cannot apply this one."""
    kind = node["type"].expect(str)
    if kind == "ByteLevel":
        return parts
    if kind == "TemplateProcessing":
        rows = [_read_parts(node, name, token_of) for name in ("single", "pair")]
        row = rows[len(parts) - 1] if len(parts) in (1, 2) else []
        return [
            part if text is None else tuple((item, type_id) for item, _ in parts[text]) for text, type_id, part in row
        ]
    if kind not in ("BertProcessing", "RobertaProcessing"):
        node["type"].fail(f"the post-processor is {kind}; tokenmill reads those of tokenizers 0.22")
    cls, sep = ((token_of(*[*node[name], node[name], node[name]][:2]), 0) for name in ("cls", "sep"))
    if kind == "BertProcessing":
        return [(*part, (sep[0], 1)) if n else (cls, *part, sep) for n, part in enumerate(parts)]
    plain = (tuple((item, 0) for item, _ in part) for part in parts)
    return [(sep if n else cls, *part, sep) for n, part in enumerate(plain)]


def _read_trims(node: Json) -> Trims:
    if node["type"].value not in ("ByteLevel", "RobertaProcessing") or not node.get("trim_offsets", bool, True):
        return ""
    return "prefix" if node.get("add_prefix_space", bool, True) else "all"


def _read_parts(node: Json, name: str, token_of: TokenOf) -> list[tuple[int | None, int, Items]]:
    """Return the rows of a template: the number of a text, or None and the tokens."""
    rows: list[tuple[int | None, int, Items]] = []
    for item in node[name]:
        if item["SpecialToken"].absent:
            sequence = item["Sequence"]
            if (letter := sequence["id"].value) not in ("A", "B"):
                sequence["id"].fail(f"the text is {letter!r}; expected 'A' or 'B'")
            rows.append(("AB".index(letter), sequence.get("type_id", int, 0), ()))
            continue
        key, type_id = item["SpecialToken"]["id"].expect(str), item["SpecialToken"].get("type_id", int, 0)
        special = node["special_tokens"][key]
        names = chain(special["tokens"], repeat(item["SpecialToken"]["id"]))
        tokens = [token_of(text, id) for text, id in zip(names, special["ids"], strict=False)]
        rows.append((None, type_id, tuple((token, type_id) for token in tokens)))
    texts = sorted(text for text, *_ in rows if text is not None)
    if texts != [0, 1][: 1 + (name == "pair")] and (rows or name == "single"):
        node[name].fail("the template does not have each text once")
    return rows


def post_processor_json(template: Template, ids: Mapping[str, int]) -> dict[str, Any] | None:
    """Return the post-processor of a template, None if it does nothing. ids: of all tokens; others are left out."""
    steps: list[dict[str, Any]] = []
    if template.trims:
        prefix = template.trims == "prefix"
        steps.append({"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": True})
    template = template.of_tokens(ids)
    if template[:2] != NO_TEMPLATE[:2]:
        names = {item: {"id": item, "ids": [ids[item]], "tokens": [item]} for item, _ in (*template.single, *template.pair) if isinstance(item, str)}  # fmt: skip
        single, pair = (
            [
                {"Sequence": {"id": "AB"[item], "type_id": type_id}}
                if isinstance(item, int)
                else {"SpecialToken": {"id": item, "type_id": type_id}}
                for item, type_id in items
            ]
            for items in (template.single, template.pair)
        )
        steps.append({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": names})
    return {"type": "Sequence", "processors": steps} if len(steps) > 1 else steps[0] if steps else None


class PreTokenizer:
    """The settings of the `pre_tokenizer` section: split patterns, the byte alphabet, prefix space.

    space_mark: the character that the normalizer or the section writes for a space. The patterns apply to text with the space
        itself.
    Raises Unsupported for a section that is not of the family.
    """

    def __init__(self, node: Json, space_mark: str):
        self.split_patterns: list[str] = []
        self.byte_level = False
        self.add_prefix_space: bool | Literal["first"] = False
        self.byte_patterns: list[str] = []
        self.dropped = ""
        self._is_metaspace = False
        steps = [*steps_of(node)]
        # Tokens of bytes contain the mark itself, so the patterns apply to it too.
        self.space_mark = "" if any(step["type"].value == "ByteLevel" for step in steps) else space_mark
        for step in steps:
            self._read(step)
        if self.byte_patterns and Splitter(*self.byte_patterns).scanner is None:
            node.unsupported("an automaton cannot run the pattern of a step after ByteLevel")

    def _read(self, node: Json) -> None:
        kind, earlier = node["type"].expect(str), bool(self.split_patterns)
        drops = kind == "Split" and _behavior(node["behavior"], "") == "removed" and not node.get("invert", bool, False)
        patterns = self.byte_patterns if self.byte_level else self.split_patterns
        if self.byte_level and (drops or kind not in ("Split", "Digits", "Punctuation", "FixedLength")):
            node.unsupported(f"{kind} comes after ByteLevel, and changes the bytes instead of cutting them")
        if drops:
            self._drop(_split_pattern(node, ""), node)
        elif kind == "CharDelimiterSplit":
            self._drop(_literal(node["delimiter"].expect(str)), node)
        elif kind in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer"):
            self._drop(WHITE_SPACE, node)
            self.split_patterns += {"Whitespace": [WORDS], "BertPreTokenizer": [PUNCTUATION]}.get(kind, [])
        elif self.dropped and kind == "Metaspace":
            node.unsupported(f"{kind} comes after a step that drops text, which tokenmill cannot do")
        elif kind == "ByteLevel":
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
            for pattern in self.split_patterns:
                _checked_for_mark(pattern, mark, node)
            adds = node.get("add_prefix_space", bool, True)
            scheme = node.get("prepend_scheme", str, "always" if adds else "never")
            if scheme not in ("always", "first", "never"):
                node["prepend_scheme"].fail(f"expected always, first or never, found {show(scheme)}")
            self.add_prefix_space = "first" if scheme == "first" else scheme == "always"
            if node.get("split", bool, True):
                self.split_patterns.append(METASPACE_SPLIT)
        elif kind == "Split":
            if pattern := _split_pattern(node, self.space_mark):
                # A plain word is these letters, not the name of a pattern.
                pattern = f"(?:{pattern})" if is_plain_word(pattern) else pattern
                behavior, is_later = _behavior(node["behavior"], ""), self.byte_level or bool(patterns)
                patterns.append(_with_behavior(pattern, behavior, node))
                if behavior == "removed":  # and invert
                    self._drop_characters(_uncovered(pattern) or "", node, is_later)
        elif kind == "Digits":
            pattern = r"\p{N}" if node.get("individual_digits", bool, False) else r"\p{N}+"
            patterns.append(_checked_for_mark(pattern, self.space_mark, node))
        elif kind == "FixedLength":
            if (length := node.get("length", int, 5)) < 1:
                node["length"].fail(f"expected at least 1, found {length}")
            if length > 99_999:
                node["length"].unsupported(f"pretokens of {length:,} characters are longer than patterns count")
            patterns.append(f"(?s:.){{1,{length}}}")
        elif kind == "Punctuation":
            pattern = _checked_for_mark(PUNCTUATION, self.space_mark, node)
            patterns.append(_with_behavior(pattern, _behavior(node["behavior"], "Isolated"), node))
        else:
            node.unsupported(f"the pre-tokenizer {kind!r} is not one that tokenmill has")
        if kind in ("ByteLevel", "Metaspace") and self.add_prefix_space and earlier:
            node.unsupported(f"{kind} puts a space before pretokens of an earlier split, which tokenmill cannot do")

    def _drop(self, pattern: str, node: Json) -> None:
        """Drop the runs of characters that the first step matches."""
        single = pattern[:-1] if pattern.endswith("+") and isinstance(parse(pattern), Repeat) else pattern
        characters = as_set(parse(single))
        if characters is None or not re.fullmatch(_ONE, single):
            node.unsupported(f"it drops what {show(pattern)} matches, which may be several characters")
        try:
            self._drop_characters("".join(map(chr, members(characters))), node, bool(self.split_patterns))
        except NotRegular as reason:
            node.unsupported(f"the pattern has {reason}")
        self.split_patterns.append(f"{single}+")

    def _drop_characters(self, characters: str, node: Json, is_later: bool) -> None:
        if characters and (is_later or self.space_mark):
            node.unsupported("it drops text after another step, which tokenmill does only in the first one")
        if max(characters, default="") > "\uffff":
            node.unsupported("it drops characters beyond U+FFFF")
        self.dropped = characters or self.dropped


def drops_white_space(vocabulary: Vocabulary) -> bool:
    """Return whether all white space is dropped."""
    white_space = as_set(parse(WHITE_SPACE[:-1]))
    return white_space is not None and {*map(chr, members(white_space))} <= {*vocabulary.dropped}


def _behavior(node: Json, default: str) -> str:
    """Return the behaviour in lower case: files spell it MergedWithNext or merged_with_next."""
    text = default if node.absent else node.expect(str)
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", text).lower()


def _regex(node: Json) -> str:
    """Return the pattern of a Regex of Oniguruma."""
    try:
        return from_oniguruma(node.expect(str))
    except ConversionError as error:
        node.unsupported(str(error))


def _literal(text: str) -> str:
    """Return the pattern that matches a text."""
    return re.sub(r"([^\w\s])", r"\\\1", text, flags=re.ASCII)


def _split_pattern(node: Json, mark: str) -> str:
    """Return the pattern of a Split, "" if it never matches: a space, in text with `mark` in place of spaces."""
    holder = node["pattern"]
    if not holder["Regex"].absent:
        pattern = _checked_for_mark(_regex(holder["Regex"]), mark, holder["Regex"])
    elif not holder["String"].absent:
        text = holder["String"].expect(str)
        if mark and " " in text:
            return ""
        pattern = _literal(text.replace(mark or " ", " "))
    else:
        holder.fail(f'expected {{"Regex": ...}} or {{"String": ...}}, found {show(holder.value)}')
    if not pattern:
        holder.fail("the split pattern is empty")
    return pattern


def _checked_for_mark(pattern: str, mark: str, node: Json) -> str:
    """Return `pattern`, which is for text with `mark` in place of spaces. Unsupported if it distinguishes the two."""
    if len(mark) == 1 and distinguishes(pattern, " ", mark):
        node.unsupported(f"the split pattern distinguishes spaces from {mark}, which tokenmill does not do")
    return pattern


def _with_behavior(pattern: str, behavior: str, node: Json) -> str:
    """Return the pattern whose pretokens are the matches of `pattern` after `behavior`."""
    invert = node.get("invert", bool, False)
    if behavior == "isolated":
        return pattern
    if behavior == "removed" and invert and _uncovered(pattern) is not None:
        return pattern
    if (pattern == PUNCTUATION or re.fullmatch(_ONE, pattern)) and not invert:  # touching matches are `pattern+`
        if behavior == "contiguous":
            return f"{pattern}+"
        if behavior == "merged_with_previous":  # the first of several successive matches is joined
            return f"(?:(?!{pattern})(?s:.))+{pattern}?|{pattern}"
        if behavior == "merged_with_next":  # the last one
            return f"{pattern}?(?:(?!{pattern})(?s:.))+|{pattern}"
    inverted = " and invert" if invert else ""
    node["behavior"].unsupported(
        f"the behaviour {behavior!r}{inverted} by {show(pattern)} is not one that tokenmill has: it reads isolated, "
        "removed with invert where the matches leave only characters that none contains, and the others where a match is one character"
    )


def _uncovered(pattern: str) -> str | None:
    from ..split.compiler import uncovered  # late: few files need the compiler

    return uncovered(pattern)


def _isolated(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": to_oniguruma(pattern)}, "behavior": "Isolated", "invert": False}


def pre_tokenizer_json(vocabulary: Vocabulary) -> dict[str, Any] | None:
    """Return the `pre_tokenizer` section that cuts text as `vocabulary` does; None if it neither cuts nor changes text."""
    split_patterns, prefix = vocabulary.split_patterns, vocabulary.normalization.add_prefix_space
    if vocabulary.normalization.space_mark:
        return _metaspace_json(split_patterns, vocabulary.normalization)
    steps: list[dict[str, Any]] = [*map(_isolated, split_patterns)]
    if vocabulary.dropped:
        inverted = {*(_uncovered(split_patterns[0]) or "")} == {*vocabulary.dropped}
        steps[0] |= {"behavior": "Removed", "invert": inverted}
    use_regex = split_patterns == (PATTERNS["gpt2"],)  # in full, so that other readers know it
    if prefix and (prefix == "first" or (steps and not use_regex) or vocabulary.alphabet != "bytes"):
        raise ConversionError("tokenizer.json can put a space before a text only with the gpt2 pattern or with none")
    if vocabulary.alphabet == "bytes":
        level = BYTE_LEVEL | {"add_prefix_space": prefix, "use_regex": use_regex}
        steps = [level] if use_regex else [*steps, level]
        steps += map(_isolated, vocabulary.byte_patterns)
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
