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

import functools
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from math import lcm
from typing import Any, NamedTuple

import numpy as np

from ..errors import UsageError
from ..jobs.progress import Progress
from ..split.alphabet import CATEGORIES, category_pages
from ..tokenizer import Tokenizer
from ..tokenizer.normalization import normalizer_of
from .replay import merges_by_rank
from .tables import Cell, Column, Table, Token
from .usage import Usage, bare, ordinary_tokens, texts_of_tokens, token_cells, without_added

# Neighbours that may change how the text of a token is split: letters, spaces, a digit, signs, newlines, a mark.
NEIGHBOURS = ("", "a", " ", "A", "1", ".", "'", "\n", " a", "\u4e00", "\u0301")
FORMS = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase"}  # what these change no text contains afterwards
TRIALS = 4096  # texts tried, at most, to complete the partial characters at the ends of a token
TOGETHER = 1 << 14  # texts encoded in one round
LOWEST = (0, 0x80, 0x800, 0x10000)  # code points of characters of one to four bytes
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
    tokens, texts = ordinary_tokens(tok), texts_of_tokens(tok)
    used = set() if usage is None else set(np.flatnonzero(usage.by_id).tolist())
    searches: dict[int, Iterator[str]] = {}
    reach: dict[int, Reach] = {}
    normalize = normalizer_of(() if tok._core.added.plain else tok.vocabulary.normalizers)
    settled = FORMS.issuperset(tok.vocabulary.normalizers)
    encoder = tok
    if settled and all(normalize(token.content) == token.content for token in tok.vocabulary.added_tokens):
        encoder = Tokenizer(
            tok.vocabulary.with_settings(normalizers=())
        )  # for texts that stay as they are, all in the kernel
    alone = _ids_of_texts(encoder, list(texts.values()))
    for (id, text), ids in zip(texts.items(), alone, strict=True):
        changed = settled and normalize(text) != text
        if (ids == [id] and not changed) or id in used:
            reach[id] = Reach("", text if ids == [id] else None)
        elif changed:
            reach[id] = Reach("normaliser")
        else:
            searches[id] = _with_neighbours(text)
    broken = {id: islice(completions(token), TRIALS) for id, token in tokens.items() if id not in texts}
    searches |= broken
    if encoder is not tok:
        searches = {id: filter(lambda text: normalize(text) == text, given) for id, given in searches.items()}
    tried = _search(encoder, searches, reach, progress)
    whole, unsearched = bare(tok), Tokenizer(without_added(tok))
    for id in tokens.keys() - reach.keys():
        if id in used:
            reason = ""
        elif id in broken:
            reason = "no witness" if tried[id] else "not UTF-8"
        elif normalize(texts[id]) != texts[id]:
            reason = "normaliser"
        elif _ids(whole.encode_bytes, tokens[id]) != [id]:
            reason = "merges"
        else:
            reason = "added" if _ids(unsearched.encode_ordinary, texts[id]) == [id] else "split"
        reach[id] = Reach(reason)
    return {id: reach[id] for id in tokens}


def _with_neighbours(text: str) -> Iterator[str]:
    return (before + text + after for before in NEIGHBOURS for after in NEIGHBOURS)


def _search(
    tok: Tokenizer, searches: dict[int, Iterator[str]], reach: dict[int, Reach], progress: Progress | None
) -> dict[int, int]:
    """Put a witness into `reach` for each token that one of its texts produces; the number of texts tried, by id.

    All tokens are searched together, in rounds of ever more texts of each, so the kernel gets long lists.
    """
    tried, some, total = dict.fromkeys(searches, 0), 1, len(searches)
    while searches:
        given = [(id, text) for id, texts in searches.items() for text in islice(texts, some)]
        for (id, text), ids in zip(given, _ids_of_texts(tok, [text for _, text in given]), strict=True):
            tried[id] += 1
            if id not in reach and id in ids:
                reach[id] = Reach("", text)
        left = {id for id, _ in given} - reach.keys()
        searches = {id: texts for id, texts in searches.items() if id in left}
        some = min(2 * some, max(1, TOGETHER // max(1, len(searches))))
        if progress is not None:
            progress("reachable tokens", total - len(searches), total)
    return tried


def _ids_of_texts(tok: Tokenizer, texts: list[str]) -> list[list[int]]:
    """The ids of each text; none for a text with a character that has no token."""
    try:
        return tok.encode_batch(texts, disallowed_special=())
    except UsageError:
        if len(texts) == 1:
            return [[]]
    half = len(texts) // 2
    return _ids_of_texts(tok, texts[:half]) + _ids_of_texts(tok, texts[half:])


def _ids(encode: Callable[[Any], list[int]], text: str | bytes) -> list[int]:
    """The ids of a text; none if it has a character that has no token."""
    try:
        return encode(text)
    except UsageError:
        return []


def completions(token: bytes) -> Iterator[str]:
    """Texts that contain the bytes of `token`, which begins or ends inside a character; nothing if there is no such text.

    >>> next(completions(b"\\xa9 caf\\xc3"))
    '© cafÀ'
    """
    head, tail = _ends_of(token)
    if head == len(token):  # continuation bytes of one character
        for before, after in _around_continuation(token):
            yield (before + token + after).decode()
        return
    try:
        token[head:tail].decode()
    except UnicodeDecodeError:
        return
    heads = _before(token[:head]) if head else [b""]
    tails = _after(token[tail:]) if tail < len(token) else [b""]
    if head and tail < len(token):
        heads, tails = heads[:EACH_END], tails[:EACH_END]
    if heads and tails:  # every head with every tail, in an order that changes both in each step
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


def _bits(continuation: bytes) -> int:
    """The number that continuation bytes hold, six bits each."""
    return functools.reduce(lambda bits, byte: bits << 6 | byte & 63, continuation, 0)


@lru_cache(maxsize=1024)
def _before(end: bytes) -> list[bytes]:
    """What stands before continuation bytes that end a character."""
    if len(end) > 3:
        return []
    codes = np.arange(_bits(end), 0x110000, 1 << 6 * len(end))
    codes = codes[codes >= LOWEST[len(end)]]
    return [of[: -len(end)] for of in _characters(codes) if len(of) > len(end) and of.endswith(end)]


@lru_cache(maxsize=1024)
def _after(start: bytes) -> list[bytes]:
    """What stands after bytes that begin a character."""
    if start[0] in (0xC0, 0xC1) or start[0] >= 0xF5:
        return []
    length = _length(start[0])
    shift = 6 * (length - len(start))
    first = (start[0] & (0xFF >> (length + 1))) << 6 * (len(start) - 1) | _bits(start[1:])
    characters = _characters(np.arange(max(first << shift, LOWEST[length - 1]), first + 1 << shift))
    return [of[len(start) :] for of in characters if len(of) == length and of.startswith(start)]


@lru_cache(maxsize=1024)
def _around_continuation(inside: bytes) -> list[tuple[bytes, bytes]]:
    """What stands around continuation bytes inside or at the end of a character."""
    if len(inside) > 3:
        return []
    holds = np.zeros(0x110000 + (1 << 12), bool)  # by code point; np.unique takes 30 times as long
    for after in range(4 - len(inside)):
        ends = np.arange(_bits(inside) << 6 * after, 0x110000, 1 << 6 * (len(inside) + after))
        holds[(ends[:, None] + np.arange(1 << 6 * after)).ravel()] = True
    codes = np.flatnonzero(holds[:0x110000])
    characters = [(of, of.find(inside, 1)) for of in _characters(codes[codes >= LOWEST[len(inside)]])]
    return [(of[:at], of[at + len(inside) :]) for of, at in characters if at > 0]


def _characters(codes: np.ndarray) -> list[bytes]:
    """The first characters of more than one byte with these code points: the assigned ones, or if there are none all."""
    codes = codes[(codes >= 0x80) & (codes < 0x110000) & ((codes < 0xD800) | (codes >= 0xE000))]
    assigned = codes[_assigned()[codes]]
    return [chr(code).encode() for code in (assigned if len(assigned) else codes)[:TRIALS].tolist()]


@lru_cache(maxsize=1)
def _assigned() -> np.ndarray:
    """By code point, whether Unicode assigns it a character; private use does not count."""
    pages, categories = category_pages()
    codes = np.arange(0x110000)
    category = np.frombuffer(categories, np.uint8)[np.asarray(pages)[codes >> 7].astype(np.int64) * 128 + (codes & 127)]
    return ~np.isin(category, [CATEGORIES.index("Cn"), CATEGORIES.index("Co")])


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
            ids = _ids(merged.encode_bytes, token.content)
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
