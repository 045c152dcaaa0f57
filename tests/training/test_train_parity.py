"""Parity-aware BPE against its slow twin, merge for merge, and against plain BPE where the two must agree."""

import dataclasses
import os
import random
from fractions import Fraction

import numpy as np
import pytest

import tokenmill
from naive_parity import train_naive_parity
from tokenmill import WordCounts
from tokenmill.counting.weights import WeightedSource
from tokenmill.errors import InputError, UsageError
from tokenmill.training import Options, loops
from tokenmill.training.options import Parity
from tokenmill.training.parity import ParityTraining
from trained import train_from_counts

SWEEP = int(os.environ.get("TOKENMILL_SWEEP", "1"))
COUNTS = [1, 1, 1, 2, 3, 5, 10, 100, 70_000, 2**33]


def random_words(rng: random.Random, letters: bytes) -> dict[bytes, int]:
    lengths = [1, 2, 3, 4, 5, 8, 20]
    n = rng.choice([1, 2, 5, 12])
    return {bytes(rng.choices(letters, k=rng.choice(lengths))): rng.choice(COUNTS) for _ in range(n)}


def random_case(rng: random.Random) -> dict:
    """Languages that share letters, some with texts that run out, lengths and rates that are often equal."""
    letters = bytes(rng.sample(range(256), 6))
    names = ["de", "en", "hi", "ja", "sw"][: rng.choice([2, 2, 3, 5])]
    training = {name: random_words(rng, rng.choice([letters, letters[:3], letters[3:], letters[:1]])) for name in names}
    case: dict = {"training": training, "global_merges": rng.choice([0, 0, 1, 5, 100])}
    if rng.random() < 0.6:
        same = random_words(rng, letters)
        case["development"] = {name: rng.choice([training[name], same, random_words(rng, letters)]) for name in names}
    else:
        ratios = [Fraction(1), Fraction(1), Fraction(5, 2), Fraction(1, 3), Fraction(7)]
        case["ratios"] = {name: rng.choice(ratios) for name in names}
    if rng.random() < 0.5:
        case |= {"window": rng.choice([1, 2, 5, 100]), "alpha": rng.choice([1, 2, Fraction(3, 2), 10])}
    return case


def train(training, n_merges, development=None, special_tokens=(), **options):
    parity = Parity(
        **{name: options.pop(name) for name in ("ratios", "window", "alpha", "global_merges") if name in options}
    )
    made = ParityTraining(
        {name: WordCounts.from_mapping(words) for name, words in training.items()},
        development and {name: WordCounts.from_mapping(words) for name, words in development.items()},
        Options(vocab_size=256 + n_merges + len(special_tokens), special_tokens=special_tokens, **options),
        parity,
    )
    return made.run(), made


@pytest.mark.parametrize("seed", range(4 * SWEEP))
def test_random_corpora(seed, monkeypatch):
    rng = random.Random(seed)
    for _ in range(100):
        monkeypatch.setattr(loops, "_MAX_NODES_32", rng.choice([5, 2**32 - 1]))
        case = random_case(rng) | {"n_merges": rng.choice([1, 5, 30])}
        case |= {"min_pair_count": rng.choice([1, 1, 2, 5]), "max_token_bytes": rng.choice([None, None, 2, 3])}
        merges, lengths, choices = train_naive_parity(**case)
        vocabulary, made = train(**case)
        tokens = vocabulary.tokens
        assert [(tokens[left], tokens[right]) for left, right, _ in vocabulary.events.tolist()] == merges, case
        assert {each.name: each.length for each in made.languages} == lengths
        assert {each.name: each.chosen for each in made.languages} == {name: choices.count(name) for name in lengths}


def test_the_smaller_size_is_a_prefix():
    from tokenmill.vocabulary.surgery import prefix

    rng = random.Random(9)
    for _ in range(30):
        case = random_case(rng)
        whole, _ = train(**case, n_merges=40, special_tokens=["<|end|>"])
        for size in (0, 1, 7, 25):
            alone, _ = train(**case, n_merges=size, special_tokens=["<|end|>"])
            cut = prefix(whole, 257 + size)
            assert cut.fingerprint() == alone.fingerprint()
            assert np.array_equal(cut.event_counts, alone.event_counts)


def test_the_order_of_languages_matters_only_for_equals():
    rng = random.Random(4)
    for _ in range(20):
        case = random_case(rng) | {"n_merges": 20, "global_merges": 0}
        development = {name: {b"ab" * (5 + i): 10**i} for i, name in enumerate(case["training"])}
        case |= {
            "development": development,
            "ratios": None,
            "training": {n: {b"ab" * 9: 3, b"ba": 2} for n in development},
        }
        backwards = {name: dict(reversed(list(case[name].items()))) for name in ("training", "development")}
        assert train(**case)[0].fingerprint() == train(**(case | backwards))[0].fingerprint()


def test_the_cut_into_shards_does_not_matter():
    rng = random.Random(8)
    for _ in range(20):
        case = random_case(rng) | {"n_merges": 30}
        whole, _ = train(**case)
        parity = Parity(**{name: case[name] for name in ("ratios", "window", "alpha", "global_merges") if name in case})

        def sharded(texts):
            cut = {}
            for name, words in texts.items():
                shards = [{word: rng.randrange(count + 1) for word, count in words.items()}]
                shards.append({word: count - shards[0][word] for word, count in words.items()})
                cut[name] = WordCounts.merge(map(WordCounts.from_mapping, rng.sample(shards, 2)))
            return cut

        judged = sharded(case["development"]) if case.get("development") else None
        made = ParityTraining(sharded(case["training"]), judged, Options(vocab_size=286, num_threads=3), parity)
        assert made.run().fingerprint() == whole.fingerprint()


def test_global_merges_alone_are_plain_bpe():
    rng = random.Random(3)
    for _ in range(30):
        case = random_case(rng) | {"n_merges": 20, "global_merges": 20}
        plain = train_from_counts(
            WordCounts.merge(WordCounts.from_mapping(words) for words in case["training"].values()), 276
        )
        ours = train(**case)[0]
        assert ours.events.tolist()[: len(plain.events)] == plain.events.tolist()
        assert np.array_equal(ours.event_counts[: len(plain.events)], plain.event_counts)


def test_one_language_far_behind_chooses_all_merges_unless_a_window_stops_it():
    training = {"en": {b"abcdefgh" * 4: 5}, "hi": {b"qrstuvwx" * 40: 3}}
    development = {"en": {b"a": 1}, "hi": {b"qrst" * 500: 100}}
    _, made = train(training, 8, development)
    assert [each.chosen for each in made.languages] == [0, 8]
    _, made = train(training, 8, development, window=2, alpha=1)
    assert [each.chosen for each in made.languages] == [2, 6]


LOW = {"en": {b"low": 3}, "de": {b"tief": 2}}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either a development text"),
        ({"ratios": {"en": 1, "de": 1}, "development": LOW}, "either a development text"),
        ({"development": {"en": {b"low": 1}}}, "the language de has no development text"),
        ({"ratios": {"en": 1}}, "the language de has no ratio"),
        ({"ratios": {"en": 1, "de": 2, "fr": 1}}, "fr has a ratio, but no training text; the languages are en, de"),
        ({"ratios": {"en": 0, "de": 1}}, "the ratio of en is 0; it must be a number above 0"),
        ({"development": LOW, "window": 0}, "window is 0; it must be at least 1"),
        ({"development": LOW, "alpha": 0.5}, "alpha is 0.5; it must be a number of at least 1"),
        ({"development": LOW, "global_merges": -1}, "global_merges is -1"),
        ({"development": LOW, "refine": 0.9}, "neither refine nor superwords"),
        ({"development": LOW, "alphabet": "characters"}, "begins with the 256 bytes"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(UsageError, match=message):
        train(LOW, 3, **options)


def test_weighted_counts():
    """A pair of weighted counts is compared with min_pair_count times their scale. Texts of two scales have no common length."""
    halves = (WeightedSource("a.txt", "1/2", 8), WeightedSource("other sources", "1", 4))

    def weighted(words):
        counts = WordCounts.from_mapping({word: 2 * count for word, count in words.items()})
        return dataclasses.replace(counts, mixture=halves)

    texts = {"en": {b"abab": 4, b"cd": 2}, "de": {b"xyxy": 4, b"zw": 2}}
    counts = {name: WordCounts.from_mapping(words) for name, words in texts.items()}
    doubled = {name: weighted(words) for name, words in texts.items()}
    options = {"development": counts, "min_pair_count": 3}
    expected = tokenmill.train_parity(counts, 300, **options)
    assert len(expected.events) == 4 and tokenmill.train_parity(doubled, 300, **options) == expected
    with pytest.raises(UsageError, match="different common denominators, 1 and 2"):
        tokenmill.train_parity(counts, 300, development={**counts, "de": doubled["de"]})


def test_a_language_without_text_is_named():
    with pytest.raises(InputError, match="the development text of de: the corpus is empty"):
        train(LOW, 3, LOW | {"de": {}})
    with pytest.raises(InputError, match="the language de: the corpus is empty"):
        train(LOW | {"de": {}}, 3, LOW)
    with pytest.raises(InputError, match=r"the language de: .* occurs 3 times\. Lower min_count"):
        train(LOW, 3, LOW, min_count=3)
    with pytest.raises(UsageError, match="two languages or more"):
        train({"en": {b"low": 3}}, 3, {"en": {b"low": 3}})


def test_text_is_split_like_the_saved_counts_of_another_language(tmp_path):
    """Text is counted after word counts were loaded, whichever is named first."""
    text = "It's 12345 o'clock\n\n  here" * 9
    (tmp_path / "en.txt").write_text(text)
    (tmp_path / "de.txt").write_text(text.upper())
    tokenmill.count(tmp_path / "de.txt", split="gpt2").save(tmp_path / "de")
    paths = {"en": tmp_path / "en.txt", "de": tmp_path / "de.txt"}
    ratios = {"en": 1, "de": 1}
    expected = tokenmill.train_parity(paths, 280, ratios=ratios, split="gpt2")
    assert tokenmill.train_parity({**paths, "de": tmp_path / "de"}, 280, ratios=ratios) == expected
    with pytest.raises(UsageError, match="split by different patterns"):
        tokenmill.train_parity({**paths, "de": tmp_path / "de"}, 280, ratios=ratios, split="cl100k")


@pytest.mark.parametrize("missing", ["language", "development"])
def test_a_text_that_is_missing_is_an_error_before_another_is_counted(missing, tmp_path):
    (tmp_path / "en.txt").write_text("the cat sat")
    both = {"en": tmp_path / "en.txt", "de": tmp_path / "en.txt"}
    texts = {"language": both, "development": both, missing: {**both, "de": tmp_path / "none"}}
    with pytest.raises(InputError, match="no such file"):
        tokenmill.train_parity(
            texts["language"], 280, development=texts["development"], progress=lambda *told: pytest.fail(f"{told}")
        )
