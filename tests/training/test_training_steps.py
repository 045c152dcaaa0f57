"""The study code of the chapter on training gives the merges of the textbook loop, each step of it."""

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from benchmarks.training_steps import STEPS

import tokenmill


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("seed", range(20))
def test_every_step_gives_the_same_merges(step, seed):
    chance = random.Random(seed)
    words = {bytes(chance.choices(b"aab", k=chance.randint(1, 12))): chance.randint(1, 9) for _ in range(12)}
    tok = tokenmill.train_from_counts(tokenmill.WordCounts.from_mapping(words), 276)
    pretokens = [(list(pretoken), count) for pretoken, count in words.items()]
    assert STEPS[step](pretokens, 20) == [(left, right) for _, left, right, _ in tok.events]
