"""Picky BPE straight from its definitions, event by event. The tests hold the kernel to it.

    Chizhov, Arnett, Korotkova, Yamshchikov: BPE Gets Picky: Efficient Vocabulary Refinement During Tokenizer
    Training, EMNLP 2024 (arXiv 2409.04599); here on bytes

Definitions
    f(t)       occurrences of the token t in the corpus as it is segmented now, each counted as often as its pretoken
    m          how many times the merge of a pair happens: from left to right, without overlaps
    IoS        intersection over self. Of x1 in the merge of (x1, x2): m / f(x1); of x2: m / f(x2); where x1 = x2, each
               merge uses two: 2 m / f(x1). f is taken before the merge.
    parts      of a token: the pair it was first made from, each taken apart further while it is itself removed
    present    a token that exists and is not removed now

One step
    1. The best pair (the highest count, then the smaller left id, then the smaller right id) is merged everywhere.
       The result is the token with the joined bytes: a present one, which gains a merge and takes no slot; a removed
       one, which comes back under its old id (its second chance); or a new one.
    2. x1, and then x2, is removed if its IoS reaches T and it is not of the alphabet (the 256 bytes): its remaining
       occurrences are replaced by its parts.
    Training ends after the step at which as many tokens are present as are wanted, or when no pair is left.

Training always ends. Take the numbers of tokens of each length, the longest first. A step makes m >= 1 tokens longer than
any token it takes away, so this list grows in lexicographic order with each step, and it is bounded by the corpus.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction

from .naive import Step, best_pair, count_pairs, merge_pretoken

_REMOVED = -1  # in an event, where a merge has its right and its new token


def train_naive_picky(
    pretokens: Iterable[tuple[Sequence[int], int]],
    tokens: list[bytes],
    vocab_size: int,
    threshold: float | None,
    min_pair_count: int = 1,
    max_token_bytes: int | None = None,
    before: Iterable[tuple[int, int, int]] = (),
    step: Step | None = None,
) -> tuple[list[tuple[int, int, int]], list[list[int]]]:
    """The events in order and the pretokens as they are segmented at the end; the new tokens are appended to `tokens`.

    An event is a merge (left id, right id, new id) or a removal (id, -1, -1).
    pretokens: the distinct pretokens as token ids, each with its count.
    tokens: the bytes of the alphabet by id.
    vocab_size: how many tokens must be present. The loop also stops when no pair is left that is seen
        `min_pair_count` times and makes a token of at most `max_token_bytes` bytes.
    before: the events of the training to continue. `tokens` are all its tokens, and `pretokens` are segmented by its
        events. The tokens present at its end are never removed; what it removed may come back.
    step: called after each event with it and two numbers: of a merge, the count of its pair and 0; of a removal, its IoS
        as a / b.
    threshold: T, taken as the decimal number it is written as; None removes nothing, which is plain BPE.

    >>> tokens = [b"a", b"b", b"c"]
    >>> train_naive_picky([([0, 1, 2], 9), ([0, 1], 1)], tokens, 5, 0.9)  # ab comes, goes and comes again
    ([(0, 1, 3), (3, 2, 4), (3, -1, -1), (0, 1, 3)], [[4], [3]])
    """
    pretokens = [(list(ids), count) for ids, count in pretokens if count]
    limit = None if threshold is None else Fraction(str(threshold))
    id_of = {token: id for id, token in enumerate(tokens)}
    made_from: dict[int, tuple[int, int]] = {}
    removed: set[int] = set()
    for left, right, new in before:
        if right == _REMOVED:
            removed.add(left)
        else:
            made_from.setdefault(new, (left, right))
            removed.discard(new)
    fixed = {*range(len(tokens))} - removed  # the alphabet, or what was present
    events: list[tuple[int, int, int]] = []
    while len(tokens) - len(removed) < vocab_size:
        pairs = count_pairs(pretokens)
        best = best_pair(pairs, tokens, min_pair_count, max_token_bytes)
        if best is None:
            break
        f = count_tokens(pretokens)

        joined = tokens[best[0]] + tokens[best[1]]
        new = id_of.setdefault(joined, len(tokens))
        if new == len(tokens):
            tokens.append(joined)
        made_from.setdefault(new, best)
        removed.discard(new)
        events.append((*best, new))
        if step is not None:
            step(events[-1], (pairs[best], 0))
        merged = [(merge_pretoken(ids, best, new), count) for ids, count in pretokens]
        m = sum(
            count * (len(before) - len(after)) for (before, count), (after, _) in zip(pretokens, merged, strict=True)
        )
        pretokens = merged

        uses = 2 if best[0] == best[1] else 1
        for x in dict.fromkeys(best):
            if limit is not None and x not in fixed and Fraction(uses * m, f[x]) >= limit:
                parts = take_apart(x, made_from, removed)
                pretokens = [(replace(ids, x, parts), count) for ids, count in pretokens]
                removed.add(x)
                events.append((x, _REMOVED, _REMOVED))
                if step is not None:
                    step(events[-1], (uses * m, f[x]))
    return events, [list(ids) for ids, _ in pretokens]


def count_tokens(pretokens: Iterable[tuple[Sequence[int], int]]) -> Counter[int]:
    """f: how often each token occurs in the corpus."""
    f: Counter[int] = Counter()
    for ids, count in pretokens:
        for id in ids:
            f[id] += count
    return f


def take_apart(id: int, made_from: dict[int, tuple[int, int]], removed: set[int]) -> list[int]:
    """The parts of `id`: the pair it was first made from, each taken apart further while it is itself removed."""
    parts = []
    for part in made_from[id]:
        parts += take_apart(part, made_from, removed) if part in removed else [part]
    return parts


def replace(ids: Sequence[int], id: int, parts: list[int]) -> list[int]:
    """`ids` with each occurrence of `id` replaced by `parts`."""
    return [x for old in ids for x in (parts if old == id else [old])]
