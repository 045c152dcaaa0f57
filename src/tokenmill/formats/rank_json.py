"""Ranks in JSON: tekken.json of mistral-common, and the files of the npm package tiktoken.

    {"config": {"pattern", "default_vocab_size", "default_num_special_tokens", ...}, "vocab": [{"rank", "token_bytes"}, ...],
     "special_tokens": [{"rank", "token_str"}, ...]}                                                        tekken.json
    {"pat_str", "special_tokens": {"<|endoftext|>": 100257}, "bpe_ranks": "! 0 IQ== Ig== ..."}              npm's tiktoken

Both hold their split pattern. Ids of tekken.json are ranks after the special tokens, which have the first ids. A tekken.json
may have its ranks as npm's files do: lines of a name, the first rank, and tokens in base64.
"""

from __future__ import annotations

import binascii

from ..vocabulary import AddedToken, Vocabulary
from ..vocabulary._packed_cy import pack_tokens
from ..vocabulary.vocabulary import packed_vocabulary
from .file_content import Json, parse_json, place_tokens, show
from .tiktoken_file import decode_base64

# The special tokens of a tekken.json that does not list them (mistral-common, DEPRECATED_SPECIAL_TOKENS).
_TEKKEN_SPECIAL = (
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]",
    "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
)  # fmt: skip


def parse_rank_json(data: bytes, file: str) -> Vocabulary | None:
    """The vocabulary of a file of ranks in JSON, or None for another object. FormatError names the JSON path."""
    root = parse_json(data, file)
    if not root["pat_str"].absent and not root["bpe_ranks"].absent:
        special = {text: item.expect(int) for text, item in root["special_tokens"].items()}
        added = [AddedToken(text, id) for text, id in special.items()]
        tokens = _read_lines(root["bpe_ranks"])
        return _of_ranks(tokens, root["pat_str"], added)
    if isinstance(root["config"].value, dict) and not root["config"]["pattern"].absent:
        return _read_tekken(root)
    return None


def _read_tekken(root: Json) -> Vocabulary:
    config = root["config"]
    first = config["default_num_special_tokens"].expect(int)
    count = config["default_vocab_size"].expect(int) - first
    ranks = _read_lines(root["bpe_ranks"]) if root["vocab"].absent else _read_list(root["vocab"])
    if not 0 <= count <= len(ranks) or first < 0:
        config["default_vocab_size"].fail(
            f"{count} tokens and {first} special ones, but the file has {len(ranks)} tokens"
        )
    if root["special_tokens"].absent:
        names = dict(enumerate(_TEKKEN_SPECIAL[:first]))
    else:
        names = {item["rank"].expect(int): item["token_str"].expect(str) for item in root["special_tokens"]}
    added = [AddedToken(names.get(id, f"<SPECIAL_{id}>"), id) for id in range(first)]
    tokens = [*[None] * first, *ranks[:count]]
    return _of_ranks(tokens, config["pattern"], added)


def _of_ranks(tokens: list[bytes | None], pattern: Json, added: list[AddedToken]) -> Vocabulary:
    packed = pack_tokens(tuple(tokens))
    return packed_vocabulary(packed, split_patterns=(pattern.expect(str),), added_tokens=tuple(added))


def _read_list(node: Json) -> list[bytes | None]:
    items = list(node)
    tokens = [_decoded(item["token_bytes"].expect(str), item) for item in items]
    ranks = [item["rank"].expect(int) for item in items]
    return place_tokens(tokens, ranks, node.file, lambda n: f"at {node.where}[{n}]")


def _read_lines(node: Json) -> list[bytes | None]:
    tokens: list[bytes] = []
    ids: list[int] = []
    for line in node.expect(str).split("\n"):
        if not line:
            continue
        first, *texts = line.split(" ")[1:] or [""]
        if not first.isascii() or not first.isdigit() or len(first) > 9:
            node.fail(f"expected a rank before the tokens of a line, found {show(first)}")
        tokens += [_decoded(text, node) for text in texts]
        ids += range(int(first), int(first) + len(texts))
    return place_tokens(tokens, ids, node.file, lambda n: f"at {node.where}: token {n}")


def _decoded(text: str, node: Json) -> bytes:
    try:
        return decode_base64(text)
    except (binascii.Error, ValueError) as error:
        node.fail(f"{show(text)} is not base64 ({error})")
