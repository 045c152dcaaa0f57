"""BoundlessBPE training and encoding against their slow twin."""

import hashlib
import os
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_superbpe import WORDS, random_texts

import tokenmill
from naive_boundless import encode_boundless, train_boundless
from tokenmill.errors import ConversionError, FormatError, UsageError
from tokenmill.superwords import passes

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))


def train(texts, size, **options):
    return tokenmill.train_from_iterator([*texts, "a b"], size, superwords="boundless", **options)


def same(texts, size, refine=None, split=WORDS, least=1, **options):
    """Train by both, and encode the texts by both."""
    tok = train(texts, size, refine=refine, split=split, min_pair_count=least, **options)
    naive = None if refine is None else str(refine)
    events, superwords = train_boundless([*texts, "a b"], split, size, naive, least)
    vocabulary = tok.vocabulary
    tokens = vocabulary.tokens
    assert [(tokens[a],) if b < 0 else (tokens[a], tokens[b]) for a, b, _ in vocabulary.events.tolist()] == events
    assert [(tokens[a], tokens[b]) for a, b, _ in vocabulary.superwords.tolist()] == superwords
    whole = "".join(texts)
    for text in {whole, whole[3:], *texts}:
        found = tok.encode_ordinary(text)
        assert [tokens[id] for id in found] == encode_boundless(text, split, events, superwords)
        assert tok.count_tokens(text) == len(found)
        assert tok.decode(found) == text
        stream = tok.stream_encoder()
        assert [id for i in range(0, len(text), 3) for id in stream.feed(text[i : i + 3])] + stream.finish() == found
        cut = len(found) // 2
        assert tok.count_tokens(tok.truncate(text, cut)) <= cut
        assert [tokens[id] for id in found] == [
            text.encode()[start:end] for start, end in tok.encode_with_offsets(text).bytes.tolist()
        ]
    assert tok.encode_batch(texts, num_threads=2) == [tok.encode(text) for text in texts]
    return tok


@pytest.mark.parametrize("seed", range(4 * SWEEP))
def test_random_corpora(seed, monkeypatch):
    """With tables of totals that collide, blocks of a few bytes, and guesses of the cut that are far too high."""
    rng = random.Random(seed)
    n_superwords = 0
    for _ in range(30):
        monkeypatch.setattr(passes, "_MOST_TOTALS", rng.choice([1, 1 << 24]))
        monkeypatch.setattr(passes, "_KEPT_PERCENT", rng.choice([0, 25]))
        guess = rng.choice([1, 2, 5, 1000])
        monkeypatch.setattr(passes, "guess", lambda totals, wanted, guess=guess: guess)
        tok = same(
            random_texts(rng),
            256 + rng.choice([0, 1, 5, 20, 60, 150]),
            refine=rng.choice([None, None, 0.5, 0.7, 0.9]),
            split=rng.choice([WORDS, WORDS, r"\S+|\s", r"\w|\W+", r" ?[a-b]+| ?\w"]),
            least=rng.choice([1, 1, 2, 3]),
            num_threads=rng.choice([1, 2]),
        )
        n_superwords += len(tok.vocabulary.superwords)
    assert n_superwords > 0


@settings(max_examples=40 * SWEEP)
@given(
    st.lists(st.text(alphabet="ab :\n1!", max_size=40), max_size=3), st.integers(0, 20), st.sampled_from([None, 0.6])
)
def test_few_characters(texts, more, refine):
    same(texts, 256 + more, refine)


TEXT = "the cat of the house, and the cat of the garden. It is of the house!\n" * 40


@pytest.fixture(scope="module")
def picky():
    return train([TEXT + "houses gardens cats" * 9], 280, refine=0.8, special_tokens=["<|end|>"])


def test_ids_are_words_then_superwords_then_special_tokens_then_removed(picky):
    vocabulary = picky.vocabulary
    made = vocabulary.superwords[:, 2].tolist()
    assert vocabulary.removed
    assert made == list(range(made[0], vocabulary.special_tokens["<|end|>"]))
    assert min(vocabulary.removed) == picky.n_vocab == 280
    assert picky.encode("of the house<|end|>", allowed_special="all")[-1] == 279


def test_saved_and_loaded_it_is_the_same(picky, tmp_path):
    notes = picky.save(tmp_path / "tok")
    assert "events.txt" in notes[-1]
    again = tokenmill.load(tmp_path / "tok")
    assert again.vocabulary.fingerprint() == picky.vocabulary.fingerprint()
    assert again.encode(TEXT) == picky.encode(TEXT)
    (tmp_path / "tok" / "tokenmill.json").unlink()
    with pytest.raises(FormatError, match="superwords need the split pattern"):
        tokenmill.load(tmp_path / "tok")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda line: "s 97 98 99999", "line [0-9]+: .* names the id 99999"),
        (lambda line: "s 97 98 257", "which is not their concatenation"),
        (lambda line: "m 97 98 257", "after all events"),
        (lambda line: line + "\n" + line, "is merged already"),
    ],
)
def test_a_damaged_superword_names_its_line(picky, tmp_path, change, message):
    picky.save(tmp_path)
    *head, last = (tmp_path / "events.txt").read_text().splitlines()
    body = "\n".join([*head[2:], change(last), ""])
    digest = hashlib.sha256(body.encode()).hexdigest()
    (tmp_path / "events.txt").write_text(f"{head[0]}\nsha256 {digest}\n{body}")
    with pytest.raises(FormatError, match=message):
        tokenmill.load(tmp_path)


def test_the_plain_export_spans_words_and_its_cost_is_measured(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    tok = train([TEXT], 280)
    tok.save(tmp_path / "tok")
    (tmp_path / "text.txt").write_text(TEXT)
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tok" / "tokenizer.json")).encode(TEXT).ids
    assert len(set(theirs) & set(tok.vocabulary.superwords[:, 2].tolist())) == 2
    cost = tokenmill.export_loss(tok, tmp_path / "text.txt")
    assert cost.other_tokens == len(theirs)
    assert cost.tokens == len(tok.encode(TEXT))
    with pytest.raises(ConversionError, match="lossy"):
        tok.to_tiktoken()
    assert tok.to_tiktoken(lossy=True).encode_ordinary(TEXT) == theirs


def test_word_counts_do_not_tell_where_superwords_are(picky):
    counts = tokenmill.count_iterator([TEXT])
    for ask in (
        picky.count_tokens_in,
        lambda counts: tokenmill.export_loss(picky, counts),
        lambda counts: tokenmill.compare([picky], {"text": counts}),
    ):
        with pytest.raises(UsageError, match="word counts"):
            ask(counts)


def test_judged_on_text_superwords_are_used(picky, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    compared = tokenmill.compare({"picky": picky}, tmp_path / "text.txt")
    assert compared.table("superwords").column("of the tokens of the text")[0] > 0.1
    assert compared.table("compression").column("tokens of the text") == [len(picky.encode(TEXT))]


def test_a_long_run_of_words_is_not_quadratic(picky):
    text = "the house of " * 100_000
    ids = picky.encode(text)
    assert picky.decode(ids) == text
    assert picky.count_tokens(text) == len(ids)


def test_documents_are_encoded_apart(picky):
    """Joined pretokens are cut again while they are encoded, and white space at the end of a document is cut in its own way."""
    texts = ["of the house", "  ", "the cat  ", "of the", " garden"] * 50
    data = "".join(texts).encode()
    ends = np.cumsum([len(text) for text in texts]).astype(np.uint64)
    ids, id_ends = picky._core.encode_documents(data, ends, picky._core.plan(set(), ()))
    found = np.frombuffer(ids, np.uint32).tolist()
    assert [found[a:b] for a, b in zip([0, *id_ends], id_ends, strict=False)] == [picky.encode(text) for text in texts]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stage1_size": 300}, "only for superwords='superbpe'"),
        ({"split": ["digits-3", "gpt2"]}, "one split pattern"),
        ({"split": r"(a)\1|."}, "one split pattern"),
        ({"split": r"ab$|."}, "splits the same text in two ways"),
    ],
)
@pytest.mark.filterwarnings("ignore:the split pattern")
def test_invalid_options(options, message):
    with pytest.raises(UsageError, match=message):
        train(["ab"] * 3 + ["1ab1"] * 5, 258, **options)
