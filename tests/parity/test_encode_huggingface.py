"""The ids of Hugging Face tokenizers, for GPT-2 and GPT-NeoX-20B with its added tokens."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parity_examples import EXAMPLES, same_ids, texts

pytest.importorskip("tokenizers")
NAMES = ("gpt2", "gpt-neox-20b")


@pytest.mark.parametrize("name", NAMES)
def test_hypothesis_texts(huggingface_pairs, name):
    pair = huggingface_pairs[name]
    contents = [token.content for token in pair.ours.vocabulary.added_tokens]

    @given(texts | st.lists(st.sampled_from([*contents, "a", " ", "\n", "é", "<|", "|>", "  "])).map("".join))
    @settings(max_examples=EXAMPLES, deadline=None)
    def check(text):
        ids = pair.ours.encode(text, allowed_special="all")
        assert ids == pair.encode(text)
        if not pair.ours.vocabulary.normalization.normalizers:
            assert pair.ours.decode(ids) == text

    check()


def test_every_added_token_in_context(huggingface_pairs):
    pair = huggingface_pairs["gpt-neox-20b"]
    added = pair.ours.vocabulary.added_tokens
    assert len(added) > 20
    for token in added:
        c = token.content
        same_ids(pair, [c, f"a{c}b", f" {c} ", f"{c}{c}", f"\n{c}\n1{c}2", f"{c}é{c[:-1]}", c * 5 + " " + c[1:]])
