"""The textbook loop of byte-pair encoding, short enough to check by reading. The tests hold the fast trainer to it.

    Sennrich, Haddow, Birch: Neural Machine Translation of Rare Words with Subword Units, ACL 2016 (arXiv 1508.07909)

Count every pair of neighbours, merge the most frequent one everywhere, and repeat. Each step reads the whole corpus: on 20 MB
of English one merge takes about a second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

Pair = tuple[int, int]
Step = Callable[[tuple[int, int, int], tuple[int, int]], object]  # called with each event and its two numbers


def train_naive(
    pretokens: Iterable[tuple[Sequence[int], int]],
    tokens: list[bytes],
    vocab_size: int,
    min_pair_count: int = 1,
    max_token_bytes: int | None = None,
    step: Step | None = None,
) -> list[tuple[int, int, int]]:
    """The merges (left id, right id, new id) in order; the new tokens are appended to `tokens`.

    pretokens: the distinct pretokens as token ids, each with its count.
    tokens: the bytes of the tokens to begin with, by id.
    vocab_size: stop when there are as many tokens. The loop also stops when no pair is left that is seen
        `min_pair_count` times and makes a token of at most `max_token_bytes` bytes.
    step: called after each merge with it and the count of its pair, 0.

    >>> tokens = [bytes([b]) for b in range(256)]
    >>> train_naive([(b"low", 5), (b"lower", 2), (b"newest", 6)], tokens, 259)
    [(119, 101, 256), (108, 111, 257), (101, 256, 258)]
    >>> tokens[256:]
    [b'we', b'lo', b'ewe']
    """
    pretokens = [(list(ids), count) for ids, count in pretokens if count]
    id_of = {token: id for id, token in reversed([*enumerate(tokens)])}
    merges = []
    while len(tokens) < vocab_size:
        pairs = count_pairs(pretokens)
        best = best_pair(pairs, tokens, min_pair_count, max_token_bytes)
        if best is None:
            break
        joined = tokens[best[0]] + tokens[best[1]]
        new = id_of.setdefault(joined, len(tokens))  # bytes that are a token already keep their id
        if new == len(tokens):
            tokens.append(joined)
        merges.append((*best, new))
        pretokens = [(merge_pretoken(ids, best, new), count) for ids, count in pretokens]
        if step is not None:
            step(merges[-1], (pairs[best], 0))
    return merges


def count_pairs(pretokens: Iterable[tuple[Sequence[int], int]]) -> Counter[Pair]:
    """How often each pair of neighbours occurs in the corpus. Pairs may overlap: b"aaa" holds (a, a) twice.

    >>> count_pairs([(b"aaa", 10)])
    Counter({(97, 97): 20})
    """
    pairs: Counter[Pair] = Counter()
    for ids, count in pretokens:
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
    """`ids` with each occurrence of `pair` replaced by `new`, from left to right, without overlaps.

    >>> merge_pretoken([1, 1, 1, 2], (1, 1), 3)
    [3, 1, 2]
    """
    merged = []
    i = 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            merged.append(new)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged
