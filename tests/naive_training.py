"""Byte-pair encoding straight from its definitions, plain and Picky, event by event. The tests hold the kernels to it.

    Sennrich, Haddow, Birch: Neural Machine Translation of Rare Words with Subword Units, ACL 2016 (arXiv 1508.07909)
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
    2. In Picky BPE, x1, and then x2, is removed if its IoS reaches T and it is not of the alphabet (the 256 bytes): its
       remaining occurrences are replaced by its parts.
    Training ends after the step at which as many tokens are present as are wanted, or when no pair is left.

Training always ends. Take the numbers of tokens of each length, the longest first. A step makes m >= 1 tokens longer than
any token it takes away, so this list grows in lexicographic order with each step, and it is bounded by the corpus.

Each step reads the whole corpus: on 20 MB of English one merge takes about a second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

Pair = tuple[int, int]
Event = tuple[int, int, int]
Step = Callable[[Event, Pair], object]  # called with each event and its two numbers

_REMOVED = -1  # in an event, where a merge has its right and its new token


def train_naive(
    pretokens: Iterable[tuple[Sequence[int], int]],
    tokens: list[bytes],
    vocab_size: int,
    threshold: float | None = None,
    min_pair_count: int = 1,
    max_token_bytes: int | None = None,
    before: Iterable[Event] = (),
    step: Step | None = None,
) -> tuple[list[Event], list[list[int]]]:
    """The events in order and the pretokens as they are segmented at the end; the new tokens are appended to `tokens`.

    An event is a merge (left id, right id, new id) or a removal (id, -1, -1).
    pretokens: the distinct pretokens as token ids, each with its count.
    tokens: the bytes of the alphabet by id.
    vocab_size: how many tokens must be present. The loop also stops when no pair is left that is seen
        `min_pair_count` times and makes a token of at most `max_token_bytes` bytes.
    threshold: T, taken as the decimal number it is written as; None removes nothing, which is plain BPE.
    before: the events of the training to continue. `tokens` are all its tokens, and `pretokens` are segmented by its
        events. The tokens present at its end are never removed; what it removed may come back.
    step: called after each event with it and two numbers: of a merge, the count of its pair and 0; of a removal, its IoS
        as a / b.

    >>> tokens = [bytes([b]) for b in range(256)]
    >>> train_naive([(b"low", 5), (b"lower", 2), (b"newest", 6)], tokens, 259)[0]
    [(119, 101, 256), (108, 111, 257), (101, 256, 258)]
    >>> tokens[256:]
    [b'we', b'lo', b'ewe']
    >>> train_naive([([0, 1, 2], 9), ([0, 1], 1)], [b"a", b"b", b"c"], 5, 0.9)  # ab comes, goes and comes again
    ([(0, 1, 3), (3, 2, 4), (3, -1, -1), (0, 1, 3)], [[4], [3]])
    """
    corpus = [(list(ids), count) for ids, count in pretokens if count]
    limit = None if threshold is None else Fraction(str(threshold))
    id_of = {token: id for id, token in reversed([*enumerate(tokens)])}
    made_from: dict[int, Pair] = {}
    removed: set[int] = set()
    for left, right, new in before:
        if right == _REMOVED:
            removed.add(left)
        else:
            made_from.setdefault(new, (left, right))
            removed.discard(new)
    fixed = {*range(len(tokens))} - removed  # the alphabet, or what was present
    events: list[Event] = []

    def happened(event: Event, numbers: Pair) -> None:
        events.append(event)
        if step is not None:
            step(event, numbers)

    while len(tokens) - len(removed) < vocab_size:
        pairs = count_pairs(corpus)
        best = best_pair(pairs, tokens, min_pair_count, max_token_bytes)
        if best is None:
            break
        joined = tokens[best[0]] + tokens[best[1]]
        new = id_of.setdefault(joined, len(tokens))
        if new == len(tokens):
            tokens.append(joined)
        made_from.setdefault(new, best)
        removed.discard(new)
        happened((*best, new), (pairs[best], 0))
        before_merge = corpus
        corpus = [(merge_pretoken(ids, best, new), count) for ids, count in corpus]
        if limit is None:
            continue
        f = count_tokens(before_merge)
        m = sum(count * (len(old) - len(ids)) for (old, count), (ids, _) in zip(before_merge, corpus, strict=True))
        uses = 2 * m if best[0] == best[1] else m
        for x in dict.fromkeys(best):
            if x not in fixed and Fraction(uses, f[x]) >= limit:
                parts = take_apart(x, made_from, removed)
                corpus = [(replace(ids, x, parts), count) for ids, count in corpus]
                removed.add(x)
                happened((x, _REMOVED, _REMOVED), (uses, f[x]))
    return events, [ids for ids, _ in corpus]


def count_pairs(corpus: Iterable[tuple[Sequence[int], int]]) -> Counter[Pair]:
    """Return the count of each pair of neighbours in the corpus. Pairs may overlap: b"aaa" holds (a, a) twice.

    >>> count_pairs([(b"aaa", 10)])
    Counter({(97, 97): 20})
    """
    pairs: Counter[Pair] = Counter()
    for ids, count in corpus:
        for pair in pairwise(ids):
            pairs[pair] += count
    return pairs


def best_pair(pairs: Counter[Pair], tokens: list[bytes], least: int, longest: int | None) -> Pair | None:
    """The pair seen most often, of equals the smaller (left id, right id); None if no pair may be merged."""
    allowed = [
        pair
        for pair, count in pairs.items()
        if count >= least and (longest is None or len(tokens[pair[0]]) + len(tokens[pair[1]]) <= longest)
    ]
    return min(allowed, key=lambda pair: (-pairs[pair], pair), default=None)


def merge_pretoken(ids: Sequence[int], pair: Pair, new: int) -> list[int]:
    """`ids` with each `pair`, found from left to right, replaced by `new`."""
    merged: list[int] = []
    i = 0
    while i < len(ids):
        if i + 1 < len(ids) and (ids[i], ids[i + 1]) == pair:
            merged.append(new)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


def count_tokens(corpus: Iterable[tuple[Sequence[int], int]]) -> Counter[int]:
    """f: how often each token occurs in the corpus."""
    f: Counter[int] = Counter()
    for ids, count in corpus:
        for id in ids:
            f[id] += count
    return f


def take_apart(id: int, made_from: dict[int, Pair], removed: set[int]) -> list[int]:
    """The parts of `id`: the pair it was first made from, each taken apart further while it is itself removed."""
    parts = []
    for part in made_from[id]:
        parts += take_apart(part, made_from, removed) if part in removed else [part]
    return parts


def replace(ids: Sequence[int], id: int, parts: list[int]) -> list[int]:
    """`ids` with each occurrence of `id` replaced by `parts`."""
    return [x for old in ids for x in (parts if old == id else [old])]
