"""vocab.json and merges.txt, and code for texts with ids and merges that tokenizer.json, .ddtok and GGUF share with them.

vocab.json and merges.txt are GPT-2's own two files (there: encoder.json and vocab.bpe), in the byte alphabet. vocab.json maps
each token to its id, merges.txt lists one merge a line, "Ġ t", after a line "#version: 0.2". Neither contains the split pattern,
the normalizer or the flags of added tokens. They are in the companion file of tokenmill, or in added_tokens.json,
special_tokens_map.json and tokenizer_config.json in the folder of a Hugging Face model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from ..errors import ConversionError
from ..vocabulary import AddedToken, Vocabulary
from ..vocabulary.validation import EventError
from ..vocabulary.vocabulary import packed_vocabulary
from ._bpe_tables_cy import BpeTables, tables_of
from .byte_alphabet import CHARACTERS
from .companions import FLAGS, added_json
from .file_content import BLANK, Json, decode_utf8, fail, lines_of, parse_json, read_beside, show, tokens_by_id
from .pieces import BYTE_TEXTS, one_name_each, put_text, token_texts
from .rank_merges import merges_of_ranks, only_whole, ranks_of

_VERSION = "#version: 0.2"

# The merges of CLIP and of GPT-1's kind, where "</w>" ends a word: bpe_simple_vocab_16e6.txt, alone or with a vocab.json.
_END = "</w>"
_START_OF_TEXT, _END_OF_TEXT = "<|startoftext|>", "<|endoftext|>"
_N_MERGES = 49152 - 256 - 2  # CLIP ignores the rest of a longer file
_SPLIT = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"

# Classes of transformers that split by the gpt2 pattern; "Fast" may follow.
_GPT2_CLASSES = ("GPT2Tokenizer", "RobertaTokenizer", "BartTokenizer", "CodeGenTokenizer")
# The roles of special tokens in transformers, and the names of these tokens in published vocabularies.
TOKEN_ROLES = {
    "bos_token": ("<|begin_of_text|>", "<bos>", "<s>", "<|startoftext|>"),
    "eos_token": ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|bos|>"),
    "unk_token": ("<unk>", "[UNK]"),
    "sep_token": ("[SEP]",),
    "pad_token": ("<pad>", "<|pad|>", "[PAD]"),
    "cls_token": ("[CLS]",),
    "mask_token": ("<mask>", "[MASK]"),
}


def roles_of(vocabulary: Vocabulary) -> dict[str, str]:
    """Return the special tokens by role: those of tokenizer_config.json; without it, by their names."""
    if configured := {role: text for role, text in vocabulary.config.items() if role in TOKEN_ROLES}:
        return configured
    special = vocabulary.special_tokens
    by_name = {role: [text for text in texts if text in special] for role, texts in TOKEN_ROLES.items()}
    return {role: texts[0] for role, texts in by_name.items() if texts}


def with_roles(vocabulary: Vocabulary, texts: Mapping[str, str | None]) -> Vocabulary:
    """Return the vocabulary with the roles `texts` of special tokens; other tokens have theirs by their names."""
    roles = {role: text for role, text in texts.items() if text in vocabulary.special_tokens}
    return vocabulary.replace(config={**vocabulary.config, **roles_of(vocabulary), **roles}) if roles else vocabulary


def looks_like_merges(data: bytes, name: str = "") -> bool:
    """Return whether `data` has the first line of a merges.txt, which some files of that name lack."""
    first = data[:256].lstrip(BLANK).split(b"\n", 1)[0]
    return first.startswith(b"#version") or (name.endswith(("merges.txt", "vocab.bpe")) and first.count(b" ") == 1)


def parse_pair(
    vocab_data: bytes, merges_data: bytes, vocab_file: str, merges_file: str, added: Collection[AddedToken] = ()
) -> Vocabulary:
    """Return the vocabulary of vocab.json and merges.txt, without a split pattern. FormatError names the line or the key.

    added: the added tokens, whose entries in vocab.json are not ordinary tokens.
    """
    node = parse_json(vocab_data, vocab_file)
    for token in added:
        if (id := node.expect(dict).get(token.content, token.id)) != token.id:
            node.fail(f"the added token {token.content!r} has the id {id} here and {token.id} in another file")

    lines = lines_of(decode_utf8(merges_data, merges_file))
    first = 1 if lines and lines[0].startswith("#version") else 0
    while len(lines) > first and not lines[-1]:
        lines.pop()

    def bad(n: int, what: str) -> NoReturn:
        fail(merges_file, f"line {n + first + 1}", what)

    tables = listed_tables(node, lines[first:], bad)
    return merged_vocabulary(tables, None, False, added)(split_patterns=(), whole_pretokens=False)


def looks_like_clip_merges(data: bytes) -> bool:
    """Return whether `data` begins like the merges of CLIP."""
    first = data[: 1 << 12]
    return b"#version" in first.split(b"\n", 1)[0] and f"{_END}\n".encode() in first.replace(b"\r", b"")


def clip_json(data: bytes, file: str, vocab: dict[str, int] | None = None) -> bytes:
    """Return CLIP's merges as a tokenizer.json. vocab: that of the vocab.json in the same folder, if there is one."""
    from .huggingface_sections import BYTE_LEVEL, normalizer_json  # late: few files are of this kind

    merges = [line for line in lines_of(decode_utf8(data, file))[1:] if line]
    if vocab is None:
        merges = merges[:_N_MERGES]
        printable = [character for character in CHARACTERS if ord(character) < 0x100]
        alphabet = [*printable, *(character for character in CHARACTERS if ord(character) >= 0x100)]
        texts = [*alphabet, *(f"{character}{_END}" for character in alphabet)]
        texts += [merge.replace(" ", "") for merge in merges]
        vocab = {text: id for id, text in enumerate([*texts, _START_OF_TEXT, _END_OF_TEXT])}
    ends = [AddedToken(text, vocab[text]) for text in (_START_OF_TEXT, _END_OF_TEXT) if text in vocab]
    byte_level = BYTE_LEVEL | {"add_prefix_space": False}
    root = {
        "version": "1.0",
        "added_tokens": [added_json(token) for token in ends],
        "normalizer": normalizer_json(("NFC", ("ReplaceRegex", r"\s+", " "), "Lowercase")),
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": _SPLIT}, "behavior": "Removed", "invert": True},
                byte_level | {"use_regex": False},
            ],
        },
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "unk_token": _END_OF_TEXT if _END_OF_TEXT in vocab else None,
            "end_of_word_suffix": _END,
            "vocab": vocab,
            "merges": merges,
        },
    }
    return json.dumps(root, ensure_ascii=False).encode()


def read_side_files(folder: Path, vocab_data: bytes) -> tuple[list[AddedToken], str | None, bool]:
    """Return the added tokens, the name of the split pattern and add_prefix_space from the other files in the folder."""
    config = json_at(folder / "tokenizer_config.json")
    vocab = parse_json(vocab_data, str(folder)).expect(dict)
    ids = {text: item.expect(int) for text, item in json_at(folder / "added_tokens.json").items()}
    flags: dict[str, dict[str, bool]] = {}
    for id_text, item in config["added_tokens_decoder"].items():
        text = item["content"].expect(str)
        if not id_text.isascii() or not id_text.isdigit():
            item.fail(f"the key {show(id_text)} is not an id")
        ids[text] = int(id_text[:20])
        flags[text] = {name: item.get(name, bool, False) for name in FLAGS}
    for source in (config, json_at(folder / "special_tokens_map.json")):
        named = [*(source[name] for name in TOKEN_ROLES), *source["additional_special_tokens"]]
        for text in [token_text(item) for item in named if not item.absent]:
            if text in vocab or text in ids:
                ids.setdefault(text, vocab.get(text, -1))
                flags.setdefault(text, {})["special"] = True
    tokens = [AddedToken(text, id, **({"special": False} | flags.get(text, {}))) for text, id in ids.items()]
    kind = config.get("tokenizer_class", str, "").removesuffix("Fast")
    return tokens, "gpt2" if kind in _GPT2_CLASSES else None, config.get("add_prefix_space", bool, False)


def token_text(item: Json) -> str:
    """Return the text of a token, written as a string or as an object with its flags."""
    return (item["content"] if isinstance(item.value, dict) else item).expect(str)


def chat_template(texts: Mapping[str, str]) -> str | list[dict[str, str]]:
    """Return the templates by name as tokenizer_config.json has them: the text alone if it is the default one, else a list."""
    if texts.keys() == {"default"}:
        return texts["default"]
    return [{"name": name, "template": text} for name, text in texts.items()]


def json_at(path: Path) -> Json:
    data = read_beside(path)
    return Json({}, str(path)) if data is None else parse_json(data, str(path))


def pair_bytes(vocabulary: Vocabulary) -> tuple[bytes, bytes, list[str]]:
    """Return the contents of vocab.json and merges.txt, and notes on losses."""
    tokens, rows, notes = tokens_and_merges(vocabulary, "merges.txt", whole_pretokens=False)
    texts = token_texts(vocabulary, tokens)
    vocab = {text: id for id, text in enumerate(texts) if text is not None}
    for token in one_name_each(vocabulary, []):
        if token.content in CHARACTERS and token.content not in vocab:
            what = (
                f"the added token {token.content!r} would stand for a byte in vocab.json, where that byte has no token"
            )
            raise ConversionError(f"{what}. Write tokenizer.json instead.")
        put_text(vocab, token.content, token.id, "vocab.json")
    lines = [_VERSION, *(f"{texts[left]} {texts[right]}" for left, right, _ in rows)]
    notes += losses(vocabulary)
    vocab_text = json.dumps(vocab, ensure_ascii=False, separators=(",\n", ": "))
    return f"{vocab_text}\n".encode(), "\n".join([*lines, ""]).encode(), notes


def losses(vocabulary: Vocabulary) -> list[str]:
    """Return a note on each field of `vocabulary` that a format of only tokens and merges lacks."""
    notes = [f"the split pattern is not in the files: {pattern!r}" for pattern in vocabulary.split_patterns]
    notes += [f"the normalizer {name} is not in the files" for name in vocabulary.normalization.normalizers]
    if vocabulary.normalization.add_prefix_space:
        notes.append("that a space is put before a text is not in the files")
    if vocabulary.added_tokens:
        named = [f"{token.content!r} ({token.id})" for token in vocabulary.added_tokens[:8]]
        more = f" and {len(vocabulary.added_tokens) - 8} more" if len(vocabulary.added_tokens) > 8 else ""
        notes.append(f"which tokens are special or added is not in the files: {', '.join(named)}{more}")
    return notes


def merged_vocabulary(
    tables: BpeTables, mark: str | None, byte_fallback: bool, added: Collection[AddedToken]
) -> Callable[..., Vocabulary]:
    """Return a function that creates the Vocabulary of a model from its other fields.

    mark: the character for a space in the texts; None if they are in the byte alphabet. byte_fallback: whether the entries <0x00>
    to <0xFF> stand for bytes. An entry that contains a space as well as the mark, or characters outside of the alphabet, is only
    decoded, to its own text. Its merges are left out.

    The model's own entries for added tokens are left out. Hugging Face never uses them, because it matches added tokens before it
    splits text. Here they would turn text into a control token that the caller did not allow. An entry that is a byte or a
    character, or that a merge makes, is an ordinary token too.
    """
    byte_ids = [tables.get(text) for text in BYTE_TEXTS] if byte_fallback else []
    bytes_of = {id: byte for byte, id in enumerate(byte_ids) if id is not None}
    contents, ids = {token.content.encode("utf-8", "replace") for token in added}, {token.id for token in added}
    unmerged = tables.make_tokens(mark, bytes_of)
    decode_only = {id: text for id, text in unmerged.items() if mark is not None or text not in contents}
    named = {token.id for token in added if len(token.content) > 1 and tables.get(token.content) == token.id}
    try:
        *packed, events = tables.finish(decode_only, bytes_of, named)
    except ValueError as error:
        row, id = error.args
        raise EventError(row, f"the token with the id {id} is a byte or an added token, which no merge names") from None
    return partial(
        packed_vocabulary,
        tuple(packed),
        events,
        order="merges",
        added_tokens=tuple(added),
        alphabet="bytes" if mark is None else "characters",
        byte_tokens=tuple(byte_ids),
        decode_only=tuple((id, text) for id, text in decode_only.items() if id not in ids),
    )


def listed_tables(node: Json, merges: list[Any], bad: Callable[[int, str], NoReturn]) -> BpeTables:
    """Return the tables of the vocabulary at `node` and of merges, "a b" or ["a", "b"]. bad(n, what): raises the error of one."""
    vocab: dict[str, int] = node.expect(dict)
    texts = [*vocab]
    by_id = tokens_by_id(texts, [*vocab.values()], node.file, lambda n: f"at {node.where}[{show(texts[n])}]")
    try:
        tables = tables_of(by_id)
    except ValueError as error:
        node.fail(f"the token {show(by_id[int(str(error))])} is not Unicode text: it contains a lone surrogate")
    for n, merge in enumerate(merges):
        pair = merge.split(" ") if type(merge) is str else merge
        left, right = pair if type(pair) is list and len(pair) == 2 else ("", "")
        if not (type(left) is type(right) is str and left and right):
            kind = "two tokens with a space between" if type(merge) is str else "a pair of tokens"
            bad(n, f"expected {kind}, found {show(merge)}")
        row = vocab.get(left), vocab.get(right), vocab.get(left + right)
        if None in row:
            name, text = (("left part", left), ("right part", right), ("result", left + right))[row.index(None)]
            bad(n, f"the {name} {show(text)} of the merge {show(left)} + {show(right)} is not in the vocabulary")
        tables.put_row(*row)
    return tables


def refuse_flags(vocabulary: Vocabulary, target: str) -> None:
    """Raise ConversionError for an added token with a flag that `target` lacks, and for bytes that become the unknown token."""
    is_unknown = vocabulary.alphabet == "bytes" and vocabulary.unknown is not None
    if is_unknown and not {*vocabulary.tokens}.issuperset(bytes([byte]) for byte in range(256)):
        what = f"bytes without a token become the unknown token, which {target} does not have"
        raise ConversionError(f"{what}. Write tokenizer.json instead.")
    for token in vocabulary.added_tokens:
        if flags := [flag for flag in ("lstrip", "rstrip", "single_word") if getattr(token, flag)]:
            raise ConversionError(
                f"the added token {token.content!r} has {', '.join(flags)}, which {target} cannot represent. Write tokenizer.json instead."
            )


def tokens_and_merges(
    vocabulary: Vocabulary, target: str, whole_pretokens: bool
) -> tuple[list[bytes | None], list[list[int]], list[str]]:
    """Return the tokens by id for a format of tokens and merges, the merges, and notes on losses.

    whole_pretokens: whether a pretoken that is a token becomes that token in the format. Without this rule, a token that no
    merges make is a ConversionError.
    """
    if vocabulary.library is not None or (vocabulary.alphabet != "bytes" and not whole_pretokens):
        raise ConversionError(
            f"{target} begins with bytes, and this vocabulary with characters. Write tokenizer.json instead."
        )
    notes: list[str] = []
    tokens = list(vocabulary.tokens)
    unmade = None
    if vocabulary.order in ("merges", "scores"):
        rows = vocabulary.events.tolist()
        if vocabulary.whole_pretokens and not whole_pretokens:
            unmade = only_whole(tokens, rows)
    else:
        tokens, notes = ranks_of(vocabulary, target)
        merges, unbuilt = merges_of_ranks(tokens)
        rows = merges.tolist()
        if unbuilt and not whole_pretokens:
            unmade = unbuilt[0]
    if unmade is not None:
        raise ConversionError(
            f"{tokens[unmade]!r} (id {unmade}) is made only where a whole pretoken is this token, and {target} does not "
            "have that rule, so text would get other ids. Write tokenizer.json instead."
        )
    byte_ids = {*vocabulary.byte_tokens}
    last = {token: id for id, token in enumerate(tokens) if id not in byte_ids}
    merged = {new for _, _, new in rows}
    for id, token in enumerate(tokens):
        if token is not None and id not in byte_ids and last[token] != id:
            if id in merged or vocabulary.whole_pretokens:
                two_ids = f"{token!r} has two ids, {id} and {last[token]}"
                raise ConversionError(f"{two_ids}, and {target} can represent only one for each token")
            tokens[id] = None
            notes.append(f"the id {id}, which is never given out, is left out: {token!r} has the id {last[token]}")
    return tokens, rows, notes
