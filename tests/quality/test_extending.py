"""An extended vocabulary keeps every old id, and goes on as training would have."""

from dataclasses import replace

import pytest
from quality_examples import BYTES, make_vocabulary

import tokenmill
from tokenmill import Tokenizer, WordCounts
from tokenmill.errors import UsageError
from tokenmill.quality import extend

TEXT = "low lower lowest, new newer newest; how slow the show goes\n" * 30
OTHER = "the patient was given the medicine; the medicine was slow\n" * 30


def counts_of(text):
    return tokenmill.count_iterator([text])


def test_in_two_steps_as_in_one():
    counts = counts_of(TEXT + OTHER)
    at_once = tokenmill.train_from_counts(counts, 300)
    further = extend(tokenmill.train_from_counts(counts, 270), counts, 300)
    assert further == at_once and further.encode(TEXT) == at_once.encode(TEXT)


@pytest.mark.parametrize("order", ["merges", "ranks"])
def test_old_ids_are_fixed(order):
    tok = tokenmill.train_from_counts(counts_of(TEXT), 280, special_tokens=["<|end|>"])
    if order == "ranks":
        tok = Tokenizer(replace(tok.vocabulary, order="ranks", events=None))
    larger = extend(tok, counts_of(OTHER), 300, special_tokens=["<|new|>"])
    assert larger.n_vocab == 300 and larger.vocabulary.order == order
    for id in range(tok.n_vocab):
        assert larger.decode_single_token_bytes(id) == tok.decode_single_token_bytes(id)
    assert larger.vocabulary.special_tokens == {"<|end|>": 279, "<|new|>": 299}
    assert len(larger.encode(OTHER)) < len(tok.encode(OTHER))
    for text in (TEXT, OTHER, "neither low nor medicine"):
        assert larger.decode(larger.encode(text)) == text
    # What it was trained on is cut as training left it: by the old merges first, then by the new ones.
    slow = tokenmill.tokenizer.naive.NaiveEncoder(
        larger.vocabulary, tokenmill.Splitter(*larger.vocabulary.split_patterns).ends
    )
    assert larger.encode(OTHER) == slow.encode(OTHER.encode())


def test_text_from_files(tmp_path):
    (tmp_path / "a.txt").write_text(OTHER, encoding="utf-8")
    tok = tokenmill.train_from_counts(counts_of(TEXT), 280)
    assert extend(tok, tmp_path / "a.txt", 300) == extend(tok, counts_of(OTHER), 300)


def test_what_cannot_be_extended():
    tok = tokenmill.train_from_counts(counts_of(TEXT), 280)
    with pytest.raises(UsageError, match="vocab_size"):
        extend(tok, counts_of(OTHER), 270)
    with pytest.raises(UsageError, match="cut by"):
        extend(tok, tokenmill.count_iterator([OTHER], split="gpt2"), 300)
    picky = make_vocabulary([*BYTES, b"ow"], [(111, 119, 256)], "events")
    with pytest.raises(UsageError, match="Picky"):
        extend(Tokenizer(picky), WordCounts.from_mapping({b"low": 2}), 300)
