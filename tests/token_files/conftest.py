"""A tokenizer and documents in several formats, which the tests of a module share."""

import pytest
from token_file_examples import corpus, tokenizer


@pytest.fixture(scope="module")
def tok():
    return tokenizer()


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    return corpus(tmp_path_factory.mktemp("sources"))
