"""Reachability: which tokens no text can produce. Their rows of the embedding table are never trained.

reachable      the token's own text encodes to it, or a text was found that produces it: the witness
unreachable    "merges": its bytes, even alone, are merged into something else
               "split": the split pattern cuts its text, and no tried neighbour changes that
               "added": an added token takes a part of its text first
               "normalizer": normalization changes its text
               "not UTF-8": no well-formed text contains its bytes
               "no witness": it holds a part of a character, and no tried character produces it
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
from .metrics import Usage, decode_only_ids, one_pretoken, ordinary_tokens, texts_of_tokens, without_added
from .tables import Column, Table, Token

# Neighbours that may change how the text of a token is split: letters, spaces, a digit, signs, newlines, a mark, the ends of
# contractions.
NEIGHBOURS = ("", "a", " ", "A", "1", ".", "'", "\n", " a", "\u4e00", "\u0301", "re", "S")
FORMS = {"NFC", "NFD", "NFKC", "NFKD", "Lowercase"}  # what these change no text contains afterwards
TRIALS = 4096  # texts tried, at most, to complete the partial characters at the ends of a token
EACH_BESIDE = 16  # texts with one token beside another
EACH_END = 256  # characters tried at each end of a token with two partial characters


class Reach(NamedTuple):
    """Whether text can produce a token. reason: why not, or ""; witness: a text that produces it, if one is known."""

    reason: str
    witness: str | None = None


def reach_of_tokens(tok: Tokenizer, usage: Usage | None = None, progress: Progress | None = None) -> dict[int, Reach]:
    """For each token that is not added, whether text can produce it. Tokens used in `usage` are known to be reachable.

    >>> reach_of_tokens(tok)[300]
    Reach(reason='', witness=' the')
    """
    tokens, texts, vocabulary = ordinary_tokens(tok.vocabulary), texts_of_tokens(tok.vocabulary), tok.vocabulary
    used, changes = set() if usage is None else set(np.flatnonzero(usage.by_id).tolist()), vocabulary.normalization
    normalize = normalizer_of(changes.normalizers if changes.other_steps else ())
    reach = {id: Reach("") for id in used & texts.keys()}
    reach |= {id: Reach("", texts[id]) for id in _alone(tok, texts)}
    left = {id: text for id, text in texts.items() if id not in reach}
    merged = _alone(one_pretoken(vocabulary), left)
    changed = {id for id, text in left.items() if normalize(text) != text}
    settled = FORMS.issuperset(changes.normalizers)
    unsearched = Tokenizer(without_added(vocabulary)) if vocabulary.added_tokens else tok
    crossing = [tokens[id] for id in tokens.keys() - texts.keys() if _crosses(tokens[id])]
    missing = tokens.keys() - reach.keys()
    for done, id in enumerate(sorted(missing), 1):
        trials: Iterator[str] = iter(())
        if id not in left:
            trials = chain(islice(completions(tokens[id]), TRIALS), islice(_beside(tokens[id], crossing), TRIALS))
        elif not (settled and id in changed):
            trials = (before + left[id] + after for before, after in product(NEIGHBOURS, NEIGHBOURS))
        witness, reason = next((text for text in trials if id in _ids(tok, text)), None), "merges"
        if witness is not None or id in used:
            reason = ""
        elif id not in left:
            reason = "no witness" if any(completions(tokens[id])) else "not UTF-8"
        elif id in changed:
            reason = "normalizer"
        elif id in merged:
            reason = "added" if _ids(unsearched, left[id]) == [id] else "split"
        reach[id] = Reach(reason, witness)
        if progress is not None:
            progress("reachable tokens", done, len(missing))
    return {id: reach[id] for id in tokens} | dict.fromkeys(decode_only_ids(vocabulary), Reach("decode-only"))


def _alone(tok: Tokenizer, texts: dict[int, str]) -> set[int]:
    """The ids whose text encodes to the id and nothing else."""
    try:
        encoded, offsets = tok.encode_batch_to_numpy([*texts.values()], disallowed_special=(), num_threads=1)
    except UsageError:  # a character that has no token
        return {id for id, text in texts.items() if _ids(tok, text) == [id]}
    ids, single = np.fromiter(texts, np.int64, len(texts)), np.diff(offsets) == 1
    return set(ids[single][encoded[offsets[:-1][single]] == ids[single]].tolist())


def _ids(tok: Tokenizer, text: str) -> list[int]:
    """The ids of a text; none for one with a character that has no token."""
    try:
        return tok.encode(text, disallowed_special=())
    except UsageError:
        return []


def completions(token: bytes) -> Iterator[str]:
    """Texts that contain the bytes of `token`, which begins or ends inside a character; nothing if there is no such text.

    >>> next(completions(b"\\xa9 caf\\xc3"))
    '© cafÀ'
    """
    try:
        head, middle, tail = _divided(token)
    except UnicodeDecodeError:
        return
    if head == token:
        yield from _characters_with(head)
    elif not head:
        yield from (middle + after for after in (_characters_with(tail) if tail else ("",)))
    elif not tail:
        yield from (before + middle for before in _characters_with(head, at_end=True))
    else:
        heads = list(islice(_characters_with(head, at_end=True), EACH_END))
        tails = list(islice(_characters_with(tail), EACH_END))
        for i in range(len(heads) * len(tails)):  # every head with every tail; both change in each step
            again = i // lcm(len(heads), len(tails))
            yield heads[i % len(heads)] + middle + tails[(i + again) % len(tails)]


def _divided(token: bytes) -> tuple[bytes, str, bytes]:
    """The end of a character, whole characters, and the beginning of a character. UnicodeDecodeError for what no text contains."""
    rest = token.lstrip(CONTINUATION)
    middle, size = codecs.utf_8_decode(rest, "strict", False)  # up to a character that is not complete
    return token[: len(token) - len(rest)], middle, rest[size:]


def _crosses(token: bytes) -> bool:
    """Whether a token contains a part of a character and bytes of another one."""
    try:
        head, middle, tail = _divided(token)
    except UnicodeDecodeError:
        return False
    return sum(map(bool, (head, middle, tail))) > 1


def _beside(token: bytes, crossing: Sequence[bytes]) -> Iterator[str]:
    """Texts in which `token` is beside another one that takes the other bytes of its first or last character."""
    if not any(completions(token)):
        return
    for gap in [b"", *(bytes([byte]) for byte in CONTINUATION)]:
        for other in crossing:
            if other[0] in CONTINUATION:
                yield from islice(completions(token + gap + other), EACH_BESIDE)
            if token[0] in CONTINUATION:
                yield from islice(completions(other + gap + token), EACH_BESIDE)


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
    """All characters of more than one byte, assigned ones first; of those of four, the first bytes change soonest."""
    pages, categories = category_pages()
    codes = np.arange(0x80, 0x110000)
    codes = codes[(codes < 0xD800) | (codes >= 0xE000)]
    category = np.frombuffer(categories, np.uint8)[np.asarray(pages)[codes >> 7].astype(np.int64) * 128 + (codes & 127)]
    later = np.isin(category, [CATEGORIES.index("Cn"), CATEGORIES.index("Co")])
    codes = codes[np.lexsort((np.where(codes < 0x10000, 0, codes & 0xFFF), codes >= 0x10000, later))]
    return codes.astype("<u4").tobytes().decode("utf-32-le").encode() + b"\n"


def unreachable_table(tok: Tokenizer, reach: dict[int, Reach]) -> Table:
    """The tokens that no text produces, those whose bytes are text first."""
    rows = [
        (Token(id, tok.vocabulary.token_bytes(id) or b""), found.reason) for id, found in reach.items() if found.reason
    ]
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
