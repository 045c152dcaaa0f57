"""The .tiktoken file: one line for each token, its bytes in base64 and its rank, which is its id.

    IQ== 0
    Ig== 1

It holds no split pattern and no special tokens. With tiktoken, the program that reads the file has them. tokenmill knows
those of the published encodings, writes its own to a companion file, and asks the caller for all others.
"""

from __future__ import annotations

import binascii
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

from ..errors import ConversionError
from ..vocabulary import Vocabulary
from ..vocabulary._packed_cy import pack_tokens
from ._bpe_tables_cy import BpeTables
from ._tiktoken_cy import read_ranks
from .file_content import fail, place_tokens, show

decode_base64 = partial(binascii.a2b_base64, strict_mode=True)


def companion_path(path: Path) -> Path:
    """Return the path of the companion of the .tiktoken file `path`."""
    return path.with_name(path.name + ".json")


def looks_like_tiktoken(data: bytes) -> bool:
    """Whether the first line of `data` is a token in base64 and a number."""
    first = data[:1_000_000].lstrip().split(b"\n", 1)[0].split()
    try:
        return len(first) == 2 and first[1].isdigit() and bool(decode_base64(first[0]))
    except binascii.Error:
        return False


def parse_tiktoken(data: bytes, file: str) -> tuple[bytes, bytes]:
    """The tokens by id, packed as by `pack_tokens`. FormatError names the line of whatever is wrong."""
    if (records := read_ranks(data)) is not None:
        with suppress(ValueError):  # a token or an id occurs twice
            tables = BpeTables(records, 0, len(records))
            tables.place("", {})
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
    return pack_tokens(tuple(place_tokens(tokens, ids, file, lambda n: f"line {lines[n]}")))


def tiktoken_tokens(vocabulary: Vocabulary) -> tuple[list[bytes | None], list[str]]:
    """The tokens by id with which tiktoken gives the ids of `vocabulary`, and notes on those left out.

    ConversionError if tiktoken would give other ids.
    """

    def refuse(ours: str) -> NoReturn:
        raise ConversionError(f"{ours}. Write tokenizer.json instead.")

    from .rank_merges import ranks_of  # late: to read a file needs no merges
    from .tokens_and_merges import refuse_flags

    if vocabulary.alphabet != "bytes":
        refuse("tiktoken begins with bytes, and this vocabulary with characters")
    tokens, notes = ranks_of(vocabulary, "tiktoken")
    if (count := len(vocabulary.split_patterns)) != 1:
        refuse(f"tiktoken cuts text by one split pattern, and this vocabulary has {count}")
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
    """`pattern` for tiktoken, which drops the text between two matches: here that text is a match of its own."""
    from ..split.compiler import covers_all_text  # late: to read a file, nothing is compiled

    if covers_all_text(pattern):
        return pattern
    from ..split.backtracking import to_regex  # late: the regex module takes longer to import than a file to read

    if to_regex(pattern).search("") is not None:
        raise ConversionError(
            f"the split pattern {pattern!r} can match the empty text, which tiktoken does not support"
        )
    return rf"{pattern}|(?:(?!{pattern})[\s\S])+"


def tiktoken_bytes(vocabulary: Vocabulary) -> tuple[bytes, list[str]]:
    """`vocabulary` as the content of a .tiktoken file, and what that file does not hold, item by item.

    ConversionError if tiktoken would give other ids.
    """
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
