"""The calls of tiktoken, for cl100k_base and the ranks of GPT-2."""

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parity_examples import EXAMPLES, texts, texts_with_surrogates

import tokenmill
from tokenmill.errors import SpecialTokenError

tiktoken = pytest.importorskip("tiktoken")
NAMES = ("cl100k", "gpt2")


@pytest.mark.parametrize("name", NAMES)
def test_hypothesis_texts(tiktoken_pairs, name):
    pair = tiktoken_pairs[name]

    @given(texts)
    @settings(max_examples=EXAMPLES, deadline=None)
    def check(text):
        ids = pair.ours.encode_ordinary(text)
        assert ids == pair.encode(text)
        assert pair.ours.decode(ids) == text
        assert pair.ours.encode(text, disallowed_special=()) == ids
        assert pair.ours.encode_to_numpy(text, disallowed_special=()).tolist() == ids
        assert pair.ours.decode_with_offsets(ids) == pair.theirs.decode_with_offsets(ids)

    check()


@pytest.mark.parametrize("name", NAMES)
def test_lone_surrogates(tiktoken_pairs, name):
    pair = tiktoken_pairs[name]

    @given(texts_with_surrogates)
    @settings(max_examples=EXAMPLES, deadline=None)
    def check(text):
        ids = pair.ours.encode_ordinary(text)
        assert ids == pair.encode(text)
        assert pair.ours.encode_batch([text, "a", text], disallowed_special=()) == [ids, pair.encode("a"), ids]
        assert pair.ours.count_tokens(text, disallowed_special=()) == len(ids)
        assert pair.ours.decode(ids) == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    check()


@pytest.mark.parametrize("name", NAMES)
def test_bytes_there_and_back(tiktoken_pairs, name):
    """Bytes that are UTF-8 get the ids of their text; others come back as they were."""
    pair = tiktoken_pairs[name]

    @given(
        st.binary()
        | texts.map(str.encode)
        | st.lists(st.sampled_from([b"a", b" ", b"\xff", b"\xe6\xbc", b"\xa2"])).map(b"".join)
    )
    @settings(max_examples=EXAMPLES, deadline=None)
    def check(data):
        ids = pair.ours.encode_bytes(data)
        assert pair.ours.decode_bytes(ids) == data == pair.theirs.decode_bytes(ids)
        assert pair.ours.decode(ids) == data.decode("utf-8", "replace")
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return
        assert ids == pair.encode(text)

    check()


def test_the_parts_of_the_vocabulary(tiktoken_pairs):
    for pair in tiktoken_pairs.values():
        assert pair.ours.n_vocab == pair.theirs.n_vocab
        assert pair.ours.max_token_value == pair.theirs.max_token_value
        assert pair.ours.eot_token == pair.theirs.eot_token
        assert pair.ours.special_tokens_set == pair.theirs.special_tokens_set
        assert pair.ours.token_byte_values() == pair.theirs.token_byte_values()
        for token in (b"the", b" ", "\u00e9".encode(), b"<|endoftext|>"):
            assert pair.ours.encode_single_token(token) == pair.theirs.encode_single_token(token)


# Specials that overlap, and stand within one another; none begins another, where tiktoken's order is that of a hash map.
SPECIALS = ["<|a|>", "a|><|", "|b|", "<|x<|y|>z|>", "<|y|>", "é|>", "<<", "x<|"]


@pytest.fixture(scope="module")
def with_specials(tiktoken_pairs):
    theirs = tiktoken_pairs["cl100k"].theirs
    names = {text: 100_300 + i for i, text in enumerate(SPECIALS)}
    encoding = tiktoken.Encoding(
        "specials", pat_str=theirs._pat_str, mergeable_ranks=theirs._mergeable_ranks, special_tokens=names
    )
    ours = tiktoken_pairs["cl100k"].ours.vocabulary
    added = tuple(tokenmill.AddedToken(text, id) for text, id in names.items())
    return tokenmill.Tokenizer(tokenmill.Vocabulary(ours.tokens, ours.split_patterns, added_tokens=added)), encoding


def test_overlapping_and_nested_special_tokens(with_specials):
    ours, theirs = with_specials
    parts = sorted(
        {*SPECIALS, *(special[i:] for special in SPECIALS for i in range(1, len(special))), *string.printable[::9]}
    )
    subsets = st.sets(st.sampled_from(SPECIALS))

    @given(st.lists(st.sampled_from(parts), max_size=12).map("".join), subsets, subsets | st.just("all"))
    @settings(max_examples=5 * EXAMPLES, deadline=None)
    def check(text, allowed, disallowed):
        try:
            expected = theirs.encode(text, allowed_special=allowed, disallowed_special=disallowed)
        except ValueError:
            with pytest.raises(SpecialTokenError):
                ours.encode(text, allowed_special=allowed, disallowed_special=disallowed)
            return
        assert ours.encode(text, allowed_special=allowed, disallowed_special=disallowed) == expected
        assert ours.decode(expected) == text

    check()


def test_special_tokens_are_refused_as_in_tiktoken(tiktoken_pairs):
    ours, theirs = tiktoken_pairs["cl100k"].ours, tiktoken_pairs["cl100k"].theirs
    text = "a<|endoftext|>b<|fim_prefix|>"
    for options in ({}, {"allowed_special": {"<|endoftext|>"}}, {"disallowed_special": {"b<"}}):
        for tok in (ours, theirs):
            with pytest.raises(ValueError, match=re.escape("allow")):
                tok.encode(text, **options)
    for options in (
        {"allowed_special": "all"},
        {"disallowed_special": ()},
        {"allowed_special": {"<|endoftext|>"}, "disallowed_special": ()},
        {"allowed_special": {"<|fim_prefix|>"}, "disallowed_special": {"<|fim_suffix|>"}},
    ):
        assert ours.encode(text, **options) == theirs.encode(text, **options)


PIECES = ["low", " low", "est", " ", "  ", "\n", " \n\n", "\t", "12", "é", " 漢", "'s", "!", "<|endoftext|>", "x"]


@given(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), st.booleans())
@settings(max_examples=EXAMPLES, deadline=None)
def test_encode_with_unstable(trained, text, specials):
    ours, theirs = trained
    options = {"allowed_special": "all"} if specials else {"disallowed_special": ()}
    stable, completions = theirs.encode_with_unstable(text, **options)
    assert ours.encode_with_unstable(text, **options) == (stable, sorted(completions))


@pytest.fixture(scope="module")
def trained():
    texts = ["low lower lowest newest 12 123 é 漢字 it's\n\n  \t!"] * 3
    tok = tokenmill.train_from_iterator(texts, vocab_size=300, split="cl100k", special_tokens=["<|endoftext|>"])
    return tok, tok.to_tiktoken()
