"""SuperBPE training against its slow twin, merge for merge."""

import os
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenmill
from naive_superwords import STAGE2, train_superbpe
from tokenmill.errors import UsageError
from tokenmill.superwords import passes

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))
WORDS = r" ?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+"


def random_texts(rng: random.Random) -> list[str]:
    """Few words, often repeated, with what the vetoes and the split pattern of stage 2 look at between them."""
    words = ["".join(rng.choices("abé日", k=rng.choice([1, 1, 2, 3]))) for _ in range(rng.choice([1, 2, 3, 6]))]
    between = rng.choices(
        [" ", " ", " ", "  ", ", ", ": ", ":", "\n", "\n\n", "!!", "..\n/", "..\r\n\n", "7", " 1984", "aaaa", " : "],
        k=6,
    )
    return [
        "".join(rng.choice(words) + rng.choice(between) for _ in range(rng.choice([0, 1, 5, 20, 60])))
        for _ in range(rng.choice([1, 2, 5]))
    ]  # fmt: skip


def same(texts: list[str], sizes: tuple[int, int], min_pair_count: int = 1, **options) -> None:
    """Train by both."""
    texts = [*texts, "a b"]
    tok = tokenmill.train_from_iterator(
        texts,
        sizes[1],
        split=WORDS,
        superwords="superbpe",
        stage1_size=sizes[0],
        min_pair_count=min_pair_count,
        **options,
    )
    naive = {"max_words": options.get("max_words", 4) or None, "colon_veto": options.get("colon_veto", True)}
    tokens, merges = train_superbpe(
        texts, WORDS, sizes, options.get("stage2_split", STAGE2), min_pair_count=min_pair_count, **naive
    )
    assert tok.vocabulary.tokens == tuple(tokens)
    assert tok.vocabulary.events.tolist() == [list(merge) for merge in merges]


@pytest.mark.parametrize("seed", range(4 * SWEEP))
def test_random_corpora(seed, monkeypatch):
    """With tables of totals that collide, blocks of a few bytes, and guesses of the cut that are far too high."""
    rng = random.Random(seed)
    for _ in range(40):
        monkeypatch.setattr(passes, "_MOST_TOTALS", rng.choice([1, 1 << 24]))
        monkeypatch.setattr(passes, "_KEPT_PERCENT", rng.choice([0, 25]))
        guess = rng.choice([1, 2, 5, 1000])
        monkeypatch.setattr(passes, "guess", lambda totals, wanted, guess=guess: guess)
        same(
            random_texts(rng),
            (256 + (first := rng.choice([0, 1, 5, 20])), 256 + first + rng.choice([0, 1, 10, 60])),
            num_threads=rng.choice([1, 2]),
            max_words=rng.choice([4, 4, 0, 1, 2]),
            colon_veto=rng.choice([True, True, False]),
            min_pair_count=rng.choice([1, 1, 2, 3]),
            stage2_split=rng.choice([STAGE2, STAGE2, r"[^\n]+", r"\s\S*|\S+"]),
        )


@settings(max_examples=60 * SWEEP)
@given(st.lists(st.text(alphabet="ab :\n1!", max_size=40), max_size=3), st.integers(0, 5), st.integers(0, 20))
def test_few_characters(texts, first, second):
    same(texts, (256 + first, 256 + first + second))


def test_special_tokens_are_counted_and_come_last():
    tok = tokenmill.train_from_iterator(
        ["of the of the of the"], 262, superwords="superbpe", stage1_size=260, special_tokens=["<|end|>"]
    )
    assert tok.vocabulary.tokens[256:] == (b" t", b"he", b"of", b" the", b"of the")
    assert tok.n_vocab == 262
    assert tok.special_tokens_set == {"<|end|>"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"superwords": "superbpe"}, "needs stage1_size"),
        ({"stage1_size": 300}, "only for superwords='superbpe'"),
        ({"superwords": "words", "stage1_size": 300}, "superwords is 'words'"),
        ({"superwords": "superbpe", "stage1_size": 255}, "stage1_size is 255"),
        ({"superwords": "superbpe", "stage1_size": 500}, "stage1_size is 500"),
        ({"superwords": "superbpe", "stage1_size": 300, "max_words": -1}, "max_words is -1"),
        ({"superwords": "superbpe", "stage1_size": 300, "refine": 0.9}, "without refine"),
        ({"superwords": "superbpe", "stage1_size": 300, "stage2_split": r"(a)\1"}, "stage2_split"),
    ],
)
@pytest.mark.filterwarnings("ignore:the split pattern")
def test_invalid_options(options, message):
    with pytest.raises(UsageError, match=message):
        tokenmill.train_from_iterator(["a b"], 400, **options)


def test_a_text_that_can_be_read_only_once():
    with pytest.raises(UsageError, match="an iterator can be read only once"):
        tokenmill.train_from_iterator(iter(["a b"]), 300, superwords="superbpe", stage1_size=260)


def test_files_saved_counts_and_texts_give_the_same(tmp_path):
    texts = ["the cat of the house, and the cat of the garden\n" * 30, "the dog of the house: the end\n" * 20]
    for i, text in enumerate(texts):
        (tmp_path / f"{i}.txt").write_text(text)
    options = {"superwords": "superbpe", "stage1_size": 280}
    sources = str(tmp_path / "*.txt")
    tok = tokenmill.train(sources, 320, **options)
    assert any(token.count(b" ") > 1 for token in tok.vocabulary.tokens)
    from_counts = tokenmill.train_from_counts(tokenmill.count(sources), 320, text=sources, **options)
    assert from_counts.vocabulary.fingerprint() == tok.vocabulary.fingerprint()
    from_texts = tokenmill.train_from_iterator(texts, 320, **options)
    assert from_texts.vocabulary.fingerprint() == tok.vocabulary.fingerprint()
    with pytest.raises(UsageError, match="reads the text again"):
        tokenmill.train_from_counts(tokenmill.count(sources), 320, **options)
    with pytest.raises(UsageError, match="the text has 1,440 bytes, and the word counts are of 2,040"):
        tokenmill.train_from_counts(tokenmill.count(sources), 320, text=str(tmp_path / "0.txt"), **options)


def test_the_cut_and_the_kept_ids_change_nothing(tmp_path, monkeypatch):
    """On text of some kilobytes; the cut and the memory decide only how much is counted."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefgh", k=rng.randint(1, 5))) for _ in range(300)]
    lines = (" ".join(rng.choices(words, weights=range(1, 301), k=9)) for _ in range(3000))
    (tmp_path / "text.txt").write_text("\n".join(lines))
    found = set()
    for guess, kept, threads in [(None, 25, 1), (1, 25, 2), (None, 0, 2), (10**6, 0, 1), (10**6, 25, 2)]:
        with monkeypatch.context() as patch:
            patch.setattr(passes, "_KEPT_PERCENT", kept)
            if guess is not None:
                patch.setattr(passes, "guess", lambda totals, wanted, guess=guess: guess)
            options = {"stage1_size": 400, "num_threads": threads}
            tok = tokenmill.train(tmp_path / "text.txt", 700, superwords="superbpe", **options)
            found.add(tok.vocabulary.fingerprint())
    assert len(found) == 1


def test_the_guess_of_the_cut_is_a_rank():
    totals = np.arange(1 << 12, dtype=np.uint32)
    assert passes.guess(totals, 96) == (4095 - 96) // 2
    assert passes.guess(totals, 1 << 13) == 0
