"""How many tokens the counted text makes, told by the training, is what the tokenizer makes of it."""

import random

import pytest

from tokenmill.counting import WordCounts, count_iterator
from tokenmill.quality.usage import measure_usage
from tokenmill.tokenizer import Tokenizer
from tokenmill.training import Options, Training

RNG = random.Random(3)
WORDS = ["".join(RNG.choices("aaabcdeé ", k=RNG.randint(1, 9))) for _ in range(400)]
TEXTS = [" ".join(RNG.choices(WORDS, k=50)) for _ in range(60)] + ["a", "aaaa aaaaa", "x" * 3000]
CHARACTERS = {"alphabet": "characters"}


@pytest.mark.parametrize("options", [{}, {"refine": 0.6}, {"max_token_bytes": 3}, {"min_pair_count": 30}, CHARACTERS])
@pytest.mark.parametrize("vocab_size", [300, 700])
def test_the_training_tells_how_many_tokens_the_text_makes(options, vocab_size):
    counts = count_iterator(TEXTS)
    training = Training(counts, Options(vocab_size=vocab_size, **options))
    tok = Tokenizer(training.run())
    assert training.n_tokens() == measure_usage(tok, counts).tokens


def test_pretokens_of_one_byte_or_none_and_rare_ones():
    counts = WordCounts.from_mapping({b"": 7, b"a": 2**40, b"abab": 3, b"rare": 1})
    training = Training(counts, Options(vocab_size=257, min_count=2))
    training.run()
    assert training.n_tokens() == 2**40 + 3 * 2


def test_text_with_unknown_characters_is_encoded_to_count_its_tokens():
    counts = count_iterator(TEXTS)
    training = Training(counts, Options(vocab_size=30, alphabet="characters", coverage=0.9, unknown_token="<unk>"))
    tok = Tokenizer(training.run())
    assert training.n_tokens() is None
    assert measure_usage(tok, counts).tokens == sum(len(tok.encode(text)) for text in TEXTS)
