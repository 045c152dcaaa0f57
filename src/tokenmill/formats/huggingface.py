"""The Hugging Face folder: tokenizer.json, which `tokenizers` reads, and tokenizer_config.json for `transformers`.

tokenizer.json contains a BPE model (vocabulary, merges in order, ignore_merges), the pre-tokenizer, the normalizer and the
added tokens. Files beyond the split patterns and the kernels are encoded by tokenizers (library_files.py). A wrong section that
decides ids is a FormatError that names it. A section that decides no ids of plain text (a template that adds a start token,
truncation, padding) becomes a note.

Two rules of Hugging Face's reader determine the written file:
- It ignores the ids that the file lists for added tokens. A token in the model's vocabulary has its id there; the others are
  numbered in turn from the number of tokens. Where that results in a wrong id, the added tokens are written into the
  vocabulary too.
- Merges have no ranks. A vocabulary of ranks (tiktoken) is written with the pair that builds each token.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

from ..errors import ConversionError, FormatError, plural
from ..vocabulary import NORMALIZERS, AddedToken, Normalization, Template, Vocabulary
from ..vocabulary.normalization import Step
from ..vocabulary.validation import VocabularyError
from ..vocabulary.vocabulary import NO_TOKEN
from . import huggingface_sections as sections
from . import merges_txt as table
from ._bpe_json_cy import read_model
from ._bpe_tables_cy import BpeTables
from .byte_alphabet import CHARACTERS, to_token
from .companions import added_json, added_token
from .file_content import Json, Unsupported, decode_utf8, parse_json, read_bytes, show, starts_object
from .library_files import check_growth, tokenizer_json_of_library
from .merges_txt import TOKEN_ROLES, chat_template, json_at, roles_of, token_text
from .pieces import BYTE_TEXTS, one_name_each, put_text, text_or_none, token_texts
from .rank_merges import present_by_rank
from .unknown_files import model_kind

_TO_EVERY_TEXT = "to every text in Hugging Face's encode; tokenmill does so only with add_special_tokens=True"
_MODEL_MEMBER = re.compile(rb'"model"\s*:\s*\{')
_MODELS = ("BPE", "WordPiece", "WordLevel", "Unigram")
_SETTINGS = {"split_special_tokens": bool, "clean_up_tokenization_spaces": bool, "model_input_names": list}


def assigned_ids(
    contents: Iterable[str], vocab: dict[str, int] | BpeTables, from_highest: bool = False
) -> dict[str, int]:
    """Return the ids that Hugging Face's reader assigns to added tokens in the order of the file.

    from_highest: the rule before tokenizers 0.23: new ids follow the highest id of the added tokens before.

    >>> assigned_ids(["<a>", "b", "<c>"], {"a": 0, "b": 7})
    {'<a>': 2, 'b': 7, '<c>': 3}
    """
    ids: dict[str, int] = {}
    fresh = len(vocab)
    for content in contents:
        if content not in ids:
            known = vocab.get(content)
            ids[content] = fresh if known is None else known
            fresh += known is None
            if from_highest:
                fresh = max(fresh, ids[content] + 1)
    return ids


def tokenizer_json(vocabulary: Vocabulary) -> tuple[bytes, list[str]]:
    """Return a tokenizer.json, and notes on losses. ConversionError if `tokenizers` would give other ids."""
    if (model := vocabulary.library) is not None:
        if model.library != "tokenizers":
            raise ConversionError(
                f"tokenizer.json cannot represent this {model.kind} model: tokenizers would give other ids. Write tokenizer.model instead."
            )
        return model.data, []
    byte_level = vocabulary.alphabet == "bytes"
    tokens, rows, notes = table.tokens_and_merges(vocabulary, "tokenizer.json", whole_pretokens=True)
    texts = token_texts(vocabulary, tokens)
    if not byte_level:
        if lost := [id for id, token in enumerate(tokens) if token is not None and texts[id] is None]:
            notes.append(
                f"left out {plural(len(lost), 'token')} that are not UTF-8, such as {tokens[lost[0]]!r} (id {lost[0]})"
            )
        rows = [row for row in rows if texts[row[0]] is not None and texts[row[1]] is not None]
    vocab = {text: id for id, text in enumerate(texts) if text is not None}
    special = {token.id for token in vocabulary.added_tokens}
    for id, token in vocabulary.decode_only:
        if id not in special:
            put_text(vocab, token.decode(), id, "tokenizer.json")
    added = one_name_each(vocabulary, notes)
    _put_added(vocab, added, vocabulary)
    ids = vocab | {token.content: token.id for token in added}
    unknown = None if vocabulary.unknown is None else (vocabulary.token_bytes(vocabulary.unknown) or b"").decode()
    pairs: list[Any] = [[texts[left], texts[right]] for left, right, _ in rows]
    if byte_level:  # tokens of characters may contain spaces
        pairs = list(map(" ".join, pairs))
    head = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [added_json(token) for token in added],
        "normalizer": sections.normalizer_json(vocabulary.normalization.normalizers),
        "pre_tokenizer": sections.pre_tokenizer_json(vocabulary),
        "post_processor": sections.post_processor_json(vocabulary.template, ids),
        "decoder": sections.BYTE_LEVEL if byte_level else sections.decoder_json(vocabulary),
    }
    section = {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": vocabulary.fuse_unknown,
        "byte_fallback": bool(vocabulary.byte_tokens),
        "ignore_merges": vocabulary.whole_pretokens,
    }
    # One token and one merge a line: readable and easy to compare. The C encoder of json writes it.
    lines = json.dumps(head, ensure_ascii=False, indent=2)[:-2], json.dumps(section, ensure_ascii=False, indent=2)[:-2]
    vocab_lines = json.dumps(vocab, ensure_ascii=False, separators=(",\n", ": "))
    pair_lines = ",\n".join(map(json.JSONEncoder(ensure_ascii=False).encode, pairs))
    text = f'{lines[0]},\n"model": {lines[1]},\n"vocab": {vocab_lines},\n"merges": [\n{pair_lines}\n]\n}}\n}}\n'
    return text.encode(), notes


def longest_match_json(vocabulary: Vocabulary) -> tuple[bytes, list[str]]:
    """Return a tokenizer.json with the present tokens of a Picky vocabulary in a WordPiece model, and notes."""
    data, notes = tokenizer_json(present_by_rank(vocabulary))
    root = json.loads(data)
    model = {"type": "WordPiece", "unk_token": root["model"]["unk_token"] or "", "continuing_subword_prefix": ""}
    root["model"] = {**model, "max_input_chars_per_word": 1 << 30, "vocab": root["model"]["vocab"]}
    return (json.dumps(root, ensure_ascii=False, indent=0) + "\n").encode(), notes


def _may_be_pretoken(token: AddedToken, normalizers: tuple[Step, ...], byte_level: bool) -> bool:
    """Return whether a pretoken can spell an added token that the text does not. With `ignore_merges`, it becomes that token."""
    for step in normalizers:
        written = step[-1] if step[0] in ("Prepend", "Replace", "ReplaceRegex") else ""
        if step == "NFC" and token.content.isascii():
            written = "K;`"  # the ASCII characters that it writes for others
        if not written or not {*token.content}.isdisjoint(written):
            return True
    text = text_or_none(to_token(token.content)) if byte_level else None
    return token.single_word or text not in (None, token.content)


def _put_added(vocab: dict[str, int], added: list[AddedToken], vocabulary: Vocabulary) -> None:
    """Put the added tokens into `vocab` if Hugging Face's reader would assign them wrong ids otherwise."""
    contents = [token.content for token in added]
    letters = [token for token in added if len(token.content) == 1 and token.content not in vocab]
    ordinary = len(vocab)
    wanted = {token.content: token.id for token in added}
    highest = max(vocab.values(), default=-1)
    for only_needed in (True, False):  # first those among the ordinary ids only, then all
        for content, id in wanted.items():
            if id == vocabulary.unknown or id < highest or not only_needed:
                put_text(vocab, content, id, "tokenizer.json")
        if assigned_ids(contents, vocab) == assigned_ids(contents, vocab, from_highest=True) == wanted:
            break
    normalizers, byte_level = vocabulary.normalization.normalizers, vocabulary.alphabet == "bytes"
    may_be_pretoken = [token for token in added if _may_be_pretoken(token, normalizers, byte_level)]
    spelt = may_be_pretoken if vocabulary.whole_pretokens and len(vocab) > ordinary else []
    for token in letters:  # a token that the text spells is matched first
        if token.content in vocab and (token.special or (not token.normalized and token in may_be_pretoken)):
            spelt = [token]
    for token in spelt:
        raise ConversionError(
            f"the added token {token.content!r} must be in the vocabulary of tokenizer.json to keep its id "
            f"{token.id}. There it is a token of ordinary text too, so some texts would get other ids. Give the "
            "added tokens the ids that follow the ordinary tokens."
        )


def tokenizer_config_json(vocabulary: Vocabulary) -> bytes:
    """Return the content of tokenizer_config.json, by which transformers' AutoTokenizer opens the folder."""
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": int(1e30),
        "clean_up_tokenization_spaces": False,
        "added_tokens_decoder": {
            str(token.id): {key: value for key, value in added_json(token).items() if key != "id"}
            for token in one_name_each(vocabulary, [])
        },
    }
    if vocabulary.unknown is not None:
        config["unk_token"] = (vocabulary.token_bytes(vocabulary.unknown) or b"").decode()
    config |= {**vocabulary.config, **roles_of(vocabulary)}
    if others := [text for text in vocabulary.special_tokens if text not in map(config.get, TOKEN_ROLES)]:
        config["additional_special_tokens"] = others
    return (json.dumps(config, ensure_ascii=False, indent=2) + "\n").encode()


def _read_config(folder: Path) -> dict[str, Any]:
    """Return the settings of transformers in the folder, with the chat templates of separate files."""
    config = json_at(folder / "tokenizer_config.json")
    settings = {name: config.get(name, kind, None) for name, kind in _SETTINGS.items()}
    settings |= {name: _side(config[name]) for name in ("padding_side", "truncation_side")}
    # transformers reads the older file only without the newer member.
    older = [json_at(folder / "special_tokens_map.json")] if config["added_tokens_decoder"].absent else []
    for source in (config, *older):
        settings |= {name: token_text(source[name]) for name in TOKEN_ROLES if not source[name].absent}
    for name in ("extra_special_tokens", "model_specific_special_tokens"):
        if isinstance(config[name].value, dict):  # by name, such as image_token; tokenizer.json has those of a list
            named = {role: token_text(item) for role, item in config[name].items()}
            settings["model_specific_special_tokens"] = (settings.get("model_specific_special_tokens") or {}) | named
    templates = config["chat_template"]
    if isinstance(templates.value, list):
        settings["chat_template"] = [{key: item[key].expect(str) for key in ("name", "template")} for item in templates]
    else:
        settings["chat_template"] = config.get("chat_template", str, None)
    if (longest := config["model_max_length"]).value is not None:
        settings["model_max_length"] = longest.value if isinstance(longest.value, float) else longest.expect(int)
    files = {"default": folder / "chat_template.jinja"}
    files |= {path.stem: path for path in sorted((folder / "additional_chat_templates").glob("*.jinja"))}
    if texts := {name: decode_utf8(read_bytes(path), str(path)) for name, path in files.items() if path.is_file()}:
        settings["chat_template"] = chat_template(texts)
    return {name: value for name, value in settings.items() if value is not None}


def _read_sides(root: Json) -> dict[str, Any]:
    """Return transformers' settings from the sections truncation and padding, which tokenizer_config.json may change."""
    names = [name for name in ("truncation", "padding") if not root[name].absent]
    settings = {f"{name}_side": _side(root[name]["direction"]) for name in names}
    if "padding" in names:
        settings["pad_token"] = root["padding"].get("pad_token", str, None)
    return {name: value for name, value in settings.items() if value is not None}


def _side(node: Json) -> str | None:
    if node.absent:
        return None
    if (side := node.expect(str).lower()) not in ("left", "right"):
        node.fail(f"expected left or right, found {show(side)}")
    return side


def looks_like_tokenizer_json(data: bytes) -> bool:
    """Return whether `data` is an object of JSON with a model, which has a vocabulary."""
    return starts_object(data) and b'"vocab"' in data and _MODEL_MEMBER.search(data) is not None


def parse_tokenizer_json(data: bytes, file: str) -> Vocabulary:
    """Return the vocabulary of a tokenizer.json and its settings. FormatError names the JSON path of the mistake."""
    vocabulary = root = None
    if (model := read_model(data)) is not None:
        with contextlib.suppress(FormatError, ValueError):  # the slow reader names the mistake
            records, vocab, merges, head = model
            tables = BpeTables(records, *vocab)
            if tables.put_merges(*merges):
                root = parse_json(head, file)
                vocabulary = _read_root(root, data, tables)
    if root is None or vocabulary is None:
        root = parse_json(data, file)
        vocabulary = _read_root(root, data)
    sides, config = _read_sides(root), {}
    if Path(file).name.startswith("tokenizer.json"):
        config = _read_config(Path(file).parent)
    if "pad_token" in sides and TOKEN_ROLES.keys().isdisjoint(config):
        sides = roles_of(vocabulary) | sides
    config = sides | config
    return vocabulary.replace(config=config) if config else vocabulary


def _read_root(root: Json, data: bytes, tables: BpeTables | None = None) -> Vocabulary:
    """Return the vocabulary. tables: its tokens and merges, which `root` then lacks."""
    check_growth(root)
    reason = None
    if _kind_of(root["model"]) == "BPE":
        try:
            return _read_fast(root, tables)
        except Unsupported as error:
            reason = error
    vocabulary = read_by_library(root, data, reason)
    if root["model"]["end_of_word_suffix"].value and vocabulary.library is not None:
        with contextlib.suppress(FormatError, VocabularyError):
            unknown = vocabulary.library.tokenizer.token_to_id(root["model"].get("unk_token", str, ""))
            vocabulary.library.suffixed = _read_suffixed(root, tables, unknown)
    return vocabulary


def _read_suffixed(root: Json, tables: BpeTables | None, unknown: int | None) -> tuple[Vocabulary, bytes] | None:
    """Return LibraryModel.suffixed. None or Unsupported if the kernels would give other ids."""
    model = root["model"]
    suffix = model["end_of_word_suffix"].expect(str)
    byte_level = any(step["type"].value == "ByteLevel" for step in sections.steps_of(root["pre_tokenizer"]))
    decoder = sections.BYTE_LEVEL if byte_level else {"type": "Fuse"}
    plain = root.expect(dict) | {"model": model.expect(dict) | {"end_of_word_suffix": None}, "decoder": decoder}
    vocabulary = _read_fast(Json(plain, root.file), tables)
    bytes_of_suffix = bool(model["byte_fallback"].value)  # those of a letter and of the suffix
    if vocabulary.byte_patterns or bytes_of_suffix or vocabulary.fuse_unknown or vocabulary.whole_pretokens:
        return None
    if unknown in vocabulary.event_numbers:
        return None
    lasts = (bytes([byte]) + suffix.encode() for byte in range(256))
    if unknown is None and not (byte_level and {*vocabulary.tokens}.issuperset(lasts)):
        return None  # tokenizers drops what has no token
    normalization = vocabulary.normalization
    steps = tuple(step for step in normalization.normalizers if step != ("ReplaceRegex", sections.WHITE_SPACE, " "))
    spelt = "".join(token.content for token in vocabulary.added_tokens if token.normalized)
    unspaced = spelt.isascii() and not re.search(r"\s", spelt) and all(isinstance(step, str) for step in steps)
    if unspaced and sections.drops_white_space(vocabulary):  # then it makes no difference how much of it there is
        normalization = normalization._replace(normalizers=steps)
    return vocabulary.replace(normalization=normalization, unknown=unknown), suffix.encode()


def read_by_library(root: Json, data: bytes, reason: Unsupported | None = None) -> Vocabulary:
    """Return the vocabulary that tokenizers encodes with. reason: the error of the kernels' reader."""
    kind = _kind_of(root["model"])
    notes: list[str] = []
    for token in root["added_tokens"]:
        token.expect(dict)
    try:
        vocabulary = tokenizer_json_of_library(data, root, kind)
    except VocabularyError as error:
        raise FormatError(f"{reason} ({error})" if reason else f"{root.file}: {error}") from error
    assert vocabulary.library is not None
    template = _read_template(root, notes, vocabulary.added_tokens, vocabulary.library.tokenizer.token_to_id)
    return vocabulary.replace(template=template, notes=tuple(notes))


def _read_template(
    root: Json, notes: list[str], added: Iterable[AddedToken], id_of: Callable[[str], int | None]
) -> Template:
    """Return the template of the file. Add notes on the steps of Hugging Face's encode before and after tokenization."""
    contents = {token.id: token.content for token in added}

    def token_of(name: Json, id: Json) -> str:  # the id counts: names may be made up
        text, number = name.expect(str), id.expect(int)
        content = contents.get(number, text if id_of(text) == number else None)
        return content or id.fail(f"the template adds the id {number}, which is not that of {show(text)}")

    template = sections.read_post_processor(root["post_processor"], token_of)
    if wanted := [*itertools.chain(*template.affixes)]:
        notes.append(f"a template adds {', '.join(wanted)} {_TO_EVERY_TEXT}")
    for section, effect in (("truncation", "cuts long texts"), ("padding", "pads texts")):
        if not root[section].absent:
            notes.append(f"{section} is set, which {effect} in Hugging Face's encode; tokenmill does not")
    return template


def _read_fast(root: Json, tables: BpeTables | None) -> Vocabulary:
    """Return the vocabulary that split patterns and the kernels encode with. Unsupported if they cannot."""
    model = root["model"]
    for affix in ("continuing_subword_prefix", "end_of_word_suffix"):
        if model[affix].value not in (None, ""):
            model[affix].unsupported(f"there is an affix, {show(model[affix].value)}")
    notes: list[str] = []
    normalizers = tuple(map(sections.read_step, sections.steps_of(root["normalizer"])))
    marks = (step[2] for step in normalizers if step[:2] == ("Replace", " ") and len(step[2]) == 1)
    splitting = sections.PreTokenizer(root["pre_tokenizer"], next(marks, ""))
    byte_level = splitting.byte_level
    mark = splitting.space_mark
    keep_start = (*NORMALIZERS, "Lowercase", ("Replace", " ", mark))
    if splitting.add_prefix_space == "first" and not all(step in keep_start for step in normalizers):
        root["pre_tokenizer"].unsupported(
            "a space is put before the first word only if no step has removed text before it"
        )
    if mark:
        sections.check_mark(mark, normalizers, root["normalizer"])
    dropping = bool(splitting.dropped)
    byte_fallback = not byte_level and model.get("byte_fallback", bool, False)
    strip_decoded = sections.read_decoder(root["decoder"], byte_level, mark, byte_fallback, dropping, notes)
    if (dropping or splitting.byte_patterns) and model["ignore_merges"].value:
        root["pre_tokenizer"].unsupported(
            "it drops text or cuts bytes, which tokenmill does only without ignore_merges"
        )
    if tables is None:

        def bad(n: int, what: str) -> NoReturn:
            Json(None, root.file, f"$.model.merges[{n}]").fail(what)

        tables = table.listed_tables(model["vocab"], model["merges"].expect(list), bad)
    added = _read_added(root["added_tokens"], tables)
    template = _read_template(root, notes, added, tables.get)
    _check_combinations(root, splitting, normalizers, tables, added)
    create = table.merged_vocabulary(tables, None if byte_level else mark, byte_fallback, added)
    all_bytes = byte_level and None not in map(tables.get, CHARACTERS)
    unknown_text = "" if all_bytes else model.get("unk_token", str, "")
    unknown = tables.get(unknown_text) if unknown_text else None
    if unknown_text and unknown is None:
        model["unk_token"].fail(f"the unknown token {unknown_text!r} is not in the vocabulary")
    fuse_unknown = unknown is not None and model.get("fuse_unk", bool, False)
    if fuse_unknown and byte_level:
        model["fuse_unk"].unsupported("bytes without a token are fused into one unknown token")
    if not byte_level and unknown is None:
        notes.append(
            "there is no unknown token: Hugging Face drops characters without a token, tokenmill refuses them without drop_unknown"
        )
    vocabulary = create(
        split_patterns=tuple(splitting.split_patterns),
        whole_pretokens=model.get("ignore_merges", bool, False),
        unknown=unknown,
        normalization=Normalization(normalizers, splitting.add_prefix_space, mark, strip_decoded),
        fuse_unknown=fuse_unknown,
        notes=tuple(notes),
        template=template,
        dropped=splitting.dropped,
        byte_patterns=tuple(splitting.byte_patterns),
    )
    sizes = memoryview(vocabulary.packed[1]).cast("I")
    is_ordinary = unknown is not None and unknown < len(sizes) and sizes[unknown] != NO_TOKEN
    if is_ordinary and unknown in vocabulary.event_numbers:
        model["unk_token"].unsupported(f"merges join the unknown token, {show(unknown_text)}, to others")
    if strip_decoded == "token":
        tokens = (*filter(None, vocabulary.tokens), *(token.content.replace(mark, " ").encode() for token in added))
        if any(b" " in token.lstrip(b" ") for token in tokens):
            root["decoder"].unsupported(f"it leaves out every {mark} of the first token, also those inside of it")
    return vocabulary


def _check_combinations(
    root: Json,
    splitting: sections.PreTokenizer,
    normalizers: tuple[Step, ...],
    tables: BpeTables,
    added: list[AddedToken],
) -> None:
    """Raise Unsupported for sections that the kernels have, but that together give other ids or text in tokenizers."""
    model, mark, byte_ids = root["model"], splitting.space_mark, {*map(tables.get, BYTE_TEXTS)}
    if not model["byte_fallback"].value:
        spelt = byte_ids != {None} or not {token.content for token in added}.isdisjoint(BYTE_TEXTS)
        if spelt and any(step["type"].value == "ByteFallback" for step in sections.steps_of(root["decoder"])):
            root["decoder"].unsupported("it decodes tokens to bytes that they do not stand for in text")
    elif byte_ids != {None}:
        if model["ignore_merges"].value:
            model["ignore_merges"].unsupported("a pretoken that spells the token of a byte becomes that token")
        if mark and tables.get(mark) is None:
            model["vocab"].unsupported(f"a space is {mark}, which has no token and becomes the tokens of its own bytes")
        needed = [text for byte, text in enumerate(BYTE_TEXTS) if byte > 127 or tables.get(chr(byte)) is None]
        needed = [*CHARACTERS] if splitting.byte_level else needed if model["unk_token"].value else []
        if None in map(tables.get, needed):
            model["byte_fallback"].unsupported("tokenizers puts unknown tokens behind those of bytes")
        kept = {*NORMALIZERS, "StripAccents", ("Replace", " ", mark)}
        for token, item in zip(added, root["added_tokens"], strict=True):
            if token.normalized and token.content in BYTE_TEXTS and not kept.issuperset(normalizers):
                item.unsupported("the normalizer changes the name of a byte, which is then decoded as text")
    in_sections = splitting.add_prefix_space is True and any(token.normalized for token in added)
    if in_sections and mark and ("Prepend", mark) in normalizers:
        root["pre_tokenizer"].unsupported(f"it puts {mark} behind added tokens, and the normalizer only before a text")
    if mark and ("Replace", " ", mark) not in normalizers:
        written = any({" ", mark} & {*str(argument)} for step in normalizers for argument in step)
        for token, item in zip(added, root["added_tokens"], strict=True):
            if token.normalized and (written or token.lstrip or token.rstrip or {" ", mark} & {*token.content}):
                item.unsupported(f"it is found before spaces become {mark}, and tokenmill does not tell the two apart")
    for token in added if model["ignore_merges"].value else ():
        listed = tables.get(token.content) is not None
        if listed and _may_be_pretoken(token, normalizers, splitting.byte_level):
            root["added_tokens"].unsupported(f"text that does not spell {show(token.content)} can become this token")


def _kind_of(model: Json) -> str:
    """Return the type of the model. Older files do not name it."""
    if model.absent:
        model.fail("there is no model, so this is not a tokenizer.json")
    kind = model.get("type", str, model_kind(model.expect(dict)))
    if kind not in _MODELS:
        model["type"].fail(f"the model is {kind}; tokenmill reads {', '.join(_MODELS)}")
    if model["dropout"].value not in (None, 0, 0.0):
        model["dropout"].fail(
            f"BPE dropout is {show(model['dropout'].value)}: its ids are random; tokenmill gives the same ids each time"
        )
    return kind


def _read_added(node: Json, vocab: BpeTables) -> list[AddedToken]:
    tokens = [added_token(item) for item in node]
    ids = assigned_ids([token.content for token in tokens], vocab)
    for token, item in zip(tokens, node, strict=True):
        if token.id != (id := ids[token.content]):
            item["id"].fail(
                f"the added token {token.content!r} has the id {token.id} here, but Hugging Face's reader gives it {id}: "
                + ("it numbers added tokens in turn" if vocab.get(token.content) is None else "the vocabulary says so")
            )
    return tokens
