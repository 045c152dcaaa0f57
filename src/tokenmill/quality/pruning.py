"""Make a vocabulary smaller: `prune` removes tokens, `shrink` keeps those of a text or of scripts.

Every remaining token can still be built. A token needs the parts of its merges, and those need theirs. So a token that should
be removed stays if a remaining token needs it. A vocabulary of events is an exception: it can make a removed token as a part
of another one and remove it in a later event. The remaining ids become consecutive in their old order, which keeps the order
of the ranks. `id_map` lists the rows of an embedding table to keep.

With a threshold T, removals are inserted into the merges of a plain vocabulary, which are replayed on word counts. Picky BPE,
in contrast, removes tokens while it trains.

    A token is *used up* by a merge if its IoS there (see `replay`) is at least T, before the removals of that merge.
    The token is removed after the last merge that has it as a part, if one of its merges used it up. Its remaining
    occurrences are replaced by its parts, as in Picky BPE.
    The alphabet, the unknown token and the added tokens stay.

So every other token is still made. Removing a token directly after the merge that used it up, as training does, would make
the tokens of its later merges impossible (docs/experiments/picky.md compares the two).

A text that uses only tokens that stay keeps its segmentation: if a removed token occurred in it at its removal, the token would
be among the old ids, because no later merge has it as a part.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ..counting import WordCounts
from ..counting.weights import scaled
from ..errors import OptionName, UsageError, suggests_options
from ..formats.rank_merges import merges_of_ranks
from ..jobs.progress import Progress, drawn
from ..sources.blocks import ReadOptions
from ..tokenizer import Tokenizer
from ..vocabulary import Vocabulary
from ..vocabulary.surgery import all_ids, renumber, with_removals
from .evaluation_text import EvaluationText, Text
from .replay import Replay, alphabet_of, events_of, parts_by_token
from .replay import replay as replay_events
from .usage import one_pretoken, ordinary_tokens, texts_of_tokens

if TYPE_CHECKING:
    import regex

    from .certificate import Certificate


@dataclass(frozen=True, eq=False)
class Changed:
    """A tokenizer made from another one, with its removed and its new tokens.

    tok: the new tokenizer.
    id_map: int32 (n_vocab,), the new id of each old one; -1 for a removed or replaced token.
    dropped: the number of removed or replaced tokens.
    needed: the old ids that should have been removed, but that remaining tokens are built from; with `shrink` also those of the
        alphabet.
    new_rows: of `replace`, for each new id the old ids that the bytes of its token are encoded to. The mean of their rows in an
        embedding table can initialize the new row.
    certificate: of a job that removed or replaced tokens.
    """

    tok: Tokenizer
    id_map: np.ndarray = field(repr=False)
    dropped: int = 0
    needed: list[int] = field(default_factory=list, repr=False)
    new_rows: dict[int, list[int]] = field(default_factory=dict, repr=False)
    certificate: Certificate | None = None


@suggests_options
def prune(
    tok: Tokenizer,
    *,
    ids: Iterable[int] | None = None,
    ios: float | None = None,
    counts: Text | EvaluationText | None = None,
    read: ReadOptions | None = None,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Changed:
    """Remove tokens from a vocabulary: those given by id, or those with a high IoS.

    ids: the tokens to remove. Added tokens can be removed, the alphabet (the single bytes) cannot.
    ios, counts: remove the tokens of a plain vocabulary whose IoS reaches this threshold when its merges are replayed on
        `counts` (files, folders, globs or word counts). The result encodes by events.
    read: how text files are cut into documents, and which field or column contains the text.

    >>> smaller = prune(tok, ios=0.9, counts="corpus/*.txt")
    >>> smaller.tok.n_vocab, smaller.id_map[300]
    (31640, 291)
    """
    if (ids is None) == (ios is None) or (ios is None) != (counts is None):
        raise UsageError("give either ids, or ios with counts, to say which tokens to remove")
    if ids is None:
        if not isinstance(ios, int | float) or isinstance(ios, bool) or not 0 < ios <= 1:
            raise UsageError(OptionName("ios"), f" is {ios!r}; it is a share, above 0 and at most 1")
        text = EvaluationText.of(counts, num_threads, read)  # type: ignore[arg-type]
        lasting_tokens(tok.vocabulary)  # raises for what cannot lose tokens
        if tok.vocabulary.order == "events":
            raise UsageError(OptionName("ios"), " is for plain tokenizers; this one encodes by events already")
        ordered = in_event_order(tok, "Give the tokens to remove by id instead.")
        with drawn(progress) as show:
            cleaned = insert_removals(ordered.vocabulary, text.merged_counts(tok, show), ios, show)
        return _pruned(tok, cleaned, (), [])
    removed = set(ids)
    if unknown := sorted(removed - all_ids(tok.vocabulary)):
        raise UsageError(f"{unknown[0]} is not an id of this vocabulary")
    if lasting := sorted(removed & lasting_tokens(tok.vocabulary)):
        token = tok.vocabulary.tokens[lasting[0]]
        raise UsageError(f"token {lasting[0]} is {token!r}, a part of the alphabet, and cannot be removed")
    return _without(tok, removed)


@suggests_options
def shrink(
    tok: Tokenizer,
    *,
    text: Text | EvaluationText | None = None,
    scripts: Sequence[str] = (),
    min_uses: int = 1,
    read: ReadOptions | None = None,
    num_threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Changed:
    """Cut a vocabulary to the tokens that a text uses, to those of some scripts, or to both.

    text: files, folders, globs or word counts. Tokens that this text uses `min_uses` times or more stay. With min_uses=1 the
        text keeps its segmentation, only the ids change.
    scripts: names or codes of Unicode scripts, such as "Latin" or "Cyrl". Tokens stay if all their letters are of these
        scripts, or if they have no letters. Tokens that begin or end inside a character do not.
    read: how text files are cut into documents, and which field or column contains the text.
    Added tokens stay, and so do the alphabet and all that remaining tokens are built from.

    >>> smaller = shrink(tok, text="corpus/*.txt", scripts=["Latin"])
    >>> smaller.tok.n_vocab, smaller.id_map[300]
    (24117, 281)
    """
    if min_uses < 1:
        raise UsageError(f"min_uses is {min_uses!r}; give a number of uses, 1 or more")
    if text is None and not scripts:
        raise UsageError("give a text, scripts, or both to say which tokens to keep")
    if isinstance(scripts, str):
        raise UsageError(f"scripts is the text {scripts!r}; give a list of names")
    kept, lasting = set[int](), lasting_tokens(tok.vocabulary)
    if scripts:  # tokens of whole characters
        letters = letters_of(scripts)
        kept = {id for id, text in texts_of_tokens(tok.vocabulary).items() if letters.fullmatch(text)}
    merged: set[int] = set()
    if text is not None:
        domains = EvaluationText.of(text, num_threads, read)
        with drawn(progress) as show:
            uses = domains.usage(tok, show).by_id
            kept |= {*np.flatnonzero(uses >= scaled(min_uses, domains.scale)).tolist()}
            # To keep the segmentation, all tokens stay that a merge makes on this text. Events may make and remove them.
            if min_uses == 1 and tok.vocabulary.order != "events":
                result = replay_events(tok.vocabulary, domains.merged_counts(tok), show)
                merged = {*result.events[(result.happened > 0) & (result.events[:, 1] >= 0), 2].tolist()}
    staying = kept.union(tok.vocabulary.decoded_bytes, lasting)
    smaller = _without(tok, all_ids(tok.vocabulary) - staying, merged)
    alphabet = staying & ordinary_tokens(tok.vocabulary).keys() - kept
    return dataclasses.replace(smaller, needed=sorted(alphabet.union(smaller.needed)))


def can_lose_tokens(vocabulary: Vocabulary) -> bool:
    """Return whether `prune`, `shrink` and `replace` accept this vocabulary."""
    return vocabulary.library is None and not vocabulary.has_superwords


def lasting_tokens(vocabulary: Vocabulary) -> set[int]:
    """Return the tokens that cannot be removed: the alphabet and the unknown token. Raises UsageError if no token can be."""
    if vocabulary.library is not None:
        raise UsageError("tokens can be removed from byte-pair vocabularies only; this one is of order 'library'")
    if vocabulary.has_superwords:
        raise UsageError("tokens cannot be removed from a vocabulary with superwords of whole pretokens (BoundlessBPE)")
    alphabet = alphabet_of(vocabulary, events_of(vocabulary))
    lasting = {id for id in alphabet if vocabulary.alphabet == "characters" or len(vocabulary.tokens[id] or b"") == 1}
    return lasting if vocabulary.unknown is None else lasting | {vocabulary.unknown}


def parts_of(vocabulary: Vocabulary, tokens: set[int]) -> set[int]:
    """Return all tokens that the given tokens are merged from, directly or indirectly."""
    parts = parts_by_token(vocabulary)
    needed: set[int] = set()
    queue = list(tokens)
    while queue:
        new = parts.get(queue.pop(), set()) - needed
        needed |= new
        queue += new
    return needed


def _without(tok: Tokenizer, removed: set[int], kept: Iterable[int] = ()) -> Changed:
    """Return `tok` without the tokens `removed`, except those that remaining tokens need and those of `kept`."""
    vocabulary = tok.vocabulary
    if vocabulary.order == "events":
        return _pruned(tok, with_removals(vocabulary, removed & ordinary_tokens(vocabulary).keys()), removed, [])
    staying = (all_ids(vocabulary) - removed).union(kept)
    needed = sorted((parts_of(vocabulary, staying).union(kept)) & removed)
    return _pruned(tok, vocabulary, removed.difference(needed), needed)


def _pruned(tok: Tokenizer, vocabulary: Vocabulary, dropped: Collection[int], needed: list[int]) -> Changed:
    """Return `tok` with a changed vocabulary, without the ids `dropped`. New ids: present tokens first, then removed ones."""
    kept = [*sorted(all_ids(vocabulary) - vocabulary.removed - {*dropped}), *sorted(vocabulary.removed)]
    id_map = np.full(1 + max(all_ids(vocabulary), default=-1), -1, np.int32)
    id_map[kept] = np.arange(len(kept), dtype=np.int32)
    smaller = Tokenizer(renumber(vocabulary, id_map), name=tok.name)
    id_map[list(vocabulary.removed)] = -1
    id_map = id_map[: tok.n_vocab]
    old_ids = ordinary_tokens(tok.vocabulary).keys() | tok.vocabulary.decoded_bytes.keys()
    return Changed(smaller, id_map, int((id_map[sorted(old_ids)] < 0).sum()), needed)


def letters_of(scripts: Sequence[str]) -> regex.Pattern[str]:
    """Return the pattern of text without letters of other scripts. Raises UsageError for a script that Unicode does not have."""
    import regex

    for script in scripts:
        try:
            regex.compile(rf"\p{{Script={script or '-'}}}")  # regex accepts an empty name
        except regex.error:
            raise UsageError(f"{script!r} is not a Unicode script; name one, such as Latin") from None
    properties = "".join(rf"\p{{Script={script}}}" for script in scripts)
    return regex.compile(rf"[\P{{L}}{properties}]*")


def insert_removals(
    vocabulary: Vocabulary, counts: WordCounts, threshold: float, progress: Progress | None = None
) -> Vocabulary:
    """Return `vocabulary`, of merges in event order, with the removals that are due on `counts`. Its ids stay the same.

    threshold: T, above 0 and at most 1, read as a decimal number.

    All removals that are due in a replay are inserted at once, and the result is replayed, until nothing changes. The removals
    due at a merge follow from the events before it, so each round settles at least one more; a few rounds are usually enough.
    """
    merges, limit = vocabulary.events, Fraction(str(threshold))
    lasting = alphabet_of(vocabulary, merges) | {token.id for token in vocabulary.added_tokens} | {vocabulary.unknown}
    has_counts = len(vocabulary.event_counts) > 0
    removals = np.zeros((0, 4), np.int64)
    while True:
        rows = np.full((len(removals), 3), -1, np.int32)
        rows[:, 0] = removals[:, 1]
        after, numbers = removals[:, 0] + 1, removals[:, 2:].astype(np.uint64)
        cleaned = vocabulary.replace(
            events=np.insert(merges, after, rows, axis=0),
            event_counts=np.insert(vocabulary.event_counts, after, numbers, axis=0) if has_counts else (),
            refine=threshold,
        )
        due = _due(replay_events(cleaned, counts, progress), limit, lasting)
        if np.array_equal(due, removals):
            return cleaned
        removals = due


def _due(replayed: Replay, limit: Fraction, lasting: frozenset[int | None]) -> np.ndarray:
    """Return the removals that are due in a replay, in order; of one merge, the left part before the right.

    A row (int64): the merge after which the token is removed, the token, and the two numbers of its IoS where it was used up.
    """
    is_merge = replayed.events[:, 1] >= 0
    columns = (replayed.events, replayed.happened, replayed.left, replayed.right)
    events, happened, left, right = (column[is_merge] for column in columns)
    last_merge = {part: rank for rank, row in enumerate(events.tolist()) for part in row[:2]}
    likely = (happened > 0) & (2.0 * happened >= 0.99 * float(limit) * np.minimum(left, right))
    used_up: dict[int, tuple[int, int]] = {}
    for rank in np.flatnonzero(likely).tolist():
        first, second, _ = events[rank].tolist()
        merged = int(happened[rank]) * (1 + (first == second))
        for id, before in ((first, int(left[rank])), (second, int(right[rank]))):
            if id not in lasting and id not in used_up and merged * limit.denominator >= before * limit.numerator:
                used_up[id] = merged, before
    due = [(last_merge[id], id, *numbers) for id, numbers in used_up.items()]
    due.sort(key=lambda row: (row[0], row[1] != events[row[0], 0]))
    return np.array(due, np.int64).reshape(-1, 4)


def in_event_order(tok: Tokenizer, *advice: object) -> Tokenizer:
    """Return a plain tokenizer in event order, with the same ids. Raises UsageError with `advice` if the ids would differ.

    If each merge comes after the merges that make its parts, and each token is made once, then no merge makes an earlier
    one possible again. The earliest merge that applies is then always a later one, as in event order.
    """
    vocabulary, refusal = tok.vocabulary, "removals cannot be inserted into the merges of this tokenizer: "
    if vocabulary.dropped or vocabulary.byte_patterns:
        raise UsageError(f"{refusal}it drops white space, or cuts the bytes of pretokens. ", *advice)
    merges, stray = vocabulary.events, _out_of_order(vocabulary)
    if vocabulary.order == "ranks":
        merges, unbuilt = merges_of_ranks(vocabulary.tokens)
        stray = unbuilt[0] if unbuilt else None
    if stray is None:
        ordered = Tokenizer(vocabulary.replace(order="events", events=merges, whole_pretokens=False), name=tok.name)
        if not vocabulary.whole_pretokens:
            return ordered
        encode = one_pretoken(ordered.vocabulary).encode_bytes
        stray = next((id for id, token in ordinary_tokens(tok.vocabulary).items() if encode(token) != [id]), None)
        if stray is None:
            return ordered
    raise UsageError(
        f"{refusal}replaying them in order does not give token {stray}, {vocabulary.tokens[stray]!r}. ",
        *advice,
    )


def _out_of_order(vocabulary: Vocabulary) -> int | None:
    """Return the first token that is made twice, or made after a merge has used it; None if there is none."""
    seen: set[int] = set()
    for left, right, new in vocabulary.events.tolist():
        seen.update((left, right))
        if new in seen:
            return new
        seen.add(new)
    return None
