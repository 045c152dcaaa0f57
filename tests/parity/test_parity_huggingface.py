"""Parity-aware BPE beside the trainer of Hugging Face tokenizers: the same merges, but for the order of equal counts.

There, of pairs with equal counts another one comes first. So its merges are replayed: each must be one that the definition
allows, a pair with the highest count in the language whose turn it is.
"""

import json
import random
from collections import Counter, deque
from fractions import Fraction

import pytest

import tokenmill
from naive_parity import length, merge_word, pair_counts, segmented
from tokenmill.formats.byte_alphabet import to_text
from tokenmill.training import Options
from tokenmill.training.options import Parity
from tokenmill.training.parity import ParityTraining

trainers = pytest.importorskip("tokenizers.trainers", reason="needs a release of tokenizers with trainers")
if not hasattr(trainers, "ParityBpeTrainer"):
    pytest.skip("this release of tokenizers has no parity-aware trainer", allow_module_level=True)

LETTERS = {"en": "abcdefgh", "de": "abcdeäöü", "ru": "абвгдежз", "hi": "कखगघङचछज"}


def random_texts(rng: random.Random, n: int) -> dict[str, list[str]]:
    texts = {}
    for name, letters in LETTERS.items():
        words = ["".join(rng.choices(letters, k=rng.choice([2, 3, 4, 5, 6, 8]))) for _ in range(40)]
        texts[name] = [" ".join(words[min(39, int(rng.paretovariate(0.7)))] for _ in range(n)) for _ in range(5)]
    return texts


def huggingface(training, n, development=None, ratios=None, window=None, alpha=2, global_merges=0):
    """The merges as pairs of bytes."""
    from tokenizers import Tokenizer, pre_tokenizers
    from tokenizers.models import BPE

    tok = Tokenizer(BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.ParityBpeTrainer(
        num_merges=n,
        variant="window" if window else "base",
        window_size=window or 100,
        alpha=float(alpha),
        global_merges=global_merges,
        min_frequency=1,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    dev = development and [iter(texts) for texts in development.values()]
    ratio = ratios and [float(each) for each in ratios.values()]
    trainer.train_from_iterator(tok, [iter(texts) for texts in training.values()], dev_iterators=dev, ratio=ratio)
    spelt = {to_text(bytes([byte])): bytes([byte]) for byte in range(256)}
    merges = json.loads(tok.to_str())["model"]["merges"]
    return [tuple(b"".join(spelt[sign] for sign in part) for part in pair) for pair in merges]


def counted(texts):
    return {name: dict(tokenmill.count_iterator(each, split="gpt2").items()) for name, each in texts.items()}


def first_ties(training, merges, development=None, ratios=None, window=None, alpha=2, global_merges=0) -> int:
    """Replay merges and check each; returns how many come before the first choice among equals."""
    texts = {name: segmented(words) for name, words in counted(training).items()}
    judged = texts if development is None else {name: segmented(words) for name, words in counted(development).items()}
    start = {name: length(text) for name, text in judged.items()}
    recent: deque = deque(maxlen=window or 0)
    first = len(merges)
    for i, pair in enumerate(merges):
        pairs = {name: pair_counts(text) for name, text in texts.items()}
        if i < global_merges:
            counts = sum(pairs.values(), Counter())
        else:
            allowed = [
                each for each in texts if not window or recent.count(each) <= Fraction(alpha) / len(texts) * window
            ]
            cost = {
                each: length(judged[each]) * (Fraction(ratios[each]) / start[each] if ratios else 1) for each in allowed
            }
            worst = [each for each in allowed if cost[each] == max(cost.values())]
            recent.append(worst[0])
            counts = pairs[worst[0]]
            first = min(first, i) if len(worst) > 1 else first
        assert counts[pair] == max(counts.values()), (i, pair)
        if sum(count == counts[pair] for count in counts.values()) > 1:
            first = min(first, i)
        for every in [texts] if judged is texts else [texts, judged]:
            for each, text in every.items():
                merged: Counter = Counter()
                for word, count in text.items():
                    merged[merge_word(word, pair)] += count
                every[each] = dict(merged)
    return first


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"window": 10, "alpha": 1},
        {"window": 20, "alpha": 2, "global_merges": 15},
        {"global_merges": 20},
        {"ratios": {"en": 1, "de": Fraction(5, 4), "ru": 2, "hi": Fraction(5, 2)}},
    ],
    ids=["base", "window", "window and hybrid", "hybrid", "ratios"],
)
def test_the_merges_of_both_up_to_ties(options):
    rng = random.Random(str(options))
    compared = 0
    for _ in range(3):
        training = random_texts(rng, 500)
        development = None if "ratios" in options else random_texts(rng, 60)
        theirs = huggingface(training, 50, development, **options)
        same = first_ties(training, theirs, development, **options)
        counts = {name: tokenmill.count_iterator(texts, split="gpt2") for name, texts in training.items()}
        judged = development and {n: tokenmill.count_iterator(texts, split="gpt2") for n, texts in development.items()}
        tokens = (made := ParityTraining(counts, judged, Options(vocab_size=306), Parity(**options)).run()).tokens
        ours = [(tokens[left], tokens[right]) for left, right, _ in made.events.tolist()]
        assert ours[:same] == theirs[:same]
        first_ties(training, ours, development, **options)
        compared += same
    assert compared > 20
