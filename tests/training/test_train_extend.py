"""Training that goes on from a vocabulary."""

import random
from itertools import pairwise

import numpy as np
import pytest

from naive_encoder import NaiveEncoder
from naive_training import train_naive
from tokenmill import AddedToken, Vocabulary, WordCounts
from tokenmill.errors import UsageError
from tokenmill.training import extend_vocabulary
from trained import train_from_counts

BYTES = tuple(bytes([byte]) for byte in range(256))


def encoded(vocabulary: Vocabulary, counts: WordCounts) -> tuple[np.ndarray, np.ndarray]:
    encoder = NaiveEncoder(vocabulary, lambda data: [len(data)] if data else [])
    pretokens = [encoder.encode_pretoken(pretoken) if pretoken else [] for pretoken, _ in counts.items()]
    return np.array([id for ids in pretokens for id in ids], np.uint32), np.cumsum(
        [0, *map(len, pretokens)], dtype=np.uint64
    )


def random_counts(rng: random.Random) -> WordCounts:
    letters = [rng.randrange(256) for _ in range(rng.choice([1, 2, 3, 4, 8]))]
    words = {
        bytes(rng.choices(letters, k=rng.choice([0, 1, 2, 3, 4, 5, 8, 12, 20]))): rng.choice([1, 2, 3, 10, 2**33])
        for _ in range(rng.choice([2, 5, 20, 50]))
    }
    return WordCounts.from_mapping(words)


def test_in_two_parts_as_in_one():
    rng = random.Random(1)
    for _ in range(200):
        counts = random_counts(rng)
        options = {"max_token_bytes": rng.choice([None, None, 3, 6]), "min_pair_count": rng.choice([1, 1, 3])}
        whole = train_from_counts(counts, 256 + 60, **options)
        part = train_from_counts(counts, 256 + rng.choice([0, 1, 5, 20]), **options)
        extended = extend_vocabulary(counts, 256 + 60, part, *encoded(part, counts), **options)
        assert extended.fingerprint() == whole.fingerprint()


def test_other_text_than_the_first():
    rng = random.Random(2)
    for _ in range(100):
        first, second = random_counts(rng), random_counts(rng)
        vocabulary = train_from_counts(first, 256 + rng.choice([1, 5, 20]))
        ids, offsets = encoded(vocabulary, second)
        extended = extend_vocabulary(second, 300, vocabulary, ids, offsets)
        tokens = list(vocabulary.tokens)
        pretokens = [ids[a:b].tolist() for a, b in pairwise(offsets)]
        merges, _ = train_naive(zip(pretokens, second.counts.tolist(), strict=True), tokens, 300)
        assert extended.tokens == tuple(tokens)
        assert extended.events.tolist() == vocabulary.events.tolist() + [list(row) for row in merges]


def test_old_ids_and_special_tokens_stay():
    vocabulary = Vocabulary(
        (*BYTES, b"ab", None, b"cd"), (), added_tokens=(AddedToken("<s>", 257), AddedToken("<e>", 260))
    )
    counts = WordCounts.from_mapping({b"abcd": 5, b"xy": 3})
    extended = extend_vocabulary(counts, 264, vocabulary, *encoded(vocabulary, counts), special_tokens=["<pad>"])
    assert extended.order == "ranks" and len(extended.events) == 0
    assert extended.tokens[256:] == (b"ab", None, b"cd", None, None, b"abcd", b"xy")
    assert extended.special_tokens == {"<s>": 257, "<e>": 260, "<pad>": 263}
    assert extended.n_vocab == 264


def test_a_pair_that_spells_an_old_token_becomes_it():
    # abc is a token that no merge makes, since ab and bc are none; then bc is made, and a + bc spells it.
    vocabulary = Vocabulary((*BYTES, b"abc"), (), whole_pretokens=False)
    counts = WordCounts.from_mapping({b"xabc": 5, b"bc": 9, b"xabcabc": 1})
    ids, offsets = encoded(vocabulary, counts)
    extended = extend_vocabulary(counts, 259, vocabulary, ids, offsets)
    assert extended.tokens[256:] == (b"abc", b"bc", b"xabc")


def test_a_corpus_that_runs_out():
    counts = WordCounts.from_mapping({b"ab": 1})
    vocabulary = train_from_counts(counts, 256)
    extended = extend_vocabulary(counts, 999, vocabulary, *encoded(vocabulary, counts), special_tokens=["<s>"])
    assert extended.tokens[256:] == (b"ab",) and extended.special_tokens == {"<s>": 257}


def test_what_cannot_be_extended():
    counts = WordCounts.from_mapping({b"abc": 9, b"ab": 1}, split_patterns=("x",))
    plain = train_from_counts(counts, 258, special_tokens=["<s>"])
    ids, offsets = encoded(plain, counts)
    letters = train_from_counts(counts, 5, alphabet="characters")
    for arguments, message in [
        ((counts, 300, letters, ids, offsets), "characters cannot be extended"),
        ((counts, 257, plain, ids, offsets), "need 258"),
    ]:
        with pytest.raises(UsageError, match=message):
            extend_vocabulary(*arguments)
    with pytest.raises(UsageError, match="already"):
        extend_vocabulary(counts, 300, plain, ids, offsets, special_tokens=["<s>"])
