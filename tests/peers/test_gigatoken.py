"""The tests of gigatoken for its `as_hf`, with `as_transformers` in its place.

They run where TOKENMILL_GIGATOKEN names a folder with gigatoken's sources (its distribution on PyPI, or a clone), on the
shared vocabularies: that of Mistral stands for TinyLlama's, which has the same parts.
"""

import importlib.util
import os
import sys
import types
from pathlib import Path

import pytest

import tokenmill

FOLDER = os.environ.get("TOKENMILL_GIGATOKEN")
pytestmark = pytest.mark.skipif(not FOLDER, reason="TOKENMILL_GIGATOKEN names no folder")
OTHERWISE = {
    "test_hf_compat_unsupported_features_raise": "pairs of texts work, and unknown strategies are transformers' own errors",
    "test_hf_compat_padding_truncation_errors": "longer texts than max_length stay as they are, as in transformers",
    "test_hf_compat_return_tensors_pt": "tensors are int64, as in transformers",
    "test_hf_compat_return_tensors_ragged_batch_raises": "the error is that of transformers",
    "test_hf_compat_requires_gigatoken_tokenizer": "about a class of gigatoken",
    "test_as_hf_unavailable_without_hf_config": "a .tiktoken file works too",
    "test_hf_compat_vocab_matches[gpt2]": "vocab_size leaves out <|endoftext|>, which the file lists twice",
    "test_hf_compat_vocab_matches[tinyllama]": "added_tokens_decoder has AddedTokens, as in transformers",
}


class Source:
    """gigatoken.Tokenizer: made of a path or of an object of Hugging Face."""

    def __init__(self, source):
        self.source = source

    def as_hf(self):
        from transformers import PreTrainedTokenizerFast

        from tokenmill.tokenizer.transformers_tokenizer import TransformersTokenizer

        settings = {"extra_special_tokens": []}
        if isinstance(self.source, str | os.PathLike):
            return bare(tokenmill.load(self.source), settings)
        if isinstance(self.source, PreTrainedTokenizerFast):
            settings |= self.source.special_tokens_map
        rust = getattr(self.source, "backend_tokenizer", self.source)
        return TransformersTokenizer(tokenizer_object=rust, **settings)


def bare(tok, settings):
    """Without the roles that tokenmill sees in the names of tokens."""
    roles = ("bos_token", "eos_token", "unk_token", "pad_token")
    return tok.as_transformers(**dict.fromkeys(roles), **settings)


def named_tests():
    """The tests and fixtures of test_hf_compat.py, by name."""
    stand_in = types.ModuleType("gigatoken")
    stand_in.Tokenizer = Source
    rust = types.ModuleType("gigatoken.gigatoken_rs")
    rust.BPETokenizer = rust.SentencePieceTokenizer = Source
    for name, module in {
        "gigatoken": stand_in,
        "gigatoken.gigatoken_rs": rust,
        "awkward": types.ModuleType("awkward"),
    }.items():
        sys.modules.setdefault(name, module)
    spec = importlib.util.spec_from_file_location("gigatoken_tests", Path(FOLDER) / "tests" / "test_hf_compat.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    wanted = ("test_hf_compat", "test_as_hf", "gpt2_", "tinyllama_")
    return {name: value for name, value in vars(module).items() if name.startswith(wanted)}


if FOLDER:
    globals().update(named_tests())


@pytest.fixture(autouse=True)
def _otherwise(request):
    for name in (request.node.name, request.node.originalname):
        if name in OTHERWISE:
            request.applymarker(pytest.mark.xfail(reason=OTHERWISE[name], strict=True))


def unpacked(shared, folder, name):
    import zstandard

    path = folder / "tokenizer.json"
    with zstandard.open(shared / "vocab" / f"{name}-tokenizer.json.zst", "rb") as file:
        path.write_bytes(file.read())
    return path


@pytest.fixture(scope="session")
def gpt2_tokenizer_path(shared, tmp_path_factory):
    return unpacked(shared, tmp_path_factory.mktemp("gpt2"), "gpt2")


@pytest.fixture(scope="session")
def gpt2_hub_dir(gpt2_tokenizer_path):
    config = (
        '{"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}'
    )
    (gpt2_tokenizer_path.parent / "tokenizer_config.json").write_text(config)
    return gpt2_tokenizer_path.parent


@pytest.fixture(scope="session")
def tinyllama_tokenizer_path(shared, tmp_path_factory):
    return unpacked(shared, tmp_path_factory.mktemp("mistral"), "mistral-v3")


@pytest.fixture(scope="session")
def r50k_tiktoken_path(shared):
    return shared / "vocab" / "cl100k_base.tiktoken"
