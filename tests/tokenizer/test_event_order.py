"""Event order: what Picky training ends with is what encoding gives, for the kernel and for its slow twin."""

import random

import numpy as np
import pytest
from random_vocabularies import SWEEP, random_text

import tokenmill
from naive_encoder import NaiveEncoder
from naive_training import train_naive
from tokenmill import Tokenizer, WordCounts
from tokenmill.split import Splitter
from tokenmill.tokenizer.core import Core
from tokenmill.vocabulary import Vocabulary
from trained import train_from_counts

COUNTS = [1, 1, 2, 3, 5, 10, 100, 70_000]
THRESHOLDS = [0.01, 0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


def random_words(rng: random.Random) -> dict[bytes, int]:
    letters = [rng.randrange(256) for _ in range(rng.choice([1, 2, 2, 3, 4, 8]))]
    return {
        bytes(rng.choices(letters, k=rng.choice([1, 2, 3, 4, 5, 8, 12, 20, 30]))): rng.choice(COUNTS)
        for _ in range(rng.choice([1, 2, 3, 5, 8, 20]))
    }


@pytest.mark.parametrize("seed", range(4 * SWEEP))
def test_trained_pretokens(seed):
    """Thousands of corpora: the segmentation at the end of training is the event-order encoding of every pretoken."""
    rng = random.Random(f"pretokens {seed}")
    removals = 0
    for _ in range(300):
        words = random_words(rng)
        size, threshold = 256 + rng.choice([1, 3, 10, 30, 60]), rng.choice(THRESHOLDS)
        vocabulary = train_from_counts(WordCounts.from_mapping(words), size, refine=threshold)
        kernel = Core(vocabulary, 1 << 20).kernel
        tokens = [bytes([byte]) for byte in range(256)]
        events, pretokens = train_naive(words.items(), tokens, size, threshold)
        for (word, _), ids in zip(words.items(), pretokens, strict=True):
            ends = [tokens[id] for id in ids]
            assert [vocabulary.tokens[id] for id in kernel.encode_pretoken(word)] == ends, (words, threshold)
            assert not vocabulary.removed.intersection(kernel.encode_pretoken(word))
        removals += sum(right < 0 for _, right, _ in events)
    assert removals > 300


@pytest.mark.parametrize("seed", range(3 * SWEEP))
def test_other_text(seed):
    """Text that was not trained on, short and long, in vocabularies that training made: the slow twin's ids."""
    rng = random.Random(f"other {seed}")
    for _ in range(60):
        texts = ["a"] + [random_text(rng).decode(errors="replace") for _ in range(rng.choice([1, 5, 20]))]
        split = rng.choice(["gpt2", "cl100k", "[a-c]+|[^a-c]+"])
        tok = tokenmill.train_from_iterator(
            texts, vocab_size=256 + rng.choice([3, 30, 200]), split=split, refine=rng.choice(THRESHOLDS)
        )
        naive = NaiveEncoder(tok.vocabulary, Splitter(*tok.vocabulary.split_patterns).ends)
        for turn in range(12):
            data = random_text(rng, longest=1500 if turn == 0 else 300)
            assert tok.encode_bytes(data) == naive.encode(data)
            assert tok.decode_bytes(tok.encode_bytes(data)) == data


def test_real_text(corpus_bytes):
    """A vocabulary of thousands with hundreds of removals, on the text it comes from and on another."""
    data = corpus_bytes("en", 3_000_000)
    counts = tokenmill.count_iterator([data.decode(errors="replace")], split="cl100k")
    vocabulary = train_from_counts(counts, 6_000, refine=0.8)
    assert (vocabulary.events[:, 1] < 0).sum() > 300
    tok = Tokenizer(vocabulary)
    naive = NaiveEncoder(vocabulary, Splitter(*vocabulary.split_patterns).ends)
    for sample in (
        data[-30_000:],
        corpus_bytes("multi", 1_000_000)[-20_000:],
        corpus_bytes("code", 1_000_000)[-20_000:],
    ):
        assert tok.encode_bytes(sample) == naive.encode(sample)
    text = data[:200_000].decode(errors="replace")
    assert tok.decode(tok.encode_ordinary(text)) == text


def test_one_long_pretoken():
    """Neither merges nor removals are quadratic in it: the repeated text has the ids of its parts repeated."""
    words = {b"abab": 50, b"aba": 20, b"ab": 5, b"xyz": 9, b"xy": 1, b"aaaa": 10, b"aa": 1}
    vocabulary = train_from_counts(WordCounts.from_mapping(words), 264, refine=0.6)
    assert (vocabulary.events[:, 1] < 0).any()
    kernel = Core(vocabulary, 1 << 20).kernel
    naive = NaiveEncoder(vocabulary, Splitter().ends)
    for unit in (b"abab0", b"xyz-xy-", b"aaaaa."):
        once = naive.encode_pretoken(unit * 40)
        assert kernel.encode_pretoken(unit * 40) == once
        assert kernel.encode_pretoken(unit * 40_000) == once * 1000


def test_an_event_happens_once():
    """Without removals too. By rank, the third merge would follow the fourth, which makes its left part."""
    tokens = (*(bytes([i]) for i in range(256)), b"aa", b"aaa", b"aaab")
    rows = np.array([(97, 97, 256), (97, 256, 257), (257, 98, 258), (256, 97, 257)], np.int32)
    found = {}
    for order in ("events", "merges"):
        vocabulary = Vocabulary(tokens, (), order, rows, whole_pretokens=False)
        found[order] = Core(vocabulary, 1 << 20).encode_section(b"aaab")
        assert found[order] == NaiveEncoder(vocabulary, Splitter().ends).encode_pretoken(b"aaab")
    assert found == {"events": [257, 98], "merges": [258]}
