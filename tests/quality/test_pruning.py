"""A pruned vocabulary builds all that it keeps, and encodes the text it was pruned on as before."""

import os
import random

import numpy as np
import pytest
from quality_examples import BYTES, make_vocabulary, random_events, random_pretokens

from tokenmill import AddedToken, CountOptions, Tokenizer, WordCounts, count, inspect
from tokenmill.errors import UsageError
from tokenmill.quality.certificate import certify
from tokenmill.quality.pruning import prune, shrink

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))


def test_worked_example():
    """low needs ow; with low gone, ow may go too."""
    vocabulary = make_vocabulary([*BYTES, b"ow", b"low", b"er"], [(111, 119, 256), (108, 256, 257), (101, 114, 258)])
    tok = Tokenizer(vocabulary)
    asked = prune(tok, ids=[256])
    assert asked.needed == [256] and asked.dropped == 0 and asked.tok == tok
    both = prune(tok, ids=[256, 257])
    assert both.needed == [] and both.dropped == 2 and both.id_map[258] == 256 and both.id_map[257] == -1
    assert both.tok.encode("lower") == [108, 111, 119, 256]
    assert both.tok.events == [("merge", 101, 114, 256)]


def test_unused():
    vocabulary = make_vocabulary([*BYTES, b"ow", b"low", b"er"], [(111, 119, 256), (108, 256, 257), (101, 114, 258)])
    result = shrink(Tokenizer(vocabulary), text=WordCounts.from_mapping({b"low": 3, b"e": 1}))
    bytes_unused = sorted({*range(256)} - {ord("e")})
    assert result.needed == [*bytes_unused, 256] and result.id_map.tolist()[256:] == [256, 257, -1]
    rare = shrink(Tokenizer(vocabulary), text=WordCounts.from_mapping({b"low": 3, b"er": 9}), min_uses=4)
    assert rare.id_map.tolist()[256:] == [-1, -1, 256]


def test_uses_are_those_of_the_weighted_text(tmp_path):
    """With the weights 1 and 3/2 all counts are doubled, and the least number of uses with them."""
    vocabulary = make_vocabulary([*BYTES, b"ow", b"er"], [(111, 119, 256), (101, 114, 257)])
    (tmp_path / "a.txt").write_text("ow\n" * 3)
    (tmp_path / "b.txt").write_text("er\n" * 3)
    files, weights = [tmp_path / "a.txt", tmp_path / "b.txt"], {str(tmp_path / "b.txt"): "3/2"}
    counts = count(files, split=vocabulary.split_patterns, options=CountOptions(weights=weights))
    tok = Tokenizer(vocabulary)
    assert shrink(tok, text=counts, min_uses=3).dropped == 0
    assert shrink(tok, text=counts, min_uses=4).id_map.tolist()[256:] == [-1, 256]
    report = inspect(tok, text=counts)
    assert str(report.table("text").pairs("what", "value")["counts are multiplied by"]) == "2"
    assert report.lead.endswith("Counts are times 2, the common denominator of the weights.")
    plain = inspect(tok, text=count(files, split=vocabulary.split_patterns))
    assert "multiplied" not in str(plain.table("text").rows) and "times" not in plain.lead


@pytest.mark.parametrize("order", ["merges", "events", "ranks"])
def test_text_is_encoded_as_before(order):
    for seed in range(60 * SWEEP):
        rng = random.Random(seed)
        tokens, events = random_events(rng, b"abc", 30, 0.3 if order == "events" else 0.0)
        vocabulary = make_vocabulary(
            tokens, None if order == "ranks" else events, order, whole_pretokens=bool(seed % 2)
        )
        tok = Tokenizer(vocabulary)
        pretokens = random_pretokens(rng, b"abc", 6)
        result = shrink(tok, text=WordCounts.from_mapping(pretokens))
        for pretoken in pretokens:
            before = tok.encode_bytes(pretoken)
            assert result.tok.encode_bytes(pretoken) == result.id_map[before].tolist(), (seed, pretoken)
            assert result.tok.decode_bytes(result.tok.encode_bytes(pretoken)) == pretoken


@pytest.mark.parametrize("order", ["merges", "ranks"])
def test_what_stays_can_be_built(order):
    for seed in range(60 * SWEEP):
        rng = random.Random(seed)
        tokens, events = random_events(rng, b"abc", 30, 0.0)
        tok = Tokenizer(make_vocabulary(tokens, None if order == "ranks" else events, order, whole_pretokens=False))
        asked = rng.sample(range(256, len(tokens)), 8)
        result = prune(tok, ids=asked)
        assert set(np.flatnonzero(result.id_map < 0)) == set(asked) - set(result.needed)
        for old, new in enumerate(result.id_map.tolist()):
            if new >= 0:
                assert result.tok.decode_single_token_bytes(new) == tokens[old]
                if tok.encode_bytes(tokens[old]) == [old]:
                    assert result.tok.encode_bytes(tokens[old]) == [new], (seed, tokens[old])
        kept = [new for new in result.id_map.tolist() if new >= 0]
        assert kept == list(range(len(kept)))  # dense, in the old order


def test_added_tokens_keep_their_place_in_the_order():
    vocabulary = make_vocabulary(
        [None, *BYTES, b"aa", None, b"bb"],
        [(98, 98, 257), (99, 99, 259)],
        added_tokens=(AddedToken("<pad>", 0), AddedToken("<eot>", 258)),
    )
    result = prune(Tokenizer(vocabulary), ids=[257])
    assert result.id_map[[0, 256, 257, 258, 259]].tolist() == [0, 256, -1, 257, 258]
    assert result.tok.vocabulary.special_tokens == {"<pad>": 0, "<eot>": 257}
    assert result.tok.encode("bb<eot>", allowed_special="all") == [258, 257]
    assert prune(Tokenizer(vocabulary), ids=[258]).tok.special_tokens_set == {"<pad>"}


def test_characters():
    tokens = [b"?", "é".encode(), b"a", "éa".encode()]
    tok = Tokenizer(make_vocabulary(tokens, [(1, 2, 3)], alphabet="characters", unknown=0, whole_pretokens=False))
    result = prune(tok, ids=[3])
    assert result.tok.encode("éaü") == [1, 2, 0] and result.tok.n_vocab == 3
    with pytest.raises(UsageError, match="alphabet"):
        prune(tok, ids=[1])


def test_wrong_calls():
    tok = Tokenizer(make_vocabulary([*BYTES, b"aa"], [(97, 97, 256)]))
    with pytest.raises(UsageError, match="give either"):
        prune(tok)
    with pytest.raises(UsageError, match="give either"):
        prune(tok, ids=[256], ios=0.9)
    with pytest.raises(UsageError, match="300 is not an id"):
        prune(tok, ids=[300])
    with pytest.raises(UsageError, match="alphabet"):
        prune(tok, ids=[97])


def test_shrink_to_scripts():
    tokens = [*BYTES, "да".encode()[:2], "да".encode()[2:], "да".encode(), b"ab", b"12", "aд".encode(), " да".encode()]
    merges = [
        (208, 180, 256),
        (208, 176, 257),
        (256, 257, 258),
        (97, 98, 259),
        (49, 50, 260),
        (97, 256, 261),
        (32, 258, 262),
    ]
    tok = Tokenizer(make_vocabulary(tokens, merges, added_tokens=(AddedToken("<end>", 263),)))
    cyrillic = shrink(tok, scripts=["Cyrillic"])
    assert np.flatnonzero(cyrillic.id_map < 0).tolist() == [259, 261]
    assert max(cyrillic.needed) < 256  # bytes, which stay
    assert cyrillic.tok.encode(" да12ab") == [260, 259, 97, 98]
    latin = shrink(tok, scripts=["Latn"])
    assert np.flatnonzero(latin.id_map < 0).tolist() == [256, 257, 258, 261, 262]
    both = shrink(tok, text=WordCounts.from_mapping({" да".encode(): 3}), scripts=["Latin"])
    assert np.flatnonzero(both.id_map < 0).tolist() == [261] and [id for id in both.needed if id > 255] == [
        256,
        257,
        258,
    ]
    with pytest.raises(UsageError, match="not a Unicode script"):
        shrink(tok, scripts=["Klingon"])
    with pytest.raises(UsageError, match="a list"):
        shrink(tok, scripts="Latin")
    with pytest.raises(UsageError, match="give a text"):
        shrink(tok)


def test_byte_tokens_and_decode_only_keep_their_meaning():
    """The ids of byte fallback and of entries that are only decoded were not renumbered."""
    tokens = [b"?", b"a", b"b", b"ab", *BYTES]
    tok = Tokenizer(
        make_vocabulary(
            tokens,
            [(1, 2, 3)],
            alphabet="characters",
            unknown=0,
            whole_pretokens=False,
            byte_tokens=tuple(range(4, 260)),
            decode_only=((260, b"<unused>"),),
        )
    )
    result = prune(tok, ids=[3])
    assert result.tok.encode("abé") == [1, 2, 3 + 0xC3, 3 + 0xA9] and result.tok.decode([259]) == "<unused>"


def test_what_stays_of_a_picky_vocabulary_is_encoded_alike():
    """Any present token can go, also one that others are merged from: its removal follows the other events."""
    for seed in range(60 * SWEEP):
        rng = random.Random(seed)
        tokens, events = random_events(rng, b"abc", 30, 0.3)
        tok = Tokenizer(make_vocabulary(tokens, events, "events"))
        present = [id for id in range(256, len(tokens)) if id not in tok.vocabulary.removed]
        asked = rng.sample(present, min(3, len(present)))
        result = prune(tok, ids=asked)
        assert result.needed == [] and result.tok.n_vocab == tok.n_vocab - len(asked) - len(
            [id for id in tok.vocabulary.removed if id < tok.n_vocab]
        )
        certify(tok, result.tok, result.id_map, WordCounts.from_mapping(random_pretokens(rng, b"abc", 30)))
