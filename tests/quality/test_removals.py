"""Removals inserted into a plain vocabulary by IoS: the same as from the definition, exact under event order."""

import os
import random
from fractions import Fraction

import numpy as np
import pytest
from quality_examples import BYTES, make_vocabulary, random_events, random_pretokens, random_text

import tokenmill
from naive_training import count_tokens, merge_pretoken, replace, take_apart
from tokenmill import AddedToken, Tokenizer, WordCounts
from tokenmill.errors import UsageError
from tokenmill.quality.pruning import insert_removals, prune

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))


def removals_by_definition(merges, pretokens, threshold):
    """The merges replayed one by one; a token that was used up is removed after its last merge."""
    limit = Fraction(str(threshold))
    segmented = [(list(pretoken), count) for pretoken, count in pretokens.items()]
    made_from = {new: (left, right) for left, right, new in merges}
    events, removed, used_up = [], set(), set()
    for place, (left, right, new) in enumerate(merges):
        f = count_tokens(segmented)
        merged = [(merge_pretoken(ids, (left, right), new), count) for ids, count in segmented]
        m = sum(count * (len(a) - len(b)) for (a, count), (b, _) in zip(segmented, merged, strict=True))
        segmented = merged
        events.append((left, right, new))
        for x in dict.fromkeys((left, right)):
            if x >= 256 and f[x] and Fraction((1 + (left == right)) * m, f[x]) >= limit:
                used_up.add(x)
        for x in dict.fromkeys((left, right)):
            if x in used_up and not any(x in row[:2] for row in merges[place + 1 :]):
                parts = take_apart(x, made_from, removed)
                segmented = [(replace(ids, x, parts), count) for ids, count in segmented]
                removed.add(x)
                events.append((x, -1, -1))
    return events, [ids for ids, _ in segmented]


def test_worked_example():
    """ror is used up by error, 9 of 10 times; what remains of it is r and or."""
    tokens = [*BYTES, b"or", b"ror", b"er", b"error"]
    vocabulary = make_vocabulary(tokens, [(111, 114, 256), (114, 256, 257), (101, 114, 258), (258, 257, 259)])
    counts = WordCounts.from_mapping({b"error": 9, b"ror": 1, b"or": 20, b"her": 20})
    result = prune(Tokenizer(vocabulary), ios=0.9, counts=counts)
    assert result.id_map.tolist()[256:] == [256, -1, 257, 258] and result.dropped == 1
    assert result.tok.n_vocab == 259 and result.tok.vocabulary.refine == 0.9
    assert result.tok.events[-2:] == [("merge", 257, 259, 258), ("remove", 259)]
    assert result.tok.encode("ror") == [114, 256] and result.tok.encode("error") == [258]
    assert prune(Tokenizer(vocabulary), ios=0.91, counts=counts).dropped == 0


def test_a_token_that_a_later_merge_needs_is_removed_after_it():
    tokens = [*BYTES, b"or", b"ror", b"eror", b"iror"]
    merges = [(111, 114, 256), (114, 256, 257), (101, 257, 258), (105, 257, 259)]
    counts = WordCounts.from_mapping({b"eror": 90, b"iror": 3, b"ror": 2, b"or": 100})
    result = prune(Tokenizer(make_vocabulary(tokens, merges)), ios=0.9, counts=counts)
    assert [event[0] for event in result.tok.events] == ["merge"] * 4 + ["remove"]
    assert result.tok.encode("iror") == [258] and result.tok.encode("ror") == [114, 256]


@pytest.mark.parametrize("order", ["merges", "ranks"])
def test_the_events_are_those_of_the_definition(order):
    found = 0
    for seed in range(60 * SWEEP):
        rng = random.Random(seed)
        tokens, merges = random_events(rng, b"abc", 25, 0.0)
        vocabulary = make_vocabulary(tokens, merges, whole_pretokens=False)
        if order == "ranks":  # those of training
            text = random_text(seed, 300)
            vocabulary = tokenmill.train_from_iterator([text], 256 + rng.randrange(10, 90)).vocabulary
            merges = vocabulary.events.tolist()
        pretokens = random_pretokens(rng, b"abcde" if order == "ranks" else b"abc", 12)
        counts = WordCounts.from_mapping(pretokens)
        threshold = rng.choice([0.5, 0.6, 0.8, 0.9, 1.0])
        expected, segmented = removals_by_definition([tuple(row) for row in merges], pretokens, threshold)

        ordered = vocabulary.replace(order="events", whole_pretokens=False)
        cleaned = insert_removals(ordered, counts, threshold)
        assert [tuple(row) for row in cleaned.events.tolist()] == expected, seed
        encode = Tokenizer(cleaned)._core.encode_pretoken
        assert [encode(pretoken) for pretoken in pretokens] == segmented, seed
        found += len(expected) - len(merges)
    assert found > 20


@pytest.mark.parametrize("order", ["merges", "ranks"])
def test_ids_that_stay_mean_the_same(order):
    for seed in range(15 * SWEEP):
        rng = random.Random(seed)
        trained = tokenmill.train_from_iterator([random_text(seed, 800)], 340, special_tokens=["<|end|>"])
        tok = trained
        if order == "ranks":
            special = (AddedToken("<|end|>", 339),)
            tok = Tokenizer(
                make_vocabulary(
                    trained.vocabulary.tokens, split_patterns=trained.vocabulary.split_patterns, added_tokens=special
                )
            )
        counts = tokenmill.count_iterator([random_text(seed, 300)])
        result = prune(tok, ios=rng.choice([0.6, 0.9]), counts=counts)
        kept = np.flatnonzero(result.id_map >= 0)
        assert (
            result.dropped
            and sorted(result.id_map[kept].tolist()) == list(range(len(kept)))
            and len(kept) == result.tok.n_vocab
        )
        assert all(tok.decode_bytes([old]) == result.tok.decode_bytes([result.id_map[old]]) for old in kept.tolist())
        alike = 0
        for _ in range(300):
            text = "".join(rng.choices("abcde ", k=rng.randrange(1, 12))) + rng.choice(["", "ade", " ed"])
            old, new = tok.encode(text), result.tok.encode(text)
            assert result.tok.decode(new) == text
            if (result.id_map[old] >= 0).all():
                alike += 1
                assert new == result.id_map[old].tolist(), (seed, text)
        assert alike > 50


def test_event_counts_hold_the_ios():
    tok = tokenmill.train_from_iterator([random_text(1)], 330)
    counts = tokenmill.count_iterator([random_text(1)])
    cleaned = prune(tok, ios=0.9, counts=counts).tok.vocabulary
    removals = cleaned.events[:, 1] < 0
    part, whole = cleaned.event_counts[removals].T.tolist()
    assert removals.any() and all(10 * a >= 9 * b > 0 for a, b in zip(part, whole, strict=True))
    assert (cleaned.event_counts[~removals, 1] == 0).all()


def test_wrong_calls():
    counts = WordCounts.from_mapping({b"aa": 5})
    tok = Tokenizer(make_vocabulary([*BYTES, b"aa"], [(97, 97, 256)]))
    for wrong in ({"ios": 0.9}, {"counts": counts}, {"ids": [256], "ios": 0.9, "counts": counts}):
        with pytest.raises(UsageError, match="ios with counts"):
            prune(tok, **wrong)
    with pytest.raises(UsageError, match="above 0 and at most 1"):
        prune(tok, ios=1.5, counts=counts)
    picky = tokenmill.train_from_iterator([random_text(1)], 300, refine=0.9)
    with pytest.raises(UsageError, match="by events already"):
        prune(picky, ios=0.9, counts=counts)
    twice = make_vocabulary(
        [*BYTES, b"ab", b"bc", b"abc"], [(97, 98, 256), (98, 99, 257), (97, 257, 258), (256, 99, 258)]
    )
    with pytest.raises(UsageError, match="does not give token 258"):
        prune(Tokenizer(twice), ios=0.9, counts=counts)
