"""Training from an alphabet of characters."""

import random

import pytest

from tokenmill import WordCounts
from tokenmill.errors import UsageError
from trained import by_both_algorithms, train_from_counts


def train(words: dict[str, int], vocab_size: int, **options):
    counts = WordCounts.from_mapping({text.encode(): count for text, count in words.items()})
    return by_both_algorithms(counts, vocab_size=vocab_size, alphabet="characters", **options)


def test_characters_come_first_in_code_point_order():
    vocabulary = train({"été": 5, "aé": 2, "日本": 9}, 8)
    assert [token.decode() for token in vocabulary.tokens] == ["a", "t", "é", "日", "本", "日本", "té", "été"]
    assert vocabulary.alphabet == "characters"
    assert vocabulary.unknown is None


def test_the_unknown_token_has_the_id_0():
    vocabulary = train({"ab": 5}, 5, unknown_token="<unk>", special_tokens=["<s>"])
    assert vocabulary.tokens == (None, b"a", b"b", b"ab")
    assert vocabulary.unknown == 0
    assert vocabulary.special_tokens == {"<unk>": 0, "<s>": 4}
    assert vocabulary.token_bytes(0) == b"<unk>"


def test_the_unknown_token_may_be_listed_among_the_special_ones():
    vocabulary = train({"ab": 5}, 5, unknown_token="<unk>", special_tokens=["<s>", "<unk>"])
    assert vocabulary.special_tokens == {"<unk>": 0, "<s>": 4}


def test_coverage_keeps_the_most_frequent_characters():
    # 100 characters: 60 a, 30 b, 9 c, 1 d. Three make up 99 of a hundred.
    words = {"a": 60, "b": 30, "c": 9, "d": 1}
    for coverage, kept in [(0.6, b"a"), (0.61, b"ab"), (0.9, b"ab"), (0.99, b"abc"), (0.991, b"abcd"), (1.0, b"abcd")]:
        vocabulary = train(words, 20, coverage=coverage, unknown_token="<unk>")
        assert b"".join(vocabulary.tokens[1:]) == kept


def test_of_equal_characters_the_lower_code_point_is_kept():
    vocabulary = train({"c": 1, "b": 1, "a": 1, "d": 1}, 20, coverage=0.5, unknown_token="<unk>")
    assert vocabulary.tokens == (None, b"a", b"b")


def test_an_unknown_character_splits_its_pretoken():
    # Without x, "ab" and "cd" are neighbours nowhere: nothing is merged across the unknown token.
    vocabulary = train({"abxcd": 50, "ab": 1, "cd": 1}, 30, coverage=0.8, unknown_token="<unk>")
    assert b"x" not in vocabulary.tokens
    assert set(vocabulary.tokens[5:]) == {b"ab", b"cd"}


def test_min_count_counts_for_the_alphabet_too():
    assert train({"ab": 3, "xy": 1}, 20, min_count=2).tokens == (b"a", b"b", b"ab")


def test_coverage_needs_an_unknown_token():
    with pytest.raises(UsageError, match="leaves out 1 of 2 characters"):
        train({"a": 9, "b": 1}, 20, coverage=0.9)


def test_too_small_a_vocabulary():
    with pytest.raises(UsageError, match="the 3 characters and 1 special token need at least 4"):
        train({"abc": 9}, 3, special_tokens=["<s>"])


def test_bytes_that_are_no_utf8_are_characters_of_their_own():
    counts = WordCounts.from_mapping({b"\xe2\x82a\xff": 4, b"\xe2\x82\xac": 2, b"\xac": 1})
    vocabulary = train_from_counts(counts, 20, alphabet="characters")
    assert set(vocabulary.tokens[:6]) == {b"a", b"\x82", b"\xac", b"\xe2", b"\xff", b"\xe2\x82\xac"}
    assert b"\xe2\x82a\xff" in vocabulary.tokens


def test_random_corpora():
    rng = random.Random(3)
    for _ in range(60):
        letters = rng.sample("abcdeéèßñ日本語カ🙂🙃", rng.randrange(1, 12))
        words = {
            "".join(rng.choices(letters, k=rng.randrange(1, 9))): rng.choice([1, 2, 3, 50, 2**33]) for _ in range(20)
        }
        train(words, rng.randrange(16, 60), coverage=rng.choice([0.3, 0.7, 0.95, 1.0]), unknown_token="<unk>")
