"""Files of ranks: .tiktoken; tekken.json of mistral-common; and the JSON of the npm package tiktoken.

    IQ== 0                                                                                                  .tiktoken
    Ig== 1
    {"config": {"pattern", "default_vocab_size", "default_num_special_tokens", ...}, "vocab": [{"rank", "token_bytes"}, ...],
     "special_tokens": [{"rank", "token_str"}, ...]}                                                        tekken.json
    {"pat_str", "special_tokens": {"<|endoftext|>": 100257}, "bpe_ranks": "! 0 IQ== Ig== ..."}              npm's tiktoken

A line of .tiktoken has the bytes of a token in base64 and its rank, which is its id. The file contains no split pattern and no
special tokens, which tiktoken expects from its caller. tokenmill knows those of the published encodings, writes its own to a
companion file, and asks the caller for all others.

The other two contain their split pattern. Ids of tekken.json are ranks after the special tokens, which have the first ids. A
tekken.json may have its ranks as npm's files do: lines of a name, the first rank, and tokens in base64.
"""

from __future__ import annotations

import binascii
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

from ..errors import ConversionError
from ..vocabulary import AddedToken, Vocabulary
from ..vocabulary._packed_cy import pack_tokens
from ..vocabulary.vocabulary import packed_vocabulary
from ._bpe_tables_cy import BpeTables
from ._tiktoken_cy import read_ranks
from .file_content import Json, fail, parse_json, show, tokens_by_id

decode_base64 = partial(binascii.a2b_base64, strict_mode=True)


def companion_path(path: Path) -> Path:
    """Return the path of the companion of the .tiktoken file `path`."""
    return path.with_name(path.name + ".json")


def looks_like_tiktoken(data: bytes) -> bool:
    """Return whether the first line of `data` is a token in base64, followed by a number."""
    first = data[:1_000_000].lstrip().split(b"\n", 1)[0].split()
    try:
        return len(first) == 2 and first[1].isdigit() and bool(decode_base64(first[0]))
    except binascii.Error:
        return False


def parse_tiktoken(data: bytes, file: str) -> tuple[bytes, bytes]:
    """Return the tokens by id, packed as by `pack_tokens`. FormatError names the line of the mistake."""
    if (records := read_ranks(data)) is not None:
        with suppress(ValueError):  # a token or an id occurs twice
            tables = BpeTables(records, 0, len(records))
            tables.make_tokens("", {})
            return tables.finish((), (), ())[:2]
    tokens, ids, lines = [], [], []
    for number, line in enumerate(data.split(b"\n"), 1):
        fields = line.split()
        if not fields:
            continue
        if len(fields) != 2:
            fail(file, f"line {number}", f"expected a token in base64 and its rank, found {show(line)}")
        try:
            tokens.append(decode_base64(fields[0]))
        except binascii.Error as error:
            fail(file, f"line {number}", f"{show(fields[0])} is not base64 ({error})")
        try:
            ids.append(int(fields[1]))
        except ValueError:
            fail(file, f"line {number}", f"the rank {show(fields[1])} is not an integer")
        lines.append(number)
    if not ids:
        fail(file, "", "contains no tokens")
    return pack_tokens(tuple(tokens_by_id(tokens, ids, file, lambda n: f"line {lines[n]}")))


def tiktoken_tokens(vocabulary: Vocabulary) -> tuple[list[bytes | None], list[str]]:
    """Return the tokens by id with which tiktoken gives the same ids, and notes on losses. ConversionError if it would not."""

    def refuse(reason: str) -> NoReturn:
        raise ConversionError(f"{reason}. Write tokenizer.json instead.")

    from .merges_txt import refuse_flags
    from .rank_merges import ranks_of  # late: to read a file needs no merges

    if vocabulary.alphabet != "bytes":
        refuse("tiktoken begins with bytes, and this vocabulary with characters")
    tokens, notes = ranks_of(vocabulary, "tiktoken")
    if (count := len(vocabulary.split_patterns)) != 1:
        refuse(f"tiktoken cuts text by one split pattern, and this vocabulary has {count}")
    if vocabulary.dropped or vocabulary.byte_patterns:
        refuse("tiktoken cuts text once, and drops nothing")
    if steps := vocabulary.normalization.normalizers:
        refuse(f"tiktoken does not normalize text, and this vocabulary does ({', '.join(map(str, steps))})")
    if vocabulary.normalization.add_prefix_space:
        refuse("tiktoken puts no space before a text, and this vocabulary does")
    for token in vocabulary.added_tokens:
        if not token.special:
            refuse(f"the added token {token.content!r} is matched in any text, which tiktoken cannot do")
    refuse_flags(vocabulary, "tiktoken")
    return tokens, notes


def covering_pattern(pattern: str) -> str:
    """Return `pattern` for tiktoken, which drops text between matches: that text becomes a match."""
    from ..split.compiler import uncovered  # late: to read a file, nothing is compiled
    from ..split.syntax import parse
    from ..split.tree import may_be_empty

    if uncovered(pattern) == "":
        return pattern
    if may_be_empty(parse(pattern)):  # also an alternative that looks at the text before it
        raise ConversionError(
            f"the split pattern {pattern!r} can match the empty text, which tiktoken does not support"
        )
    return rf"{pattern}|(?:(?!{pattern})[\s\S])+"


def tiktoken_bytes(vocabulary: Vocabulary) -> tuple[bytes, list[str]]:
    """Return a .tiktoken file, and notes on losses. ConversionError if tiktoken would give other ids."""
    tokens, notes = tiktoken_tokens(vocabulary)
    pattern = covering_pattern(vocabulary.split_patterns[0])
    notes.append(f"the split pattern is not in the file; tiktoken takes it as pat_str: {pattern!r}")
    if vocabulary.added_tokens:
        special = vocabulary.special_tokens
        notes.append(f"the special tokens are not in the file; tiktoken takes them as special_tokens: {special!r}")
    lines = [
        binascii.b2a_base64(token, newline=False) + b" %d\n" % id
        for id, token in enumerate(tokens)
        if token is not None
    ]
    return b"".join(lines), notes


# The special tokens of a tekken.json that does not list them (mistral-common, DEPRECATED_SPECIAL_TOKENS).
_TEKKEN_SPECIAL = (
    "<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]",
    "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]",
)  # fmt: skip


def parse_rank_json(data: bytes, file: str) -> Vocabulary | None:
    """Return the vocabulary of a file of ranks in JSON, or None for another object. FormatError names the JSON path."""
    root = parse_json(data, file)
    if not root["pat_str"].absent and not root["bpe_ranks"].absent:
        added = [AddedToken(text, item.expect(int)) for text, item in root["special_tokens"].items()]
        return _of_ranks(_read_lines(root["bpe_ranks"]), root["pat_str"], added)
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
    return _of_ranks([*[None] * first, *ranks[:count]], config["pattern"], added)


def _of_ranks(tokens: list[bytes | None], pattern: Json, added: list[AddedToken]) -> Vocabulary:
    packed = pack_tokens(tuple(tokens))
    return packed_vocabulary(packed, split_patterns=(pattern.expect(str),), added_tokens=tuple(added))


def _read_list(node: Json) -> list[bytes | None]:
    items = list(node)
    tokens = [_decoded(item["token_bytes"].expect(str), item) for item in items]
    ranks = [item["rank"].expect(int) for item in items]
    return tokens_by_id(tokens, ranks, node.file, lambda n: f"at {node.where}[{n}]")


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
    return tokens_by_id(tokens, ids, node.file, lambda n: f"at {node.where}: token {n}")


def _decoded(text: str, node: Json) -> bytes:
    try:
        return decode_base64(text)
    except (binascii.Error, ValueError) as error:
        node.fail(f"{show(text)} is not base64 ({error})")
