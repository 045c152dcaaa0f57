"""Reachability: which tokens no text can produce. Their rows of the embedding table are never trained.

reachable      the token's own text encodes to it, or a text was found that produces it: the witness
unreachable    "merges": its bytes, even alone, are merged into something else
               "split": the split pattern cuts its text, and no tried neighbour changes that
               "added": an added token takes a part of its text first
               "normaliser": normalisation changes its text
               "not UTF-8": no well-formed text contains its bytes
               "no witness": it holds a part of a character, and no tried character produces it
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from math import lcm
from typing import NamedTuple

import numpy as np

from ..errors import UsageError
from ..jobs.progress import Progress
from ..split.alphabet import CATEGORIES, category_pages
from ..tokenizer import Tokenizer
from ..tokenizer.normalization import normalizer_of
from .replay import merges_by_rank
from .tables import Cell, Column, Table, Token
from .usage import Usage, bare, texts_of_tokens, token_cells, without_added

# Neighbours that may change how the text of a token is split: letters, spaces, a digit, signs, newlines, a mark.
NEIGHBOURS = ("", "a", " ", "A", "1", ".", "'", "\n", " a", "\u4e00", "\u0301")
TRIALS = 4096  # texts tried, at most, to complete the partial characters at the ends of a token
EACH_END = 256  # characters tried at each end of a token with two partial characters


class Reach(NamedTuple):
    """Whether text can produce a token. reason: why not, or ""; witness: a text that produces it, if one is known."""

    reason: str
    witness: str | None = None


def reach_of_tokens(tok: Tokenizer, usage: Usage | None = None, progress: Progress | None = None) -> dict[int, Reach]:
    """For each ordinary token, whether text can produce it. Tokens used in `usage` are known to be reachable.

    >>> reach_of_tokens(tok)[300]
    Reach(reason='', witness=' the')
    """
    tokens, texts = token_cells(tok), texts_of_tokens(tok)
    normalize = normalizer_of(() if tok.core.added.plain else tok.vocabulary.normalizers)
    whole = bare(tok)
    unsearched = Tokenizer(without_added(tok))
    alone = _made_of_themselves(tok)
    reach: dict[int, Reach] = {}
    for done, token in enumerate(tokens):
        id, text = token.id, texts.get(token.id)
        used = usage is not None and int(usage.by_id[id]) > 0
        if id in alone:
            found = Reach("", text)
        elif text is None:
            found = _reach_of_bytes(tok, id, token.content)
        elif used:
            found = Reach("")
        else:
            found = _reach_of_text(tok, id, text)
            if found.reason and normalize(text) != text:
                found = Reach("normaliser")
            elif found.reason and _ids(whole, token.content) != [id]:
                found = Reach("merges")
            elif found.reason and _ids(unsearched, text) == [id]:
                found = Reach("added")
        reach[id] = Reach("") if used and found.reason else found
        if progress is not None and done % 1000 == 999:
            progress("reachable tokens", done + 1, len(tokens))
    return reach


def _made_of_themselves(tok: Tokenizer) -> set[int]:
    """The tokens whose own text encodes to them, all encoded in one call; empty if the alphabet lacks a character of one."""
    texts = texts_of_tokens(tok)
    try:
        ids, offsets = tok.encode_batch_to_numpy(texts.values(), disallowed_special=())
    except UsageError:
        return set()
    single = np.flatnonzero(np.diff(offsets) == 1)
    own = np.array([*texts], np.int64)[single]
    return set(own[ids[offsets[:-1][single]] == own].tolist())


def _ids(tok: Tokenizer, text: str | bytes) -> list[int]:
    """The ids of ordinary text or of bytes; empty if the alphabet lacks a character."""
    try:
        return tok.encode_ordinary(text) if isinstance(text, str) else tok.encode_bytes(text)
    except UsageError:
        return []


def _reach_of_text(tok: Tokenizer, id: int, text: str) -> Reach:
    if _ids(tok, text) == [id]:
        return Reach("", text)
    for before in NEIGHBOURS:
        for after in NEIGHBOURS:
            if id in _ids(tok, before + text + after):
                return Reach("", before + text + after)
    return Reach("split")


def _reach_of_bytes(tok: Tokenizer, id: int, token: bytes) -> Reach:
    tried = 0
    for text in islice(completions(token), TRIALS):
        tried += 1
        if id in _ids(tok, text):
            return Reach("", text)
    return Reach("no witness" if tried else "not UTF-8")


def completions(token: bytes) -> Iterator[str]:
    """Texts that contain the bytes of `token`, which begins or ends inside a character; nothing if there is no such text.

    >>> next(completions(b"\\xa9 caf\\xc3"))
    '© cafÀ'
    """
    head, tail = _ends_of(token)
    if head == len(token):  # a part of one character
        for before, after in _around(token, False):
            yield (before + token + after).decode()
        return
    try:
        token[head:tail].decode()
    except UnicodeDecodeError:
        return
    if head and tail < len(token):
        yield from _both_ends(token, head, tail)
    elif head:
        for before, _ in _around(token[:head], True):
            yield (before + token).decode()
    else:
        for _, after in _around(token[tail:], False):
            yield (token + after).decode()


def _both_ends(token: bytes, head: int, tail: int) -> Iterator[str]:
    """Every head with every tail, in an order that changes both in each step."""
    heads = [before for before, _ in islice(_around(token[:head], True), EACH_END)]
    tails = [after for _, after in islice(_around(token[tail:], False), EACH_END)]
    if heads and tails:
        rounds = lcm(len(heads), len(tails))
        for i in range(len(heads) * len(tails)):
            yield (heads[i % len(heads)] + token + tails[(i + i // rounds) % len(tails)]).decode()


def _ends_of(token: bytes) -> tuple[int, int]:
    """The end of the continuation bytes at the start of `token`, and the start of a partial character at its end."""
    head = 0
    while head < len(token) and 0x80 <= token[head] < 0xC0:
        head += 1
    last = len(token) - 1
    while last > head and 0x80 <= token[last] < 0xC0:
        last -= 1
    finished = last < head or last + _length(token[last]) <= len(token)
    return head, len(token) if finished else last


def _length(lead: int) -> int:
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def _around(part: bytes, at_end: bool) -> Iterator[tuple[bytes, bytes]]:
    """The bytes (before, after) `part` that make it one character; `at_end`: with nothing after it.

    Only assigned characters of Unicode, unless none of them contains `part`.
    """
    if any(byte in (0xC0, 0xC1) or byte >= 0xF5 for byte in part):
        return
    found = False
    for assigned in (True, False):
        if found:
            return
        characters = _encoded(assigned)
        at = characters.find(part)
        while at >= 0:
            start, stop = characters.rindex(b"\n", 0, at) + 1, characters.index(b"\n", at)
            before, after = characters[start:at], characters[at + len(part) : stop]
            if (before or after) and not (at_end and after):
                found = True
                yield before, after
            at = characters.find(part, at + 1)


@lru_cache(maxsize=2)
def _encoded(assigned: bool) -> bytes:
    """All characters of two or more bytes, or only the assigned ones, separated by newlines."""
    codes = np.concatenate([np.arange(0x80, 0xD800), np.arange(0xE000, 0x110000)]).astype(np.uint32)
    if assigned:  # no others are, except for private use
        pages, categories = category_pages()
        category = np.frombuffer(categories, np.uint8)[
            np.asarray(pages)[codes >> 7].astype(np.int64) * 128 + (codes & 127)
        ]
        codes = codes[~np.isin(category, [CATEGORIES.index("Cn"), CATEGORIES.index("Co")])]
    lines = np.full((len(codes), 2), ord("\n"), np.uint32)
    lines[:, 1] = codes
    return (lines.tobytes().decode("utf-32") + "\n").encode()


def unreachable_table(tok: Tokenizer, reach: dict[int, Reach]) -> Table:
    """The tokens that no text produces, those whose bytes are text first."""
    rows = [(token, reach[token.id].reason) for token in token_cells(tok) if reach[token.id].reason]
    order = ["merges", "split", "added", "normaliser", "no witness", "not UTF-8"]
    rows.sort(key=lambda row: (order.index(row[1]), row[0].id))
    columns = (Column("token", "token"), Column("reason", help="why text does not produce this token"))
    note = (
        "merges: its bytes, even alone, become other tokens. split: the split pattern cuts it, with every neighbour that "
        "was tried. added: an added token takes a part of it. normaliser: normalisation changes it. not UTF-8: no text "
        "contains its bytes; of the single bytes these are C0, C1 and F5 to FF. no witness: a part of a character, and "
        f"none of up to {TRIALS:,} tried characters produces it."
    )
    return Table("unreachable", "Tokens that no text produces", columns, rows, note, listing=True)


def unbuilt_table(tok: Tokenizer) -> Table:
    """Tokens that merges do not build: text produces them only if a pretoken is exactly the token."""
    rows: list[tuple[Cell, ...]] = []
    vocabulary = tok.vocabulary
    if vocabulary.whole_pretokens and vocabulary.order != "events":
        tokens = token_cells(tok)
        if vocabulary.order == "ranks":
            unbuilt = set(merges_by_rank(vocabulary)[1])
            tokens = [token for token in tokens if token.id in unbuilt]
        merged = bare(tok, whole_pretokens=False) if tokens else tok
        for token in tokens:
            ids = _ids(merged, token.content)
            if ids != [token.id]:
                rows.append((token, tuple(Token(id, tok.decode_single_token_bytes(id)) for id in ids)))
    columns = (Column("token", "token"), Column("merges to", "tokens"))
    note = (
        "Only the rule that a pretoken equal to a token becomes that token produces these. They never occur inside a longer "
        "pretoken."
    )
    return Table("unbuilt", "Tokens that merges do not build", columns, rows, note, listing=True)


def partial_table(tok: Tokenizer, reach: dict[int, Reach], usage: Usage | None = None) -> Table:
    """Tokens of two or more bytes that are not complete UTF-8, each with a text that produces it."""
    rows, texts = [], texts_of_tokens(tok)
    for token in token_cells(tok):
        if token.id not in texts and len(token.content) > 1:
            found = reach[token.id]
            rows.append((token, None if usage is None else int(usage.by_id[token.id]), found.witness, found.reason))
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
