"""Packs a vocabulary for the browser: everything that the page's encoder needs, in one compressed file.

    gzip of
        b"TMP1", the length of the header (4 bytes, little-endian)
        the header: JSON, with the name, offset and length of each section
        the sections: columns of bytes

If two other tokens make a token, its bytes are not stored; the token is the row (left id, right id, own id). These rows
are the merges (for a vocabulary of ranks, those that give the same ids), then the superwords of whole pretokens. A column of
numbers below 2^24 is stored as three planes (all low bytes, all middle bytes, all high bytes), which compresses to about 3.4
bytes per token.

The split pattern is stored as a compiled automaton, so the browser splits exactly as the library does, whatever its version
of Unicode.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import ConversionError
from ..formats.huggingface_sections import METASPACE_SPLIT
from ..formats.rank_merges import merges_of_ranks
from ..split.alphabet import NotRegular
from ..split.compiler import compile_pattern
from ..split.names import CHAINS, PATTERNS
from ..split.spelling import to_oniguruma
from ..vocabulary import NORMALIZERS, Vocabulary

NOTHING = 0xFFFFFF
# The attributes of a vocabulary that the page's encoder needs unchanged.
FIELDS = ("order", "whole_pretokens", "alphabet", "unknown", "byte_tokens", "n_vocab", "split_patterns")
MOST_IDS = 1 << 21  # the page's encoder packs two ids and a rank into one number


class TokenCounts(NamedTuple):
    """The uses and the IoS of each token in a text, for the vocabulary tab.

    counts: (n_ids,). ios: (n_ids,), NaN for a token that is not part of a merge. source: a description of the counted text.
    """

    counts: np.ndarray
    ios: np.ndarray | None
    source: str


# The arguments of `pack`.
Shown = tuple[str, Vocabulary] | tuple[str, Vocabulary, TokenCounts | None, str]


def pack(name: str, vocabulary: Vocabulary, counts: TokenCounts | None = None, source: str = "") -> bytes:
    """Return the packed file of `vocabulary`; the same bytes for the same vocabulary.

    source: the name of the file or folder that it was read from.
    Raises ConversionError if the page's encoder cannot run it: a split pattern that is not regular, more than two million
    ids, or a normalizer other than Unicode's forms and the space mark of SentencePiece.
    """
    if refused := _refused(vocabulary):
        raise ConversionError(
            f"the playground cannot show {name}: the page's encoder does not have {refused}. "
            "Use tokenmill inspect and tokenmill compare."
        )
    size = max([len(vocabulary.tokens), *(token.id + 1 for token in vocabulary.added_tokens)], default=0)
    if size > MOST_IDS:
        raise ConversionError(f"the playground shows vocabularies of at most {MOST_IDS:,} ids; {name} has {size:,}")
    events = merges_of_ranks(vocabulary.tokens)[0] if vocabulary.order == "ranks" else vocabulary.events
    rows = np.concatenate([events, np.reshape(vocabulary.superwords, (-1, 3))]).astype(np.int64)
    literal = _literals(vocabulary.tokens, rows)
    sections = {
        "left": _planes(rows[:, 0]),
        "right": _planes(np.where(rows[:, 1] < 0, NOTHING, rows[:, 1])),
        "made": _planes(_differences(np.where(rows[:, 1] < 0, 0, rows[:, 2]))),
        "literal_ids": _planes(_differences(np.array(literal, np.int64))),
        "literal_lengths": _planes(np.array([len(vocabulary.tokens[id] or b"") for id in literal], np.int64)),
        "literals": b"".join(vocabulary.tokens[id] or b"" for id in literal),
    }
    widths: list[int] = []
    for pattern in vocabulary.split_patterns:
        try:
            _add_automaton(pattern, widths, sections)
        except NotRegular as reason:
            raise ConversionError(
                f"the playground cannot run the split pattern of {name}, which has {reason}: {pattern!r}. "
                "The browser runs automata only; all other commands of tokenmill can use this tokenizer."
            ) from reason
    if counts is not None:
        sections["counts"] = _padded(counts.counts, size)
        if counts.ios is not None:
            sections["ios"] = _padded(counts.ios, size, np.nan)
    if len(vocabulary.event_counts):  # the count of each merge in the training text, the IoS of each removal
        a, b = vocabulary.event_counts.astype(np.float64).T
        sections["event_counts"] = np.where(b > 0, a / np.maximum(b, 1), a).astype("<f8").tobytes()
    header = {
        "version": 1,
        "name": name,
        "source": source,
        "fingerprint": vocabulary.fingerprint(),
        **{field: getattr(vocabulary, field) for field in FIELDS},
        **vocabulary.normalization._asdict(),
        "superwords": len(vocabulary.superwords),
        "added_tokens": [token._asdict() for token in vocabulary.added_tokens],
        "size": len(vocabulary.tokens),
        "widths": widths,
        "counted": counts.source if counts else None,
    }
    return _file(header, sections)


def split_tables(vocabularies: Sequence[Vocabulary]) -> tuple[list[str], bytes]:
    """Return the names and the packed automata of the published split patterns, in each spelling, and of those of `vocabularies`.

    They let a page without a server open tokenizer files.
    """
    names = {name: [pattern] for name, pattern in PATTERNS.items()} | {name: [*chain] for name, chain in CHAINS.items()}
    patterns = [*itertools.chain(*names.values()), METASPACE_SPLIT, r"\p{N}+"]
    numbers: dict[str, int] = {}
    widths: list[int] = []
    sections: dict[str, bytes] = {}
    for pattern in dict.fromkeys([*patterns, *itertools.chain(*(each.split_patterns for each in vocabularies))]):
        with contextlib.suppress(NotRegular):
            _add_automaton(pattern, widths, sections)
            with_line_ends = pattern.replace(r"\r", "\r").replace(r"\n", "\n")
            numbers |= dict.fromkeys((pattern, to_oniguruma(pattern), with_line_ends), len(widths) - 1)
    names = {name: chain for name, chain in names.items() if numbers.keys() >= {*chain}}
    return [*names], _file({"version": 1, "names": names, "patterns": numbers, "widths": widths}, sections)


def _file(header: Mapping[str, Any], sections: Mapping[str, bytes]) -> bytes:
    """Return the compressed file of a header and named columns of bytes."""
    offsets = itertools.accumulate((len(data) for data in sections.values()), initial=0)
    listed = [(name, offset, len(data)) for (name, data), offset in zip(sections.items(), offsets, strict=False)]
    head = json.dumps({**header, "sections": listed}, ensure_ascii=False, separators=(",", ":")).encode()
    return gzip.compress(b"".join([b"TMP1", len(head).to_bytes(4, "little"), head, *sections.values()]), 9, mtime=0)


def _refused(vocabulary: Vocabulary) -> str:
    """Return the first rule of `vocabulary` that the page's encoder does not have, or ""."""
    if vocabulary.library is not None:
        return f"the rules of this kind of vocabulary ({vocabulary.library.kind})"
    if vocabulary.dropped:
        return "the dropping of white space"
    if vocabulary.byte_patterns:
        return "steps after ByteLevel"
    for step in vocabulary.normalization.other_steps:
        if step not in NORMALIZERS:
            return f"the normalizer {step if isinstance(step, str) else step[0]}"  # not its table, of megabytes
    byte_ids = {*vocabulary.byte_tokens}
    ordinary = {token for id, token in enumerate(vocabulary.tokens) if id not in byte_ids}
    missing = [byte for byte, id in enumerate(vocabulary.byte_tokens) if id is None]
    if any(byte > 127 or bytes([byte]) not in ordinary for byte in missing):
        return "byte fallback for some of the bytes"
    if (vocabulary.normalization.space_mark or vocabulary.fuse_unknown) and not vocabulary.byte_tokens:
        return "SentencePiece's rules for unknown characters"
    return ""


def _literals(tokens: tuple[bytes | None, ...], rows: np.ndarray) -> list[int]:
    """Return the ids whose bytes must be stored: no row makes the token, or the first one joins a token of a later row."""
    merges = rows[rows[:, 1] >= 0]
    merged, first_row = np.unique(merges[:, 2], return_index=True)
    rows_needed = np.zeros(len(tokens), np.int64)
    rows_needed[merged] = first_row + 1
    late = (rows_needed[merges[first_row, :2]] > first_row[:, None]).any(axis=1)
    joined = {*merged[~late].tolist()}
    return [id for id, token in enumerate(tokens) if token is not None and id not in joined]


def _add_automaton(pattern: str, widths: list[int], sections: dict[str, bytes]) -> None:
    """Add the row width and the tables of the split pattern's automaton; see split.compiler.Tables."""
    tables, number = compile_pattern(pattern), len(widths)
    sections |= {f"{name}_{number}": getattr(tables, name) for name in ("matches", "accepts")}
    sections |= {f"{name}_{number}": getattr(tables.alphabet, name) for name in ("ascii", "index", "pages")}
    widths.append(tables.alphabet.size + 1)


def _planes(column: np.ndarray) -> bytes:
    return np.ascontiguousarray(column.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3].T).tobytes()


def _differences(column: np.ndarray) -> np.ndarray:
    """Return the differences of adjacent numbers, with the sign in the lowest bit: 0, -1, 1, -2 ... become 0, 1, 2, 3 ..."""
    steps = np.diff(column, prepend=0)
    return np.where(steps < 0, -2 * steps - 1, 2 * steps)


def _padded(column: np.ndarray, size: int, fill: float = 0) -> bytes:
    return np.concatenate([column[:size], np.full(max(0, size - len(column)), fill)]).astype("<f8").tobytes()
