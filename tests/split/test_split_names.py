"""One table of names: split patterns and published encodings by every name that people use."""

import json
import re
import warnings
from pathlib import Path

import pytest
import tiktoken.model

import tokenmill
from tokenmill import Splitter
from tokenmill.errors import InputError, PatternError
from tokenmill.split.names import encoding_name, regular_expressions
from tokenmill.split.patterns import CHAINS
from tokenmill.split.spelling import from_oniguruma
from tokenmill.vocabulary import PATTERNS, Vocabulary

REAL_FILES = Path(__file__).parents[3] / "shared" / "vocab"
NASTY = "I'm HERE's  \t\r\n\r\n x=1234567;; caféＡ中文日本語 Ⅷ½ don'T /path//\n\n  e\u0301 'LL  \u3000\u200b한국어 "


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        *[(name, "gpt2") for name in ("GPT2", "gpt-2", "r50k_base", "p50k_base", "p50k_edit", "olmo")],
        *[(name, "cl100k") for name in ("cl100k_base", "CL100K-base", "gpt-4", "gpt-3.5-turbo-0125", "gpt-35-turbo")],
        *[
            (name, "o200k")
            for name in ("o200k_base", "gpt-4o-mini", "gpt-oss-120b", "o200k_harmony", "llama4", "Llama-4")
        ],
        *[(name, "llama3") for name in ("llama-3", "Llama-3.1-8B", "glm4", "GLM-4")],
        *[(name, "qwen2") for name in ("qwen2.5", "Qwen3", "qwen3-8b")],
        *[("Mistral-Nemo", "tekken"), ("kimi_k2", "kimi-k2"), ("Qwen3.5", "qwen3.5")],
    ],
)
def test_a_pattern_goes_by_the_names_of_its_encodings_and_models(name, pattern):
    assert Splitter(name).patterns == (PATTERNS[pattern],)
    assert Vocabulary((b"a",), (name,)).split_patterns == (PATTERNS[pattern],)


def test_a_name_may_stand_for_several_patterns():
    assert Splitter("exaone").patterns == Splitter("starcoder").patterns == (r"\p{N}", PATTERNS["gpt2"])
    assert Splitter("deepseek-v3").split("在2024年 x1234") == ["在", "202", "4", "年", " x", "123", "4"]
    assert len(Vocabulary((b"a",), ("deepseek-v3",)).split_patterns) == 3


def test_a_digit_policy_goes_before_a_pattern():
    assert Splitter("digits-1", "cl100k").split("in 2024") == ["in", " ", "2", "0", "2", "4"]
    assert Splitter("digits-3", "gpt2").split("in 12345") == ["in", " ", "123", "45"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the regex module splits
        assert Splitter("digits-3-right", "gpt2").split("12345678 1234") == ["12", "345", "678", " ", "1", "234"]


def test_every_model_of_tiktoken_has_its_encoding():
    models = tiktoken.model.MODEL_TO_ENCODING
    assert {model: encoding_name(model) for model in models} == models
    dated = {
        f"{prefix}{'' if prefix[-1] == '-' else '-'}2099": prefix for prefix in tiktoken.model.MODEL_PREFIX_TO_ENCODING
    }
    for name, prefix in dated.items():
        assert encoding_name(name) == tiktoken.model.MODEL_PREFIX_TO_ENCODING[prefix], name


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("cl100", "'cl100k'"),
        ("llama", "'llama3' or 'llama4'"),
        ("o2000k", "'o200k'"),
        ("kimi", "'kimi-k2'"),
        ("word", ""),
    ],
)
def test_a_plain_word_that_is_no_name_is_refused(word, near, tmp_path):
    (tmp_path / "a.txt").write_text("low lower lowest")
    calls = [
        lambda: Splitter(word),
        lambda: tokenmill.count(tmp_path / "a.txt", split=word),
        lambda: tokenmill.train(tmp_path / "a.txt", 260, split=word),
        lambda: tokenmill.train_from_iterator(["low"], 260, split=["digits-1", word]),
    ]
    for call in calls:
        with pytest.raises(PatternError, match=f"'{word}' is not the name of a split pattern") as failed:
            call()
        assert f"Did you mean {near}" in str(failed.value) if near else "Did you mean" not in str(failed.value)
    assert Splitter(f"(?:{word})").split(f"a{word}b") == ["a", word, "b"]  # as the message says


def test_load_knows_the_names_of_models(monkeypatch, tmp_path):
    for variable in ("TIKTOKEN_CACHE_DIR", "TOKENMILL_CACHE"):
        monkeypatch.setenv(variable, str(tmp_path))
    for name, encoding in {"gpt-4o": "o200k_base", "GPT2": "gpt2", "cl100k": "cl100k_base"}.items():
        with pytest.raises(InputError, match=f"'{encoding}' is not on this machine"):
            tokenmill.load(name)
    with pytest.raises(InputError, match=r"no such file or folder.* Did you mean 'cl100k_base'"):
        tokenmill.load("cl100_base")


def test_a_pattern_that_hardly_cuts_text_warns(tmp_path):
    text = "low lower lowest " * 1000
    for pattern, warned in {r"[^#]+": True, r"[a-z]+|[^a-z]": False, "cl100k": False}.items():
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            tokenmill.count_iterator([text], split=pattern, num_threads=1)
        assert [
            str(w.message) for w in found if "leaves a pretoken of 17,000 bytes" in str(w.message)
        ] != [] or not warned
        assert warned or not found


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("deepseek-v3-tokenizer.json", "deepseek-v3"),
        ("llama3.1-tokenizer.json", "llama3"),
        ("qwen3-tokenizer.json", "qwen3"),
        ("tekken-small.json", "tekken"),
    ],
)
def test_the_named_patterns_cut_as_the_published_files_do(file, name):
    path = REAL_FILES / f"{file}.zst"
    if not path.is_file():
        pytest.skip(f"needs the published file {file}")
    from tokenmill.formats.file_content import read_bytes

    content = json.loads(read_bytes(path))
    if "config" in content:
        theirs = [content["config"]["pattern"]]
    else:
        steps = content["pre_tokenizer"]["pretokenizers"]
        theirs = [from_oniguruma(step["pattern"]["Regex"]) for step in steps if step["type"] == "Split"]
    ours = regular_expressions([name])
    assert len(theirs) == len(ours)
    for at in range(len(NASTY)):
        assert Splitter(*theirs).split(NASTY[at:]) == Splitter(*ours).split(NASTY[at:])


def test_every_chain_is_of_patterns_the_scanner_runs_but_one():
    slow = [name for name in CHAINS if name != "digits-3-right" and Splitter(name).scanner is None]
    assert not slow
    assert all(re.fullmatch(r"[a-z0-9.-]+", name) for name in (*PATTERNS, *CHAINS))


def test_a_hyphen_between_a_digit_and_a_letter_counts():
    """As in tiktoken: gpt-4-o continues the name gpt-4, and is not gpt-4o."""
    assert encoding_name("gpt-4-o") == "cl100k_base" == encoding_name("gpt-4-0613")
    assert encoding_name("gpt-4o") == encoding_name("GPT_4o-mini") == "o200k_base"
    assert encoding_name("cl100k-base") == encoding_name("cl100k") == "cl100k_base"
