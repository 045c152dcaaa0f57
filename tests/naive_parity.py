"""Parity-aware BPE straight from its definition, step by step. The tests hold the trainer to it.

    Foroutan et al.: Parity-Aware Byte-Pair Encoding, 2025 (arXiv 2508.04796)

It shares no code with the trainer: segmented words are tuples of bytes, lengths are counted anew at each step.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

Words = Mapping[bytes, int]


def merge_word(word: tuple[bytes, ...], pair: tuple[bytes, bytes]) -> tuple[bytes, ...]:
    out: list[bytes] = []
    i = 0
    while i < len(word):
        if word[i : i + 2] == pair:
            out.append(word[i] + word[i + 1])
            i += 2
        else:
            out.append(word[i])
            i += 1
    return tuple(out)


def pair_counts(text: dict[tuple[bytes, ...], int]) -> Counter:
    found: Counter = Counter()
    for word, count in text.items():
        for pair in itertools.pairwise(word):
            found[pair] += count
    return found


def length(text: dict[tuple[bytes, ...], int]) -> int:
    return sum(len(word) * count for word, count in text.items())


def train_naive_parity(
    training: Mapping[str, Words],
    n_merges: int,
    development: Mapping[str, Words] | None = None,
    ratios: Mapping[str, Fraction] | None = None,
    window: int | None = None,
    alpha: Fraction = Fraction(2),
    global_merges: int = 0,
    min_pair_count: int = 1,
    max_token_bytes: int | None = None,
) -> tuple[list[tuple[bytes, bytes]], dict[str, int], list[str]]:
    """The merges, the tokens of each judged text at the end, and which language chose each merge ("" for all together)."""
    texts = {name: segmented(words) for name, words in training.items()}
    judged = texts if development is None else {name: segmented(words) for name, words in development.items()}
    start = {name: length(text) for name, text in judged.items()}
    ids = {bytes([byte]): byte for byte in range(256)}
    merges: list[tuple[bytes, bytes]] = []
    choices: list[str] = []
    live = list(training)

    def best_of(counts: Counter) -> tuple[bytes, bytes] | None:
        fits = [
            pair
            for pair, count in counts.items()
            if count >= min_pair_count and (max_token_bytes is None or len(pair[0] + pair[1]) <= max_token_bytes)
        ]
        return min(fits, key=lambda pair: (-counts[pair], ids[pair[0]], ids[pair[1]]), default=None)

    def worst(names: list[str]) -> str:
        if ratios is None:
            return max(names, key=lambda name: length(judged[name]))
        return min(names, key=lambda name: Fraction(start[name], length(judged[name])) / ratios[name])

    all_together = True
    while len(merges) < n_merges:
        pair, name = None, ""
        if all_together and len(merges) < global_merges:
            pair = best_of(sum((pair_counts(text) for text in texts.values()), Counter()))
            all_together = pair is not None
        while pair is None and live:
            allowed = live
            if window is not None:
                recent = [choice for choice in choices if choice][-window:]
                allowed = [each for each in live if recent.count(each) <= alpha / len(live) * window]
            name = worst(allowed)
            pair = best_of(pair_counts(texts[name]))
            if pair is None:
                live.remove(name)
        if pair is None:
            break
        ids[pair[0] + pair[1]] = 256 + len(merges)
        merges.append(pair)
        choices.append(name)
        for every in [texts] if judged is texts else [texts, judged]:
            for each, text in every.items():
                merged: Counter = Counter()
                for word, count in text.items():
                    merged[merge_word(word, pair)] += count
                every[each] = dict(merged)
    return merges, {name: length(text) for name, text in judged.items()}, choices


def segmented(words: Words) -> dict[tuple[bytes, ...], int]:
    return {tuple(word[i : i + 1] for i in range(len(word))): count for word, count in words.items()}
