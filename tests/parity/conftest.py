"""The shared vocabularies, loaded by tokenmill and by the libraries they are from."""

from functools import partial

import pytest
from parity_examples import Pair

import tokenmill


@pytest.fixture(scope="session")
def vocab_file(shared, tmp_path_factory):
    """vocab_file("gpt2"): a plain tokenizer.json of the shared vocabularies."""
    import zstandard

    folder = tmp_path_factory.mktemp("vocab")

    def unpack(name):
        path = folder / f"{name}.json"
        if not path.exists():
            with zstandard.open(shared / "vocab" / f"{name}-tokenizer.json.zst", "rb") as file:
                path.write_bytes(file.read())
        return path

    return unpack


@pytest.fixture(scope="session")
def tiktoken_pairs(shared, vocab_file):
    """cl100k_base as tiktoken itself makes it, and the ranks of GPT-2 with tiktoken's pattern for them."""
    tiktoken = pytest.importorskip("tiktoken")
    public = pytest.importorskip("tiktoken_ext.openai_public")
    path = shared / "vocab" / "cl100k_base.tiktoken"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            public, "load_tiktoken_bpe", lambda url, expected_hash: tiktoken.load.load_tiktoken_bpe(str(path))
        )
        cl100k = tiktoken.Encoding(**public.cl100k_base())
    ranks = tokenmill.load(vocab_file("gpt2")).to_tiktoken()
    gpt2 = tiktoken.Encoding(
        "gpt2",
        pat_str=public.r50k_pat_str,
        mergeable_ranks={ranks.decode_single_token_bytes(id): id for id in range(50_256)},
        special_tokens={"<|endoftext|>": 50_256},
    )

    def pair(path, theirs):
        batch = partial(theirs.encode_ordinary_batch, num_threads=2)
        return Pair(tokenmill.load(path), theirs, theirs.encode_ordinary, batch, {"disallowed_special": ()})

    return {"cl100k": pair(path, cl100k), "gpt2": pair(vocab_file("gpt2"), gpt2)}


@pytest.fixture(scope="session")
def huggingface_pairs(vocab_file):
    tokenizers = pytest.importorskip("tokenizers")

    def pair(path):
        theirs = tokenizers.Tokenizer.from_file(str(path))

        def encode_batch(texts):
            return [each.ids for each in theirs.encode_batch_fast(texts, add_special_tokens=False)]

        def encode(text):
            return theirs.encode(text, add_special_tokens=False).ids

        return Pair(tokenmill.load(path), theirs, encode, encode_batch, {"allowed_special": "all"})

    return {name: pair(vocab_file(name)) for name in ("gpt2", "gpt-neox-20b")}
