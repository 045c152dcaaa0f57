"""A small tokenizer trained here, with two special tokens."""

import pytest

import tokenmill

TEXT = (
    "The quick brown fox jumps over the lazy dog. low lower lowest, new newer newest, wide wider widest! "
    "Er sagte: „Größe ist relativ“, und ging über die Straße. Съешь же ещё этих мягких французских булок. "
    "天地玄黄 宇宙洪荒 日月盈昃 辰宿列张 def __init__(self): return None  # 1234 56 789\n\n\tif x == 10:\n        pass\n"
)


@pytest.fixture(scope="session")
def tok():
    return tokenmill.train_from_iterator(
        [TEXT] * 3 + [TEXT.lower()] * 2, vocab_size=500, special_tokens=["<|endoftext|>", "<|user|>"]
    )


@pytest.fixture(scope="session")
def text():
    return TEXT
