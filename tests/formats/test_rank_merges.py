"""Ranks and merges: derived merges give the ids that ranks give, and vocabularies that differ are told apart."""

import os
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive_encoder import merge_by_list, merge_by_ranks
from tokenmill.errors import ConversionError
from tokenmill.formats.rank_merges import merges_of_ranks, only_whole, present_by_rank, ranks_of
from tokenmill.vocabulary import Vocabulary

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))


def encode_by_merges(pretoken, rows, tokens):
    """Merge order with the whole-pretoken rule."""
    ids = {token: id for id, token in enumerate(tokens) if token is not None}
    places = {(left, right): (place, new) for place, (left, right, new) in enumerate(rows)}
    starts = [ids[pretoken[i : i + 1]] for i in range(len(pretoken))]
    return [ids[pretoken]] if pretoken in ids else merge_by_list(starts, places)


@st.composite
def ranked_tokens(draw):
    """Any set of tokens over two or three letters in any order: most are nothing that training would make."""
    letters = [bytes([letter]) for letter in draw(st.sampled_from([b"ab", b"abc"]))]
    longer = st.lists(st.sampled_from(letters), min_size=2, max_size=6).map(b"".join)
    tokens = letters + draw(st.lists(longer, max_size=12, unique=True))
    return draw(st.permutations(tokens)) if draw(st.booleans()) else tokens


@given(ranked_tokens(), st.data())
@settings(max_examples=300 * SWEEP, deadline=None)
def test_derived_merges_give_the_ids_of_the_ranks(tokens, data):
    rows = merges_of_ranks(tokens)[0].tolist()
    ranks = {token: id for id, token in enumerate(tokens)}
    letters = sorted({token for token in tokens if len(token) == 1})
    for _ in range(4):
        pretoken = b"".join(data.draw(st.lists(st.sampled_from(letters), min_size=1, max_size=14)))
        expected = [ranks[pretoken]] if pretoken in ranks else merge_by_ranks(pretoken, ranks)
        assert encode_by_merges(pretoken, rows, tokens) == expected


def test_the_pair_of_a_token_is_what_lower_ranks_leave_of_it():
    tokens = [bytes([i]) for i in range(256)] + [b"bc", b"ab", b"abc", b"abcd"]
    rows, unbuilt = merges_of_ranks(tokens)
    assert rows.tolist() == [[98, 99, 256], [97, 98, 257], [97, 256, 258], [258, 100, 259]]
    assert unbuilt == []


def test_a_token_that_no_pair_builds_is_told_and_joined_from_higher_ids():
    tokens = [b"a", b"b", b"c", b"abc", b"bc", b"cba"]
    rows, unbuilt = merges_of_ranks(tokens)
    assert unbuilt == [3, 5]
    assert [0, 4, 3] in rows.tolist()  # abc out of a and bc, though bc comes later
    ranks = {token: id for id, token in enumerate(tokens)}
    assert merge_by_ranks(b"aabc", ranks) == [0, 3] == encode_by_merges(b"aabc", rows.tolist(), tokens)


def test_holes_and_missing_bytes_are_passed_over():
    rows, unbuilt = merges_of_ranks([b"a", None, b"aa", None, b"ab"])
    assert rows.tolist() == [[0, 0, 2]]
    assert unbuilt == [4]


def test_every_token_of_cl100k_is_built_by_one_pair(cl100k):
    rows, unbuilt = merges_of_ranks(cl100k.tokens)
    assert len(rows) == 100_000 and unbuilt == []
    assert (rows[:, 2] == np.arange(256, 100_256)).all()
    picked = {*random.Random(5).sample(range(256, 100_256), 2000)}
    lower = {}
    for id, token in enumerate(cl100k.tokens):
        if id in picked:
            assert merge_by_ranks(token, lower) == rows[id - 256, :2].tolist()
        lower[token] = id


def test_a_trained_vocabulary_is_ranks_as_it_stands(plain):
    assert ranks_of(plain, "it") == (list(plain.tokens), [])
    assert only_whole(plain.tokens, plain.events.tolist()) is None


def test_tokens_that_no_merge_makes_are_left_out_and_told(plain):
    extended = plain.replace(tokens=(*plain.tokens, None, b"<unk>"))
    tokens, notes = ranks_of(extended, "it")
    assert tokens == [*plain.tokens, None, None]
    assert notes == [f"left out 1 token that no merge makes, such as b'<unk>' (id {len(plain.tokens) + 1})"]


def vocabulary_of(extra, rows, **fields):
    tokens = tuple([bytes([i]) for i in range(256)] + extra)
    return Vocabulary(tokens, (), "merges", np.array(rows, np.int32), whole_pretokens=False, **fields)


@pytest.mark.parametrize(
    ("extra", "rows", "said"),
    [
        # " ab" would be joined from " a" and "b" by rank, but only " " and "ab" are listed.
        (
            [b" a", b"ab", b" ab"],
            [(32, 97, 256), (97, 98, 257), (32, 257, 258)],
            r"b' a' \+ b'b' would merge to b' ab'",
        ),
        ([b"ab", b"cd"], [(99, 100, 257), (97, 98, 256)], r"merge 1 makes b'ab' \(id 256\) after b'cd' \(id 257\)"),
        ([b"abc", b"bc"], [(98, 99, 257), (97, 257, 256)], "ids must ascend"),
    ],
)
def test_merges_that_are_no_ranks_are_refused(extra, rows, said):
    with pytest.raises(ConversionError, match=said):
        ranks_of(vocabulary_of(extra, rows), "tiktoken")


def test_extra_merges_that_ranks_imply_are_welcome():
    # As transformers writes a converted tiktoken vocabulary: every way to cut a token in two is a merge.
    rows = [(97, 98, 256), (98, 99, 257), (256, 99, 258), (97, 257, 258)]
    assert ranks_of(vocabulary_of([b"ab", b"bc", b"abc"], rows), "it")[1] == []


def test_picky_vocabularies_are_refused_unless_reduced_to_what_is_present(picky):
    with pytest.raises(ConversionError, match="lossy=True"):
        ranks_of(picky, "it")
    reduced = present_by_rank(picky)
    assert reduced.order == "ranks" and reduced.whole_pretokens
    assert [id for id, token in enumerate(reduced.tokens) if token and len(token) > 1] == [256, 257, 258]
