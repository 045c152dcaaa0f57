"""The tests of transformers for its fast tokenizers, with `as_transformers` in their place.

They run where TOKENMILL_TRANSFORMERS names a folder with the unpacked source distribution of transformers 5 (`pip download
--no-deps --no-binary transformers transformers`) and the package parameterized is installed. Each test runs for transformers'
own class too, on the same tokenizer: what fails there says nothing about tokenmill.
"""

import importlib
import io
import json
import os
import sys
import types
import unittest
from pathlib import Path

import pytest

import tokenmill

FOLDER = os.environ.get("TOKENMILL_TRANSFORMERS")
pytestmark = pytest.mark.skipif(not FOLDER, reason="TOKENMILL_TRANSFORMERS names no folder")
MIXINS = {
    "test_tokenization_common": "TokenizerTesterMixin",
    "test_tokenizers_backend_mixin": "TokenizersBackendTesterMixin",
}
SAMPLE = Path(__file__).parent  # has fixtures/sample_text.txt, which the distribution lacks
# What tokenmill does otherwise, and why.
OTHERWISE = {}
ROLES = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"}


@pytest.fixture(scope="module", params=["gpt2", "template"])
def folder(request, tmp_path_factory):
    """A tokenizer of bytes with a token for each role; "template" adds <s> and </s> to each text."""
    path = tmp_path_factory.mktemp("tokenizer")
    text = Path(tokenmill.__file__).read_text() + "This is a test, encode this. Hello, how are you? " * 9
    tok = tokenmill.train_from_iterator([text] * 3, vocab_size=700, special_tokens=[*ROLES.values()])
    if request.param == "template":
        pair = (("<s>", 0), (0, 0), ("</s>", 0), (1, 1), ("</s>", 1))
        template = tokenmill.vocabulary.Template(pair[:3], pair)
        tok = tokenmill.Tokenizer(tok.vocabulary.replace(template=template))
    tok.save(path, overwrite=True)
    config = json.loads((path / "tokenizer_config.json").read_text())
    (path / "tokenizer_config.json").write_text(json.dumps(config | ROLES))
    return str(path)


def cases():
    """Every test of transformers, by mixin."""
    if not FOLDER:
        return []
    package = sys.modules["transformers_tests"] = types.ModuleType("transformers_tests")
    package.__path__ = [f"{FOLDER}/tests"]
    modules = {name: importlib.import_module(f"transformers_tests.{name}") for name in MIXINS}
    modules["test_tokenization_common"].get_tests_dir = lambda: str(SAMPLE)
    mixins = [getattr(modules[module], name) for module, name in MIXINS.items()]
    return [
        (mixin, name)
        for mixin in mixins
        for name in dir(mixin)
        if name.startswith("test_") and callable(getattr(mixin, name))
    ]


@pytest.mark.parametrize(("mixin", "name"), cases(), ids=lambda value: getattr(value, "__name__", value))
def test_as_in_transformers(folder, mixin, name):
    from transformers import PreTrainedTokenizerFast

    from tokenmill.tokenizer.transformers_tokenizer import TransformersTokenizer

    problems = [problem_of(mixin, name, folder, kind) for kind in (PreTrainedTokenizerFast, TransformersTokenizer)]
    if problems[0] is not None:
        pytest.skip(f"fails with transformers' own class: {problems[0][-200:]}")
    if name in OTHERWISE:
        pytest.xfail(OTHERWISE[name])
    assert problems[1] is None, problems[1]


def problem_of(mixin, name, folder, tokenizer_class):
    """The traceback of a test of `mixin`, with a class of tokenizers; None if it passes."""
    settings = {
        "tokenizer_class": tokenizer_class,
        "rust_tokenizer_class": tokenizer_class,
        "from_pretrained_id": folder,
    }
    case = type("Case", (mixin, unittest.TestCase), settings)
    result = unittest.TextTestRunner(io.StringIO()).run(unittest.TestSuite([case(name)]))
    return next((text for _, text in result.failures + result.errors), "skipped" if result.skipped else None)
