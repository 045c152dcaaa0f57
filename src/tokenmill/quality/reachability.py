"""Unreachable tokens, which no text produces. Their rows of the embedding table are never trained.

reachable      the token's own text encodes to it, or another text was found that produces it, the witness
unreachable    "merges": its bytes, even alone, are merged into other tokens
               "split": the split pattern cuts its text, and no tried neighbour changes that
               "added": an added token matches inside its text
               "normalizer": normalization changes its text
               "not UTF-8": no well-formed text contains its bytes
               "no witness": it contains a partial character, and no tried character produces it
               "decode-only": the file has the id only for decoding
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice, product
from math import lcm
from typing import NamedTuple

import numpy as np

from ..errors import UsageError
from ..jobs.progress import Progress
from ..split.alphabet import CATEGORIES, category_pages
from ..tokenizer import Tokenizer
from ..tokenizer.core import CONTINUATION
from ..tokenizer.normalization import normalizer_of
from .tables import Column, Table, Token
from .usage import Usage, decode_only_ids, one_pretoken, ordinary_tokens, texts_of_tokens, without_added

# Neighbours that may change how the text of a token is split: letters, spaces, a digit, signs, newlines, a mark, the ends of
# contractions.
NEIGHBOURS = ("", "a", " ", "A", "1", ".", "'", "\n", " a", "\u4e00", "\u0301", "re", "S")
FORMS = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase"}  # after these, no text contains what they change
TRIALS = 4096  # texts tried, at most, to complete the partial characters at the ends of a token
TRIALS_PER_PAIR = 16  # texts with two neighbouring tokens
TRIALS_PER_END = 256  # characters at each end of a token with two partial characters


class Reach(NamedTuple):
    """The reachability of a token. reason: why no text produces it, or "". witness: a text that produces it, if one is known."""

    reason: str
    witness: str | None = None


def reach_of_tokens(tok: Tokenizer, usage: Usage | None = None, progress: Progress | None = None) -> dict[int, Reach]:
    """Return the reachability of each token that is not added. Tokens used in `usage` are known to be reachable.

    >>> reach_of_tokens(tok)[300]
    Reach(reason='', witness=' the')
    """
    tokens, texts, vocabulary = ordinary_tokens(tok.vocabulary), texts_of_tokens(tok.vocabulary), tok.vocabulary
    used = set() if usage is None else set(np.flatnonzero(usage.by_id).tolist())
    steps = vocabulary.normalization.normalizers
    normalize = normalizer_of(steps if vocabulary.normalization.other_steps else ())
    reach = {id: Reach("") for id in used & texts.keys()}
    reach |= {id: Reach("", texts[id]) for id in _encoded_alone(tok, texts)}
    remaining = {id: text for id, text in texts.items() if id not in reach}
    merged = _encoded_alone(one_pretoken(vocabulary.replace(dropped="")), remaining)
    changed = {id for id, text in remaining.items() if normalize(text) != text}
    without_search = Tokenizer(without_added(vocabulary)) if vocabulary.added_tokens else tok
    crossing = [tokens[id] for id in tokens.keys() - texts.keys() if _crosses(tokens[id])]
    missing = tokens.keys() - reach.keys()
    for done, id in enumerate(sorted(missing), 1):
        trials: Iterator[str] = iter(())
        if id not in remaining:
            trials = chain(islice(completions(tokens[id]), TRIALS), islice(_neighbours(tokens[id], crossing), TRIALS))
        elif id not in changed or not FORMS.issuperset(steps):
            trials = (before + remaining[id] + after for before, after in product(NEIGHBOURS, NEIGHBOURS))
        witness, reason = next((text for text in trials if id in _ids(tok, text)), None), "merges"
        if witness is not None or id in used:
            reason = ""
        elif id not in remaining:
            reason = "no witness" if any(completions(tokens[id])) else "not UTF-8"
        elif id in changed:
            reason = "normalizer"
        elif id in merged:
            reason = "added" if _ids(without_search, remaining[id]) == [id] else "split"
        reach[id] = Reach(reason, witness)
        if progress is not None:
            progress("reachable tokens", done, len(missing))
    return {id: reach[id] for id in tokens} | dict.fromkeys(decode_only_ids(vocabulary), Reach("decode-only"))


def _encoded_alone(tok: Tokenizer, texts: dict[int, str]) -> set[int]:
    """Return the ids whose text encodes to the id and nothing else."""
    try:
        encoded, offsets = tok.encode_batch_to_numpy([*texts.values()], disallowed_special=(), num_threads=1)
    except UsageError:  # a character that has no token
        return {id for id, text in texts.items() if _ids(tok, text) == [id]}
    ids, single = np.fromiter(texts, np.int64, len(texts)), np.diff(offsets) == 1
    return set(ids[single][encoded[offsets[:-1][single]] == ids[single]].tolist())


def _ids(tok: Tokenizer, text: str) -> list[int]:
    """Return the ids of a text; none if a character has no token."""
    try:
        return tok.encode(text, disallowed_special=())
    except UsageError:
        return []


def completions(token: bytes) -> Iterator[str]:
    """Yield texts that contain the bytes of `token`, which begins or ends inside a character. There may be none.

    >>> next(completions(b"\\xa9 caf\\xc3"))
    '© cafÀ'
    """
    try:
        head, middle, tail = _divide(token)
    except UnicodeDecodeError:
        return
    if head == token:
        yield from _characters_with(head)
    elif not head:
        yield from (middle + after for after in (_characters_with(tail) if tail else ("",)))
    elif not tail:
        yield from (before + middle for before in _characters_with(head, at_end=True))
    else:
        heads = list(islice(_characters_with(head, at_end=True), TRIALS_PER_END))
        tails = list(islice(_characters_with(tail), TRIALS_PER_END))
        for i in range(len(heads) * len(tails)):  # every head with every tail; both change in each step
            round_number = i // lcm(len(heads), len(tails))
            yield heads[i % len(heads)] + middle + tails[(i + round_number) % len(tails)]


def _divide(token: bytes) -> tuple[bytes, str, bytes]:
    """Divide a token into the end of a character, whole characters, and the beginning of a character.

    Raises UnicodeDecodeError if no text contains the token.
    """
    rest = token.lstrip(CONTINUATION)
    middle, size = codecs.utf_8_decode(rest, "strict", False)  # up to an incomplete character
    return token[: len(token) - len(rest)], middle, rest[size:]


def _crosses(token: bytes) -> bool:
    """Return whether a token contains a partial character and bytes of another character."""
    try:
        return sum(map(bool, _divide(token))) > 1
    except UnicodeDecodeError:
        return False


def _neighbours(token: bytes, crossing: Sequence[bytes]) -> Iterator[str]:
    """Yield texts in which a token of `crossing` next to `token` contains the other bytes of its first or last character."""
    if not any(completions(token)):
        return
    for gap in [b"", *(bytes([byte]) for byte in CONTINUATION)]:
        for other in crossing:
            if other[0] in CONTINUATION:
                yield from islice(completions(token + gap + other), TRIALS_PER_PAIR)
            if token[0] in CONTINUATION:
                yield from islice(completions(other + gap + token), TRIALS_PER_PAIR)


def _characters_with(data: bytes, at_end: bool = False) -> Iterator[str]:
    """Yield the characters whose UTF-8 contains `data`, which is less than one character, or ends with it."""
    text = _characters()
    offset = text.find(data)
    while offset >= 0:
        start, end = offset, offset + len(data)
        while text[start] in CONTINUATION:
            start -= 1
        stop = end
        while text[stop] in CONTINUATION:
            stop += 1
        if not at_end or stop == end:
            yield text[start:stop].decode()
        offset = text.find(data, offset + 1)


@lru_cache(maxsize=1)
def _characters() -> bytes:
    """All characters of more than one byte, assigned ones first. Among those of four bytes, the first bytes change soonest."""
    pages, categories = category_pages()
    codes = np.arange(0x80, 0x110000)
    codes = codes[(codes < 0xD800) | (codes >= 0xE000)]
    category = np.frombuffer(categories, np.uint8)[np.asarray(pages)[codes >> 7].astype(np.int64) * 128 + (codes & 127)]
    later = np.isin(category, [CATEGORIES.index("Cn"), CATEGORIES.index("Co")])
    codes = codes[np.lexsort((np.where(codes < 0x10000, 0, codes & 0xFFF), codes >= 0x10000, later))]
    return codes.astype("<u4").tobytes().decode("utf-32-le").encode() + b"\n"


def unreachable_table(tok: Tokenizer, reach: dict[int, Reach]) -> Table:
    """The tokens that no text produces, those whose bytes are text first."""
    unreachable = [(id, reason) for id, (reason, _) in reach.items() if reason]
    rows = [(Token(id, tok.vocabulary.token_bytes(id) or b""), reason) for id, reason in unreachable]
    order = ["merges", "split", "added", "normalizer", "decode-only", "no witness", "not UTF-8"]
    rows.sort(key=lambda row: (order.index(row[1]), row[0].id))
    columns = (Column("token", "token"), Column("reason", help="why text does not produce this token"))
    note = (
        "merges: its bytes, even alone, become other tokens. split: the split pattern cuts it, with every neighbour that "
        "was tried. added: an added token takes a part of it. normalizer: normalization changes it. decode-only: the file has "
        "it only for decoding. not UTF-8: no text "
        "contains its bytes; of the single bytes these are C0, C1 and F5 to FF. no witness: a part of a character, and "
        f"none of up to {TRIALS:,} tried characters produces it."
    )
    return Table("unreachable", "Tokens that no text produces", columns, rows, note, listing=True)


def partial_table(tok: Tokenizer, reach: dict[int, Reach], usage: Usage | None = None) -> Table:
    """Tokens of two or more bytes that are not complete UTF-8, each with a text that produces it."""
    rows, texts = [], texts_of_tokens(tok.vocabulary)
    for id, token in ordinary_tokens(tok.vocabulary).items():
        if id not in texts and len(token) > 1:
            used = None if usage is None else int(usage.by_id[id])
            rows.append((Token(id, token), used, reach[id].witness, reach[id].reason))
    columns = (
        Column("token", "token"),
        Column("used", "count", "times in this text"),
        Column("text that gives it", "sample"),
        Column("unreachable because"),
    )
    note = (
        "They begin or end inside a character. A model that outputs one of them alone outputs broken text. The 256 single "
        "bytes are not listed: every byte-level vocabulary needs them."
    )
    return Table("partial", "Tokens that are not whole UTF-8", columns, rows, note, listing=True)
