"""Replaced tokens: all other ids mean the same, and texts without replaced and new tokens keep their ids."""

import os
import random

import numpy as np
import pytest
from quality_examples import BYTES, make_vocabulary, random_events, random_pretokens, random_text

import tokenmill
from tokenmill import AddedToken, Tokenizer, Vocabulary, WordCounts
from tokenmill.errors import UsageError
from tokenmill.quality.extending import least_used, replace, worth_replacing
from tokenmill.quality.usage import measure_usage

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))


def trained(seed: int, order: str) -> Tokenizer:
    options = {"refine": 0.6} if order == "events" else {}
    tok = tokenmill.train_from_iterator([random_text(seed, 800)], 330, special_tokens=["<|end|>"], **options)
    if order != "ranks":
        return tok
    vocabulary = tok.vocabulary
    return Tokenizer(Vocabulary(vocabulary.tokens, vocabulary.split_patterns, added_tokens=vocabulary.added_tokens))


def test_worked_example():
    tokens = [*BYTES, b"ab", b"cd", b"abcd", b"ef"]
    tok = Tokenizer(make_vocabulary(tokens, [(97, 98, 256), (99, 100, 257), (256, 257, 258), (101, 102, 259)]))
    text = WordCounts.from_mapping({b"low": 9, b"abx": 8, b"ef": 1})
    assert list(least_used(tok, np.bincount([256] * 8 + [259], minlength=260))) == [
        (258, 0),
        (257, 0),
        (259, 1),
        (256, 8),
    ]
    result = replace(tok, text, number=2)
    assert result.id_map.tolist() == [*range(257), -1, -1, 259]
    assert result.new_rows == {257: [108, 111], 258: [108, 111, 119]}
    assert result.tok.encode("low") == [258] and result.tok.encode("lo") == [257]
    assert result.tok.encode("ef") == [259] and result.tok.encode("abcd") == [256, 99, 100]


@pytest.mark.parametrize("order", ["merges", "events", "ranks"])
def test_no_new_token_contains_a_special_one(order):
    tok = trained(1, order)
    text = WordCounts.from_mapping(
        {b"<|end|>": 90, b"x<|end|>zq": 80, b"low": 5}, split_patterns=tok.vocabulary.split_patterns
    )
    kept = WordCounts.from_mapping({b"<|end|>": 9}, split_patterns=tok.vocabulary.split_patterns)
    better = replace(tok, text, number=3, keep=kept)
    new = {better.tok.vocabulary.tokens[id] for id in better.new_rows}
    assert b"zq" in new and new <= {b"zq", b"lo", b"ow", b"low"}


def test_how_many_are_worth_replacing():
    tokens = [*BYTES, b"ab", b"cd", b"abcd", b"ef"]
    tok = Tokenizer(make_vocabulary(tokens, [(97, 98, 256), (99, 100, 257), (256, 257, 258), (101, 102, 259)]))

    def worth(**words):
        counts = WordCounts.from_mapping({word.encode(): count for word, count in words.items()})
        usage = measure_usage(tok, counts)
        return worth_replacing(tok, usage, usage.by_id), replace(tok, counts)

    found, replaced = worth(low=900, abx=800, ef=100)  # pairs: lo 900, ow 900, abx 800; ab is used 800 times
    assert found == (3, 100, 800) and np.flatnonzero(replaced.id_map < 0).tolist() == [257, 258, 259]
    found, replaced = worth(low=99)  # too rare to say that its pairs are worth a token
    assert found == (0, 0, 0) and replaced.new_rows == {} and (replaced.id_map == np.arange(260)).all()
    assert worth(l=900)[0] == (0, 0, 0)


def test_the_least_used_come_first():
    for seed in range(40 * SWEEP):
        rng = random.Random(seed)
        tokens, merges = random_events(rng, b"abc", 25, 0.0)
        tok = Tokenizer(make_vocabulary(tokens, merges, whole_pretokens=False))
        uses = [rng.randrange(5) for _ in tokens]
        given = np.array(uses, np.uint64)
        left, expected = set(range(256, len(tokens))), []
        for _ in range(len(left)):
            needed = {part for *parts, new in merges if new in left for part in parts}
            least = min(left - needed, key=lambda id: (uses[id], -id))
            expected.append((least, uses[least]))
            left.discard(least)
            for part in next(set(parts) for *parts, new in merges if new == least):
                uses[part] += uses[least]
        assert list(least_used(tok, given)) == expected, seed


@pytest.mark.parametrize("order", ["merges", "ranks", "events"])
def test_ids_that_stay_mean_the_same(order, tmp_path):
    for seed in range(8 * SWEEP):
        rng = random.Random(seed)
        tok = trained(seed, order)
        other = tokenmill.count_iterator([random_text(seed + 50, 500)])
        result = replace(tok, other, number=12)
        assert (result.id_map[: tok.n_vocab] < 0).sum() == len(result.new_rows) == 12
        assert result.tok.n_vocab == tok.n_vocab and result.tok.special_tokens_set == tok.special_tokens_set
        result.tok.save(tmp_path / "tok", overwrite=True)
        new = tokenmill.load(tmp_path / "tok")
        for old, id in enumerate(result.id_map.tolist()):
            assert id in (-1, old)
            assert id < 0 or (old not in tok.vocabulary.removed and new.decode_bytes([id]) == tok.decode_bytes([old]))
        for id, parts in result.new_rows.items():
            assert tok.decode_bytes(parts) == new.decode_bytes([id])
        alike = 0
        theirs = None if order == "events" else new.to_hf()
        for _ in range(300):
            text = "".join(rng.choices("abcde ", k=rng.randrange(1, 12))) + rng.choice(["", "ade", " ed"])
            before, after = tok.encode(text), new.encode(text)
            assert theirs is None or theirs.encode(text).ids == after
            assert new.decode(after) == text
            if (result.id_map[before] >= 0).all() and not result.new_rows.keys() & set(after):
                alike += 1
                assert before == after, (seed, text)
        assert alike > 50
        usage = [sum(count * len(t._core.encode_pretoken(p)) for p, count in other.items()) for t in (tok, new)]
        assert usage[1] < usage[0]


def test_random_vocabularies():
    for seed in range(60 * SWEEP):
        rng = random.Random(seed)
        order = rng.choice(["merges", "events"])
        tokens, merges = random_events(rng, b"abc", 30, 0.3 if order == "events" else 0.0)
        tok = Tokenizer(
            make_vocabulary(
                tokens,
                merges,
                order,
                whole_pretokens=order == "merges" and seed % 2 == 0,
                refine=0.9 if order == "events" else None,
            )
        )
        pretokens = random_pretokens(rng, b"abc", 8)
        result = replace(tok, WordCounts.from_mapping(random_pretokens(rng, b"abc", 8)), number=rng.randrange(1, 5))
        for pretoken in pretokens:
            before, after = tok.encode_bytes(pretoken), result.tok.encode_bytes(pretoken)
            assert result.tok.decode_bytes(after) == pretoken
            if (result.id_map[before] >= 0).all() and not result.new_rows.keys() & set(after):
                assert before == after, (seed, pretoken)


def test_more_text_whose_tokens_are_kept():
    tokens = [*BYTES, b"ab", b"cd", b"ef"]
    tok = Tokenizer(make_vocabulary(tokens, [(97, 98, 256), (99, 100, 257), (101, 102, 258)]))
    text, keep = WordCounts.from_mapping({b"low": 9, b"ab": 2}), WordCounts.from_mapping({b"cd": 1, b"ef": 5})
    assert np.flatnonzero(replace(tok, text, number=1).id_map < 0) == [258]
    assert np.flatnonzero(replace(tok, text, number=1, keep=keep).id_map < 0) == [257]


def test_a_text_that_runs_out_of_pairs_leaves_ids_without_a_token():
    tokens = [*BYTES, b"ab", b"cd", b"ef"]
    special = (AddedToken("<end>", 259),)
    tok = Tokenizer(make_vocabulary(tokens, [(97, 98, 256), (99, 100, 257), (101, 102, 258)], added_tokens=special))
    result = replace(tok, WordCounts.from_mapping({b"xy": 3}), number=3)
    assert result.new_rows == {256: [120, 121]} and result.id_map.tolist()[256:] == [-1, -1, -1, 259]
    assert result.tok.encode("xyab<end>", allowed_special="all") == [256, 97, 98, 259]


def test_wrong_calls():
    text = WordCounts.from_mapping({b"aaaa": 5})
    special = (AddedToken("<end>", 257),)
    tok = Tokenizer(make_vocabulary([*BYTES, b"aa"], [(97, 97, 256)], added_tokens=special))
    with pytest.raises(UsageError, match="only 1 token "):
        replace(tok, text, number=9)
    for wrong in (0, 1.5, "2"):
        with pytest.raises(UsageError, match=r"at least 1|a whole number"):
            replace(tok, text, number=wrong)
    for change in (tokenmill.extend, tokenmill.export_loss, replace):
        with pytest.raises(UsageError, match=r"tok is 'gpt2'.* it must be a Tokenizer; tokenmill.load opens"):
            change("gpt2", text, **{"vocab_size": 300} if change is tokenmill.extend else {})
    for change in (tokenmill.prune, tokenmill.shrink):
        with pytest.raises(UsageError, match="it must be a Tokenizer"):
            change("gpt2", **{"ids": [300]} if change is tokenmill.prune else {"text": text})
    with pytest.raises(UsageError, match="not 3"):
        tokenmill.inspect(tok, text=3)
    characters = Tokenizer(make_vocabulary([b"?", b"a"], [], alphabet="characters", unknown=0, order="merges"))
    with pytest.raises(UsageError, match="characters"):
        replace(characters, text, number=1)
