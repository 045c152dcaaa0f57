"""Hostile split patterns: refused, or stopped, before they take much memory or time."""

import json
import resource
import subprocess
import sys

import pytest

from tokenmill import load
from tokenmill.errors import PatternError
from tokenmill.split import Splitter, backtracking
from tokenmill.split.syntax import parse

NESTED = "(?:" * 3 + "ab|c" + "){1000}" * 3
BOMBS = ["a{1000000000}", "a{0,1000000000}", r"(?:\b(?:a{1000}){1000}){1000}", NESTED, f"a{{{'9' * 5000}}}"]


@pytest.mark.parametrize("pattern", BOMBS)
def test_too_many_repetitions_are_refused(pattern):
    with pytest.raises(PatternError, match="has more than 100,000 parts when its repetitions are written out"):
        Splitter(pattern)


def test_refusing_takes_no_memory():
    code = f"""
import resource
from tokenmill import Splitter
for pattern in {BOMBS!r}:
    try:
        Splitter(pattern)
    except ValueError:
        pass
"""
    limit = (2 << 30, resource.RLIM_INFINITY)
    subprocess.run(
        [sys.executable, "-c", code], check=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limit)
    )


def test_a_pattern_in_a_tokenizer_json_is_refused_too(tmp_path):
    file = tmp_path / "tokenizer.json"
    split = {"type": "Split", "pattern": {"Regex": BOMBS[0]}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    alphabet = [chr(c) for c in (*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324))]
    found = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {c: i for i, c in enumerate(alphabet)}, "merges": []},
    }
    file.write_text(json.dumps(found))
    with pytest.raises(PatternError, match="100,000 parts"):
        load(file)


@pytest.mark.parametrize("pattern", ["(?:(?:(?:){1000}){1000}){1000}", "(?:)", r"$|\z"])
def test_patterns_without_characters(pattern):
    assert Splitter(pattern).split("ab") == backtracking.pretokens_of((pattern,), "ab")


def test_many_distinct_sets_do_not_take_long_to_compile():
    pattern = "".join(map(chr, range(0x4E00, 0x4E00 + 5000)))
    with pytest.warns(UserWarning, match="more than 1000 sets of characters"):
        assert Splitter(pattern).scanner is None


@pytest.mark.filterwarnings("ignore:the split pattern")
def test_endless_backtracking_is_stopped(monkeypatch):
    monkeypatch.setattr(backtracking, "SECONDS", 0.05)
    splitter = Splitter(r"(?:a|a)+\b!|.")
    assert splitter.split("a!b") == ["a!", "b"]
    with pytest.raises(
        PatternError, match=r"takes too long on a text of 44 characters, cut up to character 4: .*Rewrite"
    ):
        splitter.split("bcde" + "a" * 40)
    with pytest.raises(PatternError, match="takes too long"):
        splitter.ends(b"a" * 40)
    with pytest.raises(PatternError, match="takes too long"):  # the bound is for the text, not for each search
        splitter.split(("a" * 14 + "b") * 1000)


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [("a", 1), ("ab|c", 3), ("a{3}", 3), ("(?:ab){2,5}", 10), ("((a{2}b){3}c){4}", 40), (r"[a-z]{7}\d{2,}", 9)],
)
def test_nodes_are_counted(pattern, parts):
    assert backtracking.count_nodes(parse(pattern)) == parts
