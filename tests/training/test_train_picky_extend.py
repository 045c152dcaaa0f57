"""Picky training that goes on from a vocabulary: the kernel against the oracle, and what stays as it was."""

import os
import random
from itertools import pairwise

import numpy as np
import pytest

from naive_encoder import NaiveEncoder
from naive_training import train_naive
from tokenmill import AddedToken, Tokenizer, Vocabulary, WordCounts
from tokenmill.errors import UsageError
from tokenmill.formats import read, write
from tokenmill.training import extend_vocabulary, loops
from trained import train_from_counts

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))
BYTES = tuple(bytes([byte]) for byte in range(256))
THRESHOLDS = [0.1, 0.3, 0.5, 0.6, 0.8, 0.9, 1.0]


def slow(vocabulary: Vocabulary) -> NaiveEncoder:
    return NaiveEncoder(vocabulary, lambda data: [len(data)] if data else [])


def encoded(vocabulary: Vocabulary, counts: WordCounts) -> tuple[np.ndarray, np.ndarray]:
    pretokens = [slow(vocabulary).encode_pretoken(pretoken) if pretoken else [] for pretoken, _ in counts.items()]
    return np.array([id for ids in pretokens for id in ids], np.uint32), np.cumsum(
        [0, *map(len, pretokens)], dtype=np.uint64
    )


def random_counts(rng: random.Random, letters: list[int]) -> WordCounts:
    words = {
        bytes(rng.choices(letters, k=rng.choice([0, 1, 2, 3, 4, 5, 8, 12, 20]))): rng.choice([1, 1, 2, 3, 10, 2**33])
        for _ in range(rng.choice([2, 5, 20, 50]))
    }
    return WordCounts.from_mapping(words)


def spelt(vocabulary_tokens, events) -> list[tuple[bytes, ...]]:
    return [tuple(vocabulary_tokens[id] for id in event if id >= 0) for event in events]


def by_the_oracle(vocabulary, counts, vocab_size, threshold, **options):
    """From the slow twin: the old events and the new ones with their tokens; the ids that training should give by their
    bytes; the segmented pretokens; and how many removed tokens came back."""
    ids, offsets = encoded(vocabulary, counts)
    pretokens = [ids[a:b].tolist() for a, b in pairwise(offsets)]
    before = [tuple(row) for row in vocabulary.events.tolist()]
    old = vocabulary.n_vocab
    tokens = [token or b"" for token in vocabulary.tokens]
    tokens += [b""] * (old - len(tokens))
    known = len(tokens)
    rows, ended = train_naive(
        zip(pretokens, counts.counts.tolist(), strict=True), tokens, vocab_size, threshold, before=before, **options
    )
    gone = set()
    for left, right, new in [*before, *rows]:
        gone = gone | {left} if right < 0 else gone - {new}
    present = [id for id in range(old, len(tokens)) if id not in gone]
    numbered = {tokens[id]: id for id in range(old)} | {tokens[id]: old + n for n, id in enumerate(present)}
    numbered |= {tokens[id]: old + len(present) + n for n, id in enumerate(sorted(gone))}
    returned = {new for _, right, new in rows if right >= 0} & set(range(old, known))
    return before, rows, tokens, numbered, ended, len(returned)


@pytest.mark.parametrize("seed", range(4 * SWEEP))
def test_random_corpora(seed, monkeypatch):
    rng = random.Random(seed)
    removals = returns = 0
    for _ in range(100):
        monkeypatch.setattr(loops, "_MAX_NODES_32", rng.choice([5, 2**32 - 1]))
        monkeypatch.setattr(loops, "_SLICE", rng.choice([1, 2, 7, 1 << 20]))
        letters = [rng.randrange(256) for _ in range(rng.choice([1, 2, 3, 4, 8]))]
        first = random_counts(rng, letters)
        second = rng.choice([first, random_counts(rng, letters), random_counts(rng, letters)])
        options = {
            "max_token_bytes": rng.choice([None, None, 3, 6]),
            "min_pair_count": rng.choice([1, 1, 3]),
        }
        threshold = rng.choice(THRESHOLDS)
        start = train_from_counts(
            first,
            257 + rng.choice([0, 1, 5, 20, 40]),
            refine=threshold,
            special_tokens=rng.choice([[], ["<s>"]]),
            **options,
        )
        told = rng.choice([None, rng.choice(THRESHOLDS)])
        size = start.n_vocab + rng.choice([0, 1, 5, 30])
        extended = extend_vocabulary(second, size, start, *encoded(start, second), refine=told, **options)
        before, rows, tokens, numbered, ended, returned = by_the_oracle(
            start, second, size, told or threshold, **options
        )
        # Event by event, ids and all.
        assert spelt(extended.tokens, extended.events.tolist()) == spelt(tokens, [*before, *rows])
        assert all(extended.token_bytes(id) == start.token_bytes(id) for id in range(start.n_vocab))
        assert {token: id for id, token in enumerate(extended.tokens) if token} == {
            token: id for token, id in numbered.items() if token
        }
        assert extended.refine == (told or threshold)
        assert not extended.removed or sorted(extended.removed) == [*range(extended.n_vocab, len(extended.tokens))]
        assert not {left for left, right, _ in rows if right < 0} & set(range(start.n_vocab))
        # Every pretoken is encoded as training left it, by the slow twin and by the kernel.
        encoder, tok = slow(extended), Tokenizer(extended)
        for (pretoken, _), ids in zip(second.items(), ended, strict=True):
            expected = [numbered[tokens[id]] for id in ids]
            assert (encoder.encode_pretoken(pretoken) if pretoken else []) == expected == tok.encode_bytes(pretoken)
        removals += sum(right < 0 for _, right, _ in rows)
        returns += returned
    assert removals > 100 and returns > 5


def test_an_old_token_stays_whatever_its_ios():
    # ab, made of 10, is swallowed by abc 9 times of 10 in the second text; a new token in its place would go.
    start = train_from_counts(WordCounts.from_mapping({b"ab": 5}), 257, refine=0.9)
    second = WordCounts.from_mapping({b"abc": 9, b"ab": 1, b"xyz": 9, b"xy": 1})
    extended = extend_vocabulary(second, 260, start, *encoded(start, second))
    assert start.tokens[256:] == (b"ab",)
    assert extended.tokens[:257] == start.tokens and extended.removed == frozenset()
    rows = spelt(extended.tokens, extended.events.tolist())
    assert (b"ab",) not in rows and (b"xy",) in rows


def test_a_token_that_had_gone_comes_back_under_a_new_id():
    # ab goes when abc is made, and xy when xyz is. The second text is full of ab.
    first = WordCounts.from_mapping({b"abc": 20, b"xyz": 9})
    start = train_from_counts(first, 260, refine=0.9, special_tokens=["<s>"])
    assert start.tokens[256:] == (b"abc", b"xyz", None, b"ab", b"xy") and start.n_vocab == 259
    second = WordCounts.from_mapping({b"ab": 50, b"abd": 1})
    extended = extend_vocabulary(second, 261, start, *encoded(start, second), special_tokens=["<e>"])
    assert extended.tokens[256:] == (b"abc", b"xyz", None, b"ab", None, b"xy")
    assert extended.special_tokens == {"<s>": 258, "<e>": 260} and extended.n_vocab == 261
    assert extended.removed == {261}
    assert spelt(extended.tokens, extended.events.tolist()) == [
        *spelt(start.tokens, start.events.tolist()),
        (b"a", b"b", b"ab"),
    ]


def test_ids_of_removed_tokens_may_stand_anywhere():
    """A vocabulary of another hand: the removed token lies among the present ones."""
    events = np.array([(97, 98, 256), (256, 99, 257), (256, -1, -1)], np.int32)
    start = Vocabulary((*BYTES, b"ab", b"abc"), (), "events", events, (AddedToken("<s>", 258),), whole_pretokens=False)
    counts = WordCounts.from_mapping({b"ab": 9, b"abcab": 4})
    extended = extend_vocabulary(counts, 260, start, *encoded(start, counts), refine=1.0)
    assert extended.tokens[256:] == (None, b"abc", None, b"ab")
    assert extended.events.tolist() == [[97, 98, 259], [259, 99, 257], [259, -1, -1], [97, 98, 259]]
    assert slow(extended).encode_pretoken(b"abcab") == [257, 259]


def test_the_folder_keeps_the_threshold(tmp_path):
    counts = WordCounts.from_mapping({b"abc": 9, b"ab": 1, b"xyz": 9, b"xy": 1}, split_patterns=("[a-z]+",))
    start = train_from_counts(counts, 258, refine=0.9)
    write(start, tmp_path / "start")
    loaded = read(tmp_path / "start")
    assert loaded.refine == 0.9
    extended = extend_vocabulary(counts, 261, start, *encoded(start, counts))
    assert extended.fingerprint() == extend_vocabulary(counts, 261, loaded, *encoded(start, counts)).fingerprint()
    write(extended, tmp_path / "extended")
    again = read(tmp_path / "extended")
    assert again.fingerprint() == extended.fingerprint() and again.refine == 0.9
    (tmp_path / "start" / "tokenmill.json").unlink()
    unknown = read(tmp_path / "start")
    with pytest.raises(UsageError, match="give refine"):
        extend_vocabulary(counts, 261, unknown, *encoded(start, counts))
    told = extend_vocabulary(counts, 261, unknown, *encoded(start, counts), refine=0.9)
    assert told.event_list() == extended.event_list()


def test_thresholds_that_cannot_be():
    counts = WordCounts.from_mapping({b"abc": 9, b"ab": 1})
    plain, picky = train_from_counts(counts, 257), train_from_counts(counts, 257, refine=0.9)
    with pytest.raises(UsageError, match="only one of events"):
        extend_vocabulary(counts, 300, plain, *encoded(plain, counts), refine=0.9)
    with pytest.raises(UsageError, match="above 0 and at most 1"):
        extend_vocabulary(counts, 300, picky, *encoded(picky, counts), refine=1.5)
