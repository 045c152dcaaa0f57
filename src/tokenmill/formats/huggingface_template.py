"""The post-processor of tokenizer.json: the tokens around a text, and whether offsets leave out spaces."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from ..vocabulary import Template
from ..vocabulary.vocabulary import NO_TEMPLATE, Items, Trims
from .file_content import Json


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
