"""A tokenizer trained here gives the same ids in transformers, tokenizers and tiktoken.

With TOKENMILL_SWEEP set, on all of the real corpora rather than on their beginnings.
"""

import os

import pytest

import tokenmill

SWEEP = "TOKENMILL_SWEEP" in os.environ
SIZE = -1 if SWEEP else 1_500_000


@pytest.fixture(scope="module")
def trained(shared, tmp_path_factory):
    """A tokenizer trained on English text, and the folder it was saved to."""
    tok = tokenmill.train(
        shared / "corpus" / "en.txt.zst", vocab_size=32_768, split="cl100k", special_tokens=["<|endoftext|>"]
    )
    folder = tmp_path_factory.mktemp("en32k")
    tok.save(folder)
    return tok, folder


def documents(corpus_bytes, name):
    """The corpus in strings of about 100 kB, so that no peer takes a whole corpus as one text."""
    lines = corpus_bytes(name, SIZE).decode().splitlines(keepends=True)
    text: list[str] = []
    size = 0
    for line in lines:
        text.append(line)
        size += len(line)
        if size > 100_000:
            yield "".join(text)
            text, size = [], 0
    yield "".join(text)


@pytest.mark.parametrize("corpus", ["en", "multi", "code"])
def test_ids_in_other_libraries(trained, corpus_bytes, corpus):
    tokenizers = pytest.importorskip("tokenizers")
    tiktoken = pytest.importorskip("tiktoken")
    transformers = pytest.importorskip("transformers")
    tok, folder = trained
    loaded = tokenmill.load(folder)
    as_hf = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    auto = transformers.AutoTokenizer.from_pretrained(folder)
    as_tiktoken = tiktoken.Encoding(
        "en32k",
        pat_str=tok.split_pattern,
        mergeable_ranks=tok.mergeable_ranks,
        special_tokens={"<|endoftext|>": 32_767},
    )
    for number, text in enumerate(documents(corpus_bytes, corpus)):
        ids = tok.encode_ordinary(text)
        assert loaded.encode_ordinary(text) == ids
        assert as_tiktoken.encode_ordinary(text) == ids
        assert as_hf.encode(text, add_special_tokens=False).ids == ids
        if number < 3 or SWEEP:
            assert auto(text, add_special_tokens=False)["input_ids"] == ids
        assert tok.decode(ids) == text


def test_the_special_token_in_other_libraries(trained):
    tokenizers = pytest.importorskip("tokenizers")
    tok, folder = trained
    text = "one<|endoftext|>two"
    ids = tok.encode(text, allowed_special="all")
    assert 32_767 in ids
    assert tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids == ids
    assert 32_767 not in tok.encode_ordinary(text)
