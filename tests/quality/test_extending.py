"""An extended vocabulary keeps every old id, and goes on as training would have."""

import pytest
from quality_examples import BYTES, make_vocabulary, random_text

import tokenmill
from naive_encoder import NaiveEncoder
from tokenmill import Tokenizer, WordCounts
from tokenmill.errors import UsageError
from tokenmill.quality.extending import extend

TEXT = "low lower lowest, new newer newest; how slow the show goes\n" * 30
OTHER = "the patient was given the medicine; the medicine was slow\n" * 30
FIRST, SECOND = random_text(0), random_text(1)


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
        tok = Tokenizer(tok.vocabulary.replace(order="ranks", events=()))
    larger = extend(tok, counts_of(OTHER), 300, special_tokens=["<|new|>"])
    assert larger.n_vocab == 300 and larger.vocabulary.order == order
    for id in range(tok.n_vocab):
        assert larger.decode_single_token_bytes(id) == tok.decode_single_token_bytes(id)
    assert larger.vocabulary.special_tokens == {"<|end|>": 279, "<|new|>": 299}
    assert len(larger.encode(OTHER)) < len(tok.encode(OTHER))
    for text in (TEXT, OTHER, "neither low nor medicine"):
        assert larger.decode(larger.encode(text)) == text
    # What it was trained on is cut as training left it: by the old merges first, then by the new ones.
    slow = NaiveEncoder(larger.vocabulary, tokenmill.Splitter(*larger.vocabulary.split_patterns).ends)
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
    with pytest.raises(UsageError, match="give refine"):
        extend(Tokenizer(picky), WordCounts.from_mapping({b"low": 2}), 300)
    letters = tokenmill.train_from_counts(counts_of(TEXT), 30, alphabet="characters")
    with pytest.raises(UsageError, match="characters cannot be extended"):
        extend(letters, counts_of(TEXT), 300)
    boundless = tokenmill.train_from_iterator([TEXT], 290, superwords="boundless")
    assert boundless.vocabulary.has_superwords
    with pytest.raises(UsageError, match="with superwords of whole pretokens"):
        extend(boundless, counts_of(OTHER), 300)


def test_picky_goes_on(tmp_path):
    counts = counts_of(SECOND + FIRST)
    tok = tokenmill.train_from_counts(counts_of(FIRST), 285, refine=0.7, special_tokens=["<|end|>"])
    larger = extend(tok, counts, 350, special_tokens=["<|new|>"])
    assert larger.n_vocab == 350 and larger.vocabulary.order == "events" and larger.vocabulary.refine == 0.7
    assert all(larger.decode_single_token_bytes(id) == tok.decode_single_token_bytes(id) for id in range(285))
    assert larger.vocabulary.special_tokens == {"<|end|>": 284, "<|new|>": 349}
    spelt = [
        [tuple(t.vocabulary.tokens[id] for id in event[1:]) for event in t.vocabulary.event_list()]
        for t in (tok, larger)
    ]
    assert spelt[1][: len(spelt[0])] == spelt[0]
    new = larger.vocabulary.event_list()[len(spelt[0]) :]
    assert any(event[0] == "remove" for event in new)
    assert not any(event[0] == "remove" and event[1] < 285 for event in new)
    assert len(extend(tok, counts, 350, refine=1.0).events) < len(larger.events)
    # Encoded as training left it, which the slow twin and a folder that is loaded again give too.
    slow = NaiveEncoder(larger.vocabulary, tokenmill.Splitter(*larger.vocabulary.split_patterns).ends)
    larger.save(tmp_path / "larger")
    again = tokenmill.load(tmp_path / "larger")
    assert again == larger and again.vocabulary.refine == 0.7
    for text in (FIRST, SECOND, "neither edade nor adeaded"):
        assert larger.encode(text) == slow.encode(text.encode()) == again.encode(text)
        assert larger.decode(larger.encode(text)) == text


@pytest.mark.parametrize("order", ["merges", "ranks"])
def test_plain_goes_on_as_picky(order):
    tok = tokenmill.train_from_counts(counts_of(FIRST), 280, special_tokens=["<|end|>"])
    if order == "ranks":
        tok = Tokenizer(tok.vocabulary.replace(order="ranks", events=()))
    counts = counts_of(SECOND)
    same = extend(tok, counts, 280, refine=0.7)
    assert same.vocabulary.order == "events"
    for text in (FIRST, SECOND, "neither edade nor adeaded"):
        assert same.encode(text) == tok.encode(text)
    larger = extend(tok, counts, 350, refine=0.7)
    assert larger == extend(same, counts, 350)
    assert larger.n_vocab == 350 and larger.vocabulary.removed and larger.decode(larger.encode(SECOND)) == SECOND
    assert all(larger.decode_single_token_bytes(id) == tok.decode_single_token_bytes(id) for id in range(280))
    assert larger.vocabulary.tokens != extend(tok, counts, 350).vocabulary.tokens


@pytest.mark.parametrize(
    ("vocabulary", "token"),
    [
        (make_vocabulary([*BYTES, b"abc"]), "256, b'abc'"),  # no pair builds it
        (make_vocabulary([*BYTES, b"ab", b"abc"], [(256, 99, 257), (97, 98, 256)]), "256, b'ab'"),  # after its use
        (make_vocabulary([*BYTES, b"aa", b"aaa"], [(97, 97, 256), (256, 97, 257), (97, 256, 257)]), "257, b'aaa'"),
        (
            make_vocabulary([*BYTES, b"ab", b"bc", b"abc"], [(97, 98, 256), (98, 99, 257), (97, 257, 258)]),
            "258, b'abc'",
        ),
    ],
)
def test_merges_that_are_no_events(vocabulary, token):
    counts = WordCounts.from_mapping({b"abcd": 2})
    with pytest.raises(UsageError, match=f"does not give token {token}"):
        extend(Tokenizer(vocabulary), counts, 300, refine=0.9)
    assert extend(Tokenizer(vocabulary), counts, 262).n_vocab >= len(vocabulary.tokens)
