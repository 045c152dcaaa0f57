"""The options of training and what it says when one cannot be right."""

import weakref

import pytest

from tokenmill import WordCounts
from tokenmill.errors import InputError, UsageError
from tokenmill.train_job import Train
from tokenmill.training import Options, Training
from trained import train_by_textbook, train_from_counts

LOW = WordCounts.from_mapping({b"low": 5, b"lower": 2, b"newest": 6, b"widest": 3})


@pytest.mark.parametrize("train", [train_from_counts, train_by_textbook])
def test_the_example_of_the_paper(train):
    vocabulary = train(LOW, 256 + 5)
    assert vocabulary.tokens[256:] == (b"es", b"est", b"lo", b"low", b"ew")
    assert vocabulary.event_list()[:2] == [("merge", 101, 115, 256), ("merge", 256, 116, 257)]
    assert vocabulary.order == "merges"


def test_special_tokens_come_last():
    vocabulary = train_from_counts(LOW, 256 + 5, special_tokens=["<|end|>", "<|pad|>"])
    assert vocabulary.tokens[256:] == (b"es", b"est", b"lo")
    assert vocabulary.special_tokens == {"<|end|>": 259, "<|pad|>": 260}
    assert vocabulary.n_vocab == 261


def test_sizes_in_any_sequence():
    assert Train(range(258, 262, 2), counts=LOW).sizes == Train([260, 258, 260], counts=LOW).sizes == (258, 260)
    for sizes in (range(0), "258", {258, 260}):
        with pytest.raises(UsageError, match="it must be a whole number"):
            Train(sizes, counts=LOW)


def test_a_generator_of_special_tokens():
    assert train_from_counts(LOW, 300, special_tokens=(t for t in ["<a>", "<b>"])).n_vocab == 256 + 12 + 2


def test_the_corpus_runs_out_of_pairs():
    vocabulary = train_from_counts(WordCounts.from_mapping({b"aab": 1, b"c": 9}), 1000, special_tokens=["<s>"])
    assert vocabulary.tokens[256:] == (b"aa", b"aab")
    assert vocabulary.special_tokens == {"<s>": 258}
    assert vocabulary.n_vocab == 259


@pytest.mark.parametrize("words", [{b"a": 1}, {b"a": 1, b"": 7, b"b": 2}])
def test_a_corpus_without_pairs_keeps_its_bytes(words):
    vocabulary = train_from_counts(WordCounts.from_mapping(words), 300)
    assert len(vocabulary.tokens) == 256
    assert vocabulary.events.shape == (0, 3)


def test_no_merge_wanted():
    assert train_from_counts(LOW, 256).events.shape == (0, 3)


@pytest.mark.parametrize("train", [train_from_counts, train_by_textbook])
def test_min_count_leaves_out_rare_pretokens(train):
    counts = WordCounts.from_mapping({b"ab": 3, b"cd": 2, b"ef": 1})
    assert train(counts, 300, min_count=2).tokens[256:] == (b"ab", b"cd")


@pytest.mark.parametrize("train", [train_from_counts, train_by_textbook])
def test_min_pair_count_stops(train):
    counts = WordCounts.from_mapping({b"abab": 3, b"cd": 5, b"ef": 4})
    assert train(counts, 300, min_pair_count=5).tokens[256:] == (b"ab", b"cd")


@pytest.mark.parametrize("train", [train_from_counts, train_by_textbook])
def test_max_token_bytes(train):
    counts = WordCounts.from_mapping({b"abcdef": 9, b"aaaaaaaa": 8})
    tokens = train(counts, 300, max_token_bytes=3).tokens[256:]
    assert tokens == (b"aa", b"ab", b"cd", b"ef")


def test_progress_tells_each_stage_to_its_end():
    seen = {}
    train_from_counts(LOW, 270, progress=lambda stage, done, total: seen.update({stage: (done, total)}))
    assert set(seen) == {"load", "index", "merge"}
    assert seen["merge"] == (12, 12)  # 14 were wanted, and there are no more pairs
    assert all(done == total for done, total in seen.values())


def test_progress_may_stop_the_training():
    def stop(stage, done, total):
        if stage == "merge":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_from_counts(LOW, 270, progress=stop)


def test_the_counts_may_go_before_it_runs():
    counts = WordCounts.from_mapping({b"low": 5, b"lower": 2})
    arrays = [weakref.ref(array) for array in (counts.counts, counts.offsets)]
    training = Training(counts, Options(vocab_size=258))
    del counts
    assert [array() for array in arrays] == [None, None]
    assert training.run().tokens[256:] == (b"lo", b"low")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 255}, "the 256 bytes need at least 256"),
        ({"vocab_size": 257, "special_tokens": ["<a>", "<b>"]}, "the 256 bytes and 2 special tokens need at least 258"),
        ({"vocab_size": 0}, "at least 1"),
        ({"vocab_size": -5}, "at least 1"),
        ({"vocab_size": 300.0}, "whole number"),
        ({"vocab_size": True}, "whole number"),
        ({"vocab_size": 2**31}, "at most"),
        ({"special_tokens": "<s>"}, "list of texts"),
        ({"special_tokens": {"<s>": 299}}, "a mapping; give a list of texts"),
        ({"special_tokens": ["<s>", "<s>"]}, "2 times"),
        ({"special_tokens": [""]}, "empty"),
        ({"special_tokens": [b"<s>"]}, "bytes"),
        ({"special_tokens": ["\ud800"]}, "surrogate"),
        ({"min_count": 0}, "min_count is 0"),
        ({"min_pair_count": 0}, "min_pair_count is 0"),
        ({"max_token_bytes": 0}, "max_token_bytes is 0"),
        ({"num_threads": 0}, "num_threads is 0"),
        ({"alphabet": "words"}, "known are bytes, characters"),
        ({"alphabet": "characters", "coverage": 0}, "above 0"),
        ({"alphabet": "characters", "coverage": 1.5}, "at most 1"),
        ({"coverage": 0.5}, "characters"),
        ({"unknown_token": "<unk>"}, "characters"),
    ],
)
def test_options_that_cannot_be_right(options, message):
    with pytest.raises(UsageError, match=message):
        train_from_counts(LOW, **({"vocab_size": 300} | options))


@pytest.mark.parametrize("words", [{}, {b"ab": 0}])
def test_an_empty_corpus(words):
    with pytest.raises(InputError, match="empty"):
        train_from_counts(WordCounts.from_mapping(words), 300)


def test_min_count_that_leaves_nothing():
    with pytest.raises(InputError, match="min_count is 7, and the most frequent of 4 pretokens occurs 6 times"):
        train_from_counts(LOW, 300, min_count=7)


def test_counts_that_no_64_bits_hold():
    with pytest.raises(UsageError, match=r"2\*\*63"):
        train_from_counts(WordCounts.from_mapping({b"abcdefgh": 2**62}), 300)
