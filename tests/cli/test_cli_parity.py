"""tokenmill train --parity: the tokenizer that Python trains, and options that do not go together."""

import json
import re

import pytest

import tokenmill
from command_line import call as run


@pytest.fixture
def languages(tmp_path, monkeypatch):
    """Two languages with a development text each, in the working directory."""
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "en": "the cat sat on the mat and the dog saw the cat ",
        "hi": "बिल्ली चटाई पर बैठी और कुत्ते ने बिल्ली को देखा ",
    }.items():
        (tmp_path / f"{name}.txt").write_text(text * 30)
        (tmp_path / f"{name}.dev").write_text(text)
    return ["--language", "en=en.txt", "hi=hi.txt"]


def test_parity_is_what_python_trains(languages, tmp_path):
    arguments = ["--parity", *languages, "--special-token", "<|end|>"]
    dev = ["--dev", "en=en.dev", "--dev", "hi=hi.dev"]
    result = run("train", *arguments, *dev, "--vocab-size", "275,300", "-o", "fair", "--json", "--log", "merges.tsv")
    assert result.exit_code == 0, result.stderr
    texts = {name: f"{name}.txt" for name in ("en", "hi")}
    python = {"development": {name: f"{name}.dev" for name in texts}, "special_tokens": ["<|end|>"]}
    large = tokenmill.load("fair/300")
    assert large == tokenmill.train_parity(texts, 300, **python)
    assert tokenmill.load("fair/275") == tokenmill.train_parity(texts, 275, **python)
    summary = json.loads(result.stdout)
    assert sum(row["merges_chosen"] for row in summary["languages"]) == 300 - 257
    assert 0 <= summary["gini"] < 1
    for row in summary["languages"]:
        assert row["tokens"] == len(large.encode((tmp_path / f"{row['language']}.dev").read_text()))
    assert len((tmp_path / "merges.tsv").read_text().splitlines()) == 1 + 300 - 257
    training = [(tmp_path / path).read_text() for path in texts.values()]
    used = sum(map(large.count_tokens, training))
    assert summary["bytes_per_token"] == pytest.approx(sum(len(text.encode()) for text in training) / used, abs=1e-4)

    for name in texts:
        assert run("count", f"{name}.txt", "--special-token", "<|end|>", "-o", name).exit_code == 0
    saved = ["--language", "en=en", "hi=hi", "--special-token", "<|end|>"]
    result = run("train", "--parity", *saved, *dev, "--vocab-size", 300, "-o", "saved", "--num-threads", 1)
    assert result.exit_code == 0, result.stderr
    assert re.search(r"^hi +\d+ +\d+ +\d+ +\d\.\d{3}$", result.stdout, re.MULTILINE)
    assert tokenmill.load("saved") == large


def test_parity_by_ratios_with_window_and_global_merges(languages):
    options = ["--ratio", "en=1", "hi=5/2", "--window", 10, "--alpha", "1.5", "--global-merges", 5]
    result = run("train", "--parity", *languages, *options, "--vocab-size", 290, "-o", "fair")
    assert result.exit_code == 0, result.stderr
    texts = {name: f"{name}.txt" for name in ("en", "hi")}
    python = {"ratios": {"en": 1, "hi": 2.5}, "window": 10, "alpha": "3/2", "global_merges": 5}
    assert tokenmill.load("fair") == tokenmill.train_parity(texts, 290, **python)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--language", "en=en.txt"], "--language is not used by a training without --parity"),
        (["en.txt", "--window", 5], "--window is not used by a training without --parity"),
        (["--parity"], "needs two languages or more"),
        (["--parity", "--language", "en=en.txt", "hi=hi.txt"], "needs either a development text"),
        (["--parity", "--language", "en=en.txt", "hi=hi.txt", "--dev", "en=en.dev"], "hi has no development text"),
        (["--parity", "--language", "en.txt"], "'en.txt' has no name or no value; write it as NAME=VALUE"),
        (["--parity", "--language", "en=en.txt", "hi=hi.txt", "--ratio", "en=1", "hi=x"], "the ratio of hi is 'x'"),
        (["--parity", "--language", "en=en.txt", "hi=hi.txt", "--alpha", 3], "give that too"),
        (["en.txt", "--parity", "--language", "en=en.txt", "hi=hi.txt"], "takes its text from --language"),
        (["--parity", "--refine", 0.9, "--language", "en=en.txt", "hi=hi.txt"], "neither --refine nor --superwords"),
        ([], "name the text to train on"),
    ],
)
def test_wrong_options_of_parity(options, message, languages):
    result = run("train", *options, "--vocab-size", 300, "-o", "fair")
    assert result.exit_code == 2
    assert message in re.sub(r"\s+", " ", result.stderr)
    assert "Traceback" not in result.stderr
