"""A vocabulary cut to a smaller size is the one that the same training gives at that size, for each kind of training."""

import random

import numpy as np
import pytest

import tokenmill
from tokenmill import WordCounts
from tokenmill.errors import UsageError
from tokenmill.vocabulary.surgery import prefix
from tokenmill.vocabulary.vocabulary import FIELDS
from trained import train_from_counts

COUNTS = [1, 1, 1, 2, 3, 5, 10, 100, 70_000, 2**33]


def random_words(rng: random.Random) -> WordCounts:
    letters = rng.choices(range(256), k=rng.choice([1, 2, 2, 3, 4, 8]))
    words = [
        bytes(rng.choices(letters, k=rng.choice([1, 2, 3, 5, 8, 12, 30]))) for _ in range(rng.choice([1, 3, 8, 20]))
    ]
    return WordCounts.from_mapping({word: rng.choice(COUNTS) for word in words})


def assert_same(cut, trained):
    for name in FIELDS:
        ours, theirs = getattr(cut, name), getattr(trained, name)
        assert np.array_equal(ours, theirs) if isinstance(theirs, np.ndarray) else ours == theirs, name


@pytest.mark.parametrize("refine", [None, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("special", [[], ["<|end|>", "<|pad|>"]])
def test_plain_and_picky(refine, special):
    rng = random.Random(repr((refine, special)))
    for _ in range(60):
        counts = random_words(rng)
        options = {"refine": refine, "special_tokens": special, "max_token_bytes": rng.choice([None, 5])}
        large, small = 256 + len(special) + rng.choice([1, 5, 30, 60]), 256 + len(special) + rng.randrange(20)
        small = min(large, small)
        whole = train_from_counts(counts, large, **options)
        assert_same(prefix(whole, small), train_from_counts(counts, small, **options))
        assert_same(prefix(whole, large + 1), whole)


def test_characters():
    counts = WordCounts.from_mapping({"säßö".encode(): 5, "ßöä".encode(): 3, b"sos": 9})
    options = {"alphabet": "characters", "coverage": 0.9, "unknown_token": "<unk>", "special_tokens": ["<end>"]}
    whole = train_from_counts(counts, 12, **options)
    for size in (7, 8, 9):
        assert_same(prefix(whole, size), train_from_counts(counts, size, **options))


def test_superwords_with_the_same_first_stage():
    rng = random.Random(5)
    for _ in range(10):
        texts = [" ".join(rng.choices(["a", "ab", "abc", "b", "cab", "1", ":"], k=80)) for _ in range(3)]
        options = {"superwords": "superbpe", "stage1_size": 260, "special_tokens": ["<|end|>"], "split": "gpt2"}
        whole = tokenmill.train_from_iterator(texts, 300, **options)
        for size in (260, 261, 270, 285):
            assert_same(whole.prefix(size).vocabulary, tokenmill.train_from_iterator(texts, size, **options).vocabulary)


def test_a_saved_tokenizer_can_be_cut(tmp_path):
    texts = ["low lower lowest newest widest " * 5]
    for refine in (None, 0.9):
        options = {"refine": refine, "special_tokens": ["<|end|>"]}
        folder = tmp_path / str(refine)
        tokenmill.train_from_iterator(texts, 280, **options).save(folder)
        assert tokenmill.load(folder).prefix(270) == tokenmill.train_from_iterator(texts, 270, **options)


def test_what_cannot_be_cut(shared):
    tok = tokenmill.train_from_iterator(["low lower lowest"], 265, special_tokens=["<|end|>"])
    with pytest.raises(UsageError, match=r"vocab_size is 256, but the alphabet and the special tokens need 257"):
        tok.prefix(256)
    published = tokenmill.load(shared / "vocab" / "cl100k_base.tiktoken", split="cl100k")
    with pytest.raises(UsageError, match="only one from a single training"):
        published.prefix(1000)
    more = WordCounts.from_mapping({b"slow": 9, b"slower": 8}, split_patterns=tok.vocabulary.split_patterns)
    with pytest.raises(UsageError, match="only one from a single training"):
        tokenmill.extend(tok, more, 280).prefix(262)
    picky = tokenmill.train_from_counts({"bbbccbab": 1, "aaaca": 3, "cccaaccc": 1, "cbc": 3}, 262, refine=0.5)
    more = WordCounts.from_mapping({b"bbb": 1, b"acacbcba": 1})
    with pytest.raises(UsageError, match="only one from a single training"):  # a token that training removed is back
        tokenmill.extend(picky, more, 266).prefix(264)
