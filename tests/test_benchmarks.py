"""The benchmarks' own tools: the quick table, the history and the account of many cores, on made-up rounds and tiny texts."""

import json
import re
import subprocess
import sys

from benchmarks import harness, history, quick, render, scaling

ROUNDS = {
    "train": {"tokenmill": [{"cpu": 0.5}, {"cpu": 0.7}], "rustbpe": [{"cpu": 6.0}]},
    "command": {"tokenmill": [{"cpu": 0.4, "peak_mib": 80.5}]},
    "array": {"tokenmill": [{"bytes": 20e6, "cold": 0.1, "warm": 0.05}]},
    "list": {
        "tokenmill": [{"bytes": 2e6, "cold": 0.01, "warm": 0.005}],
        "tiktoken": [{"bytes": 2e6, "cold": 0.2, "warm": 0.2}],
    },
}


def place(commit: str, **more) -> dict:
    about = {
        "date": "2026-11-22",
        "commit": commit,
        "python": "3.11",
        "system": "Linux",
        "versions": {"tiktoken": "0.14"},
    }
    return about | harness.machine() | more


def test_the_quick_table_compares_with_each_peer():
    found = quick.figures(ROUNDS)
    assert found["train, s"] == {"tokenmill": 0.6, "rustbpe": 6.0}
    assert found["list cold, MB/s"] == {"tokenmill": 200.0, "tiktoken": 10.0}
    rows = quick.shown(found).splitlines()
    assert rows[0] == "|  | tokenmill | rustbpe | tiktoken |"
    assert "| train, s | 0.60 | 10.0x slower |  |" in rows
    assert "| list warm, MB/s | 400 |  | 40.0x slower |" in rows


def test_the_history_has_a_line_for_each_commit_and_machine(tmp_path):
    path, found = tmp_path / "history.jsonl", quick.figures(ROUNDS)
    for where in (place("aaa"), place("bbb"), place("aaa", cpu="another"), place("bbb", load=9.0)):
        history.add(path, where, found)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["commit"] for line in lines] == ["aaa", "aaa", "bbb"]
    assert lines[-1]["machine"]["load"] == 9.0 and lines[-1]["versions"]["tiktoken"] == "0.14"
    page = history.page(lines)
    assert page.count("\n## ") + page.startswith("## ") == 2
    assert page.count("<svg") == len(found)  # one machine has two runs
    assert "bbb | " in page and re.search(r"<title>aaa [\d.]+</title>", page)
    assert not list(tmp_path.glob("*.part"))


def test_a_result_names_the_machine():
    about = harness.environment()
    assert {"cpu", "flags", "governor", "load", "commit", "versions"} <= set(about)
    assert "governor" in render.taken_on(about) and about["date"] in render.taken_on(about)
    assert "load" not in render.taken_on({"date": "d", "cores": 2, "cpu": "c", "python": "3"})  # older results


def test_a_result_needs_no_git(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert harness.commit() == ""


def test_a_library_may_be_in_an_environment_of_its_own(monkeypatch):
    assert harness.version_of("tokenizers_next") is None
    monkeypatch.setenv("TOKENMILL_PYTHON_TIKTOKEN", "/somewhere/python")
    assert harness.python_of("tiktoken") == "/somewhere/python"
    assert harness.python_of("rustbpe") == sys.executable
    assert harness.pythons()["tiktoken"] == "/somewhere/python"


def test_the_account_of_many_cores():
    # 1.6 s that threads share and 0.1 s that they do not take 0.2 s on 16 cores.
    assert scaling.on_cores(1.7, 0.1, 16) == (0.2, 0.5)


def test_the_account_of_a_command(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("The cat sat on the mat.\n" * 2000)
    command = [sys.executable, "-m", "benchmarks.scaling", "job", "train", str(text), "2"]
    found = json.loads(subprocess.check_output(command, cwd=harness.ROOT, text=True))
    assert 0 < found["serial"] <= found["total"]
    assert found["peak_mib"] > 10
