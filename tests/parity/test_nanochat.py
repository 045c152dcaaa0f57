"""A chat trainer's use of rustbpe and tiktoken (karpathy/nanochat): with tokenmill in their place, the same ids."""

import pickle

import numpy as np
import pytest

import tokenmill
from tokenmill.split.patterns import PATTERNS

NAMES = ("bos", "user_start", "user_end", "assistant_start", "assistant_end", "python_start", "python_end",
         "output_start", "output_end")  # fmt: skip
SPECIALS = [f"<|{name}|>" for name in NAMES]
PATTERN = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"""
)
VOCAB_SIZE = 330


@pytest.fixture(scope="module")
def documents():
    words = "the quick brown fox 2026 jumps over lazy dogs, isn't it? déjà vu 漢字 for i in range(10):\n\n".split(" ")
    return [" ".join(words[(i * j) % len(words)] for j in range(1, 60)) for i in range(1, 200)]


@pytest.fixture(scope="module")
def theirs(documents):
    rustbpe = pytest.importorskip("rustbpe")
    tiktoken = pytest.importorskip("tiktoken")
    trainer = rustbpe.Tokenizer()
    trainer.train_from_iterator(iter(documents), VOCAB_SIZE - len(SPECIALS), pattern=PATTERN)
    ranks = {bytes(token): rank for token, rank in trainer.get_mergeable_ranks()}
    specials = {name: len(ranks) + i for i, name in enumerate(SPECIALS)}
    return tiktoken.Encoding("chat", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=specials)


@pytest.fixture(scope="module")
def ours(documents):
    return tokenmill.train_from_iterator(iter(documents), VOCAB_SIZE, split="nanochat", special_tokens=SPECIALS)


def conversation_ids(enc, messages):
    """The ids of a conversation and whether each is to be learnt: tool calls are, the answers of tools are not."""
    ids, learnt = [enc.encode_single_token("<|bos|>")], [0]

    def add(kind, text, learn):
        start, end = (enc.encode_single_token(f"<|{kind}_{side}|>") for side in ("start", "end"))
        inner = enc.encode_ordinary(text)
        ids.extend([start, *inner, end])
        learnt.extend([learn and kind != "assistant", *[learn] * len(inner), learn])

    for kind, text in messages:
        add(kind, text, int(kind in ("assistant", "python")))
    return ids, learnt


def test_training_gives_the_same_vocabulary(ours, theirs):
    assert PATTERNS["nanochat"] == PATTERN == ours.split_pattern
    assert ours.n_vocab == theirs.n_vocab == VOCAB_SIZE
    assert ours.special_tokens_set == theirs.special_tokens_set == set(SPECIALS)
    assert [ours.decode_single_token_bytes(id) for id in range(VOCAB_SIZE)] == [
        theirs.decode_single_token_bytes(id) for id in range(VOCAB_SIZE)
    ]
    assert [ours.encode_single_token(name) for name in SPECIALS] == [theirs.encode_single_token(n) for n in SPECIALS]


def test_batches_of_documents_for_pretraining(ours, theirs, documents):
    bos = ours.encode_single_token("<|bos|>")
    rows = ours.encode_ordinary_batch(documents, num_threads=8)
    assert rows == theirs.encode_ordinary_batch(documents, num_threads=8)
    for row in rows:  # the caller changes the lists
        row.insert(0, bos)
    assert [ours.decode(row) for row in rows] == ["<|bos|>" + document for document in documents]


def test_conversations(ours, theirs):
    messages = [
        ("user", "What is 12 * 12? <|assistant_start|> is just text here."),
        ("assistant", "Let me see."),
        ("python", "12 * 12"),
        ("output", "144"),
        ("assistant", "It's 144."),
    ]
    ids, learnt = conversation_ids(ours, messages)
    assert (ids, learnt) == conversation_ids(theirs, messages)
    assert ids.count(ours.encode_single_token("<|assistant_start|>")) == 2
    assert ours.decode(ids) == theirs.decode(ids)
    assert [ours.decode([id]) for id in ids] == [theirs.decode([id]) for id in ids]


def test_bytes_of_each_token_for_bits_per_byte(ours, theirs, documents):
    specials = {ours.encode_single_token(name) for name in SPECIALS}
    sizes = np.array([0 if id in specials else len(ours.decode_single_token_bytes(id)) for id in range(ours.n_vocab)])
    for document in documents[:20]:
        assert sizes[ours.encode_ordinary(document)].sum() == len(document.encode())


def test_saved_by_pickle_and_as_a_folder(ours, documents, tmp_path):
    ours.save(tmp_path / "tokenizer")
    for again in (pickle.loads(pickle.dumps(ours)), tokenmill.load(tmp_path / "tokenizer")):
        assert again == ours
        assert again.encode_ordinary_batch(documents) == ours.encode_ordinary_batch(documents)
