"""Reading tokenizer.json: the byte-level BPE family in full, and the character-level files that tokenmill writes.

What decides ids and is not of the family is a FormatError that names it. What decides no ids of plain text (a template
that adds a start token, truncation, padding) is kept as a note.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ..vocabulary import AddedToken, Vocabulary
from .companion import NORMALIZERS, added_token
from .huggingface import assigned_ids
from .pretokenizers import read_pre_tokenizer
from .reading import Json, parse_json, show
from .text_tables import check_bytes, drop_added, read_rows, read_tokens

if TYPE_CHECKING:
    import numpy as np

__all__ = ["parse_tokenizer_json"]


def parse_tokenizer_json(data: bytes, file: str) -> Vocabulary:
    """The vocabulary of a tokenizer.json. FormatError names the JSON path of whatever is wrong or foreign."""
    root = parse_json(data, file)
    model = root["model"]
    _check_model(model)
    notes: list[str] = []
    splitting = read_pre_tokenizer(root["pre_tokenizer"])
    normalizers = _read_normalizer(root["normalizer"])
    _read_decoder(root["decoder"], splitting.byte_level, notes)
    _note_post_processor(root["post_processor"], notes)
    for section, effect in (("truncation", "cuts long texts"), ("padding", "pads texts")):
        if not root[section].absent:
            notes.append(f"{section} is set, which {effect} in Hugging Face's encode; tokenmill does not")

    vocab: dict[str, int] = model["vocab"].expect(dict)
    added = _read_added(root["added_tokens"], vocab)
    tokens = read_tokens(model["vocab"], vocab, {token.content for token in added}, splitting.byte_level)
    events = _read_merges(model["merges"], vocab)
    tokens = drop_added(tokens, added, events)
    unknown = _read_unknown(model, vocab, splitting.byte_level)
    if not splitting.byte_level and unknown is None:
        notes.append("there is no unknown token: Hugging Face drops characters without a token, tokenmill refuses them")
    if splitting.byte_level:
        check_bytes(model["vocab"], tokens)
    return Vocabulary(
        tokens=tuple(tokens),
        split_patterns=tuple(splitting.split_patterns),
        order="merges",
        events=events,
        added_tokens=tuple(added),
        whole_pretokens=model.get("ignore_merges", bool, False),
        alphabet="bytes" if splitting.byte_level else "characters",
        unknown=unknown,
        normalizers=normalizers,
        add_prefix_space=splitting.add_prefix_space,
        notes=tuple(notes),
    )


def _check_model(model: Json) -> None:
    if model.absent:
        model.fail("there is no model, so this is no tokenizer.json")
    kind = model.get("type", str, "BPE" if "merges" in model.expect(dict) else "unknown")
    if kind != "BPE":
        model["type"].fail(f"the model is {kind}; tokenmill reads BPE")
    if model["dropout"].value not in (None, 0, 0.0):
        model["dropout"].fail(
            f"BPE dropout is {show(model['dropout'].value)}: its ids are random, and tokenmill's are not"
        )
    for affix in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model[affix].value not in (None, ""):
            model[affix].fail(f"{affix} is {show(model[affix].value)}; the byte-level BPE family has none")
    for flag, why in (
        ("byte_fallback", "falls back to bytes for unknown characters (SentencePiece), which tokenmill does not"),
        ("fuse_unk", "fuses unknown characters into one token, which tokenmill does not"),
    ):
        if model.get(flag, bool, False) and not (flag == "fuse_unk" and model["unk_token"].value is None):
            model[flag].fail(f"the model {why}")


def _read_normalizer(node: Json) -> tuple[str, ...]:
    if node.absent:
        return ()
    kind = node["type"].expect(str)
    if kind == "Sequence":
        return tuple(name for step in node["normalizers"] for name in _read_normalizer(step))
    if kind not in NORMALIZERS:
        node.fail(f"the normalizer {kind!r} is not one that tokenmill has ({', '.join(NORMALIZERS)})")
    return (kind,)


def _read_decoder(node: Json, byte_level: bool, notes: list[str]) -> None:
    kind = None if node.absent else node["type"].expect(str)
    if kind == "Sequence":
        steps = list(node["decoders"])
        kind = steps[0]["type"].expect(str) if len(steps) == 1 else "Sequence"
    if kind != ("ByteLevel" if byte_level else "Fuse"):
        notes.append(f"the decoder is {kind or 'absent'}; tokenmill decodes to the very text that was encoded")


def _note_post_processor(node: Json, notes: list[str]) -> None:
    if node.absent:
        return
    kind = node["type"].expect(str)
    if kind == "Sequence":
        for step in node["processors"]:
            _note_post_processor(step, notes)
    elif kind == "TemplateProcessing":
        wanted = [item["SpecialToken"]["id"].value for item in node["single"] if not item["SpecialToken"].absent]
        if wanted:
            notes.append(
                f"a template adds {', '.join(map(str, wanted))} to every text in Hugging Face's encode; tokenmill adds "
                "nothing, as encode(text, add_special_tokens=False) does"
            )
    elif kind != "ByteLevel":
        notes.append(
            f"the post-processor {kind} adds special tokens to every text in Hugging Face's encode; tokenmill adds nothing, "
            "as encode(text, add_special_tokens=False) does"
        )


def _read_added(node: Json, vocab: dict[str, int]) -> list[AddedToken]:
    if node.absent:
        return []
    tokens = []
    contents: dict[str, Json] = {}
    ids: dict[int, Json] = {}
    for item in node:
        token = added_token(item)
        if token.content in contents:
            item.fail(f"the added token {token.content!r} occurs twice (first at {contents[token.content].where})")
        if token.id in ids:
            item.fail(f"the id {token.id} of {token.content!r} is taken already (at {ids[token.id].where})")
        contents[token.content], ids[token.id] = item, item
        tokens.append(token)
    for content, id in assigned_ids(contents, vocab).items():
        item = contents[content]
        if item["id"].value != id:
            item["id"].fail(
                f"the added token {content!r} has the id {item['id'].value} here, but Hugging Face's reader gives it {id}: "
                + ("the vocabulary says so" if content in vocab else "it numbers added tokens in turn")
            )
    return tokens


def _read_merges(node: Json, vocab: dict[str, int]) -> np.ndarray:
    """The merges, written "a b" or ["a", "b"], as rows (left id, right id, new id)."""
    merges = node.expect(list)

    def bad(n: int, what: str) -> NoReturn:
        Json(merges[n], node.file, f"{node.where}[{n}]").fail(what)

    if merges and type(merges[0]) is str:
        for n, merge in enumerate(merges):
            if type(merge) is not str or merge.count(" ") != 1 or len(merge) < 3 or " " in (merge[0], merge[-1]):
                bad(n, f"expected two tokens with a space between, found {show(merge)}")
        sides = " ".join(merges).split(" ")
        return read_rows(sides[::2], sides[1::2], vocab, bad)
    for n, merge in enumerate(merges):
        if type(merge) is not list or list(map(type, merge)) != [str, str]:
            bad(n, f"expected a pair of tokens, found {show(merge)}")
    return read_rows([left for left, _ in merges], [right for _, right in merges], vocab, bad)


def _read_unknown(model: Json, vocab: dict[str, int], byte_level: bool) -> int | None:
    text = model.get("unk_token", str, "")
    if not text or byte_level:  # with a token for every byte there is nothing unknown
        return None
    if text not in vocab:
        model["unk_token"].fail(f"the unknown token {text!r} is not in the vocabulary")
    return vocab[text]
