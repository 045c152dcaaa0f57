"""The ids of Hugging Face tokenizers, for GPT-2 and GPT-NeoX-20B with its added tokens."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parity_examples import (
    CORPORA,
    SLICE,
    SWEEP,
    code_points,
    lines_in_context,
    long_runs,
    other_sources,
    texts,
    texts_of,
)

pytest.importorskip("tokenizers")
NAMES = ("gpt2", "gpt-neox-20b")
EXAMPLES = 3000 if SWEEP else 300


def same_ids(pair, given_texts, batch=100):
    def compare(some):
        rows = pair.ours.encode_batch(some, allowed_special="all")
        for text, ids, other in zip(
            some, rows, pair.theirs.encode_batch_fast(some, add_special_tokens=False), strict=True
        ):
            expected = other.ids
            if ids != expected:
                at = next((i for i, (a, b) in enumerate(zip(ids, expected, strict=False)) if a != b), len(ids))
                start = len(pair.ours.decode(ids[: max(0, at - 3)]))
                pytest.fail(f"ids differ at {text[start : start + 60]!r}: {ids[at : at + 5]}, {expected[at : at + 5]}")

    some: list[str] = []
    for text in given_texts:
        some.append(text)
        if len(some) == batch:
            compare(some)
            some = []
    compare(some)


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("name", NAMES)
def test_corpora(huggingface_pairs, corpus_bytes, name, corpus):
    same_ids(huggingface_pairs[name], texts_of(corpus_bytes(corpus, SLICE)))


@pytest.mark.parametrize("name", NAMES)
def test_other_sources(huggingface_pairs, shared, name):
    found = [*other_sources(shared)]
    same_ids(huggingface_pairs[name], found if SWEEP else found[::9])


@pytest.mark.parametrize("name", NAMES)
def test_every_code_point_in_context(huggingface_pairs, name):
    same_ids(huggingface_pairs[name], lines_in_context(code_points()))


@pytest.mark.parametrize("what", long_runs())
@pytest.mark.parametrize("name", NAMES)
def test_a_megabyte_of_one_thing(huggingface_pairs, name, what):
    same_ids(huggingface_pairs[name], [long_runs()[what]])


@pytest.mark.parametrize("name", NAMES)
def test_hypothesis_texts(huggingface_pairs, name):
    pair = huggingface_pairs[name]
    contents = [token.content for token in pair.ours.vocabulary.added_tokens]

    @given(texts | st.lists(st.sampled_from([*contents, "a", " ", "\n", "é", "<|", "|>", "  "])).map("".join))
    @settings(max_examples=EXAMPLES, deadline=None)
    def check(text):
        ids = pair.ours.encode(text, allowed_special="all")
        assert ids == pair.encode(text)
        if not pair.ours.vocabulary.normalizers:
            assert pair.ours.decode(ids) == text

    check()


def test_every_added_token_in_context(huggingface_pairs):
    pair = huggingface_pairs["gpt-neox-20b"]
    added = pair.ours.vocabulary.added_tokens
    assert len(added) > 20
    for token in added:
        c = token.content
        same_ids(pair, [c, f"a{c}b", f" {c} ", f"{c}{c}", f"\n{c}\n1{c}2", f"{c}é{c[:-1]}", c * 5 + " " + c[1:]])
