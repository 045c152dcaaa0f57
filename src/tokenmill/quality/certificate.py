"""Certificates of changed vocabularies and the loss of exports, both measured by encoding with the old and the new tokenizer.

An export of a tokenizer with events (Picky BPE or superwords) to a library without events has the same tokens and ids, but
does not always choose the same tokens. One kind of export merges the present tokens by rank. The other takes the longest
present token from left to right. The loss is how often their ids differ and how many more tokens they need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from ..counting import WordCounts
from ..errors import TokenmillError, plural, suggests_options
from ..formats.rank_merges import present_by_rank
from ..jobs.progress import Progress
from ..sources.blocks import ReadOptions
from ..tokenizer import Tokenizer
from ..vocabulary import Vocabulary
from ..vocabulary.surgery import renumber
from .evaluation_text import EvaluationText, Text
from .usage import dot, encode_pretokens, ordinary_tokens

Encode = Callable[[bytes], list[int]]


@dataclass(frozen=True)
class Certificate:
    """The certificate of a changed vocabulary. Tokens and pretokens are those of the text, without added tokens.

    ids: the number of old ids that stay. Their tokens have the same bytes under the new ids.
    checked: the number of distinct texts that both encoded: the pretokens of the text, and each old and new token.
    pretokens, alike: the number of pretokens of the text, and of those that get the same tokens.
    tokens, new_tokens: the number of tokens of the text with the old and with the new tokenizer.
    merged_again: the number of distinct texts of ids that stay in which new merges apply whose tokens later events remove.
    """

    ids: int
    checked: int
    pretokens: int
    alike: int
    tokens: int
    new_tokens: int
    merged_again: int = 0

    def __str__(self) -> str:
        certified = (
            f"certificate: {self.ids:,} ids that stay mean the same bytes; on {self.checked:,} texts, all that use only such "
            "tokens are encoded identically"
        )
        if self.merged_again:
            certified += f", except {self.merged_again:,} in which new merges apply"
        if not self.tokens:
            return certified
        return (
            f"{certified}. {_share(self.pretokens - self.alike, self.pretokens)} get other tokens; "
            f"{plural(self.new_tokens, 'token')} instead of {self.tokens:,} ({self.new_tokens / self.tokens - 1:+.3%})"
        )


def _share(count: int, pretokens: int) -> str:
    """Return a number of pretokens with its share of all, to three significant digits."""
    percent = np.format_float_positional(100 * count / max(1, pretokens), 3, fractional=False, trim="-")
    return f"{count:,} of {plural(pretokens, 'pretoken')} ({percent}%)"


def certify(
    old: Tokenizer, new: Tokenizer, id_map: np.ndarray, counts: WordCounts, progress: Progress | None = None
) -> Certificate:
    """Check that `new`, read back from disk, keeps the tokens of `id_map`, and count the changes on `counts`.

    id_map: the new id by old id, -1 for a token that `new` does not have.
    Raises TokenmillError for an id with other bytes, and for a pretoken of kept tokens that the two encode differently, unless
    new merges of a Picky vocabulary apply to it.
    """
    kept = np.flatnonzero(id_map >= 0)
    for before, after in zip(kept.tolist(), id_map[kept].tolist(), strict=True):
        if old.vocabulary.token_bytes(before) != new.vocabulary.token_bytes(after):
            raise TokenmillError(f"the token {before} differs from the new token {after}: do not use the output")
    tokens = {*ordinary_tokens(old.vocabulary).values(), *ordinary_tokens(new.vocabulary).values()}
    token_texts = WordCounts.from_mapping(dict.fromkeys(sorted(tokens), 1), split_patterns=counts.split_patterns)
    *_, merged_tokens = _compare(old, new, id_map, token_texts, progress)
    alike, old_tokens, new_tokens, merged = _compare(old, new, id_map, counts, progress)
    return Certificate(
        ids=len(kept),
        checked=len(token_texts) + len(counts),
        pretokens=int(counts.counts.sum()),
        alike=int(counts.counts[alike].sum()),
        tokens=dot(old_tokens, counts.counts),
        new_tokens=dot(new_tokens, counts.counts),
        merged_again=merged_tokens + merged,
    )


def _compare(
    old: Tokenizer, new: Tokenizer, id_map: np.ndarray, counts: WordCounts, progress: Progress | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return by pretoken: whether both encode it alike, and its number of tokens before and after. And `merged_again`.

    Raises TokenmillError for a pretoken of kept tokens that they encode differently without new merges.
    """
    ids, before = encode_pretokens(old, counts, progress)
    new_ids, after = encode_pretokens(new, counts, progress)
    mapped = id_map[ids]
    only_kept = _all(mapped >= 0, before) & _all(np.isin(new_ids, id_map), after)
    alike = _same(mapped, before, new_ids, after)
    differing = np.flatnonzero(only_kept & ~alike).tolist()
    if differing and new.vocabulary.order == "events":  # new merges follow the old events and the removals
        events, n_events = new.vocabulary.events, len(old.vocabulary.events) + int((id_map < 0).sum())
        ids_before = np.arange(max(len(new.vocabulary.tokens), new.n_vocab), dtype=np.int32)
        made_before = [*events[:n_events, 2], -1]
        ids_before[np.setdiff1d(events[n_events:, 2], made_before)] = -1  # those that only new merges make
        new = Tokenizer(renumber(new.vocabulary, ids_before, n_events))
    ends = np.cumsum(before)
    for row in differing:
        text = counts.arena[int(counts.offsets[row]) : int(counts.offsets[row + 1])].tobytes()
        if new._core.encode_pretoken(text) != mapped[ends[row] - before[row] : ends[row]].tolist():
            raise TokenmillError(
                f"the text {text!r} uses only tokens that stay, but is encoded differently: do not use the output"
            )
    return alike, before, after, len(differing)


def _same(ids: np.ndarray, lengths: np.ndarray, other_ids: np.ndarray, other_lengths: np.ndarray) -> np.ndarray:
    """Return by pretoken whether both encode it to the same ids. lengths: the number of its ids."""
    same_length = lengths == other_lengths
    same_id, compared = np.zeros(len(ids), bool), np.repeat(same_length, lengths)
    same_id[compared] = ids[compared] == other_ids[np.repeat(same_length, other_lengths)]
    return same_length & _all(same_id, lengths)


def _all(conditions: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return for each group of `lengths` neighbours whether all their conditions are true."""
    false_before = np.concatenate([[0], np.cumsum(~conditions)])
    ends = np.cumsum(lengths)
    return false_before[ends] == false_before[ends - lengths]


@dataclass(frozen=True)
class ExportLoss:
    """The loss of the two exports of a Picky tokenizer on a text.

    pretokens, tokens: the numbers of pretokens and of tokens of the text, encoded by events.
    differing, other_tokens: the number of pretokens with other ids, and of tokens, if the remaining tokens merge by rank, as
        in tiktoken and in Hugging Face's BPE.
    longest_differing, longest_tokens: the same for an export that always takes the longest token.
    """

    pretokens: int
    differing: int
    tokens: int
    other_tokens: int
    longest_differing: int
    longest_tokens: int

    def __str__(self) -> str:
        def loss(name: str, differing: int, tokens: int) -> str:
            more = tokens / self.tokens - 1 if self.tokens else 0
            return (
                f"{name}: {_share(differing, self.pretokens)} get other ids than in event order; "
                f"{plural(tokens, 'token')} instead of {self.tokens:,} ({more:+.3%})"
            )

        by_rank = loss("without events, merged by rank", self.differing, self.other_tokens)
        return f"{by_rank}\n{loss('by longest match', self.longest_differing, self.longest_tokens)}"


def longest_match(vocabulary: Vocabulary) -> Encode:
    """Return a function that encodes a pretoken by the longest match at each position, as Hugging Face's WordPiece does."""
    ids = {token: id for id, token in enumerate(vocabulary.tokens) if token is not None}
    longest = max(map(len, ids), default=0)

    def encode(pretoken: bytes) -> list[int]:
        encoded, start = [], 0
        while start < len(pretoken):
            ends = range(min(len(pretoken), start + longest), start, -1)
            end = next((end for end in ends if pretoken[start:end] in ids), None)
            if end is None:  # the whole pretoken is unknown
                return [] if vocabulary.unknown is None else [vocabulary.unknown]
            encoded.append(ids[pretoken[start:end]])
            start = end
        return encoded

    return encode


@suggests_options
def export_loss(
    tok: Tokenizer,
    sample: Text,
    *,
    read: ReadOptions | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> ExportLoss | None:
    """Measure on `sample` the loss of encoding by rank and by longest match, compared with encoding by events.

    sample: files, folders, globs or word counts (`count_iterator` makes them from texts).
    read: how text files are cut into documents, and which field or column contains the text.
    num_threads: the threads that count the text (None: all cores).
    Returns None for a tokenizer without events, whose exports return the same ids.

    >>> export_loss(tok, "held-out.txt")
    ExportLoss(pretokens=10468, differing=24, tokens=12339, other_tokens=12391,
               longest_differing=31, longest_tokens=12362)
    """
    if tok.vocabulary.order != "events":
        return None
    counts = WordCounts.merge(EvaluationText(sample, num_threads, read).counts(tok, progress))
    present = present_by_rank(tok.vocabulary)
    core, longest, superwords = Tokenizer(present)._core, longest_match(present), tok.vocabulary.has_superwords

    # Pretokens that superwords join are counted as one here; the exports split them.
    def by_longest_match(text: bytes) -> list[int]:
        ends = core.splitter.ends(text) if superwords else [len(text)]
        return [id for start, end in pairwise([0, *ends]) for id in longest(text[start:end])]

    ids, lengths = encode_pretokens(tok, counts, progress)
    losses = []
    for encode in (core.encode_section if superwords else core.encode_pretoken, by_longest_match):
        encoded = [encode(pretoken) for pretoken, _ in counts.items()]
        sizes = np.array([*map(len, encoded)], np.int64)
        same = _same(ids, lengths, np.array([*chain(*encoded)], np.int64), sizes)
        losses += [dot(~same, counts.counts), dot(sizes, counts.counts)]
    differing, *others = losses
    return ExportLoss(int(counts.counts.sum()), differing, dot(lengths, counts.counts), *others)
