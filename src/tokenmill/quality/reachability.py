"""Reachability: which tokens no text can produce. Their rows of the embedding table are never trained.

reachable      the token's own text encodes to it, or a text was found that produces it: the witness
unreachable    "merges": its bytes, even alone, are merged into something else
               "split": the split pattern cuts its text, and no tried neighbour changes that
               "added": an added token takes a part of its text first
               "normalizer": normalization changes its text
               "not UTF-8": no well-formed text contains its bytes
               "no witness": it holds a part of a character, and no tried character produces it
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, repeat
from math import lcm
from typing import NamedTuple

import numpy as np

from ..counting import WordCounts
from ..errors import UsageError
from ..jobs.progress import Progress
from ..split.alphabet import CATEGORIES, category_pages
from ..tokenizer import Tokenizer
from ..tokenizer.normalization import normalizer_of
from .tables import Column, Table, Token
from .usage import Usage, measure_usage, one_pretoken, ordinary_tokens, texts_of_tokens, without_added

# Neighbours that may change how the text of a token is split: letters, spaces, a digit, signs, newlines, a mark.
NEIGHBOURS = ("", "a", " ", "A", "1", ".", "'", "\n", " a", "\u4e00", "\u0301")
FORMS = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase"}  # what these change no text contains afterwards
TRIALS = 4096  # texts tried, at most, to complete the partial characters at the ends of a token
TOGETHER = 1 << 14  # texts encoded in one round
CONTINUATION = bytes(range(0x80, 0xC0))  # the bytes of a character after its first
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
    tokens, texts, vocabulary = ordinary_tokens(tok.vocabulary), texts_of_tokens(tok.vocabulary), tok.vocabulary
    used, changes = set() if usage is None else set(np.flatnonzero(usage.by_id).tolist()), vocabulary.normalization
    normalize = normalizer_of(changes.normalizers if changes.other_steps else ())
    alone = _encoded(tok, list(texts.items()), alone=True)
    reach = dict(zip(alone, map(Reach, repeat(""), alone.values()), strict=False))
    reach |= {id: Reach("") for id in used & texts.keys() - alone.keys()}
    left = [(id, text) for id, text in texts.items() if id not in reach]
    merged = _encoded(one_pretoken(vocabulary), left, alone=True)  # as a pretoken
    changed = {id for id, text in left if normalize(text) != text}
    settled = FORMS.issuperset(changes.normalizers)
    by_rank = vocabulary.order != "events" and vocabulary.library is None and not vocabulary.has_superwords
    for id, _ in left:  # what a merge by rank does not make of bytes alone, it makes of them nowhere
        if (settled and id in changed) or (by_rank and id not in merged):
            reach[id] = Reach("normalizer" if id in changed else "merges")
    broken = {id: islice(completions(token), TRIALS) for id, token in tokens.items() if id not in texts}
    searches = {id: _with_neighbours(text) for id, text in left if id not in reach} | broken
    tried = _search(tok, searches, reach, progress)
    unsearched = Tokenizer(without_added(vocabulary)) if vocabulary.added_tokens else tok
    for id in tokens.keys() - reach.keys():
        if id in used:
            reason = ""
        elif id in broken:
            reason = "no witness" if tried[id] else "not UTF-8"
        elif id in changed:
            reason = "normalizer"
        elif id not in merged:
            reason = "merges"
        else:
            reason = "added" if _encoded(unsearched, [(id, texts[id])], alone=True) else "split"
        reach[id] = Reach(reason)
    return {id: reach[id] for id in tokens}


def unreachable_ids(tok: Tokenizer, counts: WordCounts | None = None, progress: Progress | None = None) -> set[int]:
    """The ordinary tokens that no text produces, as far as was tried. Those that a text uses are reachable."""
    usage = None if counts is None else measure_usage(tok, counts)
    return {id for id, reach in reach_of_tokens(tok, usage, progress).items() if reach.reason}


def _with_neighbours(text: str) -> Iterator[str]:
    return (before + text + after for before in NEIGHBOURS for after in NEIGHBOURS)


def _search(
    tok: Tokenizer, searches: dict[int, Iterator[str]], reach: dict[int, Reach], progress: Progress | None
) -> Counter[int]:
    """Put a witness into `reach` for each token that one of its texts produces; the number of texts tried, by id.

    All tokens are searched together, in rounds of ever more texts of each, so the kernel gets long lists.
    """
    tried, some, total = Counter[int](), 1, len(searches)
    while searches:
        given = [(id, text) for id, texts in searches.items() for text in islice(texts, some)]
        tried.update(Counter(id for id, _ in given))
        for id, text in _encoded(tok, given).items():
            reach[id] = Reach("", text)
        left = {id for id, _ in given} - reach.keys()
        searches = {id: texts for id, texts in searches.items() if id in left}
        some = min(2 * some, max(1, TOGETHER // max(1, len(searches))))
        if progress is not None:
            progress("reachable tokens", total - len(searches), total)
    return tried


def _encoded(tok: Tokenizer, given: list[tuple[int, str]], alone: bool = False) -> dict[int, str]:
    """Return those ids whose text encodes to the id, each with the first such text. alone: to nothing else."""
    ids, texts = map(list, zip(*given, strict=True)) if given else ([], [])
    encoded, offsets = _ids_of_texts(tok, texts)
    sizes = np.diff(offsets)
    wanted = np.flatnonzero(encoded == np.repeat(np.array(ids, np.int64), sizes))
    owners = np.repeat(np.arange(len(ids)), sizes)[wanted]
    if alone:
        owners = owners[sizes[owners] == 1]
    return {ids[owner]: texts[owner] for owner in reversed(owners.tolist())}


def _ids_of_texts(tok: Tokenizer, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """The ids of all texts, and where those of each begin; none for a text with a character that has no token."""
    try:
        return tok.encode_batch_to_numpy(texts, disallowed_special=(), num_threads=1)
    except UsageError:
        if len(texts) == 1:
            return np.empty(0, np.uint32), np.zeros(2, np.int64)
    half = len(texts) // 2
    (ids, offsets), (more, ends) = _ids_of_texts(tok, texts[:half]), _ids_of_texts(tok, texts[half:])
    return np.concatenate([ids, more]), np.concatenate([offsets, offsets[-1] + ends[1:]])


def completions(token: bytes) -> Iterator[str]:
    """Texts that contain the bytes of `token`, which begins or ends inside a character; nothing if there is no such text.

    >>> next(completions(b"\\xa9 caf\\xc3"))
    '© cafÀ'
    """
    rest = token.lstrip(CONTINUATION)
    head = token[: len(token) - len(rest)]
    try:
        middle, size = codecs.utf_8_decode(rest, "strict", False)  # up to a character that is not complete
    except UnicodeDecodeError:
        return
    tail = rest[size:]
    if not rest:
        yield from _characters_with(head)
    elif not head:
        yield from (middle + after for after in _characters_with(tail))
    elif not tail:
        yield from (before + middle for before in _characters_with(head, at_end=True))
    else:
        heads = list(islice(_characters_with(head, at_end=True), EACH_END))
        tails = list(islice(_characters_with(tail), EACH_END))
        for i in range(len(heads) * len(tails)):  # every head with every tail; both change in each step
            again = i // lcm(len(heads), len(tails))
            yield heads[i % len(heads)] + middle + tails[(i + again) % len(tails)]


def _characters_with(part: bytes, at_end: bool = False) -> Iterator[str]:
    """The characters whose UTF-8 contains `part`, which is less than one character, or ends with it."""
    text = _characters()
    place = text.find(part)
    while place >= 0:
        end = place + len(part)
        first = place
        while text[first] in CONTINUATION:
            first -= 1
        last = end
        while text[last] in CONTINUATION:
            last += 1
        if not at_end or last == end:
            yield text[first:last].decode()
        place = text.find(part, place + 1)


@lru_cache(maxsize=1)
def _characters() -> bytes:
    """All characters of more than one byte, those that Unicode assigns before the others and those for private use."""
    pages, categories = category_pages()
    codes = np.arange(0x80, 0x110000)
    codes = codes[(codes < 0xD800) | (codes >= 0xE000)]
    category = np.frombuffer(categories, np.uint8)[np.asarray(pages)[codes >> 7].astype(np.int64) * 128 + (codes & 127)]
    later = np.isin(category, [CATEGORIES.index("Cn"), CATEGORIES.index("Co")])
    codes = codes[np.argsort(later, kind="stable")]
    return codes.astype("<u4").tobytes().decode("utf-32-le").encode() + b"\n"


def unreachable_table(tok: Tokenizer, reach: dict[int, Reach]) -> Table:
    """The tokens that no text produces, those whose bytes are text first."""
    rows = [
        (Token(id, token), reach[id].reason)
        for id, token in ordinary_tokens(tok.vocabulary).items()
        if reach[id].reason
    ]
    order = ["merges", "split", "added", "normalizer", "no witness", "not UTF-8"]
    rows.sort(key=lambda row: (order.index(row[1]), row[0].id))
    columns = (Column("token", "token"), Column("reason", help="why text does not produce this token"))
    note = (
        "merges: its bytes, even alone, become other tokens. split: the split pattern cuts it, with every neighbour that "
        "was tried. added: an added token takes a part of it. normalizer: normalization changes it. not UTF-8: no text "
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
