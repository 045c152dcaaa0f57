"""The normalizer, the decoder and the post-processor of a tokenizer.json, read and written.

A file of the SentencePiece kind writes a space as U+2581, by the normalizer Replace or by the pre-tokenizer Metaspace, and
its decoder turns it back. A Vocabulary holds the space itself, and the character as `space_mark`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any

from ..errors import ConversionError
from ..split.spelling import from_oniguruma, to_oniguruma
from ..vocabulary import Template, Vocabulary
from ..vocabulary.normalization import STEPS, Step, Stripped
from ..vocabulary.vocabulary import NO_TEMPLATE, Items, Trims
from .file_content import Json, show


def steps_of(node: Json) -> Iterator[Json]:
    """The steps of a section of tokenizer.json in order, those of a Sequence one by one."""
    if node.absent:
        return
    if node["type"].value != "Sequence":
        yield node
        return
    name = next((name for name in ("normalizers", "pretokenizers") if not node[name].absent), "decoders")
    for step in node[name]:
        yield from steps_of(step)


def read_normalizer(node: Json) -> tuple[Step, ...]:
    """The steps of the `normalizer` section. Unsupported for one that tokenmill does not have."""
    return tuple(map(_read_step, steps_of(node)))


def _read_step(node: Json) -> Step:
    kind = node["type"].expect(str)
    if kind == "Prepend":
        return kind, node["prepend"].expect(str)
    if kind == "Replace":
        old, new = node["pattern"], node["content"].expect(str)
        if old["Regex"].absent:
            return kind, old["String"].expect(str), new
        try:
            return "ReplaceRegex", from_oniguruma(old["Regex"].expect(str)), new
        except ConversionError as error:
            old["Regex"].unsupported(str(error))
    if kind == "Strip":
        return kind, node.get("strip_left", bool, True), node.get("strip_right", bool, True)
    if STEPS.get(kind) != 0:
        node.unsupported(f"the normalizer {kind!r} is not one that tokenmill has ({', '.join(STEPS)})")
    return kind


def normalizer_json(steps: tuple[Step, ...]) -> dict[str, Any] | None:
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


def mark_of(steps: tuple[Step, ...]) -> str:
    """The character that the steps write for a space; "" where they keep it."""
    return next((step[2] for step in steps if step[:2] == ("Replace", " ") and len(step[2]) == 1), "")


def read_decoder(node: Json, byte_level: bool, mark: str, byte_fallback: bool, notes: list[str]) -> Stripped:
    """Return what decoding leaves out at the start (Normalization.strip_decoded). Unsupported for a decoder that does anything else.

    byte_fallback: whether tokens such as <0x41> stand for bytes.
    """
    steps = list(steps_of(node))
    kinds = [step["type"].expect(str) for step in steps]
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


def decoder_json(vocabulary: Vocabulary) -> dict[str, Any]:
    """The `decoder` section of a vocabulary whose alphabet is characters."""
    mark, strip_decoded = vocabulary.normalization.space_mark, vocabulary.normalization.strip_decoded
    bytes_and_fuse: list[dict[str, Any]] = [{"type": "ByteFallback"}, {"type": "Fuse"}][not vocabulary.byte_tokens :]
    if not mark:
        return {"type": "Sequence", "decoders": bytes_and_fuse} if vocabulary.byte_tokens else {"type": "Fuse"}
    if strip_decoded == "token":
        return {"type": "Metaspace", "replacement": mark, "prepend_scheme": "always", "split": False}
    steps: list[dict[str, Any]] = [
        {"type": "Replace", "pattern": {"String": mark}, "content": " "},
        *bytes_and_fuse,
    ]
    if strip_decoded:
        steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return {"type": "Sequence", "decoders": steps}


def check_mark(mark: str, steps: tuple[Step, ...], node: Json) -> None:
    """FormatError unless `mark` is one character that no step after the one that writes it can change."""
    if len(mark) != 1:
        node.fail(f"the replacement of a space is {show(mark)}; expected one character")
    last = [step for step in steps if isinstance(step, tuple) and step[0] == "Replace" and step[2] == mark]
    if last and steps[-1] != last[-1]:
        node.unsupported(
            f"the normalizer changes text after it has replaced spaces by {show(mark)}, which tokenmill does not read"
        )


def read_post_processor(node: Json, added: Mapping[int, str]) -> Template:
    """Return the template of a post-processor; `node` may be absent or a sequence. added: the added tokens by id."""
    if node.absent:
        return NO_TEMPLATE
    kind = node["type"].expect(str)
    if kind == "Sequence":
        steps = [read_post_processor(step, added) for step in node["processors"]]
        template = next((step for step in reversed(steps) if step[:2] != NO_TEMPLATE[:2]), NO_TEMPLATE)
        return template._replace(trims=next((step.trims for step in steps if step.trims), ""))
    if kind == "TemplateProcessing":
        return Template(_read_items(node, "single", added), _read_items(node, "pair", added))
    if kind == "ByteLevel":
        return Template(trims=_read_trims(node))
    if kind in ("BertProcessing", "RobertaProcessing"):
        cls, sep = ((next(iter(node[name]), node[name]).expect(str), 0) for name in ("cls", "sep"))
        text, other = (0, 0), (1, 0)
        if kind == "RobertaProcessing":
            return Template((cls, text, sep), (cls, text, sep, sep, other, sep), _read_trims(node))
        return Template((cls, text, sep), (cls, text, sep, (1, 1), (sep[0], 1)))
    node["type"].fail(f"the post-processor is {kind}; tokenmill reads those of tokenizers 0.22")


def _read_trims(node: Json) -> Trims:
    if not node.get("trim_offsets", bool, True):
        return ""
    return "prefix" if node.get("add_prefix_space", bool, True) else "all"


def _read_items(node: Json, name: str, added: Mapping[int, str]) -> Items:
    items: list[tuple[str | int, int]] = []
    for item in node[name]:
        if item["SpecialToken"].absent:
            sequence = item["Sequence"]
            if (letter := sequence["id"].value) not in ("A", "B"):
                sequence["id"].fail(f"the text is {letter!r}; expected 'A' or 'B'")
            items.append(("AB".index(letter), sequence.get("type_id", int, 0)))
            continue
        key, type_id = item["SpecialToken"]["id"].expect(str), item["SpecialToken"].get("type_id", int, 0)
        special = node["special_tokens"][key]
        for token, id in zip_longest(special["tokens"], special["ids"]):  # the id counts: names may be made up
            if token is not None:
                items.append((added.get(id.expect(int) if id else -1) or token.expect(str), type_id))
    texts = sorted(item for item, _ in items if isinstance(item, int))
    if texts != [0, 1][: 1 + (name == "pair")] and (items or name == "single"):
        node[name].fail("the template does not have each text once")
    return tuple(items)


def post_processor_json(template: Template, ids: Mapping[str, int]) -> dict[str, Any] | None:
    """The post-processor of a template, None if it does nothing. ids: of all tokens; others are left out."""
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
