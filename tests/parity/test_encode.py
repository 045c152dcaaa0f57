"""The ids of tiktoken and of Hugging Face tokenizers. With TOKENMILL_SWEEP=2 on all text there is."""

import pytest
from parity_examples import (
    CORPORA,
    SLICE,
    SWEEP,
    code_points,
    lines_in_context,
    long_runs,
    other_sources,
    same_ids,
    texts_of,
)


@pytest.fixture(params=["tiktoken cl100k", "huggingface gpt2", "huggingface gpt-neox-20b"])
def pair(request):
    library, name = request.param.split()
    pytest.importorskip({"huggingface": "tokenizers"}.get(library, library))
    return request.getfixturevalue(f"{library}_pairs")[name]


@pytest.mark.parametrize("corpus", CORPORA)
def test_corpora(pair, corpus_bytes, corpus):
    same_ids(pair, texts_of(corpus_bytes(corpus, SLICE)))


def test_other_sources(pair, shared):
    found = [*other_sources(shared)]
    same_ids(pair, found if SWEEP else found[::9])


def test_every_code_point_in_context(pair):
    same_ids(pair, lines_in_context(code_points()))


@pytest.mark.parametrize("what", long_runs())
def test_much_of_one_thing(pair, what):
    text = long_runs()[what]
    same_ids(pair, [text])
    assert pair.ours.encode(text, **pair.options) == pair.encode(text)
