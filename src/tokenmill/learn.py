"""Five ways to train BPE in plain Python, each an improvement of the previous one. docs/explanation/training.md is the course.

All produce the same merges: the pair with the highest count first; of equal counts, the smaller (left id, right id). A
pair is merged everywhere in a pretoken, from left to right. Pretokens are lists of ids with their counts.

    >>> from tokenmill.learn import naive, tokens_of
    >>> tokens_of(naive([(list(b"low"), 3), (list(b" lower"), 1)], 2))[256:]
    [b'lo', b'low']

    python -m tokenmill.learn [FILE] [MERGES]     # times each step and the kernel on the same file
"""

from __future__ import annotations

import argparse
import heapq
import sys
import sysconfig
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

Pair = tuple[int, int]
Pretokens = list[tuple[list[int], int]]


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


def best_of(counts: dict[Pair, int]) -> Pair | None:
    """The pair to merge next, found by visiting all pairs."""
    _, pair = min(((-count, pair) for pair, count in counts.items() if count > 0), default=(0, None))
    return pair


def naive(pretokens: Pretokens, merges: int) -> list[Pair]:
    """Recount all pairs for every merge."""
    done: list[Pair] = []
    while len(done) < merges:
        counts: dict[Pair, int] = defaultdict(int)
        for ids, weight in pretokens:
            for pair in pairwise(ids):
                counts[pair] += weight
        best = best_of(counts)
        if best is None:
            break
        pretokens = [(merge_pretoken(ids, best, 256 + len(done)), weight) for ids, weight in pretokens]
        done.append(best)
    return done


def incremental(pretokens: Pretokens, merges: int) -> list[Pair]:
    """Count once. A merge updates the pairs of the pretokens that it changes."""
    words = [ids for ids, _ in pretokens]
    counts: dict[Pair, int] = defaultdict(int)
    for ids, weight in pretokens:
        for pair in pairwise(ids):
            counts[pair] += weight
    done: list[Pair] = []
    while len(done) < merges and (best := best_of(counts)):
        for number, (_, weight) in enumerate(pretokens):
            merged = merge_pretoken(words[number], best, 256 + len(done))
            if len(merged) < len(words[number]):
                for pair in pairwise(words[number]):
                    counts[pair] -= weight
                for pair in pairwise(merged):
                    counts[pair] += weight
                words[number] = merged
        done.append(best)
    return done


def indexed(pretokens: Pretokens, merges: int) -> list[Pair]:
    """Store the pretokens in which each pair may occur. Visit only those."""
    counts, where, words = _count_and_index(pretokens)
    done: list[Pair] = []
    while len(done) < merges and (best := best_of(counts)):
        _merge_where(best, 256 + len(done), pretokens, words, counts, where)
        done.append(best)
    return done


def best_of_heap(heap: list[tuple[int, Pair]], counts: dict[Pair, int]) -> Pair | None:
    """The pair to merge next, from a heap whose entries may be stale.

    A pair whose count fell is still in the heap with its old count. When it
    reaches the top, it must be pushed again with its current count. Dropping
    it would lose the pair, and the merges would go wrong much later.
    """
    while heap:
        count, pair = heapq.heappop(heap)
        if -count == counts[pair] > 0:
            return pair
        if counts[pair] > 0:
            heapq.heappush(heap, (-counts[pair], pair))
    return None


def lazy_heap(pretokens: Pretokens, merges: int) -> list[Pair]:
    """Take the best pair from a heap. Pairs whose count rose are pushed again, so no entry is ever too low."""
    counts, where, words = _count_and_index(pretokens)
    heap = [(-count, pair) for pair, count in counts.items()]
    heapq.heapify(heap)
    done: list[Pair] = []
    while len(done) < merges and (best := best_of_heap(heap, counts)):
        risen = _merge_where(best, 256 + len(done), pretokens, words, counts, where)
        for pair in risen:
            heapq.heappush(heap, (-counts[pair], pair))
        done.append(best)
    return done


def exact_positions(pretokens: Pretokens, merges: int) -> list[Pair]:
    """Store where each pair begins, and update only the tokens next to it.

    All ids are in one array. `previous` and `following` skip positions that
    were merged. A new pair always contains the new token, so the step that
    makes the token finds all positions of the pair. The list of a pair never
    grows afterwards. A position is dead if the pair no longer begins there.
    After that step counts only fall, so a stale heap entry only goes lower.
    """
    ids: list[int] = []
    weights: list[int] = []
    for pretoken, weight in pretokens:
        ids += [*pretoken, -1]  # -1 separates pretokens and is in no pair
        weights += [weight] * (len(pretoken) + 1)
    following = list(range(1, len(ids) + 1))
    previous = list(range(-1, len(ids) - 1))
    counts: dict[Pair, int] = defaultdict(int)
    positions: dict[Pair, list[int]] = defaultdict(list)
    for at in range(len(ids) - 1):
        if ids[at] >= 0 and ids[at + 1] >= 0:
            counts[ids[at], ids[at + 1]] += weights[at]
            positions[ids[at], ids[at + 1]].append(at)
    heap = [(-count, pair) for pair, count in counts.items()]
    heapq.heapify(heap)
    done: list[Pair] = []
    while len(done) < merges and (best := best_of_heap(heap, counts)):
        new = 256 + len(done)
        new_pairs: set[Pair] = set()
        for at in sorted(positions.pop(best)):  # ascending: `aaa` must merge from the left
            right = following[at]
            if ids[at] != best[0] or right >= len(ids) or ids[right] != best[1]:
                continue  # dead: another merge has consumed the pair
            weight, before, after = weights[at], previous[at], following[right]
            ids[at], ids[right] = new, -2
            following[at] = after
            if after < len(ids):
                previous[after] = at
            if before >= 0 and ids[before] >= 0:
                counts[ids[before], best[0]] -= weight
                counts[ids[before], new] += weight
                positions[ids[before], new].append(before)
                new_pairs.add((ids[before], new))
            if after < len(ids) and ids[after] >= 0:
                counts[best[1], ids[after]] -= weight
                counts[new, ids[after]] += weight
                positions[new, ids[after]].append(at)
                new_pairs.add((new, ids[after]))
        counts[best] = 0
        for pair in new_pairs:
            heapq.heappush(heap, (-counts[pair], pair))
        done.append(best)
    return done


STEPS = {step.__name__: step for step in (naive, incremental, indexed, lazy_heap, exact_positions)}


def _count_and_index(pretokens: Pretokens) -> tuple[dict[Pair, int], dict[Pair, set[int]], list[list[int]]]:
    words = [ids for ids, _ in pretokens]
    counts: dict[Pair, int] = defaultdict(int)
    where: dict[Pair, set[int]] = defaultdict(set)
    for number, (ids, weight) in enumerate(pretokens):
        for pair in pairwise(ids):
            counts[pair] += weight
            where[pair].add(number)
    return counts, where, words


def _merge_where(
    best: Pair,
    new: int,
    pretokens: Pretokens,
    words: list[list[int]],
    counts: dict[Pair, int],
    where: dict[Pair, set[int]],
) -> set[Pair]:
    """Merge `best` in the pretokens listed in the index; return the pairs whose counts rose."""
    risen: set[Pair] = set()
    for number in where.pop(best):
        merged = merge_pretoken(words[number], best, new)
        if len(merged) == len(words[number]):
            continue  # a stale entry
        weight = pretokens[number][1]
        for pair in pairwise(words[number]):
            counts[pair] -= weight
        for pair in pairwise(merged):
            counts[pair] += weight
            where[pair].add(number)
            risen.add(pair)
        words[number] = merged
    return risen


def tokens_of(merges: list[Pair]) -> list[bytes]:
    """The tokens of a vocabulary by id: the 256 bytes, then the token of each merge."""
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    return tokens


def main(words: list[str]) -> None:
    """Time each step and the kernel on the pretokens of a file. Raises RuntimeError if two of them give different merges."""
    import tokenmill

    from .errors import TokenmillError

    parser = argparse.ArgumentParser("python -m tokenmill.learn", description="Time each step on a file.")
    topics = Path(sysconfig.get_path("stdlib"), "pydoc_data", "topics.py")
    parser.add_argument("FILE", nargs="?", type=Path, default=topics, help="UTF-8 text; by default topics.py of Python")
    parser.add_argument("MERGES", nargs="?", type=int, default=1000, help="by default 1000")
    path, merges = vars(parser.parse_args(words)).values()
    if merges < 1:
        parser.error(f"MERGES is {merges}; give a whole number from 1 on")
    try:
        counts = tokenmill.count(path)
        path.open().close()  # the error for a folder, which `count` reads
    except (TokenmillError, OSError) as error:
        parser.error(str(error))
    if not counts:
        parser.error(f"{path} is empty")
    size = 256 + merges
    print(f"{path.name}: {counts.total_bytes:,} bytes, {len(counts):,} distinct pretokens")

    def kernel(pretokens: Pretokens, merges: int) -> list[Pair]:
        tok = tokenmill.train_from_counts(counts, size)
        return [(left, right) for left, right, _ in tok.vocabulary.events.tolist()]

    tokenmill.train_from_counts({b"warm": 2}, 257)  # loads NumPy and the kernels before the clock starts
    expected: list[Pair] | None = None
    before = None
    for name, step in {**STEPS, "kernel": kernel}.items():
        pretokens = [(list(pretoken), count) for pretoken, count in counts.items()]
        print(f"{name:16}", end="", flush=True)
        start = time.perf_counter()
        done = step(pretokens, merges)
        seconds = time.perf_counter() - start
        expected = expected or done
        if done != expected:
            raise RuntimeError(f"{name} produces other merges")
        print(f"{seconds:9.4f} s for {len(done):,} merges", end="")
        if before:
            gain = before / seconds
            print(f"  {max(gain, 1 / gain):6.1f}x {'faster' if gain >= 1 else 'slower'} than the step before", end="")
        print(flush=True)
        before = seconds


if __name__ == "__main__":
    main(sys.argv[1:])
