"""A certificate for a changed vocabulary: what both sides encode alike, found by encoding with both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..counting import WordCounts
from ..errors import TokenmillError, plural
from ..jobs.progress import Progress
from ..tokenizer import Tokenizer
from .usage import dot, ordinary_tokens, segment


@dataclass(frozen=True)
class Certificate:
    """The certificate of a changed vocabulary. Tokens and pretokens are those of the text, without added tokens.

    ids: how many old ids stay. Their tokens have the same bytes under the new ids.
    checked: how many distinct texts were encoded by both: the pretokens of the text, and each old and new token.
    pretokens, alike: the number of pretokens of the text, and of those that get the same tokens.
    tokens, new_tokens: the number of tokens of the text with the old and with the new tokenizer.
    """

    ids: int
    checked: int
    pretokens: int
    alike: int
    tokens: int
    new_tokens: int

    def __str__(self) -> str:
        kept = (
            f"certificate: {self.ids:,} ids that stay mean the same bytes; on {self.checked:,} texts, all that use only such "
            "tokens are encoded identically"
        )
        if not self.tokens:
            return kept
        return (
            f"{kept}. Of {plural(self.pretokens, 'pretoken')} {self.alike:,} ({self.alike / self.pretokens:.3%}) keep their tokens; "
            f"{plural(self.new_tokens, 'token')} instead of {self.tokens:,} ({self.new_tokens / self.tokens - 1:+.3%})"
        )


def certify(
    old: Tokenizer, new: Tokenizer, id_map: np.ndarray, counts: WordCounts, progress: Progress | None = None
) -> Certificate:
    """Check that `new`, read back from disk, keeps what `id_map` says, and count what changed on `counts`.

    id_map: the new id by old id, -1 for a token that `new` does not have.
    Raises TokenmillError for an id with other bytes, and for a pretoken that both encode with kept tokens only, but not
    alike.

    >>> certify(old, load("smaller"), np.load("smaller/id_map.npy"), counts).alike
    119302
    """
    stays = np.flatnonzero(id_map >= 0)
    for before, after in zip(stays.tolist(), id_map[stays].tolist(), strict=True):
        if old.vocabulary.token_bytes(before) != new.vocabulary.token_bytes(after):
            raise TokenmillError(
                f"the token {before} does not mean the same as the new token {after}: do not use the output"
            )
    tokens = {*ordinary_tokens(old.vocabulary).values(), *ordinary_tokens(new.vocabulary).values()}
    spelt = WordCounts.from_mapping(dict.fromkeys(sorted(tokens), 1), split_patterns=counts.split_patterns)
    _compare(old, new, id_map, spelt, progress)
    alike, old_tokens, new_tokens = _compare(old, new, id_map, counts, progress)
    return Certificate(
        ids=len(stays),
        checked=len(spelt) + len(counts),
        pretokens=int(counts.counts.sum()),
        alike=int(counts.counts[alike].sum()),
        tokens=dot(old_tokens, counts.counts),
        new_tokens=dot(new_tokens, counts.counts),
    )


def _compare(
    old: Tokenizer, new: Tokenizer, id_map: np.ndarray, counts: WordCounts, progress: Progress | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which pretokens are encoded alike, and the number of tokens of each before and after. Raises TokenmillError for a wrong one."""
    ids, before = segment(old, counts, progress)
    new_ids, after = segment(new, counts, progress)
    mapped = id_map[ids]
    known = np.zeros(1 + max(int(new_ids.max(initial=0)), int(id_map.max(initial=0))), bool)
    known[id_map[id_map >= 0]] = True
    kept = _all(mapped >= 0, before) & _all(known[new_ids], after)
    alike = before == after
    same = np.repeat(alike, before)  # the ids of pretokens with as many tokens on both sides
    equal = np.zeros(len(ids), bool)
    equal[same] = mapped[same] == new_ids[np.repeat(alike, after)].astype(np.int64)
    alike &= _all(equal, before)
    for place in np.flatnonzero(kept & ~alike)[:1].tolist():
        text = counts.arena[int(counts.offsets[place]) : int(counts.offsets[place + 1])].tobytes()
        raise TokenmillError(
            f"the text {text!r} uses only tokens that stay, and is encoded otherwise: do not use the output"
        )
    return alike, before, after


def _all(holds: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """For each group of `lengths` neighbours, whether `holds` is true for all of them."""
    wrong = np.concatenate([[0], np.cumsum(~holds)])
    ends = np.cumsum(lengths)
    return wrong[ends] == wrong[ends - lengths]
