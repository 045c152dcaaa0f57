"""The exact-position kernel against the textbook loop, merge for merge."""

import os
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_training import count_pairs, merge_pretoken, train_naive
from tokenmill import WordCounts
from tokenmill.training import loops
from trained import by_both_algorithms, train_from_counts

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))
COUNTS = [0, 1, 1, 1, 2, 3, 5, 10, 100, 65_535, 65_536, 70_000, 2**31, 2**33, 2**40]


def same(words: dict[bytes, int], **options) -> list:
    return by_both_algorithms(WordCounts.from_mapping(words), **options).events.tolist()


def random_words(rng: random.Random) -> dict[bytes, int]:
    letters = [rng.randrange(256) for _ in range(rng.choice([1, 2, 2, 3, 4, 8, 30]))]
    words = {b"xy": 1}
    for _ in range(rng.choice([1, 2, 5, 20, 60])):
        words[bytes(rng.choices(letters, k=rng.choice([0, 1, 2, 3, 4, 5, 8, 12, 20])))] = rng.choice(COUNTS)
    return words


@pytest.mark.parametrize("seed", range(8 * SWEEP))
def test_random_corpora(seed, monkeypatch):
    rng = random.Random(seed)
    for _ in range(250):
        # Positions of 64 bits, calls that stop after every position, and wrong guesses of the threshold.
        monkeypatch.setattr(loops, "_MAX_NODES_32", rng.choice([5, 2**32 - 1]))
        monkeypatch.setattr(loops, "_SLICE", rng.choice([1, 2, 3, 7, 1 << 20]))
        monkeypatch.setattr(loops, "_PRETOKENS", rng.choice([1, 3, 1 << 16]))
        monkeypatch.setattr(loops, "_FIRST_LOOK", rng.choice([1, 2, 5, 64]))
        guess = rng.choice([1, 2, 5, 100, 2**34])
        monkeypatch.setattr(loops, "_guess_threshold", lambda weight, wanted, guess=guess: guess)
        same(
            random_words(rng),
            vocab_size=256 + rng.choice([1, 3, 10, 50, 1000]),
            min_count=rng.choice([1, 1, 1]),
            min_pair_count=rng.choice([1, 1, 1, 2, 7]),
            max_token_bytes=rng.choice([None, None, 2, 3, 5, 8]),
        )


@settings(max_examples=300 * SWEEP, deadline=None)
@given(st.dictionaries(st.text(alphabet="ab", max_size=12), st.integers(0, 5), min_size=1), st.integers(0, 40))
def test_two_letters(words, merges):
    encoded = {text.encode(): count for text, count in words.items()} | {b"z": 1}
    same(encoded, vocab_size=256 + merges)


@pytest.mark.parametrize("length", [*range(2, 40), 255, 256, 257, 1000])
def test_runs_of_one_letter(length):
    same({b"a" * length: 3}, vocab_size=300)
    same({b"a" * length: 3, b"b" + b"a" * (length - 1): 2, b"a" * length + b"c": 1}, vocab_size=300)


def test_pairs_that_change_places():
    # (x2, x1) has three heirs when (x1, x2) is merged.
    same({b"abab": 4, b"babab": 3, b"abba": 2, b"bab": 5}, vocab_size=300)
    same({b"ababababab": 4, b"bababababa": 3, b"cabababd": 2}, vocab_size=300)


@pytest.mark.parametrize("counts", [[1], [1, 2, 3], [2**40, 2**40 + 1, 2**40 + 5000]])
def test_many_pairs_of_like_counts(counts):
    # Hundreds of pairs in one level of the queue, which are sorted; and ids of more than one digit of 11 bits.
    rng = random.Random(len(counts))
    words = {bytes(rng.choices(range(97, 115), k=10)): rng.choice(counts) for _ in range(400)}
    merges = same(words, vocab_size=256 + 1850)
    assert len(merges) == 1850


@pytest.mark.parametrize("count", [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40, 2**60])
def test_counts_beyond_32_bits(count):
    words = {b"  ": count, b"ab": count - 1, b"cd": 5}
    assert [tuple(row) for row in same(words, vocab_size=259)] == [(32, 32, 256), (97, 98, 257), (99, 100, 258)]


def test_the_sum_of_a_pair_passes_32_bits():
    # No single pretoken is seen 2**32 times, but the pair (a, b) is; a 32-bit sum would wrap to 2 and put it last.
    words = {b"xab": 2**31, b"yab": 2**31, b"zab": 2, b"cd": 2**31 + 1}
    assert same(words, vocab_size=257) == [[97, 98, 256]]


def test_a_threshold_that_was_raised_too_far(monkeypatch):
    # At the first look there are pairs enough with a count of 1,000; but each merge takes two others with it.
    rng = random.Random(1)
    words = {bytes(rng.sample(range(256), 40)): count for count in [1000, 10] for _ in range(20)}
    phases = []
    build = loops.build_index
    monkeypatch.setattr(loops, "build_index", lambda *arguments: (phases.append(1), build(*arguments)))
    merges = same(words, vocab_size=256 + 600, max_token_bytes=2)
    assert len(merges) == 600
    assert len(phases) > 1


def test_a_phase_that_fell_short_does_not_raise_its_threshold_at_once(monkeypatch):
    # Groups of pairs with counts that fall by more than half. Merges of two bytes take their neighbours with them, so a
    # group has fewer merges than pairs, and the estimate of the threshold is too high each time.
    rng = random.Random(3)
    words = {bytes(rng.sample(range(256), 60)): int(1e6 / 2.1**group) for group in range(10) for _ in range(2)}
    phases = []
    build = loops.build_index
    monkeypatch.setattr(loops, "_FIRST_LOOK", 80)
    monkeypatch.setattr(loops, "build_index", lambda *arguments: (phases.append(1), build(*arguments)))
    assert len(same(words, vocab_size=256 + 500, max_token_bytes=2)) == 500
    assert len(phases) <= 2


def test_every_threshold_gives_the_same(monkeypatch):
    rng = random.Random(5)
    words = {bytes(rng.choices(b"abcdefgh ", k=rng.randrange(1, 12))): rng.randrange(1, 1000) for _ in range(400)}
    counts = WordCounts.from_mapping(words)
    results = set()
    for guess in (1, 3, 10, 50, 200, 1000, 10_000, 10**9):
        monkeypatch.setattr(loops, "_guess_threshold", lambda weight, wanted, guess=guess: guess)
        results.add(train_from_counts(counts, 900).fingerprint())
    assert len(results) == 1


def test_the_order_of_the_pretokens_does_not_matter():
    rng = random.Random(6)
    words = {bytes(rng.choices(b"abc", k=rng.randrange(1, 12))): rng.randrange(1, 4) for _ in range(400)}
    results = set()
    for _ in range(5):
        items = list(words.items())
        rng.shuffle(items)
        results.add(train_from_counts(WordCounts.from_mapping(dict(items)), 400).fingerprint())
    assert len(results) == 1


def test_no_two_merges_make_the_same_bytes():
    # The invariant that the kernel rests on (number 5 in its docstring).
    rng = random.Random(7)
    for _ in range(300):
        words = random_words(rng)
        vocabulary = train_from_counts(WordCounts.from_mapping(words), 400, max_token_bytes=rng.choice([None, 3, 4, 6]))
        made = vocabulary.tokens[256:]
        assert len(set(made)) == len(made) and not any(len(token) == 1 for token in made)


def test_naive_gives_bytes_that_are_a_token_their_old_id():
    # From pretokens that do not begin with single bytes, two pairs can spell the same bytes.
    tokens = [b"a", b"b", b"c", b"ab", b"bc"]
    merges, _ = train_naive([([3, 2], 5), ([0, 4], 3), ([3, 2, 0], 1)], tokens, 7)
    assert merges == [(3, 2, 5), (0, 4, 5), (5, 0, 6)]
    assert tokens[5:] == [b"abc", b"abca"]


def test_the_textbook_steps():
    assert count_pairs([(b"aaa", 2), (b"ab", 1)]) == {(97, 97): 4, (97, 98): 1}
    assert merge_pretoken(b"aaaab", (97, 97), 256) == [256, 256, 98]
    assert merge_pretoken([], (1, 2), 3) == []


def test_arrays_of_the_word_counts_are_left_alone():
    counts = WordCounts.from_mapping({b"abc": 3, b"abd": 70_000, b"": 4})
    before = [array.copy() for array in (counts.arena, counts.offsets, counts.counts)]
    train_from_counts(counts, 260)
    for old, new in zip(before, (counts.arena, counts.offsets, counts.counts), strict=True):
        assert np.array_equal(old, new)
