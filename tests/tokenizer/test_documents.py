"""The block kernel gives each document the ids it has alone, whatever stands beside it in the block."""

from array import array
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tokenmill import AddedToken, Tokenizer, Vocabulary
from tokenmill.errors import UsageError

TOKENS = (*(bytes([i]) for i in range(256)), b"ab", b" a", b"abab", "é".encode(), b"\n\n", b"  ")
ADDED = (AddedToken("<|end|>", 300), AddedToken("<|also|>", 301))
ALWAYS = (*ADDED, AddedToken("[KEEP]", 302, special=False))
PATTERNS = {
    "automaton": (("cl100k",), ADDED),
    "two patterns": ((r"\d|\D+", "gpt2"), ADDED),
    "regex module": ((r"(?<!x)a|[\s\S]",), ADDED),
    "whole texts": ((), ADDED),
    "tokens in any text": (("cl100k",), ALWAYS),
}
WORDS = ["a", "ab", "abab", " a", " ", "\n", "é", "漢字", "12", "'s", "x" * 40, "<|end|>", "[KEEP]", "<|al"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map("".join)


@pytest.fixture(scope="module", params=PATTERNS)
def tok(request):
    patterns, added = PATTERNS[request.param]
    return Tokenizer(Vocabulary(TOKENS, patterns, added_tokens=added))


@settings(max_examples=60, deadline=None)
@example(["", "", "a", "", ""], "all", 3, False, 2)
@example([], frozenset(), -1, False, 4)
@example(["ab" * 400, "é" * 300, *["a"] * 900], frozenset(), 7, True, 4)
@given(
    st.lists(TEXTS, max_size=30),
    st.sampled_from(["all", frozenset()]),
    st.sampled_from([-1, 300]),
    st.booleans(),
    st.sampled_from([2, 4]),
)
def test_documents_of_a_block(tok, texts, allowed, end_of_text, goes_on, width):
    goes_on = goes_on and bool(texts)
    data = "".join(texts).encode()
    ends = array("Q", accumulate(len(text.encode()) for text in texts))
    plan = tok._core.plan(allowed, ())
    ids, id_ends = tok._core.encode_documents(data, ends, plan, goes_on, end_of_text, width)
    found = np.frombuffer(ids, f"<u{width}").tolist()
    expected = [tok.encode(text, allowed_special=allowed, disallowed_special=()) for text in texts]
    for own in expected[: len(texts) - goes_on]:
        own += [end_of_text] if end_of_text >= 0 else []
    assert found == [id for own in expected for id in own]
    assert [found[a:b] for a, b in pairwise([0, *id_ends])] == expected[: len(texts) - goes_on]


def test_a_byte_without_a_token_is_an_error():
    tok = Tokenizer(Vocabulary((b"a", b"b"), ("gpt2",)))
    with pytest.raises(UsageError, match="no token for b'c'"):
        tok._core.encode_documents(b"abc", array("Q", [2, 3]), tok._core.plan(frozenset(), ()))
