"""Make a vocabulary smaller: `prune` removes tokens, `shrink` keeps those of a text or of scripts.

Every remaining token can still be built. A token needs the parts of its merges, and those need theirs. So a token that should
be removed stays if a remaining token needs it. A vocabulary of events is an exception: its removed tokens are made on the way
to other tokens and removed by a later event. The remaining ids become consecutive in their old
order, which keeps the order of the ranks. `id_map` says which rows of an embedding table to keep.

With a threshold, removals are inserted into the merges of a plain vocabulary, where the IoS of a token passes it. Picky BPE
removes tokens while it trains. Here the merges are given: they are replayed on word counts, and none is added.

    A token is *used up* by a merge if its IoS there (see `replay`) is at least T, before the removals of that merge.
    The token is removed after the last merge that has it as a part, if any of its merges up to there used it up. What
    remains of it is replaced by its parts, as in Picky BPE.
    The alphabet, the unknown token and the added tokens stay.

So every other token is still made. To remove a token directly after the merge that used it up, as training does, would make
the tokens of its later merges impossible (docs/experiments/picky.md compares the two).

A text whose old ids are all of tokens that stay keeps its segmentation: a token that is removed would be among these ids if it
occurred in the text when it is removed, because no later merge takes it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ..counting import WordCounts
from ..errors import OptionName, UsageError, suggests_options
from ..formats.rank_merges import merges_of_ranks
from ..jobs.progress import Progress, drawn
from ..sources.blocks import ReadOptions
from ..tokenizer import Tokenizer
from ..vocabulary import Vocabulary
from ..vocabulary.surgery import all_ids, renumber, with_removals
from .evaluation_text import EvaluationText, Text
from .metrics import one_pretoken, ordinary_tokens, texts_of_tokens
from .replay import Replay, alphabet_of, events_of, parts_by_token
from .replay import replay as replay_events

if TYPE_CHECKING:
    import regex

    from .certificate import Certificate


@dataclass(frozen=True, eq=False)
class Changed:
    """A tokenizer made from another one, with the tokens that went and those that came.

    tok: the new tokenizer.
    id_map: int32, for the `n_vocab` old ids the new id; -1 for a removed or replaced token.
    dropped: the number of removed or replaced tokens.
    needed: the old ids that should have been removed, but that remaining tokens are built from; with `shrink` also those of the
        alphabet.
    new_rows: of `replace`, for each new token, by id, the old ids that its bytes are encoded to. The mean of their rows in an
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
            cleaned = insert_removals(ordered.vocabulary, text.together(tok, show), ios, show)
        return _pruned(tok, cleaned, (), [])
    removing = set(ids)
    if strangers := sorted(removing - all_ids(tok.vocabulary)):
        raise UsageError(f"{strangers[0]} is not an id of this vocabulary")
    if fixed := sorted(removing & lasting_tokens(tok.vocabulary)):
        token = tok.vocabulary.tokens[fixed[0]]
        raise UsageError(f"token {fixed[0]} is {token!r}, a part of the alphabet, and cannot be removed")
    return _without(tok, removing)


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
    """Cut a vocabulary to the tokens that a text uses, to those of some scripts, or to both together.

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
    keeping, lasting = set[int](), lasting_tokens(tok.vocabulary)
    if scripts:  # tokens of whole characters
        letters = letters_of(scripts)
        keeping = {id for id, text in texts_of_tokens(tok.vocabulary).items() if letters.fullmatch(text)}
    made: set[int] = set()
    if text is not None:
        domains = EvaluationText.of(text, num_threads, read)
        with drawn(progress) as show:
            uses = domains.usage(tok, show).by_id
            keeping |= {*np.flatnonzero(uses >= min_uses).tolist()}
            # To keep the segmentation, all tokens stay that a merge makes on this text. Events may make and remove them.
            if min_uses == 1 and tok.vocabulary.order != "events":
                result = replay_events(tok.vocabulary, domains.together(tok), show)
                made = {*result.events[(result.happened > 0) & (result.events[:, 1] >= 0), 2].tolist()}
    staying = keeping.union(tok.vocabulary.decoded_bytes, lasting)
    smaller = _without(tok, all_ids(tok.vocabulary) - staying, made)
    alphabet = staying & ordinary_tokens(tok.vocabulary).keys() - keeping
    return dataclasses.replace(smaller, needed=sorted(alphabet.union(smaller.needed)))


def can_lose_tokens(vocabulary: Vocabulary) -> bool:
    """Whether `prune`, `shrink` and `replace` take this vocabulary."""
    return vocabulary.library is None and not vocabulary.has_superwords


def lasting_tokens(vocabulary: Vocabulary) -> set[int]:
    """The tokens that cannot be removed: the alphabet and the unknown token."""
    if vocabulary.library is not None:
        raise UsageError("tokens can be removed from byte-pair vocabularies only; this one is of order 'library'")
    if vocabulary.has_superwords:
        raise UsageError("tokens cannot be removed from a vocabulary with superwords of whole pretokens (BoundlessBPE)")
    unmade = alphabet_of(vocabulary, events_of(vocabulary))
    fixed = {id for id in unmade if vocabulary.alphabet == "characters" or len(vocabulary.tokens[id] or b"") == 1}
    return fixed if vocabulary.unknown is None else fixed | {vocabulary.unknown}


def parts_of(vocabulary: Vocabulary, staying: set[int]) -> set[int]:
    """All tokens that the tokens in `staying` are merged from, directly or indirectly."""
    parts = parts_by_token(vocabulary)
    found: set[int] = set()
    todo = list(staying)
    while todo:
        for part in parts.get(todo.pop(), ()):
            if part not in found:
                found.add(part)
                todo.append(part)
    return found


def _without(tok: Tokenizer, removing: set[int], made: Iterable[int] = ()) -> Changed:
    """`tok` without the tokens `removing`, apart from those that others need and those of `made`."""
    vocabulary = tok.vocabulary
    if vocabulary.order == "events":
        return _pruned(tok, with_removals(vocabulary, removing & ordinary_tokens(vocabulary).keys()), removing, [])
    staying = (all_ids(vocabulary) - removing).union(made)
    needed = sorted((parts_of(vocabulary, staying).union(made)) & removing)
    return _pruned(tok, vocabulary, removing.difference(needed), needed)


def _pruned(tok: Tokenizer, vocabulary: Vocabulary, gone: Collection[int], needed: list[int]) -> Changed:
    """The tokenizer `tok` with a changed vocabulary, without the ids `gone` and renumbered: present tokens first, then removed ones."""
    kept = [*sorted(all_ids(vocabulary) - vocabulary.removed - {*gone}), *sorted(vocabulary.removed)]
    id_map = np.full(1 + max(all_ids(vocabulary), default=-1), -1, np.int32)
    id_map[kept] = np.arange(len(kept), dtype=np.int32)
    smaller = Tokenizer(renumber(vocabulary, id_map), name=tok.name)
    id_map[list(vocabulary.removed)] = -1
    id_map = id_map[: tok.n_vocab]
    given = ordinary_tokens(tok.vocabulary).keys() | tok.vocabulary.decoded_bytes.keys()
    return Changed(smaller, id_map, int((id_map[sorted(given)] < 0).sum()), needed)


def letters_of(scripts: Sequence[str]) -> regex.Pattern[str]:
    """The pattern of text without a letter of any other script. UsageError for a script that Unicode does not have."""
    import regex

    for script in scripts:
        try:
            regex.compile(rf"\p{{Script={script or '-'}}}")  # it takes an empty name
        except regex.error:
            raise UsageError(f"{script!r} is not a Unicode script; name one, such as Latin") from None
    inside = "".join(rf"\p{{Script={script}}}" for script in scripts)
    return regex.compile(rf"[\P{{L}}{inside}]*")


def insert_removals(
    vocabulary: Vocabulary, counts: WordCounts, threshold: float, progress: Progress | None = None
) -> Vocabulary:
    """`vocabulary`, of merges in event order, with its ids and the removals that are due on `counts`.

    threshold: T, above 0 and at most 1, taken as the decimal number it is written as.

    All removals that are due in a replay are inserted at once, and the result is replayed, until nothing changes. What is due
    at a merge follows from the events before it, so each round settles at least one more removal; a few rounds are
    usually enough.
    """
    merges, limit = vocabulary.events, Fraction(str(threshold))
    lasting = alphabet_of(vocabulary, merges) | {token.id for token in vocabulary.added_tokens} | {vocabulary.unknown}
    known = len(vocabulary.event_counts) == len(merges) > 0
    removals = np.zeros((0, 4), np.int64)
    while True:
        gone = np.full((len(removals), 3), -1, np.int32)
        gone[:, 0] = removals[:, 1]
        after, numbers = removals[:, 0] + 1, removals[:, 2:].astype(np.uint64)
        found = vocabulary.replace(
            events=np.insert(merges, after, gone, axis=0),
            event_counts=np.insert(vocabulary.event_counts, after, numbers, axis=0) if known else (),
            refine=threshold,
        )
        due = _due(replay_events(found, counts, progress), limit, lasting)
        if np.array_equal(due, removals):
            return found
        removals = due


def _due(found: Replay, limit: Fraction, lasting: frozenset[int | None]) -> np.ndarray:
    """int64 rows, the removals that are due according to a replay, in order; of one merge, the left part before the right.

    A row: the merge after which the token goes, the token, and its IoS in the merge that used it up as two numbers.
    """
    merge = found.events[:, 1] >= 0
    events, happened, left, right = (part[merge] for part in (found.events, found.happened, found.left, found.right))
    last = {part: place for place, row in enumerate(events.tolist()) for part in row[:2]}
    likely = (happened > 0) & (2.0 * happened >= 0.99 * float(limit) * np.minimum(left, right))
    used_up: dict[int, tuple[int, int]] = {}
    for place in np.flatnonzero(likely).tolist():
        first, second, _ = events[place].tolist()
        part = int(happened[place]) * (1 + (first == second))
        for id, whole in ((first, int(left[place])), (second, int(right[place]))):
            if id not in lasting and id not in used_up and part * limit.denominator >= whole * limit.numerator:
                used_up[id] = part, whole
    due = [(last[id], id, *numbers) for id, numbers in used_up.items()]
    due.sort(key=lambda row: (row[0], row[1] != events[row[0], 0]))
    return np.array(due, np.int64).reshape(-1, 4)


def in_event_order(tok: Tokenizer, *instead: object) -> Tokenizer:
    """A plain tokenizer in event order, with the same ids; UsageError if the ids would differ.

    If each merge comes after the merges that make its parts, and each token is made once, then no merge makes an earlier
    one possible again. The earliest merge that applies is then always a later one, as in event order.

    instead: what to do without it, for the message.
    """
    vocabulary = tok.vocabulary
    merges, stray = vocabulary.events, _out_of_order(vocabulary)
    if vocabulary.order == "ranks":
        merges, unbuilt = merges_of_ranks(vocabulary.tokens)
        stray = unbuilt[0] if unbuilt else None
    if stray is None:
        found = Tokenizer(vocabulary.replace(order="events", events=merges, whole_pretokens=False), name=tok.name)
        if not vocabulary.whole_pretokens:
            return found
        encode = one_pretoken(found.vocabulary).encode_bytes
        stray = next((id for id, token in ordinary_tokens(tok.vocabulary).items() if encode(token) != [id]), None)
        if stray is None:
            return found
    raise UsageError(
        f"removals cannot be inserted into the merges of this tokenizer: replaying them in order does not give token {stray}, "
        f"{vocabulary.tokens[stray]!r}. ",
        *instead,
    )


def _out_of_order(vocabulary: Vocabulary) -> int | None:
    """The first token that is made twice, or made after a merge has used it; None if there is none."""
    made: set[int] = set()
    parts: set[int] = set()
    for left, right, new in vocabulary.events.tolist():
        parts.update((left, right))
        if new in made or new in parts:
            return new
        made.add(new)
    return None
